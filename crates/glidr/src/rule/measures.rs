//! What is counted of a rule on the facts.
//!
//! In: answers and facts, counted by [`crate::solve`]. Out: confidence, head coverage and the smoothed confidence.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is counted of one rule on the facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Measures {
    /// Answers that are facts of the target.
    pub support: usize,
    /// Answers.
    pub body: usize,
    /// Answers whose head has a tail of the target: others may be true and unknown.
    pub pca_body: usize,
    /// Facts of the target.
    pub facts: usize,
}

impl Measures {
    /// The smoothing of a confidence where nothing else is asked for: as many wrong answers are added.
    pub const SMOOTHING: f64 = 5.0;

    /// support / body: the chance that an answer is a known fact.
    pub fn confidence(&self) -> f64 {
        share(self.support, self.body)
    }

    /// support / `pca_body`: the same under the partial completeness assumption, that a head with one
    /// known tail has all its tails known.
    pub fn pca_confidence(&self) -> f64 {
        share(self.support, self.pca_body)
    }

    /// support / facts: how much of the target the rule explains.
    pub fn head_coverage(&self) -> f64 {
        share(self.support, self.facts)
    }

    /// support / (body + `smoothing`): little evidence gives little confidence.
    pub fn smoothed_confidence(&self, smoothing: f64) -> f64 {
        self.support as f64 / (self.body as f64 + smoothing)
    }
}

impl Measures {
    /// What a comment says was counted, in the form that these print in; none where it says something else.
    pub(super) fn from_comment(comment: &str) -> Result<Option<Self>, String> {
        let words = ["support ", "body ", "pca_body ", "facts "];
        let parts: Vec<&str> = comment.split(", ").collect();
        let numbers: Vec<&str> =
            parts.iter().zip(words).filter_map(|(part, word)| part.strip_prefix(word)).collect();
        let is_digits = |text: &&str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
        let (4, 4, true) = (parts.len(), numbers.len(), numbers.iter().all(is_digits)) else {
            return Ok(None);
        };
        let numbers: Option<Vec<usize>> = numbers.iter().map(|text| text.parse().ok()).collect();
        let Some(&[support, body, pca_body, facts]) = numbers.as_deref() else {
            return Err(format!("counts must be below 2^{}, but here is: {comment}", usize::BITS));
        };
        if support > pca_body || pca_body > body || support > facts {
            return Err(format!(
                "support must be at most pca_body and facts, and pca_body at most body, but here is: {comment}"
            ));
        }
        Ok(Some(Measures { support, body, pca_body, facts }))
    }
}

impl fmt::Display for Measures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measures { support, body, pca_body, facts } = self;
        write!(f, "support {support}, body {body}, pca_body {pca_body}, facts {facts}")
    }
}

/// `part` of `whole`; 0 of nothing.
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

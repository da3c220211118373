//! What is counted of a rule on the facts.
//!
//! In: answers and facts, counted by [`crate::solve`]. Out: confidence, head coverage and the smoothed confidence.

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

/// `part` of `whole`; 0 of nothing.
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

//! Calibration: the probability that an answer is true, read from what speaks for it.
//!
//! ```text
//! q = σ(θ · features)                the chance that a candidate is held out: in valid, or in test
//! P = (1 − π) q / (1 − π q)          the same once it is known not to be in valid
//! ```
//!
//! π is the share of held-out facts that are in *valid*; without *test*, P is q. θ is fitted on *valid*, for each target
//! and direction as far as it has facts there, and shrunk towards that of all. True facts that are missing from the data
//! count as false, so that probabilities err low. After n held-out facts no probability is above (n + 1) / (n + 2), the rule
//! of succession: few facts make nothing certain.

use serde::{Deserialize, Serialize};

use crate::graph::Direction;

/// How many features a probability is read from.
pub const FEATURES: usize = 6;
/// No feature counts as more.
const MAX_FEATURE: f64 = 15.0;

/// Coefficients of the features.
pub type Coefficients = [f64; FEATURES];

/// What speaks for a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The weights of all rules that fire, added up.
    pub sum: f64,
    /// The highest weight of these.
    pub best: f64,
    /// The part of the score that is soft.
    pub soft: f64,
}

impl Evidence {
    /// What its probability is read from: 1, its own evidence, how far it stands above other candidates, and how many
    /// answers are known. `others` is Σ e^sum over the best candidates of its query.
    pub fn features(self, others: f64, known_answers: usize) -> Coefficients {
        let cap = |number: f64| number.clamp(-MAX_FEATURE, MAX_FEATURE);
        let margin = self.sum - (1.0 + others).ln();
        [1.0, cap(self.sum), cap(self.best), cap(self.soft), cap(margin), (known_answers as f64).ln_1p()]
    }
}

/// The coefficients of one target, for tails and for heads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetCalibration {
    /// The target's name.
    pub target: String,
    /// For queries that ask for tails.
    pub tails: Coefficients,
    /// For queries that ask for heads.
    pub heads: Coefficients,
}

/// How probabilities are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The share of held-out facts that are in *valid*; 1 without *test*.
    pub valid_share: f64,
    /// The held-out facts that it was fitted to.
    pub facts: usize,
    /// Of all targets together, for tails and for heads.
    pub all: [Coefficients; 2],
    /// Of every target that *valid* has facts of.
    pub targets: Vec<TargetCalibration>,
}

impl Calibration {
    /// The coefficients of one target and direction.
    pub fn of(&self, target: &str, direction: Direction) -> &Coefficients {
        match self.targets.iter().find(|of| of.target == target) {
            Some(of) => [&of.tails, &of.heads][direction as usize],
            None => &self.all[direction as usize],
        }
    }

    /// What a file must keep to beyond its shape.
    pub(super) fn check(&self) -> Result<(), String> {
        let all = self.all.iter().chain(self.targets.iter().flat_map(|of| [&of.tails, &of.heads]));
        if all.flatten().any(|coefficient| !coefficient.is_finite()) {
            return Err("coefficients of a calibration must be finite, but one is not".into());
        }
        if !(0.0..=1.0).contains(&self.valid_share) {
            return Err(format!("the share of valid must be from 0 to 1, but is {}", self.valid_share));
        }
        Ok(())
    }

    /// The probability that a candidate with these features is true.
    pub fn probability(&self, coefficients: &Coefficients, features: &Coefficients) -> f64 {
        let q = logistic(coefficients, features);
        let share = self.valid_share;
        let p = if share < 1.0 { (1.0 - share) * q / (1.0 - share * q) } else { q };
        p.min((self.facts as f64 + 1.0) / (self.facts as f64 + 2.0))
    }
}

/// σ(θ · features)
pub(crate) fn logistic(coefficients: &Coefficients, features: &Coefficients) -> f64 {
    let sum: f64 = coefficients.iter().zip(features).map(|(a, b)| a * b).sum();
    1.0 / (1.0 + (-sum).exp())
}

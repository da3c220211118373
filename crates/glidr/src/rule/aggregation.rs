//! How the rules that fire for a pair are aggregated into one score.
//!
//! In: the weights of the rules that fire. Out: a score that orders the candidates of one query.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Weight;
use crate::error::{Error, Result};

/// No confidence counts as more than this, so that a second sure rule still counts.
const MAX_CONFIDENCE: f64 = 0.9999;

/// How the rules that fire for a pair are aggregated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregation {
    /// 1 − Π (1 − confidence), over all rules.
    NoisyOr,
    /// The same over the five best.
    NoisyOr5,
    /// By the best confidence, then by the next best, and so on.
    MaxPlus,
    /// The sum of weights, which may be below 0.
    Sum,
    /// The same sums of all predicates compete for a pair: the probability that it is this predicate's.
    Softmax,
}

impl Aggregation {
    /// All of them.
    pub const ALL: [Aggregation; 5] = [
        Aggregation::NoisyOr,
        Aggregation::NoisyOr5,
        Aggregation::MaxPlus,
        Aggregation::Sum,
        Aggregation::Softmax,
    ];

    /// Whether weights are added up, so that some may be below 0.
    pub fn is_sum(self) -> bool {
        matches!(self, Aggregation::Sum | Aggregation::Softmax)
    }

    /// The word for it in a text of rules.
    pub fn word(self) -> &'static str {
        ["noisy_or", "noisy_or_5", "max_plus", "sum", "softmax"][self as usize]
    }

    /// The aggregation with this word.
    pub fn parse(word: &str) -> Result<Self> {
        let words: Vec<&str> = Aggregation::ALL.iter().map(|how| how.word()).collect();
        let found = Aggregation::ALL.into_iter().find(|how| how.word() == word);
        found.ok_or_else(|| {
            Error::Rule(format!(
                "rules must be aggregated by one of {}, but this says “{word}”",
                words.join(", ")
            ))
        })
    }

    /// The weight of two equal rules as one: weights add up, a confidence counts once.
    pub(crate) fn merged(self, a: Weight, b: Weight) -> Weight {
        let one = |a: f64, b: f64| if self.is_sum() { a + b } else { a.max(b) };
        Weight { tail: one(a.tail, b.tail), head: one(a.head, b.head) }
    }

    /// What one rule adds to a candidate's score; max-plus adds nothing but compares.
    pub(crate) fn contribution(self, weight: f64) -> f64 {
        if self.is_sum() { weight } else { -(-weight.min(MAX_CONFIDENCE)).ln_1p() }
    }
}

impl fmt::Display for Aggregation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Scores candidates by the rules that fire for them. Rules must fire in the order of their weights, highest first.
pub(crate) struct Aggregator {
    aggregation: Aggregation,
    sums: Vec<f64>,
    fired: Vec<Vec<u32>>,
}

impl Aggregator {
    pub fn new(aggregation: Aggregation, candidates: usize) -> Self {
        let fired = if aggregation.is_sum() || aggregation == Aggregation::NoisyOr {
            Vec::new()
        } else {
            vec![Vec::new(); candidates]
        };
        Aggregator { aggregation, sums: vec![0.0; candidates], fired }
    }

    pub fn fire(&mut self, candidate: usize, rule: usize, weight: f64) {
        match self.aggregation {
            Aggregation::NoisyOr | Aggregation::Sum | Aggregation::Softmax => {
                self.sums[candidate] += self.aggregation.contribution(weight);
            }
            Aggregation::NoisyOr5 if self.fired[candidate].len() < 5 => {
                self.sums[candidate] += self.aggregation.contribution(weight);
                self.fired[candidate].push(rule as u32);
            }
            Aggregation::NoisyOr5 => {}
            Aggregation::MaxPlus => self.fired[candidate].push(rule as u32),
        }
    }

    /// The score of every candidate, by the weights of all rules.
    pub fn scores(self, weights: &[f64]) -> Vec<f64> {
        if self.aggregation != Aggregation::MaxPlus {
            return self.sums;
        }
        let compare = |a: &usize, b: &usize| -> Ordering {
            let (a, b) = (&self.fired[*a], &self.fired[*b]);
            let first = a.iter().zip(b).find(|(x, y)| weights[**x as usize] != weights[**y as usize]);
            first
                .map_or(a.len().cmp(&b.len()), |(x, y)| weights[*x as usize].total_cmp(&weights[*y as usize]))
        };
        let mut order: Vec<usize> =
            (0..self.fired.len()).filter(|&candidate| !self.fired[candidate].is_empty()).collect();
        order.sort_by(compare);
        let (mut scores, mut level) = (self.sums.clone(), 0.0);
        for equal in order.chunk_by(|a, b| compare(a, b).is_eq()) {
            level += 1.0;
            for &candidate in equal {
                scores[candidate] = level;
            }
        }
        scores
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(how: Aggregation) -> Vec<f64> {
        let weights = [0.9, 0.5, 0.5, 0.2];
        let fires = [&[0usize, 3][..], &[1, 3], &[1, 2], &[2]];
        let mut aggregator = Aggregator::new(how, 5);
        for (rule, candidates) in fires.iter().enumerate() {
            candidates.iter().for_each(|&candidate| aggregator.fire(candidate, rule, weights[rule]));
        }
        aggregator.scores(&weights)
    }

    #[test]
    fn max_plus_compares_the_best_first_and_then_the_next() {
        // 3 has .9 and .5, 0 has .9, 1 has .5 twice, 2 has .5 and .2, 4 nothing.
        assert_eq!(scores(Aggregation::MaxPlus), [3.0, 2.0, 1.0, 4.0, 0.0]);
    }

    #[test]
    fn noisy_or_multiplies_the_chances_of_error_and_a_sum_adds_weights() {
        let noisy = scores(Aggregation::NoisyOr);
        assert!((1.0 - (-noisy[3]).exp() - 0.95).abs() < 1e-12 && noisy[4] == 0.0);
        assert_eq!(scores(Aggregation::Sum), [0.9, 1.0, 0.7, 1.4, 0.0]);
    }

    #[test]
    fn an_aggregation_and_its_word_are_one() {
        for how in Aggregation::ALL {
            assert_eq!(Aggregation::parse(how.word()).expect("its own word"), how);
        }
        assert!(
            Aggregation::parse("best").expect_err("no such aggregation").to_string().contains("max_plus")
        );
    }
}

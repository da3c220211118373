//! How the rules that fire for a pair are aggregated into one score.
//!
//! In: the numbers of the rules that fire. Out: a score that orders the candidates of one query.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Weight;
use crate::error::{Error, Result};

/// No rule is taken to be surer than this, so that a second sure rule still counts.
const SUREST: f64 = 0.9999;

/// How the rules that fire for a pair are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregation {
    /// 1 − Π (1 − confidence), over all rules.
    NoisyOr,
    /// The same over the five best.
    NoisyOr5,
    /// By the best confidence, then by the next best, and so on.
    MaxPlus,
    /// The sum of weights.
    Sum,
}

impl Aggregation {
    /// All ways.
    pub const ALL: [Aggregation; 4] =
        [Aggregation::NoisyOr, Aggregation::NoisyOr5, Aggregation::MaxPlus, Aggregation::Sum];

    /// The word for it in a text of rules.
    pub fn word(self) -> &'static str {
        ["noisy_or", "noisy_or_5", "max_plus", "sum"][self as usize]
    }

    /// The way with this word.
    pub fn parse(word: &str) -> Result<Self> {
        let words: Vec<&str> = Aggregation::ALL.iter().map(|join| join.word()).collect();
        let found = Aggregation::ALL.into_iter().find(|join| join.word() == word);
        found.ok_or_else(|| {
            Error::Rule(format!(
                "rules must be joined by one of {}, but this says “{word}”",
                words.join(", ")
            ))
        })
    }

    /// The number of two equal rules as one: weights add up, a confidence counts once.
    pub(crate) fn merged(self, a: Weight, b: Weight) -> Weight {
        let one = |a: f64, b: f64| if self == Aggregation::Sum { a + b } else { a.max(b) };
        Weight { tail: one(a.tail, b.tail), head: one(a.head, b.head) }
    }

    /// What one rule's number adds under this way; max-plus adds nothing but compares.
    pub(crate) fn share(self, number: f64) -> f64 {
        if self == Aggregation::Sum { number } else { -(-number.min(SUREST)).ln_1p() }
    }
}

impl fmt::Display for Aggregation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Joins rules place by place; they must fire in the order of their numbers, highest first.
pub(crate) struct Aggregator {
    aggregation: Aggregation,
    sums: Vec<f64>,
    fired: Vec<Vec<u32>>,
}

impl Aggregator {
    pub fn new(aggregation: Aggregation, places: usize) -> Self {
        let fired = if matches!(aggregation, Aggregation::Sum | Aggregation::NoisyOr) {
            Vec::new()
        } else {
            vec![Vec::new(); places]
        };
        Aggregator { aggregation, sums: vec![0.0; places], fired }
    }

    pub fn fire(&mut self, place: usize, rule: usize, number: f64) {
        match self.aggregation {
            Aggregation::NoisyOr | Aggregation::Sum => self.sums[place] += self.aggregation.share(number),
            Aggregation::NoisyOr5 if self.fired[place].len() < 5 => {
                self.sums[place] += self.aggregation.share(number);
                self.fired[place].push(rule as u32);
            }
            Aggregation::NoisyOr5 => {}
            Aggregation::MaxPlus => self.fired[place].push(rule as u32),
        }
    }

    /// The score of every place.
    pub fn scores(self, numbers: &[f64]) -> Vec<f64> {
        if self.aggregation != Aggregation::MaxPlus {
            return self.sums;
        }
        let compare = |a: &usize, b: &usize| -> Ordering {
            let (a, b) = (&self.fired[*a], &self.fired[*b]);
            let first = a.iter().zip(b).find(|(x, y)| numbers[**x as usize] != numbers[**y as usize]);
            first
                .map_or(a.len().cmp(&b.len()), |(x, y)| numbers[*x as usize].total_cmp(&numbers[*y as usize]))
        };
        let mut order: Vec<usize> =
            (0..self.fired.len()).filter(|&place| !self.fired[place].is_empty()).collect();
        order.sort_by(compare);
        let (mut scores, mut level) = (self.sums.clone(), 0.0);
        for equal in order.chunk_by(|a, b| compare(a, b).is_eq()) {
            level += 1.0;
            for &place in equal {
                scores[place] = level;
            }
        }
        scores
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(join: Aggregation) -> Vec<f64> {
        let numbers = [0.9, 0.5, 0.5, 0.2];
        let fires = [&[0usize, 3][..], &[1, 3], &[1, 2], &[2]];
        let mut board = Aggregator::new(join, 5);
        for (rule, places) in fires.iter().enumerate() {
            places.iter().for_each(|&place| board.fire(place, rule, numbers[rule]));
        }
        board.scores(&numbers)
    }

    #[test]
    fn max_plus_compares_the_best_first_and_then_the_next() {
        // 3 has .9 and .5, 0 has .9, 1 has .5 twice, 2 has .5 and .2, 4 nothing.
        assert_eq!(scores(Aggregation::MaxPlus), [3.0, 2.0, 1.0, 4.0, 0.0]);
    }

    #[test]
    fn noisy_or_multiplies_doubts_and_a_sum_adds_weights() {
        let noisy = scores(Aggregation::NoisyOr);
        assert!((1.0 - (-noisy[3]).exp() - 0.95).abs() < 1e-12 && noisy[4] == 0.0);
        assert_eq!(scores(Aggregation::Sum), [0.9, 1.0, 0.7, 1.4, 0.0]);
    }

    #[test]
    fn a_way_of_joining_and_its_word_are_one() {
        for join in Aggregation::ALL {
            assert_eq!(Aggregation::parse(join.word()).expect("its own word"), join);
        }
        assert!(Aggregation::parse("best").expect_err("no such way").to_string().contains("max_plus"));
    }
}

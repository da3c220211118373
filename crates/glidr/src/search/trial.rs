//! A trial: one aggregation of a target's rules, with the reciprocal ranks that it gives on *valid*.

use super::WeightFit;
use super::body::Kind;
use super::evaluate::QuerySample;
use super::select::Part;
use super::weigh::scores;
use crate::graph::Direction;
use crate::rule::{Aggregation, Aggregator, Weight};

/// Weights below this are dropped.
const MIN_WEIGHT: f64 = 1e-2;
/// Under max-plus and noisy-or of five, a rule counts only where it is among so many best.
const BEST: usize = 10;

/// The pool's rules that count, with their weights.
pub(super) type Weights = Vec<(usize, Weight)>;

/// One aggregation of a target's rules, tried.
#[derive(Clone)]
pub(super) struct Trial {
    pub aggregation: Aggregation,
    /// The least simple kind of bodies that counts.
    pub kind: Kind,
    /// How weights were fitted, where they were.
    pub fit: Option<WeightFit>,
    /// Reciprocal ranks on *valid*, for tails and for heads.
    ranks: [Vec<f64>; 2],
    /// Whether it may yet be chosen, for tails and for heads.
    pub is_open: [bool; 2],
    /// As fitted on *train*.
    pub train: Weights,
    /// As fitted on *train* and *valid*; none where that is the same.
    pub train_and_valid: Option<Weights>,
}

impl Trial {
    /// The sum of its reciprocal ranks in one direction.
    pub fn gain(&self, end: usize) -> f64 {
        self.ranks[end].iter().sum()
    }

    /// The variance of the difference of two trials' gains in one direction.
    pub fn noise(&self, other: &Trial, end: usize) -> f64 {
        let (mut sum, mut squares) = (0.0, 0.0);
        for (one, other) in self.ranks[end].iter().zip(&other.ranks[end]) {
            sum += one - other;
            squares += (one - other).powi(2);
        }
        squares - sum * sum / self.ranks[end].len().max(1) as f64
    }

    /// Aggregates by the rules' confidences, for tails and for heads apart.
    pub fn by_confidence(aggregation: Aggregation, part: &Part, sample: &QuerySample) -> Self {
        let [tails, heads] = Direction::BOTH.map(|direction| {
            let confidences: Vec<f64> =
                part.confidences.iter().map(|confidence| confidence.of(direction)).collect();
            let asked = sample.asked(direction);
            let (scores, counts) = aggregate(aggregation, &confidences, &part.fires, &asked);
            let counted =
                confidences.iter().zip(counts).map(|(&number, counts)| if counts { number } else { 0.0 });
            (sample.reciprocal_ranks(&scores, direction), counted.collect::<Vec<f64>>())
        });
        let weights = tails.1.into_iter().zip(heads.1).map(|(tail, head)| Weight { tail, head });
        let weights = part.places.iter().copied().zip(weights);
        let train = weights.filter(|(_, weight)| weight.max() > 0.0).collect();
        let ranks = [tails.0, heads.0];
        Trial {
            aggregation,
            kind: part.kind,
            fit: None,
            ranks,
            is_open: [true; 2],
            train,
            train_and_valid: None,
        }
    }

    /// Sums fitted weights.
    pub fn by_weights(fit: WeightFit, weights: Vec<Weight>, part: &Part, sample: &QuerySample) -> Self {
        let ranks = Direction::BOTH.map(|direction| {
            let weights: Vec<f64> = weights.iter().map(|weight| weight.of(direction)).collect();
            sample.reciprocal_ranks(&scores(sample.labels.len(), &part.fires, &weights), direction)
        });
        let train =
            that_count(weights).into_iter().map(|(rule, weight)| (part.places[rule], weight)).collect();
        let aggregation = Aggregation::Sum;
        Trial {
            aggregation,
            kind: part.kind,
            fit: Some(fit),
            ranks,
            is_open: [true; 2],
            train,
            train_and_valid: None,
        }
    }
}

/// The score of every candidate that is asked for, by the confidences of the rules that fire on it; and which rules
/// count.
fn aggregate(
    aggregation: Aggregation,
    confidences: &[f64],
    fires: &[&[u32]],
    asked: &[bool],
) -> (Vec<f64>, Vec<bool>) {
    let mut order: Vec<usize> = (0..confidences.len()).collect();
    order.sort_by(|&a, &b| confidences[b].total_cmp(&confidences[a]));
    let mut aggregator = Aggregator::new(aggregation, asked.len());
    let mut fired = vec![0usize; asked.len()];
    let mut counts = vec![aggregation == Aggregation::NoisyOr; confidences.len()];
    for rule in order {
        for &candidate in fires[rule].iter().filter(|&&candidate| asked[candidate as usize]) {
            aggregator.fire(candidate as usize, rule, confidences[rule]);
            fired[candidate as usize] += 1;
            counts[rule] |= fired[candidate as usize] <= BEST;
        }
    }
    (aggregator.scores(confidences), counts)
}

/// The rules whose weights are not next to nothing; what is next to nothing is 0.
pub(super) fn that_count(weights: Vec<Weight>) -> Weights {
    let cut = |weight: f64| if weight.abs() >= MIN_WEIGHT { weight } else { 0.0 };
    let weights = weights.into_iter().map(|weight| weight.map(cut)).enumerate();
    weights.filter(|(_, weight)| weight.tail != 0.0 || weight.head != 0.0).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A trial with these reciprocal ranks.
    pub fn ranked(aggregation: Aggregation, ranks: [Vec<f64>; 2]) -> Trial {
        let fit =
            (aggregation == Aggregation::Sum).then_some(WeightFit { l2: 1.0, masking: false, signed: false });
        Trial {
            aggregation,
            kind: Kind::Plain,
            fit,
            ranks,
            is_open: [true; 2],
            train: Vec::new(),
            train_and_valid: None,
        }
    }

    #[test]
    fn ways_that_differ_by_the_same_everywhere_differ_by_no_noise() {
        let trial = |ranks: &[f64]| ranked(Aggregation::Sum, [ranks.to_vec(), Vec::new()]);
        let one = trial(&[1.0, 0.5, 0.5, 0.25]);
        assert_eq!(one.noise(&trial(&[0.75, 0.25, 0.25, 0.0]), 0), 0.0);
        assert_eq!(one.noise(&trial(&[0.5, 1.0, 0.0, 0.75]), 0), 1.0);
    }

    #[test]
    fn a_rule_counts_where_it_is_among_the_best_of_a_candidate_that_is_asked_for() {
        let confidences: Vec<f64> = (0..12).map(|n| 0.9 - 0.05 * f64::from(n)).collect();
        let mut fires: Vec<&[u32]> = vec![&[0, 1]; 11];
        fires.push(&[0, 1, 2]);
        let count = |asked: [bool; 3]| aggregate(Aggregation::MaxPlus, &confidences, &fires, &asked).1;
        let best = |counts: Vec<bool>| counts.into_iter().filter(|counts| *counts).count();
        assert_eq!(best(count([true, true, false])), BEST);
        assert_eq!(best(count([true, true, true])), BEST + 1);
    }
}

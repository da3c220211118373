//! Reciprocal ranks on *valid*, by which aggregations are chosen.

use std::cmp::Ordering;

use crate::graph::Direction;
use crate::search::evaluate::{Label, QuerySample};

/// Reciprocal ranks of so many ties are added one by one, those of more by their integral.
const FEW_TIES: usize = 32;

impl QuerySample {
    /// The reciprocal ranks of the answers of *valid* in one direction, given the scores of candidates.
    ///
    /// Facts that are missing are like those of *valid*: of the negatives above one of these as many are taken to be
    /// true as others of *valid* stand above it; and no answer has more negatives above it than one below it. Ties
    /// are broken at random, as in evaluation.
    pub fn reciprocal_ranks(&self, scores: &[f64], direction: Direction) -> Vec<f64> {
        let mut ranks = Vec::new();
        for query in self.queries.iter().filter(|query| query.from_valid && query.direction == direction) {
            let sorted = |label| {
                let mut sorted: Vec<Placed> =
                    self.labelled(query, label).map(|at| placed(scores, at)).collect();
                sorted.sort_by(order);
                sorted
            };
            let (answers, negatives) = (sorted(Label::Answer), sorted(Label::Negative));
            let below_0 = negatives.partition_point(|placed| placed.0 < 0.0);
            let above_0 = negatives.len() - negatives.partition_point(|placed| placed.0 <= 0.0);
            let zeros = negatives.len() - below_0 - above_0;
            let above_in = |sorted: &[Placed], answer: &Placed| {
                sorted.len() - sorted.partition_point(|other| order(other, answer).is_le())
            };
            let mut fewest = usize::MAX;
            for answer in &answers {
                let (above, ties) = match answer.0 {
                    0.0 => (above_0, zeros + self.uncovered(query)),
                    score if score < 0.0 => (above_in(&negatives, answer) + self.uncovered(query), 0),
                    _ => (above_in(&negatives, answer), 0),
                };
                fewest = fewest.min(above.saturating_sub(above_in(&answers, answer)));
                ranks.push(expected_reciprocal_rank(fewest, ties));
            }
        }
        ranks
    }
}

/// A candidate's score, and a number by which ties are broken.
type Placed = (f64, u64);

fn placed(scores: &[f64], candidate: usize) -> Placed {
    (scores[candidate], (candidate as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn order(a: &Placed, b: &Placed) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

/// The mean of 1 / rank where so many stand above, and ties are broken at random.
///
/// ```text
/// (1 / (t + 1)) Σ 1 / (1 + a + k),   k = 0 … t
/// ```
///
fn expected_reciprocal_rank(above: usize, ties: usize) -> f64 {
    let harmonic = |n: f64| n.ln() + 0.5 / n - 1.0 / (12.0 * n * n);
    let sum = if ties <= FEW_TIES {
        (0..=ties).map(|k| 1.0 / (1 + above + k) as f64).sum()
    } else {
        let head: f64 = (0..FEW_TIES).map(|k| 1.0 / (1 + above + k) as f64).sum();
        head + harmonic((above + ties + 1) as f64) - harmonic((above + FEW_TIES) as f64)
    };
    sum / (ties + 1) as f64
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::search::evaluate::test_samples::two_answers;

    /// The scores of the candidates of the tails that *valid* asks for, 0 at all others.
    pub fn scored(sample: &QuerySample, by_entity: &[(u32, f64)]) -> Vec<f64> {
        let mut scores = vec![0.0; sample.labels.len()];
        let query =
            sample.queries.iter().find(|q| q.from_valid && q.direction == Direction::Tail).expect("one");
        for &(entity, candidate) in &query.candidates {
            let score = by_entity.iter().find(|(of, _)| *of == entity).map_or(0.0, |(_, score)| *score);
            scores[candidate as usize] = score;
        }
        scores
    }

    #[test]
    fn of_negatives_above_an_answer_as_many_are_spared_as_other_answers_stand_there() {
        let sample = two_answers();
        let gain = |by_entity: &[(u32, f64)]| {
            sample.reciprocal_ranks(&scored(&sample, by_entity), Direction::Tail).iter().sum::<f64>()
        };
        // No negative above: both are first.
        assert_eq!(gain(&[(1, 9.0), (2, 8.0), (3, 7.0)]), 2.0);
        // One negative between them: it may be a fact that is missing, as 1 itself was.
        assert_eq!(gain(&[(1, 9.0), (3, 8.5), (2, 8.0)]), 2.0);
        // A second one is not spared.
        assert_eq!(gain(&[(1, 9.0), (3, 8.5), (4, 8.4), (2, 8.0)]), 1.5);
        // One above both: that above 2 is spared, and then it cannot be above 1.
        assert_eq!(gain(&[(3, 9.5), (1, 9.0), (2, 8.0)]), 2.0);
    }

    #[test]
    fn ties_are_worth_the_mean_over_all_their_orders() {
        assert_eq!(expected_reciprocal_rank(0, 1), 0.75);
        assert_eq!(expected_reciprocal_rank(3, 0), 0.25);
        for (above, ties) in [(0, 40), (7, 100), (120, 5000)] {
            let plain = (0..=ties).map(|k| 1.0 / (1 + above + k) as f64).sum::<f64>() / (ties + 1) as f64;
            assert!((expected_reciprocal_rank(above, ties) - plain).abs() < 1e-9, "{above} {ties}");
        }
    }
}

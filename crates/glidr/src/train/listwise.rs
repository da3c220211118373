//! The listwise loss of soft rules: the answer of a query against the query's negatives, by the sum of the rules' scores.

use super::loss::Objective;
use crate::util::listwise::{ListwiseQuery, listwise_adjoint, listwise_loss};

/// κ: what the sum of scores is multiplied by before the softmax.
const SHARPNESS: f64 = 3.0;

/// The loss of the sum of some rules' scores over the queries of a batch.
///
/// ```text
/// l = − Σ_q ln (e^κs⁺ / (e^κs⁺ + Σ e^κs⁻)),   s = Σ_r ŷ_r
/// ```
pub(crate) struct Listwise<'a> {
    pub queries: &'a [ListwiseQuery],
}

impl Listwise<'_> {
    /// The sharpened sum of every pair's scores, less the highest of its query: only differences count.
    fn sums(&self, scores: &[Vec<f32>]) -> Vec<f64> {
        let mut sums = vec![0.0; scores.first().map_or(0, Vec::len)];
        for scores in scores {
            sums.iter_mut().zip(scores).for_each(|(sum, &score)| *sum += SHARPNESS * f64::from(score));
        }
        for query in self.queries {
            let of_query = &mut sums[query.answers.start..query.negatives.end];
            let most = of_query.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for sum in of_query {
                *sum -= most;
            }
        }
        sums
    }
}

impl Objective for Listwise<'_> {
    fn is_joint(&self) -> bool {
        true
    }

    /// Every rule has the mean loss of a query, and the same derivative: that of the sum.
    fn losses(&self, scores: &[Vec<f32>]) -> Vec<(f32, Vec<f32>)> {
        let sums = self.sums(scores);
        let (masked, mut d_sums) = (vec![false; sums.len()], vec![0.0; sums.len()]);
        let loss = listwise_loss(self.queries, &masked, &sums) / self.queries.len().max(1) as f64;
        listwise_adjoint(self.queries, &masked, &sums, &mut d_sums);
        let d_scores: Vec<f32> = d_sums.into_iter().map(|d| (SHARPNESS * d) as f32).collect();
        vec![(loss as f32, d_scores); scores.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A query with two negatives, and one with three.
    fn queries() -> [ListwiseQuery; 2] {
        [(0..1, 1..3), (3..4, 4..7)].map(|(answers, negatives)| ListwiseQuery {
            answers,
            negatives,
            uncovered: 0.0,
        })
    }

    #[test]
    fn the_derivative_agrees_with_a_finite_difference() {
        let (queries, scores) =
            (queries(), [vec![0.6, 0.1, 0.7, 0.3, 0.9, 0.2, 0.5], vec![0.4, 0.8, 0.1, 0.6, 0.3, 0.9, 0.0]]);
        let listwise = Listwise { queries: &queries };
        for (rule, (_, d)) in listwise.losses(&scores).into_iter().enumerate() {
            for pair in 0..7 {
                let at = |by: f32| {
                    let mut other = scores.clone();
                    other[rule][pair] += by;
                    listwise.losses(&other)[0].0 * queries.len() as f32
                };
                let slope = (at(1e-2) - at(-1e-2)) / 2e-2;
                assert!((d[pair] - slope).abs() < 2e-3, "{rule}, {pair}: {} is not {slope}", d[pair]);
            }
        }
    }

    #[test]
    fn an_answer_far_below_its_negatives_leaves_a_finite_loss_and_derivative() {
        let (queries, scores) = (queries(), [vec![0.0, 9e3, 0.0, 0.0, 9e3, 9e3, 9e3]]);
        let (loss, d) = Listwise { queries: &queries }.losses(&scores).remove(0);
        assert!(loss.is_finite() && d.iter().all(|d| d.is_finite()), "{loss}, {d:?}");
    }
}

//! The listwise softmax loss: every answer of a query against the query's negatives.
//!
//! In: a flat array of candidate scores, and queries that name their ranges in it. Out: the derivative of the loss by
//! each score. Rule weights of search and learned rule weights of soft rules both descend on it.

use std::ops::Range;

/// Scores are capped here before they are exponentiated, so that sums stay finite.
const MAX_SCORE: f64 = 500.0;

/// One query: where its candidates lie in the array of scores.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ListwiseQuery {
    /// The true answers.
    pub answers: Range<usize>,
    /// The candidates that compete with each of them.
    pub negatives: Range<usize>,
    /// How many more negatives have score 0 and no place in the array.
    pub uncovered: f64,
}

/// e^s, where s is most often 0.
fn power(score: f64) -> f64 {
    if score == 0.0 { 1.0 } else { score.min(MAX_SCORE).exp() }
}

/// The loss over all queries. Masked negatives count nothing.
///
/// ```text
/// loss = − Σ ln (e^s⁺ / (e^s⁺ + Σ e^s⁻ + uncovered)),   summed over the answers of all queries
/// ```
pub(crate) fn listwise_loss(queries: &[ListwiseQuery], masked: &[bool], scores: &[f64]) -> f64 {
    let mut loss = 0.0;
    for query in queries {
        let negatives = query.negatives.clone().filter(|&at| !masked[at]);
        let others = query.uncovered + negatives.map(|at| power(scores[at])).sum::<f64>();
        for at in query.answers.clone() {
            // As a difference, it stays finite where nothing is left of an answer far below all others.
            loss += (power(scores[at]) + others).ln() - scores[at].min(MAX_SCORE);
        }
    }
    loss
}

/// The derivative of the loss by each score: written to the places of the queries' candidates, others stay as they are.
pub(crate) fn listwise_adjoint(
    queries: &[ListwiseQuery],
    masked: &[bool],
    scores: &[f64],
    d_scores: &mut [f64],
) {
    for query in queries {
        let mut others = query.uncovered;
        for at in query.negatives.clone() {
            d_scores[at] = if masked[at] { 0.0 } else { power(scores[at]) };
            others += d_scores[at];
        }
        let mut pull = 0.0;
        for at in query.answers.clone() {
            let own = power(scores[at]);
            // Of an answer far below all others nothing may be left, nor of its negatives.
            let sum = (own + others).max(f64::MIN_POSITIVE);
            pull += 1.0 / sum;
            d_scores[at] = own / sum - 1.0;
        }
        d_scores[query.negatives.clone()].iter_mut().for_each(|d| *d *= pull);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two queries: with two answers, three negatives and candidates that are not covered; with one answer, one negative.
    fn queries() -> [ListwiseQuery; 2] {
        [
            ListwiseQuery { answers: 0..2, negatives: 2..5, uncovered: 4.0 },
            ListwiseQuery { answers: 5..6, negatives: 6..7, uncovered: 0.0 },
        ]
    }

    #[test]
    fn the_adjoint_agrees_with_a_finite_difference() {
        let (queries, scores) = (queries(), [0.4, 1.5, 0.0, 0.9, 2.0, 0.3, 0.7]);
        for masked in [[false; 7], [false, false, false, true, false, false, false]] {
            let mut d_scores = [f64::NAN; 7];
            listwise_adjoint(&queries, &masked, &scores, &mut d_scores);
            for (at, d) in d_scores.into_iter().enumerate() {
                let moved = |by: f64| {
                    let mut scores = scores;
                    scores[at] += by;
                    listwise_loss(&queries, &masked, &scores)
                };
                let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((d - difference).abs() < 1e-6, "{at}: {d} against {difference}");
            }
        }
    }

    #[test]
    fn scores_far_apart_leave_finite_derivatives() {
        for scores in [[9e9, 0.0, 9e9, 0.0, 9e9, 9e9, 0.0], [0.0, -9e9, -9e9, -9e9, -9e9, -9e9, -9e9]] {
            let mut d_scores = [f64::NAN; 7];
            listwise_adjoint(&queries(), &[false; 7], &scores, &mut d_scores);
            assert!(d_scores.iter().all(|d| d.is_finite()), "{d_scores:?}");
        }
    }
}

//! Answers compared with their competing candidates: how many score higher, how many tie.

use super::TargetPredictor;
use crate::graph::{Entity, Query};

/// Scores closer than this, relative to the answer's, are a tie: nearer than that, only the
/// order of summation decides.
pub const TIE: f32 = 2e-6;

/// A query in the filtered setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilteredQuery {
    /// The query.
    pub query: Query,
    /// The answers to compare.
    pub answers: Vec<Entity>,
    /// All entities that compete with no answer, sorted: the true answers, and who is no candidate.
    pub filtered: Vec<Entity>,
}

impl FilteredQuery {
    /// Whether this candidate competes with the answers.
    pub fn has_competing(&self, candidate: Entity) -> bool {
        self.filtered.binary_search(&candidate).is_err()
    }

    /// All candidates that compete with the answers.
    pub fn competing(&self, entities: usize) -> impl Iterator<Item = Entity> + '_ {
        (0..entities as u32).map(Entity).filter(|candidate| self.has_competing(*candidate))
    }
}

/// How one answer compares with its competing candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// So many score higher.
    pub above: usize,
    /// So many tie with it.
    pub tied: usize,
}

/// The scores that tie with this one, from the first to the second.
pub(super) fn tie_range(score: f64) -> [f64; 2] {
    [score * (1.0 - f64::from(TIE)), score * (1.0 + f64::from(TIE))]
}

/// Counts competing scores above and within the range that ties with an answer.
pub(crate) fn compare_scores([low, high]: [f64; 2], scores: impl Iterator<Item = f64>) -> Comparison {
    let mut comparison = Comparison::default();
    for score in scores {
        if score > high {
            comparison.above += 1;
        } else if score >= low {
            comparison.tied += 1;
        }
    }
    comparison
}

/// Scores every candidate: the slow twin of what a predictor may do with bounds.
pub(super) fn compare_exhaustive<T: TargetPredictor + ?Sized>(
    target: &mut T,
    queries: &[FilteredQuery],
) -> Vec<Vec<Comparison>> {
    let mut comparisons = Vec::with_capacity(queries.len());
    for query in queries {
        let mut candidates = query.answers.clone();
        candidates.extend(query.competing(target.entities()));
        let scores = target.scores(query.query, &candidates);
        let (answers, competing) = scores.split_at(query.answers.len());
        let compare = |&answer: &f64| compare_scores(target.tie_range(answer), competing.iter().copied());
        comparisons.push(answers.iter().map(compare).collect());
    }
    comparisons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearly_equal_scores_tie_and_no_score_is_counted_twice() {
        let scores = [0.5, 0.5 + 1e-7, 0.5 - 1e-7, 0.6, 0.4, 0.0];
        let comparison = compare_scores(tie_range(0.5), scores.into_iter());
        assert_eq!(comparison, Comparison { above: 1, tied: 3 });
        assert_eq!(compare_scores(tie_range(0.0), scores.into_iter()), Comparison { above: 5, tied: 1 });
    }
}

//! Reciprocal ranks on *valid*, by which ways of aggregating are chosen.

use crate::graph::Direction;
use crate::search::evaluate::{Label, QuerySample};

impl QuerySample {
    /// The sum of reciprocal ranks over the queries of *valid* in one direction, given the scores of candidates.
    ///
    /// Facts that are missing are like those of *valid*: of the negatives above one of these as many are taken to be
    /// true as others of *valid* stand above it; and no answer has more negatives above it than one below it. Ties
    /// take their mean.
    pub fn gain(&self, scores: &[f64], direction: Direction) -> f64 {
        let mut gain = 0.0;
        for query in self.queries.iter().filter(|query| query.from_valid && query.direction == direction) {
            let uncovered = self.uncovered(query);
            let sorted = |label| {
                let mut sorted: Vec<f64> = self.labelled(query, label).map(|at| scores[at]).collect();
                sorted.sort_by(f64::total_cmp);
                sorted
            };
            let (answers, negatives) = (sorted(Label::Answer), sorted(Label::Negative));
            let above_in =
                |sorted: &[f64], score: f64| sorted.len() - sorted.partition_point(|&of| of <= score);
            let mut fewest = usize::MAX;
            for &score in &answers {
                let above = above_in(&negatives, score);
                let below = negatives.partition_point(|&of| of < score);
                let ties = negatives.len() - above - below + if score == 0.0 { uncovered } else { 0 };
                fewest = fewest.min(above.saturating_sub(above_in(&answers, score)));
                gain += 1.0 / (1.0 + fewest as f64 + ties as f64 / 2.0);
            }
        }
        gain
    }
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
        let gain = |by_entity: &[(u32, f64)]| sample.gain(&scored(&sample, by_entity), Direction::Tail);
        // No negative above: both are first.
        assert_eq!(gain(&[(1, 9.0), (2, 8.0), (3, 7.0)]), 2.0);
        // One negative between them: it may be a fact that is missing, as 1 itself was.
        assert_eq!(gain(&[(1, 9.0), (3, 8.5), (2, 8.0)]), 2.0);
        // A second one is not spared.
        assert_eq!(gain(&[(1, 9.0), (3, 8.5), (4, 8.4), (2, 8.0)]), 1.5);
        // One above both: that above 2 is spared, and then it cannot be above 1.
        assert_eq!(gain(&[(3, 9.5), (1, 9.0), (2, 8.0)]), 2.0);
    }
}

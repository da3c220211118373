//! Comparisons with the sparse engine: candidates by their bounds, then scores head by head.

use super::sparse::{ORDER, SparseQueries};
use super::target::{compare, floor};
use crate::graph::{ClassMatrix, Entity};
use crate::predict::{Comparison, FilteredQuery};

/// So many pairs wait at most to be scored head by head.
const MAX_WAITING: usize = 4_000_000;

/// A tail, and heads to score it with.
type Heads = (Entity, Vec<Entity>);

impl SparseQueries {
    /// Compares the answers of queries that ask for tails.
    pub fn compare_tails(&mut self, graph: &ClassMatrix, queries: &[FilteredQuery]) -> Vec<Vec<Comparison>> {
        let mut comparisons = Vec::with_capacity(queries.len());
        for query in queries {
            let head = query.query.known;
            let answers = self.scores_of_tails(graph, head, &query.answers);
            let competing = self.competing(graph, query, &answers);
            let scores = self.sides_of_tails(graph, head, &competing, &vec![&answers[..]; competing.len()]);
            comparisons.push(compare(&answers, &scores));
        }
        comparisons
    }

    /// Compares the answers of queries that ask for heads: what they ask of one head is worked out together.
    pub fn compare_heads(&mut self, graph: &ClassMatrix, queries: &[FilteredQuery]) -> Vec<Vec<Comparison>> {
        let asked: Vec<Heads> =
            queries.iter().map(|query| (query.query.known, query.answers.clone())).collect();
        let answers = self.scores_by_head(graph, &asked, None);
        let mut comparisons = Vec::with_capacity(queries.len());
        let (mut waiting, mut first, mut pairs) = (Vec::<Heads>::new(), 0, 0);
        for (number, (query, scores)) in queries.iter().zip(&answers).enumerate() {
            let competing = self.competing(graph, query, scores);
            pairs += competing.len();
            waiting.push((query.query.known, competing));
            if pairs > MAX_WAITING || number + 1 == queries.len() {
                let answers = &answers[first..=number];
                let competing = self.scores_by_head(graph, &waiting, Some(answers));
                comparisons.extend(answers.iter().zip(&competing).map(|(a, c)| compare(a, c)));
                waiting.clear();
                (first, pairs) = (number + 1, 0);
            }
        }
        comparisons
    }

    /// The candidates that compete with a query's answers and may reach the lowest of their scores.
    fn competing(&mut self, graph: &ClassMatrix, query: &FilteredQuery, answers: &[f32]) -> Vec<Entity> {
        let least = floor(answers) * (1.0 - ORDER);
        let mut candidates = self.candidates(graph, query.query, least);
        candidates.retain(|&candidate| query.has_competing(candidate));
        candidates
    }

    /// The scores of each tail with its heads, worked out head by head; in full, or as far as is needed
    /// to tell on which side of the tail's answers they are.
    fn scores_by_head(
        &mut self,
        graph: &ClassMatrix,
        tails: &[Heads],
        answers: Option<&[Vec<f32>]>,
    ) -> Vec<Vec<f32>> {
        let mut scores: Vec<Vec<f32>> = tails.iter().map(|(_, heads)| vec![0.0; heads.len()]).collect();
        let mut pairs: Vec<(Entity, u32, u32)> = Vec::new();
        for (query, (_, heads)) in tails.iter().enumerate() {
            pairs.extend(heads.iter().enumerate().map(|(at, &head)| (head, query as u32, at as u32)));
        }
        pairs.sort_unstable();
        for pairs in pairs.chunk_by(|a, b| a.0 == b.0) {
            let head = pairs[0].0;
            let of_head: Vec<Entity> = pairs.iter().map(|&(_, query, _)| tails[query as usize].0).collect();
            let found = match answers {
                None => self.scores_of_tails(graph, head, &of_head),
                Some(answers) => {
                    let answers: Vec<&[f32]> =
                        pairs.iter().map(|&(_, query, _)| &answers[query as usize][..]).collect();
                    self.sides_of_tails(graph, head, &of_head, &answers)
                }
            };
            for (score, &(_, query, at)) in found.iter().zip(pairs) {
                scores[query as usize][at as usize] = *score;
            }
        }
        scores
    }
}

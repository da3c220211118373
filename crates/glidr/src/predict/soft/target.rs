//! One target's soft rules: scores of pairs, and which way of comparing suits the engine.

use super::MessagePassing;
use super::sparse::{ORDER, SparseQueries};
use crate::graph::{ClassMatrix, Direction, Entity, Query};
use crate::infer::{Batch, Engine, Tables, Tape, lane_width};
use crate::model::Ensemble;
use crate::predict::{Comparison, FilteredQuery, TIE, TargetPredictor, compare_scores};
use crate::rule::Schema;

/// One target's soft rules, ready to score pairs on one graph.
pub struct SoftTarget<'g> {
    pub(super) graph: &'g ClassMatrix,
    /// Every rule with its weight.
    pub(super) rules: Vec<(Tables, f32)>,
    pub(super) rounds: usize,
    /// With the sparse engine.
    pub(super) sparse: Option<SparseQueries>,
}

impl<'g> SoftTarget<'g> {
    /// Prepares every rule of the ensemble, soft or hard.
    pub fn new(ensemble: &Ensemble, schema: Schema, graph: &'g ClassMatrix, passing: MessagePassing) -> Self {
        let MessagePassing { rounds, engine, extraction } = passing;
        let weights = ensemble.weights(&schema, extraction);
        let rules = weights.iter().zip(&ensemble.rules);
        let rules: Vec<(Tables, f32)> =
            rules.map(|(weights, rule)| (Tables::new(weights, schema, graph), rule.weight)).collect();
        let sparse =
            (engine.chosen(graph) == Engine::Sparse).then(|| SparseQueries::new(graph, &rules, rounds));
        SoftTarget { graph, rules, rounds, sparse }
    }

    /// The scores of pairs: weighted sums in the order of the rules.
    pub fn pair_scores(&mut self, pairs: &[(Entity, Entity)]) -> Vec<f32> {
        if let Some(sparse) = &mut self.sparse {
            return sparse.scores(self.graph, pairs);
        }
        let rules: Vec<(&Tables, f32)> =
            self.rules.iter().map(|(tables, weight)| (tables, *weight)).collect();
        self.scores_by(&rules, pairs)
    }

    /// The scores of pairs by each rule, without weights.
    pub(crate) fn scores_by_rule(&mut self, pairs: &[(Entity, Entity)]) -> Vec<Vec<f32>> {
        if let Some(sparse) = &mut self.sparse {
            return sparse.scores_by_rule(self.graph, pairs);
        }
        let mut rows = vec![Vec::with_capacity(self.rules.len()); pairs.len()];
        for (tables, _) in &self.rules {
            let scores = self.scores_by(&[(tables, 1.0)], pairs);
            rows.iter_mut().zip(scores).for_each(|(row, score)| row.push(score));
        }
        rows
    }

    pub(super) fn scores_by(&self, rules: &[(&Tables, f32)], pairs: &[(Entity, Entity)]) -> Vec<f32> {
        match pairs.len().min(lane_width(self.graph)) {
            ..=8 => self.scores_in::<8>(rules, pairs),
            9..=16 => self.scores_in::<16>(rules, pairs),
            _ => self.scores_in::<64>(rules, pairs),
        }
    }

    fn scores_in<const W: usize>(&self, rules: &[(&Tables, f32)], pairs: &[(Entity, Entity)]) -> Vec<f32> {
        let mut tape = Tape::<W>::default();
        let mut scores = Vec::with_capacity(pairs.len());
        for pairs in pairs.chunks(W) {
            let batch = Batch::new(self.graph, pairs);
            let mut sum = [0.0; W];
            for (tables, weight) in rules {
                let score = tape.infer(self.graph, tables, &batch, self.rounds);
                sum.iter_mut().zip(score).for_each(|(sum, score)| *sum += weight * score);
            }
            scores.extend(&sum[..pairs.len()]);
        }
        scores
    }
}

/// The pairs that candidates make with the known end of a query.
pub(super) fn pairs(query: Query, candidates: &[Entity]) -> Vec<(Entity, Entity)> {
    candidates.iter().map(|&candidate| query.direction.pair(query.known, candidate)).collect()
}

/// Scores from the first to the second number tie with this one: in single precision, as scores are summed.
fn tie_range(score: f32) -> [f32; 2] {
    [score * (1.0 - TIE), score * (1.0 + TIE)]
}

/// The lowest score that ties with one of these.
pub(super) fn floor(scores: &[f32]) -> f32 {
    tie_range(scores.iter().copied().fold(f32::INFINITY, f32::min))[0]
}

/// How each answer's score compares with competing ones.
pub(super) fn compare(answers: &[f32], competing: &[f32]) -> Vec<Comparison> {
    let compare = |&answer: &f32| {
        compare_scores(tie_range(answer).map(f64::from), competing.iter().copied().map(f64::from))
    };
    answers.iter().map(compare).collect()
}

impl TargetPredictor for SoftTarget<'_> {
    fn entities(&self) -> usize {
        self.graph.entities()
    }

    fn scores(&mut self, query: Query, candidates: &[Entity]) -> Vec<f64> {
        self.pair_scores(&pairs(query, candidates)).into_iter().map(f64::from).collect()
    }

    fn bounds(&mut self, queries: &[Query]) -> Option<Vec<Vec<f32>>> {
        Some(match &mut self.sparse {
            Some(sparse) => queries.iter().map(|&query| sparse.bounds(self.graph, query)).collect(),
            None => self.rule_bounds(queries).iter().map(|bounds| bounds.of_all(self.entities())).collect(),
        })
    }

    fn drop_below(&mut self, query: Query, candidates: &mut Vec<Entity>, least: f64) {
        // A known head has its own way to score tails.
        if let (Some(sparse), Direction::Tail) = (&mut self.sparse, query.direction) {
            let mut scores = sparse.scores_of_tails(self.graph, query.known, candidates).into_iter();
            let least = least as f32 * (1.0 - ORDER);
            candidates.retain(|_| scores.next().is_some_and(|score| score >= least));
        }
    }

    fn compare(&mut self, queries: &[FilteredQuery]) -> Vec<Vec<Comparison>> {
        match (&mut self.sparse, queries.first().map(|first| first.query.direction)) {
            (_, None) => Vec::new(),
            (None, Some(_)) => self.compare_by_bounds(queries),
            (Some(sparse), Some(Direction::Tail)) => sparse.compare_tails(self.graph, queries),
            (Some(sparse), Some(Direction::Head)) => sparse.compare_heads(self.graph, queries),
        }
    }

    fn tie_range(&self, score: f64) -> [f64; 2] {
        tie_range(score as f32).map(f64::from)
    }
}

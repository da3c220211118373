//! Comparisons with the dense engine: bounds of every candidate for many queries at once, side by side in lanes.

use super::SoftTarget;
use super::target::{compare, floor, pairs};
use crate::graph::{Direction, Entity, Query};
use crate::infer::{Batch, Pass, Tables, Tape, lane_width};
use crate::predict::{Comparison, FilteredQuery};

/// The pass of messages that bounds the candidates of a direction.
fn pass(direction: Direction) -> Pass {
    match direction {
        Direction::Tail => Pass::Forward,
        Direction::Head => Pass::Backward,
    }
}

/// Upper bounds of all candidates' scores for one query, rule by rule, weights included.
#[derive(Clone, Debug)]
pub(super) struct RuleBounds {
    rules: Vec<Vec<f32>>,
}

impl RuleBounds {
    /// The bound of one candidate's whole score: summed as the score is, so that rounding cannot
    /// lift one above the other.
    fn of(&self, candidate: Entity) -> f32 {
        self.rules.iter().map(|rule| rule[candidate.index()]).sum()
    }

    /// The bounds of all entities.
    pub fn of_all(&self, entities: usize) -> Vec<f32> {
        (0..entities as u32).map(|entity| self.of(Entity(entity))).collect()
    }
}

impl SoftTarget<'_> {
    /// For each query, which share a direction, an upper bound of every candidate's score, rule by rule.
    ///
    /// Heads are bounded by the backward pass, so only where there is one; else by 1.
    pub(super) fn rule_bounds(&self, queries: &[Query]) -> Vec<RuleBounds> {
        let Some(direction) = queries.first().map(|first| first.direction) else { return Vec::new() };
        if direction == Direction::Head && self.rounds == 1 {
            let ones = |(_, weight): &(Tables, f32)| vec![*weight; self.graph.entities()];
            return vec![RuleBounds { rules: self.rules.iter().map(ones).collect() }; queries.len()];
        }
        match queries.len().min(lane_width(self.graph)) {
            ..=8 => self.bounds_in::<8>(direction, queries),
            9..=16 => self.bounds_in::<16>(direction, queries),
            _ => self.bounds_in::<64>(direction, queries),
        }
    }

    fn bounds_in<const W: usize>(&self, direction: Direction, queries: &[Query]) -> Vec<RuleBounds> {
        let mut tape = Tape::<W>::default();
        let mut all = Vec::with_capacity(queries.len());
        for queries in queries.chunks(W) {
            let pairs: Vec<_> = queries.iter().map(|query| (query.known, query.known)).collect();
            let batch = Batch::new(self.graph, &pairs);
            let mut found = vec![RuleBounds { rules: Vec::with_capacity(self.rules.len()) }; queries.len()];
            for (tables, weight) in &self.rules {
                let bounds = tape.bounds(self.graph, tables, &batch, pass(direction));
                for (lane, found) in found.iter_mut().enumerate() {
                    found.rules.push(bounds.iter().map(|bound| weight * bound[lane]).collect());
                }
            }
            all.extend(found);
        }
        all
    }

    /// Compares answers with those candidates whose bound reaches the lowest answer's score: no other can be at or
    /// above one.
    pub(super) fn compare_by_bounds(&mut self, queries: &[FilteredQuery]) -> Vec<Vec<Comparison>> {
        let open: Vec<Query> = queries.iter().map(|query| query.query).collect();
        let bounds = self.rule_bounds(&open);
        let mut comparisons = Vec::with_capacity(queries.len());
        for (query, bounds) in queries.iter().zip(&bounds) {
            let answers = self.pair_scores(&pairs(query.query, &query.answers));
            let floor = floor(&answers);
            let reaching = (0..self.graph.entities() as u32)
                .map(Entity)
                .filter(|candidate| bounds.of(*candidate) >= floor)
                .filter(|candidate| query.has_competing(*candidate));
            let competing = self.scores_reaching(query.query, reaching, bounds, floor);
            comparisons.push(compare(&answers, &competing));
        }
        comparisons
    }

    /// The scores of those candidates that reach `floor`; one is dropped after the first rule that shows it cannot.
    fn scores_reaching(
        &self,
        query: Query,
        candidates: impl Iterator<Item = Entity>,
        bounds: &RuleBounds,
        floor: f32,
    ) -> Vec<f32> {
        let parts = |candidate: Entity| bounds.rules.iter().map(|rule| rule[candidate.index()]).collect();
        let mut open: Vec<(Entity, Vec<f32>)> =
            candidates.map(|candidate| (candidate, parts(candidate))).collect();
        for (number, (tables, weight)) in self.rules.iter().enumerate() {
            let candidates: Vec<Entity> = open.iter().map(|&(candidate, _)| candidate).collect();
            let scores = self.scores_by(&[(tables, *weight)], &pairs(query, &candidates));
            open.iter_mut().zip(scores).for_each(|((_, parts), score)| parts[number] = score);
            open.retain(|(_, parts)| sum(parts) >= floor);
        }
        open.iter().map(|(_, parts)| sum(parts)).collect()
    }
}

fn sum(parts: &[f32]) -> f32 {
    parts.iter().sum()
}

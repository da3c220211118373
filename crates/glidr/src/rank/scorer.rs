//! Scores of an ensemble: of given pairs, or bounds for every candidate at once.

use std::sync::{Mutex, MutexGuard};

use super::opened::Opened;
use crate::graph::{ClassMatrix, Direction, Entity};
use crate::infer::{Batch, Engine, Pass, Tables, Tape, lane_width};
use crate::model::Ensemble;
use crate::model::Extraction;
use crate::rule::Schema;

/// The pass of messages that bounds the candidates of a direction.
fn pass(direction: Direction) -> Pass {
    match direction {
        Direction::Tail => Pass::Forward,
        Direction::Head => Pass::Backward,
    }
}

/// A candidate and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The candidate.
    pub entity: Entity,
    /// The ensemble's score: the sum of its rules' scores by vote.
    pub score: f32,
}

/// One target's ensemble, ready to score pairs on one graph.
pub struct Scorer<'g> {
    graph: &'g ClassMatrix,
    rules: Vec<(Tables, f32)>,
    rounds: usize,
    /// With the sparse engine.
    opened: Option<Mutex<Opened>>,
}

/// How far a score of the sparse engine may be above its bound, relative to it: sums in another
/// order differ by a little.
pub(super) const ORDER: f32 = 2e-5;

impl<'g> Scorer<'g> {
    /// Prepares every rule of the ensemble, soft or hard, with its vote; the engine is chosen by the
    /// graph.
    pub fn new(
        ensemble: &Ensemble,
        schema: Schema,
        graph: &'g ClassMatrix,
        rounds: usize,
        hard: Option<Extraction>,
    ) -> Self {
        Scorer::with_engine(Engine::Auto, ensemble, schema, graph, rounds, hard)
    }

    /// The same with a given engine.
    pub fn with_engine(
        engine: Engine,
        ensemble: &Ensemble,
        schema: Schema,
        graph: &'g ClassMatrix,
        rounds: usize,
        hard: Option<Extraction>,
    ) -> Self {
        let weights = ensemble.weights(&schema, hard);
        let rules = weights.iter().zip(&ensemble.rules);
        let rules: Vec<(Tables, f32)> =
            rules.map(|(weights, rule)| (Tables::new(weights, schema, graph), rule.vote)).collect();
        let opened =
            (engine.chosen(graph) == Engine::Sparse).then(|| Mutex::new(Opened::new(graph, &rules, rounds)));
        Scorer { graph, rules, rounds, opened }
    }

    /// The sparse engine, where it is in use.
    pub(crate) fn opened(&self) -> Option<MutexGuard<'_, Opened>> {
        self.opened.as_ref().map(|opened| opened.lock().expect("no thread panics while it scores"))
    }

    /// The least bound of a candidate that can reach `score`: with the sparse engine, sums in
    /// another order differ by a little.
    pub(crate) fn least_bound(&self, score: f32) -> f32 {
        if self.opened.is_some() { score * (1.0 - ORDER) } else { score }
    }

    /// The scores of `pairs`: weighted sums in the order of the rules.
    pub fn scores(&self, pairs: &[(Entity, Entity)]) -> Vec<f32> {
        match self.opened() {
            Some(mut opened) => opened.scores(self.graph, pairs),
            None => self.scores_by(
                &self.rules.iter().map(|(tables, vote)| (tables, *vote)).collect::<Vec<_>>(),
                pairs,
            ),
        }
    }

    /// The scores of `pairs` by each rule, without votes.
    pub(super) fn scores_by_rule(&self, pairs: &[(Entity, Entity)]) -> Vec<Vec<f32>> {
        if let Some(mut opened) = self.opened() {
            return opened.scores_by_rule(self.graph, pairs);
        }
        let mut rows = vec![Vec::with_capacity(self.rules.len()); pairs.len()];
        for (tables, _) in &self.rules {
            rows.iter_mut()
                .zip(self.scores_by(&[(tables, 1.0)], pairs))
                .for_each(|(row, score)| row.push(score));
        }
        rows
    }

    fn scores_by(&self, rules: &[(&Tables, f32)], pairs: &[(Entity, Entity)]) -> Vec<f32> {
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
            for (tables, vote) in rules {
                let score = tape.infer(self.graph, tables, &batch, self.rounds);
                sum.iter_mut().zip(score).for_each(|(sum, score)| *sum += vote * score);
            }
            scores.extend(&sum[..pairs.len()]);
        }
        scores
    }

    /// For each known end an upper bound of every candidate's score, rule by rule, by the dense
    /// engine.
    ///
    /// Heads are bounded by the backward pass, so only where there is one; else by 1.
    pub fn bounds(&self, direction: Direction, known: &[Entity]) -> Vec<Bounds> {
        if direction == Direction::Head && self.rounds == 1 {
            let ones = |(_, vote): &(Tables, f32)| vec![*vote; self.graph.entities()];
            return vec![Bounds { rules: self.rules.iter().map(ones).collect() }; known.len()];
        }
        match known.len().min(lane_width(self.graph)) {
            ..=8 => self.bounds_in::<8>(direction, known),
            9..=16 => self.bounds_in::<16>(direction, known),
            _ => self.bounds_in::<64>(direction, known),
        }
    }

    fn bounds_in<const W: usize>(&self, direction: Direction, known: &[Entity]) -> Vec<Bounds> {
        let mut tape = Tape::<W>::default();
        let mut all = Vec::with_capacity(known.len());
        for known in known.chunks(W) {
            let pairs: Vec<_> = known.iter().map(|&end| (end, end)).collect();
            let batch = Batch::new(self.graph, &pairs);
            let mut found = vec![Bounds { rules: Vec::with_capacity(self.rules.len()) }; known.len()];
            for (tables, vote) in &self.rules {
                let bounds = tape.bounds(self.graph, tables, &batch, pass(direction));
                for (lane, found) in found.iter_mut().enumerate() {
                    found.rules.push(bounds.iter().map(|bound| vote * bound[lane]).collect());
                }
            }
            all.extend(found);
        }
        all
    }

    /// The scores of those of `rivals` that reach `floor`; a rival is dropped after the first
    /// rule that shows it cannot.
    pub(crate) fn scores_reaching(
        &self,
        direction: Direction,
        known: Entity,
        negatives: &[Entity],
        bounds: &Bounds,
        floor: f32,
    ) -> Vec<f32> {
        let shares = |negative: Entity| bounds.rules.iter().map(|rule| rule[negative.index()]).collect();
        let mut open: Vec<(Entity, Vec<f32>)> =
            negatives.iter().map(|&negative| (negative, shares(negative))).collect();
        for number in 0..self.rules.len() {
            let pairs: Vec<_> = open.iter().map(|&(negative, _)| direction.pair(known, negative)).collect();
            let (tables, vote) = &self.rules[number];
            let scores = self.scores_by(&[(tables, *vote)], &pairs);
            open.iter_mut().zip(scores).for_each(|((_, shares), score)| shares[number] = score);
            open.retain(|(_, shares)| sum(shares) >= floor);
        }
        open.iter().map(|(_, shares)| sum(shares)).collect()
    }

    /// The `count` best candidates that `allowed` admits, best first, equal scores in the order
    /// of their numbers: exactly, though only those whose bound is high enough are scored.
    pub fn best(
        &self,
        direction: Direction,
        known: Entity,
        count: usize,
        allowed: impl Fn(Entity) -> bool,
    ) -> Vec<Answer> {
        let mut order: Vec<(Entity, f32)> = self.bounded(direction, known);
        order.retain(|&(entity, _)| allowed(entity));
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut best: Vec<Answer> = Vec::new();
        for chunk in order.chunks(lane_width(self.graph)) {
            let full = best.len() >= count;
            let least = self.least_bound(best.last().filter(|_| full).map_or(0.0, |least| least.score));
            if full && (count == 0 || chunk[0].1 < least) {
                break;
            }
            let mut candidates: Vec<Entity> = chunk.iter().map(|&(candidate, _)| candidate).collect();
            self.drop_low(direction, known, &mut candidates, least);
            let pairs: Vec<_> =
                candidates.iter().map(|&candidate| direction.pair(known, candidate)).collect();
            let scores = self.scores(&pairs);
            best.extend(candidates.into_iter().zip(scores).map(|(entity, score)| Answer { entity, score }));
            best.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.entity.cmp(&b.entity)));
            best.truncate(count);
        }
        best
    }
}

impl Scorer<'_> {
    /// Every candidate with a bound of its score.
    fn bounded(&self, direction: Direction, known: Entity) -> Vec<(Entity, f32)> {
        if let Some(mut opened) = self.opened() {
            return opened.negatives(self.graph, direction, known, 0.0);
        }
        let bounds = self.bounds(direction, &[known]).remove(0);
        (0..self.graph.entities() as u32).map(Entity).map(|entity| (entity, bounds.of(entity))).collect()
    }

    /// Drops candidates that a known head's own way to score tails shows to be below `least`.
    fn drop_low(&self, direction: Direction, known: Entity, candidates: &mut Vec<Entity>, least: f32) {
        let Some(mut opened) = self.opened().filter(|_| direction == Direction::Tail) else { return };
        let mut scores = opened.scores_of_tails(self.graph, known, candidates).into_iter();
        candidates.retain(|_| scores.next().is_some_and(|score| score >= least));
    }
}

/// Upper bounds of all candidates' scores for one known end, rule by rule, votes included.
#[derive(Clone, Debug)]
pub struct Bounds {
    rules: Vec<Vec<f32>>,
}

impl Bounds {
    /// The bound of one candidate's whole score: summed as the score is, so that rounding cannot
    /// lift one above the other.
    pub fn of(&self, candidate: Entity) -> f32 {
        self.rules.iter().map(|rule| rule[candidate.index()]).sum()
    }
}

fn sum(shares: &[f32]) -> f32 {
    shares.iter().sum()
}

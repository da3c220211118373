//! Scores of an ensemble: of given pairs, or bounds for every candidate at once.

use std::sync::{Mutex, MutexGuard};

use crate::extract::Extraction;
use crate::graph::{Entity, Graph};
use crate::infer::{Batch, Engine, Pass, Sparse, Tables, Tape, lane_width};
use crate::model::Ensemble;
use crate::rule::Schema;

/// Which end of a fact is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Asked {
    /// `p(h, ?)`
    Tail,
    /// `p(?, t)`
    Head,
}

impl Asked {
    /// Both, in the order of the printed results.
    pub const BOTH: [Asked; 2] = [Asked::Tail, Asked::Head];

    /// The pair of the known end and a candidate.
    pub fn pair(self, known: Entity, candidate: Entity) -> (Entity, Entity) {
        match self {
            Asked::Tail => (known, candidate),
            Asked::Head => (candidate, known),
        }
    }

    fn pass(self) -> Pass {
        match self {
            Asked::Tail => Pass::Forward,
            Asked::Head => Pass::Backward,
        }
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
    graph: &'g Graph,
    rules: Vec<(Tables, f32)>,
    rounds: usize,
    /// On a sparse graph: the rules in blocks of eight, with their profiles.
    blocks: Option<Mutex<Vec<Sparse>>>,
}

/// How far a score of the sparse engine may be above its bound, relative to it: sums in another
/// order differ by a little.
const ORDER: f32 = 2e-5;

impl<'g> Scorer<'g> {
    /// Prepares every rule of the ensemble, soft or hard, with its vote.
    pub fn new(
        ensemble: &Ensemble,
        schema: Schema,
        graph: &'g Graph,
        rounds: usize,
        hard: Option<Extraction>,
    ) -> Self {
        let weights = ensemble.weights(&schema, hard);
        let rules = weights.iter().zip(&ensemble.rules);
        let rules: Vec<(Tables, f32)> =
            rules.map(|(weights, rule)| (Tables::new(weights, schema, graph), rule.vote)).collect();
        let blocks = (Engine::Auto.chosen(graph) == Engine::Sparse).then(|| {
            let prepare = |rules: &[(Tables, f32)]| {
                let tables: Vec<Tables> = rules.iter().map(|(tables, _)| tables.clone()).collect();
                let mut sparse = Sparse::default();
                sparse.prepare(graph, &tables, rounds);
                sparse
            };
            Mutex::new(rules.chunks(Sparse::RULES).map(prepare).collect())
        });
        Scorer { graph, rules, rounds, blocks }
    }

    /// Every block of rules of the sparse engine with its first rule's number, where it is in use.
    fn blocks(&self) -> Option<MutexGuard<'_, Vec<Sparse>>> {
        self.blocks.as_ref().map(|blocks| blocks.lock().expect("no thread panics while it scores"))
    }

    /// The least bound of a candidate that can reach `score`.
    pub(crate) fn least_bound(&self, score: f32) -> f32 {
        if self.blocks.is_some() { score * (1.0 - ORDER) } else { score }
    }

    /// The scores of `pairs`: weighted sums in the order of the rules.
    pub fn scores(&self, pairs: &[(Entity, Entity)]) -> Vec<f32> {
        let Some(mut blocks) = self.blocks() else { return self.scores_by(&self.rules, pairs) };
        let mut sums = vec![0.0; pairs.len()];
        for (rules, block) in self.rules.chunks(Sparse::RULES).zip(blocks.iter_mut()) {
            for (sum, lanes) in sums.iter_mut().zip(block.scores_only(self.graph, pairs)) {
                rules.iter().zip(lanes).for_each(|((_, vote), score)| *sum += vote * score);
            }
        }
        sums
    }

    fn scores_by(&self, rules: &[(Tables, f32)], pairs: &[(Entity, Entity)]) -> Vec<f32> {
        match pairs.len().min(lane_width(self.graph)) {
            ..=8 => self.scores_in::<8>(rules, pairs),
            9..=16 => self.scores_in::<16>(rules, pairs),
            _ => self.scores_in::<64>(rules, pairs),
        }
    }

    fn scores_in<const W: usize>(&self, rules: &[(Tables, f32)], pairs: &[(Entity, Entity)]) -> Vec<f32> {
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

    /// For each known end an upper bound of every candidate's score, rule by rule.
    ///
    /// Heads are bounded by the backward pass, so only where there is one; else by 1.
    pub fn bounds(&self, asked: Asked, known: &[Entity]) -> Vec<Bounds> {
        if asked == Asked::Head && self.rounds == 1 {
            let ones = |(_, vote): &(Tables, f32)| vec![*vote; self.graph.entities()];
            return vec![Bounds { rules: self.rules.iter().map(ones).collect() }; known.len()];
        }
        match known.len().min(lane_width(self.graph)) {
            ..=8 => self.bounds_in::<8>(asked, known),
            9..=16 => self.bounds_in::<16>(asked, known),
            _ => self.bounds_in::<64>(asked, known),
        }
    }

    fn bounds_in<const W: usize>(&self, asked: Asked, known: &[Entity]) -> Vec<Bounds> {
        let mut tape = Tape::<W>::default();
        let mut all = Vec::with_capacity(known.len());
        for known in known.chunks(W) {
            let pairs: Vec<_> = known.iter().map(|&end| (end, end)).collect();
            let batch = Batch::new(self.graph, &pairs);
            let mut found = vec![Bounds { rules: Vec::with_capacity(self.rules.len()) }; known.len()];
            for (tables, vote) in &self.rules {
                let bounds = tape.bounds(self.graph, tables, &batch, asked.pass());
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
        asked: Asked,
        known: Entity,
        rivals: &[Entity],
        bounds: &Bounds,
        floor: f32,
    ) -> Vec<f32> {
        let shares = |rival: Entity| bounds.rules.iter().map(|rule| rule[rival.index()]).collect();
        let mut open: Vec<(Entity, Vec<f32>)> = rivals.iter().map(|&rival| (rival, shares(rival))).collect();
        let least = self.least_bound(floor);
        if let Some(mut blocks) = self.blocks() {
            for (number, block) in blocks.iter_mut().enumerate() {
                let pairs: Vec<_> = open.iter().map(|&(rival, _)| asked.pair(known, rival)).collect();
                let first = number * Sparse::RULES;
                for ((_, shares), lanes) in open.iter_mut().zip(block.scores_only(self.graph, &pairs)) {
                    let votes = self.rules[first..].iter().map(|(_, vote)| vote);
                    let scores = votes.zip(lanes).map(|(vote, score)| vote * score);
                    shares[first..].iter_mut().zip(scores).for_each(|(share, score)| *share = score);
                }
                open.retain(|(_, shares)| sum(shares) >= least);
            }
            return open.iter().map(|(_, shares)| sum(shares)).collect();
        }
        for number in 0..self.rules.len() {
            let pairs: Vec<_> = open.iter().map(|&(rival, _)| asked.pair(known, rival)).collect();
            let scores = self.scores_by(&self.rules[number..=number], &pairs);
            open.iter_mut().zip(scores).for_each(|((_, shares), score)| shares[number] = score);
            open.retain(|(_, shares)| sum(shares) >= floor);
        }
        open.iter().map(|(_, shares)| sum(shares)).collect()
    }

    /// The `count` best candidates that `allowed` admits, best first, equal scores in the order
    /// of their numbers: exactly, though only those whose bound is high enough are scored.
    pub fn best(
        &self,
        asked: Asked,
        known: Entity,
        count: usize,
        allowed: impl Fn(Entity) -> bool,
    ) -> Vec<Answer> {
        let bounds = self.bounds(asked, &[known]).remove(0);
        let mut order: Vec<(Entity, f32)> = (0..self.graph.entities() as u32)
            .map(Entity)
            .filter(|&entity| allowed(entity))
            .map(|entity| (entity, bounds.of(entity)))
            .collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut best: Vec<Answer> = Vec::new();
        for chunk in order.chunks(lane_width(self.graph)) {
            if best.len() >= count
                && best.last().is_none_or(|least| chunk[0].1 < self.least_bound(least.score))
            {
                break;
            }
            let pairs: Vec<_> = chunk.iter().map(|&(candidate, _)| asked.pair(known, candidate)).collect();
            let scores = self.scores(&pairs);
            best.extend(chunk.iter().zip(scores).map(|(&(entity, _), score)| Answer { entity, score }));
            best.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.entity.cmp(&b.entity)));
            best.truncate(count);
        }
        best
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

//! A unit of work: some rules of one target, trained side by side on the same batches.
//!
//! The loss is the mean over rules, so every rule learns by itself; units share nothing that
//! changes, and how rules are divided among them changes no result.

use std::ops::Range;

use rand_distr::{Distribution, StandardNormal};

use super::{AdamW, Sampler, Training, pairwise_logistic};
use crate::graph::{Entity, Graph, Predicate};
use crate::infer::{Batch, Slots, Tables, Tape, Weights, lane_width};
use crate::random::{Purpose, stream};
use crate::rule::{Filling, Schema};

/// Validation batches per target: at least this many, so that few held-out facts weigh enough.
const LEAST_VALIDATION: usize = 8;
/// And at most this many.
const MOST_VALIDATION: usize = 64;

/// Added to the first logits of the fillers of a rule that is started from.
const START: f32 = 6.0;

/// One rule while it is trained.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RuleState {
    pub logits: Slots,
    pub memory: AdamW,
}

/// Some rules of one target, and how far their training has come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unit {
    pub target: Predicate,
    pub rules: Range<usize>,
    pub states: Vec<RuleState>,
    pub step: usize,
    /// Mean loss of the last step, for the progress bar.
    pub loss: f32,
    /// Mean validation loss per rule, once training is over.
    pub validation: Vec<f32>,
}

/// What units of one target read.
pub(crate) struct Setting<'a> {
    pub training: &'a Training,
    pub schema: Schema,
    /// *facts*.
    pub training_graph: &'a Graph,
    /// *facts* and *train*.
    pub validation_graph: &'a Graph,
    pub sampler: &'a Sampler<'a>,
}

impl Unit {
    /// Rules with logits drawn from a normal distribution; the first ones lean towards `starts`.
    pub fn new(
        target: Predicate,
        rules: Range<usize>,
        schema: &Schema,
        training: &Training,
        starts: &[Filling],
    ) -> Self {
        let start = |rule: usize| {
            let mut random = stream(training.seed, Purpose::Start, [target.0 as u64, rule as u64, 0]);
            let mut logits = Slots::zero(schema);
            for logit in logits.iter_mut() {
                let normal: f32 = StandardNormal.sample(&mut random);
                *logit = normal * training.spread;
            }
            if rule % 4 == 3 && schema.variables > 2 {
                let ends = schema.slot(0, schema.variables - 1);
                logits.pairs[(ends + 1) * schema.fillers() - 1] += training.indirect;
            }
            if let Some(filling) = starts.get(rule) {
                let hard = Slots::hard(filling);
                logits.iter_mut().zip(hard.iter()).for_each(|(logit, chosen)| *logit += START * chosen);
            }
            let memory = AdamW::new(logits.len());
            RuleState { logits, memory }
        };
        let states = rules.clone().map(start).collect();
        Unit { target, rules, states, step: 0, loss: f32::NAN, validation: Vec::new() }
    }

    /// Whether every logit is still a finite number.
    pub fn is_sound(&self) -> bool {
        self.states.iter().flat_map(|state| state.logits.iter()).all(f32::is_finite)
    }

    /// Whether training and validation are over.
    pub fn is_done(&self) -> bool {
        self.validation.len() == self.rules.len()
    }

    /// One training step of all rules on one batch.
    pub fn train(&mut self, setting: &Setting, room: &mut Room) {
        let training = setting.training;
        let (pairs, positives) = setting.sampler.training(self.step, training.batch);
        self.step += 1;
        let mut total = 0.0;
        room.with(&pairs, setting.training_graph, |passes| {
            for state in &mut self.states {
                let weights = Slots::soft(&state.logits, &setting.schema);
                let (loss, mut d_weights) =
                    passes.loss_and_gradient(&weights, setting, positives, 1.0 / training.rules as f32);
                Slots::soft_adjoint(&weights, &mut d_weights, &setting.schema);
                state.memory.step(&mut state.logits, &d_weights, self.step, training.rate, training.decay);
                total += loss;
            }
        });
        self.loss = total / self.states.len() as f32;
    }

    /// The mean validation loss of every rule.
    pub fn validate(&mut self, setting: &Setting, room: &mut Room) {
        let size = setting.training.batch;
        let held_out = setting.sampler.held_out();
        // Without held-out facts the training positives stand in, and must not be in the background.
        let graph = if held_out == 0 { setting.training_graph } else { setting.validation_graph };
        let batches = held_out.div_ceil(size / 2).clamp(LEAST_VALIDATION, MOST_VALIDATION);
        let mut sums = vec![0.0f64; self.states.len()];
        for number in 0..batches {
            let (pairs, positives) = setting.sampler.validation(number, size);
            room.with(&pairs, graph, |passes| {
                for (state, sum) in self.states.iter().zip(&mut sums) {
                    let weights = Slots::soft(&state.logits, &setting.schema);
                    let tables = Tables::new(&weights, setting.schema, graph);
                    let scores = passes.scores(&tables, graph, setting.training.rounds);
                    *sum += f64::from(pairwise_logistic(&scores, positives).0);
                }
            });
        }
        self.validation = sums.into_iter().map(|sum| (sum / batches as f64) as f32).collect();
    }
}

/// A thread's room for message passing, in each width of lanes.
#[derive(Default)]
pub(crate) struct Room {
    narrow: Vec<Tape<8>>,
    middle: Vec<Tape<16>>,
    wide: Vec<Tape<64>>,
}

impl Room {
    /// Lays out the batch in lanes, as wide as the batch needs and as one variable's domains
    /// still fit a core's cache, and does `work` on it.
    fn with(&mut self, pairs: &[(Entity, Entity)], graph: &Graph, work: impl FnOnce(&mut dyn Passes)) {
        match pairs.len().min(lane_width(graph)) {
            ..=8 => work(&mut Lanes::new(pairs, graph, &mut self.narrow)),
            9..=16 => work(&mut Lanes::new(pairs, graph, &mut self.middle)),
            _ => work(&mut Lanes::new(pairs, graph, &mut self.wide)),
        }
    }
}

/// Message passing over a batch of any size.
trait Passes {
    fn scores(&mut self, tables: &Tables, graph: &Graph, rounds: usize) -> Vec<f32>;
    fn loss_and_gradient(
        &mut self,
        weights: &Weights,
        setting: &Setting,
        positives: usize,
        share: f32,
    ) -> (f32, Slots);
}

/// A batch divided into groups of W lanes, with a tape for each.
struct Lanes<'a, const W: usize> {
    groups: Vec<Batch<'a, W>>,
    tapes: &'a mut [Tape<W>],
}

impl<'a, const W: usize> Lanes<'a, W> {
    fn new(pairs: &[(Entity, Entity)], graph: &'a Graph, tapes: &'a mut Vec<Tape<W>>) -> Self {
        let groups: Vec<_> = pairs.chunks(W).map(|pairs| Batch::new(graph, pairs)).collect();
        if tapes.len() < groups.len() {
            tapes.resize_with(groups.len(), Tape::default);
        }
        Lanes { groups, tapes }
    }
}

impl<const W: usize> Passes for Lanes<'_, W> {
    fn scores(&mut self, tables: &Tables, graph: &Graph, rounds: usize) -> Vec<f32> {
        let groups = self.groups.iter().zip(self.tapes.iter_mut());
        groups
            .flat_map(|(batch, tape)| {
                let scores = tape.infer(graph, tables, batch, rounds);
                scores.into_iter().take(batch.count())
            })
            .collect()
    }

    fn loss_and_gradient(
        &mut self,
        weights: &Weights,
        setting: &Setting,
        positives: usize,
        share: f32,
    ) -> (f32, Slots) {
        let graph = setting.training_graph;
        let tables = Tables::new(weights, setting.schema, graph);
        let scores = self.scores(&tables, graph, setting.training.rounds);
        let (loss, d_scores) = pairwise_logistic(&scores, positives);
        let mut d_tables = Tables::zero(setting.schema, graph);
        for ((batch, tape), d) in self.groups.iter().zip(self.tapes.iter_mut()).zip(d_scores.chunks(W)) {
            let mut lanes = [0.0; W];
            lanes.iter_mut().zip(d).for_each(|(lane, d)| *lane = d * share);
            tape.adjoint(graph, &tables, batch, &lanes, &mut d_tables);
        }
        let mut d_weights = Slots::zero(&setting.schema);
        Tables::adjoint(d_tables, weights, graph, &mut d_weights, None);
        (loss, d_weights)
    }
}

//! A unit of work: some rules of one target, trained side by side on the same batches.
//!
//! The loss is the mean over rules, so every rule learns by itself; units share nothing that
//! changes, and how rules are divided among them changes no result.

use std::ops::Range;

use rand_distr::{Distribution, StandardNormal};

use super::listwise::Listwise;
use super::loss::{Objective, Pairwise};
use super::passes::{Task, Workspace};
use super::queries::AnsweredQuery;
use super::{AdamW, Pair, Sampler, pairwise_logistic};
use crate::graph::{ClassMatrix, MaskedGraph, Predicate};
use crate::infer::{Engine, Slots, Weights};
use crate::model::{Ensemble, Loss, SoftRule, Training};
use crate::predict::{MessagePassing, SoftTarget};
use crate::rule::{Filling, Schema};
use crate::util::random::{Purpose, stream};

/// Validation batches per target: at least this many, so that few held-out facts weigh enough.
pub(super) const MIN_VALIDATION: usize = 8;
/// And at most this many.
pub(super) const MAX_VALIDATION: usize = 64;

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
pub(crate) struct Context<'a> {
    pub training: &'a Training,
    pub schema: Schema,
    pub engine: Engine,
    /// The background of training: *facts*, or with all positives *facts* and *train*.
    pub training_graph: &'a ClassMatrix,
    /// *facts* and *train*.
    pub validation_graph: &'a ClassMatrix,
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
                *logit = normal * training.init_std;
            }
            if rule % 4 == 3 && schema.variables > 2 {
                let ends = schema.slot(0, schema.variables - 1);
                logits.pairs[(ends + 1) * schema.fillers() - 1] += training.direct_slot_bias;
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

    /// One training step of all rules on one batch, whose own facts `masked` takes out of the
    /// background where they stand in it.
    pub fn train(&mut self, context: &Context, masked: &mut Option<MaskedGraph>, workspace: &mut Workspace) {
        let training = context.training;
        let step = self.step;
        self.step += 1;
        let weights = self.weights(&context.schema);
        match training.loss {
            Loss::Pairwise => {
                let (pairs, positives) = context.sampler.training(step, training.batch);
                let graph = background(context.training_graph, masked, &pairs[..positives]);
                let own = (1.0 - training.joint_loss) / training.rules as f32;
                let pairwise = Pairwise { positives, own, joint_loss: training.joint_loss };
                self.descend(context, graph, &pairs, &weights, &pairwise, workspace);
            }
            Loss::Listwise => {
                let count = (training.batch / training.candidates).max(1);
                let answered = context.sampler.queries(step, count);
                let answers: Vec<Pair> = answered.iter().map(AnsweredQuery::pair).collect();
                let graph = background(context.training_graph, masked, &answers);
                let mut rules = self.predictor(context, graph);
                let lists = context.sampler.lists(step, &answered, training.candidates, &mut rules);
                let listwise = Listwise { queries: &lists.queries };
                self.descend(context, graph, &lists.pairs, &weights, &listwise, workspace);
            }
        }
    }

    /// The rules as they are, ready to rank candidates on a graph.
    fn predictor<'g>(&self, context: &Context, graph: &'g ClassMatrix) -> SoftTarget<'g> {
        let rules =
            self.states.iter().map(|state| SoftRule { logits: state.logits.clone(), loss: 1.0, weight: 1.0 });
        let ensemble = Ensemble { target: self.target, rules: rules.collect() };
        let rounds = context.training.rounds;
        let passing = MessagePassing { rounds, engine: context.engine, extraction: None };
        SoftTarget::new(&ensemble, context.schema, graph, passing)
    }

    /// One step against the derivative of a loss on some pairs.
    fn descend(
        &mut self,
        context: &Context,
        graph: &ClassMatrix,
        pairs: &[Pair],
        weights: &[Weights],
        objective: &dyn Objective,
        workspace: &mut Workspace,
    ) {
        let training = context.training;
        let task = Task { schema: context.schema, rounds: training.rounds, graph, pairs };
        let losses = workspace.with(context.engine, task, |passes| passes.losses(weights, objective));
        let mut total = 0.0;
        for ((state, weights), (loss, mut d_weights)) in self.states.iter_mut().zip(weights).zip(losses) {
            Slots::soft_adjoint(weights, &mut d_weights, &context.schema);
            state.memory.step(
                &mut state.logits,
                &d_weights,
                self.step,
                training.learning_rate,
                training.weight_decay,
            );
            total += loss;
        }
        self.loss = total / self.states.len() as f32;
    }

    /// Whether it is trained a little, but not validated.
    pub fn is_open(&self) -> bool {
        self.step > 0 && !self.is_done()
    }

    /// The mean validation loss of every rule, over at most so many batches.
    pub fn validate(
        &mut self,
        context: &Context,
        masked: &mut Option<MaskedGraph>,
        workspace: &mut Workspace,
        max_batches: usize,
    ) {
        let size = context.training.batch;
        let held_out = context.sampler.held_out();
        let batches = held_out.div_ceil(size / 2).clamp(MIN_VALIDATION, max_batches);
        let weights = self.weights(&context.schema);
        let mut sums = vec![0.0f64; self.states.len()];
        for number in 0..batches {
            let (pairs, positives) = context.sampler.validation(number, size);
            // Without held-out facts the training positives stand in, and must not be in the background.
            let graph = match held_out {
                0 => background(context.training_graph, masked, &pairs[..positives]),
                _ => context.validation_graph,
            };
            let task = Task { schema: context.schema, rounds: context.training.rounds, graph, pairs: &pairs };
            let scores = workspace.with(context.engine, task, |passes| passes.scores(&weights));
            for (sum, scores) in sums.iter_mut().zip(scores) {
                *sum += f64::from(pairwise_logistic(&scores, positives).0);
            }
        }
        self.validation = sums.into_iter().map(|sum| (sum / batches as f64) as f32).collect();
    }

    fn weights(&self, schema: &Schema) -> Vec<Weights> {
        self.states.iter().map(|state| Slots::soft(&state.logits, schema)).collect()
    }
}

/// The graph that a batch is asked about on.
fn background<'a>(
    graph: &'a ClassMatrix,
    masked: &'a mut Option<MaskedGraph>,
    positives: &[Pair],
) -> &'a ClassMatrix {
    match masked {
        Some(masked) => masked.without(positives),
        None => graph,
    }
}

//! Learning: batches of positives and negatives, the pairwise loss, AdamW, and the run that
//! joins them.
//!
//! In: a [`Dataset`] and [`Training`] settings. Out: a [`SoftModel`]. A [`Run`] can be stopped after
//! any step, kept as a checkpoint and taken up again, to the very same model.

mod adamw;
mod checkpoint;
mod loss;
mod passes;
mod rule_weights;
mod sample;
mod unit;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::time::Duration;

pub use adamw::AdamW;
pub use loss::pairwise_logistic;
use passes::Workspace;
pub use sample::Pair;
pub(crate) use sample::Sampler;
use unit::{Context, Unit};

use crate::error::{Error, Result};
use crate::graph::{Background, Dataset, KnowledgeGraph, MaskedGraph, Predicate, Split};
use crate::infer::{Engine, Sparse, Tape};
use crate::model::{Ensemble, Positives, Provenance, RuleWeights, SoftModel, SoftRule, Training};
use crate::rule::{Clause, Filling, Schema, parse_rules};

/// Rules of one target that are trained by one thread at a time, at most.
const RULES_PER_UNIT: usize = Sparse::RULES;
/// Units that a run has at least, where there are rules enough, so that threads find work.
const MIN_UNITS: usize = 16;
/// How often the watcher is told of progress.
const WATCH: Duration = Duration::from_millis(100);
/// The most memory that one thread may ask for.
const MAX_BYTES: usize = 8 << 30;

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Steps done, over all units.
    pub steps: usize,
    /// Steps there are.
    pub all_steps: usize,
    /// Targets all of whose rules are trained.
    pub targets: usize,
    /// Targets there are.
    pub all_targets: usize,
    /// Mean loss of the latest steps.
    pub loss: f32,
}

/// How [`Run::train`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All rules are trained.
    Finished,
    /// It was asked to stop.
    Stopped,
    /// The logits of a target are no longer finite numbers: the settings are too wild.
    Diverged(Predicate),
}

/// A training run: its settings, its data and the state of every rule.
pub struct Run<'d> {
    training: Training,
    schema: Schema,
    data: &'d Dataset,
    provenance: Provenance,
    engine: Engine,
    /// The background of training, and of validation.
    graphs: [Arc<KnowledgeGraph>; 2],
    targets: Vec<Predicate>,
    units: Vec<Mutex<Unit>>,
    unit_targets: Vec<Predicate>,
    /// Steps done, over all units.
    steps: AtomicUsize,
}

impl Training {
    /// Trains on all processors, without progress or checkpoints.
    ///
    /// ```
    /// use glidr::{Dataset, Training};
    /// let families = Dataset::families(0);
    /// let training = Training { steps: 50, rules: 2, targets: vec!["uncle".into()], ..Training::default() };
    /// let model = training.run(&families)?;
    /// assert_eq!(model.target("uncle")?.rules.len(), 2);
    /// # Ok::<(), glidr::Error>(())
    /// ```
    pub fn run(&self, data: &Dataset) -> Result<SoftModel> {
        let run = Run::new(self.clone(), data)?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        match run.train(threads, &AtomicBool::new(false), |_| {}) {
            Ended::Diverged(target) => Err(run.diverged(target)),
            Ended::Finished | Ended::Stopped => Ok(run.into_model(&|_, _| {})),
        }
    }
}

impl<'d> Run<'d> {
    /// Checks the settings against the data and prepares every rule.
    pub fn new(training: Training, data: &'d Dataset) -> Result<Self> {
        training.check()?;
        let names = data.names();
        let schema = Schema::new(training.variables, names.predicates.len(), names.properties.len())?;
        let graph = |background: Background| Arc::clone(data.graph(background));
        let graphs = match training.positives {
            Positives::Train => [graph(Background::Facts), graph(Background::Train)],
            Positives::All => [graph(Background::Train), graph(Background::Train)],
        };
        let engine = training.engine.chosen(graphs[0].adjacency());
        let bytes = match engine {
            Engine::Sparse => Sparse::bytes(&schema, training.rounds, training.batch, graphs[1].adjacency()),
            _ => Tape::<64>::bytes(&schema, training.rounds, names.entities.len())
                .saturating_mul(training.batch.div_ceil(64)),
        };
        if bytes > MAX_BYTES {
            return Err(Error::Setting(format!(
                "a thread may ask for at most {} MiB, but {} variables, {} rounds and a batch of {} on {} entities need up to {}",
                MAX_BYTES >> 20,
                training.variables,
                training.rounds,
                training.batch,
                names.entities.len(),
                bytes >> 20
            )));
        }
        let targets = targets(&training, data)?;
        let trained: Vec<Predicate> = targets
            .iter()
            .copied()
            .filter(|&target| !training.positives.of(data, target).is_empty())
            .collect();
        if trained.is_empty() {
            return Err(Error::Mismatch(format!(
                "train must hold a fact about one of the targets that is not in facts, but {} has none",
                data.source
            )));
        }
        let (mut units, mut unit_targets) = (Vec::new(), Vec::new());
        // The sparse engine works on eight rules at the cost of little more than one.
        let block = match engine {
            _ if training.joint_loss > 0.0 => RULES_PER_UNIT,
            Engine::Sparse => RULES_PER_UNIT,
            _ => (trained.len() * training.rules / MIN_UNITS).clamp(1, RULES_PER_UNIT),
        };
        let starts = starts(&training, data, schema)?;
        for &target in &trained {
            let of_target: Vec<Filling> =
                starts.iter().filter(|(of, _)| *of == target).map(|(_, filling)| filling.clone()).collect();
            for first in (0..training.rules).step_by(block) {
                let rules = first..training.rules.min(first + block);
                unit_targets.push(target);
                units.push(Mutex::new(Unit::new(target, rules, &schema, &training, &of_target)));
            }
        }
        Ok(Run {
            schema,
            data,
            provenance: Provenance::of(data, training.seed),
            engine,
            graphs,
            targets,
            units,
            unit_targets,
            steps: AtomicUsize::new(0),
            training,
        })
    }

    /// Trains until all rules are done or `stop` is set; tells `watch` of progress about ten
    /// times a second. When asked to stop, every thread finishes its step first.
    pub fn train(&self, threads: usize, stop: &AtomicBool, mut watch: impl FnMut(&Self)) -> Ended {
        let next = AtomicUsize::new(0);
        let diverged = Mutex::new(None);
        let (done, all_done) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            for _ in 0..threads.clamp(1, self.units.len().max(1)) {
                let (done, next, diverged) = (done.clone(), &next, &diverged);
                scope.spawn(move || {
                    let _until_dropped = done;
                    let mut workspace = Workspace::default();
                    while let Some(unit) = self.units.get(next.fetch_add(1, Ordering::Relaxed)) {
                        match self.train_unit(unit, &mut workspace, stop) {
                            Ended::Finished => {}
                            Ended::Stopped => break,
                            Ended::Diverged(target) => {
                                *diverged.lock().expect("nothing panics while it holds this") = Some(target);
                                stop.store(true, Ordering::Relaxed);
                            }
                        }
                    }
                });
            }
            drop(done);
            // The channel closes when the last thread drops its end.
            while let Err(mpsc::RecvTimeoutError::Timeout) = all_done.recv_timeout(WATCH) {
                watch(self);
            }
        });
        if let Some(target) = diverged.into_inner().expect("nothing panics while it holds this") {
            return Ended::Diverged(target);
        }
        watch(self);
        if self.units().all(|unit| unit.is_done()) { Ended::Finished } else { Ended::Stopped }
    }

    /// The error for a run that ended as [`Ended::Diverged`].
    pub fn diverged(&self, target: Predicate) -> Error {
        Error::Setting(format!(
            "logits must stay finite, but those of “{}” do not: lower learning_rate ({}), weight_decay ({}) or init_std ({})",
            self.data.names().predicates.name(target),
            self.training.learning_rate,
            self.training.weight_decay,
            self.training.init_std
        ))
    }

    /// Trains one unit to its end, unless stopped before.
    fn train_unit(&self, unit: &Mutex<Unit>, workspace: &mut Workspace, stop: &AtomicBool) -> Ended {
        let target = lock(unit).target;
        let sampler = Sampler::new(self.data, target, &self.training);
        let mut masked = (self.training.positives == Positives::All)
            .then(|| MaskedGraph::new(self.graphs[0].adjacency(), target));
        let context = Context {
            training: &self.training,
            schema: self.schema,
            engine: self.engine,
            training_graph: self.graphs[0].adjacency(),
            validation_graph: self.graphs[1].adjacency(),
            sampler: &sampler,
        };
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ended::Stopped;
            }
            // Locked for one step: a checkpoint always sees whole steps.
            let mut unit = lock(unit);
            if unit.is_done() {
                return Ended::Finished;
            }
            if unit.step < self.training.steps {
                unit.train(&context, &mut masked, workspace);
                if !unit.is_sound() {
                    return Ended::Diverged(target);
                }
                self.steps.fetch_add(1, Ordering::Relaxed);
            } else {
                unit.validate(&context, &mut masked, workspace);
            }
        }
    }

    fn units(&self) -> impl Iterator<Item = MutexGuard<'_, Unit>> {
        self.units.iter().map(lock)
    }

    /// How far the run has come; waits for no thread.
    pub fn progress(&self) -> Progress {
        let (mut losses, mut open) = (Vec::new(), Vec::new());
        for (unit, &target) in self.units.iter().zip(&self.unit_targets) {
            let unit = unit.try_lock().ok(); // a unit that is locked is at work
            if unit.as_ref().is_none_or(|unit| !unit.is_done()) {
                open.push(target);
            }
            losses.extend(unit.map(|unit| unit.loss).filter(|loss| !loss.is_nan()));
        }
        open.dedup();
        Progress {
            steps: self.steps.load(Ordering::Relaxed),
            all_steps: self.units.len() * self.training.steps,
            targets: self.targets.len() - open.len(),
            all_targets: self.targets.len(),
            loss: losses.iter().sum::<f32>() / losses.len() as f32,
        }
    }

    /// What it learns from.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// The engine that passes messages.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The targets that have no rules, for want of positives in *train*.
    pub fn without_positives(&self) -> Vec<&str> {
        let trained: Vec<Predicate> = self.units().map(|unit| unit.target).collect();
        let names = &self.data.names().predicates;
        self.targets
            .iter()
            .filter(|target| !trained.contains(target))
            .map(|target| names.name(*target))
            .collect()
    }

    /// The learned model, with rule weights by validation loss or learned; `watch` is told how many targets' weights are
    /// fitted, of how many.
    pub fn into_model(self, watch: &(dyn Fn(usize, usize) + Sync)) -> SoftModel {
        let mut ensembles: Vec<Ensemble> =
            self.targets.iter().map(|&target| Ensemble { target, rules: Vec::new() }).collect();
        for unit in self.units() {
            let place = self.targets.binary_search(&unit.target).expect("every unit has one of the targets");
            let rules = unit.states.iter().zip(&unit.validation);
            let rules =
                rules.map(|(state, &loss)| SoftRule { logits: state.logits.clone(), loss, weight: 1.0 });
            ensembles[place].rules.extend(rules);
        }
        ensembles.iter_mut().for_each(Ensemble::weigh_by_loss);
        let names = self.data.names();
        let mut model = SoftModel {
            schema: self.schema,
            predicates: names.predicates.clone(),
            properties: names.properties.clone(),
            training: self.training.clone(),
            ensembles,
        };
        if self.training.rule_weights == RuleWeights::Learned {
            model.learn_rule_weights(self.data, watch).expect("a model fits the data it was learned on");
        }
        model
    }
}

fn lock(unit: &Mutex<Unit>) -> MutexGuard<'_, Unit> {
    unit.lock().expect("no thread panics while it trains")
}

/// The known rules to start from, as fillings of the schema.
fn starts(training: &Training, data: &Dataset, schema: Schema) -> Result<Vec<(Predicate, Filling)>> {
    let mut starts = Vec::new();
    let place = std::path::Path::new("start");
    for clause in
        training.start.iter().map(|text| parse_rules(place, text)).collect::<Result<Vec<_>>>()?.concat()
    {
        if let Clause::Rule(written) = clause {
            let rule = written.rule(place, data.names())?;
            let filling =
                Filling::of(&rule, schema).map_err(|error| Error::Rule(format!("{written} {error}")))?;
            starts.push((rule.target, filling));
        }
    }
    Ok(starts)
}

/// The chosen targets, or all predicates that training saw.
fn targets(training: &Training, data: &Dataset) -> Result<Vec<Predicate>> {
    let mut targets: Vec<Predicate> = if training.targets.is_empty() {
        let seen = [Split::Facts, Split::Train].into_iter().flat_map(|split| data.split(split));
        seen.map(|fact| fact.predicate).collect()
    } else {
        let names = data.names();
        training.targets.iter().map(|name| names.predicate(name)).collect::<Result<_>>()?
    };
    targets.sort_unstable();
    targets.dedup();
    Ok(targets)
}

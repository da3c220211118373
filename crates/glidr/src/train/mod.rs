//! Learning: batches of positives and negatives, the pairwise loss, AdamW, and the run that
//! joins them.
//!
//! In: a [`Dataset`] and [`Training`] settings. Out: a [`SoftModel`]. A [`Run`] can be stopped after
//! any step, kept as a checkpoint and taken up again, to the very same model.

mod adamw;
mod checkpoint;
mod cost;
mod listwise;
mod loss;
mod passes;
mod queries;
mod rule_weights;
mod sample;
mod unit;
mod work;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::time::{Duration, Instant};

pub use adamw::AdamW;
pub use loss::pairwise_logistic;
use passes::Workspace;
pub use sample::Pair;
pub(crate) use sample::Sampler;
use unit::Unit;
use work::UnitEnd;

use crate::error::{Error, Result};
use crate::graph::{Background, Dataset, KnowledgeGraph, Predicate, Split};
use crate::infer::{Engine, Sparse, Tape};
use crate::model::{Ensemble, Loss, Positives, Provenance, RuleWeights, SoftModel, SoftRule, Training};
use crate::rule::{Clause, Filling, Schema, parse_rules};
use crate::util::progress::{Progress, Stage};

/// Rules of one target that are trained by one thread at a time, at most.
const RULES_PER_UNIT: usize = Sparse::RULES;
/// Units that a run has at least, where there are rules enough, so that threads find work.
const MIN_UNITS: usize = 16;
/// How often the watcher is told of progress.
const WATCH: Duration = Duration::from_millis(100);
/// The most memory that one thread may ask for.
const MAX_BYTES: usize = 8 << 30;

/// Where a run keeps itself, and how often.
#[derive(Clone, Copy, Debug)]
pub struct Checkpoints<'a> {
    /// The file.
    pub path: &'a Path,
    /// The time between two checkpoints.
    pub every: Duration,
}

/// How [`Run::train`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainingEnd {
    /// All rules are trained.
    Finished,
    /// It was asked to stop.
    Stopped,
}

/// A training run: its settings, its data and the state of every rule.
pub struct Run<'d> {
    training: Training,
    schema: Schema,
    data: &'d Dataset,
    provenance: Provenance,
    note: serde_json::Value,
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
    /// The targets on some data: those that are chosen, or all predicates that training sees.
    pub fn targets_on(&self, data: &Dataset) -> Result<Vec<Predicate>> {
        let mut targets: Vec<Predicate> = if self.targets.is_empty() {
            let seen = [Split::Facts, Split::Train].into_iter().flat_map(|split| data.split(split));
            seen.map(|fact| fact.predicate).collect()
        } else {
            self.targets.iter().map(|name| data.names().predicate(name)).collect::<Result<_>>()?
        };
        targets.sort_unstable();
        targets.dedup();
        Ok(targets)
    }

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
        run.train(threads, &(), None)?;
        Ok(run.into_model(&()))
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
        let pairs = match training.loss {
            Loss::Pairwise => training.batch,
            Loss::Listwise => training.batch.max(training.candidates),
        };
        let bytes = match engine {
            Engine::Sparse => Sparse::bytes(&schema, training.rounds, pairs, graphs[1].adjacency()),
            _ => Tape::<64>::bytes(&schema, training.rounds, names.entities.len())
                .saturating_mul(pairs.div_ceil(64)),
        };
        if bytes > MAX_BYTES {
            return Err(Error::Setting(format!(
                "a thread may ask for at most {} MiB, but {} variables, {} rounds and a batch of {} on {} entities need up to {}",
                MAX_BYTES >> 20,
                training.variables,
                training.rounds,
                pairs,
                names.entities.len(),
                bytes >> 20
            )));
        }
        let targets = training.targets_on(data)?;
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
            _ if training.loss == Loss::Listwise => training.rules,
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
            note: serde_json::Value::Null,
            engine,
            graphs,
            targets,
            units,
            unit_targets,
            steps: AtomicUsize::new(0),
            training,
        })
    }

    /// Trains until all rules are done or `progress` wants it to stop, which hears of it about ten times a second. When
    /// it is to stop, every thread finishes its step first, and the last checkpoint holds these steps.
    ///
    /// Logits that are no longer finite numbers are an error: the settings are too wild.
    pub fn train(
        &self,
        threads: usize,
        progress: &dyn Progress,
        checkpoints: Option<Checkpoints>,
    ) -> Result<TrainingEnd> {
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let diverged = Mutex::new(None);
        let (mut last, mut failed): (Instant, Option<Error>) = (Instant::now(), None);
        let (done, all_done) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            for _ in 0..threads.clamp(1, self.units.len().max(1)) {
                let (done, next, diverged, stop) = (done.clone(), &next, &diverged, &stop);
                let stopped = move || stop.load(Ordering::Relaxed) || progress.is_stopped();
                scope.spawn(move || {
                    let _until_dropped = done;
                    let mut workspace = Workspace::default();
                    while let Some((unit, last)) = self.turn(next.fetch_add(1, Ordering::Relaxed)) {
                        match self.train_unit(unit, last, &mut workspace, &stopped) {
                            UnitEnd::Done => {}
                            UnitEnd::Stopped => break,
                            UnitEnd::Diverged => {
                                let target = lock(unit).target;
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
                self.report(progress);
                if let Some(checkpoints) =
                    checkpoints.filter(|checkpoints| last.elapsed() >= checkpoints.every)
                {
                    if let Err(error) = self.save_checkpoint(checkpoints.path) {
                        failed = Some(error);
                    }
                    last = Instant::now();
                }
                if failed.is_some() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
        if let Some(target) = diverged.into_inner().expect("nothing panics while it holds this") {
            return Err(self.diverged(target));
        }
        self.report(progress);
        if let Some(error) = failed {
            return Err(error);
        }
        if let Some(checkpoints) = checkpoints {
            self.save_checkpoint(checkpoints.path)?;
        }
        let finished = self.units().all(|unit| unit.is_done());
        Ok(if finished { TrainingEnd::Finished } else { TrainingEnd::Stopped })
    }

    fn diverged(&self, target: Predicate) -> Error {
        Error::Setting(format!(
            "logits must stay finite, but those of “{}” do not: lower learning_rate ({}), weight_decay ({}) or init_std ({})",
            self.data.names().predicates.name(target),
            self.training.learning_rate,
            self.training.weight_decay,
            self.training.init_std
        ))
    }

    fn units(&self) -> impl Iterator<Item = MutexGuard<'_, Unit>> {
        self.units.iter().map(lock)
    }

    /// Tells how far the run has come; waits for no thread.
    fn report(&self, progress: &dyn Progress) {
        let (mut losses, mut open) = (Vec::new(), Vec::new());
        for (unit, &target) in self.units.iter().zip(&self.unit_targets) {
            let unit = unit.try_lock().ok(); // a unit that is locked is at work
            if unit.as_ref().is_none_or(|unit| !unit.is_done()) {
                open.push(target);
            }
            losses.extend(unit.map(|unit| unit.loss).filter(|loss| !loss.is_nan()));
        }
        open.dedup();
        let stage = Stage::Training {
            targets: self.targets.len() - open.len(),
            all_targets: self.targets.len(),
            loss: losses.iter().sum::<f32>() / losses.len() as f32,
        };
        progress.report(stage, self.steps.load(Ordering::Relaxed), self.units.len() * self.training.steps);
    }

    /// The same with a note in its checkpoints: what the run is a part of.
    #[must_use]
    pub(crate) fn with_note(self, note: serde_json::Value) -> Self {
        Run { note, ..self }
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

    /// The learned model, with rule weights by validation loss or learned.
    pub fn into_model(self, progress: &dyn Progress) -> SoftModel {
        let mut ensembles: Vec<Ensemble> =
            self.targets.iter().map(|&target| Ensemble { target, rules: Vec::new() }).collect();
        for unit in self.units() {
            let place = self.targets.binary_search(&unit.target).expect("every unit has one of the targets");
            let rules = unit.states.iter().zip(&unit.validation);
            let rules =
                rules.map(|(state, &loss)| SoftRule { logits: state.logits.clone(), loss, weight: 1.0 });
            ensembles[place].rules.extend(rules);
        }
        for ensemble in &mut ensembles {
            ensemble.weigh(self.training.loss);
        }
        let names = self.data.names();
        let mut model = SoftModel {
            schema: self.schema,
            predicates: names.predicates.clone(),
            properties: names.properties.clone(),
            training: self.training.clone(),
            ensembles,
        };
        if self.training.rule_weights == RuleWeights::Learned {
            model.learn_rule_weights(self.data, progress).expect("a model fits the data it was learned on");
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

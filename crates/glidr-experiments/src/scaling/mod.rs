//! Time and memory of a training step and of a ranking query as one size grows and the others stay.

mod report;

use std::time::Instant;

use glidr::internals::predict::Soft;
use glidr::internals::train::Run;
use glidr::{Evaluation, Generator, Training};
use report::report;
use serde::{Deserialize, Serialize};

use crate::Watch;
use crate::plan::{Choices, Plan, first};
use crate::report::Report;
use crate::store::Store;

/// One size that grows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// What grows: entities (with the facts of each), facts, variables, rounds or rules.
    pub what: Size,
    /// Its values, smallest first.
    pub values: Vec<usize>,
    /// What stays as it is.
    #[serde(default)]
    pub graph: Generator,
    /// What stays as it is.
    #[serde(default)]
    pub training: Training,
}

/// A size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// Entities; facts and instances grow with them, so that everyone keeps as many.
    Entities,
    /// Facts.
    Facts,
    /// Schematic variables, N.
    Variables,
    /// Rounds of message passing, R.
    Rounds,
    /// Rules of the target.
    Rules,
}

impl Size {
    fn name(self) -> &'static str {
        ["entities", "facts", "variables N", "rounds R", "rules"][self as usize]
    }

    fn file(self) -> &'static str {
        ["entities", "facts", "variables", "rounds", "rules"][self as usize]
    }
}

/// One point to measure: a graph to generate, and how to learn on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingPoint {
    /// The graph.
    pub graph: Generator,
    /// How it learns: the target `chain` alone.
    pub training: Training,
    /// Trainings are begun, with other seeds, until they took so many seconds together.
    pub seconds: f64,
    /// Facts that are ranked, at most.
    pub ranked: usize,
    /// Threads, which belong to what is measured.
    pub threads: usize,
}

/// What was measured at one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingMeasured {
    /// Seconds of one training step of all rules on one batch.
    pub step: f64,
    /// Steps that were timed.
    pub steps: usize,
    /// Seconds of one ranking query, with the making ready of the target's rules shared by all.
    pub query: f64,
    /// Queries that were timed.
    pub queries: usize,
    /// The most memory that the process had while it trained, in bytes; unknown on some systems.
    pub train_bytes: Option<u64>,
    /// The most memory until all was ranked.
    pub rank_bytes: Option<u64>,
    /// The engine that passed messages.
    pub engine: String,
    /// Entities of the graph.
    pub entities: usize,
    /// Facts of the graph.
    pub facts: usize,
}

/// How much of each point is timed.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// Of one training.
    steps: usize,
    seconds: f64,
    ranked: usize,
}

/// Trainings of one point, at most.
const RUNS: usize = 5;

impl Growth {
    /// The point for one value.
    #[expect(clippy::cast_sign_loss, reason = "sizes are at least 0")]
    fn point(&self, value: usize, extent: Extent, threads: usize) -> ScalingPoint {
        let (mut graph, mut training) = (self.graph.clone(), self.training.clone());
        let Extent { steps, seconds, ranked } = extent;
        match self.what {
            Size::Entities => {
                let times = value as f64 / graph.entities as f64;
                graph.facts = (graph.facts as f64 * times) as usize;
                graph.instances = ((graph.instances as f64 * times) as usize).max(10);
                graph.entities = value;
            }
            Size::Facts => graph.facts = value,
            Size::Variables => training.variables = value,
            Size::Rounds => training.rounds = value,
            Size::Rules => training.rules = value,
        }
        training.targets = vec!["chain".into()];
        training.steps = steps;
        ScalingPoint { graph, training, seconds, ranked, threads }
    }
}

impl ScalingPoint {
    /// Measures this point in this process.
    pub fn measure(&self) -> anyhow::Result<ScalingMeasured> {
        let made = self.graph.run()?;
        let data = limited(&made.data, self.ranked)?;
        drop(made);
        // Rules cost most while they are soft, and how soon they are not is chance: whole trainings tell, and several.
        let (mut time, mut runs) = (0.0, 0);
        let (model, engine) = loop {
            let training = Training { seed: self.training.seed + runs as u64, ..self.training.clone() };
            let started = Instant::now();
            let run = Run::new(training, &data)?;
            run.train(self.threads, &(), None)?;
            time += started.elapsed().as_secs_f64();
            runs += 1;
            if runs == RUNS || time >= self.seconds {
                let engine = run.engine().name().to_owned();
                break (run.into_model(&()), engine);
            }
        };
        let steps = runs * self.training.steps;
        let step = time / steps as f64;
        let train_bytes = peak_bytes();
        let started = Instant::now();
        let ranked = Evaluation::default().run(&Soft::new(&model, &data)?, &data, &())?;
        let queries = ranked.ranks.len();
        Ok(ScalingMeasured {
            step,
            steps,
            query: started.elapsed().as_secs_f64() / queries.max(1) as f64,
            queries,
            train_bytes,
            rank_bytes: peak_bytes(),
            engine,
            entities: data.names().entities.len(),
            facts: glidr::Split::ALL.iter().map(|&split| data.split(split).len()).sum(),
        })
    }
}

/// The same data with at most `most` test facts, all of the target `chain`; as many in *valid*.
fn limited(data: &glidr::Dataset, most: usize) -> anyhow::Result<glidr::Dataset> {
    let chain = data.names().predicate("chain")?;
    let splits = glidr::Split::ALL.map(|split| {
        let facts = data.split(split).to_vec();
        if split < glidr::Split::Valid {
            return facts;
        }
        facts.into_iter().filter(|fact| fact.predicate == chain).take(most).collect()
    });
    Ok(glidr::Dataset::of(&data.source, data.names().clone(), splits, data.property_facts().to_vec())?)
}

/// The most memory that this process ever had, where the system tells.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

pub fn run(
    plan: &Plan,
    choices: &Choices,
    store: &mut Store,
    watch: &dyn Watch,
) -> anyhow::Result<Option<Report>> {
    let whole = Extent { steps: 160, seconds: 60.0, ranked: 25 };
    let extent = choices.steps.map_or(whole, |steps| Extent { steps, seconds: 0.0, ranked: 4 });
    let mut points = Vec::new();
    for growth in &plan.growths {
        for value in first(&growth.values, choices) {
            points.push((growth, value, growth.point(value, extent, watch.threads())));
        }
    }
    anyhow::ensure!(!points.is_empty(), "a scaling plan must hold at least one growth with values");
    let mut done: Vec<(Size, usize, ScalingMeasured)> = Vec::new();
    for (number, (growth, value, point)) in points.iter().enumerate() {
        let unit = serde_json::to_value(point)?;
        let measured = if let Some(measured) = store.get::<ScalingMeasured>(&unit) {
            measured
        } else if store.only_done {
            continue;
        } else {
            watch.unit(number, points.len(), &format!("{} = {value}", growth.what.name()));
            let measured = watch.measure(point)?;
            store.put(&unit, &measured)?;
            measured
        };
        done.push((growth.what, *value, measured));
        if watch.is_stopped() && number + 1 < points.len() {
            return Ok(None);
        }
    }
    anyhow::ensure!(!done.is_empty(), "nothing of this is done yet");
    watch.unit(points.len(), points.len(), "");
    Ok(Some(report(plan, &done, watch.threads())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_measured_with_time_and_memory() {
        let graph = Generator { entities: 300, facts: 3000, instances: 60, ..Generator::default() };
        let growth = Growth { what: Size::Entities, values: vec![600], graph, training: Training::default() };
        let point = growth.point(600, Extent { steps: 10, seconds: 0.0, ranked: 3 }, 1);
        assert_eq!((point.graph.entities, point.graph.facts, point.graph.instances), (600, 6000, 120));
        let measured = point.measure().expect("a sound point");
        assert!(measured.step > 0.0 && measured.query > 0.0 && measured.steps == 10);
        assert_eq!((measured.queries, measured.entities), (6, 600));
        if cfg!(target_os = "linux") {
            assert!(measured.train_bytes > Some(1 << 20) && measured.rank_bytes >= measured.train_bytes);
        }
    }
}

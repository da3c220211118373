//! Time and memory of a training step and of a ranking query as one size grows and the others stay.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use glidr::learn::Ended;
use glidr::{Generator, Ranking, Run, Training};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Watch;
use crate::figure::{Figure, Point as Dot, Series};
use crate::learner::stopped;
use crate::plan::{Choices, Plan, first};
use crate::report::{Report, Table};
use crate::stats::slope;
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
pub struct Point {
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
pub struct Measured {
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
    fn point(&self, value: usize, extent: Extent, threads: usize) -> Point {
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
        Point { graph, training, seconds, ranked, threads }
    }
}

impl Point {
    /// Measures this point in this process.
    pub fn measure(&self) -> anyhow::Result<Measured> {
        let made = self.graph.run()?;
        let data = limited(&made.data, self.ranked)?;
        drop(made);
        // Rules cost most while they are soft, and how soon they are not is chance: whole trainings tell, and several.
        let (mut time, mut runs) = (0.0, 0);
        let (model, engine) = loop {
            let training = Training { seed: self.training.seed + runs as u64, ..self.training.clone() };
            let started = Instant::now();
            let run = Run::new(training, &data)?;
            let ended = run.go_on(self.threads, &AtomicBool::new(false), |_| {});
            time += started.elapsed().as_secs_f64();
            if let Ended::Diverged(target) = ended {
                return Err(run.diverged(target).into());
            }
            runs += 1;
            if runs == RUNS || time >= self.seconds {
                let engine = run.engine().name().to_owned();
                break (run.into_model(&|_, _| {}), engine);
            }
        };
        let steps = runs * self.training.steps;
        let step = time / steps as f64;
        let train_bytes = peak_bytes();
        let started = Instant::now();
        let ranked = Ranking::default().run(&model, &data, &|_, _| {})?;
        let queries = ranked.ranks.len();
        Ok(Measured {
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
    Ok(glidr::Dataset::of(&data.source, data.names().clone(), splits, data.traits().to_vec())?)
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
    let mut done: Vec<(Size, usize, Measured)> = Vec::new();
    for (number, (growth, value, point)) in points.iter().enumerate() {
        let unit = serde_json::to_value(point)?;
        let measured = if let Some(measured) = store.get::<Measured>(&unit) {
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
        if stopped(watch) && number + 1 < points.len() {
            return Ok(None);
        }
    }
    anyhow::ensure!(!done.is_empty(), "nothing of this is done yet");
    watch.unit(points.len(), points.len(), "");
    Ok(Some(report(plan, &done, watch.threads())))
}

/// A line of a figure: its kind, name, unit, and value.
type Part = (&'static str, &'static str, &'static str, fn(&Measured) -> Option<f64>);

fn report(plan: &Plan, done: &[(Size, usize, Measured)], threads: usize) -> Report {
    let mut report = Report::default();
    let mib = |bytes: Option<u64>| bytes.map_or("–".into(), |bytes| format!("{}", bytes >> 20));
    let mut slopes = Vec::new();
    for growth in &plan.growths {
        let of: Vec<&(Size, usize, Measured)> =
            done.iter().filter(|(what, ..)| *what == growth.what).collect();
        let row = |(_, value, m): &&(Size, usize, Measured)| {
            vec![
                value.to_string(),
                m.entities.to_string(),
                m.facts.to_string(),
                m.engine.clone(),
                format!("{:.2}", 1e3 * m.step),
                mib(m.train_bytes),
                format!("{:.2}", 1e3 * m.query),
                mib(m.rank_bytes),
            ]
        };
        let name = growth.what.name();
        report.tables.push(Table {
            title: format!("as {name} grow"),
            header: [
                &format!("{name}, set"),
                "entities",
                "facts",
                "engine",
                "step ms",
                "MiB",
                "query ms",
                "MiB to the end",
            ]
            .map(String::from)
            .to_vec(),
            left: 0,
            rows: of.iter().map(row).collect(),
        });
        let parts: [Part; 3] = [
            ("time", "training step", "milliseconds", |m| Some(1e3 * m.step)),
            ("time", "ranking query", "milliseconds", |m| Some(1e3 * m.query)),
            ("memory", "whole process, training", "MiB", |m| {
                m.train_bytes.map(|bytes| bytes as f64 / 1_048_576.0)
            }),
        ];
        for kind in ["time", "memory"] {
            let mut series = Vec::new();
            let mut unit = "";
            for (_, name, y, part) in parts.iter().filter(|part| part.0 == kind) {
                let points: Vec<(f64, f64)> =
                    of.iter().filter_map(|(_, value, m)| Some((*value as f64, part(m)?))).collect();
                let fitted = slope(&points);
                slopes.push(json!({ "what": growth.what, "of": name, "slope": fitted }));
                let label = fitted.map_or((*name).to_string(), |slope| format!("{name}, slope {slope:.2}"));
                let dots = points.into_iter().map(|(x, y)| Dot { x, y, error: 0.0, label: String::new() });
                series.push(Series { name: label, points: dots.collect(), line: true });
                unit = y;
            }
            let figure = Figure {
                title: format!("{} as {name} grow", if kind == "time" { "Time" } else { "Memory" }),
                x: name.to_owned(),
                y: unit.to_owned(),
                log_x: true,
                log_y: true,
                series,
                ..Figure::default()
            };
            let svg = figure.svg();
            if !svg.is_empty() {
                report.figures.push((format!("scaling-{}-{kind}.svg", growth.what.file()), svg));
            }
        }
    }
    let title = "fitted slopes in the log-log plots: 1 is growth in proportion, 0 none".into();
    let line = |value: &serde_json::Value| {
        let word = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        vec![
            word("what"),
            word("of"),
            value["slope"].as_f64().map_or("–".into(), |slope| format!("{slope:.2}")),
        ]
    };
    let header = ["what grows", "of", "slope"].map(String::from).to_vec();
    report.tables.push(Table { title, header, left: 2, rows: slopes.iter().map(line).collect() });
    report.notes.push(format!(
        "generated graphs, one target, {threads} threads; a step is one batch for all rules of the target, the mean over \
         whole trainings; queries are ranked with what was learned; memory is the most that the process had, its graph included"
    ));
    report.value = json!({ "experiment": "scaling", "threads": threads, "slopes": slopes,
        "units": done.iter().map(|(what, value, m)| json!({ "what": what, "value": value, "measured": m })).collect::<Vec<_>>() });
    report
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

//! Tables, log-log figures and slopes of what was measured.

use serde_json::json;

use super::{ScalingMeasured, Size};
use crate::figure::{Figure, Point, Series};
use crate::plan::Plan;
use crate::report::{Report, Table};
use crate::stats::slope;

/// A line of a figure: its kind, name, unit, and value.
type Part = (&'static str, &'static str, &'static str, fn(&ScalingMeasured) -> Option<f64>);

pub fn report(plan: &Plan, done: &[(Size, usize, ScalingMeasured)], threads: usize) -> Report {
    let mut report = Report::default();
    let mib = |bytes: Option<u64>| bytes.map_or("–".into(), |bytes| format!("{}", bytes >> 20));
    let mut slopes = Vec::new();
    for growth in &plan.growths {
        let of: Vec<&(Size, usize, ScalingMeasured)> =
            done.iter().filter(|(what, ..)| *what == growth.what).collect();
        let row = |(_, value, m): &&(Size, usize, ScalingMeasured)| {
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
                let dots = points.into_iter().map(|(x, y)| Point { x, y, error: 0.0, label: String::new() });
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

//! Figures over an axis: noise, variables, parts of a graph, and MRR against time.

use super::{Group, data_of, metrics, seconds, short, strings};
use crate::figure::{Figure, Point, Series};
use crate::job::Change;
use crate::report::{Report, Table};

/// A figure of Hits@1 over one axis, a line for each data set, row and kind of scores.
pub fn figure(report: &mut Report, groups: &[Group], name: &str, title: &str, (axis, x): (&str, &str)) {
    let mut lines: Vec<Series> = Vec::new();
    let mut rows = Vec::new();
    for group in groups {
        let label = format!("{}, {}, {}", short(&group.job.data), group.job.row, group.job.scores.name());
        let hits = group.spread(|g| g.hits1);
        let point = Point {
            x: group.job.x,
            y: 100.0 * hits.mean,
            error: 100.0 * hits.deviation,
            label: String::new(),
        };
        match lines.iter_mut().find(|line| line.name == label) {
            Some(line) => line.points.push(point),
            None => lines.push(Series { name: label, points: vec![point], line: true }),
        }
        let mut row = vec![
            group.job.data.clone(),
            group.job.row.clone(),
            group.job.scores.name().into(),
            group.job.x.to_string(),
        ];
        row.extend(metrics(group));
        row.push(seconds(group));
        rows.push(row);
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    let header =
        ["data", "row", "scores", axis, "seeds", "MRR", "Hits@1", "Hits@3", "Hits@10", "processor s a seed"];
    report.tables.push(Table { title: title.to_owned(), header: strings(&header), left: 3, rows });
    let figure = Figure {
        title: title.into(),
        x: x.into(),
        y: "Hits@1 (%), mean ± standard deviation".into(),
        y_range: Some((0.0, 100.0)),
        series: lines,
        ..Figure::default()
    };
    report.figures.push((format!("{name}.svg"), figure.svg()));
}

/// Learned here, tested there.
pub fn inductive(report: &mut Report, groups: &[Group]) {
    let mut rows = Vec::new();
    for group in groups {
        let (learned, tested) = match group.job.change {
            Change::Parts { learn, test, .. } => {
                (format!("part {}", learn + 1), format!("part {}", test + 1))
            }
            _ => ("all".into(), "all".into()),
        };
        let mut row = vec![
            group.job.data.clone(),
            group.job.row.clone(),
            group.job.scores.name().into(),
            learned,
            tested,
        ];
        row.extend(metrics(group));
        rows.push(row);
    }
    let header =
        ["data", "row", "scores", "learned on", "tested on", "seeds", "MRR", "Hits@1", "Hits@3", "Hits@10"];
    report.tables.push(Table {
        title: "rules learned on one part of a graph, tested on entities they never saw".into(),
        header: strings(&header),
        left: 5,
        rows,
    });
    let mut series: Vec<Series> = Vec::new();
    for group in groups {
        let name = format!("{}, {}, {}", short(&group.job.data), group.job.row, group.job.scores.name());
        let spread = group.spread(|g| g.mrr);
        let point =
            Point { x: group.job.x + 1.0, y: spread.mean, error: spread.deviation, label: String::new() };
        match series.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => series.push(Series { name, points: vec![point], line: true }),
        }
    }
    let figure = Figure {
        title: "Rules travel to other entities".into(),
        x: "learned on, then tested on".into(),
        x_words: strings(&["part 1, part 1", "part 1, part 2", "part 2, part 2", "all, all"]),
        y: "MRR (mean ± standard deviation)".into(),
        y_range: Some((0.0, 1.0)),
        series,
        ..Figure::default()
    };
    report.figures.push(("inductive.svg".into(), figure.svg()));
    report.notes.push(
        "the parts have no entity in common; facts between them are dropped; candidates are the entities of the part \
         that is tested on, so that rows with other parts rank against other candidates"
            .into(),
    );
}

/// MRR against time.
pub fn beyond(report: &mut Report, groups: &[Group]) {
    let mut rows = Vec::new();
    for group in groups {
        let mut row = vec![group.job.data.clone(), group.job.row.clone(), group.job.scores.name().into()];
        row.extend(metrics(group));
        row.push(format!("{:.0}", group.spread(|g| g.rules as f64).mean));
        row.push(seconds(group));
        rows.push(row);
    }
    let header = [
        "data",
        "row",
        "scores",
        "seeds",
        "MRR",
        "Hits@1",
        "Hits@3",
        "Hits@10",
        "rules",
        "processor s a seed",
    ];
    report.tables.push(Table {
        title: "what more rules, variables, rounds and other aggregations bring".into(),
        header: strings(&header),
        left: 3,
        rows,
    });
    for data in data_of(groups) {
        let mut series: Vec<Series> = Vec::new();
        for group in groups.iter().filter(|group| group.job.data == data) {
            let Some(seconds) = group.seconds() else { continue };
            let spread = group.spread(|g| g.mrr);
            let point = Point {
                x: seconds.max(1e-3),
                y: spread.mean,
                error: spread.deviation,
                label: group.job.row.clone(),
            };
            let name = group.job.scores.name().to_owned();
            match series.iter_mut().find(|line| line.name == name) {
                Some(line) => line.points.push(point),
                None => series.push(Series { name, points: vec![point], line: false }),
            }
        }
        let figure = Figure {
            title: format!("MRR against time on {data}"),
            x: "processor seconds of learning and ranking".into(),
            y: "MRR (mean ± standard deviation)".into(),
            log_x: true,
            series,
            ..Figure::default()
        };
        let svg = figure.svg();
        if !svg.is_empty() {
            report.figures.push((format!("beyond-{}.svg", short(data)), svg));
        }
    }
}

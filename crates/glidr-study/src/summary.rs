//! From units to tables and figures: means and deviations over seeds, the paper's numbers beside them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::Experiment;
use crate::figure::{Figure, Point, Series};
use crate::grid::{Change, Done, Gave, Job};
use crate::plan::{Plan, Scores};
use crate::published::{Published, published};
use crate::report::{Report, Table};
use crate::stats::Spread;

/// The runs of one row, data set, point and way of scoring: all seeds.
struct Group<'a> {
    job: &'a Job,
    gave: Vec<&'a Gave>,
}

impl Group<'_> {
    fn spread(&self, part: impl Fn(&Gave) -> f64) -> Spread {
        let values: Vec<f64> = self.gave.iter().map(|gave| part(gave)).collect();
        Spread::of(&values).unwrap_or(Spread { mean: 0.0, deviation: 0.0, runs: 0 })
    }

    /// Processor seconds of learning and ranking: the mean over runs whose learning was not broken off.
    fn seconds(&self) -> Option<f64> {
        let whole = self.gave.iter().filter_map(|gave| Some(gave.learn_seconds? + gave.rank_seconds));
        Spread::of(&whole.collect::<Vec<f64>>()).map(|spread| spread.mean)
    }

    fn value(&self) -> Value {
        json!({
            "row": self.job.row, "data": self.job.data, "scores": self.job.scores, "x": self.job.x,
            "change": self.job.change, "variables": self.job.training.variables,
            "mrr": self.spread(|g| g.mrr), "hits1": self.spread(|g| g.hits1), "hits3": self.spread(|g| g.hits3),
            "hits10": self.spread(|g| g.hits10), "rules": self.spread(|g| g.rules as f64).mean,
            "seconds": self.seconds(), "split_hash": self.gave.first().map(|gave| &gave.split_hash),
        })
    }
}

fn groups(done: &[Done]) -> Vec<Group<'_>> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (job, gave) in done {
        let key = format!("{}|{}|{}|{}", job.row, job.data, job.x, job.scores.name());
        let place = *places.entry(key).or_insert_with(|| {
            groups.push(Group { job, gave: Vec::new() });
            groups.len() - 1
        });
        groups[place].gave.push(gave);
    }
    groups
}

/// The report of a grid experiment.
pub fn report(experiment: Experiment, plan: &Plan, done: &[Done]) -> anyhow::Result<Report> {
    let groups = groups(done);
    let mut report = Report::default();
    match experiment {
        Experiment::Completion => completion(&mut report, &groups)?,
        Experiment::Noise => figure(
            &mut report,
            &groups,
            "noise",
            "Hits@1 as training facts are mislabelled",
            ("p", "chance p of another predicate"),
        ),
        Experiment::Variables => figure(
            &mut report,
            &groups,
            "variables",
            "Hits@1 as rules have more variables",
            ("N", "schematic variables N"),
        ),
        Experiment::Inductive => inductive(&mut report, &groups),
        _ => beyond(&mut report, &groups),
    }
    let seeds: std::collections::BTreeSet<u64> = done.iter().map(|(job, _)| job.training.seed).collect();
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    report.notes.push(format!(
        "test split, both directions, filtered, ties at random by the seed; mean ± standard deviation over seeds {}",
        seeds.join(", ")
    ));
    for row in
        plan.rows.iter().filter(|row| !row.note.is_empty() && groups.iter().any(|g| g.job.row == row.name))
    {
        report.notes.push(format!("{}: {}", row.name, row.note));
    }
    report.value = json!({
        "experiment": experiment.name(),
        "results": groups.iter().map(Group::value).collect::<Vec<_>>(),
        "published": if experiment == Experiment::Completion { json!(published()?) } else { json!([]) },
        "units": done.iter().map(|(job, gave)| json!({ "row": job.row, "data": job.data, "scores": job.scores,
            "x": job.x, "change": job.change, "training": job.training, "gave": gave })).collect::<Vec<_>>(),
    });
    Ok(report)
}

/// A mean with its deviation, of 1 or in per cent.
fn cell(spread: Spread, percent: bool) -> String {
    let (scale, digits) = if percent { (100.0, 1) } else { (1.0, 3) };
    let (mean, deviation) = (scale * spread.mean, scale * spread.deviation);
    if spread.runs > 1 {
        format!("{mean:.digits$} ± {deviation:.digits$}")
    } else {
        format!("{mean:.digits$}")
    }
}

fn metrics(group: &Group) -> Vec<String> {
    vec![
        group.gave.len().to_string(),
        cell(group.spread(|g| g.mrr), false),
        cell(group.spread(|g| g.hits1), true),
        cell(group.spread(|g| g.hits3), true),
        cell(group.spread(|g| g.hits10), true),
    ]
}

fn seconds(group: &Group) -> String {
    group.seconds().map_or("–".into(), |seconds| format!("{seconds:.0}"))
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn data_of<'a>(groups: &[Group<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for group in groups {
        if !names.contains(&group.job.data.as_str()) {
            names.push(&group.job.data);
        }
    }
    names
}

/// `tab:metrics`: for each data set our rows, the paper's beside them, and the others below.
fn completion(report: &mut Report, groups: &[Group]) -> anyhow::Result<()> {
    let published = published()?;
    for data in data_of(groups) {
        let paper = |scores: Scores| {
            published.iter().find(|p| p.data == data && p.scores.as_deref() == Some(scores.name()))
        };
        let three = |p: &Published| format!("{:.2} / {:.1} / {:.1}", p.mrr, p.hits1, p.hits10);
        let mut rows = Vec::new();
        for group in groups.iter().filter(|group| group.job.data == data) {
            let mut row = vec![group.job.row.clone(), group.job.scores.name().to_owned()];
            row.extend(metrics(group));
            row.push(paper(group.job.scores).map_or("–".into(), three));
            row.push(seconds(group));
            rows.push(row);
        }
        for other in published.iter().filter(|p| p.data == data && p.scores.is_none()) {
            rows.push(vec![
                other.method.clone(),
                other.kind.clone(),
                "–".into(),
                format!("{:.3}", other.mrr),
                format!("{:.1}", other.hits1),
                "–".into(),
                format!("{:.1}", other.hits10),
                "–".into(),
                "–".into(),
            ]);
        }
        report.tables.push(Table {
            title: data.to_owned(),
            header: strings(&[
                "row or method",
                "scores",
                "seeds",
                "MRR",
                "Hits@1",
                "Hits@3",
                "Hits@10",
                "paper: MRR / Hits@1 / Hits@10",
                "processor s a seed",
            ]),
            left: 2,
            rows,
        });
        let ours = groups.iter().filter(|group| group.job.data == data).map(|group| {
            let spread = group.spread(|g| g.mrr);
            (
                0,
                format!("glidr, {}, {}", group.job.row, group.job.scores.name()),
                spread.mean,
                spread.deviation,
            )
        });
        let theirs = published.iter().filter(|p| p.data == data).map(|p| match &p.scores {
            Some(scores) => (1, format!("GLIDR as published, {scores}"), p.mrr, 0.0),
            None => (2, p.method.clone(), p.mrr, 0.0),
        });
        let mut bars: Vec<(usize, String, f64, f64)> = ours.chain(theirs).collect();
        bars.sort_by(|a, b| a.2.total_cmp(&b.2));
        let names = ["glidr", "the paper", "others, as published"];
        let series = names.iter().enumerate().map(|(kind, name)| {
            let points = bars.iter().zip(1u32..).filter(|(bar, _)| bar.0 == kind);
            let points = points.map(|((_, _, mrr, error), place)| Point {
                x: *mrr,
                y: f64::from(place),
                error: *error,
                label: String::new(),
            });
            Series { name: (*name).to_owned(), points: points.collect(), line: false }
        });
        let figure = Figure {
            title: format!("MRR on the test split of {data}"),
            x: "MRR (mean ± standard deviation over seeds)".into(),
            series: series.collect(),
            y_words: bars.iter().map(|bar| bar.1.clone()).collect(),
            ..Figure::default()
        };
        report.figures.push((format!("completion-{}.svg", short(data)), figure.svg()));
    }
    report.notes.push(
        "the paper's MRR and Hits@1 cannot come from one set of ranks (docs/paper.md), so its columns do not \
         compare with ours one by one; numbers of other methods are as published, on their own splits and tie rules"
            .into(),
    );
    Ok(())
}

/// The last part of a path, as part of a file's name.
fn short(data: &str) -> &str {
    data.rsplit(std::path::MAIN_SEPARATOR).find(|part| !part.is_empty()).unwrap_or("data")
}

/// A figure of Hits@1 over one axis, a line for each data set, row and way of scoring.
fn figure(report: &mut Report, groups: &[Group], name: &str, title: &str, (axis, x): (&str, &str)) {
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
fn inductive(report: &mut Report, groups: &[Group]) {
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
fn beyond(report: &mut Report, groups: &[Group]) {
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
        title: "what more rules, variables, rounds and other ways of joining bring".into(),
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

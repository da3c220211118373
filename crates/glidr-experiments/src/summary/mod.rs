//! From units to tables and figures: means and deviations over seeds, the paper's numbers beside them.

mod completion;
mod curves;

use std::collections::BTreeMap;

use completion::completion;
use curves::{beyond, figure, inductive};
use serde_json::{Value, json};

use crate::Experiment;
use crate::grid::{Done, UnitResult};
use crate::job::Job;
use crate::plan::Plan;
use crate::published::published;
use crate::report::Report;
use crate::stats::Spread;

/// The runs of one row, data set, point and kind of scores: all seeds.
struct Group<'a> {
    job: &'a Job,
    results: Vec<&'a UnitResult>,
}

impl Group<'_> {
    fn spread(&self, part: impl Fn(&UnitResult) -> f64) -> Spread {
        let values: Vec<f64> = self.results.iter().map(|result| part(result)).collect();
        Spread::of(&values).unwrap_or(Spread { mean: 0.0, deviation: 0.0, runs: 0 })
    }

    /// Processor seconds of learning and ranking: the mean over runs whose learning was not broken off.
    fn seconds(&self) -> Option<f64> {
        let whole =
            self.results.iter().filter_map(|result| Some(result.learn_seconds? + result.rank_seconds));
        Spread::of(&whole.collect::<Vec<f64>>()).map(|spread| spread.mean)
    }

    fn value(&self) -> Value {
        json!({
            "row": self.job.row, "data": self.job.data, "scores": self.job.scores, "x": self.job.x,
            "change": self.job.change, "variables": self.job.training.variables,
            "mrr": self.spread(|g| g.mrr), "hits1": self.spread(|g| g.hits1), "hits3": self.spread(|g| g.hits3),
            "hits10": self.spread(|g| g.hits10), "rules": self.spread(|g| g.rules as f64).mean,
            "seconds": self.seconds(), "split_hash": self.results.first().map(|result| &result.split_hash),
        })
    }
}

fn groups(done: &[Done]) -> Vec<Group<'_>> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (job, result) in done {
        let key = format!("{}|{}|{}|{}", job.row, job.data, job.x, job.scores.name());
        let place = *places.entry(key).or_insert_with(|| {
            groups.push(Group { job, results: Vec::new() });
            groups.len() - 1
        });
        groups[place].results.push(result);
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
        "units": done.iter().map(|(job, result)| json!({ "row": job.row, "data": job.data, "scores": job.scores,
            "x": job.x, "change": job.change, "training": job.training, "result": result })).collect::<Vec<_>>(),
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
        group.results.len().to_string(),
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

/// The last part of a path, as part of a file's name.
fn short(data: &str) -> &str {
    data.rsplit(std::path::MAIN_SEPARATOR).find(|part| !part.is_empty()).unwrap_or("data")
}

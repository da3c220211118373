//! Checking data: facts are mislabelled, and the share of these among the most suspicious facts is counted.
//!
//! In: a [`Plan`] that names chances of mislabelling. Out: precision and recall among the first 100 and 1,000 suspects.
//! What was mislabelled is looked at only after the facts are ranked.

use std::collections::BTreeSet;

use glidr::internals::check::DataCheck;
use glidr::internals::constraint::learn_constraints;
use glidr::internals::graph::Triple;
use glidr::{Dataset, Split};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Watch;
use crate::plan::{Choices, DataSets, Plan, first, folder};
use crate::report::{Report, Table};
use crate::store::Store;
use crate::watch::Stopwatch;

/// So many suspects are looked at; the third is as many as facts were mislabelled.
const FIRST: [usize; 2] = [100, 1000];

/// What was found in one data set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Detected {
    facts: usize,
    wrong: usize,
    /// Mislabelled facts among the first 100, 1,000, and as many as there are.
    among: [usize; 3],
    /// Mean precision at every mislabelled fact.
    average_precision: f64,
    /// Facts of a suspicion of one half and more, and how many of them were mislabelled.
    told: [usize; 2],
    seconds: f64,
}

pub fn run(
    plan: &Plan,
    choices: &Choices,
    store: &mut Store,
    watch: &dyn Watch,
) -> anyhow::Result<Option<Report>> {
    let mut data_sets = DataSets::default();
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for row in plan.chosen_rows(choices)? {
        for name in plan.data_of(&row, choices) {
            for p in first(&plan.mislabelled, choices) {
                for seed in plan.seeds_of(&row, choices) {
                    let data = data_sets.open(&name, &folder(plan, choices))?;
                    let unit = json!({ "data": name, "hash": data.hash(), "seed": seed, "mislabelled": p });
                    let found = match store.get::<Detected>(&unit) {
                        Some(found) => found,
                        None if store.only_done => continue,
                        None => {
                            if watch.is_stopped() {
                                return Ok(None);
                            }
                            watch.unit(
                                values.len(),
                                plan.data.len(),
                                &format!("{name}, p = {p}, seed {seed}"),
                            );
                            let found = check(data, p, seed)?;
                            store.put(&unit, &found)?;
                            found
                        }
                    };
                    rows.push(cells(&name, p, seed, &found));
                    values.push(json!({ "data": name, "mislabelled": p, "seed": seed, "found": found }));
                }
            }
        }
    }
    anyhow::ensure!(!values.is_empty(), "nothing of this is done yet");
    let header = [
        "data",
        "p",
        "seed",
        "facts",
        "wrong",
        "precision at 100",
        "recall",
        "at 1000",
        "recall ",
        "at all wrong",
        "average precision",
        "suspicion ≥ .5",
        "precision",
        "recall  ",
        "processor s",
    ];
    let title = "mislabelled facts among the most suspicious".into();
    let mut report = Report::default();
    report.tables.push(Table { title, header: header.map(String::from).to_vec(), left: 1, rows });
    report.notes.push(
        "facts of facts and train have another predicate with the chance p; facts that are true all the same are not \
         wrong. All splits are checked, with constraints that are learned from them."
            .into(),
    );
    report.value = json!({ "experiment": "check", "units": values });
    Ok(Some(report))
}

/// Mislabels facts, ranks all by suspicion, and counts.
fn check(clean: &Dataset, p: f64, seed: u64) -> anyhow::Result<Detected> {
    let noisy = clean.mislabelled(p, seed)?;
    let watch = Stopwatch::start();
    let all = DataCheck { min_suspicion: 0.0, ..DataCheck::default() };
    let suspects = all.run(&noisy, &learn_constraints(&noisy), None)?;
    let seconds = watch.seconds();
    let true_facts: BTreeSet<Triple> =
        Split::ALL.iter().flat_map(|&split| clean.split(split)).copied().collect();
    let is_wrong: Vec<bool> = suspects.iter().map(|suspect| !true_facts.contains(&suspect.fact)).collect();
    let count = |first: usize| is_wrong.iter().take(first).filter(|&&wrong| wrong).count();
    let wrong = count(suspects.len());
    let precisions = is_wrong.iter().enumerate().filter(|(_, wrong)| **wrong).enumerate();
    let sum: f64 = precisions.map(|(before, (place, _))| (before + 1) as f64 / (place + 1) as f64).sum();
    let told = suspects.iter().take_while(|suspect| suspect.suspicion >= 0.5).count();
    Ok(Detected {
        facts: suspects.len(),
        wrong,
        among: [count(FIRST[0]), count(FIRST[1]), count(wrong)],
        average_precision: sum / wrong.max(1) as f64,
        told: [told, count(told)],
        seconds,
    })
}

fn cells(name: &str, p: f64, seed: u64, found: &Detected) -> Vec<String> {
    let share = |part: usize, whole: usize| format!("{:.3}", part as f64 / whole.max(1) as f64);
    let mut cells =
        vec![name.into(), p.to_string(), seed.to_string(), found.facts.to_string(), found.wrong.to_string()];
    for (first, among) in FIRST.into_iter().zip(found.among) {
        cells.extend([share(among, first.min(found.facts)), share(among, found.wrong)]);
    }
    let [told, right] = found.told;
    cells.extend([share(found.among[2], found.wrong), format!("{:.3}", found.average_precision)]);
    cells.extend([
        told.to_string(),
        share(right, told),
        share(right, found.wrong),
        format!("{:.1}", found.seconds),
    ]);
    cells
}

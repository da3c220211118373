//! Planted constraints that are learned again, as more facts are mislabelled.
//!
//! In: a [`Plan`] that names chances of mislabelling. Out: how many of five planted constraints are found in generated
//! graphs, and how many of those that are found the clean graph breaks.

use glidr::internals::constraint::{Constraint, learn_constraints};
use glidr::internals::graph::Triple;
use glidr::{Background, Dataset, Generator, Split};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Watch;
use crate::plan::{Choices, Plan, first};
use crate::report::{Report, Table};
use crate::store::Store;

/// What is planted: one of each kind that a random graph of these sizes does not have by itself.
const PLANTED: [&str; 5] = [
    ":- p15(X, Y), p15(Y, X).",
    ":- p16(X, Y), p17(X, Y).",
    ":- p18(X, Y), p19(Y, X).",
    ":- at least 2 Y: p20(X, Y).",
    ":- p21(X, Y), p22(X, Z1), p23(Z1, Y).",
];

/// What was learned in one graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recovered {
    /// The confidence of each planted constraint; 0 where it was not found.
    confidences: Vec<f64>,
    /// All that were learned, and how many of them the graph breaks before facts are mislabelled.
    learned: usize,
    broken: usize,
}

pub fn run(
    plan: &Plan,
    choices: &Choices,
    store: &mut Store,
    watch: &dyn Watch,
) -> anyhow::Result<Option<Report>> {
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for row in plan.chosen_rows(choices)? {
        let seeds = plan.seeds_of(&row, choices);
        for p in first(&plan.mislabelled, choices) {
            let mut of_seeds: Vec<Recovered> = Vec::new();
            for &seed in &seeds {
                let unit = json!({ "graph": 1, "seed": seed, "mislabelled": p });
                let recovered = match store.get::<Recovered>(&unit) {
                    Some(recovered) => recovered,
                    None if store.only_done => continue,
                    None => {
                        if watch.is_stopped() {
                            return Ok(None);
                        }
                        watch.unit(values.len(), seeds.len(), &format!("p = {p}, seed {seed}"));
                        let recovered = learn(p, seed)?;
                        store.put(&unit, &recovered)?;
                        recovered
                    }
                };
                values.push(json!({ "mislabelled": p, "seed": seed, "recovered": recovered }));
                of_seeds.push(recovered);
            }
            if !of_seeds.is_empty() {
                rows.push(cells(p, &of_seeds));
            }
        }
    }
    anyhow::ensure!(!values.is_empty(), "nothing of this is done yet");
    let header = ["p", "asymmetric", "disjoint", "inverse", "functional", "denial", "learned", "broken"];
    let title = "planted constraints: graphs in which each is found, of all, with its mean confidence".into();
    let mut report = Report::default();
    report.tables.push(Table { title, header: header.map(String::from).to_vec(), left: 1, rows });
    report.notes.push(
        "80 entities, 40 predicates, 24,000 facts before those are left out that break a planted constraint. broken: \
         learned constraints that the graph breaks before facts are mislabelled."
            .into(),
    );
    report.value = json!({ "experiment": "constraints", "units": values });
    Ok(Some(report))
}

fn learn(p: f64, seed: u64) -> anyhow::Result<Recovered> {
    let clean = planted(seed)?;
    let noisy = if p > 0.0 { clean.mislabelled(p, seed)? } else { clean.clone() };
    let learned = learn_constraints(&noisy);
    let confidence = |wanted: &&str| {
        let is_it = |constraint: &&Constraint| constraint.show(clean.names()) == **wanted;
        learned.iter().find(is_it).map_or(0.0, |constraint| constraint.confidence)
    };
    let facts = clean.graph(Background::Train).neighbours();
    let mut broken = 0;
    for constraint in &learned {
        broken += usize::from(!constraint.denial.conflicts(facts)?.is_empty());
    }
    Ok(Recovered { confidences: PLANTED.iter().map(confidence).collect(), learned: learned.len(), broken })
}

/// A generated graph without the facts that break what is planted.
fn planted(seed: u64) -> anyhow::Result<Dataset> {
    let generator = Generator {
        entities: 80,
        predicates: 40,
        facts: 24_000,
        instances: 50,
        seed,
        ..Generator::default()
    };
    let data = generator.run()?.data;
    let mut numbers = Vec::new();
    for name in ["p15", "p16", "p17", "p18", "p19", "p20", "p21", "p22", "p23"] {
        numbers.push(data.names().predicate(name)?);
    }
    let [asymmetric, one, other, there, back, functional, denied, first, second] = numbers[..] else {
        anyhow::bail!("nine predicates are planted")
    };
    let all = data.graph(Background::All);
    let facts = all.neighbours();
    let keeps = |fact: &Triple| {
        let Triple { head, predicate, tail } = *fact;
        let same = |predicate| facts.holds(Triple { predicate, ..*fact });
        let turned = |predicate| facts.holds(Triple { head: tail, predicate, tail: head });
        let over = |z: &u32| facts.heads(second, tail).contains(z);
        !(predicate == asymmetric && (head == tail || (turned(asymmetric) && tail < head))
            || predicate == other && same(one)
            || predicate == back && turned(there)
            || predicate == functional && facts.tails(functional, head)[0] != tail.0
            || predicate == denied && facts.tails(first, head).iter().any(over))
    };
    let splits = Split::ALL.map(|split| data.split(split).iter().copied().filter(keeps).collect());
    Ok(Dataset::of("planted", data.names().clone(), splits, data.property_facts().to_vec())?)
}

fn cells(p: f64, of_seeds: &[Recovered]) -> Vec<String> {
    let mut cells = vec![p.to_string()];
    for place in 0..PLANTED.len() {
        let found = of_seeds.iter().map(|of| of.confidences[place]).filter(|&confidence| confidence > 0.0);
        let found: Vec<f64> = found.collect();
        let mean = found.iter().sum::<f64>() / found.len().max(1) as f64;
        cells.push(if found.is_empty() { "0".into() } else { format!("{} ({mean:.2})", found.len()) });
    }
    let mean = |count: fn(&Recovered) -> usize| {
        let sum: usize = of_seeds.iter().map(count).sum();
        format!("{:.1}", sum as f64 / of_seeds.len() as f64)
    };
    cells.extend([mean(|of| of.learned), mean(|of| of.broken)]);
    cells
}

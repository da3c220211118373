//! The best rules of every predicate with their measures, and how many are chains, trees or have a loop.

use std::collections::BTreeMap;

use glidr::internals::graph::{Entity, Neighbours};
use glidr::internals::model::{Extraction, SoftModel};
use glidr::internals::render::Picture;
use glidr::internals::rule::{Rule, RuleNames, Shape};
use glidr::internals::solve::{Limits, Solver};
use glidr::{Background, Dataset, Split, Training};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Watch;
use crate::model_store::ModelStore;
use crate::plan::{Choices, DataSets, Plan, folder};
use crate::report::{Report, Table};
use crate::store::Store;

/// The best rule of one predicate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Best {
    target: String,
    rule: String,
    shape: Shape,
    weight: f32,
    support: usize,
    confidence: f64,
    head_coverage: f64,
    test_f1: f64,
    picture: String,
}

/// What one unit gave: the best rules, and the shapes of all.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RulesResult {
    best: Vec<Best>,
    shapes: BTreeMap<Shape, usize>,
    best_shapes: BTreeMap<Shape, usize>,
}

pub fn run(
    plan: &Plan,
    choices: &Choices,
    store: &mut Store,
    mut learner: ModelStore,
    watch: &dyn Watch,
) -> anyhow::Result<Option<Report>> {
    let mut data_sets = DataSets::default();
    let mut units = Vec::new();
    for row in plan.chosen_rows(choices)? {
        for data in plan.data_of(&row, choices) {
            for seed in plan.seeds_of(&row, choices) {
                units.push((row.name.clone(), data.clone(), Training { seed, ..row.training.clone() }));
            }
        }
    }
    let (mut report, mut values) = (Report::default(), Vec::new());
    let mut counts: BTreeMap<(String, String), (RulesResult, usize)> = BTreeMap::new();
    for (number, (row, name, training)) in units.iter().enumerate() {
        let data = data_sets.open(name, &folder(plan, choices))?;
        let unit = json!({ "data": name, "hash": data.hash(), "training": training, "rules": "top-p 0.25, best by both, drawn" });
        let result = if let Some(result) = store.get::<RulesResult>(&unit) {
            result
        } else if store.only_done {
            continue;
        } else {
            watch.unit(number, units.len(), &format!("{row}, {name}, seed {}", training.seed));
            let Some(learned) = learner.model(training, data, watch)? else { return Ok(None) };
            let result = best_rules(&learned.model, data)?;
            store.put(&unit, &result)?;
            result
        };
        values.push(json!({ "row": row, "data": name, "seed": training.seed, "shapes": result.shapes,
            "best_shapes": result.best_shapes, "best": result.best.iter().map(|best| json!({
                "target": best.target, "rule": best.rule, "shape": best.shape, "weight": best.weight,
                "support": best.support, "confidence": best.confidence, "head_coverage": best.head_coverage,
                "test_f1": best.test_f1 })).collect::<Vec<_>>() }));
        let (sum, seeds) = counts.entry((row.clone(), name.clone())).or_default();
        *seeds += 1;
        for shape in Shape::ALL {
            *sum.shapes.entry(shape).or_default() += result.shapes.get(&shape).copied().unwrap_or(0);
            *sum.best_shapes.entry(shape).or_default() +=
                result.best_shapes.get(&shape).copied().unwrap_or(0);
        }
        if *seeds == 1 {
            show(&mut report, row, name, training.seed, &result);
        }
        if watch.is_stopped() && number + 1 < units.len() {
            return Ok(None);
        }
    }
    anyhow::ensure!(!counts.is_empty(), "nothing of this is done yet");
    let header = [
        "row",
        "data",
        "seeds",
        "rules",
        "chain-like",
        "tree-like",
        "with a loop",
        "best rules",
        "chain-like ",
        "tree-like ",
        "with a loop ",
    ];
    report.tables.push(Table {
        title: "shapes of the extracted rules (top-p 0.25; equal rules of a target are one), and of the best rule \
                of each predicate"
            .into(),
        header: header.map(String::from).to_vec(),
        left: 2,
        rows: counts.iter().map(|((row, data), (result, seeds))| {
            let mut cells = vec![row.clone(), data.clone(), seeds.to_string()];
            for shapes in [&result.shapes, &result.best_shapes] {
                let all: usize = shapes.values().sum();
                cells.push(all.to_string());
                let share = |shape: Shape| {
                    let count = shapes.get(&shape).copied().unwrap_or(0);
                    format!("{count} ({:.0} %)", 100.0 * count as f64 / all.max(1) as f64)
                };
                cells.extend(Shape::ALL.map(share));
            }
            cells
        }).collect(),
    });
    report.notes.push(
        "confidence and coverage are counted on facts and train, leave-one-out: no rule is credited with the fact \
         that is queried. A predicate's best rule has the greatest harmonic mean of the two, and is shown without \
         literals whose removal changes no answer. F1 is against test; weights come from valid."
            .into(),
    );
    report.value = json!({ "experiment": "rules", "units": values });
    Ok(Some(report))
}

/// Adds the first seed's best rules and the pictures of those that are no chains: at most three, loops first.
fn show(report: &mut Report, row: &str, data: &str, seed: u64, result: &RulesResult) {
    let header = ["weight", "support", "confidence", "coverage", "F1", "shape", "rule"];
    let line = |best: &Best| {
        vec![
            format!("{:.2}", best.weight),
            best.support.to_string(),
            format!("{:.3}", best.confidence),
            format!("{:.3}", best.head_coverage),
            format!("{:.3}", best.test_f1),
            best.shape.name().to_owned(),
            best.rule.clone(),
        ]
    };
    report.tables.push(Table {
        title: format!("the best rule of each predicate: {row}, {data}, seed {seed}"),
        header: header.map(String::from).to_vec(),
        left: 7,
        rows: result.best.iter().map(line).collect(),
    });
    let mut shown: Vec<&Best> = result.best.iter().filter(|best| best.shape != Shape::Chain).collect();
    let looped = |best: &Best| best.shape == Shape::Loop;
    shown.sort_by(|a, b| looped(b).cmp(&looped(a)).then(b.test_f1.total_cmp(&a.test_f1)));
    for (number, best) in shown.into_iter().take(3).enumerate() {
        let data = data.rsplit(std::path::MAIN_SEPARATOR).find(|part| !part.is_empty()).unwrap_or("data");
        report.figures.push((format!("rules-{row}-{data}-{}.svg", number + 1), best.picture.clone()));
    }
}

fn best_rules(model: &SoftModel, data: &Dataset) -> anyhow::Result<RulesResult> {
    let view = model.view(data, Background::Train)?;
    let facts = view.graph.neighbours();
    let mut result = RulesResult::default();
    for ensemble in &model.ensembles {
        let rules = ensemble.extract(&model.schema, Extraction::TopP(0.25));
        for (rule, _) in &rules {
            *result.shapes.entry(rule.shape()).or_default() += 1;
        }
        let mut best: Option<(f64, Rule, f32)> = None;
        for (rule, weight) in rules {
            let measures = Solver::new(&rule, facts, Limits::default())?.measure().value;
            let mean = harmonic_mean(measures.confidence(), measures.head_coverage());
            if best.as_ref().is_none_or(|(most, ..)| mean > *most) {
                best = Some((mean, rule, weight));
            }
        }
        let Some((_, rule, weight)) = best else { continue };
        // A shorter body has all answers of the longer, so that equal counts mean equal answers.
        let count = |rule: &Rule| {
            let measures = Solver::new(rule, facts, Limits::default()).ok()?.measure().value;
            Some((measures.support, measures.body))
        };
        let found = count(&rule);
        let rule = rule.shortened(|shorter| count(shorter) == found);
        *result.best_shapes.entry(rule.shape()).or_default() += 1;
        let name = model.predicates.name(ensemble.target);
        result.best.push(measured(&rule, weight, name, model, data, facts)?);
    }
    Ok(result)
}

/// The harmonic mean.
fn harmonic_mean(confidence: f64, coverage: f64) -> f64 {
    2.0 * confidence * coverage / (confidence + coverage).max(f64::MIN_POSITIVE)
}

fn measured(
    rule: &Rule,
    weight: f32,
    target: &str,
    model: &SoftModel,
    data: &Dataset,
    facts: &Neighbours,
) -> anyhow::Result<Best> {
    let solver = Solver::new(rule, facts, Limits::default())?;
    let measures = solver.measure().value;
    let number = data.names().predicate(target)?;
    let test: Vec<(Entity, Entity)> = data
        .split(Split::Test)
        .iter()
        .filter(|fact| fact.predicate == number)
        .map(|fact| (fact.head, fact.tail))
        .collect();
    let names = RuleNames { entities: None, ..model.names() };
    let text = rule.show(names);
    Ok(Best {
        target: target.to_owned(),
        shape: rule.shape(),
        weight,
        support: measures.support,
        confidence: measures.confidence(),
        head_coverage: measures.head_coverage(),
        test_f1: solver.measure_on(&test).f1,
        picture: Picture::of(rule, names).with_measures(measures.confidence(), measures.support).svg(),
        rule: text,
    })
}

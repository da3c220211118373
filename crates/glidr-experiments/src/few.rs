//! MRR on *test* as more rules of each predicate are kept: rules that were chosen together, and the most confident of all.
//!
//! In: a [`Plan`] that names numbers of rules. Out: a table and a figure for each data set. The most confident
//! rules are aggregated by max-plus, as is done where rules are sorted by confidence.

use glidr::internals::predict::Rules;
use glidr::internals::rule::{TargetRules, WeightedRule};
use glidr::{Aggregation, Dataset, Evaluation, Learner, Method, Model, RuleSet};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Watch;
use crate::figure::{Figure, Point, Series};
use crate::plan::{Choices, DataSets, Plan, folder};
use crate::report::{Report, Table};
use crate::store::Store;

/// What so many rules of each predicate reach.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Reached {
    rules: usize,
    chosen: f64,
    confident: f64,
}

/// What one data set gave: with few rules, and with all.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Curve {
    few: Vec<Reached>,
    all: Reached,
}

pub fn run(
    plan: &Plan,
    choices: &Choices,
    store: &mut Store,
    watch: &dyn Watch,
) -> anyhow::Result<Option<Report>> {
    let mut data_sets = DataSets::default();
    let (mut report, mut values) = (Report::default(), Vec::new());
    for row in plan.chosen_rows(choices)? {
        for name in plan.data_of(&row, choices) {
            for seed in plan.seeds_of(&row, choices) {
                let data = data_sets.open(&name, &folder(plan, choices))?;
                let points = choices.points.unwrap_or(usize::MAX).min(plan.kept.len());
                let counts = &plan.kept[..points];
                let search = &row.search;
                let unit = json!({ "data": name, "hash": data.hash(), "seed": seed, "search": search, "rules": counts });
                let curve = match store.get::<Curve>(&unit) {
                    Some(curve) => curve,
                    None if store.only_done => continue,
                    None => {
                        let mut learner = Learner { method: Method::Search, ..Learner::default() };
                        (learner.search, learner.training.seed) = (search.search()?, seed);
                        watch.unit(values.len(), plan.data.len(), &format!("{name}, seed {seed}"));
                        let Some(curve) = measure(&learner, data, counts, watch)? else { return Ok(None) };
                        store.put(&unit, &curve)?;
                        curve
                    }
                };
                show(&mut report, &name, &curve);
                values.push(json!({ "data": name, "seed": seed, "curve": curve }));
            }
        }
    }
    anyhow::ensure!(!values.is_empty(), "nothing of this is done yet");
    report.notes.push(
        "chosen: those that together rank training queries best, with fitted weights and as many priors; confident: the \
         most confident of all rules that link X and Y, aggregated by max-plus."
            .into(),
    );
    report.value = json!({ "experiment": "few", "units": values });
    Ok(Some(report))
}

/// Learns with each number of rules; none where it was asked to stop.
fn measure(
    learner: &Learner,
    data: &Dataset,
    counts: &[usize],
    watch: &dyn Watch,
) -> anyhow::Result<Option<Curve>> {
    let learned = |max_rules: usize| -> anyhow::Result<Option<Model>> {
        let mut learner = learner.clone();
        learner.search.max_rules = Some(max_rules);
        let model = learner.fit_watched(data, glidr::internals::learn::Start::default(), watch)?;
        Ok(model.filter(|_| !watch.is_stopped()).map(|learned| learned.model))
    };
    let Some(all) = learned(0)? else { return Ok(None) };
    let all_rules = all.rules.as_ref().map(|kept| kept.on(data.names()).rules).unwrap_or_default();
    let mut few = Vec::new();
    for &rules in counts {
        let Some(model) = learned(rules)? else { return Ok(None) };
        let confident = confident(&all_rules, rules);
        few.push(Reached { rules, chosen: rank_model(&model, data)?, confident: rank(&confident, data)? });
    }
    let per_target = all_rules.len() / all_rules.targets().len().max(1);
    let confident = rank(&confident(&all_rules, usize::MAX), data)?;
    Ok(Some(Curve { few, all: Reached { rules: per_target, chosen: rank_model(&all, data)?, confident } }))
}

/// The most confident rules of each predicate, by max-plus.
fn confident(all: &RuleSet, count: usize) -> RuleSet {
    let of_target = |rules: &TargetRules| {
        let linked = rules.rules.iter().filter(|weighted| weighted.rule.links_ends());
        let counted = linked.filter_map(|weighted| Some((weighted.rule.clone(), weighted.measures?)));
        let mut rated: Vec<_> =
            counted.map(|(rule, measures)| WeightedRule::of_measures(rule, measures)).collect();
        rated.sort_by(|a, b| b.weight.max().total_cmp(&a.weight.max()).then_with(|| a.rule.cmp(&b.rule)));
        rated.truncate(count);
        TargetRules::new(rules.target, Aggregation::MaxPlus, rated)
    };
    RuleSet::new(all.targets().iter().map(of_target))
}

fn rank(rules: &RuleSet, data: &Dataset) -> anyhow::Result<f64> {
    Ok(Evaluation::default().run(&Rules::new(rules.targets(), data), data, &())?.all.mrr)
}

fn rank_model(model: &Model, data: &Dataset) -> anyhow::Result<f64> {
    Ok(Evaluation::default().run(model.on(data)?.predictor(), data, &())?.all.mrr)
}

/// Adds the table and the figure of one data set.
fn show(report: &mut Report, name: &str, curve: &Curve) {
    let cells = |rules: String, of: &Reached| {
        vec![rules, format!("{:.3}", of.chosen), format!("{:.3}", of.confident)]
    };
    let mut rows: Vec<Vec<String>> = curve.few.iter().map(|of| cells(of.rules.to_string(), of)).collect();
    rows.push(cells(format!("all: {} and priors", curve.all.rules), &curve.all));
    report.tables.push(Table {
        title: format!("{name}: MRR on test by rules of each predicate"),
        header: ["rules", "chosen", "confident"].map(String::from).to_vec(),
        left: 1,
        rows,
    });
    let series = |name: &str, mrr: fn(&Reached) -> f64| Series {
        name: name.into(),
        points: curve
            .few
            .iter()
            .map(|of| Point { x: of.rules as f64, y: mrr(of), error: 0.0, label: String::new() })
            .collect(),
        line: true,
    };
    let figure = Figure {
        title: format!("Few rules: {name}"),
        x: "rules of each predicate".into(),
        y: "MRR on test".into(),
        log_x: true,
        series: vec![series("chosen together", |of| of.chosen), series("most confident", |of| of.confident)],
        ..Figure::default()
    };
    report.figures.push((format!("few-{name}.svg"), figure.svg()));
}

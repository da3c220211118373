//! `glidr info`: what a model file or a data set holds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use glidr::internals::util::file_kind::FileKind;
use glidr::{Aggregation, Background, Dataset, Model, Split, Training};
use serde::Serialize;
use serde_json::json;

use crate::output::{Output, counted, table};
use crate::sources::open_data;

/// Describe a model file or a data set.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    glidr info my-graph/       facts of each predicate and split, and what is odd about them\n  \
    glidr info my.glidr        where a model comes from, its settings, its rules of each predicate")]
pub struct Info {
    /// A model, or a folder or file of triples [default: the built-in families]
    path: Option<PathBuf>,
    /// Seed for dividing data that is not divided
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
}

impl Info {
    /// Describes.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        match &self.path {
            Some(path) if FileKind::of(path) == Some(FileKind::Model) => {
                model_info(path, &Model::open(path)?, output)
            }
            path => data_info(&open_data(path.as_deref(), self.seed, output)?, output),
        }
    }
}

fn model_info(path: &Path, model: &Model, output: &Output) -> anyhow::Result<ExitCode> {
    let targets = targets(model);
    if output.json {
        let soft = model.soft.as_ref();
        return output.write_json(&json!({
            "kind": "model",
            "path": path.display().to_string(),
            "provenance": model.provenance,
            "schema": soft.map(|soft| soft.schema),
            "predicates": soft.map(|soft| &soft.predicates),
            "properties": soft.map(|soft| &soft.properties),
            "training": soft.map(|soft| &soft.training),
            "search": model.search,
            "targets": targets,
        }));
    }
    let from = &model.provenance;
    let mut text = format!("model {}, written by glidr {}\n", path.display(), from.version);
    text += &format!("learned on {} ({}), seed {}\n", from.source, &from.hash[..12], from.seed);
    if let Some(soft) = &model.soft {
        let training = &soft.training;
        text += &format!(
            "{} and {}; N = {}, R = {}, {} per target, {}, batch {}, learning_rate {}, weight_decay {}\n",
            counted(soft.predicates.len(), "predicate"),
            counted(soft.properties.len(), "property"),
            training.variables,
            training.rounds,
            counted(training.rules, "rule"),
            counted(training.steps, "step"),
            training.batch,
            training.learning_rate,
            training.weight_decay
        );
        text += &others(training);
    }
    if let Some(search) = &model.search {
        text += &format!("searched with {search}\n");
    }
    let rows = targets.iter().map(|(name, about)| {
        let shown = |number: Option<f64>| number.map_or("–".into(), |number| format!("{number:.2}"));
        let how = about.aggregation.map_or("–", Aggregation::word);
        let loss = shown(about.loss.map(f64::from));
        let counts = [about.soft_rules, about.rules].map(|count| count.to_string());
        let [soft, rules] = counts;
        vec![(*name).to_owned(), soft, loss, rules, how.to_owned(), shown(about.mixing_weight)]
    });
    let header = ["target", "soft rules", "least validation loss", "rules", "aggregation", "mixing weight"];
    text += &table(&header, 1, rows);
    output.write(&text)
}

/// What a model knows of one target.
#[derive(Default, Serialize)]
struct Target {
    soft_rules: usize,
    /// The least validation loss of a soft rule.
    loss: Option<f32>,
    rules: usize,
    aggregation: Option<Aggregation>,
    mixing_weight: Option<f64>,
}

fn targets(model: &Model) -> BTreeMap<&str, Target> {
    let mut targets: BTreeMap<&str, Target> = BTreeMap::new();
    for (soft, ensemble) in model.soft.iter().flat_map(|soft| soft.ensembles.iter().map(move |e| (soft, e))) {
        let target = targets.entry(soft.predicates.name(ensemble.target)).or_default();
        target.soft_rules = ensemble.rules.len();
        target.loss = ensemble.rules.iter().map(|rule| rule.loss).min_by(f32::total_cmp);
    }
    for (kept, rules) in
        model.rules.iter().flat_map(|kept| kept.rules.targets().iter().map(move |r| (kept, r)))
    {
        let target = targets.entry(kept.names.predicates.name(rules.target)).or_default();
        (target.rules, target.aggregation) = (rules.rules.len(), Some(rules.aggregation));
    }
    for weight in &model.mixing_weights {
        targets.entry(&weight.target).or_default().mixing_weight = Some(weight.weight);
    }
    targets
}

/// The other settings, where they are not the paper's.
fn others(training: &Training) -> String {
    let value = serde_json::to_value(training).unwrap_or_default();
    let names = [
        "loss",
        "candidates",
        "init_std",
        "direct_slot_bias",
        "joint_loss",
        "positives",
        "negatives",
        "rule_weights",
        "engine",
    ];
    let differ = training.differences(&Training::default());
    let differ = names.into_iter().filter(|name| differ.iter().any(|other| other == name));
    let show = |name: &str| format!("{name} {}", value[name].to_string().replace(['"', '[', ']'], ""));
    let shown: Vec<String> = differ.map(show).collect();
    if shown.is_empty() { String::new() } else { format!("beyond the defaults: {}\n", shown.join("; ")) }
}

fn data_info(data: &Dataset, output: &Output) -> anyhow::Result<ExitCode> {
    let names = data.names();
    let mut per_predicate: Vec<(&str, [usize; 4])> =
        names.predicates.iter().map(|name| (name, [0; 4])).collect();
    for split in Split::ALL {
        for fact in data.split(split) {
            per_predicate[fact.predicate.index()].1[split as usize] += 1;
        }
    }
    if output.json {
        let counts = |counts: [usize; 4]| -> BTreeMap<&str, usize> {
            Split::ALL.iter().map(|split| split.name()).zip(counts).collect()
        };
        return output.write_json(&json!({
            "kind": "data",
            "source": data.source,
            "hash": data.hash(),
            "entities": names.entities.len(),
            "predicates": names.predicates.len(),
            "properties": names.properties,
            "property_facts": data.property_facts().len(),
            "splits": counts(Split::ALL.map(|split| data.split(split).len())),
            "split_hashes": Split::ALL.iter().map(|&s| (s.name(), data.split_hash(s))).collect::<BTreeMap<_, _>>(),
            "per_predicate": per_predicate.iter().map(|(name, c)| (*name, counts(*c))).collect::<BTreeMap<_, _>>(),
            "warnings": data.warnings(),
        }));
    }
    let background: usize = Background::Train.splits().iter().map(|&split| data.split(split).len()).sum();
    let mut text = format!("data {} ({})\n", data.source, &data.hash()[..12]);
    text += &format!(
        "{}, {}, {}; {} in facts and train\n",
        counted(names.entities.len(), "entity"),
        counted(names.predicates.len(), "predicate"),
        counted(names.properties.len(), "property"),
        counted(background, "fact")
    );
    if data.warnings().divided_by_seed {
        text += "divided by the seed\n";
    }
    let row = |name: &str, counts: [usize; 4]| {
        std::iter::once(name.to_owned())
            .chain(counts.iter().map(ToString::to_string))
            .collect::<Vec<String>>()
    };
    let mut rows: Vec<Vec<String>> = per_predicate.iter().map(|(name, counts)| row(name, *counts)).collect();
    rows.push(row("all", Split::ALL.map(|split| data.split(split).len())));
    text += &table(&["predicate", "facts", "train", "valid", "test"], 1, rows);
    output.write(&text)
}

//! `glidr info`: what a model file or a data set holds.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use glidr::{Background, Dataset, SoftModel, Split, Training};
use serde_json::json;

use crate::output::{Output, counted, table};
use crate::sources::open_data;

/// Describe a model file or a data set.
#[derive(Args)]
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
            Some(path) if looks_like_a_model(path) => model_info(path, &SoftModel::open(path)?, output),
            path => data_info(&open_data(path.as_deref(), self.seed, output)?, output),
        }
    }
}

/// Safetensors begin with the length of a header, eight bytes, and the header's brace; no file of
/// triples has a zero byte there.
fn looks_like_a_model(path: &Path) -> bool {
    // A pipe can be read only once, and a model is never one.
    if !path.is_file() {
        return false;
    }
    let mut start = [0; 9];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start[7] == 0 && start[8] == b'{'
}

fn model_info(path: &Path, model: &SoftModel, output: &Output) -> anyhow::Result<ExitCode> {
    if output.json {
        let targets: BTreeMap<&str, usize> = model
            .ensembles
            .iter()
            .map(|ensemble| (model.predicates.name(ensemble.target), ensemble.rules.len()))
            .collect();
        return output.write_json(&json!({
            "kind": "model",
            "path": path.display().to_string(),
            "schema": model.schema,
            "predicates": model.predicates,
            "properties": model.properties,
            "training": model.training,
            "data": model.data,
            "targets": targets,
        }));
    }
    let training = &model.training;
    let mut text = format!("model {}\n", path.display());
    text += &format!(
        "learned on {} ({})\n",
        model.data.source,
        &model.data.hash[..12.min(model.data.hash.len())]
    );
    text += &format!(
        "{} and {}; N = {}, R = {}, {} per target, {}, batch {}, learning_rate {}, weight_decay {}, seed {}\n",
        counted(model.predicates.len(), "predicate"),
        counted(model.properties.len(), "property"),
        training.variables,
        training.rounds,
        counted(training.rules, "rule"),
        counted(training.steps, "step"),
        training.batch,
        training.learning_rate,
        training.weight_decay,
        training.seed
    );
    text += &others(training);
    let rows = model.ensembles.iter().map(|ensemble| {
        let loss = ensemble.rules.iter().map(|rule| rule.loss).fold(f32::INFINITY, f32::min);
        let loss = if loss.is_finite() { format!("{loss:.2}") } else { "–".into() };
        vec![model.predicates.name(ensemble.target).to_owned(), ensemble.rules.len().to_string(), loss]
    });
    text += &table(&["target", "rules", "least validation loss"], 1, rows);
    output.write(&text)
}

/// The other settings, where they are not the paper's.
fn others(training: &Training) -> String {
    let value = serde_json::to_value(training).unwrap_or_default();
    let names =
        ["init_std", "direct_slot_bias", "joint_loss", "positives", "negatives", "rule_weights", "engine"];
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

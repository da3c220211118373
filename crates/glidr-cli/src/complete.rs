//! `glidr complete`: all new facts over the whole graph, most probable first.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::bail;
use clap::{Args, ValueEnum};
use glidr::internals::explain::Explainer;
use glidr::internals::export::n_triple;
use glidr::internals::predict::{Completion, NewFact};
use glidr::internals::rule::{RuleNames, WeightedRule};
use glidr::{Background, Dataset, Reasoner, Reasoning};
use serde_json::{Value, json};

use crate::STOPPED;
use crate::bars::Bars;
use crate::listing::put;
use crate::output::{Output, counted, table};
use crate::scoring::reasoner;
use crate::settings::{ReflexiveFlag, TargetFlags};
use crate::signals::Signals;
use crate::sources::open_both;
use crate::time::parse_share;

/// Give all new facts over the whole graph, most probable first, each with its best rule.
///
/// No known fact is among them, no entity with itself where the data never has that, and none whose ends have other
/// roles in the graph than those of the predicate. Every entity is asked for the tails that it lacks.
///
/// A probability says how often such answers were true when facts of valid were held out; true facts that are missing
/// from the data count as false there, so it errs low.
#[derive(Args)]
#[command(
    after_help = "Columns: head, predicate, tail, probability, confidence of the best rule, that rule, its proof (--explain).\n\n\
    Examples:\n  \
    glidr complete my.glidr -o new.tsv\n  \
    glidr complete my.glidr --target uncle --min-probability 0.9 --explain\n  \
    glidr complete my.glidr --hold-out       are the probabilities right? test tells"
)]
pub struct Complete {
    /// The model
    model: PathBuf,
    /// Folder or file of triples [default: what the model was learned on]
    data: Option<PathBuf>,
    /// Where facts go [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// How facts are written
    #[arg(long, value_enum, default_value = "tsv")]
    format: Format,
    /// Only facts of at least this probability
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = parse_share)]
    min_probability: f64,
    #[command(flatten)]
    targets: TargetFlags,
    /// At most so many facts, the most probable
    #[arg(long, value_name = "COUNT", default_value_t = 100_000)]
    limit: usize,
    /// Give the facts that prove each
    #[arg(long)]
    explain: bool,
    /// Hide test, and tell what share of the new facts is in it
    #[arg(long)]
    hold_out: bool,
    #[command(flatten)]
    reflexive: ReflexiveFlag,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    /// Tab-separated lines
    Tsv,
    /// A JSON document on each line
    Jsonl,
    /// N-Triples, without probabilities
    Nt,
}

/// Probabilities above which facts are counted with --hold-out.
const ABOVE: [f64; 3] = [0.9, 0.8, 0.5];

impl Complete {
    /// Completes and writes.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        let (model, data) = open_both(&self.model, self.data.as_deref(), output)?;
        if model.calibration.is_none() {
            bail!(
                "{} has no probabilities, which glidr learn fits on valid; glidr solve applies rules without them",
                self.model.display()
            );
        }
        let reasoning = Reasoning {
            background: if self.hold_out { Background::Train } else { Background::All },
            allow_reflexive: self.reflexive.allow_reflexive,
            ..Reasoning::default()
        };
        let reasoner = reasoner((&model, &self.model), &data, reasoning, output)?;
        let names = self.targets.names();
        let targets = names.iter().map(|name| reasoner.target(name)).collect::<Result<_, _>>()?;
        let completion = Completion { min_probability: self.min_probability, limit: self.limit, targets };
        let signals = Signals::listen()?;
        let bars = Bars::stopped_by(output, Arc::clone(&signals.stop));
        let found = reasoner.complete(&completion, &bars);
        bars.finish();
        let found = found?;
        if signals.stop.load(std::sync::atomic::Ordering::Relaxed) {
            output.say("stopped; nothing was written");
            return Ok(ExitCode::from(STOPPED));
        }
        let mut values = Vec::new();
        for new in &found {
            values.push(self.value(new, &reasoner, &data)?);
        }
        let promised = found.iter().map(|new| new.probability).fold(0.0, |sum, p| sum + p);
        let count = counted(found.len(), "new fact");
        output.say(&format!("{count}, of which about {promised:.0} should be true by their probabilities"));
        if found.is_empty() {
            let least = self.min_probability;
            output.say(&format!(
                "none is as probable as {least}: --min-probability 0.1 gives less probable ones too"
            ));
        }
        let held_out = self.hold_out.then(|| held_out(&found));
        if output.json {
            let document = json!({ "facts": values, "held_out": held_out });
            return put(&(serde_json::to_string_pretty(&document)? + "\n"), self.output.as_deref(), output);
        }
        let text: String = values.iter().map(|value| self.line(value)).collect();
        if let Some(held_out) = &held_out {
            if self.output.is_some() {
                put(&text, self.output.as_deref(), output)?;
            }
            return output.write(&held_out_text(held_out));
        }
        put(&text, self.output.as_deref(), output)
    }

    /// A new fact under its documented keys.
    fn value(&self, new: &NewFact, reasoner: &Reasoner, data: &Dataset) -> anyhow::Result<Value> {
        let names = data.names();
        let (head, tail) = (names.entities.name(new.fact.head), names.entities.name(new.fact.tail));
        let predicate = names.predicates.name(new.fact.predicate);
        let rules = reasoner.searched_rules().and_then(|rules| rules.target(new.fact.predicate));
        let rule = rules.zip(new.rule).map(|(rules, place)| &rules.rules[place]);
        let mut value = json!({
            "head": head, "predicate": predicate, "tail": tail, "probability": new.probability,
            "confidence": rule.map(WeightedRule::confidence),
            "rule": rule.map(|rule| rule.rule.show(RuleNames::from(names))),
        });
        if self.explain {
            let explainer = Explainer::on(data, reasoner.reasoning().background);
            let pair = (new.fact.head, new.fact.tail);
            let proof = rule.map(|rule| explainer.proof(&rule.rule, pair)).transpose()?;
            value["proof"] = json!(proof.flatten());
        }
        Ok(value)
    }

    fn line(&self, value: &Value) -> String {
        let text = |key: &str| value[key].as_str().unwrap_or_default();
        match self.format {
            Format::Jsonl => value.to_string() + "\n",
            Format::Nt => n_triple(text("head"), text("predicate"), text("tail")),
            Format::Tsv => {
                let [head, predicate, tail, rule] = ["head", "predicate", "tail", "rule"].map(text);
                let number = |key: &str| value[key].as_f64().map_or(String::new(), |n| format!("{n:.4}"));
                let (probability, confidence) = (number("probability"), number("confidence"));
                let mut line = format!("{head}\t{predicate}\t{tail}\t{probability}\t{confidence}\t{rule}");
                if self.explain {
                    line += &format!("\t{}", proof_text(&value["proof"]));
                }
                line + "\n"
            }
        }
    }
}

/// A proof on one line.
pub fn proof_text(proof: &Value) -> String {
    let fact = |fact: &Value| {
        let parts: Vec<&str> = fact.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        match parts.split_first() {
            Some((predicate, ends)) => format!("{predicate}({})", ends.join(", ")),
            None => String::new(),
        }
    };
    proof.as_array().into_iter().flatten().map(fact).collect::<Vec<_>>().join(", ")
}

/// Of the facts above each probability: how many, the share that *test* has, and what was promised.
fn held_out(found: &[NewFact]) -> Vec<Value> {
    let above = |least: f64| {
        let facts: Vec<&NewFact> = found.iter().filter(|new| new.probability >= least).collect();
        let count = facts.len().max(1) as f64;
        let share = facts.iter().filter(|new| new.is_held_out).count() as f64 / count;
        let promised = facts.iter().map(|new| new.probability).fold(0.0, |sum, p| sum + p) / count;
        json!({ "above": least, "facts": facts.len(), "in_test": share, "promised": promised })
    };
    ABOVE.map(above).to_vec()
}

fn held_out_text(held_out: &[Value]) -> String {
    let number = |value: &Value| format!("{:.3}", value.as_f64().unwrap_or_default());
    let rows = held_out.iter().map(|row| {
        let above = row["above"].as_f64().unwrap_or_default();
        vec![format!("{above}"), row["facts"].to_string(), number(&row["in_test"]), number(&row["promised"])]
    });
    table(&["probability above", "new facts", "share in test", "promised"], 0, rows)
}

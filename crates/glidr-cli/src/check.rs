//! `glidr check`: facts that are probably wrong, worst first.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, ValueEnum};
use glidr::internals::check::{DataCheck, Proven, Suspect};
use glidr::internals::constraint::{Constraint, learn_constraints};
use glidr::internals::graph::{Triple, Vocabulary};
use glidr::internals::rule::{RuleNames, quoted};
use glidr::{Dataset, RuleSet, Split};
use serde_json::{Value, json};

use crate::listing::put;
use crate::output::{Output, counted, visible};
use crate::settings::TargetFlags;
use crate::sources::{Source, open_data};
use crate::time::parse_share;

/// List facts that are probably wrong, worst first, each with what contradicts it.
///
/// A fact is suspicious where what else links its two ends says another predicate, and where it breaks constraints that
/// most facts keep. All splits are checked. Constraints are learned from the data, or taken from a model, with its rules.
///
/// The suspicion is how likely the fact is wrong if one fact in twenty is; all evidence adds, as logarithms of odds
/// (docs/constraints.md). A fact in conflict counts the less against another the more suspicious it is itself.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    glidr check my-graph/                              the 20 most suspicious facts, and why\n  \
    glidr check my-graph/ --target uncle --limit 0     all that are more likely wrong than right\n  \
    glidr check my-graph/ --model my.glidr             by the constraints and rules of a model\n  \
    glidr check my-graph/ --constraints my.constraints --min-suspicion 0.9\n  \
    glidr check my-graph/ --format tsv -o wrong.tsv    suspicion, head, predicate, tail, split, why")]
pub struct Check {
    /// Folder or file of triples [default: what the model was learned on, or the built-in families]
    data: Option<PathBuf>,
    /// Take constraints and rules of this model
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// File of constraints (docs/constraints.md) that are used too
    #[arg(long, value_name = "FILE")]
    constraints: Option<PathBuf>,
    #[command(flatten)]
    targets: TargetFlags,
    /// Only facts of at least this suspicion
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = parse_share)]
    min_suspicion: f64,
    /// Only constraints of at least this confidence
    #[arg(long, value_name = "SHARE", default_value_t = 0.9, value_parser = parse_share)]
    min_confidence: f64,
    /// At most so many facts; 0 lists all [default: 20 in a table, else all]
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    /// How facts are written
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Where they go [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Seed that divides data that is not divided
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = crate::help::EXPERT)]
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// Tab-separated lines
    Tsv,
}

impl Check {
    /// Checks and writes.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        let (data, constraints, rules) = self.knowledge(output)?;
        let names = data.names();
        let targets = self.targets.names();
        let targets = targets.iter().map(|name| names.predicate(name)).collect::<Result<_, _>>()?;
        let (min_confidence, min_suspicion) = (self.min_confidence, self.min_suspicion);
        let found = DataCheck { min_confidence, min_suspicion, targets };
        let mut found = found.run(&data, &constraints, rules.as_ref())?;
        let all = found.len();
        let is_table = self.format == Format::Table && !output.json;
        match self.limit.unwrap_or(if is_table { 20 } else { 0 }) {
            0 => {}
            limit => found.truncate(limit),
        }
        let told: Vec<Value> = found.iter().map(|suspect| value(suspect, &constraints, &data)).collect();
        let text = if output.json {
            let document =
                json!({ "data": data.source, "hash": data.hash(), "suspicious": all, "facts": told });
            serde_json::to_string_pretty(&document)? + "\n"
        } else if is_table {
            self.table(&told, all)
        } else {
            told.iter().map(line).collect()
        };
        put(&text, self.output.as_deref(), output)
    }

    /// The data, the constraints by its numbers, and the rules of the model if there is one.
    fn knowledge(&self, output: &Output) -> anyhow::Result<(Dataset, Vec<Constraint>, Option<RuleSet>)> {
        let source = self.model.as_deref().map(Source::open).transpose()?;
        let data = match &source {
            Some(source) => source.data(self.data.as_deref(), self.seed, output)?,
            None => open_data(self.data.as_deref(), self.seed, output)?,
        };
        let mut constraints = match &self.constraints {
            Some(path) => Constraint::read(path, data.names())?,
            None => Vec::new(),
        };
        let (mut others, mut rules) = (Vec::new(), None);
        match source.as_ref().map(Source::model) {
            None => others = learn_constraints(&data),
            Some(None) => bail!("--model must name a model: glidr learn DATA -o MODEL learns one"),
            Some(Some(model)) => {
                if let Some(kept) = &model.constraints {
                    others = kept.on(data.names()).into_iter().map(|kept| kept.constraint).collect();
                }
                rules = model.rules.as_ref().map(|kept| kept.on(data.names()).rules);
            }
        }
        let given = constraints.len();
        others.retain(|other| constraints[..given].iter().all(|given| given.denial != other.denial));
        constraints.extend(others);
        Ok((data, constraints, rules))
    }

    fn table(&self, told: &[Value], all: usize) -> String {
        if told.is_empty() {
            let least = self.min_suspicion;
            return format!("no fact is as suspicious as {least}: --min-suspicion 0.1 lists more\n");
        }
        let mut text: String = told.iter().map(block).collect();
        if told.len() < all {
            text +=
                &format!("\n{} of {} (--limit 0 lists all)\n", told.len(), counted(all, "suspicious fact"));
        }
        text
    }
}

/// A fact as text.
fn fact_text(fact: Triple, names: &Vocabulary) -> String {
    let entity = |entity| names.entities.name(entity);
    format!("{}({}, {})", quoted(names.predicates.name(fact.predicate)), entity(fact.head), entity(fact.tail))
}

/// A fact as JSON: predicate first.
fn fact_value(fact: &Triple, names: &Vocabulary) -> Value {
    let entity = |entity| names.entities.name(entity);
    json!([names.predicates.name(fact.predicate), entity(fact.head), entity(fact.tail)])
}

/// A suspicious fact under its documented keys.
fn value(suspect: &Suspect, constraints: &[Constraint], data: &Dataset) -> Value {
    let (names, fact) = (data.names(), suspect.fact);
    let splits = Split::ALL.into_iter().filter(|&split| data.split(split).binary_search(&fact).is_ok());
    let contradicts: Vec<Value> = suspect
        .breaks
        .iter()
        .map(|broken| {
            let constraint = &constraints[broken.constraint];
            let facts: Vec<Value> = broken.facts.iter().map(|fact| fact_value(fact, names)).collect();
            json!({
                "constraint": constraint.show(names),
                "confidence": constraint.confidence,
                "why": constraint.denial.sentence(fact, &broken.facts, names),
                "facts": facts,
            })
        })
        .collect();
    let proven = |proven: &Proven| {
        let facts: Vec<Value> = proven.facts.iter().map(|fact| fact_value(fact, names)).collect();
        let reason = &proven.reason;
        let rule = reason.rule.show(RuleNames::from(names));
        json!({ "rule": rule, "confidence": reason.confidence, "support": reason.support, "facts": facts })
    };
    let rather = suspect.rather.map(|(predicate, probability)| {
        let because = suspect.reason.as_ref().map(proven);
        let holds = |fact| Split::ALL.into_iter().any(|split| data.split(split).binary_search(&fact).is_ok());
        let is_known = predicate.is_some_and(|predicate| holds(Triple { predicate, ..fact }));
        let predicate = predicate.map(|predicate| names.predicates.name(predicate));
        json!({ "predicate": predicate, "known": is_known, "probability": probability, "because": because })
    });
    json!({
        "suspicion": suspect.suspicion,
        "fact": fact_text(fact, names),
        "head": names.entities.name(fact.head),
        "predicate": names.predicates.name(fact.predicate),
        "tail": names.entities.name(fact.tail),
        "splits": splits.map(Split::name).collect::<Vec<_>>(),
        "contradicts": contradicts,
        "rather": rather,
        "supported_by": suspect.support.as_ref().map(proven),
    })
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value[key].as_array().into_iter().flatten()
}

fn splits(told: &Value) -> String {
    list(told, "splits").filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

/// What speaks against a fact, line by line.
fn reasons(told: &Value) -> Vec<String> {
    let number = |value: &Value, key: &str| value[key].as_f64().unwrap_or_default();
    let contradicts = list(told, "contradicts").map(|broken| {
        let (why, constraint) = (text(broken, "why"), text(broken, "constraint"));
        format!("{why} ({:.3} {constraint})", number(broken, "confidence"))
    });
    let mut lines: Vec<String> = contradicts.collect();
    let (rather, because) = (&told["rather"], &told["rather"]["because"]);
    let predicate = quoted(text(rather, "predicate"));
    if !rather.is_null() && rather["predicate"].is_null() {
        lines.push("rather none: pairs that are linked like this have no fact this way round".into());
    } else if !because.is_null() {
        let proof = crate::complete::proof_text(&because["facts"]);
        let as_known = if rather["known"] == true { "known as and only" } else { "rather" };
        let (confidence, rule) = (number(because, "confidence"), text(because, "rule"));
        lines.push(format!("{as_known} {predicate}, as {proof} ({confidence:.3} {rule})"));
    }
    lines
}

/// A suspicious fact for people.
fn block(told: &Value) -> String {
    let suspicion = told["suspicion"].as_f64().unwrap_or_default();
    let mut block = format!("{suspicion:.3}  {}  in {}\n", visible(text(told, "fact")), splits(told));
    for reason in reasons(told) {
        block += &format!("       {}\n", visible(&reason));
    }
    block
}

/// A suspicious fact as a line of tab-separated fields.
fn line(told: &Value) -> String {
    let suspicion = told["suspicion"].as_f64().unwrap_or_default();
    let fact = ["head", "predicate", "tail"].map(|key| text(told, key));
    let plain: Vec<String> = reasons(told).iter().map(|reason| visible(reason)).collect();
    format!("{suspicion:.6}\t{}\t{}\t{}\n", fact.join("\t"), splits(told), plain.join("; "))
}

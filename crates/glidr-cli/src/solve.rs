//! `glidr solve`: applies rules to facts and writes what is new.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use glidr::internals::graph::{Entity, Predicate, Triple};
use glidr::internals::rule::RuleNames;
use glidr::internals::solve::{Ended, Limits, Solver};
use glidr::{Background, Dataset};
use serde_json::{Value, json};

use crate::output::{Output, counted};
use crate::settings::Looked;
use crate::sources::Source;

/// Apply the rules of a file or a model to the facts of a graph, exactly, and write the new facts.
///
/// A model's rules are the searched ones that it keeps, or else those that top-p takes from its soft rules.
/// A fact that several rules find is written once, with the rule of the highest number. A rule without
/// a number gets its confidence on the data: support / (answers + 5), never credited with the fact asked.
#[derive(Args)]
#[command(after_help = "Rules are written as docs/rules.md says, such as\n  \
    0.9 :: uncle(X, Y) :- brother(X, Z), (mother(Z, Y) ; father(Z, Y)).\n\n\
    Columns of TSV: head, predicate, tail, confidence, rules that find it, best rule. \
    JSON keys, also of each line of JSON lines: head, predicate, tail, confidence, rules, rule; with --json one \
    document: facts, ended.\n\n\
    Examples:\n  \
    glidr solve my.rules                          new facts of the built-in families\n  \
    glidr rules m.glidr --scoring search > m.rules   the rules that search finds, and\n  \
    glidr solve m.rules my-graph/ --min-confidence 0.5 -o new.tsv")]
pub struct Solve {
    /// A text of rules, or a model
    rules: PathBuf,
    /// Folder or file of triples [default: the data that the model was learned on; for a text of rules the built-in
    /// families]
    data: Option<PathBuf>,
    /// How facts are written
    #[arg(long, value_enum, default_value = "tsv")]
    format: Format,
    /// Where facts go [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only rules of at least this number
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0)]
    min_confidence: f64,
    /// At most so many answers of each rule
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    /// At most so many seconds for each rule
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    time: Option<u64>,
    /// The facts that rules look up; what stands there is not new
    #[arg(long, value_enum, default_value = "all")]
    background: Looked,
    /// Seed that divides data that is not divided, for a text of rules
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    /// Tab-separated lines
    Tsv,
    /// A JSON document on each line
    Jsonl,
}

/// A new fact: how many rules find it, and the first of the best.
struct New {
    rules: usize,
    number: f64,
    rule: String,
}

impl Solve {
    /// Evaluates and writes.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        let source = Source::open(&self.rules)?;
        let data = source.data(self.data.as_deref(), self.seed, output)?;
        let rules = source.rules(&data, output)?;
        let background = Background::from(self.background);
        let facts = data.graph(background).neighbours();
        let limits = Limits { time: self.time.map(Duration::from_secs), answers: self.limit };
        let mut found: BTreeMap<(Predicate, Entity, Entity), New> = BTreeMap::new();
        let mut ended = Ended::Complete;
        for weighed in rules.rules().filter(|rule| rule.weight.max() >= self.min_confidence) {
            let text = weighed.rule.show(RuleNames::from(data.names()));
            let answers = Solver::new(&weighed.rule, facts, limits)?.answers();
            if answers.ended != Ended::Complete {
                ended = answers.ended;
                output.say(&format!("a limit was reached, so answers are missing: {text}"));
            }
            let predicate = weighed.rule.target;
            for (head, tail) in answers.value {
                if facts.holds(Triple { head, predicate, tail }) {
                    continue;
                }
                // Rules of a set stand in the order of their numbers, so the first is the best.
                let first = || New { rules: 0, number: weighed.weight.max(), rule: text.clone() };
                found.entry((predicate, head, tail)).or_insert_with(first).rules += 1;
            }
        }
        output.say(&counted(found.len(), "new fact"));
        self.write(&found, ended, &data, output)
    }

    fn write(
        &self,
        found: &BTreeMap<(Predicate, Entity, Entity), New>,
        ended: Ended,
        data: &Dataset,
        output: &Output,
    ) -> anyhow::Result<ExitCode> {
        let names = data.names();
        let fields = |&(p, h, t): &(Predicate, Entity, Entity)| {
            [names.entities.name(h), names.predicates.name(p), names.entities.name(t)]
        };
        let value = |key: &(Predicate, Entity, Entity), new: &New| -> Value {
            let [head, predicate, tail] = fields(key);
            json!({ "head": head, "predicate": predicate, "tail": tail, "confidence": new.number,
                    "rules": new.rules, "rule": new.rule })
        };
        let text: String = if output.json {
            let facts: Vec<Value> = found.iter().map(|(key, new)| value(key, new)).collect();
            serde_json::to_string_pretty(&json!({ "facts": facts, "ended": ended }))? + "\n"
        } else {
            let line = |(key, new): (&(Predicate, Entity, Entity), &New)| match self.format {
                Format::Jsonl => value(key, new).to_string() + "\n",
                Format::Tsv => {
                    format!("{}\t{:.6}\t{}\t{}\n", fields(key).join("\t"), new.number, new.rules, new.rule)
                }
            };
            found.iter().map(line).collect()
        };
        match &self.output {
            None => output.write(&text),
            Some(path) => {
                write_file(path, &text)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// Writes beside, then renames: there is never half a file.
pub fn write_file(path: &Path, text: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let ordinary = !path.exists() || path.is_file();
    anyhow::ensure!(ordinary, "{}: this is no ordinary file, and is not written over", path.display());
    glidr::internals::util::atomic_file::write(path, text)?;
    Ok(())
}

//! `glidr solve`: applies rules to facts and writes what is new.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use glidr::internals::explain::Explainer;
use glidr::internals::graph::{Direction, Entity, Kinds, Query, Triple};
use glidr::internals::predict::Guard;
use glidr::internals::rule::{RuleNames, WeightedRule};
use glidr::internals::solve::{Ended, Limits, Solver};
use glidr::{Background, Dataset};
use serde_json::{Value, json};

use crate::complete::proof_text;
use crate::help::EXPERT;
use crate::output::{Output, counted};
use crate::settings::{Looked, TargetFlags};
use crate::sources::Source;
use crate::time::parse_share;

/// Apply rules to facts, exactly, and write the new facts with rule and confidence.
///
/// This is for rules that are written by hand or to be run as they are: every answer of every rule is given. For new
/// facts with probabilities take glidr complete. A fact that several rules find is written once, with the most confident
/// of them; the most confident facts come first. No entity stands with itself where the data never has that, and no
/// ends with other roles in the graph than those of the predicate (--all-pairs gives these too).
///
/// Confidence is support / answers on the data; of a rule written with a number, that number.
#[derive(Args)]
#[command(after_help = "A rule is written as docs/rules.md says, such as\n  \
    0.9 :: uncle(X, Y) :- brother(X, Z), (mother(Z, Y) ; father(Z, Y)).\n\n\
    Columns: head, predicate, tail, confidence, rules that find it, best rule, its proof (--explain).\n\n\
    Examples:\n  \
    glidr solve my.rules                          new facts of the built-in families\n  \
    glidr rules m.glidr --format text -o m.rules  the rules of a model, to be edited, and\n  \
    glidr solve m.rules my-graph/ -o new.tsv      run")]
pub struct Solve {
    /// A text of rules, or a model
    rules: PathBuf,
    /// Folder or file of triples [default: what the model was learned on]
    ///
    /// For a text of rules the default is the built-in families.
    data: Option<PathBuf>,
    /// How facts are written
    #[arg(long, value_enum, default_value = "tsv")]
    format: Format,
    /// Where facts go [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    targets: TargetFlags,
    /// Only rules of at least this confidence
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    min_confidence: f64,
    /// Give the facts that prove each new fact
    #[arg(long)]
    explain: bool,
    /// Give every pair, whatever its ends are
    #[arg(long, help_heading = EXPERT)]
    all_pairs: bool,
    /// At most so many answers of each rule
    #[arg(long, value_name = "COUNT", help_heading = EXPERT)]
    limit: Option<usize>,
    /// At most so many seconds for each rule
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..), help_heading = EXPERT)]
    time: Option<u64>,
    /// The facts that rules look up; what stands there is not new
    #[arg(long, value_enum, default_value = "all", help_heading = EXPERT)]
    background: Looked,
    /// Seed that divides data that is not divided, for a text of rules
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = EXPERT)]
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
    fact: Triple,
    rules: usize,
    confidence: f64,
    rule: String,
    proof: Option<Vec<Vec<String>>>,
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
        let asked = self.targets.names();
        for name in &asked {
            data.names().predicate(name)?;
        }
        let (kinds, explainer) = (Kinds::of(facts), Explainer::on(&data, background));
        let names = RuleNames::from(data.names());
        let mut found: Vec<New> = Vec::new();
        let mut ended = Ended::Complete;
        for set in rules.targets() {
            let name = data.names().predicates.name(set.target);
            if !asked.is_empty() && !asked.iter().any(|asked| asked == name) {
                continue;
            }
            let guard = Guard::new(&data, background, &kinds, set.target, self.all_pairs);
            let is_sound = |head: Entity, tail: Entity| {
                let query = Query { predicate: set.target, direction: Direction::Tail, known: head };
                self.all_pairs || (guard.admits(query, tail) && guard.is_of_kind(Direction::Head, head))
            };
            let mut of_target: BTreeMap<(Entity, Entity), (usize, usize)> = BTreeMap::new();
            let mut by_confidence: Vec<(usize, &WeightedRule)> = set.rules.iter().enumerate().collect();
            by_confidence.sort_by(|a, b| b.1.confidence().total_cmp(&a.1.confidence()));
            by_confidence.retain(|(_, weighted)| {
                !weighted.speaks_against() && weighted.confidence() >= self.min_confidence
            });
            for (place, weighted) in by_confidence {
                let answers = Solver::new(&weighted.rule, facts, limits)?.answers();
                if answers.ended != Ended::Complete {
                    ended = answers.ended;
                    let text = weighted.rule.show(names);
                    output.say(&format!("a limit was reached, so answers are missing: {text}"));
                }
                for (head, tail) in answers.value {
                    let fact = Triple { head, predicate: set.target, tail };
                    if !facts.holds(fact) && is_sound(head, tail) {
                        // The most confident rule comes first.
                        of_target.entry((head, tail)).or_insert((place, 0)).1 += 1;
                    }
                }
            }
            for ((head, tail), (place, rules)) in of_target {
                let fact = Triple { head, predicate: set.target, tail };
                let rule = set.rules[place].rule.show(names);
                let proof = self.explain.then(|| explainer.proof(&set.rules[place].rule, (head, tail)));
                let proof = proof.transpose()?.flatten();
                found.push(New { fact, rules, confidence: set.rules[place].confidence(), rule, proof });
            }
        }
        found.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then(a.fact.cmp(&b.fact)));
        output.say(&counted(found.len(), "new fact"));
        self.write(&found, ended, &data, output)
    }

    fn write(
        &self,
        found: &[New],
        ended: Ended,
        data: &Dataset,
        output: &Output,
    ) -> anyhow::Result<ExitCode> {
        let names = data.names();
        let fields = |fact: Triple| {
            let [head, tail] = [fact.head, fact.tail].map(|entity| names.entities.name(entity));
            [head, names.predicates.name(fact.predicate), tail]
        };
        let value = |new: &New| -> Value {
            let [head, predicate, tail] = fields(new.fact);
            let mut value = json!({ "head": head, "predicate": predicate, "tail": tail,
                "confidence": new.confidence, "rules": new.rules, "rule": new.rule });
            if self.explain {
                value["proof"] = json!(new.proof);
            }
            value
        };
        let text: String = if output.json {
            let facts: Vec<Value> = found.iter().map(value).collect();
            serde_json::to_string_pretty(&json!({ "facts": facts, "ended": ended }))? + "\n"
        } else {
            let line = |new: &New| match self.format {
                Format::Jsonl => value(new).to_string() + "\n",
                Format::Tsv => {
                    let fields = fields(new.fact).join("\t");
                    let mut line = format!("{fields}\t{:.6}\t{}\t{}", new.confidence, new.rules, new.rule);
                    if self.explain {
                        line += &format!("\t{}", proof_text(&json!(new.proof)));
                    }
                    line + "\n"
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

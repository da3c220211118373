//! `glidr constraints`: what never holds, as logic, measured, and written for other engines.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use glidr::Model;
use glidr::internals::constraint::{Checked, Constraint, KeptConstraint, learn_constraints};
use glidr::internals::export::{ConstraintDialect, ConstraintProgram};
use glidr::internals::graph::Vocabulary;
use glidr::internals::render::Picture;
use glidr::internals::util::file_kind::FileKind;
use serde_json::{Value, json};

use crate::listing::put;
use crate::output::{Output, counted, table};
use crate::pictures::Drawn;
use crate::settings::TargetFlags;
use crate::sources::open_data;
use crate::time::parse_share;

/// Print what never holds in a graph, measured, or write it for other engines.
///
/// The constraints are those that a model keeps, or else they are learned from the data: what never holds though chance
/// would have it a few times. A few exceptions lower the confidence.
#[derive(Args)]
#[command(
    after_help = "expected: how many exceptions chance would give; confidence: 1 - (exceptions + 1) / (expected + 2).\n\
    used for: the predicates whose answers it refuses, as valid says nothing against it.\n\n\
    Examples:\n  \
    glidr constraints my-graph/                             what the data never has\n  \
    glidr constraints my.glidr --target uncle               what a model knows of uncle\n  \
    glidr constraints my.glidr --format text -o my.constraints    as text, to be edited\n  \
    glidr constraints my-graph/ --format shacl -o shapes.ttl      for another engine\n  \
    glidr learn my-graph/ -o my.glidr --constraints my.constraints"
)]
pub struct Constraints {
    /// The model, or a folder or file of triples [default: the built-in families]
    #[arg(value_name = "MODEL|DATA")]
    source: Option<PathBuf>,
    /// Those of a text of constraints instead, under the names of DATA
    #[arg(long = "constraints", value_name = "FILE")]
    text: Option<PathBuf>,
    #[command(flatten)]
    targets: TargetFlags,
    /// How constraints are written
    #[arg(long, value_enum, default_value = "table")]
    format: ConstraintFormat,
    /// Where they go [default: standard output]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// At most so many; 0 lists all [default: 20 in a table, else all]
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    /// Only constraints of this kind
    #[arg(long, value_enum)]
    kind: Option<KindFlag>,
    /// Only constraints of at least this confidence
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    min_confidence: Option<f64>,
    /// Seed that divides data that is not divided
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = crate::help::EXPERT)]
    seed: u64,
}

/// How constraints are written.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum ConstraintFormat {
    /// For people
    Table,
    /// A text of constraints (docs/constraints.md), to be read again
    Text,
    /// One document, as with --json
    Json,
    /// SWI-Prolog: what breaks a constraint
    Prolog,
    /// Integrity constraints for clingo
    Asp,
    /// A SPARQL 1.1 query of what breaks one
    Sparql,
    /// Views of what breaks one, for `SQLite`, `DuckDB`, Postgres and Spark SQL
    Sql,
    /// SHACL shapes in Turtle
    Shacl,
    /// OWL axioms in Turtle
    Owl,
    /// A picture of each constraint, and a sheet of the first twelve
    Svg,
    /// A picture of each for Graphviz
    Dot,
}

impl ConstraintFormat {
    /// The language of an engine, where it is one.
    fn dialect(self) -> Option<ConstraintDialect> {
        Some(match self {
            ConstraintFormat::Prolog => ConstraintDialect::Prolog,
            ConstraintFormat::Asp => ConstraintDialect::Asp,
            ConstraintFormat::Sparql => ConstraintDialect::Sparql,
            ConstraintFormat::Sql => ConstraintDialect::Sql,
            ConstraintFormat::Shacl => ConstraintDialect::Shacl,
            ConstraintFormat::Owl => ConstraintDialect::Owl,
            _ => return None,
        })
    }
}

/// What a constraint is about.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum KindFlag {
    /// No entity with itself
    Irreflexive,
    /// Never both ways round
    Asymmetric,
    /// Two predicates never hold of the same pair
    Disjoint,
    /// Two predicates never hold of a pair and of the pair turned round
    DisjointInverse,
    /// A head has at most so many tails
    Functional,
    /// A tail has at most so many heads
    InverseFunctional,
    /// All ends are of one kind
    EndKind,
    /// A pair that is linked already, or one that is not
    Linked,
    /// A longer body
    Denial,
}

impl Constraints {
    /// Takes or learns constraints and writes them.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        let (mut kept, names, document) = self.constraints(output)?;
        let asked = self.targets.names();
        for name in &asked {
            names.predicate(name)?;
        }
        let is_asked = |kept: &KeptConstraint| {
            let mut about = kept.constraint.denial.targets().into_iter().map(|p| names.predicates.name(p));
            asked.is_empty() || about.any(|name| asked.iter().any(|asked| asked == name))
        };
        kept.retain(is_asked);
        if let Some(kind) = self.kind.and_then(|kind| kind.to_possible_value()) {
            kept.retain(|kept| kept.constraint.denial.kind().to_string() == kind.get_name());
        }
        if let Some(least) = self.min_confidence {
            kept.retain(|kept| kept.constraint.confidence >= least);
        }
        let all = kept.len();
        let is_table = self.format == ConstraintFormat::Table && !output.json;
        match self.limit.unwrap_or(if is_table { 20 } else { 0 }) {
            0 => {}
            limit => kept.truncate(limit),
        }
        if matches!(self.format, ConstraintFormat::Svg | ConstraintFormat::Dot) && !output.json {
            return self.draw(&kept, &names, output);
        }
        let text = match self.format {
            _ if output.json => as_json(&kept, &names, document)?,
            ConstraintFormat::Json => as_json(&kept, &names, document)?,
            ConstraintFormat::Text => {
                kept.iter().map(|kept| kept.constraint.to_line(&names) + "\n").collect()
            }
            ConstraintFormat::Table => as_table(&kept, &names, all),
            other => {
                let constraints: Vec<Constraint> = kept.iter().map(|kept| kept.constraint.clone()).collect();
                let program = ConstraintProgram { constraints: &constraints, names: &names };
                other.dialect().map(|dialect| dialect.write(&program)).transpose()?.unwrap_or_default()
            }
        };
        put(&text, self.output.as_deref(), output)
    }

    /// A picture of each, named by the predicate that it denies.
    fn draw(&self, kept: &[KeptConstraint], names: &Vocabulary, output: &Output) -> anyhow::Result<ExitCode> {
        let target = |kept: &KeptConstraint| kept.constraint.denial.targets()[0];
        let drawn = Drawn {
            kind: "constraint",
            is_svg: self.format == ConstraintFormat::Svg,
            about: kept.iter().map(|kept| names.predicates.name(target(kept)).to_owned()).collect(),
            pictures: kept.iter().map(|kept| Picture::of_constraint(&kept.constraint, names)).collect(),
        };
        drawn.write(self.output.as_deref(), output)
    }

    /// Those of the model, or those that the data has, surest first.
    fn constraints(&self, output: &Output) -> anyhow::Result<(Vec<KeptConstraint>, Vocabulary, Value)> {
        let is_model = |path: &Path| FileKind::of(path) == Some(FileKind::Model);
        if let Some(path) = self.source.as_deref().filter(|path| is_model(path)) {
            if self.text.is_some() {
                anyhow::bail!(
                    "--constraints needs DATA, whose names the text uses, but {} is a model",
                    path.display()
                );
            }
            let kept = Model::open(path)?.constraints;
            let document = json!({ "model": path.display().to_string() });
            let (constraints, names) = kept
                .map_or_else(|| (Vec::new(), Vocabulary::default()), |kept| (kept.constraints, kept.names));
            return Ok((constraints, names, document));
        }
        let data = open_data(self.source.as_deref(), self.seed, output)?;
        let constraints = match &self.text {
            Some(path) => Constraint::read(path, data.names())?,
            None => learn_constraints(&data),
        };
        let kept = Checked::new(constraints, &data)?.kept;
        Ok((kept, data.names().clone(), json!({ "data": data.source, "hash": data.hash() })))
    }
}

fn as_table(kept: &[KeptConstraint], names: &Vocabulary, all: usize) -> String {
    if kept.is_empty() {
        return "no constraint: nothing is missing that chance would give a few times\n".into();
    }
    let rows = kept.iter().map(|KeptConstraint { constraint, used_for }| {
        let counts = constraint.counts;
        let used: Vec<&str> = used_for.iter().map(|&target| names.predicates.name(target)).collect();
        vec![
            format!("{:.3}", constraint.confidence),
            counts.map_or("–".into(), |counts| counts.exceptions.to_string()),
            counts.map_or("–".into(), |counts| format!("{:.1}", counts.expected)),
            constraint.denial.kind().to_string(),
            constraint.show(names),
            if used.is_empty() { "–".into() } else { used.join(", ") },
        ]
    });
    let header = ["confidence", "exceptions", "expected", "kind", "constraint", "used for"];
    let mut text = table(&header, header.len(), rows);
    if kept.len() < all {
        text += &format!("{} of {} (--limit 0 lists all)\n", kept.len(), counted(all, "constraint"));
    }
    text
}

fn as_json(kept: &[KeptConstraint], names: &Vocabulary, mut document: Value) -> anyhow::Result<String> {
    let value = |KeptConstraint { constraint, used_for }: &KeptConstraint| {
        let used: Vec<&str> = used_for.iter().map(|&target| names.predicates.name(target)).collect();
        constraint_value(constraint, names, &used)
    };
    document["constraints"] = kept.iter().map(value).collect();
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// A constraint as JSON.
pub fn constraint_value(constraint: &Constraint, names: &Vocabulary, used_for: &[&str]) -> Value {
    json!({
        "constraint": constraint.show(names),
        "kind": constraint.denial.kind(),
        "confidence": constraint.confidence,
        "counts": constraint.counts,
        "used_for": used_for,
    })
}

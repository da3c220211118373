//! Rules as they are listed: a table, a document, or a text for another engine.

use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;
use glidr::internals::export::{Dialect, FactTable, Program, csv_rules, rule_value};
use glidr::internals::rule::{Measures, RuleNames, Weight, WeightedRule};
use glidr::internals::solve::{Ended, Found, HeldOut};
use glidr::{Aggregation, Rule};
use serde_json::{Value, json};

use crate::output::{Output, table};
use crate::pictures::draw;
use crate::solve::write_file;

/// How rules or facts are written.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// A text of rules (docs/rules.md), to be read again
    Text,
    /// One document, as with --json
    Json,
    /// A table with a header
    Csv,
    /// SWI-Prolog
    Prolog,
    /// Datalog for Nemo
    Datalog,
    /// Answer sets, for clingo
    Asp,
    /// A SPARQL 1.1 update
    Sparql,
    /// A script for `SQLite`, `DuckDB`, Postgres and Spark SQL
    Sql,
    /// Datalog for Soufflé, untested
    Souffle,
    /// A picture of each rule, and a sheet of the first twelve
    Svg,
    /// A picture of each rule for Graphviz
    Dot,
}

impl Format {
    /// The language of an engine, where it is one.
    pub fn dialect(self) -> Option<Dialect> {
        Some(match self {
            Format::Prolog => Dialect::Prolog,
            Format::Datalog => Dialect::Datalog,
            Format::Asp => Dialect::Asp,
            Format::Sparql => Dialect::Sparql,
            Format::Sql => Dialect::Sql,
            Format::Souffle => Dialect::Souffle,
            Format::Table | Format::Text | Format::Json | Format::Csv | Format::Svg | Format::Dot => {
                return None;
            }
        })
    }

    /// Writes rules; `footer` is what a table says below them, `document` what JSON says beside them.
    pub fn write(
        self,
        rules: &[Shown],
        footer: &str,
        names: RuleNames,
        mut document: Value,
        to: &Destination,
    ) -> anyhow::Result<ExitCode> {
        let (path, output) = (to.path, to.output);
        let format = if output.json { Format::Json } else { self };
        if let Some(dialect) = format.dialect() {
            let numbered: Vec<(Rule, f64)> =
                rules.iter().map(|shown| (shown.rule.clone(), shown.confidence())).collect();
            let program = Program { rules: &numbered, names };
            let text = match &to.table {
                Some(table) => program.over_table(table)?,
                None => dialect.rules(&program)?,
            };
            return put(&text, path, output);
        }
        if matches!(format, Format::Svg | Format::Dot) {
            return draw(format, rules, names, path, output);
        }
        if format == Format::Json {
            document["rules"] = rules.iter().map(|shown| shown.value(names)).collect();
            return put(&(serde_json::to_string_pretty(&document)? + "\n"), path, output);
        }
        let columns = Columns::of(rules);
        let rows = rules.iter().map(|shown| shown.row(&columns, format, names));
        let header = columns.header(format);
        if format == Format::Csv {
            return put(&csv_rules(&header, rows), path, output);
        }
        put(&(table(&header, header.len(), rows) + footer), path, output)
    }
}

/// Where rules are written, and over which table where they are SQL.
pub struct Destination<'a> {
    pub path: Option<&'a Path>,
    pub output: &'a Output,
    pub table: Option<FactTable>,
}

/// Writes a text to a file, or to standard output.
pub fn put(text: &str, path: Option<&Path>, output: &Output) -> anyhow::Result<ExitCode> {
    match path {
        None => output.write(text),
        Some(path) => {
            write_file(path, text)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// A rule and what is known of it.
pub struct Shown {
    pub rule: Rule,
    /// Weight of the soft rules that stand for it.
    pub soft_weight: Option<f32>,
    /// Its weight in a text or a searched set.
    pub weight: Option<Weight>,
    pub aggregation: Option<Aggregation>,
    /// What was counted of it, and how the count ended.
    pub measures: Option<Found<Measures>>,
    pub held_out: Option<HeldOut>,
    pub fidelity: Option<f64>,
}

/// Which columns a list has.
struct Columns {
    measures: bool,
    held_out: bool,
    fidelity: bool,
}

impl Columns {
    fn of(rules: &[Shown]) -> Self {
        Columns {
            measures: rules.iter().any(|shown| shown.measures.is_some()),
            held_out: rules.iter().any(|shown| shown.held_out.is_some()),
            fidelity: rules.iter().any(|shown| shown.fidelity.is_some()),
        }
    }

    fn header(&self, format: Format) -> Vec<&'static str> {
        let csv = format == Format::Csv;
        let mut header = if csv { vec!["target", "weight"] } else { Vec::new() };
        if self.measures {
            header.extend(if csv {
                ["support", "answers", "confidence", "pca_confidence", "head_coverage", "ended"].as_slice()
            } else {
                &["confidence", "support", "coverage"]
            });
        } else if !csv {
            header.push("weight");
        }
        if self.held_out {
            header.extend(["precision", "recall", "f1"]);
        }
        if self.fidelity {
            header.push("fidelity");
        }
        header.push("rule");
        header
    }
}

impl Shown {
    /// A rule of which nothing is known yet.
    pub fn new(rule: Rule) -> Self {
        Shown {
            rule,
            soft_weight: None,
            weight: None,
            aggregation: None,
            measures: None,
            held_out: None,
            fidelity: None,
        }
    }

    /// What it stands on without being counted: its weight, or that of its soft rules.
    pub fn standing(&self) -> f64 {
        self.weight.map(Weight::max).or(self.soft_weight.map(f64::from)).unwrap_or(0.0)
    }

    /// What other engines are told of it: its confidence on the data; where nothing was counted, its weight.
    pub fn confidence(&self) -> f64 {
        let counted = self.measures.map(|counted| counted.value.confidence());
        counted.or(self.weight.map(Weight::max)).or(self.soft_weight.map(f64::from)).unwrap_or(0.0)
    }

    /// The rule with its weight, or else with the confidence that was counted.
    pub fn weighted(&self) -> WeightedRule {
        let (rule, counted) = (self.rule.clone(), self.measures.and_then(Found::complete));
        match (self.weight, self.measures) {
            (None, Some(found)) => {
                WeightedRule { measures: counted, ..WeightedRule::of_measures(rule, found.value) }
            }
            (weight, _) => {
                WeightedRule { rule, weight: weight.unwrap_or(self.standing().into()), measures: counted }
            }
        }
    }

    fn row(&self, columns: &Columns, format: Format, names: RuleNames) -> Vec<String> {
        let csv = format == Format::Csv;
        let share = |share: f64| if csv { share.to_string() } else { format!("{share:.3}") };
        let mut row = Vec::new();
        if csv {
            row.push(names.predicates.name(self.rule.target).to_owned());
            row.push(self.standing().to_string());
        }
        match &self.measures {
            Some(Found { value: measures, ended }) if csv => {
                row.extend([measures.support, measures.body].map(|count| count.to_string()));
                let shares = [measures.confidence(), measures.pca_confidence(), measures.head_coverage()];
                row.extend(shares.map(share));
                row.push(json!(ended).as_str().unwrap_or_default().to_owned());
            }
            Some(Found { value: measures, ended }) => {
                // After a limit the true count is at least what was found.
                let mark = if *ended == Ended::Complete { "" } else { "≥" };
                row.push(share(measures.confidence()));
                row.push(format!("{mark}{}", measures.support));
                row.push(share(measures.head_coverage()));
            }
            None if columns.measures => {
                row.extend(vec![if csv { "" } else { "–" }.to_owned(); if csv { 6 } else { 3 }]);
            }
            None if csv => {}
            None => row.push(format!("{:.2}", self.standing())),
        }
        if let Some(held_out) = &self.held_out {
            row.extend([held_out.precision, held_out.recall, held_out.f1].map(share));
        }
        if columns.fidelity {
            row.push(self.fidelity.map_or("–".into(), share));
        }
        row.push(self.rule.show(names));
        row
    }

    fn value(&self, names: RuleNames) -> Value {
        let mut value = rule_value(&self.rule, names);
        value["target"] = json!(names.predicates.name(self.rule.target));
        value["rule"] = json!(self.rule.show(names));
        value["variables"] = json!(self.rule.variables());
        value["literals"] = json!(self.rule.body().len());
        value["prior"] = json!(!self.rule.links_ends());
        if let Some(weight) = self.soft_weight {
            value["weight"] = json!(weight);
        }
        if let Some(weight) = self.weight {
            value["weight"] = json!(weight.main());
            value["against"] = json!(weight.max() <= 0.0 && weight.main() < 0.0);
            value["weights"] = json!(weight);
        }
        if let Some(aggregation) = self.aggregation {
            value["aggregation"] = json!(aggregation);
        }
        if let Some(Found { value: measures, ended }) = &self.measures {
            value["measures"] = json!(measures);
            value["measures"]["ended"] = json!(ended);
            value["confidence"] = json!(measures.confidence());
            value["pca_confidence"] = json!(measures.pca_confidence());
            value["head_coverage"] = json!(measures.head_coverage());
        }
        if let Some(held_out) = self.held_out {
            value["held_out"] = json!(held_out);
        }
        if self.fidelity.is_some() {
            value["fidelity"] = json!(self.fidelity);
        }
        value
    }
}

//! `glidr rules`: rules as logic, measured, and written for other engines.

mod measured;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use glidr::internals::graph::Vocabulary;
use glidr::internals::model::{Ensemble, Extraction, RuleModel};
use glidr::internals::rule::{RuleNames, TargetRules};
use glidr::internals::solve::{Ended, Found};
use glidr::{Aggregation, Background, Dataset, RuleSet};
use measured::{Ground, Sort, agreement};
use serde_json::json;
use table::TableFlags;

use crate::help::EXPERT;
use crate::listing::{Destination, Format, Shown, put};
use crate::output::{Output, counted};
use crate::scoring::ScoringFlags;
use crate::settings::TargetFlags;
use crate::sources::Source;
use crate::time::parse_share;

/// Print rules as logic, measured, or write them for Prolog, Datalog, ASP, SPARQL or SQL.
///
/// The rules are those of a text (docs/rules.md), the searched rules that a model keeps, or those that its soft rules
/// stand for (--scoring top-p or argmax; of a model without searched rules top-p with p = 0.25). The best rules come
/// first: by support / (answers + 5), so that little evidence counts little, and less for longer rules.
#[derive(Args)]
#[command(
    after_help = "support: answers that are facts; confidence: support / answers; coverage: support / facts.\n\n\
    Examples:\n  \
    glidr rules my.glidr                               the best 20 of the whole graph\n  \
    glidr rules my.glidr --per-target --limit 3        the best 3 of every predicate\n  \
    glidr rules my.glidr --format text -o my.rules     as a text of rules, to be edited\n  \
    glidr rules my.glidr --format prolog -o rules.pl   for another engine (docs/export.md)\n  \
    glidr rules my.glidr --format svg -o best.svg      a picture of the best twelve"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command")]
pub struct Rules {
    /// The model, or a text of rules
    #[arg(value_name = "MODEL")]
    source: PathBuf,
    /// Folder or file of triples to measure on [default: what the model was learned on]
    ///
    /// For a text of rules the default is the built-in families.
    data: Option<PathBuf>,
    #[command(flatten)]
    targets: TargetFlags,
    #[command(flatten)]
    scoring: ScoringFlags,
    /// How rules are written
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Where they go [default: standard output]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    #[command(flatten)]
    table: TableFlags,
    /// At most so many rules; 0 lists all [default: 20 in a table, else all]
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    /// List rules target by target, and limit those of each
    #[arg(long)]
    per_target: bool,
    /// List priors too
    #[arg(long)]
    priors: bool,
    /// List only rules that speak against their answers
    #[arg(long, conflicts_with = "priors")]
    against: bool,
    /// Only rules of at least this confidence
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    min_confidence: Option<f64>,
    /// Only rules of at least this support
    #[arg(long, value_name = "COUNT")]
    min_support: Option<usize>,
    /// What rules are sorted by [default: best; for other engines and in a text, as they stand]
    #[arg(long, value_enum, help_heading = EXPERT)]
    sort: Option<Sort>,
    /// Precision, recall and F1 on this split too, of the answers that are no known facts
    #[arg(long, value_enum, help_heading = EXPERT)]
    split: Option<HeldOutSplit>,
    /// How far each rule agrees with the soft rule it was taken from
    ///
    /// The chance that an answer scores higher in the soft rule than what is no answer.
    #[arg(long, help_heading = EXPERT)]
    fidelity: bool,
    /// Count nothing; of a model's own rules, open no data
    #[arg(long, conflicts_with_all = ["min_confidence", "min_support", "fidelity", "split"], help_heading = EXPERT)]
    no_measures: bool,
    /// Seconds for counting one rule
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..), help_heading = EXPERT)]
    time: u64,
    /// Seed that divides data that is not divided, for a text of rules
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = EXPERT)]
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum HeldOutSplit {
    /// The validation split
    Valid,
    /// The test split
    Test,
}

/// Rules to be listed, by the numbers of these names.
#[derive(Clone, Copy)]
struct Listed<'a> {
    rules: &'a [TargetRules],
    names: &'a Vocabulary,
    /// The data to count on.
    data: Option<&'a Dataset>,
    /// Whether rules that do not link X and Y are listed anyway: they are somebody's own.
    all: bool,
}

impl Rules {
    /// Takes rules from where they are, measures and writes them.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        if self.sort == Some(Sort::F1) && self.split.is_none() {
            anyhow::bail!("--sort f1 needs a split to count on: give --split valid or test");
        }
        self.destination(output)?;
        let source = Source::open(&self.source)?;
        let Some(model) = source.model() else { return self.written(&source, output) };
        let listed = self.scoring.listed(model)?;
        match (listed, &model.rules) {
            (None, Some(kept)) if !self.fidelity => self.kept(&source, kept, output),
            (None, None) => anyhow::bail!(
                "{} holds no searched rules: --scoring top-p lists what its soft rules stand for, and glidr learn \
                 searches",
                self.source.display()
            ),
            (extraction, _) => self.extracted(&source, extraction.unwrap_or(Extraction::TopP(0.25)), output),
        }
    }

    /// The rules that a model's soft rules stand for.
    fn extracted(
        &self,
        source: &Source,
        extraction: Extraction,
        output: &Output,
    ) -> anyhow::Result<ExitCode> {
        let model = source.soft()?;
        let data = self.data_if_needed(source, output)?;
        let ground = match &data {
            Some(data) if !self.no_measures => {
                Some(Ground { graph: model.view(data, Background::Train)?.graph, data })
            }
            _ => None,
        };
        let ensembles: Vec<&Ensemble> = match &self.targets.names()[..] {
            [] => model.ensembles.iter().collect(),
            names => names.iter().map(|name| model.target(name)).collect::<Result<_, _>>()?,
        };
        let mut rules = Vec::new();
        for ensemble in ensembles {
            let mut of_target = Vec::new();
            for (rule, weight) in ensemble.extract(&model.schema, extraction) {
                let shown = Shown { soft_weight: Some(weight), ..Shown::new(rule) };
                if let Some(mut shown) = self.measured(shown, ground.as_ref(), model.names())? {
                    if let (true, Some(ground)) = (self.fidelity, &ground) {
                        shown.fidelity = agreement(model, ensemble, extraction, &shown, ground)?;
                    }
                    of_target.push(shown);
                }
            }
            rules.push(of_target);
        }
        let (rules, all) = self.sorted(rules, output);
        if self.format == Format::Text && !output.json {
            anyhow::ensure!(
                !self.no_measures,
                "--format text gives each rule its confidence: leave --no-measures out"
            );
            let weighted = rules.iter().map(Shown::weighted);
            let kept =
                weighted.map(|rule| TargetRules::new(rule.rule.target, Aggregation::NoisyOr, vec![rule]));
            let text = RuleSet::new(kept).to_text(&model.vocabulary());
            return put(&text, self.output.as_deref(), output);
        }
        let document = json!({ "extraction": extraction.to_string() });
        let footer = footer(rules.len(), all, 0, 0);
        self.format.write(&rules, &footer, model.names(), document, &self.destination(output)?)
    }

    /// Where rules go.
    fn destination<'a>(&'a self, output: &'a Output) -> anyhow::Result<Destination<'a>> {
        let is_sql = self.format == Format::Sql && !output.json;
        Ok(Destination { path: self.output.as_deref(), output, table: self.table.named(is_sql)? })
    }

    /// The data to count on; of a model's own rules none, where nothing is counted.
    fn data_if_needed(&self, source: &Source, output: &Output) -> anyhow::Result<Option<Dataset>> {
        if self.no_measures && self.data.is_none() {
            return Ok(None);
        }
        source.data(self.data.as_deref(), self.seed, output).map(Some)
    }

    /// The rules of a text.
    fn written(&self, source: &Source, output: &Output) -> anyhow::Result<ExitCode> {
        anyhow::ensure!(
            !self.fidelity && !self.scoring.is_given(),
            "{} is a text of rules: --scoring and --fidelity go with a model",
            self.source.display()
        );
        let data = source.data(self.data.as_deref(), self.seed, output)?;
        let rules = source.rules(&data, output)?;
        let listed = Listed { rules: rules.targets(), names: data.names(), data: Some(&data), all: true };
        self.list(listed, json!({ "extraction": "text" }), output)
    }

    /// The searched rules that a model keeps.
    fn kept(&self, source: &Source, kept: &RuleModel, output: &Output) -> anyhow::Result<ExitCode> {
        let document = json!({ "extraction": "kept" });
        // What was counted while learning is kept with the rules.
        let counts = self.data.is_some() || self.split.is_some();
        let data = if counts { self.data_if_needed(source, output)? } else { None };
        let Some(data) = data else {
            let listed = Listed { rules: kept.rules.targets(), names: &kept.names, data: None, all: false };
            return self.list(listed, document, output);
        };
        let rules = source.rules(&data, output)?;
        let listed = Listed { rules: rules.targets(), names: data.names(), data: Some(&data), all: false };
        self.list(listed, document, output)
    }

    /// Lists rules with their weights, counted where data is given to count on. A text of rules holds priors too, unless
    /// rules are filtered.
    fn list(&self, listed: Listed, document: serde_json::Value, output: &Output) -> anyhow::Result<ExitCode> {
        let asked = self.targets.names();
        for name in &asked {
            listed.names.predicate(name)?;
        }
        let names = RuleNames::from(listed.names);
        let as_text = self.format == Format::Text && !output.json;
        let is_filtered = self.min_confidence.is_some()
            || self.min_support.is_some()
            || self.split.is_some()
            || self.limit.is_some();
        let is_whole = listed.all || (as_text && !is_filtered);
        let with_priors = is_whole || self.priors;
        let measures = !self.no_measures && (!as_text || is_filtered);
        let ground = listed
            .data
            .filter(|_| measures)
            .map(|data| Ground { graph: Arc::clone(data.graph(Background::Train)), data });
        let is_asked = |set: &&TargetRules| {
            let name = listed.names.predicates.name(set.target);
            asked.is_empty() || asked.iter().any(|asked| asked == name)
        };
        let (mut rules, mut priors, mut against) = (Vec::new(), 0, 0);
        for set in listed.rules.iter().filter(is_asked) {
            let mut of_target = Vec::new();
            for weighted in &set.rules {
                if !with_priors && !weighted.rule.links_ends() {
                    priors += 1;
                    continue;
                }
                if !is_whole && weighted.speaks_against() != self.against {
                    against += usize::from(weighted.speaks_against());
                    continue;
                }
                let measures = weighted.measures.map(|value| Found { value, ended: Ended::Complete });
                let (weight, aggregation) = (Some(weighted.weight), Some(set.aggregation));
                let shown = Shown { weight, aggregation, measures, ..Shown::new(weighted.rule.clone()) };
                of_target.extend(self.measured(shown, ground.as_ref(), names)?);
            }
            rules.push(of_target);
        }
        let (rules, all) = self.sorted(rules, output);
        if as_text {
            let kept = rules.iter().map(|shown| {
                let aggregation = shown.aggregation.unwrap_or(Aggregation::NoisyOr);
                TargetRules::new(shown.rule.target, aggregation, vec![shown.weighted()])
            });
            return put(&RuleSet::new(kept).to_text(listed.names), self.output.as_deref(), output);
        }
        let footer = footer(rules.len(), all, priors, against);
        self.format.write(&rules, &footer, names, document, &self.destination(output)?)
    }
}

/// What a table does not list.
fn footer(listed: usize, all: usize, priors: usize, against: usize) -> String {
    let mut footer = String::new();
    if listed < all {
        footer += &format!("{listed} of {} (--limit 0 lists all)\n", counted(all, "rule"));
    }
    if priors > 0 {
        footer += &format!("and {} (--priors lists them)\n", counted(priors, "prior"));
    }
    if against > 0 {
        footer += &format!("and {} against answers (--against lists them)\n", counted(against, "rule"));
    }
    footer
}

//! `glidr rules`: a model's rules as logic, measured.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use glidr::fidelity::fidelity;
use glidr::solve::{Ended, Facts, Limits, Measures};
use glidr::{Background, Ensemble, Extraction, Graph, Model, Rule};
use serde_json::{Value, json};

use crate::output::{Output, table};
use crate::rule_file::{rule_names, text_of};
use crate::search::{SearchFlags, targets_of};
use crate::settings::HardFlags;
use crate::sources::open_both;

/// Print the rules that a model's weights stand for, each with what is counted of it on the data.
///
/// With --hard search the rules that search finds are printed as a text that eval --rules and solve read.
#[derive(Args)]
#[command(
    after_help = "Rules are taken by --hard top-p, p = 0.25, unless told otherwise. A slot keeps the fillers within the top p of its mass, read as or; where P_true is among \
    them, the slot asks nothing. Equal rules are one, with their votes summed.\n\n\
    support: answers that are facts; conf: support / answers; pca: support / answers whose head has a known tail; \
    cover: support / facts of the target; all on facts and train, and never credited with the fact asked about. \
    fidelity: the chance that an answer scores higher in the soft rule than what is no answer."
)]
pub struct Rules {
    /// The model
    model: PathBuf,
    /// Folder or file of triples to measure on [default: the data that the model was learned on]
    data: Option<PathBuf>,
    /// Only the rules of this target; may be given several times
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,
    #[command(flatten)]
    hard: HardFlags,
    #[command(flatten)]
    search: SearchFlags,
    /// At most so many rules per target
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    /// Only rules of at least this confidence
    #[arg(long, value_name = "SHARE")]
    min_confidence: Option<f64>,
    /// Only rules of at least this support
    #[arg(long, value_name = "COUNT")]
    min_support: Option<usize>,
    /// What rules of a target are sorted by
    #[arg(long, value_enum, default_value = "votes")]
    sort: Sort,
    /// How far each rule agrees with the soft rule it was taken from
    #[arg(long)]
    fidelity: bool,
    /// Count nothing, and open no data
    #[arg(long, conflicts_with_all = ["min_confidence", "min_support", "fidelity", "data"])]
    no_measures: bool,
    /// Seconds for counting one rule
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    time: u64,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Sort {
    /// Votes of the soft rules
    Votes,
    /// Confidence
    Confidence,
    /// Support
    Support,
}

/// A rule and what is known of it.
struct Shown {
    rule: Rule,
    votes: f32,
    measures: Option<Measures>,
    fidelity: Option<f64>,
}

impl Rules {
    /// Extracts, measures and prints.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        if self.hard.is_search() {
            return self.searched(output);
        }
        let extraction = self.hard.extraction()?.unwrap_or(Extraction::TopP(0.25));
        let model;
        let mut background: Option<(Graph, Facts)> = None;
        if self.no_measures {
            model = Model::open(&self.model)?;
        } else {
            let (opened, data) = open_both(&self.model, self.data.as_deref(), output)?;
            let graph = opened.view(&data, Background::Train)?.graph;
            let facts = Facts::from(&graph);
            (model, background) = (opened, Some((graph, facts)));
        }
        let ensembles: Vec<&Ensemble> = match &self.target[..] {
            [] => model.ensembles.iter().collect(),
            names => names.iter().map(|name| model.target(name)).collect::<Result<_, _>>()?,
        };
        let (mut rows, mut found) = (Vec::new(), Vec::new());
        for ensemble in ensembles {
            let target = model.predicates.name(ensemble.target.0);
            let rules = self.shown(&model, ensemble, extraction, background.as_ref())?;
            for shown in rules.into_iter().take(self.limit.unwrap_or(usize::MAX)) {
                let text = shown.rule.show(model.names());
                rows.push(row(&shown, text.clone(), self.fidelity));
                found.push(value(&shown, target, &text));
            }
        }
        if output.json {
            return output.write_json(&json!({ "extraction": extraction.to_string(), "rules": found }));
        }
        let mut header = vec!["votes"];
        if background.is_some() {
            header.extend(["support", "conf", "pca", "cover"]);
        }
        if self.fidelity {
            header.push("fidelity");
        }
        header.push("rule");
        output.write(&table(&header, header.len(), rows))
    }

    /// The rules of one target that pass the filters, in their order.
    fn shown(
        &self,
        model: &Model,
        ensemble: &Ensemble,
        extraction: Extraction,
        background: Option<&(Graph, Facts)>,
    ) -> anyhow::Result<Vec<Shown>> {
        let limits = Limits { time: Some(Duration::from_secs(self.time)), answers: None };
        let mut rules = Vec::new();
        for (rule, votes) in ensemble.extract(&model.schema, extraction) {
            let mut shown = Shown { rule, votes, measures: None, fidelity: None };
            if let Some((graph, facts)) = background {
                let measures = shown.rule.measure(facts, limits)?;
                let too_low = self.min_confidence.is_some_and(|least| measures.confidence() < least)
                    || self.min_support.is_some_and(|least| measures.support < least);
                if too_low {
                    continue;
                }
                shown.measures = Some(measures);
                if self.fidelity {
                    let same = |alone: &&glidr::SoftRule| {
                        let alone = Ensemble { target: ensemble.target, rules: vec![(**alone).clone()] };
                        alone.extract(&model.schema, extraction)[0].0 == shown.rule
                    };
                    let soft = ensemble.rules.iter().filter(same).max_by(|a, b| a.vote.total_cmp(&b.vote));
                    let rounds = model.training.rounds;
                    if let Some(soft) = soft {
                        shown.fidelity = fidelity(soft, &shown.rule, model.schema, graph, facts, rounds)?;
                    }
                }
            }
            rules.push(shown);
        }
        let confidence = |shown: &Shown| shown.measures.map_or(0.0, |measures| measures.confidence());
        let support = |shown: &Shown| shown.measures.map_or(0, |measures| measures.support);
        match self.sort {
            Sort::Votes => {}
            Sort::Confidence => rules.sort_by(|a, b| confidence(b).total_cmp(&confidence(a))),
            Sort::Support => rules.sort_by_key(|shown| std::cmp::Reverse(support(shown))),
        }
        Ok(rules)
    }

    fn searched(&self, output: &Output) -> anyhow::Result<ExitCode> {
        let (model, data) = open_both(&self.model, self.data.as_deref(), output)?;
        let mut targets = targets_of(&model, &data);
        for name in &self.target {
            model.target(name)?;
        }
        let names = data.names();
        targets.retain(|target| {
            self.target.is_empty() || self.target.iter().any(|name| name == names.predicates.name(target.0))
        });
        let mut searched = self.search.run(&model, &data, &[], &targets, true, output)?;
        for set in &mut searched.sets {
            set.rules.truncate(self.limit.unwrap_or(usize::MAX));
        }
        if !output.json {
            return output.write(&text_of(&searched.sets, names));
        }
        let mut rules = Vec::new();
        for set in &searched.sets {
            for weighed in &set.rules {
                rules.push(json!({
                    "target": names.predicates.name(set.target.0),
                    "join": set.join,
                    "number": weighed.number,
                    "rule": weighed.rule.show(rule_names(names)),
                }));
            }
        }
        output.write_json(&json!({ "extraction": "search", "rules": rules, "search": searched.reports }))
    }
}

fn row(shown: &Shown, text: String, with_fidelity: bool) -> Vec<String> {
    let mut row = vec![format!("{:.2}", shown.votes)];
    if let Some(measures) = &shown.measures {
        // After a limit the true count is at least what was found.
        let mark = if measures.ended == Ended::Complete { "" } else { "≥" };
        row.push(format!("{mark}{}", measures.support));
        let shares = [measures.confidence(), measures.pca_confidence(), measures.head_coverage()];
        row.extend(shares.map(|share| format!("{share:.3}")));
    }
    if with_fidelity {
        row.push(shown.fidelity.map_or("–".into(), |fidelity| format!("{fidelity:.3}")));
    }
    row.push(text);
    row
}

fn value(shown: &Shown, target: &str, text: &str) -> Value {
    let mut value = json!({
        "target": target,
        "rule": text,
        "votes": shown.votes,
        "variables": shown.rule.variables(),
        "literals": shown.rule.body().len(),
    });
    if let Some(measures) = &shown.measures {
        value["measures"] = json!(measures);
        value["confidence"] = json!(measures.confidence());
        value["pca_confidence"] = json!(measures.pca_confidence());
        value["head_coverage"] = json!(measures.head_coverage());
    }
    if shown.fidelity.is_some() {
        value["fidelity"] = json!(shown.fidelity);
    }
    value
}

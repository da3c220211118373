//! `glidr eval`: filtered ranking of held-out facts.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, ValueEnum};
use glidr::internals::evaluate::{EvaluationReport, Metrics, Ties};
use glidr::internals::model::SoftModel;
use glidr::internals::predict::Soft;
use glidr::internals::solve::Ended;
use glidr::{Background, Dataset, Evaluation, Predictor, Split};
use serde_json::{Value, json};

use crate::output::{Output, counted, table};
use crate::scoring::{Request, Scoring, ScoringFlags};
use crate::search::{SearchFlags, targets_of};
use crate::settings::{EngineFlag, ReflexiveFlag};
use crate::sources::{open_both, say_lacking};

/// Rank held-out facts: each asks p(h, ?) and p(?, t), filtered, against all entities.
#[derive(Args)]
#[command(
    after_help = "JSON keys: mrr, hits1, hits3, hits10 (fractions of 1), queries, tails, heads, macro, per_predicate, \
    without_rules, left_out, protocol (split, split_hash, directions, filtered, ties, tie_tolerance, seed, \
    candidates, rounds, scoring, allow_reflexive); with --scoring rules, search or blend also rules, search (per target: \
    measured, pool, rules, aggregation, tails and heads (l2, masking), valid_mrr, ended), search_seconds, seconds, ended; \
    with --scoring blend also mixing_weights (per target: weight, valid_mrr)"
)]
pub struct Eval {
    /// The model
    model: PathBuf,
    /// Folder or file of triples [default: the data that the model was learned on]
    data: Option<PathBuf>,
    /// The split to ask about
    #[arg(long, value_enum, default_value = "test")]
    split: HeldOut,
    #[command(flatten)]
    scoring: ScoringFlags,
    #[command(flatten)]
    search: SearchFlags,
    /// Rank with the rules of this file (docs/rules.md) instead of the model's; with --scoring search or blend
    /// the search proposes them too
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// How ties are broken
    #[arg(long, value_enum, default_value = "random")]
    ties: TieRule,
    /// Seed of random ties [default: the model's seed]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Rounds of message passing, `R_max` of the paper [default: as in training]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: Option<u16>,
    /// Which engine passes messages; none changes a rank
    #[arg(long, value_enum, default_value = "auto")]
    engine: EngineFlag,
    #[command(flatten)]
    reflexive: ReflexiveFlag,
}

#[derive(Clone, Copy, ValueEnum)]
enum HeldOut {
    /// The test split
    Test,
    /// The validation split
    Valid,
}

#[derive(Clone, Copy, ValueEnum)]
enum TieRule {
    /// At random, by the seed
    Random,
    /// The mean of the best and the worst rank
    Mean,
}

impl Eval {
    /// Ranks and prints.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        self.scoring.scoring(self.rules.is_some())?;
        let (model, data) = open_both(&self.model, self.data.as_deref(), output)?;
        let evaluation = Evaluation {
            split: match self.split {
                HeldOut::Test => Split::Test,
                HeldOut::Valid => Split::Valid,
            },
            ties: match self.ties {
                TieRule::Random => Ties::Random,
                TieRule::Mean => Ties::Mean,
            },
            seed: self.seed.unwrap_or(model.training.seed),
            allow_reflexive: self.reflexive.allow_reflexive,
        };
        let started = Instant::now();
        let request = Request {
            model: &model,
            data: &data,
            scoring: &self.scoring,
            search: &self.search,
            rules: self.rules.as_deref(),
            targets: &targets_of(&model, &data),
            only_targets: !model.training.targets.is_empty(),
            background: Background::Train,
            rounds: self.rounds,
            engine: self.engine.into(),
            evaluation,
        };
        let prepared = request.prepare(output)?;
        let searched = started.elapsed().as_secs_f64();
        let predictor = request.predictor(&prepared, output)?;
        let evaluated = evaluate(evaluation, predictor.as_ref(), &data, output)?;
        let has_hard_rules = matches!(prepared.scoring, Scoring::Rules | Scoring::Search | Scoring::Blend);
        let rules: usize = prepared.rules.iter().map(|of_target| of_target.rules.len()).sum();
        let seconds = started.elapsed().as_secs_f64();
        if output.json {
            let mut value = evaluated_json(&evaluated);
            if has_hard_rules {
                value["rules"] = json!(rules);
                value["search"] = json!(prepared.reports);
                value["search_seconds"] = json!(searched);
                value["seconds"] = json!(seconds);
                value["ended"] = json!(evaluated.ended);
            }
            if prepared.scoring == Scoring::Blend {
                value["mixing_weights"] = json!(prepared.mixing_weights);
            }
            return output.write_json(&value);
        }
        let mut text = evaluated_text(&evaluated);
        if has_hard_rules {
            text += &format!("{} in {seconds:.0} s", counted(rules, "rule"));
            if evaluated.ended != Ended::Complete {
                text += "; a limit was reached, so some answers may be missing";
            }
            text += "\n";
        }
        output.write(&text)
    }
}

/// Evaluates with a progress bar.
fn evaluate(
    evaluation: Evaluation,
    predictor: &dyn Predictor,
    data: &Dataset,
    output: &Output,
) -> anyhow::Result<EvaluationReport> {
    let bar = output.query_bar();
    let evaluated = evaluation.run(predictor, data, &|done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();
    Ok(evaluated)
}

/// Evaluates a model's soft rules on the test split, and says what the data lacks.
pub fn rank_soft(model: &SoftModel, data: &Dataset, output: &Output) -> anyhow::Result<EvaluationReport> {
    let soft = Soft::new(model, data)?;
    say_lacking(soft.lacking(), data, output);
    let evaluation = Evaluation { seed: model.training.seed, ..Evaluation::default() };
    evaluate(evaluation, &soft, data, output)
}

fn metrics_json(metrics: &Metrics) -> Value {
    serde_json::to_value(metrics).unwrap_or_default()
}

/// The result under its documented keys.
pub fn evaluated_json(evaluated: &EvaluationReport) -> Value {
    let mut value = metrics_json(&evaluated.all);
    [value["tails"], value["heads"]] = evaluated.by_direction.each_ref().map(metrics_json);
    value["macro"] = metrics_json(&evaluated.by_predicate_mean);
    value["per_predicate"] =
        evaluated.per_predicate.iter().map(|(name, metrics)| (name.clone(), metrics_json(metrics))).collect();
    value["without_rules"] = json!(evaluated.without_rules);
    value["left_out"] = json!(evaluated.left_out);
    value["protocol"] = json!(evaluated.protocol);
    value
}

/// The result as a table, and what the figures mean.
pub fn evaluated_text(evaluated: &EvaluationReport) -> String {
    let row = |name: &str, m: &Metrics| {
        let percent = |part: f64| format!("{:.1}", 100.0 * part);
        vec![
            name.to_owned(),
            format!("{:.3}", m.mrr),
            percent(m.hits1),
            percent(m.hits3),
            percent(m.hits10),
            m.queries.to_string(),
        ]
    };
    let mut rows: Vec<Vec<String>> =
        evaluated.per_predicate.iter().map(|(name, metrics)| row(name, metrics)).collect();
    rows.push(row("mean of predicates", &evaluated.by_predicate_mean));
    for (name, metrics) in
        ["all that ask for a tail", "all that ask for a head"].iter().zip(&evaluated.by_direction)
    {
        rows.push(row(name, metrics));
    }
    rows.push(row("all", &evaluated.all));
    let mut text = table(&["predicate", "MRR", "Hits@1", "Hits@3", "Hits@10", "queries"], 1, rows);
    if !evaluated.without_rules.is_empty() {
        text += &format!("without rules, so all candidates tie: {}\n", evaluated.without_rules.join(", "));
    }
    if evaluated.left_out > 0 {
        text += &format!(
            "left out: {} about predicates that are no targets\n",
            counted(evaluated.left_out, "fact")
        );
    }
    let c = &evaluated.protocol;
    let ties = match c.ties {
        Ties::Random => format!("ties at random by seed {}", c.seed),
        Ties::Mean => "ties at their mean".into(),
    };
    let own = if c.allow_reflexive { ", an entity may be its own answer" } else { "" };
    text + &format!(
        "{} split {}, both directions, filtered, {ties}, {}, {}, {}{own}\n",
        c.split.name(),
        &c.split_hash[..12],
        counted(c.candidates, "candidate"),
        c.scoring,
        if c.rounds == 0 { "no rounds".into() } else { counted(c.rounds, "round") }
    )
}

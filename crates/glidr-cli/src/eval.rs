//! `glidr eval`: filtered ranking of held-out facts.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::bail;
use clap::{Args, ValueEnum};
use glidr::internals::evaluate::{Metrics, Reliability, Ties, reliability};
use glidr::internals::render::reliability_diagram;
use glidr::internals::solve::Ended;
use glidr::{Dataset, Evaluation, EvaluationReport, Model, Predictor, Reasoning, RuleSet, Scoring, Split};
use serde_json::{Value, json};

use crate::bars::Bars;
use crate::help::EXPERT;
use crate::output::{Output, counted, table};
use crate::scoring::{LimitFlags, ScoringFlags, reasoner};
use crate::settings::{EngineFlag, ReflexiveFlag};
use crate::sources::open_both;

/// Rank the held-out facts of a graph with a model: MRR and Hits@1, @3, @10.
///
/// Each fact asks p(h, ?) and p(?, t), filtered, against all entities.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    glidr eval my.glidr                      on the test split of the data it was learned on\n  \
    glidr eval my.rules my-graph/            a text of rules on a graph of your own\n  \
    glidr eval my.glidr --format svg > p.svg how far probabilities can be trusted, as a picture")]
pub struct Eval {
    /// The model, or a text of rules
    model: PathBuf,
    /// Folder or file of triples [default: what the model was learned on]
    ///
    /// For a text of rules the default is the built-in families.
    data: Option<PathBuf>,
    /// The split to ask about
    #[arg(long, value_enum, default_value = "test")]
    split: HeldOut,
    #[command(flatten)]
    scoring: ScoringFlags,
    #[command(flatten)]
    limits: LimitFlags,
    /// A table, or the reliability diagram of the probabilities as a picture
    #[arg(long, value_enum, default_value = "table")]
    format: EvalFormat,
    /// How ties are broken
    #[arg(long, value_enum, default_value = "random", help_heading = EXPERT)]
    ties: TieRule,
    /// Seed of random ties [default: the model's seed]
    #[arg(long, value_name = "SEED", help_heading = EXPERT)]
    seed: Option<u64>,
    /// Rounds of message passing, `R_max` of the paper [default: as in training]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u16).range(1..=1000), help_heading = EXPERT)]
    rounds: Option<u16>,
    /// Which engine passes messages; none changes a rank
    #[arg(long, value_enum, default_value = "auto", help_heading = EXPERT)]
    engine: EngineFlag,
    #[command(flatten)]
    reflexive: ReflexiveFlag,
}

/// A blend whose ranking would take longer is not ranked unless that is asked for.
const MAX_HOURS: f64 = 1.0;

#[derive(Clone, Copy, ValueEnum)]
enum HeldOut {
    /// The test split
    Test,
    /// The validation split
    Valid,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum EvalFormat {
    /// MRR and Hits@k
    Table,
    /// Probabilities against the shares that are true
    Svg,
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
        let asked = self.scoring.scoring()?;
        let (model, data) = open_both(&self.model, self.data.as_deref(), output)?;
        let scoring = asked.or_else(|| self.affordable(&model, &data, output));
        let evaluation = Evaluation {
            split: self.split.into(),
            ties: match self.ties {
                TieRule::Random => Ties::Random,
                TieRule::Mean => Ties::Mean,
            },
            seed: self.seed.unwrap_or(model.provenance.seed),
            allow_reflexive: self.reflexive.allow_reflexive,
        };
        let started = Instant::now();
        let reasoning = Reasoning {
            scoring,
            rounds: self.rounds.map(usize::from),
            engine: self.engine.into(),
            limits: self.limits.limits(),
            train_only: evaluation.split == Split::Valid,
            ..Reasoning::default()
        };
        let reasoner = reasoner((&model, &self.model), &data, reasoning, output)?;
        let evaluated = evaluate(evaluation, reasoner.predictor(), &data, output)?;
        // Probabilities are of facts that are in none of facts, train and valid.
        let reliability = match reasoner.calibrated().filter(|_| evaluation.split == Split::Test) {
            Some(calibrated) => {
                let bars = Bars::new(output);
                let found = reliability(&calibrated, evaluation, &bars);
                bars.finish();
                Some(found?)
            }
            None => None,
        };
        let has_hard_rules = matches!(reasoner.scoring, Scoring::Rules | Scoring::Blend);
        let seconds = started.elapsed().as_secs_f64();
        if self.format == EvalFormat::Svg {
            let Some(reliability) = &reliability else {
                bail!("{} has no probabilities for this scoring and split", self.model.display());
            };
            return output.write(&reliability_diagram(reliability));
        }
        if output.json {
            let mut value = evaluated_json(&evaluated);
            value["seconds"] = json!(seconds);
            if has_hard_rules {
                value["rules"] = json!(reasoner.searched_rules().map_or(0, RuleSet::len));
                value["rules_per_target"] = json!(reasoner.rules_per_target());
                value["ended"] = json!(evaluated.ended);
            }
            if let Some(reliability) = &reliability {
                value["calibration_error"] = json!(reliability.calibration_error);
                value["calibration_error_shown"] = json!(reliability.calibration_error_shown);
                value["reliability"] = json!(reliability.bins);
            }
            if reasoner.scoring == Scoring::Blend {
                value["mixing_weights"] = json!(model.mixing_weights);
            }
            return output.write_json(&value);
        }
        let mut text = evaluated_text(&evaluated);
        if let Some(Reliability { calibration_error: all, calibration_error_shown: shown, .. }) = &reliability
        {
            text += &format!(
                "calibration error {all:.3}, among answers of probability 0.1 and more {shown:.3}\n"
            );
        }
        if has_hard_rules {
            text += &format!(
                "{} in {seconds:.0} s",
                counted(reasoner.searched_rules().map_or(0, RuleSet::len), "rule")
            );
            if evaluated.ended != Ended::Complete {
                text += "; a limit was reached, so some answers may be missing";
            }
            text += "\n";
        }
        output.write(&text)
    }
}

impl Eval {
    /// Searched rules, where a blend would take hours; else what the model holds.
    fn affordable(&self, model: &Model, data: &Dataset, output: &Output) -> Option<Scoring> {
        let soft = model.soft.as_ref().filter(|_| model.scoring() == Scoring::Blend)?;
        let queries = 2 * data.split(self.split.into()).len();
        let hours = soft.training.estimated_ranking_seconds(data, queries) / 3600.0;
        (hours > MAX_HOURS).then(|| {
            output.say(&format!(
                "ranked by searched rules alone: soft ones would take about {hours:.1} hours of processor time \
                 (--scoring blend takes them all the same)"
            ));
            Scoring::Rules
        })
    }
}

impl From<HeldOut> for Split {
    fn from(split: HeldOut) -> Self {
        match split {
            HeldOut::Test => Split::Test,
            HeldOut::Valid => Split::Valid,
        }
    }
}

/// Evaluates with a progress bar.
fn evaluate(
    evaluation: Evaluation,
    predictor: &dyn Predictor,
    data: &Dataset,
    output: &Output,
) -> anyhow::Result<EvaluationReport> {
    let bars = Bars::new(output);
    let evaluated = evaluation.run(predictor, data, &bars);
    bars.finish();
    Ok(evaluated?)
}

/// Evaluates a model on the test split.
pub fn rank(model: &Model, data: &Dataset, output: &Output) -> anyhow::Result<EvaluationReport> {
    let evaluation = Evaluation { seed: model.provenance.seed, ..Evaluation::default() };
    evaluate(evaluation, model.on(data)?.predictor(), data, output)
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

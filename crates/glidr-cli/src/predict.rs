//! `glidr predict`: the best candidates for an open query.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use glidr::internals::explain::Detail;
use glidr::internals::solve::Ended;
use glidr::{Dataset, Explanation, Prediction, Reasoner, Reasoning, Split};
use serde_json::{Value, json};

use crate::output::{Output, table};
use crate::scoring::{LimitFlags, ScoringFlags, reasoner};
use crate::settings::{Looked, ReflexiveFlag};
use crate::sources::open_both;
use crate::tell::rule_text;

/// Answer p(h, ?) with --head, or p(?, t) with --tail: the best candidates with their scores.
///
/// Facts of the background are left out, since the question is what is missing; a candidate that is a fact of
/// another split is marked. With --explain each answer has the best rule that fires for it: of soft rules those
/// taken by top-p 0.25. An answer that is a known fact is explained without that fact.
#[derive(Args)]
#[command(
    after_help = "Scores order the candidates of one query and mean nothing beside those of another.\n\n\
    Examples:\n  glidr predict my.glidr --target uncle --head Arthur --explain\n  \
    glidr predict my.rules my-graph/ --target uncle --tail Colin --explain"
)]
pub struct Predict {
    /// The model, or a text of rules
    model: PathBuf,
    /// Folder or file of triples [default: the data that the model was learned on; for a text of rules the built-in
    /// families]
    data: Option<PathBuf>,
    /// The predicate asked about
    #[arg(long, value_name = "NAME")]
    target: String,
    #[command(flatten)]
    end: KnownEnd,
    /// How many candidates
    #[arg(short, value_name = "COUNT", default_value_t = 10)]
    k: usize,
    /// List facts of the background too
    #[arg(long)]
    known: bool,
    /// Give the best rule that fires for each answer, and a grounding of it in facts
    #[arg(long)]
    explain: bool,
    /// What the rules may look up
    #[arg(long, value_enum, default_value = "train")]
    background: Looked,
    #[command(flatten)]
    scoring: ScoringFlags,
    #[command(flatten)]
    limits: LimitFlags,
    /// Rounds of message passing, `R_max` of the paper [default: as in training]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: Option<u16>,
    #[command(flatten)]
    reflexive: ReflexiveFlag,
}

/// The end that is known: one of the two.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct KnownEnd {
    /// The known head: asks for tails
    #[arg(long, value_name = "ENTITY", allow_hyphen_values = true)]
    head: Option<String>,
    /// The known tail: asks for heads
    #[arg(long, value_name = "ENTITY", allow_hyphen_values = true)]
    tail: Option<String>,
}

/// The answers, best first, each with its explanation where that is asked for.
type Told = Vec<(Prediction, Option<Explanation>)>;

impl Predict {
    /// Scores and prints.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        let scoring = self.scoring.scoring()?;
        let (model, data) = open_both(&self.model, self.data.as_deref(), output)?;
        let reasoning = Reasoning {
            scoring,
            background: self.background.into(),
            rounds: self.rounds.map(usize::from),
            limits: self.limits.limits(),
            allow_reflexive: self.reflexive.allow_reflexive,
            ..Reasoning::default()
        };
        let reasoner = reasoner((&model, &self.model), &data, reasoning, output)?;
        let told = self.answers(&reasoner, output)?;
        self.print(&told, &data, output)
    }

    /// The best candidates that something speaks for.
    fn answers(&self, reasoner: &Reasoner, output: &Output) -> anyhow::Result<Told> {
        let KnownEnd { head, tail } = &self.end;
        let query = reasoner.query(&self.target, head.as_deref(), tail.as_deref())?;
        let (answers, ended) = reasoner.answers(query, self.k, self.known)?;
        if ended != Ended::Complete {
            output.say("not all rules were evaluated within --time: answers may be missing");
        }
        let explain = |answer: Prediction| -> anyhow::Result<(Prediction, Option<Explanation>)> {
            let (head, tail) = match (head, tail) {
                (Some(head), _) => (head, &answer.entity),
                (None, tail) => (&answer.entity, tail.as_ref().unwrap_or(&answer.entity)),
            };
            let explain = || reasoner.explain_with(&self.target, head, tail, &Detail::best_rule());
            let why = self.explain.then(explain).transpose()?;
            Ok((answer, why))
        };
        answers.into_iter().map(explain).collect()
    }

    fn print(&self, told: &Told, data: &Dataset, output: &Output) -> anyhow::Result<ExitCode> {
        let split = |answer: &Prediction| answer.split.map(Split::name);
        if output.json {
            let answers: Vec<Value> = told
                .iter()
                .map(|(answer, why)| {
                    let mut value =
                        json!({ "entity": answer.entity, "score": answer.score, "split": split(answer) });
                    if let Some(why) = why {
                        value["because"] = json!(why.best_rule());
                    }
                    value
                })
                .collect();
            return output.write_json(&json!({
                "target": self.target,
                "head": self.end.head,
                "tail": self.end.tail,
                "data": data.source,
                "answers": answers,
            }));
        }
        let rows = told.iter().map(|(answer, _)| {
            let split = split(answer).unwrap_or("–").to_owned();
            vec![answer.entity.clone(), split, format!("{:.4}", answer.score)]
        });
        let mut text = table(&["entity", "split", "score"], 2, rows);
        for (answer, why) in told {
            if let Some(why) = why {
                text += &format!("\n{}\n", answer.entity);
                text += &why.best_rule().map_or("  no hard rule fires\n".into(), rule_text);
            }
        }
        output.write(&text)
    }
}

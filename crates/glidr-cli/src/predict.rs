//! `glidr predict`: the best candidates for an open query.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use glidr::internals::explain::Detail;
use glidr::internals::solve::Ended;
use glidr::{Dataset, Explanation, Prediction, Reasoner, Reasoning, Split};
use serde_json::{Value, json};

use crate::help::EXPERT;
use crate::output::{Output, counted, table};
use crate::scoring::{LimitFlags, ScoringFlags, reasoner};
use crate::settings::{Looked, ReflexiveFlag};
use crate::sources::open_both;
use crate::tell::rule_text;
use crate::time::parse_share;

/// Answer p(h, ?) or p(?, t): the likeliest candidates with their probabilities.
///
/// Facts of facts, train and valid are left out, since the question is what is missing; a candidate that is a fact of
/// test is marked. With --explain each answer has the most confident rule that fires for it, with facts that prove it.
///
/// A probability says how often such answers were true when facts of valid were held out. True facts that are missing
/// from the data count as false there, so it errs low. A text of rules, and a --scoring other than the model's own, give
/// scores instead, which order the candidates of one query and mean nothing beside those of another.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    glidr predict my.glidr --target uncle --head Arthur --explain        whose uncle is Arthur?\n  \
    glidr predict my.glidr --target uncle --tail Colin -k 3              who is an uncle of Colin?\n  \
    glidr predict my.rules my-graph/ --target uncle --tail Colin         by a text of rules")]
pub struct Predict {
    /// The model, or a text of rules
    model: PathBuf,
    /// Folder or file of triples [default: what the model was learned on]
    ///
    /// For a text of rules the default is the built-in families.
    data: Option<PathBuf>,
    /// The predicate asked about
    #[arg(long, value_name = "NAME")]
    target: String,
    #[command(flatten)]
    end: KnownEnd,
    /// How many candidates
    #[arg(short, value_name = "COUNT", default_value = "10")]
    k: NonZeroUsize,
    /// Only answers of at least this probability
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = parse_share)]
    min_probability: f64,
    /// List known facts too
    #[arg(long)]
    known: bool,
    /// Give the most confident rule that fires for each answer, and facts that prove it
    #[arg(long)]
    explain: bool,
    /// What the rules may look up
    #[arg(long, value_enum, default_value = "train", help_heading = EXPERT)]
    background: Looked,
    #[command(flatten)]
    scoring: ScoringFlags,
    #[command(flatten)]
    limits: LimitFlags,
    /// Rounds of message passing, `R_max` of the paper [default: as in training]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u16).range(1..=1000), help_heading = EXPERT)]
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
        let (told, hidden) = self.answers(&reasoner, output)?;
        self.print(&told, hidden, &data, output)
    }

    /// The likeliest candidates, and how many are less likely than asked for.
    fn answers(&self, reasoner: &Reasoner, output: &Output) -> anyhow::Result<(Told, usize)> {
        let KnownEnd { head, tail } = &self.end;
        let query = reasoner.query(&self.target, head.as_deref(), tail.as_deref())?;
        let (mut answers, ended) = reasoner.answers(query, self.k.get(), self.known)?;
        let found = answers.len();
        answers.retain(|answer| {
            answer.split.is_some_and(|split| split != Split::Test)
                || answer.probability.is_none_or(|probability| probability >= self.min_probability)
        });
        let hidden = found - answers.len();
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
        Ok((answers.into_iter().map(explain).collect::<anyhow::Result<_>>()?, hidden))
    }

    fn print(&self, told: &Told, hidden: usize, data: &Dataset, output: &Output) -> anyhow::Result<ExitCode> {
        let split = |answer: &Prediction| answer.split.map(Split::name);
        if output.json {
            let answers: Vec<Value> = told
                .iter()
                .map(|(answer, why)| {
                    let mut value = json!({
                        "entity": answer.entity,
                        "probability": answer.probability,
                        "score": answer.score,
                        "split": split(answer),
                    });
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
                "hidden": hidden,
            }));
        }
        let number = |answer: &Prediction| match answer.probability {
            Some(probability) => format!("{probability:.3}"),
            None => format!("{:.4}", answer.score),
        };
        let rows = told.iter().map(|(answer, _)| {
            vec![answer.entity.clone(), split(answer).unwrap_or("–").to_owned(), number(answer)]
        });
        let is_calibrated = told.iter().all(|(answer, _)| answer.probability.is_some());
        let named = if is_calibrated { "probability" } else { "score" };
        let mut text = match (told.len(), hidden) {
            (0, 0) => "no rule speaks for any new answer\n".to_owned(),
            (0, _) => "no new answer is likely\n".to_owned(),
            _ => table(&["entity", "split", named], 2, rows),
        };
        if hidden > 0 {
            let count = counted(hidden, "answer");
            text += &format!(
                "{count} among the best {} below probability {} not shown (--min-probability)\n",
                self.k, self.min_probability
            );
        }
        for (answer, why) in told {
            if let Some(why) = why {
                text += &format!("\n{}\n", answer.entity);
                text += &why.best_rule().map_or("  no rule that links both ends fires\n".into(), rule_text);
            }
        }
        output.write(&text)
    }
}

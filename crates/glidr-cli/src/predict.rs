//! `glidr predict`: the best candidates for an open query.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use glidr::internals::explain::{Detail, Explanation};
use glidr::internals::graph::{Entity, Predicate, Query};
use glidr::internals::infer::Engine;
use glidr::internals::model::SoftModel;
use glidr::internals::predict::{Answer, Soft, top_k};
use glidr::internals::solve::Ended;
use glidr::{Background, Dataset, Direction, Evaluation, Predictor, Split};
use serde_json::{Value, json};

use crate::output::{Output, table};
use crate::scoring::{Request, Scoring, ScoringFlags};
use crate::search::SearchFlags;
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
    after_help = "With --scoring search or blend the rules are searched first, as eval does; --rules FILE takes them \
    from a file, as `glidr rules --scoring search` writes one. Scores order the candidates of one query and mean \
    nothing beside those of another.\n\n\
    Examples:\n  glidr predict my.glidr --target uncle --head Arthur --explain\n  \
    glidr predict my.glidr --target uncle --tail Colin --scoring search --explain"
)]
pub struct Predict {
    /// The model
    model: PathBuf,
    /// Folder or file of triples [default: the data that the model was learned on]
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
    search: SearchFlags,
    /// Answer by the rules of this file (docs/rules.md) instead of the model's
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
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

/// The number of a target: of soft rules, the data may lack the predicate.
pub fn number(target: &str, scoring: Scoring, model: &SoftModel, data: &Dataset) -> glidr::Result<Predicate> {
    match scoring {
        Scoring::Soft | Scoring::TopP | Scoring::Argmax => Soft::number(model, data, target),
        Scoring::Rules | Scoring::Search | Scoring::Blend => data.names().predicate(target),
    }
}

/// The answers, best first, each with its explanation where that is asked for.
type Told = Vec<(Answer, Option<Explanation>)>;

impl Predict {
    /// Scores and prints.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        let scoring = self.scoring.scoring(self.rules.is_some())?;
        let (model, data) = open_both(&self.model, self.data.as_deref(), output)?;
        let predicate = number(&self.target, scoring, &model, &data)?;
        let names = data.names();
        let query = match (&self.end.head, &self.end.tail) {
            (Some(head), _) => Query { predicate, direction: Direction::Tail, known: names.entity(head)? },
            (None, Some(tail)) => Query { predicate, direction: Direction::Head, known: names.entity(tail)? },
            (None, None) => anyhow::bail!("--head or --tail must be given"),
        };
        let request = Request {
            model: &model,
            data: &data,
            scoring: &self.scoring,
            search: &self.search,
            rules: self.rules.as_deref(),
            targets: &[predicate],
            only_targets: true,
            background: self.background.into(),
            rounds: self.rounds,
            engine: Engine::Auto,
            evaluation: Evaluation {
                allow_reflexive: self.reflexive.allow_reflexive,
                ..Evaluation::default()
            },
        };
        let prepared = request.prepare(output)?;
        let predictor = request.predictor(&prepared, output)?;
        let known = known_answers(query, &data);
        let told = self.answers(query, predictor.as_ref(), &known, &data, output)?;
        self.print(&told, &known, &data, output)
    }

    /// The best candidates that something speaks for.
    fn answers(
        &self,
        query: Query,
        predictor: &dyn Predictor,
        known: &BTreeMap<Entity, Split>,
        data: &Dataset,
        output: &Output,
    ) -> anyhow::Result<Told> {
        let irreflexive = !self.reflexive.allow_reflexive
            && data.irreflexive().get(query.predicate.index()).copied().unwrap_or(false);
        let background = Background::from(self.background);
        let is_known = |entity| known.get(&entity).is_some_and(|split| background.splits().contains(split));
        let allowed = |entity| !(irreflexive && entity == query.known) && (self.known || !is_known(entity));
        let mut target = predictor.target(query.predicate, irreflexive)?;
        let mut answers = top_k(target.as_mut(), query, self.k, &allowed);
        answers.retain(|answer| answer.score > 0.0);
        if target.ended() != Ended::Complete {
            output.say("not all rules were evaluated within --search-time: answers may be missing");
        }
        let explain = |answer: Answer| -> anyhow::Result<(Answer, Option<Explanation>)> {
            let explain = || predictor.explain(query, answer.entity, &Detail::best_rule());
            Ok((answer, self.explain.then(explain).transpose()?))
        };
        answers.into_iter().map(explain).collect()
    }

    fn print(
        &self,
        told: &Told,
        known: &BTreeMap<Entity, Split>,
        data: &Dataset,
        output: &Output,
    ) -> anyhow::Result<ExitCode> {
        let name = |answer: &Answer| data.names().entities.name(answer.entity).to_owned();
        let split = |answer: &Answer| known.get(&answer.entity).map(|split| split.name());
        if output.json {
            let answers: Vec<Value> = told
                .iter()
                .map(|(answer, why)| {
                    let mut value =
                        json!({ "entity": name(answer), "score": answer.score, "split": split(answer) });
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
            vec![name(answer), split(answer).unwrap_or("–").to_owned(), format!("{:.4}", answer.score)]
        });
        let mut text = table(&["entity", "split", "score"], 2, rows);
        for (answer, why) in told {
            if let Some(why) = why {
                text += &format!("\n{}\n", name(answer));
                text += &why.best_rule().map_or("  no hard rule fires\n".into(), rule_text);
            }
        }
        output.write(&text)
    }
}

/// The known answers of a query, with the first split that each is in.
fn known_answers(query: Query, data: &Dataset) -> BTreeMap<Entity, Split> {
    let mut known = BTreeMap::new();
    for split in Split::ALL {
        for &fact in data.split(split) {
            let (asked, answer) = Query::of(fact, query.direction);
            if asked == query {
                known.entry(answer).or_insert(split);
            }
        }
    }
    known
}

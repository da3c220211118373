//! `glidr predict`: the best candidates for an open question.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use glidr::graph::Triple;
use glidr::rank::{Answer, Asked};
use glidr::solve::{Facts, Limits};
use glidr::{Background, Ensemble, Entity, Extraction, Model, Predicate, Scorer, Split};
use serde_json::{Value, json};

use crate::output::{Output, table};
use crate::settings::{HardFlags, SelfFlag};
use crate::sources::{open_both, say_lacking};
use crate::tell::{Judged, judge};

/// Seconds for deciding or counting one rule of an explanation.
const TIME: u64 = 10;

/// Answer p(h, ?) with --head, or p(?, t) with --tail: the best candidates with their scores.
///
/// Facts of the background are left out, since the question is what is missing; a candidate that
/// stands in valid or test is marked. With --explain the rules are those taken by --hard, or by top-p 0.25;
/// an answer that is a known fact is explained without that fact.
#[derive(Args)]
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
    hard: HardFlags,
    /// Rounds of message passing, `R_max` of the paper [default: as in training]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: Option<u16>,
    #[command(flatten)]
    own: SelfFlag,
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

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Looked {
    /// facts and train, as when ranking
    Train,
    /// all splits
    All,
}

impl Predict {
    /// Scores and prints.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        let hard = self.hard.extraction()?;
        let (model, data) = open_both(&self.model, self.data.as_deref(), output)?;
        let ensemble = model.target(&self.target)?;
        let names = data.names();
        let (asked, known) = match (&self.end.head, &self.end.tail) {
            (Some(head), _) => (Asked::Tail, names.entity(head)?),
            (None, Some(tail)) => (Asked::Head, names.entity(tail)?),
            (None, None) => anyhow::bail!("--head or --tail must be given"),
        };
        let background = if self.background == Looked::All { Background::All } else { Background::Train };
        let view = model.view(&data, background)?;
        say_lacking(&view.lacking, &data, output);
        let mut stands: BTreeMap<Entity, Split> = BTreeMap::new();
        let target = names.predicates.find(&self.target);
        for split in Split::ALL {
            for fact in data.split(split).iter().filter(|fact| Some(fact.predicate.0) == target) {
                let (end, answer) = match asked {
                    Asked::Tail => (fact.head, fact.tail),
                    Asked::Head => (fact.tail, fact.head),
                };
                if end == known {
                    stands.entry(answer).or_insert(split);
                }
            }
        }
        let in_background =
            |entity: Entity| stands.get(&entity).is_some_and(|split| background.splits().contains(split));
        let rounds = self.rounds.map_or(model.training.rounds, usize::from);
        let scorer = Scorer::new(ensemble, model.schema, &view.graph, rounds, hard);
        let irreflexive = target.is_some_and(|target| data.irreflexive()[target as usize]);
        let refused = |entity| entity == known && irreflexive && !self.own.self_answers;
        let allowed = |entity| !refused(entity) && (self.known || !in_background(entity));
        let answers = scorer.best(asked, known, self.k, allowed);
        let split = |entity: Entity| stands.get(&entity).map(|split| split.name());
        let best = |answer: &Answer| -> anyhow::Result<Option<Judged>> {
            if !self.explain {
                return Ok(None);
            }
            let pair = asked.pair(known, answer.entity);
            let (head, tail) = pair;
            let fact = target.map(|target| Triple { head, predicate: Predicate(target), tail });
            let graph = match stands.get(&answer.entity) {
                Some(_) => &model.view_without(&data, background, fact)?.graph,
                None => &view.graph,
            };
            Self::best_rule(&model, ensemble, &Facts::from(graph), pair, hard)
        };
        let whys: Vec<Option<Judged>> = answers.iter().map(best).collect::<Result<_, _>>()?;
        if output.json {
            let answers: Vec<_> = answers
                .iter()
                .zip(&whys)
                .map(|(answer, why)| {
                    let mut value = json!({
                        "entity": names.entities.name(answer.entity.0),
                        "score": answer.score,
                        "stands_in": split(answer.entity),
                    });
                    if self.explain {
                        value["because"] = why.as_ref().map_or(Value::Null, |why| why.value(names));
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
        let rows = answers.iter().map(|answer| {
            let name = names.entities.name(answer.entity.0).to_owned();
            vec![name, split(answer.entity).unwrap_or("–").to_owned(), format!("{:.4}", answer.score)]
        });
        let mut text = table(&["entity", "stands in", "score"], 2, rows);
        for (answer, why) in answers.iter().zip(&whys).filter(|_| self.explain) {
            text += &format!("\n{}\n", names.entities.name(answer.entity.0));
            text += &why.as_ref().map_or("  no hard rule fires\n".into(), |why| why.text(names));
        }
        output.write(&text)
    }

    /// Of the hard rules that fire for a pair, the one of the highest confidence.
    fn best_rule(
        model: &Model,
        ensemble: &Ensemble,
        facts: &Facts,
        pair: (Entity, Entity),
        hard: Option<Extraction>,
    ) -> anyhow::Result<Option<Judged>> {
        let limits = Limits { time: Some(Duration::from_secs(TIME)), answers: None };
        let mut best: Option<Judged> = None;
        for (rule, votes) in ensemble.extract(&model.schema, hard.unwrap_or(Extraction::TopP(0.25))) {
            let judged = judge(&rule, Some(votes), facts, pair, limits, model.names())?;
            if judged.fires() && best.as_ref().is_none_or(|best| judged.confidence > best.confidence) {
                best = Some(judged);
            }
        }
        Ok(best)
    }
}

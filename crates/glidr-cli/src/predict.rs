//! `glidr predict`: the best candidates for an open question.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use glidr::rank::Asked;
use glidr::{Background, Entity, Scorer, Split};
use serde_json::json;

use crate::output::{Output, table};
use crate::settings::HardFlags;
use crate::sources::{open_both, say_lacking};

/// Answer p(h, ?) with --head, or p(?, t) with --tail: the best candidates with their scores.
///
/// Facts of the background are left out, since the question is what is missing; a candidate that
/// stands in valid or test is marked.
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
    /// What the rules may look up
    #[arg(long, value_enum, default_value = "train")]
    background: Looked,
    #[command(flatten)]
    hard: HardFlags,
    /// Rounds of message passing, `R_max` of the paper [default: as in training]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: Option<u16>,
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
        let answers = scorer.best(asked, known, self.k, |entity| self.known || !in_background(entity));
        let split = |entity: Entity| stands.get(&entity).map(|split| split.name());
        if output.json {
            let answers: Vec<_> = answers
                .iter()
                .map(|answer| {
                    json!({
                        "entity": names.entities.name(answer.entity.0),
                        "score": answer.score,
                        "stands_in": split(answer.entity),
                    })
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
        output.write(&table(&["entity", "stands in", "score"], 2, rows))
    }
}

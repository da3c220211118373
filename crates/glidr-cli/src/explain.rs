//! `glidr explain`: why a pair scores as it does.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use glidr::explain::{Trace, trace};
use glidr::graph::{Neighbours, Triple};
use glidr::rule::{Rule, RuleNames};
use glidr::solve::Limits;
use glidr::{Background, Dataset, Entity, Extraction, RuleSet, SoftModel, Split};
use serde_json::{Value, json};

use crate::output::{Output, table};
use crate::search::{self, SearchFlags};
use crate::settings::{HardFlags, Looked};
use crate::sources::{open_both, say_lacking};
use crate::tell::{Judged, judge, trace_text, trace_value};

/// Tell why a model scores one pair as it does: the rules that fire with a grounding in facts, and how the
/// soft score comes together.
///
/// A pair that is itself a known fact is explained without that fact.
#[derive(Args)]
#[command(
    after_help = "The rules are those taken from the weights by --hard top-p, p = 0.25, unless told otherwise; \
    --hard search looks for better ones, --rules FILE gives them. A rule's confidence is counted on the background.\n\n\
    The soft score is the sum over soft rules of vote × score; a rule's score is what message passing leaves \
    of the emptiest variable's likeliest entity. For the soft rules of the largest share the domains are shown \
    round by round, with the sum of their entries and the likeliest entities, the literal that narrowed most \
    (took the largest share of a domain), and for a score below 0.5 the literal that emptied a domain or came nearest to it.\n\n\
    Example:\n  glidr explain my.glidr --target uncle --head Arthur --tail Colin"
)]
pub struct Explain {
    /// The model
    model: PathBuf,
    /// Folder or file of triples [default: the data that the model was learned on]
    data: Option<PathBuf>,
    /// The predicate
    #[arg(long, value_name = "NAME")]
    target: String,
    /// The head of the pair
    #[arg(long, value_name = "ENTITY", allow_hyphen_values = true)]
    head: String,
    /// The tail of the pair
    #[arg(long, value_name = "ENTITY", allow_hyphen_values = true)]
    tail: String,
    #[command(flatten)]
    hard: HardFlags,
    #[command(flatten)]
    search: SearchFlags,
    /// Explain by the rules of this file (docs/rules.md) instead of the model's
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// What the rules may look up
    #[arg(long, value_enum, default_value = "train")]
    background: Looked,
    /// At most so many rules that fire, that do not, and soft rules in detail
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    limit: usize,
    /// Entities shown of each domain
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    entities: usize,
    /// Rounds of message passing, `R_max` of the paper [default: as in training]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: Option<u16>,
    /// Seconds for deciding or counting one rule
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    time: u64,
}

/// One soft rule's part in the score.
struct Share {
    number: usize,
    vote: f32,
    trace: Trace,
}

impl Explain {
    /// Explains and prints.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        anyhow::ensure!(
            self.rules.is_none() || !self.hard.is_given(),
            "--rules gives the rules to explain by: leave --hard out"
        );
        let (model, data) = open_both(&self.model, self.data.as_deref(), output)?;
        let ensemble = model.target(&self.target)?;
        let names = data.names();
        let (head, tail) = (names.entity(&self.head)?, names.entity(&self.tail)?);
        let background = Background::from(self.background);
        let direction = names.predicates.find(&self.target).map(|predicate| Triple { head, predicate, tail });
        let stands = Split::ALL
            .into_iter()
            .find(|&split| direction.is_some_and(|fact| data.split(split).contains(&fact)));
        let view = model.view_without(&data, background, direction)?;
        say_lacking(&view.lacking, &data, output);
        let rounds = self.rounds.map_or(model.training.rounds, usize::from);

        let mut shares: Vec<Share> = Vec::new();
        for (number, (weights, soft)) in
            ensemble.weights(&model.schema, None).iter().zip(&ensemble.rules).enumerate()
        {
            let trace =
                trace(weights, model.schema, view.graph.adjacency(), (head, tail), rounds, self.entities);
            shares.push(Share { number: number + 1, vote: soft.vote, trace });
        }
        let score: f32 = shares.iter().map(|share| share.vote * share.trace.score).sum();
        let key = |share: &Share| (share.vote * share.trace.score, share.vote);
        shares.sort_by(|a, b| key(b).0.total_cmp(&key(a).0).then(key(b).1.total_cmp(&key(a).1)));

        let judged =
            self.judged(&model, &data, view.graph.neighbours(), background, (head, tail), direction, output)?;
        let in_background = stands.is_some_and(|split| background.splits().contains(&split));
        if output.json {
            let soft: Vec<Value> = shares
                .iter()
                .enumerate()
                .map(|(place, share)| {
                    let mut value = json!({ "rule": share.number, "vote": share.vote, "score": share.trace.score,
                        "share": share.vote * share.trace.score });
                    if place < self.limit {
                        value["trace"] = trace_value(&share.trace, model.names(), names);
                    }
                    value
                })
                .collect();
            return output.write_json(&json!({
                "target": self.target, "head": self.head, "tail": self.tail, "data": data.source,
                "stands_in": stands.map(Split::name), "left_out": in_background,
                "score": score, "rules": judged.iter().map(|rule| rule.value(names)).collect::<Vec<_>>(), "soft": soft,
            }));
        }
        let mut text = format!("{}({}, {}): soft score {score:.4}\n", self.target, self.head, self.tail);
        text += &match stands {
            Some(split) if in_background => {
                format!("stands in {}; explained without that fact\n", split.name())
            }
            Some(split) => format!("stands in {}, which the rules do not look up\n", split.name()),
            None => "stands in no split\n".into(),
        };
        let (fire, rest): (Vec<&Judged>, Vec<&Judged>) = judged.iter().partition(|rule| rule.fires());
        text += &format!("\nrules that fire: {} of {}\n", fire.len(), judged.len());
        for rule in fire.iter().take(self.limit) {
            text += &rule.text(names);
        }
        if !rest.is_empty() {
            text += "\nrules that do not, and where they fail\n";
        }
        for rule in rest.iter().take(self.limit) {
            text += &rule.text(names);
        }
        text += "\nhow the soft score comes together: the sum of vote × score\n";
        let rows = shares.iter().map(|share| {
            let numbers = [share.vote, share.trace.score, share.vote * share.trace.score];
            let mut row = vec![format!("soft rule {}", share.number)];
            row.extend(numbers.map(|number| format!("{number:.4}")));
            row
        });
        text += &table(&["", "vote", "score", "share"], 1, rows);
        for share in shares.iter().take(self.limit) {
            text += &format!("\nsoft rule {}, score {:.4}\n", share.number, share.trace.score);
            text += &trace_text(&share.trace, model.names(), names);
        }
        output.write(&text)
    }

    /// The hard rules, judged on the pair, most confident first.
    #[expect(clippy::too_many_arguments, reason = "all that a pair is judged by")]
    fn judged(
        &self,
        model: &SoftModel,
        data: &Dataset,
        facts: &Neighbours,
        background: Background,
        pair: (Entity, Entity),
        direction: Option<Triple>,
        output: &Output,
    ) -> anyhow::Result<Vec<Judged>> {
        let limits = Limits { time: Some(Duration::from_secs(self.time)), answers: None };
        let judge_all = |rules: Vec<(Rule, Option<f32>)>, facts: &Neighbours, names: RuleNames| {
            let mut judged = Vec::new();
            for (rule, votes) in rules {
                judged.push(judge(&rule, votes, facts, pair, limits, names)?);
            }
            judged.sort_by(|a: &Judged, b| {
                b.confidence.total_cmp(&a.confidence).then(b.support.cmp(&a.support))
            });
            Ok::<Vec<Judged>, anyhow::Error>(judged)
        };
        if self.rules.is_none() && !self.hard.is_search() {
            let extraction = self.hard.extraction()?.unwrap_or(Extraction::TopP(0.25));
            let ensemble = model.target(&self.target)?;
            let rules = ensemble.extract(&model.schema, extraction).into_iter();
            return judge_all(rules.map(|(rule, votes)| (rule, Some(votes))).collect(), facts, model.names());
        }
        let target = data.names().predicate(&self.target)?;
        let rules: Vec<Rule> = if let Some(path) = &self.rules {
            RuleSet::read(path, data.names())?.bare().cloned().collect()
        } else {
            let found = search::run(self.search.search(), model, data, &[], &[target], output)?;
            found.rules.into_iter().flat_map(|set| set.rules).map(|weighed| weighed.rule).collect()
        };
        let rules = rules.into_iter().filter(|rule| rule.target == target).map(|rule| (rule, None)).collect();
        let graph = data.graph(background);
        let without = direction.map(|fact| graph.without(fact));
        let graph = without.as_ref().unwrap_or(graph);
        judge_all(rules, graph.neighbours(), data.names().into())
    }
}

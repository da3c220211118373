//! `glidr predict`: the best candidates for an open question.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use glidr::Direction;
use glidr::graph::Triple;
use glidr::rank::Answer;
use glidr::solve::{Ended, Limits, Solver};
use glidr::{Background, Dataset, Entity, Extraction, Predicate, Scorer, Search, SoftModel, Split};
use serde_json::{Value, json};

use crate::output::{Output, table};
use crate::search::{self, SearchFlags};
use crate::settings::{HardFlags, Looked, SelfFlag};
use crate::sources::{open_both, read_rules, say_lacking};
use crate::tell::{Judged, judge};

/// Seconds for deciding or counting one rule of an explanation.
const TIME: u64 = 10;

/// Answer p(h, ?) with --head, or p(?, t) with --tail: the best candidates with their scores.
///
/// Facts of the background are left out, since the question is what is missing; a candidate that
/// stands in valid or test is marked. With --explain the rules are those taken by --hard, or by top-p 0.25;
/// an answer that is a known fact is explained without that fact.
#[derive(Args)]
#[command(
    after_help = "With --hard search the rules are looked for first, as eval does, and candidates are scored by \
    them, evaluated exactly; --rules FILE takes them from a file, as `glidr rules --hard search` writes one. Such \
    scores order the candidates of one question and mean nothing beside those of another.\n\n\
    Examples:\n  glidr predict my.glidr --target uncle --head Arthur --explain\n  \
    glidr predict my.glidr --target uncle --tail Colin --hard search --explain"
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
    hard: HardFlags,
    #[command(flatten)]
    search: SearchFlags,
    /// Answer by the rules of this file (docs/rules.md) instead of the model's
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
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

/// An open question about some data.
struct Question<'a> {
    data: &'a Dataset,
    /// None where the data lacks the predicate.
    target: Option<Predicate>,
    direction: Direction,
    known: Entity,
    background: Background,
    /// The known answers, with the first split that each stands in.
    stands: BTreeMap<Entity, Split>,
    /// Whether the known entity itself is refused as an answer.
    refuses: bool,
}

impl<'a> Question<'a> {
    fn new(flags: &Predict, data: &'a Dataset) -> anyhow::Result<Self> {
        let names = data.names();
        let (direction, known) = match (&flags.end.head, &flags.end.tail) {
            (Some(head), _) => (Direction::Tail, names.entity(head)?),
            (None, Some(tail)) => (Direction::Head, names.entity(tail)?),
            (None, None) => anyhow::bail!("--head or --tail must be given"),
        };
        let background = Background::from(flags.background);
        let target = names.predicates.find(&flags.target);
        let mut stands: BTreeMap<Entity, Split> = BTreeMap::new();
        for split in Split::ALL {
            for fact in data.split(split).iter().filter(|fact| Some(fact.predicate) == target) {
                let (end, answer) = match direction {
                    Direction::Tail => (fact.head, fact.tail),
                    Direction::Head => (fact.tail, fact.head),
                };
                if end == known {
                    stands.entry(answer).or_insert(split);
                }
            }
        }
        let refuses =
            !flags.own.self_answers && target.is_some_and(|target| data.irreflexive()[target.index()]);
        Ok(Question { data, target, direction, known, background, stands, refuses })
    }

    fn allows(&self, entity: Entity, with_known: bool) -> bool {
        let known = || self.stands.get(&entity).is_some_and(|split| self.background.splits().contains(split));
        !(self.refuses && entity == self.known) && (with_known || !known())
    }

    /// The pair of an answer, and the fact to leave out when it is explained.
    fn pair(&self, answer: Entity) -> ((Entity, Entity), Option<Triple>) {
        let (head, tail) = self.direction.pair(self.known, answer);
        let fact = self.target.map(|predicate| Triple { head, predicate, tail });
        ((head, tail), fact.filter(|_| self.stands.contains_key(&answer)))
    }
}

/// The answers, best first, each with the rule it is explained by.
type Told = Vec<(Answer, Option<Judged>)>;

impl Predict {
    /// Scores and prints.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        anyhow::ensure!(
            self.rules.is_none() || !self.hard.is_given(),
            "--rules gives the rules to answer by: leave --hard out"
        );
        let by_rules = self.hard.is_search() || self.rules.is_some();
        let hard = if by_rules { None } else { self.hard.extraction()? };
        let (model, data) = open_both(&self.model, self.data.as_deref(), output)?;
        let question = Question::new(self, &data)?;
        let told = if by_rules {
            self.by_rules(&model, &question, output)?
        } else {
            self.by_weights(&model, &question, hard, output)?
        };
        let names = data.names();
        let split = |entity: Entity| question.stands.get(&entity).map(|split| split.name());
        if output.json {
            let answers: Vec<_> = told
                .iter()
                .map(|(answer, why)| {
                    let mut value = json!({
                        "entity": names.entities.name(answer.entity),
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
        let rows = told.iter().map(|(answer, _)| {
            let name = names.entities.name(answer.entity).to_owned();
            vec![name, split(answer.entity).unwrap_or("–").to_owned(), format!("{:.4}", answer.score)]
        });
        let mut text = table(&["entity", "stands in", "score"], 2, rows);
        for (answer, why) in told.iter().filter(|_| self.explain) {
            text += &format!("\n{}\n", names.entities.name(answer.entity));
            text += &why.as_ref().map_or("  no hard rule fires\n".into(), |why| why.text(names));
        }
        output.write(&text)
    }

    /// Answers by the model's weights, soft or hard; of the hard rules that fire for one, the most
    /// confident explains it.
    fn by_weights(
        &self,
        model: &SoftModel,
        question: &Question,
        hard: Option<Extraction>,
        output: &Output,
    ) -> anyhow::Result<Told> {
        let ensemble = model.target(&self.target)?;
        let view = model.view(question.data, question.background)?;
        say_lacking(&view.lacking, question.data, output);
        let rounds = self.rounds.map_or(model.training.rounds, usize::from);
        let scorer = Scorer::new(ensemble, model.schema, view.graph.adjacency(), rounds, hard);
        let allowed = |entity| question.allows(entity, self.known);
        let mut told = Told::new();
        for answer in scorer.best(question.direction, question.known, self.k, allowed) {
            let (pair, without) = question.pair(answer.entity);
            let mut best: Option<Judged> = None;
            if self.explain {
                let without =
                    without.map(|fact| model.view_without(question.data, question.background, Some(fact)));
                let without = without.transpose()?;
                let facts = without.as_ref().unwrap_or(&view).graph.neighbours();
                for (rule, votes) in ensemble.extract(&model.schema, hard.unwrap_or(Extraction::TopP(0.25))) {
                    let judged = judge(&rule, Some(votes), facts, pair, limits(), model.names())?;
                    if judged.fires() && best.as_ref().is_none_or(|best| judged.confidence > best.confidence)
                    {
                        best = Some(judged);
                    }
                }
            }
            told.push((answer, best));
        }
        Ok(told)
    }

    /// Answers by rules that are searched or given, evaluated exactly; of those that fire for one, the rule
    /// of the highest number explains it.
    fn by_rules(&self, model: &SoftModel, question: &Question, output: &Output) -> anyhow::Result<Told> {
        let data = question.data;
        let target = data.names().predicate(&self.target)?;
        let sets = if let Some(path) = &self.rules {
            read_rules(path, data)?.into_targets()
        } else {
            let search = Search { self_answers: self.own.self_answers, ..self.search.search() };
            search::run(search, model, data, &[], &[target], output)?.rules
        };
        let Some(set) = sets.into_iter().find(|set| set.target == target) else { return Ok(Told::new()) };
        let graph = data.graph(question.background);
        let solvers = set.solvers(graph.neighbours(), self.search.limits())?;
        let entities = data.names().entities.len();
        let (scores, ended) = set.scores(&solvers, question.direction, question.known, entities);
        if ended != Ended::Complete {
            output.say("not all rules were evaluated within --search-time: answers may be missing");
        }
        let mut answers: Vec<(Entity, f64)> = (0..).map(Entity).zip(scores).collect();
        answers.retain(|(entity, score)| *score > 0.0 && question.allows(*entity, self.known));
        answers.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        answers.truncate(self.k);
        let order = set.that_count(question.direction);
        let mut told = Told::new();
        for (entity, score) in answers {
            let (pair, without) = question.pair(entity);
            let mut best = None;
            if self.explain {
                let without = without.map(|fact| graph.without(fact));
                let facts = without.as_ref().unwrap_or(graph).neighbours();
                for weighed in order.iter().map(|&rule| &set.rules[rule]) {
                    if Solver::new(&weighed.rule, facts, limits())?.holds(pair.0, pair.1).value {
                        best = Some(judge(&weighed.rule, None, facts, pair, limits(), data.names().into())?);
                        break;
                    }
                }
            }
            told.push((Answer { entity, score: score as f32 }, best));
        }
        Ok(told)
    }
}

/// The limits on deciding or counting one rule of an explanation.
fn limits() -> Limits {
    Limits { time: Some(Duration::from_secs(TIME)), answers: None }
}

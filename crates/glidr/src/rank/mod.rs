//! Ranking: scores candidates, orders them in the filtered setting, breaks ties by the seed,
//! counts MRR and Hits@k from one and the same rank.
//!
//! In: a [`SoftModel`] and a [`Dataset`]. Out: a [`Ranked`]. Every fact of the split asks both
//! `p(h, ?)` and `p(?, t)`; candidates are all entities of the data; other true answers, from
//! any split, do not count. A candidate is scored only where its bound reaches the target's
//! score, which changes no rank.

mod answer;
mod metrics;
mod opened;
mod scorer;
mod votes;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};

use answer::Known;
pub use metrics::Metrics;
use rand::RngExt;
pub use scorer::{Answer, Bounds, Scorer};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::graph::{Background, ClassMatrix, Dataset, Direction, Entity, Predicate, Split, Triple};
use crate::infer::{Engine, lane_width};
use crate::model::Extraction;
use crate::model::{Ensemble, SoftModel};
use crate::util::random::{Purpose, stream};

/// Scores closer than this, relative to the target's, are a tie: nearer than that, only the
/// order of summation decides.
pub const TIE: f32 = 2e-6;

/// How ties are broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ties {
    /// At random, by the seed.
    Random,
    /// The mean of the best and the worst rank.
    Mean,
}

/// How to rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranking {
    /// The split that is asked about.
    pub split: Split,
    /// How ties are broken.
    pub ties: Ties,
    /// Seed of random ties.
    pub seed: u64,
    /// Rounds of message passing; as in training where not given.
    pub rounds: Option<usize>,
    /// Hard rules by this extraction; soft where not given.
    pub hard: Option<Extraction>,
    /// The engine of message passing: none changes a rank.
    pub engine: Engine,
    /// Whether an entity may be its own answer where no training fact of the predicate has one entity at
    /// both ends. Else it comes last there: such a predicate is taken to be irreflexive.
    pub self_answers: bool,
}

/// The score of an entity that is not its own answer: below all others.
pub(crate) const REFUSED: f32 = -1.0;

impl Default for Ranking {
    fn default() -> Self {
        Ranking {
            split: Split::Test,
            ties: Ties::Random,
            seed: 0,
            rounds: None,
            hard: None,
            engine: Engine::Auto,
            self_answers: false,
        }
    }
}

/// The rank of one answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rank {
    /// The fact that asked; its predicate has the data's number.
    pub fact: Triple,
    /// Which end it asked for.
    pub direction: Direction,
    /// The target's rank, from 1; halves are possible when ties take the mean.
    pub rank: f64,
}

/// What the figures mean: stated with every result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvaluationProtocol {
    /// The split asked about.
    pub split: Split,
    /// SHA-256 of that split.
    pub split_hash: String,
    /// Always both: `p(h, ?)` and `p(?, t)`.
    pub directions: &'static str,
    /// True answers of these splits do not count.
    pub filtered: &'static str,
    /// How ties are broken.
    pub ties: Ties,
    /// Relative difference of scores that is still a tie.
    pub tie_tolerance: f32,
    /// Seed of random ties.
    pub seed: u64,
    /// How many candidates there are.
    pub candidates: usize,
    /// Rounds of message passing.
    pub rounds: usize,
    /// `soft`, or the extraction of hard rules.
    pub scores: String,
    /// Whether an entity may be its own answer where training never has that.
    pub self_answers: bool,
}

/// The outcome of a ranking.
#[derive(Clone, Debug)]
pub struct Ranked {
    /// Every rank.
    pub ranks: Vec<Rank>,
    /// Over all ranks (micro).
    pub all: Metrics,
    /// Over those that ask for a tail, and over those that ask for a head.
    pub by_direction: [Metrics; 2],
    /// The mean over predicates (macro).
    pub by_predicate_mean: Metrics,
    /// Per predicate, in the order of names.
    pub per_predicate: Vec<(String, Metrics)>,
    /// Predicates without rules: their candidates all tie.
    pub without_rules: Vec<String>,
    /// Facts left out because the model was told to learn other targets.
    pub left_out: usize,
    /// What the figures mean.
    pub protocol: EvaluationProtocol,
}

/// The questions of one predicate that share a known end, answered together.
pub(crate) struct Task<'a> {
    ensemble: Option<&'a Ensemble>,
    predicate: Predicate,
    direction: Direction,
    known: Vec<Entity>,
    /// Whether no entity is its own answer.
    irreflexive: bool,
}

/// All true answers: (predicate, asked, known end) → answers.
pub(crate) type Truth = HashMap<(Predicate, Direction, Entity), Vec<Entity>>;

impl Ranking {
    /// Ranks every answer of the split. `watch` is told, from any thread, how many questions are
    /// answered, of how many.
    pub fn run(
        &self,
        model: &SoftModel,
        data: &Dataset,
        watch: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Ranked> {
        self.rank(model, data, watch, true)
    }

    /// The slow twin of [`Ranking::run`]: scores every candidate, and must give the same ranks.
    pub fn run_exhaustive(&self, model: &SoftModel, data: &Dataset) -> Result<Ranked> {
        self.rank(model, data, &|_, _| {}, false)
    }

    fn rank(
        &self,
        model: &SoftModel,
        data: &Dataset,
        watch: &(dyn Fn(usize, usize) + Sync),
        by_bounds: bool,
    ) -> Result<Ranked> {
        let rounds = self.rounds.unwrap_or(model.training.rounds);
        if rounds == 0 {
            return Err(Error::Setting("rounds must be at least 1, but is 0".into()));
        }
        let view = model.view(data, Background::Train)?;
        let facts = self.held_out(data, |predicate| model.ranks(data.names().predicates.name(predicate)))?;
        let truth = truth(data);
        let tasks = tasks(
            model,
            data,
            &facts,
            self.at_once(view.graph.adjacency()),
            &irreflexive(data, self.self_answers),
        );
        let (done, all) = (AtomicUsize::new(0), 2 * facts.len());
        let questions = questions(&facts);
        let prepare = |task: &Task| {
            let prepare = |ensemble| {
                Scorer::with_engine(
                    self.engine,
                    ensemble,
                    model.schema,
                    view.graph.adjacency(),
                    rounds,
                    self.hard,
                )
            };
            (task.predicate, task.ensemble.map(prepare))
        };
        // Every thread takes the next task. Those of one predicate follow each other, so that each thread
        // prepares its rules once at most.
        let next = AtomicUsize::new(0);
        let answered: Vec<Vec<Rank>> = rayon::broadcast(|_| {
            let (mut ranks, mut ready) = (Vec::new(), None::<(Predicate, Option<Scorer>)>);
            while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                if ready.as_ref().is_none_or(|(predicate, _)| *predicate != task.predicate) {
                    ready = None; // its memory first
                    ready.get_or_insert_with(|| prepare(task));
                }
                let scorer = ready.as_ref().and_then(|(_, scorer)| scorer.as_ref());
                let known = Known { questions: &questions, truth: &truth };
                let found = match scorer.and_then(Scorer::opened).filter(|_| by_bounds) {
                    Some(mut opened) => self.answer_openly(task, &mut opened, view.graph.adjacency(), known),
                    None => self.answer(task, scorer, known, view.graph.entities(), by_bounds),
                };
                watch(done.fetch_add(found.len(), Ordering::Relaxed) + found.len(), all);
                ranks.extend(found);
            }
            ranks
        });
        let mut ranks = answered.concat();
        ranks.sort_by_key(|rank| (rank.fact, rank.direction));
        let scores = self.hard.map_or("soft".into(), |extraction| extraction.to_string());
        let protocol = self.protocol(data, rounds, scores);
        let left_out = data.split(self.split).len() - facts.len();
        Ok(count(ranks, &tasks, data, protocol, left_out))
    }

    /// The facts of the split that are asked about.
    pub(crate) fn held_out(&self, data: &Dataset, chosen: impl Fn(Predicate) -> bool) -> Result<Vec<Triple>> {
        let facts: Vec<Triple> =
            data.split(self.split).iter().filter(|fact| chosen(fact.predicate)).copied().collect();
        if facts.is_empty() {
            return Err(Error::Mismatch(format!(
                "{} must hold a fact about one of the targets to rank, but {} has none there",
                self.split.name(),
                data.source
            )));
        }
        Ok(facts)
    }

    /// How many known ends a task has: with the sparse engine many, so that heads are shared.
    fn at_once(&self, graph: &ClassMatrix) -> usize {
        if self.engine.chosen(graph) == Engine::Sparse { 256 } else { lane_width(graph) }
    }

    /// What the figures of this ranking mean: every entity of the data is a candidate.
    pub(crate) fn protocol(&self, data: &Dataset, rounds: usize, scores: String) -> EvaluationProtocol {
        EvaluationProtocol {
            split: self.split,
            split_hash: data.split_hash(self.split),
            directions: "both",
            filtered: "facts, train, valid, test",
            ties: self.ties,
            tie_tolerance: TIE,
            seed: self.seed,
            candidates: data.names().entities.len(),
            rounds,
            scores,
            self_answers: self.self_answers,
        }
    }

    /// How many of the tied rivals stand before the target.
    pub(crate) fn share_of(&self, ties: usize, fact: Triple, direction: Direction) -> f64 {
        match self.ties {
            Ties::Mean => ties as f64 / 2.0,
            Ties::Random => {
                let place =
                    [fact.head.0 as u64, fact.tail.0 as u64, 2 * fact.predicate.0 as u64 + direction as u64];
                stream(self.seed, Purpose::Tie, place).random_range(0..=ties) as f64
            }
        }
    }
}

/// For every predicate whether no entity is its own answer.
pub(crate) fn irreflexive(data: &Dataset, self_answers: bool) -> Vec<bool> {
    if self_answers { vec![false; data.names().predicates.len()] } else { data.irreflexive() }
}

/// The questions of `facts`, those with a predicate and an end in common together.
fn tasks<'a>(
    model: &'a SoftModel,
    data: &Dataset,
    facts: &[Triple],
    at_once: usize,
    irreflexive: &[bool],
) -> Vec<Task<'a>> {
    let mut known: BTreeMap<(Predicate, Direction), Vec<Entity>> = BTreeMap::new();
    for fact in facts {
        known.entry((fact.predicate, Direction::Tail)).or_default().push(fact.head);
        known.entry((fact.predicate, Direction::Head)).or_default().push(fact.tail);
    }
    let mut tasks = Vec::new();
    for ((predicate, direction), mut known) in known {
        known.sort_unstable();
        known.dedup();
        let name = data.names().predicates.name(predicate);
        let ensemble = model.target(name).ok().filter(|ensemble| !ensemble.rules.is_empty());
        let irreflexive = irreflexive[predicate.0 as usize];
        for known in known.chunks(at_once) {
            tasks.push(Task { ensemble, predicate, direction, known: known.to_vec(), irreflexive });
        }
    }
    tasks
}

pub(crate) fn truth(data: &Dataset) -> Truth {
    let facts: Vec<Triple> = Split::ALL.into_iter().flat_map(|split| data.split(split)).copied().collect();
    questions(&facts)
}

/// The answers that `facts` give to each question, sorted.
pub(crate) fn questions(facts: &[Triple]) -> Truth {
    let mut answers = Truth::new();
    for fact in facts {
        answers.entry((fact.predicate, Direction::Tail, fact.head)).or_default().push(fact.tail);
        answers.entry((fact.predicate, Direction::Head, fact.tail)).or_default().push(fact.head);
    }
    for list in answers.values_mut() {
        list.sort_unstable();
        list.dedup();
    }
    answers
}

pub(crate) fn count(
    ranks: Vec<Rank>,
    tasks: &[Task],
    data: &Dataset,
    protocol: EvaluationProtocol,
    left_out: usize,
) -> Ranked {
    let name = |predicate: Predicate| data.names().predicates.name(predicate).to_owned();
    let mut by_predicate: BTreeMap<Predicate, Vec<f64>> = BTreeMap::new();
    for rank in &ranks {
        by_predicate.entry(rank.fact.predicate).or_default().push(rank.rank);
    }
    let per_predicate: Vec<(String, Metrics)> =
        by_predicate.into_iter().map(|(predicate, ranks)| (name(predicate), Metrics::of(&ranks))).collect();
    let each: Vec<Metrics> = per_predicate.iter().map(|(_, metrics)| *metrics).collect();
    let mut without_rules: Vec<Predicate> =
        tasks.iter().filter(|task| task.ensemble.is_none()).map(|task| task.predicate).collect();
    without_rules.dedup();
    Ranked {
        all: Metrics::of(&ranks.iter().map(|rank| rank.rank).collect::<Vec<f64>>()),
        by_direction: Direction::BOTH.map(|direction| {
            let of = ranks.iter().filter(|rank| rank.direction == direction);
            Metrics::of(&of.map(|rank| rank.rank).collect::<Vec<f64>>())
        }),
        by_predicate_mean: Metrics::mean(&each),
        per_predicate,
        without_rules: without_rules.into_iter().map(name).collect(),
        left_out,
        protocol,
        ranks,
    }
}

//! Evaluation: held-out facts ranked in the filtered setting, ties broken by the seed, and MRR and Hits@k counted from
//! one and the same ranks.
//!
//! In: a [`Predictor`] and a [`Dataset`]. Out: an [`EvaluationReport`]. Every fact of the split asks both
//! `p(h, ?)` and `p(?, t)`; candidates are all entities of the data; other true answers, from
//! any split, do not compete.

mod answers;
mod calibrate;
mod constraining;
mod estimate;
mod fidelity;
mod metrics;
mod mixing;
mod queries;

use std::collections::BTreeMap;

pub use answers::Answers;
pub use calibrate::{Bin, Reliability, calibrate, reliability};
pub use constraining::{choose_constraints, sure_enough};
pub use estimate::estimated_mrr;
pub use fidelity::fidelity;
pub use metrics::Metrics;
pub use mixing::choose_mixing_weights;
use queries::{Compared, Queries};
use rand::RngExt;
use serde::Serialize;

use crate::error::Result;
use crate::graph::{Dataset, Direction, Predicate, Split, Triple};
use crate::predict::{Comparison, Predictor, TIE};
use crate::solve::Ended;
use crate::util::progress::{Progress, Stage};
use crate::util::random::{Purpose, stream};

/// How ties are broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ties {
    /// At random, by the seed.
    Random,
    /// The mean of the best and the worst rank.
    Mean,
}

/// How to evaluate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// The split that is asked about.
    pub split: Split,
    /// How ties are broken.
    pub ties: Ties,
    /// Seed of random ties.
    pub seed: u64,
    /// Whether an entity may be its own answer where no training fact of the predicate has one entity at
    /// both ends. Else it comes last there: such a predicate is taken to be irreflexive.
    pub allow_reflexive: bool,
}

impl Default for Evaluation {
    fn default() -> Self {
        Evaluation { split: Split::Test, ties: Ties::Random, seed: 0, allow_reflexive: false }
    }
}

/// The rank of one answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rank {
    /// The fact that asked; its predicate has the data's number.
    pub fact: Triple,
    /// Which end it asked for.
    pub direction: Direction,
    /// The answer's rank, from 1; halves are possible when ties take the mean.
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
    /// True answers of these splits do not compete.
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
    /// How candidates are scored: `soft`, an extraction of hard rules, `rules` or `blend`.
    pub scoring: String,
    /// Whether an entity may be its own answer where training never has that.
    pub allow_reflexive: bool,
}

/// The outcome of an evaluation.
#[derive(Clone, Debug)]
pub struct EvaluationReport {
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
    /// Facts left out because the predictor was made for other targets.
    pub left_out: usize,
    /// How exact evaluation of hard rules ended: after a limit, scores may lack a rule's part.
    pub ended: Ended,
    /// What the figures mean.
    pub protocol: EvaluationProtocol,
}

impl Evaluation {
    /// Ranks every answer of the split. `progress` is told how many answers are ranked, of how many.
    ///
    /// ```
    /// use glidr::internals::predict::Rules;
    /// use glidr::{Dataset, Evaluation, RuleSet};
    /// let families = Dataset::families(0);
    /// let text = "1.0 :: wife(X, Y) :- husband(Y, X).";
    /// let rules = RuleSet::parse("own rules", text, families.names())?;
    /// let wife = [families.names().predicate("wife")?];
    /// let predictor = Rules::new(rules.targets(), &families).only(&wife);
    /// let report = Evaluation::default().run(&predictor, &families, &())?;
    /// assert!(report.all.queries > 0 && report.protocol.scoring == "rules");
    /// # Ok::<(), glidr::Error>(())
    /// ```
    pub fn run(
        &self,
        predictor: &dyn Predictor,
        data: &Dataset,
        progress: &dyn Progress,
    ) -> Result<EvaluationReport> {
        let queries = Queries::new(self, predictor, data, &Split::ALL, usize::MAX)?;
        let (compared, ended) = queries.compare(
            1,
            |target, irreflexive| predictor.target(target, irreflexive),
            |target, queries| {
                let once = |of: Vec<Comparison>| of.into_iter().map(|comparison| vec![comparison]).collect();
                (target.compare(queries).into_iter().map(once).collect(), target.ended())
            },
            &|done, all| {
                progress.report(Stage::Ranking, done, all);
                false
            },
        )?;
        let rank = |Compared { fact, direction, comparisons }: Compared| Rank {
            fact,
            direction,
            rank: self.rank(comparisons[0], fact, direction),
        };
        let ranks: Vec<Rank> = compared.into_iter().map(rank).collect();
        Ok(self.count(ranks, predictor, data, queries.left_out, ended))
    }

    /// Per predicate whether no entity is its own answer.
    pub(crate) fn irreflexive(&self, data: &Dataset) -> Vec<bool> {
        if self.allow_reflexive { vec![false; data.names().predicates.len()] } else { data.irreflexive() }
    }

    /// An answer's rank; of candidates that tie with it, some come before it.
    fn rank(&self, Comparison { above, tied }: Comparison, fact: Triple, direction: Direction) -> f64 {
        let tied_before = match self.ties {
            Ties::Mean => tied as f64 / 2.0,
            Ties::Random => {
                let place =
                    [fact.head.0 as u64, fact.tail.0 as u64, 2 * fact.predicate.0 as u64 + direction as u64];
                stream(self.seed, Purpose::Tie, place).random_range(0..=tied) as f64
            }
        };
        1.0 + above as f64 + tied_before
    }

    fn protocol(&self, predictor: &dyn Predictor, data: &Dataset) -> EvaluationProtocol {
        EvaluationProtocol {
            split: self.split,
            split_hash: data.split_hash(self.split),
            directions: "both",
            filtered: "facts, train, valid, test",
            ties: self.ties,
            tie_tolerance: TIE,
            seed: self.seed,
            candidates: data.names().entities.len(),
            rounds: predictor.rounds(),
            scoring: predictor.scoring(),
            allow_reflexive: self.allow_reflexive,
        }
    }

    fn count(
        &self,
        ranks: Vec<Rank>,
        predictor: &dyn Predictor,
        data: &Dataset,
        left_out: usize,
        ended: Ended,
    ) -> EvaluationReport {
        let name = |predicate: &Predicate| data.names().predicates.name(*predicate).to_owned();
        let mut by_predicate: BTreeMap<Predicate, Vec<f64>> = BTreeMap::new();
        for rank in &ranks {
            by_predicate.entry(rank.fact.predicate).or_default().push(rank.rank);
        }
        let metrics = |(predicate, ranks): (&Predicate, &Vec<f64>)| (name(predicate), Metrics::of(ranks));
        let per_predicate: Vec<(String, Metrics)> = by_predicate.iter().map(metrics).collect();
        let each: Vec<Metrics> = per_predicate.iter().map(|(_, metrics)| *metrics).collect();
        let without_rules = by_predicate.keys().filter(|predicate| !predictor.has_rules(**predicate));
        EvaluationReport {
            all: Metrics::of(&ranks.iter().map(|rank| rank.rank).collect::<Vec<f64>>()),
            by_direction: Direction::BOTH.map(|direction| {
                let of = ranks.iter().filter(|rank| rank.direction == direction);
                Metrics::of(&of.map(|rank| rank.rank).collect::<Vec<f64>>())
            }),
            by_predicate_mean: Metrics::mean(&each),
            without_rules: without_rules.map(name).collect(),
            per_predicate,
            left_out,
            ended,
            protocol: self.protocol(predictor, data),
            ranks,
        }
    }
}

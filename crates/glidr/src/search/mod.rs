//! Extraction by search: the rules that do best on the data, proposed by soft rules and by the graph,
//! measured exactly, chosen and weighed for each target.
//!
//! In: a [`Dataset`], and where there is one a [`SoftModel`]. Out: a [`TargetRules`] for every target. Rules and
//! weights come from *facts* and *train*, the way of joining from *valid*; *test* is never looked at.
//! The paper leaves open how to keep its soft rules' strength in hard ones.

mod bodies;
mod both;
mod branches;
mod chains;
mod choose;
mod contests;
mod count;
mod ends;
mod fit;
mod ground;
mod joined;
mod large;
mod lines;
mod listing;
mod pool;
mod propose;
mod rank;
mod sampled;
mod small;
mod universe;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bodies::Walk;
use branches::Branches;
use choose::{Tried, choose};
pub use joined::{Joined, Share};
use rayon::prelude::*;
use serde::Serialize;

use crate::error::Result;
use crate::graph::{Background, ClassMatrix, Dataset, Neighbours, Predicate};
use crate::model::SoftModel;
use crate::rank::irreflexive;
use crate::rule::{Aggregation, Measures, Rule, TargetRules};
use crate::solve::{Ended, Limits, Solver};

/// Grows whenever the same settings find other rules: figures kept from an older one are no longer of this search.
pub const REVISION: u32 = 2;

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// Added to a rule's answers when its confidence is taken, so that little evidence counts little.
    pub smoothing: f64,
    /// Facts that a rule must find at least.
    pub least_support: usize,
    /// Rules of the pool that are no conjunctions, at most; on a large graph three times as many.
    pub base: usize,
    /// Conjunctions of two of them, at most.
    pub conjunctions: usize,
    /// Rules measured around each soft rule, at most.
    pub budget: usize,
    /// Chains of one or two steps measured, at most; those that link most facts first.
    pub chains: usize,
    /// So many of the best rules are measured with one literal more on one of their variables, where that promises
    /// more confidence.
    pub branched: usize,
    /// Facts of a target that ask, on a graph too large to measure rules on the whole of it; three for every five of
    /// them of *valid*.
    pub questions: usize,
    /// The most time for a target's proposals.
    pub time: Option<Duration>,
    /// How rules are joined; chosen on *valid* for each target where not given.
    pub aggregation: Option<Aggregation>,
    /// Whether a rule is blamed for answers that are an entity with itself where no training fact of the
    /// target is: not if such answers are refused anyway ([`Ranking::self_answers`](crate::Ranking)).
    pub self_answers: bool,
}

impl Default for Search {
    fn default() -> Self {
        Search {
            smoothing: Measures::SMOOTHING,
            least_support: 2,
            base: 800,
            conjunctions: 1500,
            budget: 60,
            chains: 5000,
            branched: 0,
            questions: 5000,
            time: None,
            aggregation: None,
            self_answers: false,
        }
    }
}

/// How weights were fitted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The strength of their restraint.
    pub l2: f64,
    /// Whether the likeliest pairs that are not known to be true were taken for facts that may be missing, and not for
    /// rivals.
    pub masking: bool,
}

/// What was found for one target.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The target's name.
    pub target: String,
    /// Rules measured.
    pub measured: usize,
    /// Rules in the pool, conjunctions included.
    pub pool: usize,
    /// Rules kept.
    pub rules: usize,
    /// How they are joined.
    pub aggregation: Aggregation,
    /// How the weights for tails were fitted, where they are summed.
    pub tails: Option<Fit>,
    /// How those for heads were; on a small graph they are the same.
    pub heads: Option<Fit>,
    /// Mean reciprocal rank on *valid* with this choice, before *valid* itself is fitted.
    pub valid_mrr: f64,
    /// How the proposals ended.
    pub ended: Ended,
}

/// The outcome of a search.
#[derive(Clone, Debug)]
pub struct Searched {
    /// A set of rules for every target that has any, by the data's numbers: joined in the way chosen on *valid*, its
    /// weights fitted to the facts of *valid* too.
    pub sets: Vec<TargetRules>,
    /// The same as they were judged, fitted without *valid*: for ranking *valid* itself, and for choosing on it again.
    /// Literals that change no answer may still be in them.
    pub judged: Vec<TargetRules>,
    /// What was found, target by target.
    pub reports: Vec<Report>,
}

/// What all targets share.
struct Setting<'a> {
    search: &'a Search,
    data: &'a Dataset,
    graph: &'a ClassMatrix,
    facts: &'a Neighbours,
    model: Option<&'a SoftModel>,
    extra: &'a [Rule],
    irreflexive: Vec<bool>,
    /// Where rules may branch.
    branches: Option<Branches>,
}

impl Search {
    /// Searches rules for `targets`, from a model's soft rules if there is one, from chains of one or
    /// two steps, and from `extra` rules. `watch` is told how many targets are done.
    pub fn run(
        &self,
        data: &Dataset,
        model: Option<&SoftModel>,
        extra: &[Rule],
        targets: &[Predicate],
        watch: &(dyn Fn(usize) + Sync),
    ) -> Result<Searched> {
        let names = data.names();
        let graph = data.graph(Background::Train);
        let (entities, facts, graph) = (graph.entities(), graph.neighbours(), graph.adjacency());
        let irreflexive = irreflexive(data, self.self_answers);
        let is_large = entities * entities > large::MOST_PAIRS;
        let branches = (self.branched > 0 && !is_large).then(|| Branches::new(facts));
        let setting = Setting { search: self, data, graph, facts, model, extra, irreflexive, branches };
        for rule in extra {
            Solver::new(rule, setting.facts, Limits::default())?;
        }
        let done = AtomicUsize::new(0);
        let walk = is_large.then(|| Walk::new(setting.facts));
        let tried: Vec<Tried> = targets
            .par_iter()
            .map(|&target| {
                let tried = match &walk {
                    Some(walk) => setting.large_target(walk, target),
                    None => setting.target(target),
                };
                watch(done.fetch_add(1, Ordering::Relaxed) + 1);
                tried
            })
            .collect();
        let mut chosen = choose(tried, self.aggregation, names);
        if walk.is_none() {
            chosen.par_iter_mut().for_each(|([_, set], report)| {
                *set = setting.shortened(set);
                report.rules = set.rules.len();
            });
        }
        let (both, reports): (Vec<_>, _) = chosen.into_iter().unzip();
        let (judged, sets): (Vec<_>, Vec<_>) = both.into_iter().map(|[judged, set]| (judged, set)).unzip();
        let some = |sets: Vec<TargetRules>| sets.into_iter().filter(|set| !set.rules.is_empty()).collect();
        Ok(Searched { sets: some(sets), judged: some(judged), reports })
    }
}

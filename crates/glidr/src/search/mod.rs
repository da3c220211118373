//! Search: the rules that do best on the data, proposed by the graph and by soft rules, evaluated, selected and
//! weighed for each target.
//!
//! In: a [`Dataset`], and where there is one a [`SoftModel`]. Out: [`Searched`]. Rules and weights come from *facts*
//! and *train*, the aggregation from *valid*; *test* is never looked at. The paper leaves open how to keep its
//! soft rules' strength in hard ones.
//!
//! The same search serves graphs of every size. On small graphs evaluation is exact; on large ones it is done on a
//! sample of each target's queries, and the exact one is the sample that holds every query and every fired candidate.

mod body;
mod choose;
mod compete;
mod ends;
mod evaluate;
mod propose;
mod rounds;
mod schedule;
mod select;
mod simplify;
mod target;
mod trial;
mod weigh;

pub use body::Kind;
use body::{MAX_STEPS, Steps};
use choose::choose;
use compete::is_exclusive;
use propose::Branches;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::constraint::KeptConstraint;
use crate::error::{Error, Result};
use crate::evaluate::Evaluation;
use crate::graph::{Background, ClassMatrix, Dataset, Predicate};
use crate::model::{SoftModel, SoftRule};
use crate::rule::{Aggregation, Rule, Schema, TargetRules};
use crate::solve::{Ended, Limits, Solver};
use crate::util::progress::Progress;

/// Grows whenever the same settings find other rules: figures kept from an older one are no longer of this search.
pub const REVISION: u32 = 9;

/// Where bodies are evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evaluated {
    /// On at most `max_facts` facts and `max_negatives` negatives, which small graphs do not reach. On graphs of at most
    /// 5,792 entities, rules of any shape are answered on the whole graph.
    #[default]
    Auto,
    /// On every query and every candidate.
    Exact,
    /// The same, with every rule answered query by query.
    Sampled,
}

/// How to search. A setting means the same on every graph.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting")]
pub struct Search {
    /// Confidence smoothing: added to a rule's answers, so that little evidence counts little.
    pub smoothing: f64,
    /// Facts that a rule must find at least, asked for tails and for heads.
    pub min_support: usize,
    /// Rules of a target that are kept, at most; as many more may be priors, which do not link X and Y. 0 keeps all that
    /// get some weight. Where not given 30, or for a target of more than 3,000 facts one more for every 40 beyond, up to 300.
    pub max_rules: Option<usize>,
    /// Plain rules of a target that these are taken from, at most; half as many may be similarity paths or need several
    /// groundings, and half as many may be endpoint patterns.
    pub max_pool: usize,
    /// Conjunctions of two of them, at most.
    pub max_conjunctions: usize,
    /// Paths of one or two steps that are counted, at most, those that link most facts first; and as many longer ones.
    pub max_paths: usize,
    /// Steps of a path, at most: 2 to 5. Longer ones than 2 are walked where the graph is sparse enough.
    pub max_steps: usize,
    /// Whether similarity paths of three steps are counted.
    pub similarity_paths: bool,
    /// Whether paths are also counted with several groundings at least.
    pub min_groundings: bool,
    /// Endpoint patterns of either end, at most, and as many constants; 25 for every two of them as pairs of patterns.
    pub max_patterns: usize,
    /// Rules counted around each soft rule, at most.
    pub local_search: usize,
    /// So many of the best rules are also counted with one literal more.
    pub max_refined: usize,
    /// Where bodies are evaluated.
    pub evaluated: Evaluated,
    /// Facts of a target that ask, at most, unless evaluation is exact; three for every five of them of *valid*.
    pub max_facts: usize,
    /// Negatives of a query for each of its answers, at most, unless evaluation is exact.
    pub max_negatives: usize,
    /// How rules are aggregated; chosen on *valid* for each target where not given.
    pub aggregation: Option<Aggregation>,
    /// Whether an entity may be its own answer where no training fact of the target says so of any.
    pub allow_reflexive: bool,
    /// Whether constraints are learned, and refuse candidates.
    pub constraints: bool,
    /// Whether one of them may be that pairs which are linked already get no other fact, where *valid* says so.
    pub linked: bool,
    /// Whether weights may be below 0, where *valid* gains by it.
    pub signed: bool,
    /// Whether predicates may compete for a pair, where a pair has one predicate and *valid* gains by it.
    pub compete: bool,
    /// Seed of the sample.
    pub seed: u64,
}

impl Default for Search {
    fn default() -> Self {
        Search {
            smoothing: 5.0,
            min_support: 2,
            max_rules: None,
            max_pool: 1200,
            max_conjunctions: 500,
            max_paths: 1250,
            max_steps: 5,
            similarity_paths: true,
            min_groundings: true,
            max_patterns: 200,
            local_search: 60,
            max_refined: 0,
            evaluated: Evaluated::Auto,
            max_facts: 5000,
            max_negatives: 250,
            aggregation: None,
            allow_reflexive: false,
            constraints: true,
            linked: true,
            signed: true,
            compete: true,
            seed: 0,
        }
    }
}

/// How weights were fitted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WeightFit {
    /// The L2 strength.
    pub l2: f64,
    /// Whether false negatives were masked: the likeliest candidates that are not known to be true.
    pub masking: bool,
    /// Whether weights may be below 0.
    pub signed: bool,
}

/// What was found for one target.
#[derive(Clone, Debug, Serialize)]
pub struct SearchReport {
    /// The target's name.
    pub target: String,
    /// Bodies that were counted.
    pub counted: usize,
    /// Rules that the kept ones were taken from, conjunctions included.
    pub pool: usize,
    /// Rules kept.
    pub rules: usize,
    /// How they are aggregated.
    pub aggregation: Aggregation,
    /// The least simple kind of bodies that counts, for tails and for heads.
    pub kinds: [Kind; 2],
    /// How the weights for tails were fitted, where they are summed.
    pub tails: Option<WeightFit>,
    /// How those for heads were.
    pub heads: Option<WeightFit>,
    /// Mean reciprocal rank on *valid*, fitted on *train*.
    pub valid_mrr: f64,
    /// How the proposals ended.
    pub ended: Ended,
}

/// The outcome of a search.
#[derive(Clone, Debug, Default)]
pub struct Searched {
    /// The rules of every target that has any, by the data's numbers, fitted on *train* and *valid*.
    pub rules: Vec<TargetRules>,
    /// The same fitted on *train*: for ranking *valid* itself, and for choosing on it.
    pub train_rules: Vec<TargetRules>,
    /// What was found, target by target.
    pub reports: Vec<SearchReport>,
    /// Targets that were not begun when the search was stopped; they have no rules.
    pub left_out: Vec<Predicate>,
    /// What each target's search brought up, where predicates exclude each other: see [`Search::compete`].
    brought_up: Vec<compete::BroughtUp>,
}

/// Exact evaluation is the default up to so many pairs of entities.
const MAX_EXACT_PAIRS: usize = 1 << 25;

/// What all targets share.
struct Context<'a> {
    search: &'a Search,
    data: &'a Dataset,
    graph: &'a ClassMatrix,
    steps: Steps<'a>,
    model: Option<&'a SoftModel>,
    extra: &'a [Rule],
    irreflexive: Vec<bool>,
    constraints: &'a [KeptConstraint],
    branches: Option<Branches>,
    /// Whether predicates exclude each other, so that they may compete for a pair.
    is_exclusive: bool,
    progress: &'a dyn Progress,
}

impl Search {
    /// Searches rules for `targets`: paths, endpoint patterns, what soft rules stand for if there is a model, and
    /// `extra` rules. Candidates that constraints refuse do not count. `progress` is told how many targets are done. It
    /// may limit the time, of which every target gets its part, and may stop the search: then targets that are begun end
    /// with what they have, and others are left out.
    pub fn run(
        &self,
        data: &Dataset,
        model: Option<&SoftModel>,
        extra: &[Rule],
        targets: &[Predicate],
        constraints: &[KeptConstraint],
        progress: &dyn Progress,
    ) -> Result<Searched> {
        self.check()?;
        let graph = data.graph(Background::Train);
        let facts = graph.neighbours();
        for rule in extra {
            Solver::new(rule, facts, Limits::default())?;
        }
        let evaluation = Evaluation { allow_reflexive: self.allow_reflexive, ..Evaluation::default() };
        let context = Context {
            search: self,
            data,
            graph: graph.adjacency(),
            steps: Steps::new(facts),
            model,
            extra,
            irreflexive: evaluation.irreflexive(data),
            constraints,
            branches: (self.max_refined > 0).then(|| Branches::new(facts)),
            is_exclusive: self.compete
                && is_exclusive(data)
                && targets.len() == data.names().predicates.len(),
            progress,
        };
        let (mut tried, left_out) = context.search_all(targets);
        let brought_up = tried.iter_mut().map(|tried| std::mem::take(&mut tried.brought_up));
        let brought_up = brought_up.filter(|_| context.is_exclusive && left_out.is_empty()).collect();
        let mut chosen = choose(tried, self.aggregation, data.names());
        chosen.par_iter_mut().for_each(|chosen| context.simplify(chosen));
        let mut searched = Searched { left_out, brought_up, ..Searched::default() };
        for chosen in chosen {
            searched.reports.push(chosen.report);
            searched.rules.extend(Some(chosen.train_and_valid).filter(|rules| !rules.rules.is_empty()));
            searched.train_rules.extend(Some(chosen.train).filter(|rules| !rules.rules.is_empty()));
        }
        Ok(searched)
    }
}

impl Search {
    /// Refuses settings outside their range, by name and value.
    pub fn check(&self) -> Result<()> {
        if !(2..=MAX_STEPS).contains(&self.max_steps) {
            let found = self.max_steps;
            return Err(Error::Setting(format!("max_steps must be from 2 to {MAX_STEPS}, but is {found}")));
        }
        if !(self.smoothing.is_finite() && self.smoothing >= 0.0) {
            let found = self.smoothing;
            return Err(Error::Setting(format!("smoothing must be a number of at least 0, but is {found}")));
        }
        Ok(())
    }

    /// Whether rules of any shape are answered on the whole graph.
    pub fn is_exact(&self, data: &Dataset) -> bool {
        let entities = data.names().entities.len();
        match self.evaluated {
            Evaluated::Auto => entities * entities <= MAX_EXACT_PAIRS,
            Evaluated::Exact => true,
            Evaluated::Sampled => false,
        }
    }
}

impl Context<'_> {
    /// Whether rules of any shape are answered on the whole graph.
    fn is_small(&self) -> bool {
        self.search.is_exact(self.data)
    }

    /// The soft rules of a target, by the model's numbers.
    fn soft_rules(&self, target: Predicate) -> Vec<(&SoftRule, Schema, Predicate)> {
        let name = self.data.names().predicates.name(target);
        let Some(model) = self.model.filter(|_| self.search.local_search > 0) else { return Vec::new() };
        let Ok(ensemble) = model.target(name) else { return Vec::new() };
        ensemble.rules.iter().map(|soft| (soft, model.schema, ensemble.target)).collect()
    }

    /// A rule of the model under the data's numbers; none where the data lacks a name.
    fn translated(&self, rule: &Rule) -> Option<Rule> {
        let (model, names) = (self.model?, self.data.names());
        rule.renumbered(
            |predicate| names.predicates.find(model.predicates.name(predicate)),
            |property| names.properties.find(model.properties.name(property)),
            |_| None,
        )
    }
}

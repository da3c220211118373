//! Extraction by search: the rules that do best on the data, proposed by soft rules and by the graph,
//! measured exactly, chosen and weighed for each target.
//!
//! In: a [`Dataset`], and where there is one a [`Model`]. Out: a [`RuleSet`] for every target. Rules and
//! weights come from *facts* and *train*, the way of joining from *valid*; *test* is never looked at.
//! The paper leaves open how to keep its soft rules' strength in hard ones.

mod bodies;
mod branches;
mod chains;
mod choose;
mod fit;
mod joined;
mod large;
mod lines;
mod listing;
mod pool;
mod propose;
mod rank;
mod rule_set;
mod sampled;
mod universe;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bodies::Walk;
use branches::{Branches, Parent};
use choose::{RESTRAINTS, Tried, Whole, choose};
pub use joined::{Joined, Share};
use pool::{Candidate, Pool, Sizes};
use rayon::prelude::*;
pub use rule_set::{Join, RuleSet, Weighed};
use serde::Serialize;

use crate::error::Result;
use crate::graph::{Dataset, Entity, Graph, Predicate, Property, Split, Triple};
use crate::model::{Background, Model};
use crate::rank::irreflexive;
use crate::rule::{Number, Rule};
use crate::solve::{Ended, Facts, Limits, Solver};

/// Grows whenever the same settings find other rules: figures kept from an older one are no longer of this search.
pub const REVISION: u32 = 2;

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// Added to a rule's answers when its confidence is taken, so that little evidence counts little.
    pub doubt: f64,
    /// Facts that a rule must find at least.
    pub least_support: usize,
    /// Rules of the pool that are no conjunctions, at most; on a large graph nine for every four of them.
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
    pub join: Option<Join>,
    /// Whether a rule is blamed for answers that are an entity with itself where no training fact of the
    /// target is: not if such answers are refused anyway ([`Ranking::self_answers`](crate::Ranking)).
    pub self_answers: bool,
}

impl Default for Search {
    fn default() -> Self {
        Search {
            doubt: 5.0,
            least_support: 2,
            base: 800,
            conjunctions: 1500,
            budget: 60,
            chains: 5000,
            branched: 0,
            questions: 1000,
            time: None,
            join: None,
            self_answers: false,
        }
    }
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
    pub join: Join,
    /// The strength of the weights' restraint, where they are summed.
    pub restraint: Option<f64>,
    /// Whether the fit of these weights took the likeliest pairs that are not known to be true for
    /// facts that may be missing, and not for rivals.
    pub doubting: bool,
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
    pub sets: Vec<RuleSet>,
    /// The same as they were judged, fitted without *valid*: for ranking *valid* itself, and for choosing on it again.
    /// Literals that change no answer may still be in them.
    pub judged: Vec<RuleSet>,
    /// What was found, target by target.
    pub reports: Vec<Report>,
}

/// Answers of a rule may be this many times the target's facts; with more it is of no use.
const MOST_ANSWERS: usize = 100;

/// What all targets share.
struct Setting<'a> {
    search: &'a Search,
    data: &'a Dataset,
    graph: Graph,
    facts: Facts,
    model: Option<&'a Model>,
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
        model: Option<&Model>,
        extra: &[Rule],
        targets: &[Predicate],
        watch: &(dyn Fn(usize) + Sync),
    ) -> Result<Searched> {
        let names = data.names();
        let facts: Vec<Triple> =
            Background::Train.splits().iter().flat_map(|&split| data.split(split)).copied().collect();
        let (entities, predicates, properties) =
            (names.entities.len(), names.predicates.len(), names.properties.len());
        let graph = Graph::new(entities, predicates, properties, &facts, data.traits());
        let facts = Facts::from(&graph);
        let irreflexive = irreflexive(data, self.self_answers);
        let is_large = entities * entities > large::MOST_PAIRS;
        let branches = (self.branched > 0 && !is_large).then(|| Branches::new(&facts));
        let setting = Setting { search: self, data, graph, facts, model, extra, irreflexive, branches };
        for rule in extra {
            Solver::new(rule, &setting.facts, Limits::default())?;
        }
        let done = AtomicUsize::new(0);
        let walk = is_large.then(|| Walk::new(&setting.facts));
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
        let mut chosen = choose(tried, self.join, names);
        if walk.is_none() {
            chosen.par_iter_mut().for_each(|([_, set], report)| {
                *set = setting.shortened(set);
                report.rules = set.rules.len();
            });
        }
        let (both, reports): (Vec<_>, _) = chosen.into_iter().unzip();
        let (judged, sets): (Vec<_>, Vec<_>) = both.into_iter().map(|[judged, set]| (judged, set)).unzip();
        let some = |sets: Vec<RuleSet>| sets.into_iter().filter(|set| !set.rules.is_empty()).collect();
        Ok(Searched { sets: some(sets), judged: some(judged), reports })
    }
}

impl Setting<'_> {
    fn target(&self, target: Predicate) -> Tried {
        let positives: Vec<(Entity, Entity)> = self.facts.pairs(target).collect();
        let truth: Vec<(u32, u32)> = positives.iter().map(|(head, tail)| (head.0, tail.0)).collect();
        let (base, measured, ended) = self.base(target, &positives);
        let sizes = Sizes {
            base: self.search.base,
            joined: self.search.base,
            conjunctions: self.search.conjunctions,
            least_support: self.search.least_support,
            doubt: self.search.doubt,
        };
        let (pool, universe) = Pool::new(self.facts.entities(), base, &truth, sizes);
        let held_out = self.data.split(Split::Valid).iter().filter(|fact| fact.predicate == target);
        let mut valid: Vec<(u32, u32)> = held_out.map(|fact| (fact.head.0, fact.tail.0)).collect();
        valid.retain(|pair| truth.binary_search(pair).is_err());
        let whole = Whole::new(universe, &truth, valid);
        let mut tried = Tried::new(target, pool, &whole, &RESTRAINTS);
        (tried.measured, tried.ended, tried.ground) = (measured, ended, Some(whole));
        tried
    }

    /// The rules that are not made of others: chains, what soft rules stand for, and extra ones.
    fn base(&self, target: Predicate, positives: &[(Entity, Entity)]) -> (Vec<Candidate>, usize, Ended) {
        let search = self.search;
        let deadline = search.time.map(|time| Instant::now() + time);
        let late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let mut known: HashMap<Rule, Option<Candidate>> = HashMap::new();
        let mut ended = Ended::Complete;
        for rule in self.extra.iter().filter(|rule| rule.target == target) {
            let found = self.candidate(rule, positives.len());
            known.insert(rule.clone(), found);
        }
        for (soft, schema, number) in self.soft_rules(target) {
            propose::search(soft, &schema, number, search.budget, &mut |rule| {
                if late() {
                    ended = Ended::TimeLimit;
                    return None;
                }
                let rule = self.translated(&rule)?;
                let candidate =
                    known.entry(rule.clone()).or_insert_with(|| self.candidate(&rule, positives.len()));
                candidate.as_ref().map(|candidate| candidate.confidence)
            });
        }
        for (rule, _) in chains::chains(&self.graph, target, positives, search.least_support)
            .into_iter()
            .take(search.chains)
        {
            if late() {
                ended = Ended::TimeLimit;
                break;
            }
            known.entry(rule.clone()).or_insert_with(|| self.candidate(&rule, positives.len()));
        }
        for (parent, rule) in self.to_branch(&known) {
            if late() {
                ended = Ended::TimeLimit;
                break;
            }
            let candidate = || {
                let found = self.candidate(&rule, positives.len());
                found.filter(|found| found.confidence > parent)
            };
            known.entry(rule.clone()).or_insert_with(candidate);
        }
        let measured = known.len();
        let base = known.into_values().flatten().map(|candidate| self.simplified(candidate, positives.len()));
        (base.collect(), measured, ended)
    }

    /// The best rules so far, each with one literal more, beside the confidence that this must pass.
    fn to_branch(&self, known: &HashMap<Rule, Option<Candidate>>) -> Vec<(f64, Rule)> {
        let Some(branches) = &self.branches else { return Vec::new() };
        let worth =
            |c: &Candidate| c.confidence * c.confidence * (c.answers.len() as f64 + self.search.doubt);
        let mut best: Vec<&Candidate> = known.values().flatten().collect();
        best.sort_by(|a, b| worth(b).total_cmp(&worth(a)).then_with(|| a.rule.cmp(&b.rule)));
        best.truncate(self.search.branched);
        let mut longer = Vec::new();
        for Candidate { rule, confidence, answers } in best {
            let parent = Parent { rule, confidence: *confidence, answers };
            let rules =
                branches.promising(&parent, &self.facts, self.search.least_support, self.search.doubt);
            longer.extend(rules.into_iter().map(|rule| (*confidence, rule)));
        }
        longer
    }

    /// The soft rules of a target, by the model's numbers.
    fn soft_rules(
        &self,
        target: Predicate,
    ) -> Vec<(&crate::model::SoftRule, crate::rule::Schema, Predicate)> {
        let name = self.data.names().predicates.name(target.0);
        let Some(model) = self.model else { return Vec::new() };
        let Ok(ensemble) = model.target(name) else { return Vec::new() };
        ensemble.rules.iter().map(|soft| (soft, model.schema, ensemble.target)).collect()
    }

    /// A rule of the model under the data's numbers; none where the data lacks a name.
    fn translated(&self, rule: &Rule) -> Option<Rule> {
        let (model, names) = (self.model?, self.data.names());
        rule.renumbered(
            |predicate| names.predicates.find(model.predicates.name(predicate.0)).map(Predicate),
            |property| names.properties.find(model.properties.name(property.0)).map(Property),
        )
    }

    /// Measures a rule; none where it finds too little, or says too much, to be of use.
    fn candidate(&self, rule: &Rule, positives: usize) -> Option<Candidate> {
        let limits = Limits { time: self.search.time, answers: Some(positives * MOST_ANSWERS) };
        let solver = Solver::new(rule, &self.facts, limits).ok()?;
        let mut found = solver.fair_answers();
        if self.irreflexive[rule.target.0 as usize] {
            found.value.retain(|(head, tail)| head != tail);
        }
        if found.ended != Ended::Complete {
            return None;
        }
        let target = rule.target;
        let is_fact =
            |&&(head, tail): &&(Entity, Entity)| self.facts.holds(Triple { head, predicate: target, tail });
        let support = found.value.iter().filter(is_fact).count();
        let confidence = support as f64 / (found.value.len() as f64 + self.search.doubt);
        (support >= self.search.least_support).then(|| Candidate {
            rule: rule.clone(),
            confidence,
            answers: found.value,
        })
    }

    /// Drops literals whose removal changes no answer.
    fn simplified(&self, mut candidate: Candidate, positives: usize) -> Candidate {
        let _ = candidate.rule.clone().shortened(|shorter| {
            if self.says_more(shorter, &candidate) {
                return false;
            }
            let found = self.candidate(shorter, positives);
            let Some(found) = found.filter(|found| found.answers == candidate.answers) else { return false };
            candidate = found;
            true
        });
        candidate
    }

    /// Whether a shorter rule has an answer more that is no fact; most have, and one is found soon.
    fn says_more(&self, shorter: &Rule, than: &Candidate) -> bool {
        let limits = Limits { time: self.search.time, answers: None };
        let Ok(solver) = Solver::new(shorter, &self.facts, limits) else { return true };
        let target = shorter.target;
        (0..self.facts.entities() as u32).map(Entity).any(|head| {
            let own = self.irreflexive[target.index()].then_some(head);
            let mut tails = solver.tails(head).value.into_iter().filter(|&tail| Some(tail) != own);
            tails.any(|tail| {
                than.answers.binary_search(&(head, tail)).is_err()
                    && !self.facts.holds(Triple { head, predicate: target, tail })
            })
        })
    }

    /// The chosen rules without literals that change no answer, which conjunctions may still have; rules
    /// that are then one are merged. Rules not reached within a target's time stay as they are.
    fn shortened(&self, set: &RuleSet) -> RuleSet {
        let positives = self.facts.pairs(set.target).count();
        let deadline = self.search.time.map(|time| Instant::now() + time);
        let mut merged: BTreeMap<Rule, Number> = BTreeMap::new();
        for Weighed { rule, number } in &set.rules {
            let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let found = if late { None } else { self.candidate(rule, positives) };
            let rule = found.map_or_else(|| rule.clone(), |found| self.simplified(found, positives).rule);
            merged
                .entry(rule)
                .and_modify(|known| *known = set.join.merged(*known, *number))
                .or_insert(*number);
        }
        let rules = merged.into_iter().map(|(rule, number)| Weighed { rule, number }).collect();
        RuleSet::new(set.target, set.join, rules)
    }
}

//! A target of a graph small enough to measure every rule on the whole of it.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use super::branches::Parent;
use super::choose::{L2S, Tried};
use super::ground::Whole;
use super::pool::{Candidate, Pool, Sizes};
use super::{Setting, chains, propose};
use crate::graph::{Entity, Predicate, Property, Split, Triple};
use crate::model::SoftRule;
use crate::rule::{Rule, Schema, Weight};
use crate::rule::{TargetRules, WeightedRule};
use crate::solve::{Ended, Limits, Solver};

/// Answers of a rule may be this many times the target's facts; with more it is of no use.
const MOST_ANSWERS: usize = 100;

impl Setting<'_> {
    /// Searches one target's rules, each measured on the whole graph.
    pub(super) fn target(&self, target: Predicate) -> Tried {
        let positives: Vec<(Entity, Entity)> = self.facts.pairs(target).collect();
        let truth: Vec<(u32, u32)> = positives.iter().map(|(head, tail)| (head.0, tail.0)).collect();
        let (base, measured, ended) = self.base(target, &positives);
        let sizes = Sizes {
            base: self.search.base,
            joined: self.search.base,
            conjunctions: self.search.conjunctions,
            least_support: self.search.least_support,
            smoothing: self.search.smoothing,
        };
        let (pool, universe) = Pool::new(self.facts.entities(), base, &truth, sizes);
        let held_out = self.data.split(Split::Valid).iter().filter(|fact| fact.predicate == target);
        let mut valid: Vec<(u32, u32)> = held_out.map(|fact| (fact.head.0, fact.tail.0)).collect();
        valid.retain(|pair| truth.binary_search(pair).is_err());
        let whole = Whole::new(universe, &truth, valid);
        let mut tried = Tried::new(target, pool, &whole, &L2S);
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
        for (rule, _) in chains::chains(self.graph, target, positives, search.least_support)
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
            |c: &Candidate| c.confidence * c.confidence * (c.answers.len() as f64 + self.search.smoothing);
        let mut best: Vec<&Candidate> = known.values().flatten().collect();
        best.sort_by(|a, b| worth(b).total_cmp(&worth(a)).then_with(|| a.rule.cmp(&b.rule)));
        best.truncate(self.search.branched);
        let mut longer = Vec::new();
        for Candidate { rule, confidence, answers } in best {
            let parent = Parent { rule, confidence: *confidence, answers };
            let rules =
                branches.promising(&parent, self.facts, self.search.least_support, self.search.smoothing);
            longer.extend(rules.into_iter().map(|rule| (*confidence, rule)));
        }
        longer
    }

    /// The soft rules of a target, by the model's numbers.
    fn soft_rules(&self, target: Predicate) -> Vec<(&SoftRule, Schema, Predicate)> {
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
        let solver = Solver::new(rule, self.facts, limits).ok()?;
        let mut found = solver.leave_one_out_answers();
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
        let confidence = support as f64 / (found.value.len() as f64 + self.search.smoothing);
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
        let Ok(solver) = Solver::new(shorter, self.facts, limits) else { return true };
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
    pub(super) fn shortened(&self, set: &TargetRules) -> TargetRules {
        let positives = self.facts.pairs(set.target).count();
        let deadline = self.search.time.map(|time| Instant::now() + time);
        let mut merged: BTreeMap<Rule, Weight> = BTreeMap::new();
        for WeightedRule { rule, weight: number, .. } in &set.rules {
            let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let found = if late { None } else { self.candidate(rule, positives) };
            let rule = found.map_or_else(|| rule.clone(), |found| self.simplified(found, positives).rule);
            merged
                .entry(rule)
                .and_modify(|known| *known = set.aggregation.merged(*known, *number))
                .or_insert(*number);
        }
        let rules = merged.into_iter().map(|(rule, number)| WeightedRule::new(rule, number)).collect();
        TargetRules::new(set.target, set.aggregation, rules)
    }
}

//! Rules without literals that change no answer.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use super::Context;
use super::choose::Chosen;
use super::evaluate::{Evaluator, Exact};
use crate::rule::{Rule, TargetRules, Weight, WeightedRule};
use crate::solve::Limits;

impl Context<'_> {
    /// Drops literals that change no answer, which conjunctions and rules of local search may have, where the graph
    /// is small; rules that are then one are merged. Rules not reached within a target's time stay as they are.
    pub(super) fn simplify(&self, chosen: &mut Chosen) {
        if !self.is_small() {
            return;
        }
        let target = chosen.train.target;
        let limits = Limits { time: self.search.time, answers: None };
        let evaluator = Exact::new(&self.steps, target, self.irreflexive[target.index()], limits);
        let started = Instant::now();
        let is_late = || self.search.time.is_some_and(|time| started.elapsed() >= time);
        let mut simpler: HashMap<Rule, Rule> = HashMap::new();
        for rules in [&mut chosen.train_and_valid, &mut chosen.train] {
            let mut merged: BTreeMap<Rule, Weight> = BTreeMap::new();
            for WeightedRule { rule, weight, .. } in &rules.rules {
                let simple = simpler.entry(rule.clone()).or_insert_with(|| {
                    if is_late() { rule.clone() } else { evaluator.simplified(rule.clone()) }
                });
                merged
                    .entry(simple.clone())
                    .and_modify(|known| *known = rules.aggregation.merged(*known, *weight))
                    .or_insert(*weight);
            }
            let merged = merged.into_iter().map(|(rule, weight)| WeightedRule::new(rule, weight)).collect();
            *rules = TargetRules::new(target, rules.aggregation, merged);
        }
        chosen.report.rules = chosen.train_and_valid.rules.len();
    }
}

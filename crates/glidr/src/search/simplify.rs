//! Rules without literals that change no answer.

use std::collections::{BTreeMap, HashMap};

use super::Context;
use super::choose::Chosen;
use crate::rule::{Rule, TargetRules, Weight, WeightedRule};

impl Context<'_> {
    /// Drops literals that change no answer, which conjunctions and rules of local search may have; rules that are then
    /// one are merged. Rules that the time does not reach stay as they are.
    pub(super) fn simplify(&self, chosen: &mut Chosen) {
        let target = chosen.train.target;
        let evaluator = self.evaluator(target, self.progress.time_left());
        let is_late = || self.progress.is_stopped();
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

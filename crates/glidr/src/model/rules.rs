//! The searched rules of a model, with the names that they use: rules that travel.
//!
//! In: rules by the numbers of some data. Out: the same by numbers of their own, and under the names of other data.
//!
//! Rules are fitted twice: on *train* and *valid*, to predict with, and on *train* alone, to be judged on *valid*.
//! Most rules stand in both, so that a file keeps of the second set only the weights of these.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::graph::Vocabulary;
use crate::rule::{Renumbered, RuleSet, TargetRules, Weight, WeightedRule};

/// Searched rules with the names that they use and no others.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleModel {
    /// The predicates, properties and constants of the rules.
    pub names: Vocabulary,
    /// The rules, fitted on *train* and *valid*, by the numbers of [`names`](RuleModel::names).
    pub rules: RuleSet,
    /// The rules as they were fitted on *train* alone: what ranks *valid* must not have seen it.
    pub train_rules: Option<RuleSet>,
}

impl RuleModel {
    /// Keeps rules that are numbered by `names`.
    pub fn new(rules: &RuleSet, train_rules: Option<&RuleSet>, names: &Vocabulary) -> Self {
        let all = rules.bare().chain(train_rules.into_iter().flat_map(RuleSet::bare));
        let own = Vocabulary::of_rules(all, names);
        RuleModel {
            rules: rules.renumbered(names, &own).rules,
            train_rules: train_rules.map(|rules| rules.renumbered(names, &own).rules),
            names: own,
        }
    }

    /// The rules under the numbers of some data.
    pub fn on(&self, names: &Vocabulary) -> Renumbered {
        self.rules.renumbered(&self.names, names)
    }

    /// The rules fitted on *train* alone, under the numbers of some data.
    pub fn train_rules_on(&self, names: &Vocabulary) -> Option<Renumbered> {
        Some(self.train_rules.as_ref()?.renumbered(&self.names, names))
    }

    /// The rules fitted on *train* as what differs from the others: a line with the weight of each of these, and the
    /// rules that are not among them.
    pub(super) fn difference(&self, train_rules: &RuleSet) -> (String, RuleSet) {
        let mut left: BTreeMap<_, Vec<&WeightedRule>> = BTreeMap::new();
        for (target, weighted) in with_targets(train_rules) {
            let key = (target.target, target.aggregation, &weighted.rule, weighted.measures);
            left.entry(key).or_default().push(weighted);
        }
        let mut lines = String::new();
        for (target, weighted) in with_targets(&self.rules) {
            let key = (target.target, target.aggregation, &weighted.rule, weighted.measures);
            let same = left.get_mut(&key).and_then(Vec::pop);
            lines += &(same.map_or("-".to_owned(), |same| same.weight.to_string()) + "\n");
        }
        let rest = left.into_iter().map(|((target, aggregation, ..), rules)| {
            TargetRules::new(target, aggregation, rules.into_iter().cloned().collect())
        });
        (lines, RuleSet::new(rest))
    }

    /// The rules fitted on *train*, from what differs.
    pub(super) fn from_difference(rules: &RuleSet, lines: &str, rest: RuleSet) -> Result<RuleSet> {
        let mut targets = Vec::new();
        let mut lines = lines.lines();
        for target in rules.targets() {
            let mut known = Vec::new();
            for weighted in &target.rules {
                let line = lines.next().ok_or_else(|| wrong("there are too few"))?;
                if line != "-" {
                    let weight = Weight::parse(line).ok_or_else(|| wrong(line))?;
                    known.push(WeightedRule { weight, ..weighted.clone() });
                }
            }
            targets.push(TargetRules::new(target.target, target.aggregation, known));
        }
        if lines.next().is_some() {
            return Err(wrong("there are too many"));
        }
        Ok(RuleSet::new(targets.into_iter().chain(rest.into_targets())))
    }
}

/// Every rule beside the rules of its target.
fn with_targets(rules: &RuleSet) -> impl Iterator<Item = (&TargetRules, &WeightedRule)> {
    rules.targets().iter().flat_map(|target| target.rules.iter().map(move |weighted| (target, weighted)))
}

fn wrong(found: &str) -> Error {
    Error::Rule(format!("each rule must have one weight fitted on train, or “-”, but: {found}"))
}

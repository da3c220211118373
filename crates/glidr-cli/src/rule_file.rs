//! Rules in a file, read under the names of some data.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use glidr::graph::Vocabulary;
use glidr::rule::{Clause, Measures, RuleNames, Weight, parse_rules, quoted};
use glidr::solve::{Limits, Solver};
use glidr::{Aggregation, TargetRules, WeightedRule};
use glidr::{Background, Dataset, Predicate, Rule};

/// The rules of one file, in their order.
pub struct RuleFile {
    rules: Vec<(Rule, Option<Weight>)>,
    joins: BTreeMap<Predicate, Aggregation>,
}

impl RuleFile {
    /// Reads a file; errors name line and column.
    pub fn open(path: &Path, data: &Dataset) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let mut file = RuleFile { rules: Vec::new(), joins: BTreeMap::new() };
        for clause in parse_rules(path, &text)? {
            match clause {
                Clause::Rule(written) => file.rules.push((written.rule(path, data.names())?, written.weight)),
                Clause::Aggregation(target, how) => {
                    let join = Aggregation::parse(&how).with_context(|| path.display().to_string())?;
                    let target =
                        data.names().predicate(&target).with_context(|| path.display().to_string())?;
                    file.joins.insert(target, join);
                }
            }
        }
        anyhow::ensure!(
            !file.rules.is_empty(),
            "{}: a file of rules must hold at least one rule, but holds none",
            path.display()
        );
        Ok(file)
    }

    /// The rules alone.
    pub fn rules(self) -> Vec<Rule> {
        self.rules.into_iter().map(|(rule, _)| rule).collect()
    }

    /// The rules by target; a rule without a number gets the confidence counted on *facts* and *train*.
    pub fn sets(self, data: &Dataset) -> anyhow::Result<Vec<TargetRules>> {
        let facts = data.graph(Background::Train).neighbours();
        let mut by_target: BTreeMap<Predicate, Vec<WeightedRule>> = BTreeMap::new();
        for (rule, number) in self.rules {
            let number = match number {
                Some(number) => number,
                None => Solver::new(&rule, facts, Limits::default())?
                    .measure()
                    .value
                    .smoothed_confidence(Measures::SMOOTHING)
                    .into(),
            };
            by_target.entry(rule.target).or_default().push(WeightedRule::new(rule, number));
        }
        let join = |target| self.joins.get(&target).copied().unwrap_or(Aggregation::NoisyOr);
        Ok(by_target
            .into_iter()
            .map(|(target, rules)| TargetRules::new(target, join(target), rules))
            .collect())
    }
}

/// The names that rules over some data are printed with.
pub fn rule_names(names: &Vocabulary) -> RuleNames<'_> {
    RuleNames {
        predicates: &names.predicates,
        properties: &names.properties,
        entities: Some(&names.entities),
    }
}

/// Sets of rules as a text that can be read again.
pub fn text_of(sets: &[TargetRules], names: &Vocabulary) -> String {
    let mut text = String::new();
    for set in sets {
        text += &format!(
            ":- aggregation({}, {}).\n",
            quoted_argument(names.predicates.name(set.target)),
            set.aggregation
        );
        for weighed in &set.rules {
            text += &format!("{} :: {}\n", weighed.weight, weighed.rule.show(rule_names(names)));
        }
    }
    text
}

/// A predicate's name as an argument: quoted wherever it could be read as something else.
fn quoted_argument(name: &str) -> String {
    let shown = quoted(name);
    if shown.starts_with(|c: char| c.is_ascii_lowercase() || c == '\'') {
        shown
    } else {
        format!("'{shown}'")
    }
}

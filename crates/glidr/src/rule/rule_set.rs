//! The rules of all targets: what a rule file holds.
//!
//! In: a text as docs/rules.md has it, and the names of some data. Out: a [`RuleSet`], which prints as a text that is
//! read back as the very same set.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::printer::quoted_argument;
use super::{Aggregation, Clause, Measures, Rule, RuleNames, TargetRules, WeightedRule, parse_rules};
use crate::error::{Error, Result};
use crate::graph::{Predicate, Vocabulary};
use crate::util::atomic_file;
use crate::util::file_kind::FileKind;

/// The rules of all targets, by the numbers of one vocabulary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleSet {
    /// By target; one without rules stands here only if it has some without weights.
    targets: Vec<TargetRules>,
    /// By target, then as they were written.
    unweighted: Vec<Rule>,
}

impl RuleSet {
    /// The rules of several targets; what is given twice for a target is put together, under the first aggregation.
    pub fn new(targets: impl IntoIterator<Item = TargetRules>) -> Self {
        let mut by_target: BTreeMap<Predicate, (Aggregation, Vec<WeightedRule>)> = BTreeMap::new();
        for given in targets.into_iter().filter(|given| !given.rules.is_empty()) {
            let (_, rules) = by_target.entry(given.target).or_insert((given.aggregation, Vec::new()));
            rules.extend(given.rules);
        }
        let set = |(target, (aggregation, rules))| TargetRules::new(target, aggregation, rules);
        RuleSet { targets: by_target.into_iter().map(set).collect(), unweighted: Vec::new() }
    }

    /// The rules target by target, in the order of the predicates' numbers.
    pub fn targets(&self) -> &[TargetRules] {
        &self.targets
    }

    /// The rules target by target.
    pub fn into_targets(self) -> Vec<TargetRules> {
        self.targets
    }

    /// The rules of one target, if it has any.
    pub fn target(&self, target: Predicate) -> Option<&TargetRules> {
        self.targets.iter().find(|rules| rules.target == target)
    }

    /// All rules that have a weight.
    pub fn rules(&self) -> impl Iterator<Item = &WeightedRule> {
        self.targets.iter().flat_map(|target| &target.rules)
    }

    /// All rules that have a weight, to be changed.
    pub(crate) fn rules_mut(&mut self) -> impl Iterator<Item = &mut WeightedRule> {
        self.targets.iter_mut().flat_map(|target| &mut target.rules)
    }

    /// Takes over what was counted of the same rules in another set.
    pub(crate) fn take_measures(&mut self, other: &RuleSet) {
        let counted: HashMap<&Rule, Measures> =
            other.rules().filter_map(|weighted| Some((&weighted.rule, weighted.measures?))).collect();
        self.rules_mut().for_each(|weighted| weighted.measures = counted.get(&weighted.rule).copied());
    }

    /// The rules that were written without a number, and must be counted before they count: see
    /// [`RuleSet::weigh`].
    pub fn unweighted(&self) -> &[Rule] {
        &self.unweighted
    }

    /// All rules without their weights, those that have one first.
    pub fn bare(&self) -> impl Iterator<Item = &Rule> {
        self.rules().map(|weighted| &weighted.rule).chain(&self.unweighted)
    }

    /// How many rules there are.
    pub fn len(&self) -> usize {
        self.bare().count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives every rule without a weight the one that `weigh` finds for it.
    pub(crate) fn weigh_by(&mut self, mut weigh: impl FnMut(Rule) -> Result<WeightedRule>) -> Result<()> {
        for rule in std::mem::take(&mut self.unweighted) {
            let target = rule.target;
            let weighted = weigh(rule)?;
            let found = self.targets.iter_mut().find(|rules| rules.target == target);
            found.expect("every rule's target stands among the targets").rules.push(weighted);
        }
        *self = RuleSet::new(std::mem::take(&mut self.targets));
        Ok(())
    }

    /// The same set with every rule changed, and how many rules `change` left out.
    pub(super) fn mapped(&self, change: impl Fn(&Rule) -> Option<Rule>) -> (Self, usize) {
        let mut sets = Sets::default();
        for target in &self.targets {
            for weighted in &target.rules {
                if let Some(rule) = change(&weighted.rule) {
                    sets.aggregations.insert(rule.target, target.aggregation);
                    sets.weighted.push(WeightedRule { rule, ..weighted.clone() });
                }
            }
        }
        for rule in &self.unweighted {
            if let Some(changed) = change(rule) {
                let aggregation = self.target(rule.target).map_or(Aggregation::NoisyOr, |t| t.aggregation);
                sets.aggregations.insert(changed.target, aggregation);
                sets.unweighted.push(changed);
            }
        }
        let set = sets.rule_set();
        let left_out = self.len() - set.len();
        (set, left_out)
    }
}

/// Rules that have no weight yet.
impl FromIterator<Rule> for RuleSet {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        Sets { unweighted: rules.into_iter().collect(), ..Sets::default() }.rule_set()
    }
}

/// Rules and aggregations as they come.
#[derive(Default)]
struct Sets {
    weighted: Vec<WeightedRule>,
    unweighted: Vec<Rule>,
    aggregations: BTreeMap<Predicate, Aggregation>,
}

impl Sets {
    fn rule_set(mut self) -> RuleSet {
        let mut by_target: BTreeMap<Predicate, Vec<WeightedRule>> = BTreeMap::new();
        for rule in &self.unweighted {
            by_target.entry(rule.target).or_default();
        }
        for weighted in self.weighted {
            by_target.entry(weighted.rule.target).or_default().push(weighted);
        }
        self.unweighted.sort_by_key(|rule| rule.target);
        let aggregation = |target| self.aggregations.get(&target).copied().unwrap_or(Aggregation::NoisyOr);
        let set = |(target, rules)| TargetRules::new(target, aggregation(target), rules);
        RuleSet { targets: by_target.into_iter().map(set).collect(), unweighted: self.unweighted }
    }
}

/// Text.
impl RuleSet {
    /// Reads a text of rules under the names of some data; an error names `path`, line and column.
    ///
    /// A rule without a number gets the smoothed confidence of the counts behind it; without these too it is
    /// [`unweighted`](RuleSet::unweighted).
    ///
    /// ```
    /// use glidr::{Dataset, RuleSet};
    /// let families = Dataset::families(0);
    /// let text = "0.9 :: uncle(X, Y) :- brother(X, Z), (mother(Z, Y) ; father(Z, Y)).";
    /// let rules = RuleSet::parse("my.rules", text, families.names())?;
    /// assert_eq!(rules.len(), 1);
    /// assert_eq!(RuleSet::parse("again", &rules.to_text(families.names()), families.names())?, rules);
    /// # Ok::<(), glidr::Error>(())
    /// ```
    pub fn parse(path: impl AsRef<Path>, text: &str, names: &Vocabulary) -> Result<Self> {
        let path = path.as_ref();
        let (mut sets, mut below_0) = (Sets::default(), Vec::new());
        for clause in parse_rules(path, text)? {
            match clause {
                Clause::Rule(written) => {
                    let rule = written.rule(path, names)?;
                    let weighted = match (written.weight, written.measures) {
                        (Some(weight), measures) => WeightedRule { rule, weight, measures },
                        (None, Some(measures)) => WeightedRule::of_measures(rule, measures),
                        (None, None) => {
                            sets.unweighted.push(rule);
                            continue;
                        }
                    };
                    if weighted.weight.tail.min(weighted.weight.head) < 0.0 {
                        below_0.push((weighted.rule.target, written.head));
                    }
                    sets.weighted.push(weighted);
                }
                Clause::Aggregation(written) => {
                    let (target, aggregation) = written.resolve(path, names)?;
                    sets.aggregations.insert(target, aggregation);
                }
                Clause::Constraint(written) => {
                    let finding = "a text of rules must have no constraints, but here is one: give them in a file of their own";
                    return Err(written.error(path, finding));
                }
            }
        }
        let set = sets.rule_set();
        let is_summed = |target| set.target(target).is_some_and(|rules| rules.aggregation.is_sum());
        match below_0.iter().find(|(target, _)| !is_summed(*target)) {
            Some((_, head)) => {
                let finding = "a number before a rule must be at least 0 unless the target's rules are summed, but here it is less";
                Err(head.error(path, finding))
            }
            None => Ok(set),
        }
    }

    /// Reads a file of rules, of which there must be one at least; a file of another kind gets an error that says
    /// what it is.
    pub fn read(path: impl AsRef<Path>, names: &Vocabulary) -> Result<Self> {
        let path = path.as_ref();
        let other =
            |error: Error| FileKind::mistaken(path, "a text of rules", &[FileKind::Rules]).unwrap_or(error);
        let text = std::fs::read_to_string(path).map_err(|error| other(Error::file(path, error)))?;
        let rules = RuleSet::parse(path, &text, names).map_err(other)?;
        if rules.is_empty() {
            let finding = "a file of rules must hold at least one rule, but holds none";
            return Err(other(Error::data(path, finding)));
        }
        Ok(rules)
    }

    /// The set as a text that is read back as the same set.
    pub fn to_text(&self, names: &Vocabulary) -> String {
        let show = |rule: &Rule| rule.show(RuleNames::from(names));
        let mut text = String::new();
        for target in &self.targets {
            let name = quoted_argument(names.predicates.name(target.target));
            text += &format!(":- aggregation({name}, {}).\n", target.aggregation);
            for WeightedRule { rule, weight, measures } in &target.rules {
                let counted = measures.map_or(String::new(), |measures| format!(" % {measures}"));
                text += &format!("{weight} :: {}{counted}\n", show(rule));
            }
            for rule in self.unweighted.iter().filter(|rule| rule.target == target.target) {
                text += &(show(rule) + "\n");
            }
        }
        text
    }

    /// Writes the text as a file that is there whole or not at all; refuses weights that no text can hold.
    pub fn write(&self, path: impl AsRef<Path>, names: &Vocabulary) -> Result<()> {
        self.check()?;
        atomic_file::write(path.as_ref(), self.to_text(names))
    }

    /// Refuses weights that are no finite numbers, or below 0 where they are not summed.
    pub(crate) fn check(&self) -> Result<()> {
        for target in &self.targets {
            let is_sound = |weight: f64| weight.is_finite() && (weight >= 0.0 || target.aggregation.is_sum());
            let mut weights = target.rules.iter().flat_map(|rule| [rule.weight.tail, rule.weight.head]);
            if let Some(bad) = weights.find(|&weight| !is_sound(weight)) {
                return Err(Error::Rule(format!(
                    "weights must be finite, and at least 0 unless they are summed, but one is {bad}"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Dataset;

    #[test]
    fn a_weight_below_0_is_read_where_rules_are_summed_and_refused_elsewhere() {
        let families = Dataset::families(0);
        let parse = |how: &str| {
            let text = format!(":- aggregation(wife, {how}).\n-0.5 / 1.25 :: wife(X, Y) :- husband(Y, X).\n");
            RuleSet::parse("my.rules", &text, families.names())
        };
        for how in ["sum", "softmax"] {
            let set = parse(how).expect("summed");
            let weight = set.rules().next().expect("a rule").weight;
            assert_eq!((weight.tail, weight.head), (-0.5, 1.25));
            let again = RuleSet::parse("again", &set.to_text(families.names()), families.names());
            assert_eq!(again.expect("its own text"), set);
        }
        let error = parse("noisy_or").expect_err("no confidence is below 0").to_string();
        assert!(error.starts_with("my.rules:2:16: "), "{error}");
    }
}

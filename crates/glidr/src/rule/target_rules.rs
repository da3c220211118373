//! The rules of one target, each with its weight and what was counted of it.

use super::{Aggregation, Measures, Rule, Weight};
use crate::graph::{Direction, Predicate};

/// What the rating of a rule counts for each further atom or constant.
const PER_ATOM: f64 = 0.95;

/// A rule with its weight: a confidence, or where rules are summed any number.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedRule {
    /// The rule.
    pub rule: Rule,
    /// Its confidence or weight, for each direction.
    pub weight: Weight,
    /// What was counted of it, where that is known.
    pub measures: Option<Measures>,
}

impl WeightedRule {
    /// A rule of which nothing was counted.
    pub fn new(rule: Rule, weight: impl Into<Weight>) -> Self {
        WeightedRule { rule, weight: weight.into(), measures: None }
    }

    /// Its confidence: support / answers as counted; where nothing was counted, its weight.
    pub fn confidence(&self) -> f64 {
        self.measures.map_or(self.weight.max(), |measures| measures.confidence())
    }

    /// How good it is to read: support / (answers + 5), so that little evidence counts little, times 0.95 for each atom
    /// beyond the first and each constant, so that a simpler rule comes before a longer one that is hardly more confident.
    /// Its weight where nothing was counted.
    pub fn rating(&self) -> f64 {
        let worth = |measures: Measures| {
            measures.smoothed_confidence(Measures::SMOOTHING) * PER_ATOM.powf(self.rule.complexity() as f64)
        };
        self.measures.map_or(self.weight.max(), worth)
    }

    /// Whether it speaks against its answers in both directions, or in one and for none in the other.
    pub fn speaks_against(&self) -> bool {
        self.weight.max() <= 0.0 && self.weight.tail.min(self.weight.head) < 0.0
    }

    /// Whether it gives answers that may be shown with it: it links X and Y, and does not speak against them.
    pub fn is_reason(&self) -> bool {
        self.rule.links_ends() && !self.speaks_against()
    }

    /// A rule of which this was counted.
    pub fn counted(rule: Rule, measures: Measures) -> Self {
        WeightedRule { measures: Some(measures), ..WeightedRule::new(rule, 0.0) }
    }

    /// A rule whose weight is the smoothed confidence that was counted.
    pub fn of_measures(rule: Rule, measures: Measures) -> Self {
        let weight = measures.smoothed_confidence(Measures::SMOOTHING).into();
        WeightedRule { rule, weight, measures: Some(measures) }
    }
}

/// The rules of one target, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetRules {
    /// The predicate they define.
    pub target: Predicate,
    /// How those that fire are aggregated.
    pub aggregation: Aggregation,
    /// The rules; highest weight first, of the two that a rule has the greater.
    pub rules: Vec<WeightedRule>,
}

impl TargetRules {
    /// The rules in their order.
    pub fn new(target: Predicate, aggregation: Aggregation, mut rules: Vec<WeightedRule>) -> Self {
        let by_weights = |a: &WeightedRule, b: &WeightedRule| {
            b.weight.tail.total_cmp(&a.weight.tail).then_with(|| b.weight.head.total_cmp(&a.weight.head))
        };
        rules.sort_by(|a, b| {
            let by_max = b.weight.max().total_cmp(&a.weight.max()).then_with(|| a.rule.cmp(&b.rule));
            // A rule should stand once; where it does not, the order is still the same for equal rules.
            by_max.then_with(|| by_weights(a, b)).then_with(|| a.measures.cmp(&b.measures))
        });
        TargetRules { target, aggregation, rules }
    }

    /// The rules that link X and Y and speak for their answers, by their places, most confident first; one of which nothing
    /// was counted by its weight.
    pub fn linked_by_confidence(&self) -> Vec<usize> {
        let mut places: Vec<usize> =
            (0..self.rules.len()).filter(|&place| self.rules[place].is_reason()).collect();
        let confidence = |place: usize| self.rules[place].confidence();
        places.sort_by(|&a, &b| confidence(b).total_cmp(&confidence(a)));
        places
    }

    /// The rules that count in a direction, by their places, highest weight first.
    pub fn that_count(&self, direction: Direction) -> Vec<usize> {
        let weight = |rule: usize| self.rules[rule].weight.of(direction);
        let counts = |&rule: &usize| !self.aggregation.is_sum() || weight(rule) != 0.0;
        let mut order: Vec<usize> = (0..self.rules.len()).filter(counts).collect();
        order.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)));
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Entity;
    use crate::rule::{Atom, Literal, Term};

    #[test]
    fn of_rules_that_are_about_as_good_the_simpler_is_rated_higher() {
        let pair = |a, b| Literal::any_of(vec![Atom::Pair(Predicate(1), a, b)]);
        let rated = |body: &[Literal], support: usize| {
            let measures = Measures { support, body: 100, pca_body: 100, facts: 200 };
            WeightedRule::counted(Rule::new(Predicate(0), body), measures).rating()
        };
        let simple = [pair(Term::X, Term::Y)];
        let longer = [pair(Term::X, Term::Y), pair(Term::X, Term::Z(1))];
        let with_constant = [pair(Term::X, Term::Y), pair(Term::X, Term::Constant(Entity(3)))];
        assert!(rated(&simple, 80) > rated(&longer, 82));
        assert!(rated(&longer, 80) > rated(&with_constant, 82));
        assert!(rated(&longer, 90) > rated(&simple, 80), "much more confidence is worth a literal");
    }
}

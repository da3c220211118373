//! Predicates that compete for a pair: rules and weights of all of them, fitted together.
//!
//! In: the bodies that the targets' searches brought up. Out: for each predicate few rules and their weights of either
//! sign, so that of a linked pair's predicates the one that holds is the likeliest. This is for graphs where a pair has one
//! predicate and most pairs have one, as among kin: there a rule for one predicate speaks against all others.

mod examples;
mod greedy;
mod objective;

use std::collections::HashSet;

use super::body::{Body, Steps};
use super::evaluate::Evaluator;
use super::select::conjunction;
use super::{Search, Searched};
use crate::graph::{Background, Dataset, Predicate, Split};
use crate::rule::{Aggregation, Rule, TargetRules, Weight, WeightedRule};
use crate::util::progress::Progress;
use examples::{Examples, Features};
use greedy::{Offer, take_together};

/// Of the linked pairs so many may have a second predicate.
const MAX_SHARED: f64 = 0.05;
/// Of all pairs so many must be linked.
const MIN_LINKED: f64 = 0.25;
/// Weights nearer to 0 are dropped.
const MIN_WEIGHT: f64 = 1e-2;

/// What a target's search brought up: bodies, and conjunctions of two of them.
#[derive(Clone, Debug, Default)]
pub(super) struct BroughtUp {
    pub bodies: Vec<AnyBody>,
    pub conjunctions: Vec<(usize, usize)>,
}

/// A body of any target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum AnyBody {
    /// One that is walked directly.
    Walked(Body),
    /// Any other rule, whatever its target.
    General(Rule),
}

impl AnyBody {
    /// The body as any target's search knows it.
    pub fn of(body: Body, evaluator: &dyn Evaluator) -> Self {
        match body {
            Body::General(_) => AnyBody::General(retargeted(&evaluator.rule(body), Predicate(0))),
            walked => AnyBody::Walked(walked),
        }
    }

    fn rule(&self, steps: &Steps, target: Predicate) -> Rule {
        match self {
            AnyBody::Walked(body) => steps.rule(*body, target),
            AnyBody::General(rule) => retargeted(rule, target),
        }
    }
}

fn retargeted(rule: &Rule, target: Predicate) -> Rule {
    Rule::new(target, rule.body()).with_min_groundings(rule.min_groundings())
}

/// Whether nearly every linked pair has one predicate, and many pairs are linked.
pub(super) fn is_exclusive(data: &Dataset) -> bool {
    let graph = data.graph(Background::Train);
    let entities = graph.entities() as f64;
    let pairs: HashSet<(u32, u32)> = graph.facts().iter().map(|fact| (fact.head.0, fact.tail.0)).collect();
    let linked = pairs.len() as f64;
    let shared = graph.facts().len() as f64 - linked;
    !data.split(Split::Valid).is_empty()
        && shared <= MAX_SHARED * linked
        && linked >= MIN_LINKED * entities * entities
}

impl Search {
    /// Fits the rules of all predicates together, from what their searches brought up; none where predicates do not
    /// exclude each other, or nothing was brought up.
    pub fn compete(&self, searched: &Searched, data: &Dataset, progress: &dyn Progress) -> Option<Searched> {
        if searched.brought_up.is_empty() || progress.is_stopped() {
            return None;
        }
        let graph = data.graph(Background::Train);
        let steps = Steps::new(graph.neighbours());
        let predicates = data.names().predicates.len();
        let mut features = Features::of(&searched.brought_up);
        let examples = Examples::new(data);
        let fires = features.fires(&examples, &steps);
        let rules: Vec<Rule> =
            (0..fires.len()).map(|feature| features.rule(feature, &steps, Predicate(0))).collect();
        let offers: Vec<Offer> = fires
            .iter()
            .zip(&rules)
            .map(|(fires, rule)| Offer { fires, is_linked: rule.links_ends(), literals: rule.body().len() })
            .collect();
        let max_rules = match self.max_rules {
            Some(0) => usize::MAX,
            given => given.unwrap_or(super::target::MAX_RULES.0),
        };
        let [train, train_and_valid] = take_together(&offers, &examples, predicates, max_rules, progress);
        let sets = |fits: Vec<greedy::Fit>| -> Vec<TargetRules> {
            let of = |(target, fit): (u32, greedy::Fit)| {
                let target = Predicate(target);
                let always = WeightedRule::new(Rule::new(target, &[]), Weight::from(fit.bias));
                let taken =
                    fit.taken.iter().zip(&fit.weights).filter(|(_, weight)| weight.abs() >= MIN_WEIGHT);
                let weighted = taken.map(|(&feature, &weight)| {
                    WeightedRule::new(retargeted(&rules[feature], target), Weight::from(weight))
                });
                TargetRules::new(target, Aggregation::Softmax, weighted.chain([always]).collect())
            };
            (0..).zip(fits).map(of).collect()
        };
        let mut reports = searched.reports.clone();
        let (rules_of_all, train_rules) = (sets(train_and_valid), sets(train));
        for report in &mut reports {
            let target = data.names().predicates.find(&report.target);
            let rules = rules_of_all.iter().find(|rules| Some(rules.target) == target);
            report.rules = rules.map_or(0, |rules| rules.rules.len());
            report.aggregation = Aggregation::Softmax;
            (report.tails, report.heads) = (None, None);
        }
        Some(Searched { rules: rules_of_all, train_rules, reports, ..Searched::default() })
    }
}

impl Features {
    /// The rule of a feature for some target.
    fn rule(&self, feature: usize, steps: &Steps, target: Predicate) -> Rule {
        let single = |body: usize| self.bodies[body].rule(steps, target);
        match self.parts[feature] {
            (one, None) => single(one),
            (one, Some(other)) => {
                let joined = conjunction(&single(one), &single(other));
                joined.map_or_else(|| single(one), |rule| rule.folded())
            }
        }
    }
}

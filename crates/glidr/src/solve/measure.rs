//! How good a rule is, counted exactly.
//!
//! A rule is never credited with the fact it is asked about: where `p(a, b)` is a fact and the body
//! looks up `p`, the pair counts as an answer only if the body holds without that fact.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use serde::Serialize;

use super::{Found, Limits, Solver};
use crate::error::Result;
use crate::graph::{Entity, KnowledgeGraph, Neighbours, Triple};
use crate::rule::{Measures, Rule, RuleSet, WeightedRule, share};
use crate::util::progress::{Progress, Stage};

/// How well a rule's answers meet facts that were held out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HeldOut {
    /// Of the answers that are no known facts, the share that is held out.
    pub precision: f64,
    /// Of the held-out facts, the share that is answered.
    pub recall: f64,
    /// The harmonic mean of both.
    pub f1: f64,
}

impl Solver<'_> {
    /// All answers, without those that hold only because they are facts themselves.
    pub fn leave_one_out_answers(&self) -> Found<Vec<(Entity, Entity)>> {
        let mut found = self.answers();
        let target = self.rule.target;
        if self.rule.uses(target) {
            found.value.retain(|&(head, tail)| {
                let fact = Triple { head, predicate: target, tail };
                !self.facts.holds(fact) || self.holds_without(head, tail, fact).value
            });
        }
        found
    }

    /// Counts the rule on the facts it is evaluated on; after a limit, what was found until then.
    pub fn measure(&self) -> Found<Measures> {
        let target = self.rule.target;
        let may_hold_by_itself = self.rule.uses(target);
        let facts = self.facts.count(target);
        let mut value = Measures { support: 0, body: 0, pca_body: 0, facts };
        let ended = self.each_head(&mut |head, tails| {
            let known = self.facts.tails(target, head);
            let mut answers = tails.len();
            for &tail in tails.iter().filter(|tail| known.binary_search(tail).is_ok()) {
                let tail = Entity(tail);
                let fact = Triple { head, predicate: target, tail };
                if may_hold_by_itself && !self.holds_without(head, tail, fact).value {
                    answers -= 1;
                } else {
                    value.support += 1;
                }
            }
            value.body += answers;
            if !known.is_empty() {
                value.pca_body += answers;
            }
        });
        Found { value, ended }
    }

    /// Counts the rule against held-out facts of its target.
    pub fn measure_on(&self, held_out: &[(Entity, Entity)]) -> HeldOut {
        let target = self.rule.target;
        let mut new = self.answers().value;
        new.retain(|&(head, tail)| !self.facts.holds(Triple { head, predicate: target, tail }));
        let hits = held_out.iter().filter(|pair| new.binary_search(pair).is_ok()).count();
        let (precision, recall) = (share(hits, new.len()), share(hits, held_out.len()));
        let sum = precision + recall;
        HeldOut { precision, recall, f1: if sum > 0.0 { 2.0 * precision * recall / sum } else { 0.0 } }
    }
}

impl Rule {
    /// Counts the rule on `facts`, within `limits`.
    pub fn measure(&self, facts: &Neighbours, limits: Limits) -> Result<Found<Measures>> {
        Ok(Solver::new(self, facts, limits)?.measure())
    }
}

impl RuleSet {
    /// Gives every rule without a weight its smoothed confidence on the graph's facts, counted within `limits`.
    pub fn weigh(&mut self, graph: &KnowledgeGraph, limits: Limits) -> Result<()> {
        self.weigh_by(|rule| {
            let found = rule.measure(graph.neighbours(), limits)?;
            let weighted = WeightedRule::of_measures(rule, found.value);
            Ok(WeightedRule { measures: found.complete(), ..weighted })
        })
    }

    /// Counts every rule that links X and Y on the graph's facts; `progress` is told how many are done. What is not
    /// counted when it stops has no measures.
    pub(crate) fn measure_linked(&mut self, graph: &KnowledgeGraph, progress: &dyn Progress) -> Result<()> {
        let linked: Vec<&mut WeightedRule> =
            self.rules_mut().filter(|weighted| weighted.rule.links_ends()).collect();
        let (all, done) = (linked.len(), AtomicUsize::new(0));
        linked.into_par_iter().try_for_each(|weighted| {
            if !progress.is_stopped() {
                let limits = Limits { time: progress.time_left(), answers: None };
                weighted.measures = weighted.rule.measure(graph.neighbours(), limits)?.complete();
            }
            progress.report(Stage::Measuring, done.fetch_add(1, Ordering::Relaxed) + 1, all);
            Ok(())
        })
    }

    /// Counts every rule on the graph's facts, each within `limits`, after [`RuleSet::weigh`]. What a limit cuts short is not
    /// known, and has no measures.
    pub fn measure(&mut self, graph: &KnowledgeGraph, limits: Limits) -> Result<()> {
        self.weigh(graph, limits)?;
        for weighted in self.rules_mut() {
            weighted.measures = weighted.rule.measure(graph.neighbours(), limits)?.complete();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Predicate, Sizes};
    use crate::rule::{Atom, Literal, Term};

    fn literal(predicate: u32, a: Term, b: Term) -> Literal {
        Literal::any_of(vec![Atom::Pair(Predicate(predicate), a, b)])
    }

    #[test]
    fn a_rule_gets_no_credit_for_the_fact_it_is_asked_about() {
        let facts = [Triple::new(0, 0, 1), Triple::new(1, 0, 0), Triple::new(2, 0, 3), Triple::new(3, 1, 3)];
        let facts = Neighbours::new(Sizes { entities: 4, predicates: 2, properties: 0 }, &facts, &[]);
        let measure = |body: &[Literal]| {
            Rule::new(Predicate(0), body).measure(&facts, Limits::default()).expect("a sound rule").value
        };
        // A fact says nothing of itself, but a symmetric pair says something of each other.
        assert_eq!(measure(&[literal(0, Term::X, Term::Y)]).body, 0);
        let inverse = measure(&[literal(0, Term::Y, Term::X)]);
        assert_eq!((inverse.support, inverse.body, inverse.facts), (2, 3, 3));
        assert_eq!(inverse.pca_body, 2);
        // p(2, 3) would be found through itself and the loop at 3.
        let through = [literal(0, Term::X, Term::Z(1)), literal(1, Term::Z(1), Term::Y)];
        assert_eq!((measure(&through).support, measure(&through).body), (0, 0));
    }

    #[test]
    fn held_out_facts_give_precision_and_recall() {
        let facts = [Triple::new(0, 1, 1), Triple::new(1, 1, 2), Triple::new(2, 1, 3), Triple::new(0, 0, 1)];
        let facts = Neighbours::new(Sizes { entities: 5, predicates: 2, properties: 0 }, &facts, &[]);
        let rule = Rule::new(Predicate(0), &[literal(1, Term::X, Term::Y)]);
        let solver = Solver::new(&rule, &facts, Limits::default()).expect("a sound rule");
        let found = solver.measure_on(&[(Entity(1), Entity(2)), (Entity(4), Entity(4))]);
        assert_eq!((found.precision, found.recall, found.f1), (0.5, 0.5, 0.5));
        let measures = solver.measure().value;
        assert_eq!((measures.confidence(), measures.head_coverage()), (1.0 / 3.0, 1.0));
        assert_eq!((measures.pca_confidence(), measures.smoothed_confidence(1.0)), (1.0, 0.25));
    }
}

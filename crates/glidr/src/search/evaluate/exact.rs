//! The exact evaluator: every query, every fired candidate, and rules of any shape answered on the whole graph.

use super::{Evaluator, General, Prepared};
use crate::graph::{Direction, Entity, Predicate, Triple};
use crate::rule::Rule;
use crate::search::body::{Body, Steps};
use crate::solve::{Ended, Limits, Solver};

/// Answers of a rule may be this many times the target's facts; with more it is of no use.
const MAX_ANSWERS_PER_FACT: usize = 100;

/// A rule's answers, by head and by tail.
pub(in crate::search) struct PairIndex {
    by_head: Vec<(u32, u32)>,
    by_tail: Vec<(u32, u32)>,
}

impl PairIndex {
    fn new(by_head: Vec<(u32, u32)>) -> Self {
        let mut by_tail: Vec<(u32, u32)> = by_head.iter().map(|&(head, tail)| (tail, head)).collect();
        by_tail.sort_unstable();
        PairIndex { by_head, by_tail }
    }

    /// The other ends of a known one, sorted.
    pub fn ends(&self, direction: Direction, known: u32) -> impl Iterator<Item = u32> {
        let pairs = match direction {
            Direction::Tail => &self.by_head,
            Direction::Head => &self.by_tail,
        };
        let first = pairs.partition_point(|pair| pair.0 < known);
        pairs[first..].iter().take_while(move |pair| pair.0 == known).map(|pair| pair.1)
    }
}

/// Evaluates on the whole graph.
pub(in crate::search) struct Exact<'a> {
    steps: &'a Steps<'a>,
    target: Predicate,
    /// Whether no entity is its own answer.
    irreflexive: bool,
    limits: Limits,
    rules: Vec<(Rule, PairIndex)>,
}

impl<'a> Exact<'a> {
    pub fn new(steps: &'a Steps<'a>, target: Predicate, irreflexive: bool, limits: Limits) -> Self {
        Exact { steps, target, irreflexive, limits, rules: Vec::new() }
    }

    /// A rule's leave-one-out answers; none where they are too many or a limit was reached.
    fn answers(&self, rule: &Rule) -> Option<Vec<(u32, u32)>> {
        let most = self.steps.facts.count(self.target) * MAX_ANSWERS_PER_FACT;
        let limits = Limits { answers: Some(most), ..self.limits };
        let found = Solver::new(rule, self.steps.facts, limits).ok()?.leave_one_out_answers();
        let pairs = found.value.into_iter().map(|(head, tail)| (head.0, tail.0));
        let kept = pairs.filter(|(head, tail)| !self.irreflexive || head != tail);
        (found.ended == Ended::Complete).then(|| kept.collect())
    }

    /// Whether a shorter rule has an answer more that is no fact; most have, and one is found soon.
    fn says_more(&self, shorter: &Rule, answers: &[(u32, u32)]) -> bool {
        let Ok(solver) = Solver::new(shorter, self.steps.facts, self.limits) else { return true };
        (0..self.steps.entities() as u32).map(Entity).any(|head| {
            let own = self.irreflexive.then_some(head);
            let mut tails = solver.tails(head).value.into_iter().filter(|&tail| Some(tail) != own);
            tails.any(|tail| {
                answers.binary_search(&(head.0, tail.0)).is_err()
                    && !self.steps.facts.holds(Triple { head, predicate: self.target, tail })
            })
        })
    }
}

impl Evaluator for Exact<'_> {
    fn admit(&mut self, rule: &Rule) -> Option<Body> {
        let answers = self.answers(rule)?;
        self.rules.push((rule.clone(), PairIndex::new(answers)));
        Some(Body::General(self.rules.len() as u32 - 1))
    }

    fn prepare(&self, body: Body) -> Prepared<'_> {
        let general = match body {
            Body::General(number) => Some(General::Pairs(&self.rules[number as usize].1)),
            _ => None,
        };
        Prepared { steps: self.steps, target: self.target, body, general }
    }

    fn rule(&self, body: Body) -> Rule {
        match body {
            Body::General(number) => self.rules[number as usize].0.clone(),
            body => self.steps.rule(body, self.target),
        }
    }

    fn simplified(&self, rule: Rule) -> Rule {
        if rule.body().len() < 2 || rule.min_groundings() > 1 {
            return rule;
        }
        let Some(answers) = self.answers(&rule) else { return rule };
        let is_linked = rule.links_ends();
        rule.shortened(|shorter| {
            shorter.links_ends() == is_linked
                && !self.says_more(shorter, &answers)
                && self.answers(shorter).is_some_and(|found| found == answers)
        })
    }
}

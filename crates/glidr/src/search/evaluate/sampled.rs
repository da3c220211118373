//! The sampled evaluator: some of a target's queries, and rules of any shape answered query by query.

use super::{Evaluator, General, Prepared};
use crate::graph::{Entity, Predicate};
use crate::rule::Rule;
use crate::search::body::{Body, Steps};
use crate::solve::{Found, Limits, Solver};

/// So many facts ask whether two rules have the same answers.
const MAX_COMPARED: usize = 200;

/// Evaluates on a sample of queries.
pub(in crate::search) struct Sampled<'a> {
    steps: &'a Steps<'a>,
    target: Predicate,
    limits: Limits,
    rules: Vec<Rule>,
}

impl<'a> Sampled<'a> {
    pub fn new(steps: &'a Steps<'a>, target: Predicate, limits: Limits) -> Self {
        Sampled { steps, target, limits, rules: Vec::new() }
    }
}

impl Evaluator for Sampled<'_> {
    fn admit(&mut self, rule: &Rule) -> Option<Body> {
        self.rules.push(rule.clone());
        Some(Body::General(self.rules.len() as u32 - 1))
    }

    fn prepare(&self, body: Body) -> Prepared<'_> {
        let general = match body {
            Body::General(number) => {
                let solver = Solver::new(&self.rules[number as usize], self.steps.facts, self.limits);
                Some(solver.map_or(General::Nothing, |solver| General::Solver(Box::new(solver))))
            }
            _ => None,
        };
        Prepared { steps: self.steps, target: self.target, body, general }
    }

    fn rule(&self, body: Body) -> Rule {
        match body {
            Body::General(number) => self.rules[number as usize].clone(),
            body => self.steps.rule(body, self.target),
        }
    }

    /// Compared on the known ends of some facts of the target, in both directions.
    fn simplified(&self, rule: Rule) -> Rule {
        if rule.body().len() < 2 || rule.min_groundings() > 1 {
            return rule;
        }
        let facts = self.steps.facts;
        let solver = |rule: &Rule| Solver::new(rule, facts, self.limits).ok();
        let Some(own) = solver(&rule) else { return rule };
        let stride = facts.count(self.target).div_ceil(MAX_COMPARED).max(1);
        let asked: Vec<(Entity, Entity)> = facts.pairs(self.target).step_by(stride).collect();
        let answers = |solver: &Solver, (head, tail): (Entity, Entity)| {
            let both = [solver.tails(head), solver.heads(tail)];
            both.map(Found::complete)
        };
        let is_linked = rule.links_ends();
        rule.clone().shortened(|shorter| {
            let Some(other) = solver(shorter).filter(|_| shorter.links_ends() == is_linked) else {
                return false;
            };
            asked.iter().all(|&pair| {
                let [own, other] = [&own, &other].map(|solver| answers(solver, pair));
                own == other && own.iter().all(Option::is_some)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Neighbours, Sizes, Triple};
    use crate::rule::{Atom, Literal, Term};

    #[test]
    fn a_literal_that_changes_no_answer_is_dropped_and_others_stay() {
        // Whoever has a neighbour by 1 has one by 2; some have one by 3.
        let mut facts = Vec::new();
        for n in 0..20 {
            facts.extend([Triple::new(n, 0, n + 20), Triple::new(n, 1, n + 20), Triple::new(n, 2, 40)]);
            facts.extend((n % 3 == 0).then_some(Triple::new(n, 3, 41)));
        }
        let facts = Neighbours::new(Sizes { entities: 42, predicates: 4, properties: 0 }, &facts, &[]);
        let steps = Steps::new(&facts);
        let evaluator = Sampled::new(&steps, Predicate(0), Limits::default());
        let pair = |p, a, b| Literal::any_of(vec![Atom::Pair(Predicate(p), a, b)]);
        let link = pair(1, Term::X, Term::Y);
        let vacuous = Rule::new(Predicate(0), &[link.clone(), pair(2, Term::X, Term::Z(1))]);
        assert_eq!(evaluator.simplified(vacuous), Rule::new(Predicate(0), std::slice::from_ref(&link)));
        let telling = Rule::new(Predicate(0), &[link, pair(3, Term::X, Term::Z(1))]);
        assert_eq!(evaluator.simplified(telling.clone()), telling);
    }
}

//! The sampled evaluator: some of a target's queries, and rules of any shape answered query by query.

use super::{Evaluator, General, Prepared};
use crate::graph::Predicate;
use crate::rule::Rule;
use crate::search::body::{Body, Steps};
use crate::solve::{Limits, Solver};

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

    /// Which answers a shorter rule has beyond the sample is not known here.
    fn simplified(&self, rule: Rule) -> Rule {
        rule
    }
}

//! What bodies find: counted and fired on the queries of one target.
//!
//! In: a [`Body`]. Out: how many answers it finds ([`Counts`]), and which candidates of a [`QuerySample`] it fires
//! on. An [`Exact`] evaluator has every query and every fired candidate in its sample, a [`Sampled`] one a part of
//! both. They differ in how they answer rules of any shape; all else is written once, for both.

mod count;
mod exact;
mod fire;
mod sample;
mod sampled;

pub(super) use count::{Counts, Effort};
pub(super) use exact::{Exact, PairIndex};
#[cfg(test)]
pub(super) use sample::tests as test_samples;
pub(super) use sample::{Facts, Label, QuerySample, SampledQuery};
pub(super) use sampled::Sampled;

use super::body::{Body, Steps};
use super::ends::Ends;
use crate::graph::{Direction, Entity, Predicate, Triple};
use crate::rule::Rule;
use crate::solve::Solver;

/// Answers queries by bodies of every kind.
pub(super) trait Evaluator {
    /// Makes a rule of any shape a body; none where it is unsound or has too many answers.
    fn admit(&mut self, rule: &Rule) -> Option<Body>;
    /// Makes a body ready to be asked.
    fn prepare(&self, body: Body) -> Prepared<'_>;
    /// The body as a rule.
    fn rule(&self, body: Body) -> Rule;
    /// The rule without literals whose removal changes no answer, where that can be told.
    fn simplified(&self, rule: Rule) -> Rule;
}

/// A body that is ready to be asked.
pub(super) struct Prepared<'a> {
    pub steps: &'a Steps<'a>,
    pub target: Predicate,
    pub body: Body,
    /// What answers a body that is no path and no pattern.
    pub general: Option<General<'a>>,
}

/// How a rule of any shape is answered.
pub(super) enum General<'a> {
    /// By its leave-one-out answers on the whole graph.
    Pairs(&'a PairIndex),
    /// Query by query.
    Solver(Box<Solver<'a>>),
    /// Not at all: it is unsound.
    Nothing,
}

impl Prepared<'_> {
    /// The ends that go with a known one; false if there are more than `max_links` links to follow.
    pub fn ends<'w>(&'w self, query: &SampledQuery, max_links: usize, ends: &mut Ends<'w>) -> bool {
        match &self.general {
            None => return self.steps.ends(self.body, query.direction, query.known, max_links, ends),
            Some(General::Pairs(pairs)) => ends.fill(pairs.ends(query.direction, query.known)),
            Some(General::Solver(solver)) => {
                let known = Entity(query.known);
                let found = match query.direction {
                    Direction::Tail => solver.tails(known),
                    Direction::Head => solver.heads(known),
                };
                ends.fill(found.value.into_iter().map(|entity| entity.0));
            }
            Some(General::Nothing) => ends.fill(std::iter::empty()),
        }
        true
    }

    /// How many of the `cap` groundings that the body has for an answer do without the very fact that asks.
    pub fn leave_one_out(&self, query: &SampledQuery, answer: u32, cap: u32) -> u32 {
        let (head, tail) = query.direction.pair(Entity(query.known), Entity(answer));
        match &self.general {
            None => self.steps.leave_one_out(self.body, self.target, (head.0, tail.0), cap),
            Some(General::Solver(solver)) if solver.rule().uses(self.target) => {
                let fact = Triple { head, predicate: self.target, tail };
                u32::from(solver.holds_without(head, tail, fact).value)
            }
            Some(_) => cap,
        }
    }
}

//! Exact evaluation: which pairs a rule's body holds for, and why.
//!
//! In: a [`Rule`](crate::rule::Rule) and [`Neighbours`](crate::graph::Neighbours). Out: answers, groundings and counts, each with how the search
//! [`Ended`]. Where `infer` passes messages and may be fooled by a loop (`fig:counterexample`), this
//! joins facts and is never wrong; neither uses the other, so each checks the other.
//!
//! What builds on it: `measure` counts answers against the truth; an explanation is
//! [`Solver::grounding`] with [`Grounding::facts`], which names one fact for every literal.

mod constraints;
mod domain;
mod grounding;
mod join;
mod measure;
mod sets;
mod solver;

use std::time::{Duration, Instant};

pub use grounding::Grounding;
pub use measure::HeldOut;
use serde::Serialize;
pub use solver::Solver;

/// How much a search may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The longest time; none means as long as it takes.
    pub time: Option<Duration>,
    /// How many answers at most; none means all.
    pub answers: Option<usize>,
}

impl Limits {
    /// When a question asked now must end; a time too long for the clock is none.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.time.and_then(|time| Instant::now().checked_add(time))
    }
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Everything was found.
    Complete,
    /// The time ran out: what was found is true, but there may be more.
    TimeLimit,
    /// As many answers as asked for were found: there may be more.
    AnswerLimit,
}

/// What a search found, and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<T> {
    /// What was found.
    pub value: T,
    /// How the search ended.
    pub ended: Ended,
}

impl<T> Found<T> {
    /// What was found, if it is all there is.
    pub fn complete(self) -> Option<T> {
        (self.ended == Ended::Complete).then_some(self.value)
    }
}

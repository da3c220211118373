//! Message passing: decides how far one pair of entities satisfies one rule.
//!
//! In: a [`ClassMatrix`](crate::graph::ClassMatrix), the [`Weights`] of a rule, a head and a tail.
//! Out: a score, and a [`Tape`] for the adjoint. Paper: `sec:message-passing`.

mod batch;
mod domain;
mod engine;
mod message;
mod round;
mod sparse;
mod tables;
mod tape;
mod weights;

pub use batch::Batch;
pub use engine::Engine;
pub(crate) use round::Pass;
pub use sparse::Sparse;
pub use tables::Tables;
pub use tape::Tape;
pub use weights::{Logits, Slots, Weights};

/// How message passing ended: a value, not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A round changed nothing: the domains are a fixed point.
    Converged,
    /// This variable (from 0) has no entity left, so the rule does not hold.
    Emptied(usize),
    /// The rounds were over before either.
    RoundLimit,
}

/// How many lanes one variable's domains can have and still fit a core's cache: a choice by the
/// graph alone, so that it is the same on every machine.
pub(crate) fn lane_width(graph: &crate::graph::ClassMatrix) -> usize {
    match graph.entities() {
        ..=1000 => 64,
        1001..=8000 => 16,
        _ => 8,
    }
}

//! Why a pair scores as it does: proofs by hard rules, and how message passing came to a soft score.
//!
//! In: rules or a soft rule, and a pair. Out: [`Verdict`], a grounding in facts or the literal where a rule
//! fails; [`Trace`], the domains round by round and who narrowed them.

mod proof;
mod trace;

pub use proof::{Proof, Verdict, prove};
pub use trace::{DomainView, Narrowing, Slot, Trace, trace};

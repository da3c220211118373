//! Why a pair scores as it does: proofs by hard rules, and how message passing came to a soft score.
//!
//! In: rules or a soft rule, and a pair. Out: [`Verdict`], a grounding in facts or the literal where a rule
//! fails; [`Trace`], the domains round by round and who narrowed them; and both by name in an [`Explanation`].

mod explainer;
mod explanation;
mod named_trace;
mod proof;
mod trace;

pub use explainer::Explainer;
pub use explanation::{Denied, Detail, Explanation, NamedVerdict, RuleEvidence, SoftEvidence};
pub use named_trace::{NamedDomain, NamedNarrowing, NamedTrace};
pub use proof::{Proof, Verdict, prove};
pub use trace::{DomainView, Narrowing, Slot, Trace, trace};

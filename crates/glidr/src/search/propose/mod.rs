//! Proposers: bodies worth evaluating for one target, each kind in its own file.
//!
//! In: the graph, the target's known pairs, and where there are some its soft rules. Out: bodies and rules. A new
//! kind of body is added here, and called from `target.rs`.

mod local;
mod paths;
mod patterns;
mod refine;
mod walks;

pub(super) use local::local_search;
pub(super) use paths::{paths, similarity_paths};
pub(super) use patterns::{MaxPatterns, patterns};
pub(super) use refine::{Branches, Parent};
pub(super) use walks::long_paths;

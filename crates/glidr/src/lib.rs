//! draft
pub mod error;
pub mod graph;
pub mod infer;
mod random;
pub mod rule;

pub use graph::{Dataset, Entity, Graph, Predicate, Property, Split};

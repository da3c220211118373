//! The knowledge graph: reads triples, gives names numbers, and keeps the facts as one sparse
//! matrix that can be walked both ways.
//!
//! In: files of facts. Out: a [`Dataset`], and from it a [`ClassMatrix`] for inference.
//! Paper: `def:background_graph`.

mod background;
mod class_matrix;
mod dataset;
mod derive;
mod families;
mod formats;
mod masked;
mod neighbours;
mod open;
mod query;
mod triple;
mod vocabulary;

pub use background::Background;
pub use class_matrix::{ClassMatrix, Classes, Link, Member};
pub(crate) use dataset::hex;
pub use dataset::{DataWarnings, Dataset, Split};
pub use masked::MaskedGraph;
pub use neighbours::Neighbours;
pub use query::{Direction, Query};
pub use triple::{Entity, Predicate, Property, PropertyFact, Triple};
pub use vocabulary::{Names, Vocabulary};

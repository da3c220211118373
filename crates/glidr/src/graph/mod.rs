//! The knowledge graph: reads triples, gives names numbers, and keeps the facts as one sparse
//! matrix that can be walked both ways.
//!
//! In: files of facts. Out: a [`Dataset`], and from it a [`Graph`] for inference.
//! Paper: `def:background_graph`.

mod background;
mod dataset;
mod derive;
mod families;
mod formats;
mod masked;
mod open;
mod query;
mod triple;
mod vocabulary;

pub use background::{Classes, Graph, Link, Member};
pub(crate) use dataset::hex;
pub use dataset::{DataWarnings, Dataset, Split};
pub use masked::MaskedGraph;
pub use query::{Direction, Query};
pub use triple::{Entity, Predicate, Property, Trait, Triple};
pub use vocabulary::{Names, Vocabulary};

//! The knowledge graph: reads triples, gives names numbers, and keeps the facts as one sparse
//! matrix that can be walked both ways.
//!
//! In: files of facts. Out: a [`Dataset`], and from it a [`Graph`] for inference.
//! Paper: `def:background_graph`.

mod background;
mod dataset;
mod derive;
mod families;
mod open;
mod read;
mod triple;
mod veil;
mod vocabulary;

pub use background::{Classes, Graph, Link, Member};
pub(crate) use dataset::hex;
pub use dataset::{Dataset, Noticed, Split};
pub use triple::{Entity, Predicate, Property, Trait, Triple};
pub use veil::Veil;
pub use vocabulary::{Names, Vocabulary};

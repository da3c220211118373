//! The knowledge graph: reads triples, gives names numbers, and indexes the facts.
//!
//! In: files of facts. Out: a [`Dataset`], and from it a [`KnowledgeGraph`], which builds a
//! [`ClassMatrix`] for message passing and [`Neighbours`] for exact evaluation when first asked.
//! Paper: `def:background_graph`.

mod background;
mod class_matrix;
mod classes;
mod dataset;
mod derive;
mod families;
mod formats;
mod knowledge_graph;
mod masked;
mod neighbours;
mod open;
mod query;
mod triple;
mod vocabulary;

pub use background::Background;
pub use class_matrix::ClassMatrix;
pub use classes::{Classes, Link, Member};
pub(crate) use dataset::hex;
pub use dataset::{DataWarnings, Dataset, Split};
pub use knowledge_graph::KnowledgeGraph;
pub use masked::MaskedGraph;
pub use neighbours::Neighbours;
pub use query::{Direction, Query};
pub use triple::{Entity, Predicate, Property, PropertyFact, Sizes, Triple};
pub use vocabulary::{Names, Vocabulary};

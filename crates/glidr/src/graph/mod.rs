//! The knowledge graph: reads triples, gives names numbers, and indexes the facts.
//!
//! In: files of facts. Out: a [`Dataset`], and from it a [`KnowledgeGraph`], which builds a
//! [`ClassMatrix`] for message passing and [`Neighbours`] for exact evaluation when first asked.
//! Paper: `def:background_graph`.

mod background;
mod builder;
mod class_matrix;
mod classes;
mod dataset;
mod derive;
mod distinct;
mod divide;
mod families;
mod formats;
mod intern;
mod kinds;
mod knowledge_graph;
mod masked;
mod names;
mod neighbours;
mod numbered;
mod open;
mod query;
mod rows;
mod strings;
mod triple;
mod vocabulary;
mod warnings;

pub use background::Background;
pub use builder::DatasetBuilder;
pub use class_matrix::ClassMatrix;
pub use classes::{Classes, Link, Member};
pub(crate) use dataset::hex;
pub use dataset::{Dataset, Split};
pub use kinds::Kinds;
pub use knowledge_graph::KnowledgeGraph;
pub use masked::MaskedGraph;
pub use names::Names;
pub use neighbours::Neighbours;
pub use query::{Direction, Query};
pub use triple::{Entity, Id, Predicate, Property, PropertyFact, Sizes, Triple};
pub use vocabulary::Vocabulary;
pub use warnings::{DataWarnings, Leakage};

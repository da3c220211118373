#![doc = include_str!("../../../README.md")]

mod downhill;
pub mod draw;
pub mod error;
pub mod explain;
pub mod export;
pub mod extract;
pub mod fidelity;
pub mod generate;
pub mod graph;
pub mod infer;
pub mod learn;
pub mod model;
mod random;
pub mod rank;
pub mod rule;
pub mod search;
pub mod solve;
pub mod whole;

pub use error::{Error, Result};
pub use extract::Extraction;
pub use generate::Generator;
pub use graph::{Dataset, Entity, Graph, Predicate, Property, Split};
pub use infer::Outcome;
pub use learn::{Run, Training};
pub use model::{Background, Ensemble, Model, SoftRule};
pub use rank::{Ranking, Scorer};
pub use rule::{Rule, Schema};
pub use search::Search;

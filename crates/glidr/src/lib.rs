#![doc = include_str!("../README.md")]

pub mod error;
pub mod evaluate;
pub mod explain;
pub mod export;
pub mod graph;
pub mod infer;
pub mod model;
pub mod predict;
pub mod render;
pub mod rule;
pub mod search;
pub mod solve;
pub mod synthetic;
pub mod train;
pub mod util;

pub use error::{Error, Result};
pub use evaluate::Evaluation;
pub use graph::{Background, ClassMatrix, Dataset, Direction, Entity, Predicate, Property, Split};
pub use infer::Outcome;
pub use model::{Ensemble, Extraction, Model, RuleModel, SoftModel, SoftRule, Training};
pub use predict::{Blend, Predictor, Rules, Soft};
pub use rule::{Aggregation, Rule, RuleSet, Schema, TargetRules, WeightedRule};
pub use search::Search;
pub use synthetic::Generator;
pub use train::Run;

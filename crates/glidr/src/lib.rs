#![doc = include_str!("../README.md")]

mod check;
mod constraint;
mod error;
mod evaluate;
mod explain;
mod export;
mod graph;
mod infer;
mod learn;
mod model;
mod predict;
mod render;
mod rule;
mod search;
mod solve;
mod synthetic;
mod train;
mod util;

pub use error::{Error, Result};
pub use evaluate::{Evaluation, EvaluationReport};
pub use explain::Explanation;
pub use graph::{Background, Dataset, Split};
pub use learn::{Learner, Method};
pub use model::{Model, NamedRule, Training};
pub use predict::{Prediction, Predictor, Reasoner, Reasoning, Scoring};
pub use rule::{Aggregation, Rule, RuleSet, Schema};
pub use search::Search;
pub use synthetic::Generator;
pub use util::progress::{Progress, SearchStep, Stage};

/// The rooms of the library, for the crates and tests beside it. Nothing here is promised to stay.
#[doc(hidden)]
pub mod internals {
    pub mod check {
        pub use crate::check::*;
    }
    pub mod constraint {
        pub use crate::constraint::*;
    }
    pub mod evaluate {
        pub use crate::evaluate::*;
    }
    pub mod explain {
        pub use crate::explain::*;
    }
    pub mod export {
        pub use crate::export::*;
    }
    pub mod graph {
        pub use crate::graph::*;
    }
    pub mod infer {
        pub use crate::infer::*;
    }
    pub mod learn {
        pub use crate::learn::*;
    }
    pub mod model {
        pub use crate::model::*;
    }
    pub mod predict {
        pub use crate::predict::*;
    }
    pub mod render {
        pub use crate::render::*;
    }
    pub mod rule {
        pub use crate::rule::*;
    }
    pub mod search {
        pub use crate::search::*;
    }
    pub mod solve {
        pub use crate::solve::*;
    }
    pub mod synthetic {
        pub use crate::synthetic::*;
    }
    pub mod train {
        pub use crate::train::*;
    }
    pub mod util {
        pub use crate::util::*;
    }
}

//! The choice between the two engines of message passing.

use serde::{Deserialize, Serialize};

use crate::graph::ClassMatrix;

/// Which engine passes messages. Both give the same scores and derivatives but for the order of
/// summation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Chosen by the graph: dense where two steps from an entity cover much of it, else sparse.
    #[default]
    Auto,
    /// Queries side by side, every entity worked out.
    Dense,
    /// Rules side by side, only what a query touches worked out.
    Sparse,
}

/// Above this share of links within two steps of an entity, the dense engine is the faster one.
const MAX_REACH: f64 = 0.1;

impl Engine {
    /// The word for it in settings.
    pub fn name(self) -> &'static str {
        ["auto", "dense", "sparse"][self as usize]
    }

    /// The engine for a graph: a choice by the graph alone, so that it is the same everywhere.
    #[must_use]
    pub fn chosen(self, graph: &ClassMatrix) -> Engine {
        match self {
            Engine::Auto if graph.reach() > MAX_REACH => Engine::Dense,
            Engine::Auto => Engine::Sparse,
            given => given,
        }
    }
}

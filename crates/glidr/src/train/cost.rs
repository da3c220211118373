//! What soft rules will cost to train and to rank with, told beforehand.
//!
//! In: [`Training`] settings and a [`Dataset`]. Out: processor seconds, about. The figure is counted and not timed, so that
//! what is decided by it is the same on every machine.

use crate::graph::{Background, Dataset};
use crate::infer::Engine;
use crate::model::Training;

/// What a message along one link costs on a common machine, there and back, in seconds: by the dense engine, and by the
/// sparse one, which looks for its links.
const DENSE: f64 = 0.05e-9;
const SPARSE: f64 = 0.5e-9;
/// The same for ranking, where a hub may bring most of a graph into a query.
const RANKING: f64 = 3e-9;

impl Training {
    /// About how many processor seconds training takes: by a factor of three it may be more or less.
    ///
    /// ```text
    /// seconds = targets · rules · steps · pairs · slots · rounds · links of one message · seconds a link
    /// ```
    pub fn estimated_seconds(&self, data: &Dataset) -> f64 {
        let targets = self.targets_on(data).map_or(0, |targets| targets.len());
        let reach = data.graph(Background::Train).adjacency().reach();
        (targets * self.steps * self.batch) as f64 * self.pass_seconds(data, reach * SPARSE)
    }

    /// The same for ranking so many queries, whose messages reach all of a graph.
    pub fn estimated_ranking_seconds(&self, data: &Dataset, queries: usize) -> f64 {
        queries as f64 * self.pass_seconds(data, RANKING)
    }

    /// One pass of all rules of a target, where by the sparse engine each link of the graph costs so much.
    fn pass_seconds(&self, data: &Dataset, sparse: f64) -> f64 {
        let graph = data.graph(Background::Train).adjacency();
        let links = graph.linked_pairs() as f64;
        let link_seconds = match self.engine.chosen(graph) {
            Engine::Dense => links * DENSE,
            _ => links * sparse,
        };
        let slots = self.variables * (self.variables - 1) / 2;
        (self.rules * slots * self.rounds) as f64 * link_seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_grows_with_rules_steps_and_slots() {
        let families = Dataset::families(0);
        let cost = |training: Training| training.estimated_seconds(&families);
        let plain = Training { variables: 3, ..Training::default() };
        let base = cost(plain.clone());
        assert!(base > 0.0);
        assert!((cost(Training { steps: 2 * plain.steps, ..plain.clone() }) / base - 2.0).abs() < 1e-9);
        assert!((cost(Training { variables: 4, ..plain }) / base - 2.0).abs() < 1e-9);
    }
}

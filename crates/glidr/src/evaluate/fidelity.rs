//! Fidelity: how far a soft rule and a rule extracted from it agree.
//!
//! Over the pairs of some heads with all entities: the chance that an answer of the hard rule has a
//! higher soft score than a pair that is none, equal scores counting half. 1 means that the soft rule
//! puts all answers of the hard rule before all else; 0.5 that it knows nothing of them.

use crate::error::Result;
use crate::graph::{Entity, KnowledgeGraph};
use crate::infer::Engine;
use crate::model::{Ensemble, SoftRule};
use crate::predict::{MessagePassing, SoftTarget};
use crate::rule::{Rule, Schema};
use crate::solve::{Limits, Solver};

/// So many heads are looked at, at most, evenly spread over those the hard rule answers for.
const HEADS: usize = 32;

/// The fidelity of `rule` to the soft rule; none where the hard rule holds nowhere or everywhere.
pub fn fidelity(
    soft: &SoftRule,
    rule: &Rule,
    schema: Schema,
    graph: &KnowledgeGraph,
    rounds: usize,
) -> Result<Option<f64>> {
    let solver = Solver::new(rule, graph.neighbours(), Limits::default())?;
    let mut heads: Vec<Entity> = solver.answers().value.into_iter().map(|(head, _)| head).collect();
    heads.dedup();
    let one = Ensemble { target: rule.target, rules: vec![SoftRule { weight: 1.0, ..soft.clone() }] };
    let passing = MessagePassing { rounds, engine: Engine::Auto, extraction: None };
    let mut target = SoftTarget::new(&one, schema, graph.adjacency(), passing);
    let mut scored: Vec<(f32, bool)> = Vec::new();
    for head in heads.iter().step_by(heads.len().div_ceil(HEADS).max(1)) {
        let tails = solver.tails(*head).value;
        let pairs: Vec<_> = (0..graph.entities() as u32).map(|tail| (*head, Entity(tail))).collect();
        let answered = pairs.iter().map(|(_, tail)| tails.binary_search(tail).is_ok());
        scored.extend(target.pair_scores(&pairs).into_iter().zip(answered));
    }
    Ok(chance(&mut scored))
}

/// The chance that a marked score is above an unmarked one.
fn chance(scored: &mut [(f32, bool)]) -> Option<f64> {
    scored.sort_by(|a, b| a.0.total_cmp(&b.0));
    let marked = scored.iter().filter(|(_, marked)| *marked).count();
    let others = scored.len() - marked;
    let (mut below, mut sum) = (0usize, 0.0);
    for equal in scored.chunk_by(|a, b| a.0 == b.0) {
        let here = equal.iter().filter(|(_, marked)| *marked).count();
        sum += here as f64 * (below as f64 + (equal.len() - here) as f64 / 2.0);
        below += equal.len() - here;
    }
    (marked > 0 && others > 0).then(|| sum / (marked as f64 * others as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chance_counts_pairs_in_order_and_ties_half() {
        assert_eq!(chance(&mut [(0.1, false), (0.9, true), (0.5, false)]), Some(1.0));
        assert_eq!(chance(&mut [(0.5, true), (0.5, false)]), Some(0.5));
        assert_eq!(chance(&mut [(0.2, true), (0.5, false), (0.1, false)]), Some(0.5));
        assert_eq!(chance(&mut [(0.2, true)]), None);
    }
}

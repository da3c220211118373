//! The hand-written adjoint against finite differences of the slow twin.

use glidr::internals::infer::{Batch, Slots, Sparse, Tables, Tape};
use proptest::prelude::*;

use crate::twin::{World, worlds};

/// Everything a score depends on: logits, own logits, values of facts, values of properties.
fn numbers(world: &mut World) -> impl Iterator<Item = &mut f64> {
    let values = world.values.iter_mut().chain(&mut world.property_values);
    world.pairs.iter_mut().chain(&mut world.owns).chain(values)
}

/// Central difference of the twin's score, or `None` where left and right differ (a tie).
fn slope(world: &World, place: usize) -> Option<f64> {
    let at = |by: f64| {
        let mut other = world.clone();
        *numbers(&mut other).nth(place).expect("a number of the world") += by;
        other.infer().1
    };
    let h = 1e-5;
    let (less, here, more) = (at(-h), at(0.0), at(h));
    let (left, right) = ((here - less) / h, (more - here) / h);
    ((left - right).abs() < 1e-3 * (left.abs() + right.abs()) + 1e-6).then_some((more - less) / (2.0 * h))
}

/// The adjoint's derivative by every number of the world.
fn derivative(world: &World) -> Vec<f32> {
    let (graph, weights) = (world.graph(), world.slots());
    let tables = Tables::new(&weights, world.schema, &graph);
    let batch = Batch::<8>::new(&graph, &[world.query()]);
    let mut tape = Tape::default();
    tape.infer(&graph, &tables, &batch, world.rounds);
    let mut d_score = [0.0; 8];
    d_score[0] = 1.0;
    let mut d_tables = Tables::zero(world.schema, &graph);
    tape.adjoint(&graph, &tables, &batch, &d_score, &mut d_tables);
    let mut d_logits = Slots::zero(&world.schema);
    let mut d_values = vec![0.0; graph.facts()];
    Tables::adjoint(d_tables, &weights, &graph, &mut d_logits, Some(&mut d_values));
    Slots::soft_adjoint(&weights, &mut d_logits, &world.schema);
    d_logits.iter().chain(d_values).collect()
}

/// The same from the sparse engine.
fn sparse_derivative(world: &World) -> Vec<f32> {
    let (graph, weights) = (world.graph(), world.slots());
    let mut sparse = Sparse::default();
    sparse.prepare(&graph, &[&Tables::new(&weights, world.schema, &graph)], world.rounds);
    sparse.scores(&graph, &[world.query()]);
    let d_tables = sparse.adjoint(&graph, &[[1.0; Sparse::RULES]]).remove(0);
    let mut d_logits = Slots::zero(&world.schema);
    let mut d_values = vec![0.0; graph.facts()];
    Tables::adjoint(d_tables, &weights, &graph, &mut d_logits, Some(&mut d_values));
    Slots::soft_adjoint(&weights, &mut d_logits, &world.schema);
    d_logits.iter().chain(d_values).collect()
}

/// Whether a minimum or maximum is decided by less than f32 can tell: shown by a slope that
/// changes when everything is nudged by a little.
fn is_near_tie(world: &World, place: usize, here: f64) -> bool {
    (0..6).any(|turn| {
        let mut other = world.clone();
        for (n, number) in numbers(&mut other).enumerate() {
            *number += 2e-6 * ((n * 7 + turn * 3) % 5) as f64 - 4e-6;
        }
        slope(&other, place).is_none_or(|there| (here - there).abs() > 1e-3 * (1.0 + here.abs()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_adjoint_agrees_with_a_finite_difference(mut world in worlds()) {
        world.hard = false;
        // Facts of equal value make entities that no number can tell apart: exact ties.
        for (n, number) in numbers(&mut world).enumerate() {
            *number = f64::from((*number * (1.0 - 0.001 * n as f64)) as f32);
        }
        let mut compared = 0;
        let both = derivative(&world).into_iter().zip(sparse_derivative(&world));
        for (place, (d, sparse)) in both.enumerate() {
            if let Some(slope) = slope(&world, place) {
                let near = |d: f32| (f64::from(d) - slope).abs() < 2e-4 * (1.0 + slope.abs());
                let agrees = near(d) && near(sparse);
                prop_assert!(agrees || is_near_tie(&world, place, slope), "number {place}: {d} or {sparse} is not {slope}");
                compared += usize::from(agrees);
            }
        }
        prop_assert!(compared > 0, "nothing could be compared");
    }
}

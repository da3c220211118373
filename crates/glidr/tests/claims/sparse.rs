//! The sparse engine against the plain one: profile and rise give the same scores and derivatives.

use glidr::Schema;
use glidr::internals::graph::{ClassMatrix, Entity, Property, PropertyFact, Sizes, Triple};
use glidr::internals::infer::{Batch, Logits, Slots, Sparse, Tables, Tape};
use proptest::prelude::*;

use crate::twin::worlds;

type Pair = (Entity, Entity);

/// A graph too large for a query to reach all of it, some rules, and some pairs.
#[derive(Clone, Debug)]
struct Wide {
    graph: ClassMatrix,
    schema: Schema,
    rules: Vec<Logits>,
    pairs: Vec<Pair>,
    rounds: usize,
    hard: bool,
}

impl Wide {
    fn weights(&self, logits: &Logits) -> Slots {
        let mut weights = Slots::soft(logits, &self.schema);
        if self.hard {
            for row in weights.pairs.chunks_mut(self.schema.fillers()) {
                let most = row.iter().copied().fold(0.0, f32::max);
                for w in row {
                    *w = f32::from(u8::from(*w > 0.7 * most));
                }
            }
        }
        weights
    }

    /// The same with every logit moved a little.
    fn nudged(&self, turn: usize) -> Wide {
        let mut other = self.clone();
        for (n, logit) in other.rules.iter_mut().flat_map(Slots::iter_mut).enumerate() {
            *logit += 1e-3 * ((n * 7 + turn * 3) % 11) as f32 - 5e-3;
        }
        other
    }

    fn tables(&self) -> Vec<Tables> {
        self.rules.iter().map(|logits| Tables::new(&self.weights(logits), self.schema, &self.graph)).collect()
    }
}

/// Random graphs of 30 to 120 entities with few links and a hub, N in 2..=5, R in 1..=5.
fn wide() -> impl Strategy<Value = Wide> {
    (2usize..=5, 1usize..=5, 30u32..=120, 1u32..=4, 0usize..=2, prop::bool::weighted(0.2), 1usize..=8)
        .prop_flat_map(|(n, rounds, entities, predicates, properties, hard, rules)| {
            let schema = Schema::new(n, predicates as usize, properties).expect("in range");
            let size = schema.slots() * schema.fillers() + n * schema.own_fillers();
            (
                prop::collection::vec((0..entities, 0..predicates, 0..entities), 20..160),
                prop::collection::vec((0..entities, 0..properties.max(1) as u32), 0..=40 * properties),
                prop::collection::vec(prop::collection::vec(-3.0f32..3.0, size), rules),
                prop::collection::vec((0..entities, 0..entities), 1..12),
            )
                .prop_map(move |(mut facts, property_facts, logits, pairs)| {
                    let hub = facts.len() / 6;
                    facts[..hub].iter_mut().for_each(|fact| fact.0 = 0);
                    let facts: Vec<Triple> = facts.iter().map(|&(h, p, t)| Triple::new(h, p, t)).collect();
                    let property_facts: Vec<PropertyFact> = property_facts
                        .iter()
                        .filter(|_| properties > 0)
                        .map(|&(e, q)| PropertyFact { entity: Entity(e), property: Property(q) })
                        .collect();
                    let graph = ClassMatrix::new(
                        Sizes { entities: entities as usize, predicates: predicates as usize, properties },
                        &facts,
                        &property_facts,
                    );
                    let rule = |values: Vec<f32>| {
                        let mut slots = Slots::zero(&schema);
                        slots.iter_mut().zip(values).for_each(|(slot, value)| *slot = value);
                        slots
                    };
                    Wide {
                        graph,
                        schema,
                        rules: logits.into_iter().map(rule).collect(),
                        pairs: pairs.iter().map(|&(h, t)| (Entity(h), Entity(t))).collect(),
                        rounds,
                        hard,
                    }
                })
        })
}

/// Scores by rule and pair, and the derivative of their sum by every logit, from the plain engine.
fn plainly(wide: &Wide) -> (Vec<Vec<f32>>, Vec<Slots>) {
    let (mut scores, mut derivatives) = (Vec::new(), Vec::new());
    for (logits, tables) in wide.rules.iter().zip(wide.tables()) {
        let mut d_tables = Tables::zero(wide.schema, &wide.graph);
        let mut of_rule = Vec::new();
        for (n, &pair) in wide.pairs.iter().enumerate() {
            let batch = Batch::<8>::new(&wide.graph, &[pair]);
            let mut tape = Tape::default();
            of_rule.push(tape.infer(&wide.graph, &tables, &batch, wide.rounds)[0]);
            let mut d_score = [0.0; 8];
            d_score[0] = 1.0 - 0.3 * n as f32;
            tape.adjoint(&wide.graph, &tables, &batch, &d_score, &mut d_tables);
        }
        scores.push(of_rule);
        let (weights, mut d_weights) = (wide.weights(logits), Slots::zero(&wide.schema));
        Tables::adjoint(d_tables, &weights, &wide.graph, &mut d_weights, None);
        Slots::soft_adjoint(&weights, &mut d_weights, &wide.schema);
        derivatives.push(d_weights);
    }
    (scores, derivatives)
}

/// The same from the sparse engine.
fn sparsely(wide: &Wide) -> (Vec<Vec<f32>>, Vec<Slots>) {
    let mut sparse = Sparse::default();
    sparse.prepare(&wide.graph, &wide.tables().iter().collect::<Vec<_>>(), wide.rounds);
    let lanes = sparse.scores(&wide.graph, &wide.pairs);
    let scores = (0..wide.rules.len()).map(|rule| lanes.iter().map(|lanes| lanes[rule]).collect()).collect();
    let d_scores: Vec<_> = (0..wide.pairs.len()).map(|n| [1.0 - 0.3 * n as f32; Sparse::RULES]).collect();
    let derivatives =
        sparse.adjoint(&wide.graph, &d_scores).into_iter().zip(&wide.rules).map(|(d_tables, logits)| {
            let (weights, mut d_weights) = (wide.weights(logits), Slots::zero(&wide.schema));
            Tables::adjoint(d_tables, &weights, &wide.graph, &mut d_weights, None);
            Slots::soft_adjoint(&weights, &mut d_weights, &wide.schema);
            d_weights
        });
    (scores, derivatives.collect())
}

/// The first derivative in which the engines differ.
fn other_derivative(wide: &Wide) -> Option<String> {
    let (plain, sparse) = (plainly(wide).1, sparsely(wide).1);
    plain.iter().zip(&sparse).enumerate().find_map(|(rule, (plain, sparse))| {
        let most = plain.iter().map(f32::abs).fold(0.1, f32::max);
        let other = plain
            .iter()
            .zip(sparse.iter())
            .position(|(plain, sparse)| (plain - sparse).abs() > 2e-5 * most)?;
        let (plain, sparse) = (plain.iter().nth(other)?, sparse.iter().nth(other)?);
        let (n, r) = (wide.schema.variables, wide.rounds);
        Some(format!("N = {n}, R = {r}, rule {rule}, weight {other}: {sparse} is not {plain} (of {most})"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_sparse_engine_gives_the_scores_of_the_plain_one(wide in wide()) {
        let (plain, sparse) = (plainly(&wide).0, sparsely(&wide).0);
        for (rule, (plain, sparse)) in plain.iter().zip(&sparse).enumerate() {
            for (n, (plain, sparse)) in plain.iter().zip(sparse).enumerate() {
                prop_assert!((plain - sparse).abs() <= 3e-6 * plain.abs(), "rule {rule}, pair {n}: {sparse} is not {plain}");
            }
        }
    }

    #[test]
    fn brackets_by_the_ends_neighbours_hold_the_score(wide in wide()) {
        let plain = plainly(&wide).0;
        let mut sparse = Sparse::default();
        sparse.prepare(&wide.graph, &wide.tables().iter().collect::<Vec<_>>(), wide.rounds);
        for (n, [low, high]) in sparse.brackets(&wide.graph, &wide.pairs).into_iter().enumerate() {
            for (rule, plain) in plain.iter().enumerate() {
                let (low, high, score) = (low[rule], high[rule], plain[n]);
                prop_assert!(low <= score * 1.00001 && score <= high * 1.00001, "rule {rule}, pair {n}: {low} {score} {high}");
            }
        }
    }

    #[test]
    fn the_sparse_engine_gives_the_derivatives_of_the_plain_one(mut wide in wide()) {
        wide.hard = false;
        if let Some(finding) = other_derivative(&wide) {
            // Where f32 cannot tell two entries apart, the engines may take either; not so nearby.
            let nearby = (1..=6).filter(|&turn| other_derivative(&wide.nudged(turn)).is_none()).count();
            prop_assert!(nearby >= 5, "{finding}; and {nearby} of 6 nearby agree");
        }
    }

    #[test]
    fn the_sparse_engine_gives_the_scores_of_the_equations(world in worlds()) {
        let graph = world.graph();
        let mut sparse = Sparse::default();
        sparse.prepare(&graph, &[&Tables::new(&world.slots(), world.schema, &graph)], world.rounds);
        let (score, slow) = (sparse.scores(&graph, &[world.query()])[0][0], world.infer().1);
        prop_assert!((f64::from(score) - slow).abs() < 2e-6 * (1.0 + slow), "score {score}, but the equations say {slow}");
    }
}

//! The slow twin: the paper's equations in order, dense, in f64, no cleverness.

use glidr::Schema;
use glidr::internals::graph::{ClassMatrix, Entity, Property, PropertyFact, Sizes, Triple};
use glidr::internals::infer::{Batch, Slots, Tables, Tape};
use proptest::prelude::*;

/// A small world: a graph with values, a rule's logits, and a query.
#[derive(Clone, Debug)]
pub struct World {
    pub schema: Schema,
    pub entities: usize,
    pub facts: Vec<Triple>,
    pub values: Vec<f64>,
    pub property_facts: Vec<PropertyFact>,
    pub property_values: Vec<f64>,
    pub pairs: Vec<f64>,
    pub owns: Vec<f64>,
    pub head: usize,
    pub tail: usize,
    pub rounds: usize,
    pub hard: bool,
}

fn softmax(row: &[f64]) -> Vec<f64> {
    let most = row.iter().copied().fold(f64::MIN, f64::max);
    let exp: Vec<f64> = row.iter().map(|x| (x - most).exp()).collect();
    let sum: f64 = exp.iter().sum();
    exp.iter().map(|x| x / sum).collect()
}

impl World {
    /// The rule's weights: softmax of the logits, or, when hard, 1 for each positive one and for
    /// `P_true` where there is none.
    pub fn weights(&self, logits: &[f64], row: usize) -> Vec<f64> {
        let harden = |row: &[f64]| -> Vec<f64> {
            let mut hard: Vec<f64> = row.iter().map(|&x| f64::from(u8::from(x > 0.8))).collect();
            let last = hard.len() - 1;
            hard[last] = f64::from(u8::from(hard[..last].iter().all(|&x| x == 0.0)));
            hard
        };
        let turn = |row: &[f64]| if self.hard { harden(row) } else { softmax(row) };
        logits.chunks(row.max(1)).flat_map(turn).collect()
    }

    /// The domains after the last round and the score, as the equations say.
    pub fn infer(&self) -> (Vec<Vec<f64>>, f64) {
        let (n, d, k) = (self.schema.variables, self.entities, self.schema.fillers());
        let p = self.schema.predicates;
        let w = self.weights(&self.pairs, k);
        // M of every slot: M[to][from]
        let mut m = vec![vec![vec![0.0; d]; d]; self.schema.slots()];
        for (slot, m) in m.iter_mut().enumerate() {
            for (fact, v) in self.facts.iter().zip(&self.values) {
                let (h, t, r) = (fact.head.index(), fact.tail.index(), fact.predicate.index());
                m[t][h] += w[slot * k + r] * v;
                m[h][t] += w[slot * k + p + r] * v;
            }
        }
        let mut phi = vec![vec![1.0; d]; n];
        phi[0] = (0..d).map(|e| f64::from(u8::from(e == self.head))).collect();
        phi[n - 1] = (0..d).map(|e| f64::from(u8::from(e == self.tail))).collect();
        let q = self.schema.own_fillers();
        if q > 0 {
            let w = self.weights(&self.owns, q);
            for (v, phi) in phi.iter_mut().enumerate() {
                for (e, phi) in phi.iter_mut().enumerate() {
                    let of_e = self
                        .property_facts
                        .iter()
                        .zip(&self.property_values)
                        .filter(|(t, _)| t.entity.index() == e);
                    let told: f64 = of_e.map(|(t, value)| w[v * q + t.property.index()] * value).sum();
                    // an own slot asks this of the variable's entity itself; a one-hot end keeps its zeros
                    *phi = if *phi == 0.0 { 0.0 } else { phi.min(told + w[v * q + q - 1]) };
                }
            }
        }
        for round in 0..self.rounds {
            let order: Vec<usize> = if round % 2 == 0 { (0..n).collect() } else { (0..n).rev().collect() };
            for (step, &j) in order.iter().enumerate() {
                for &i in &order[..step] {
                    let slot = self.schema.slot(i.min(j), i.max(j));
                    for e in 0..d {
                        let reach = |f: usize| if i < j { m[slot][e][f] } else { m[slot][f][e] };
                        let told: f64 = (0..d).map(|f| reach(f) * phi[i][f]).sum();
                        phi[j][e] = phi[j][e].min(told + w[slot * k + k - 1]);
                    }
                }
            }
        }
        let score = phi.iter().map(|phi| phi.iter().copied().fold(0.0, f64::max)).fold(f64::MAX, f64::min);
        (phi, score)
    }

    pub fn graph(&self) -> ClassMatrix {
        let sizes = Sizes {
            entities: self.entities,
            predicates: self.schema.predicates,
            properties: self.schema.properties,
        };
        let facts: Vec<_> = self.facts.iter().zip(&self.values).map(|(&fact, &v)| (fact, v as f32)).collect();
        let own = self.property_facts.iter().zip(&self.property_values);
        let own: Vec<_> = own.map(|(&fact, &v)| (fact, v as f32)).collect();
        ClassMatrix::valued(sizes, &facts, &own)
    }

    pub fn slots(&self) -> Slots {
        let turn = |logits: &[f64], row: usize| -> Vec<f32> {
            self.weights(logits, row).iter().map(|&w| w as f32).collect()
        };
        Slots {
            pairs: turn(&self.pairs, self.schema.fillers()),
            owns: turn(&self.owns, self.schema.own_fillers()),
        }
    }

    pub fn query(&self) -> (Entity, Entity) {
        (Entity(self.head as u32), Entity(self.tail as u32))
    }
}

/// Random worlds: N in 2..=6, R in 1..=5, with and without properties and values.
pub fn worlds() -> impl Strategy<Value = World> {
    (2usize..=6, 1usize..=5, 2usize..=9, 1usize..=3, 0usize..=2, any::<bool>(), prop::bool::weighted(0.3))
        .prop_flat_map(|(n, rounds, entities, predicates, properties, valued, hard)| {
            let schema = Schema::new(n, predicates, properties).expect("in range");
            let most = entities * entities * predicates;
            let fact = (0..entities as u32, 0..predicates as u32, 0..entities as u32);
            let own = (0..entities as u32, 0..properties.max(1) as u32);
            (
                prop::collection::btree_set(fact, 0..most.min(24)),
                prop::collection::btree_set(own, 0..=entities * properties),
                prop::collection::vec(0.05f64..1.0, 64),
                prop::collection::vec(-3.0f64..3.0, schema.slots() * schema.fillers()),
                prop::collection::vec(-3.0f64..3.0, n * schema.own_fillers()),
                (0..entities, 0..entities),
            )
                .prop_map(move |(facts, owns_facts, values, pairs, owns, (head, tail))| {
                    let facts: Vec<Triple> = facts.iter().map(|&(h, p, t)| Triple::new(h, p, t)).collect();
                    let property_facts: Vec<PropertyFact> = owns_facts
                        .iter()
                        .filter(|_| properties > 0)
                        .map(|&(e, q)| PropertyFact { entity: Entity(e), property: Property(q) })
                        .collect();
                    let value = |i: usize| if valued { f64::from(values[i % 64] as f32) } else { 1.0 };
                    World {
                        schema,
                        entities,
                        values: (0..facts.len()).map(value).collect(),
                        property_values: (0..property_facts.len()).map(|i| value(i + 31)).collect(),
                        facts,
                        property_facts,
                        pairs,
                        owns,
                        head,
                        tail,
                        rounds,
                        hard,
                    }
                })
        })
}

fn close(fast: f64, slow: f64) -> bool {
    (fast - slow).abs() < 2e-6 * (1.0 + slow.abs())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_fast_path_gives_the_domains_and_scores_of_the_equations(world in worlds()) {
        let graph = world.graph();
        let tables = Tables::new(&world.slots(), world.schema, &graph);
        // the query stands in the last of several lanes, beside others
        let pairs: Vec<_> = (0..world.entities).map(|e| (Entity(e as u32), Entity(0))).chain([world.query()]).collect();
        let lane = pairs.len() - 1;
        let batch = Batch::<16>::new(&graph, &pairs);
        let mut tape = Tape::default();
        let score = tape.infer(&graph, &tables, &batch, world.rounds)[lane];
        let (domains, slow) = world.infer();
        prop_assert!(close(f64::from(score), slow), "score {score}, but the equations say {slow}");
        for (variable, domain) in domains.iter().enumerate() {
            let fast = tape.domain(&batch, variable, world.rounds, lane);
            for (entity, &slow) in domain.iter().enumerate() {
                prop_assert!(close(f64::from(fast[entity]), slow), "φ{variable}[{entity}] {} is not {slow}", fast[entity]);
            }
        }
    }

    #[test]
    fn a_score_does_not_depend_on_the_lane_or_the_width(world in worlds()) {
        let graph = world.graph();
        let tables = Tables::new(&world.slots(), world.schema, &graph);
        let alone = Tape::default().infer(&graph, &tables, &Batch::<8>::new(&graph, &[world.query()]), world.rounds)[0];
        let pairs: Vec<_> = (0..world.entities).map(|e| (Entity(e as u32), Entity(0))).chain([world.query()]).collect();
        let batched = Tape::default().infer(&graph, &tables, &Batch::<64>::new(&graph, &pairs), world.rounds);
        prop_assert_eq!(alone.to_bits(), batched[pairs.len() - 1].to_bits());
    }

    #[test]
    fn dense_and_sparse_messages_agree_to_the_last_bit(world in worlds()) {
        let graph = world.graph();
        let tables = Tables::new(&world.slots(), world.schema, &graph);
        let batch = Batch::<8>::new(&graph, &[world.query()]);
        let dense = Tape::default().infer(&graph, &tables, &batch, world.rounds);
        let sparse = Tape::default().infer(&graph, &Tables::without_matrix(&world.slots(), world.schema, &graph), &batch, world.rounds);
        prop_assert_eq!(dense.map(f32::to_bits), sparse.map(f32::to_bits));
    }
}

#[test]
fn small_graphs_with_many_links_are_dense_and_others_are_not() {
    let facts: Vec<Triple> = (0..20).flat_map(|h| (0..20).map(move |t| Triple::new(h, 0, t))).collect();
    assert!(ClassMatrix::new(Sizes { entities: 20, predicates: 1, properties: 0 }, &facts, &[]).is_dense());
    assert!(
        !ClassMatrix::new(Sizes { entities: 2000, predicates: 1, properties: 0 }, &facts, &[]).is_dense()
    );
    assert!(
        !ClassMatrix::new(Sizes { entities: 20, predicates: 1, properties: 0 }, &facts[..30], &[]).is_dense()
    );
}

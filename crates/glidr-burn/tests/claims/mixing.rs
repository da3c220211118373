//! Learned predicates beside known facts, learned rules beside fixed ones, and the layer beside glidr.

use burn::tensor::{Device, Tensor, TensorData};
use glidr::Schema;
use glidr::internals::graph::{ClassMatrix, Entity, Predicate, Sizes, Triple};
use glidr::internals::infer::{Batch, Slots, Tables, Tape};
use glidr::internals::rule::{Filler, Filling};
use glidr_burn::layer::{GraphPair, Queries, SlotWeights, SoftFacts, domains, numbers, scores};
use glidr_burn::random::{Purpose, normal, stream};

use crate::kin::{Families, Target, learn, planted};

fn links(facts: &[(usize, usize, usize)], predicates: usize, entities: usize, device: &Device) -> Tensor<4> {
    let mut values = vec![0.0f32; predicates * entities * entities];
    for (predicate, head, tail) in facts {
        values[(predicate * entities + head) * entities + tail] = 1.0;
    }
    Tensor::from_data(TensorData::new(values, [1, predicates, entities, entities]), device)
}

#[test]
fn on_known_facts_the_layer_gives_the_scores_of_glidr() {
    let (entities, schema) = (9, Schema::new(4, 2, 0).expect("in range"));
    let facts: Vec<(usize, usize, usize)> =
        (0..20).map(|n| (n % 2, (n * 5) % entities, (n * n + 3 * n) % entities)).collect();
    let triples: Vec<Triple> =
        facts.iter().map(|&(p, h, t)| Triple::new(h as u32, p as u32, t as u32)).collect();
    let graph = ClassMatrix::new(Sizes { entities, predicates: 2, properties: 0 }, &triples, &[]);
    let size = schema.slots() * schema.fillers();
    let logits = Slots { pairs: normal(&mut stream(3, Purpose::Data, 0), size, 0.0, 2.0), owns: vec![] };
    let tables = Tables::new(&Slots::soft(&logits, &schema), schema, &graph);
    let device = Device::flex();
    let shape = [1, schema.slots(), schema.fillers()];
    let logits = Tensor::from_data(TensorData::new(logits.pairs, shape), &device);
    let weights = SlotWeights::soft(schema, logits, None);
    let ours = SoftFacts { links: links(&facts, 2, entities, &device), values: None };
    for head in 0..entities {
        for tail in 0..entities {
            let batch = Batch::<8>::new(&graph, &[(Entity(head as u32), Entity(tail as u32))]);
            let theirs = Tape::default().infer(&graph, &tables, &batch, 3)[0];
            let query = Queries::Pairs(vec![GraphPair { graph: 0, head, tail }]);
            let found = numbers(&scores(&weights, &ours, &query, 3).expect("shapes agree")).expect("f32")[0];
            assert!((found - theirs).abs() < 1e-6, "({head}, {tail}): {found} is not {theirs}");
        }
    }
}

#[test]
fn a_fixed_rule_reads_known_facts_and_learned_links_alike_and_only_links_get_a_gradient() {
    let device = Device::flex().autodiff();
    let schema = Schema::new(3, 2, 0).expect("in range");
    // Predicate 0 is known: 0 → 1. Predicate 1 is learned: 1 → 2 holds by 0.7, 1 → 0 by 0.2.
    let known = SoftFacts { links: links(&[(0, 0, 1)], 1, 3, &device), values: None };
    let learned = TensorData::new(vec![0.0f32, 0.0, 0.0, 0.2, 0.0, 0.7, 0.0, 0.0, 0.0], [1, 1, 3, 3]);
    let learned = Tensor::<4>::from_data(learned, &device).require_grad();
    let facts = known.join(SoftFacts { links: learned.clone(), values: None });
    let chain = Filling::new(schema).pair(0, 1, &[Filler::Direct(Predicate(0))]).pair(
        1,
        2,
        &[Filler::Direct(Predicate(1))],
    );
    let fixed = SlotWeights::hard(&[chain], &device).expect("one rule");
    let logits = Tensor::<3>::zeros([1, schema.slots(), schema.fillers()], &device).require_grad();
    let soft = SlotWeights::soft(schema, logits.clone(), None);
    let weights = soft.join(fixed.clone()).expect("one schema");
    let queries = [(0, 2), (0, 0), (1, 2)].map(|(head, tail)| GraphPair { graph: 0, head, tail });
    let found = scores(&weights, &facts, &Queries::Pairs(queries.to_vec()), 1).expect("shapes agree");
    let values = numbers(&found).expect("f32");
    assert_eq!((values[1], values[3], values[5]), (0.7, 0.2, 0.0));
    let gradients = found.sum().backward();
    let d = numbers(&learned.grad(&gradients).expect("links learn")).expect("f32");
    assert!(d[5] >= 1.0 && d[3] >= 1.0, "the fixed rule's scores are these links: {d:?}");
    assert!(logits.grad(&gradients).is_some() && fixed.pairs.grad(&gradients).is_none());
    let met = domains(&weights, &facts, 2, 1, 0, Some((0, 2))).expect("in range");
    // Each round takes the link anew, so after two of them 0.7 · 0.7 is left.
    assert!(met[1][0] == 0.0 && (met[1][1] - 0.49).abs() < 1e-6 && met[1][2] == 0.0, "{:?}", met[1]);
}

#[test]
fn the_planted_rule_over_a_hidden_property_is_found_from_labels_of_pairs() {
    let families = Families::new(6, 0.6, Target::Uncle, 0);
    let learned = learn(&families, Target::Uncle, 250, 0).expect("no divergence");
    assert!(planted().contains(&learned.rule()), "{:?}", learned.rule());
    let [pairs, people] = learned.evaluate(&Families::new(20, 0.6, Target::Uncle, 1)).expect("same shapes");
    assert!(pairs > 0.99 && people > 0.97, "{pairs} {people}");
}

#[test]
fn beside_a_fixed_rule_the_learned_rule_is_what_the_fixed_one_leaves_open() {
    let families = Families::new(6, 0.6, Target::Guardian, 0);
    let learned = learn(&families, Target::Guardian, 250, 0).expect("no divergence");
    assert!(planted().contains(&learned.rule()), "{:?}", learned.rule());
}

//! Message, adjoint, training step and ranking, each with its answer checked.
//!
//! `cargo bench -p glidr`. The graph is generated: 600 people in chains of kin, so that the
//! benchmark needs no files and runs the same everywhere.

use criterion::{Criterion, criterion_group, criterion_main};
use glidr::internals::graph::{ClassMatrix, Direction, Entity, Predicate, Query, Sizes, Triple};
use glidr::internals::infer::{Batch, Engine, Slots, Tables, Tape};
use glidr::internals::model::{Ensemble, SoftRule};
use glidr::internals::predict::{Exhaustive, MessagePassing, Soft, SoftTarget, top_k};
use glidr::internals::train::pairwise_logistic;
use glidr::{Dataset, Evaluation, Predictor, Schema, Training};

const PEOPLE: u32 = 600;

/// Everyone has a parent, a friend and a boss, all found by arithmetic.
fn graph() -> ClassMatrix {
    let facts: Vec<Triple> = (1..PEOPLE)
        .flat_map(|n| {
            [Triple::new(n / 2, 0, n), Triple::new(n, 1, (n * 7 + 3) % PEOPLE), Triple::new(n / 10, 2, n)]
        })
        .collect();
    ClassMatrix::new(Sizes { entities: PEOPLE as usize, predicates: 3, properties: 0 }, &facts, &[])
}

fn logits(schema: &Schema) -> Slots {
    let mut logits = Slots::zero(schema);
    logits.iter_mut().enumerate().for_each(|(n, logit)| *logit = ((n * n) as f32 * 0.7).sin() * 3.0);
    logits
}

fn pairs() -> Vec<(Entity, Entity)> {
    (0..64).map(|n| (Entity(n * 5 % PEOPLE), Entity((n * 11 + 1) % PEOPLE))).collect()
}

fn engine(c: &mut Criterion) {
    let (graph, schema) = (graph(), Schema::new(4, 3, 0).expect("in range"));
    let weights = Slots::soft(&logits(&schema), &schema);
    let tables = Tables::new(&weights, schema, &graph);
    let batch = Batch::<64>::new(&graph, &pairs());
    let mut tape = Tape::default();

    let scores = tape.infer(&graph, &tables, &batch, 3);
    let alone = Batch::<8>::new(&graph, &pairs()[17..18]);
    assert_eq!(scores[17], Tape::default().infer(&graph, &tables, &alone, 3)[0], "lanes agree");
    c.bench_function("message: 64 queries, 1 rule, 3 rounds", |b| {
        b.iter(|| {
            let now = tape.infer(&graph, &tables, &batch, 3);
            assert_eq!(now, scores);
        });
    });

    let (_, d_scores) = pairwise_logistic(&scores, 32);
    let d_lanes: [f32; 64] = d_scores.try_into().expect("64 lanes");
    c.bench_function("adjoint: the same", |b| {
        tape.infer(&graph, &tables, &batch, 3);
        b.iter(|| {
            let mut d_tables = Tables::zero(schema, &graph);
            tape.adjoint(&graph, &tables, &batch, &d_lanes, &mut d_tables);
            let mut d_weights = Slots::zero(&schema);
            Tables::adjoint(d_tables, &weights, &graph, &mut d_weights, None);
            assert!(d_weights.iter().any(|d| d != 0.0));
        });
    });

    let rules = vec![SoftRule { logits: logits(&schema), loss: 1.0, weight: 1.0 }];
    let ensemble = Ensemble { target: Predicate(0), rules };
    let passing = MessagePassing { rounds: 3, engine: Engine::Auto, extraction: None };
    let mut target = SoftTarget::new(&ensemble, schema, &graph, passing);
    let query = Query { predicate: Predicate(0), direction: Direction::Tail, known: Entity(33) };
    let everyone: Vec<_> = (0..PEOPLE).map(|n| (Entity(33), Entity(n))).collect();
    let most = target.pair_scores(&everyone).into_iter().fold(0.0, f32::max);
    c.bench_function("best of all candidates, by bounds", |b| {
        b.iter(|| assert_eq!(top_k(&mut target, query, 1, &|_| true)[0].score, f64::from(most)));
    });
    c.bench_function("best of all candidates, every pair", |b| {
        b.iter(|| assert_eq!(target.pair_scores(&everyone).into_iter().fold(0.0, f32::max), most));
    });
}

fn families(c: &mut Criterion) {
    let data = Dataset::families(0);
    let training = Training { steps: 20, rules: 2, targets: vec!["uncle".into()], ..Training::default() };
    let model = training.run(&data).expect("sound settings");
    c.bench_function("training: 20 steps of 2 rules on the families", |b| {
        b.iter(|| assert_eq!(training.run(&data).expect("sound settings"), model));
    });
    let model = Training { targets: vec![], ..training }.run(&data).expect("sound settings");
    let soft = Soft::new(&model, &data).expect("its own data");
    let evaluate =
        |predictor: &dyn Predictor| Evaluation::default().run(predictor, &data, &()).expect("test facts");
    let slow = evaluate(&Exhaustive(&soft));
    c.bench_function("ranking: the families' test split", |b| {
        b.iter(|| assert_eq!(evaluate(&soft).ranks, slow.ranks));
    });
}

criterion_group!(benches, engine, families);
criterion_main!(benches);

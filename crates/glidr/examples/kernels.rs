//! One hot kernel, some times over: for counting instructions (`tools/count-instructions`).
//!
//! usage: kernels message|adjoint|ranking TIMES

use std::error::Error;

use glidr::Schema;
use glidr::internals::graph::{ClassMatrix, Direction, Entity, Predicate, Query, Sizes, Triple};
use glidr::internals::infer::{Engine, Slots, Sparse, Tables};
use glidr::internals::model::{Ensemble, SoftRule};
use glidr::internals::predict::{MessagePassing, SoftTarget, top_k};

const ENTITIES: u32 = 5_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (kernel, times) = (arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default());
    let times: usize = times.parse().map_err(|_| "usage: kernels message|adjoint|ranking TIMES")?;
    let next =
        |n: u32, step: u32| (n.wrapping_mul(2_654_435_761).wrapping_add(step * 40_503) >> 7) % ENTITIES;
    let facts: Vec<Triple> =
        (0..6 * ENTITIES).map(|n| Triple::new(n % ENTITIES, n % 7, next(n, 1))).collect();
    let graph =
        ClassMatrix::new(Sizes { entities: ENTITIES as usize, predicates: 7, properties: 0 }, &facts, &[]);
    let schema = Schema::new(4, 7, 0)?;
    let rules: Vec<SoftRule> = (0..8)
        .map(|rule| {
            let mut logits = Slots::zero(&schema);
            let value = |n: usize| ((n * n + rule * 17) as f32 * 0.7).sin() * 3.0;
            logits.iter_mut().enumerate().for_each(|(n, logit)| *logit = value(n));
            SoftRule { logits, loss: 1.0, weight: 1.0 }
        })
        .collect();
    let tables: Vec<Tables> =
        rules.iter().map(|rule| Tables::new(&Slots::soft(&rule.logits, &schema), schema, &graph)).collect();
    let pairs: Vec<(Entity, Entity)> = facts[..64].iter().map(|fact| (fact.head, fact.tail)).collect();
    let mut sparse = Sparse::default();
    sparse.prepare(&graph, &tables.iter().collect::<Vec<_>>(), 3);
    let ensemble = Ensemble { target: Predicate(0), rules };
    let passing = MessagePassing { rounds: 2, engine: Engine::Sparse, extraction: None };
    let mut target = SoftTarget::new(&ensemble, schema, &graph, passing);
    let mut sum = sparse.scores(&graph, &pairs)[0][0];
    for time in 0..times as u32 {
        sum += match kernel.as_str() {
            "message" => sparse.scores(&graph, &pairs)[0][0],
            "adjoint" => sparse.adjoint(&graph, &vec![[1.0; 8]; pairs.len()]).len() as f32,
            "ranking" => {
                let known = Entity(next(time, 2));
                let query = Query { predicate: Predicate(0), direction: Direction::Tail, known };
                top_k(&mut target, query, 10, &|_| true)[0].score as f32
            }
            other => return Err(format!("there is no kernel {other:?}").into()),
        };
    }
    if sum.is_finite() { Ok(()) } else { Err("the sum of all answers is not finite".into()) }
}

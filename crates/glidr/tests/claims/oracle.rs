//! Scores, domains and gradients that were computed elsewhere from the same equations.
//!
//! Reads `oracle/scores.json` beside the project, or the file that `GLIDR_ORACLE` names.

use glidr::Schema;
use glidr::internals::graph::{ClassMatrix, Entity, Sizes, Triple};
use glidr::internals::infer::{Batch, Slots, Tables, Tape};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    name: String,
    variables: usize,
    rounds: usize,
    entities: usize,
    predicates: usize,
    facts: Vec<(u32, u32, u32)>,
    theta: Vec<Vec<f32>>,
    queries: Vec<Query>,
}

#[derive(Deserialize)]
struct Query {
    head: u32,
    tail: u32,
    score: f64,
    domains: Vec<Vec<f64>>,
    gradient: Vec<Vec<Option<f64>>>,
}

fn close(ours: f32, theirs: f64) -> bool {
    (f64::from(ours) - theirs).abs() < 1e-5
}

#[test]
fn every_score_domain_and_gradient_of_the_oracle_is_met_within_1e_5() {
    let named = std::env::var_os("GLIDR_ORACLE").map(std::path::PathBuf::from);
    let Some(path) = named.or_else(|| crate::beside("oracle/scores.json")) else { return };
    let text = std::fs::read_to_string(&path).expect("the oracle can be read");
    let cases: Vec<Case> = serde_json::from_str(&text).expect("the oracle has its documented form");
    let mut checked = 0;
    for case in &cases {
        let facts: Vec<Triple> = case.facts.iter().map(|&(h, p, t)| Triple::new(h, p, t)).collect();
        let graph = ClassMatrix::new(
            Sizes { entities: case.entities, predicates: case.predicates, properties: 0 },
            &facts,
            &[],
        );
        let schema = Schema::new(case.variables, case.predicates, 0).expect("in range");
        let logits = Slots { pairs: case.theta.concat(), owns: vec![] };
        let weights = Slots::soft(&logits, &schema);
        let tables = Tables::new(&weights, schema, &graph);
        let pairs: Vec<_> =
            case.queries.iter().map(|query| (Entity(query.head), Entity(query.tail))).collect();
        for (number, pairs) in pairs.chunks(8).enumerate() {
            let batch = Batch::<8>::new(&graph, pairs);
            for (lane, query) in case.queries[8 * number..].iter().take(8).enumerate() {
                let mut tape = Tape::default();
                let score = tape.infer(&graph, &tables, &batch, case.rounds)[lane];
                assert!(close(score, query.score), "{}: score {score} is not {}", case.name, query.score);
                for (variable, domain) in query.domains.iter().enumerate() {
                    let ours = tape.domain(&batch, variable, case.rounds, lane);
                    assert!(
                        ours.iter().zip(domain).all(|(&a, &b)| close(a, b)),
                        "{}: domain {variable}",
                        case.name
                    );
                }
                let mut d_score = [0.0; 8];
                d_score[lane] = 1.0;
                let (mut d_tables, mut d_logits) = (Tables::zero(schema, &graph), Slots::zero(&schema));
                tape.adjoint(&graph, &tables, &batch, &d_score, &mut d_tables);
                Tables::adjoint(d_tables, &weights, &graph, &mut d_logits, None);
                Slots::soft_adjoint(&weights, &mut d_logits, &schema);
                for (place, (&ours, theirs)) in d_logits.pairs.iter().zip(query.gradient.concat()).enumerate()
                {
                    if let Some(theirs) = theirs {
                        assert!(
                            close(ours, theirs),
                            "{}: gradient {place}: {ours} is not {theirs}",
                            case.name
                        );
                    }
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 0, "{} holds no query", path.display());
    eprintln!("{checked} queries of {} models agree", cases.len());
}

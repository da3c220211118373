//! The paper's own claims, in the hard setting.

use glidr::Schema;
use glidr::internals::graph::{ClassMatrix, Entity, Predicate, Sizes, Triple};
use glidr::internals::infer::{Batch, Outcome, Slots, Tables, Tape};
use glidr::internals::rule::{Filler, Filling};

/// Passes messages until settled; the score of one pair under a filled schema.
fn settle(graph: &ClassMatrix, filling: &Filling, head: u32, tail: u32) -> (f32, Outcome) {
    let tables = Tables::new(&Slots::hard(filling), filling.schema, graph);
    let batch = Batch::<8>::new(graph, &[(Entity(head), Entity(tail))]);
    Tape::default().settle(graph, &tables, &batch, 100)
}

fn direct(predicate: u32) -> [Filler; 1] {
    [Filler::Direct(Predicate(predicate))]
}

fn inverse(predicate: u32) -> [Filler; 1] {
    [Filler::Inverse(Predicate(predicate))]
}

/// Whether some choice of entities for the inner variables satisfies every slot: brute force.
fn holds(graph: &ClassMatrix, filling: &Filling, head: u32, tail: u32) -> bool {
    let (n, d) = (filling.schema.variables, graph.entities());
    (0..d.pow(n as u32 - 2)).any(|mut code| {
        let mut at = vec![head as usize];
        for _ in 0..n - 2 {
            at.push(code % d);
            code /= d;
        }
        at.push(tail as usize);
        filling.schema.pairs().enumerate().all(|(slot, (i, j))| {
            let chosen = filling.slot(slot);
            let link = graph.class(at[i], at[j]).map(|class| graph.classes().members(class as usize));
            let numbers: Vec<u32> = chosen.iter().map(|&f| filling.schema.filler_number(f) as u32).collect();
            chosen.is_empty()
                || link.is_some_and(|members| members.iter().any(|m| numbers.contains(&m.filler)))
        })
    })
}

#[test]
fn an_emptied_domain_means_the_rule_is_false() {
    // r(X, Z), r(Z, Y) on 0 → 1 → 2, 3 → 3
    let graph = ClassMatrix::new(
        Sizes { entities: 4, predicates: 1, properties: 0 },
        &[Triple::new(0, 0, 1), Triple::new(1, 0, 2), Triple::new(3, 0, 3)],
        &[],
    );
    let schema = Schema::new(3, 1, 0).expect("in range");
    let filling = Filling::new(schema).pair(0, 1, &direct(0)).pair(1, 2, &direct(0));
    for head in 0..4 {
        for tail in 0..4 {
            let (score, outcome) = settle(&graph, &filling, head, tail);
            let emptied = matches!(outcome, Outcome::Emptied(_));
            assert_eq!(emptied, score == 0.0);
            assert_eq!(!emptied, holds(&graph, &filling, head, tail), "({head}, {tail}) ended {outcome:?}");
        }
    }
}

#[test]
fn a_fixed_point_on_a_tree_proves_the_rule() {
    // a branching, cycle-free rule: r0(X, Z1), r1(Z1, Z2), r0(Z1, Y), over every graph of a family
    let schema = Schema::new(4, 2, 0).expect("in range");
    let filling = Filling::new(schema).pair(0, 1, &direct(0)).pair(1, 2, &direct(1)).pair(1, 3, &inverse(0));
    let mut both = [0, 0];
    for code in 0..400u32 {
        let fact = |n: u32| {
            let mixed = (code * 2_654_435 + n * 40_503).wrapping_mul(2_246_822_519) >> 7;
            Triple::new(mixed % 5, (mixed / 5) % 2, (mixed / 10) % 5)
        };
        let facts: Vec<Triple> = (0..8).map(fact).collect();
        let graph = ClassMatrix::new(Sizes { entities: 5, predicates: 2, properties: 0 }, &facts, &[]);
        let (head, tail) = (code % 5, (code / 5) % 5);
        let (score, outcome) = settle(&graph, &filling, head, tail);
        let truth = holds(&graph, &filling, head, tail);
        both[usize::from(truth)] += 1;
        assert_eq!(score > 0.0, truth);
        assert_eq!(outcome == Outcome::Converged, truth, "ended {outcome:?}");
    }
    assert!(both[0] > 20 && both[1] > 20, "the graphs must show both answers, but {both:?}");
}

#[test]
fn a_fixed_point_on_a_loop_does_not_prove_the_rule() {
    // fig:counterexample: e0..e5 = 0..5, e_i = 6, e_j = 7
    let arrows = [(6, 1), (1, 3), (3, 5), (5, 0), (0, 2), (2, 4), (4, 1), (3, 7), (2, 7), (6, 0)];
    let facts: Vec<Triple> = arrows.iter().map(|&(a, b)| Triple::new(a, 0, b)).collect();
    let graph = ClassMatrix::new(Sizes { entities: 8, predicates: 1, properties: 0 }, &facts, &[]);
    // P12(Z1,Z2), P24(Z2,Z4), P43(Z4,Z3), P32(Z3,Z2), P45(Z4,Z5)
    let filling = Filling::new(Schema::new(5, 1, 0).expect("in range"))
        .pair(0, 1, &direct(0))
        .pair(1, 3, &direct(0))
        .pair(2, 3, &inverse(0))
        .pair(1, 2, &inverse(0))
        .pair(3, 4, &direct(0));
    assert_eq!(settle(&graph, &filling, 6, 7), (1.0, Outcome::Converged));
    assert!(!holds(&graph, &filling, 6, 7));
}

#[test]
fn chain_like_rules_are_expressible() {
    // def:chainlike with n = 4: P_h(X, Y) ← r0(X, Z1), r1(Z1, Z2), r0(Y, Z2) by an inverse
    let filling = Filling::new(Schema::new(4, 2, 0).expect("in range"))
        .pair(0, 1, &direct(0))
        .pair(1, 2, &direct(1))
        .pair(2, 3, &inverse(0));
    let facts = [Triple::new(0, 0, 1), Triple::new(1, 1, 2), Triple::new(3, 0, 2), Triple::new(3, 0, 0)];
    let graph = ClassMatrix::new(Sizes { entities: 4, predicates: 2, properties: 0 }, &facts, &[]);
    for (head, tail) in (0..4).flat_map(|h| (0..4).map(move |t| (h, t))) {
        let expected = (head, tail) == (0, 3);
        assert_eq!(settle(&graph, &filling, head, tail).0 > 0.0, expected);
        assert_eq!(holds(&graph, &filling, head, tail), expected);
    }
}

#[test]
fn the_example_of_fig_glidr_schema_instance_evaluates_right() {
    // R1(X,B), R2(X,C), R3(B,C), R4(B,Y), R5(Y,C) with n = 5, Z4 unused and R5 inverted
    let filling = Filling::new(Schema::new(5, 5, 0).expect("in range"))
        .pair(0, 1, &direct(0))
        .pair(0, 2, &direct(1))
        .pair(1, 2, &direct(2))
        .pair(1, 4, &direct(3))
        .pair(2, 4, &inverse(4));
    let all = [
        Triple::new(0, 0, 1),
        Triple::new(0, 1, 2),
        Triple::new(1, 2, 2),
        Triple::new(1, 3, 3),
        Triple::new(3, 4, 2),
    ];
    let graph = ClassMatrix::new(Sizes { entities: 4, predicates: 5, properties: 0 }, &all, &[]);
    assert_eq!(settle(&graph, &filling, 0, 3), (1.0, Outcome::Converged));
    for left_out in 0..5 {
        let facts: Vec<Triple> = (0..5).filter(|&n| n != left_out).map(|n| all[n]).collect();
        let graph = ClassMatrix::new(Sizes { entities: 4, predicates: 5, properties: 0 }, &facts, &[]);
        let (score, outcome) = settle(&graph, &filling, 0, 3);
        assert!(
            score == 0.0 && matches!(outcome, Outcome::Emptied(_)),
            "without fact {left_out}: {outcome:?}"
        );
    }
    let rule = filling.rule(Predicate(0));
    assert_eq!((rule.variables(), rule.body().len()), (4, 5));
}

#[test]
fn a_round_limit_is_an_outcome_and_not_an_error() {
    let graph = ClassMatrix::new(
        Sizes { entities: 3, predicates: 1, properties: 0 },
        &[Triple::new(0, 0, 1), Triple::new(1, 0, 2)],
        &[],
    );
    let filling =
        Filling::new(Schema::new(3, 1, 0).expect("in range")).pair(0, 1, &direct(0)).pair(1, 2, &direct(0));
    let tables = Tables::new(&Slots::hard(&filling), filling.schema, &graph);
    let batch = Batch::<8>::new(&graph, &[(Entity(0), Entity(2))]);
    assert_eq!(Tape::default().settle(&graph, &tables, &batch, 1).1, Outcome::RoundLimit);
    assert_eq!(Tape::default().settle(&graph, &tables, &batch, 9).1, Outcome::Converged);
}

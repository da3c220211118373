//! Exact evaluation against brute force over all groundings.

use std::time::Duration;

use glidr::internals::graph::{
    Entity, KnowledgeGraph, Neighbours, Predicate, Property, PropertyFact, Sizes, Triple,
};
use glidr::internals::rule::{Atom, Literal, Rule, Term};
use glidr::internals::solve::{Ended, Limits, Solver};
use proptest::prelude::*;

const ENTITIES: u32 = 5;
const PREDICATES: u32 = 3;
const PROPERTIES: u32 = 2;
const SIZES: Sizes =
    Sizes { entities: ENTITIES as usize, predicates: PREDICATES as usize, properties: PROPERTIES as usize };

/// One random literal: (kind, first term, second term, predicates with their direction).
type Draw = (u8, u8, u8, Vec<(u8, bool)>);

fn term(number: u8, inner: u8) -> Term {
    match number {
        0 => Term::X,
        1 => Term::Y,
        n if n < 2 + inner => Term::Z(n - 1),
        n => Term::Constant(Entity(u32::from(n) % ENTITIES)),
    }
}

fn literal(draw: &Draw, inner: u8) -> Literal {
    let (kind, a, b, fillers) = draw;
    let (a, b) = (term(*a, inner), term(*b, inner));
    let atoms = fillers.iter().map(|&(filler, forward)| match (kind, forward) {
        (0, _) => Atom::Own(Property(u32::from(filler) % PROPERTIES), a),
        (1, true) => Atom::Is(a, Entity(u32::from(filler) % ENTITIES)),
        (1, false) => Atom::Pair(Predicate(u32::from(filler) % PREDICATES), a, a),
        (_, true) => Atom::Pair(Predicate(u32::from(filler) % PREDICATES), a, b),
        (_, false) => Atom::Pair(Predicate(u32::from(filler) % PREDICATES), b, a),
    });
    Literal::any_of(atoms.collect())
}

fn rules() -> impl Strategy<Value = Rule> {
    let fillers = prop::collection::vec((0u8..3, prop::bool::ANY), 1..4);
    // Most terms are variables; few are constants, so that most rules hold somewhere.
    let one = (0u8..5, 0u8..6, 0u8..6, fillers);
    (0u8..=4, prop::collection::vec(one, 0..8)).prop_map(|(inner, draws)| {
        let body: Vec<Literal> = draws.iter().map(|draw| literal(draw, inner)).collect();
        Rule::new(Predicate(0), &body)
    })
}

/// Whether the body holds when variable number v (X, Y, Z1, …) stands for `of[v]`.
fn holds(rule: &Rule, of: &[u32], facts: &[Triple], property_facts: &[PropertyFact]) -> bool {
    let entity = |term: Term| match term {
        Term::X => of[0],
        Term::Y => of[1],
        Term::Z(number) => of[number as usize + 1],
        Term::Constant(entity) => entity.0,
    };
    let true_atom = |atom: &Atom| match *atom {
        Atom::Pair(p, a, b) => facts.contains(&Triple::new(entity(a), p.0, entity(b))),
        Atom::Own(property, a) => {
            property_facts.contains(&PropertyFact { entity: Entity(entity(a)), property })
        }
        Atom::Is(a, b) => entity(a) == b.0,
    };
    rule.body().iter().all(|literal| literal.atoms().iter().any(true_atom))
}

/// Every grounding of the body, in the order of X, Y, Z1, …
fn all_groundings(rule: &Rule, facts: &[Triple], property_facts: &[PropertyFact]) -> Vec<Vec<u32>> {
    let variables = rule.variables();
    let count = ENTITIES.pow(variables as u32);
    let digits = |n: u32| (0..variables as u32).rev().map(move |place| n / ENTITIES.pow(place) % ENTITIES);
    (0..count)
        .map(|n| digits(n).collect())
        .filter(|of: &Vec<u32>| holds(rule, of, facts, property_facts))
        .collect()
}

fn facts() -> impl Strategy<Value = (Vec<Triple>, Vec<PropertyFact>)> {
    let triple = (0..ENTITIES, 0..PREDICATES, 0..ENTITIES).prop_map(|(h, p, t)| Triple::new(h, p, t));
    let own = (0..ENTITIES, 0..PROPERTIES)
        .prop_map(|(e, q)| PropertyFact { entity: Entity(e), property: Property(q) });
    (prop::collection::vec(triple, 0..30), prop::collection::vec(own, 0..8))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_count_and_grounding_is_that_of_brute_force((facts, property_facts) in facts(), rule in rules()) {
        let graph = KnowledgeGraph::new(SIZES, facts.clone(), property_facts.clone());
        let solver = Solver::new(&rule, graph.neighbours(), Limits::default()).expect("a rule of the language");
        let plain = all_groundings(&rule, &facts, &property_facts);
        let pair = |of: &Vec<u32>| (Entity(of[0]), Entity(of[1]));
        let mut answers: Vec<_> = plain.iter().map(pair).collect();
        answers.dedup();
        let found = solver.answers();
        prop_assert_eq!(found.ended, Ended::Complete);
        prop_assert_eq!(&found.value, &answers);
        prop_assert_eq!(solver.all_groundings(u64::MAX).value, plain.len() as u64);
        for head in (0..ENTITIES).map(Entity) {
            let tails: Vec<Entity> = answers.iter().filter(|p| p.0 == head).map(|p| p.1).collect();
            let heads: Vec<Entity> = answers.iter().filter(|p| p.1 == head).map(|p| p.0).collect();
            prop_assert_eq!(solver.tails(head).value, tails);
            prop_assert_eq!(solver.heads(head).value, heads);
            for tail in (0..ENTITIES).map(Entity) {
                let of_pair: Vec<&Vec<u32>> = plain.iter().filter(|of| pair(of) == (head, tail)).collect();
                prop_assert_eq!(solver.holds(head, tail).value, !of_pair.is_empty());
                prop_assert_eq!(solver.groundings(head, tail, u64::MAX).value, of_pair.len() as u64);
                let limited = solver.groundings(head, tail, 3);
                prop_assert_eq!(limited.value, (of_pair.len() as u64).min(3));
                prop_assert_eq!(limited.ended == Ended::AnswerLimit, of_pair.len() >= 3);
                let first = solver.grounding(head, tail).value;
                let numbers = first.as_ref().map(|g| g.entities.iter().map(|e| e.0).collect::<Vec<u32>>());
                prop_assert_eq!(numbers.as_ref(), of_pair.first().copied());
                if let Some(grounding) = first {
                    let proof = grounding.facts(&rule, graph.neighbours());
                    // A fact for every literal, but where only what a variable is makes it true.
                    let is = |atom: &Atom| matches!(atom, Atom::Is(..));
                    let sure = rule.body().iter().filter(|l| !l.atoms().iter().any(is)).count();
                    prop_assert!(proof.len() >= sure && proof.len() <= rule.body().len());
                    prop_assert!(proof.iter().all(|(atom, ..)| !is(atom)));
                }
            }
        }
    }

    #[test]
    fn a_body_that_must_hold_in_several_ways_holds_where_it_has_as_many_groundings(
        (facts, property_facts) in facts(), rule in rules(), least in 2u32..5, which in 0usize..30,
    ) {
        prop_assume!(!facts.is_empty());
        let gone = facts[which % facts.len()];
        let rest: Vec<Triple> = facts.iter().copied().filter(|fact| *fact != gone).collect();
        let index = Neighbours::new(SIZES, &facts, &property_facts);
        let counted = rule.clone().with_min_groundings(least);
        let solver = Solver::new(&counted, &index, Limits::default()).expect("a rule of the language");
        let (all, fewer) = (all_groundings(&rule, &facts, &property_facts), all_groundings(&rule, &rest, &property_facts));
        let enough = |all: &[Vec<u32>], head: u32, tail: u32| {
            all.iter().filter(|of| (of[0], of[1]) == (head, tail)).count() >= least as usize
        };
        let pairs = || (0..ENTITIES).flat_map(|head| (0..ENTITIES).map(move |tail| (head, tail)));
        let answers: Vec<(Entity, Entity)> =
            pairs().filter(|&(h, t)| enough(&all, h, t)).map(|(h, t)| (Entity(h), Entity(t))).collect();
        prop_assert_eq!(&solver.answers().value, &answers);
        for (head, tail) in pairs() {
            let (h, t) = (Entity(head), Entity(tail));
            let held = enough(&all, head, tail);
            prop_assert_eq!(solver.holds(h, t).value, held);
            prop_assert_eq!(solver.grounding(h, t).value.is_some(), held);
            prop_assert_eq!(solver.tails(h).value.contains(&t), held);
            prop_assert_eq!(solver.heads(t).value.contains(&h), held);
            prop_assert_eq!(solver.holds_without(h, t, gone).value, enough(&fewer, head, tail));
        }
    }

    #[test]
    fn a_fact_left_out_is_as_if_it_had_never_been((facts, property_facts) in facts(), rule in rules(), which in 0usize..30) {
        prop_assume!(!facts.is_empty());
        let gone = facts[which % facts.len()];
        let index = Neighbours::new(SIZES, &facts, &property_facts);
        let solver = Solver::new(&rule, &index, Limits::default()).expect("a rule of the language");
        let rest: Vec<Triple> = facts.iter().copied().filter(|fact| *fact != gone).collect();
        let plain = all_groundings(&rule, &rest, &property_facts);
        for (head, tail) in (0..ENTITIES).flat_map(|h| (0..ENTITIES).map(move |t| (h, t))) {
            let held = plain.iter().any(|of| (of[0], of[1]) == (head, tail));
            prop_assert_eq!(solver.holds_without(Entity(head), Entity(tail), gone).value, held);
        }
    }
}

#[test]
fn a_limit_on_answers_is_honoured_and_reported() {
    let facts: Vec<Triple> = (0..20).flat_map(|h| (0..20).map(move |t| Triple::new(h, 0, t))).collect();
    let index = Neighbours::new(Sizes { entities: 20, predicates: 1, properties: 0 }, &facts, &[]);
    let all = Literal::any_of(vec![Atom::Pair(Predicate(0), Term::X, Term::Y)]);
    let rule = Rule::new(Predicate(0), &[all]);
    let limits = |answers| Limits { answers: Some(answers), time: None };
    let some = Solver::new(&rule, &index, limits(30)).expect("a sound rule").answers();
    assert_eq!((some.value.len(), some.ended), (30, Ended::AnswerLimit));
    let all = Solver::new(&rule, &index, limits(400)).expect("a sound rule").answers();
    assert_eq!((all.value.len(), all.ended), (400, Ended::Complete));
    let tails = Solver::new(&rule, &index, limits(5)).expect("a sound rule").tails(Entity(3));
    assert_eq!((tails.value.len(), tails.ended), (5, Ended::AnswerLimit));
}

/// A clique rule over all nine variables, on a random graph: the hardest shape of the language.
fn clique(variables: usize) -> Rule {
    let term = |v: usize| match v {
        0 => Term::X,
        1 => Term::Y,
        v => Term::Z(v as u8 - 1),
    };
    let pairs = (0..variables).flat_map(|a| (a + 1..variables).map(move |b| (a, b)));
    let body: Vec<Literal> =
        pairs.map(|(a, b)| Literal::any_of(vec![Atom::Pair(Predicate(0), term(a), term(b))])).collect();
    Rule::new(Predicate(0), &body)
}

#[test]
fn a_limit_on_time_is_honoured_and_what_was_found_is_true() {
    let mut facts = Vec::new();
    for head in 0..150u32 {
        facts.extend(
            (0..150).filter(|t| (head * 31 + t * 17 + head * t) % 3 != 0).map(|t| Triple::new(head, 0, t)),
        );
    }
    let index = Neighbours::new(Sizes { entities: 150, predicates: 1, properties: 0 }, &facts, &[]);
    let limits = Limits { time: Some(Duration::from_millis(50)), answers: None };
    let solver = Solver::new(&clique(7), &index, limits).expect("a sound rule");
    let started = std::time::Instant::now();
    let found = solver.answers();
    assert!(started.elapsed() < Duration::from_secs(5), "took {:?}", started.elapsed());
    if found.ended == Ended::Complete {
        return; // a machine fast enough for the whole search needs no limit
    }
    assert_eq!(found.ended, Ended::TimeLimit);
    for (head, tail) in found.value.into_iter().take(3) {
        assert!(Solver::new(&clique(7), &index, Limits::default()).expect("sound").holds(head, tail).value);
    }
}

#[test]
fn a_long_chain_costs_what_its_facts_cost_and_not_what_its_paths_count() {
    // Every step has 40 ways on, so seven steps have 40⁷ paths between two entities.
    let facts: Vec<Triple> = (0..40).flat_map(|h| (0..40).map(move |t| Triple::new(h, 0, t))).collect();
    let index = Neighbours::new(Sizes { entities: 40, predicates: 1, properties: 0 }, &facts, &[]);
    let step = |a, b| Literal::any_of(vec![Atom::Pair(Predicate(0), a, b)]);
    let mut body: Vec<Literal> = (1..7).map(|z| step(Term::Z(z), Term::Z(z + 1))).collect();
    body.extend([step(Term::X, Term::Z(1)), step(Term::Z(7), Term::Y)]);
    let rule = Rule::new(Predicate(0), &body);
    assert_eq!(rule.variables(), 9);
    let solver = Solver::new(&rule, &index, Limits::default()).expect("a sound rule");
    assert_eq!(solver.answers().value.len(), 1600);
    assert_eq!(solver.groundings(Entity(0), Entity(1), u64::MAX).value, 40u64.pow(7));
    assert_eq!(solver.groundings(Entity(0), Entity(1), 1000).ended, Ended::AnswerLimit);
}

#[test]
fn a_rule_that_the_facts_cannot_read_is_refused() {
    let index = Neighbours::new(Sizes { entities: 2, predicates: 1, properties: 0 }, &[], &[]);
    let refused = |literal: Literal| {
        let rule = Rule::new(Predicate(0), &[literal]);
        Solver::new(&rule, &index, Limits::default()).err().expect("refused").to_string()
    };
    let pair = |p, a, b| Atom::Pair(Predicate(p), a, b);
    assert!(refused(Literal::any_of(vec![pair(7, Term::X, Term::Y)])).contains("predicate 7 of 1"));
    let constant = Term::Constant(Entity(9));
    assert!(refused(Literal::any_of(vec![pair(0, Term::X, constant)])).contains("entity 9 of 2"));
    let mixed = Literal::any_of(vec![pair(0, Term::X, Term::Y), pair(0, Term::X, Term::Z(1))]);
    assert!(refused(mixed).contains("same variables"));
}

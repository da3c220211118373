//! Checking data: planted errors come first, planted constraints are found, and no evidence is no suspicion.

use std::collections::BTreeSet;

use glidr::internals::check::DataCheck;
use glidr::internals::constraint::{Constraint, learn_constraints};
use glidr::internals::graph::Triple;
use glidr::internals::solve::Limits;
use glidr::{Background, Dataset, Generator, Split};

use crate::constraints::trees;

/// All facts, worst first, with their suspicion.
fn ranked(data: &Dataset, constraints: &[Constraint]) -> Vec<(Triple, f64)> {
    let all = DataCheck { min_suspicion: 0.0, ..DataCheck::default() };
    let found = all.run(data, constraints, None).expect("sound constraints");
    found.into_iter().map(|suspect| (suspect.fact, suspect.suspicion)).collect()
}

#[test]
fn most_mislabelled_facts_of_family_trees_come_before_all_others() {
    let clean = trees(40);
    let noisy = clean.mislabelled(0.03, 1).expect("several predicates");
    let suspects = ranked(&noisy, &learn_constraints(&noisy));
    let true_facts: BTreeSet<Triple> =
        Split::ALL.iter().flat_map(|&split| clean.split(split)).copied().collect();
    let is_wrong = |(fact, _): &&(Triple, f64)| !true_facts.contains(fact);
    let wrong = suspects.iter().filter(is_wrong).count();
    let first = suspects.iter().take(wrong).filter(is_wrong).count();
    assert!(wrong > 20 && first * 10 >= wrong * 8, "{first} of {wrong}");
    assert!(suspects.is_sorted_by(|a, b| a.1 >= b.1));
    assert_eq!(suspects.len(), noisy.graph(Background::All).facts().len());
}

#[test]
fn of_two_facts_that_deny_each_other_the_one_is_worse_that_little_else_speaks_for() {
    let data = trees(40);
    let names = data.names();
    let entity = |name: &str| names.entity(name).expect("a name");
    let predicate = |name: &str| names.predicate(name).expect("a name");
    // A son is said to be the child of his sister.
    let wrong = Triple { head: entity("son7"), predicate: predicate("child"), tail: entity("daughter7") };
    let right = Triple { predicate: predicate("sibling"), ..wrong };
    let mut splits = Split::ALL.map(|split| data.split(split).to_vec());
    splits[1].push(wrong);
    let broken = Dataset::of("trees", names.clone(), splits, Vec::new()).expect("sound facts");
    let constraints = Constraint::parse("c", ":- child(X, Y), sibling(X, Y).", names).expect("sound");
    let suspects = ranked(&broken, &constraints);
    let of = |fact: Triple| suspects.iter().find(|(of, _)| *of == fact).expect("all are told").1;
    assert_eq!(suspects[0].0, wrong);
    assert!(of(wrong) > 0.9 && of(right) < 0.1, "{} {}", of(wrong), of(right));
}

#[test]
fn a_model_adds_its_rules_to_what_speaks_for_a_fact() {
    let data = trees(20);
    let text = "husband(X, Y) :- parent(X, Z1), child(Z1, Y).\n";
    let mut rules = glidr::RuleSet::parse("r", text, data.names()).expect("a sound rule");
    rules.weigh(data.graph(Background::Train), Limits::default()).expect("a sound rule");
    let found = DataCheck { min_suspicion: 0.0, ..DataCheck::default() };
    let found = found.run(&data, &[], Some(&rules)).expect("sound rules");
    assert!(found.iter().all(|suspect| (0.0..=1.0).contains(&suspect.suspicion)));
}

/// A generated graph in which these constraints hold, each planted by leaving out the facts that would break it.
fn planted(seed: u64) -> (Dataset, Vec<&'static str>) {
    let generator = Generator {
        entities: 80,
        predicates: 40,
        facts: 24_000,
        instances: 50,
        seed,
        ..Generator::default()
    };
    let data = generator.run().expect("sound settings").data;
    let p = |name: &str| data.names().predicate(name).expect("a predicate of the generator");
    let [asymmetric, one, other, there, back, functional, denied, first, second] =
        ["p15", "p16", "p17", "p18", "p19", "p20", "p21", "p22", "p23"].map(p);
    let all = data.graph(Background::All);
    let facts = all.neighbours();
    let keeps = |fact: &Triple| {
        let Triple { head, predicate, tail } = *fact;
        let same = |predicate| facts.holds(Triple { predicate, ..*fact });
        let turned = |predicate| facts.holds(Triple { head: tail, predicate, tail: head });
        let over = |z: &u32| facts.heads(second, tail).contains(z);
        !(predicate == asymmetric && (head == tail || (turned(asymmetric) && tail < head))
            || predicate == other && same(one)
            || predicate == back && turned(there)
            || predicate == functional && facts.tails(functional, head)[0] != tail.0
            || predicate == denied && facts.tails(first, head).iter().any(over))
    };
    let splits = Split::ALL.map(|split| data.split(split).iter().copied().filter(keeps).collect());
    let planted = Dataset::of("planted", data.names().clone(), splits, data.property_facts().to_vec());
    let constraints = vec![
        ":- p15(X, Y), p15(Y, X).",
        ":- p16(X, Y), p17(X, Y).",
        ":- p18(X, Y), p19(Y, X).",
        ":- at least 2 Y: p20(X, Y).",
        ":- p21(X, Y), p22(X, Z1), p23(Z1, Y).",
    ];
    (planted.expect("sound facts"), constraints)
}

#[test]
fn planted_constraints_are_found_and_with_two_percent_of_noise_those_of_two_predicates_still() {
    for (p, least) in [(0.0, 5), (0.02, 3)] {
        let (data, wanted) = planted(0);
        let noisy = data.mislabelled(p, 0).expect("several predicates");
        let found = learn_constraints(&noisy);
        let lines: Vec<String> = found.iter().map(|constraint| constraint.show(noisy.names())).collect();
        let count = wanted.iter().filter(|wanted| lines.iter().any(|line| line == *wanted)).count();
        assert!(count >= least, "at p = {p} {count} of {wanted:?} are among {lines:#?}");
    }
}

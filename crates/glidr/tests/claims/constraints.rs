//! Constraints: read back as printed, kept under other names, and candidates they refuse come last.

use std::sync::Arc;

use glidr::internals::constraint::{
    Constraint, ConstraintCounts, Denial, KeptConstraint, KeptConstraints, Role, learn_constraints,
};
use glidr::internals::graph::{Direction, Entity, Predicate, Property, Query, Triple};
use glidr::internals::predict::{Constrained, Exhaustive, MessagePassing, REFUSED, Soft, top_k};
use glidr::{Background, Dataset, Evaluation, Predictor, Split};
use proptest::prelude::*;

use crate::ranking::{data_of, evaluate, model_of};
use crate::text::{rule, vocabulary};

fn role() -> impl Strategy<Value = Role> {
    prop_oneof![
        (0..2u32).prop_map(|p| Role::Own(Property(p))),
        (0..3u32).prop_map(|p| Role::Head(Predicate(p))),
        (0..3u32).prop_map(|p| Role::Tail(Predicate(p))),
    ]
}

fn denial() -> impl Strategy<Value = Denial> {
    let p = || (0..3u32).prop_map(Predicate);
    let end = || prop_oneof![Just(Direction::Tail), Just(Direction::Head)];
    let body = rule().prop_filter_map("a body of one grounding", |rule| {
        let rule = rule.with_min_groundings(1);
        let denial = Denial::Body(rule.clone());
        // Of two predicates of one pair the first is the one of the lower number.
        let sorted = denial.as_disjoint().map(|(one, other)| Denial::disjoint(one, other));
        (!rule.body().is_empty()).then(|| sorted.unwrap_or(denial))
    });
    prop_oneof![
        p().prop_map(Denial::Irreflexive),
        (p(), p()).prop_map(|(one, other)| Denial::disjoint(one, (other, one == other))),
        (p(), p()).prop_map(|(one, other)| Denial::disjoint(one, (other, false))),
        body,
        (p(), end(), 2..5u32).prop_map(|(predicate, counted, count)| Denial::AtLeast {
            predicate,
            counted,
            count
        }),
        (p(), end(), role()).prop_map(|(predicate, end, role)| Denial::End { predicate, end, role }),
        (p(), prop::bool::ANY).prop_map(|(predicate, denied)| Denial::Linked { predicate, denied }),
    ]
}

/// Constraints over the numbers of [`vocabulary`], counted or written by hand.
pub fn constraints() -> impl Strategy<Value = Vec<KeptConstraint>> {
    let counts = (0usize..9000, 0usize..9, 0.0f64..1e6)
        .prop_map(|(facts, exceptions, expected)| ConstraintCounts { facts, exceptions, expected });
    let one = (denial(), 0.0f64..=1.0, prop::option::of(counts), prop::bool::ANY);
    let kept = one.prop_map(|(denial, confidence, counts, is_used)| {
        let used_for = if is_used { denial.targets() } else { Vec::new() };
        KeptConstraint { constraint: Constraint { denial, confidence, counts }, used_for }
    });
    prop::collection::vec(kept, 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printed_constraints_are_read_as_the_same(names in vocabulary(), kept in constraints()) {
        let constraints: Vec<Constraint> = kept.into_iter().map(|kept| kept.constraint).collect();
        let text: String = constraints.iter().map(|of| of.to_line(&names) + "\n").collect();
        prop_assert_eq!(Constraint::parse("c", &text, &names).expect("what was printed can be read"), constraints);
    }

    #[test]
    fn constraints_that_travel_there_and_back_are_the_same(names in vocabulary(), kept in constraints()) {
        let travelled = KeptConstraints::new(&kept, &names);
        prop_assert_eq!(travelled.on(&names), kept);
    }

    #[test]
    fn what_constraints_refuse_comes_last_and_all_else_stays_in_its_order(
        facts in prop::collection::vec((0u8..20, 0u8..3, 0u8..20), 40..120),
        logits in prop::collection::vec(-4.0f32..4.0, 211),
        kept in constraints(),
        count in 0usize..25,
    ) {
        let data = data_of(&facts, &[(1, 0), (2, 0), (3, 1)]);
        prop_assume!(data.names().predicates.len() == 3 && data.names().properties.len() == 2);
        let has_no_constants = |kept: &KeptConstraint| match &kept.constraint.denial {
            Denial::Body(rule) => !format!("{rule:?}").contains("Entity"),
            _ => true,
        };
        let kept: Arc<[KeptConstraint]> = kept.into_iter().filter(has_no_constants).collect();
        let model = model_of(&data, 3, 2, &logits);
        let soft: Arc<dyn Predictor> = Arc::new(
            Soft::with(&model, &data, Background::Train, MessagePassing::of(&model)).expect("its own data"),
        );
        let graph = data.graph(Background::Train);
        let constrained = Constrained::new(Arc::clone(&soft), Arc::clone(graph), Arc::clone(&kept));

        let evaluation = Evaluation::default();
        let fast = evaluate(evaluation, &constrained, &data);
        let slow = evaluate(evaluation, &Exhaustive(&constrained), &data);
        prop_assert_eq!(fast.ranks, slow.ranks);

        let all: Vec<Entity> = (0..data.names().entities.len() as u32).map(Entity).collect();
        for target in (0..3).map(Predicate) {
            let mut plain = soft.target(target, false).expect("sound rules");
            let mut heeding = constrained.target(target, false).expect("sound rules");
            for direction in Direction::BOTH {
                let query = Query { predicate: target, direction, known: Entity(3) };
                let (plain, scores) = (plain.scores(query, &all), heeding.scores(query, &all));
                for (plain, score) in plain.iter().zip(&scores) {
                    prop_assert!(score == plain || *score == REFUSED);
                }
                let best = top_k(heeding.as_mut(), query, count, &|_| true);
                let mut ranked: Vec<(Entity, f64)> = all.iter().copied().zip(scores).collect();
                ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                ranked.truncate(count);
                prop_assert_eq!(best.iter().map(|answer| (answer.entity, answer.score)).collect::<Vec<_>>(), ranked);
            }
        }
    }

    #[test]
    fn a_fact_is_in_conflict_exactly_if_the_others_deny_it(
        facts in prop::collection::vec((0u8..6, 0u8..3, 0u8..6), 4..30),
        denial in denial().prop_filter("about facts that are there", |denial| {
            !matches!(denial, Denial::Body(_) | Denial::End { .. }) || denial.as_disjoint().is_some()
        }),
    ) {
        let data = data_of(&facts, &[]);
        prop_assume!(data.names().predicates.len() == 3);
        let graph = data.graph(Background::All);
        let conflicts = denial.conflicts(graph.neighbours()).expect("a sound denial");
        let told = |fact: Triple| {
            conflicts.iter().any(|conflict| conflict.fact == fact || conflict.others.contains(&fact))
        };
        for split in [Split::Facts, Split::Train, Split::Valid, Split::Test] {
            for &fact in data.split(split) {
                let others = graph.without(fact);
                let against = denial.against(others.neighbours(), fact).expect("a sound denial");
                prop_assert_eq!(told(fact), against.is_some(), "{:?}", fact);
                prop_assert_eq!(denial.against(graph.neighbours(), fact).expect("a sound denial"), against);
            }
        }
    }
}

/// Family trees of three generations: every couple has three children, who are siblings. Grandfathers know who is older.
pub fn trees(families: u32) -> Dataset {
    let mut lines = String::new();
    for n in 0..families {
        let mut fact = |head: &str, predicate: &str, tail: &str| {
            lines.push_str(&format!("{head}{n}\t{predicate}\t{tail}{n}\n"));
        };
        let couples = [
            ("grandfather", "grandmother", ["son", "daughter", "heir"]),
            ("son", "wife", ["grandson", "granddaughter", "infant"]),
        ];
        for (husband, wife, children) in couples {
            fact(husband, "husband", wife);
            for child in children {
                for parent in [husband, wife] {
                    fact(parent, "parent", child);
                    fact(child, "child", parent);
                }
                for sibling in children.into_iter().filter(|&sibling| sibling != child) {
                    fact(child, "sibling", sibling);
                }
            }
        }
    }
    for (one, other) in (0..families).flat_map(|one| (one + 1..families).map(move |other| (one, other))) {
        lines.push_str(&format!("grandfather{one}\tolder\tgrandfather{other}\n"));
    }
    let folder = tempfile::tempdir().expect("a folder for a small file");
    let path = folder.path().join("trees.tsv");
    std::fs::write(&path, lines).expect("a small file");
    Dataset::open(&path, 3).expect("a sound file")
}

#[test]
fn what_family_trees_never_have_is_found_and_what_they_have_is_not() {
    let data = trees(40);
    let lines: Vec<String> =
        learn_constraints(&data).iter().map(|constraint| constraint.show(data.names())).collect();
    for wanted in [
        ":- child(X, Y), sibling(X, Y).",
        ":- older(X, Y), older(Y, X).",
        ":- older(X, X).",
        ":- at least 3 X: parent(X, Y).",
        ":- parent(X, Y), not child(Z1, X).",
    ] {
        assert!(lines.iter().any(|line| line == wanted), "{wanted} is not among {lines:#?}");
    }
    for never in [
        ":- sibling(X, Y), sibling(Y, X).",
        ":- child(X, Y), parent(Y, X).",
        ":- at least 2 X: parent(X, Y).",
    ] {
        assert!(!lines.iter().any(|line| line == never), "{never} is wrong");
    }
}

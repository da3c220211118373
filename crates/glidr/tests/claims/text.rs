//! Rules as text: printed and read back unchanged, and errors that point at the place.

use std::path::Path;

use glidr::Dataset;
use glidr::internals::graph::{Entity, Id, Names, Predicate, Property, Vocabulary};
use glidr::internals::rule::{Atom, Clause, Literal, Measures, Rule, RuleNames, Term, Weight, parse_rules};
use proptest::prelude::*;

fn one(text: &str, names: &Vocabulary) -> glidr::Result<Rule> {
    match &parse_rules(Path::new("my.rules"), text)?[..] {
        [Clause::Rule(written)] => written.rule(Path::new("my.rules"), names),
        other => panic!("not one rule: {other:?}"),
    }
}

/// Distinct names of any characters that data may hold.
pub fn hostile<I: Id + std::fmt::Debug>(count: usize) -> impl Strategy<Value = Names<I>> {
    let name = prop_oneof![
        "[^\t]{1,8}",
        "[a-zA-Z_][a-z0-9_]{0,4}",
        prop::sample::select(vec![
            "X",
            "Y",
            "Z1",
            "true",
            "/film/director",
            "it's",
            r"a\b",
            r"\n",
            "a\nb",
            "\r",
            "a.b",
            "%",
            "at",
            "support 1"
        ])
        .prop_map(String::from),
    ];
    prop::collection::hash_set(name, count).prop_map(Names::new)
}

fn term(number: u8) -> Term {
    match number % 6 {
        0 => Term::X,
        1 => Term::Y,
        2 => Term::Constant(Entity(u32::from(number / 6) % 4)),
        n => Term::Z(n),
    }
}

/// Names of 3 predicates, 2 properties and 4 entities.
pub fn vocabulary() -> impl Strategy<Value = Vocabulary> {
    (hostile(3), hostile(2), hostile(4)).prop_map(|(predicates, properties, entities)| Vocabulary {
        entities,
        predicates,
        properties,
    })
}

/// A rule of the language over these numbers.
pub fn rule() -> impl Strategy<Value = Rule> {
    let fillers = prop::collection::vec((0u32..6, prop::bool::ANY), 1..4);
    let literals = prop::collection::vec((0u8..24, 0u8..24, fillers, 0u8..3), 0..6);
    (0u32..3, literals, 1u32..4).prop_map(|(target, draws, least)| {
        let literal = |(a, b, fillers, kind): &(u8, u8, Vec<(u32, bool)>, u8)| {
            let (a, b) = (term(*a), term(*b));
            Literal::any_of(
                fillers
                    .iter()
                    .map(|&(filler, turned)| match (kind, turned) {
                        (0, _) => Atom::Own(Property(filler % 2), a),
                        (1, true) => Atom::Is(a, Entity(filler % 4)),
                        (1, false) => Atom::Pair(Predicate(filler % 3), a, a),
                        (_, true) => Atom::Pair(Predicate(filler % 3), b, a),
                        _ => Atom::Pair(Predicate(filler % 3), a, b),
                    })
                    .collect(),
            )
        };
        let literals: Vec<Literal> = draws.iter().map(literal).collect();
        let rule = Rule::new(Predicate(target), &literals);
        if rule.variables() > 2 { rule.with_min_groundings(least) } else { rule }
    })
}

/// What may be counted of a rule.
pub fn measures() -> impl Strategy<Value = Measures> {
    [0usize..50, 0..50, 0..50, 0..50].prop_map(|[support, unknown, wrong, missed]| {
        let pca_body = support + wrong;
        Measures { support, pca_body, body: pca_body + unknown, facts: support + missed }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_printed_rule_is_read_as_the_same_rule_and_printed_the_same(
        names in vocabulary(),
        rule in rule(),
        number in prop::option::of((0.0f64..1.0, prop::option::of(0.0f64..1.0))),
        counted in prop::option::of(measures()),
    ) {
        let plain = rule.show(RuleNames::from(&names));
        let number = number.map(|(tail, head)| Weight { tail, head: head.unwrap_or(tail) });
        let text = number.map_or(plain.clone(), |number| format!("{number} :: {plain}"));
        let text = counted.map_or(text.clone(), |counted| format!("{text} % {counted}"));
        prop_assert_eq!(&one(&text, &names).expect("what was printed can be read"), &rule);
        match &parse_rules(Path::new("r"), &text).expect("readable")[..] {
            [Clause::Rule(written)] => {
                prop_assert_eq!(written.to_string(), text);
                prop_assert_eq!(written.weight, number);
                prop_assert_eq!(written.measures, counted);
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[a-zXYZ:.,;()=/%'\\\\ \n0-9-]{0,60}") {
        let _ = parse_rules(Path::new("r"), &text);
    }
}

#[test]
fn a_rule_is_printed_back_as_it_was_written() {
    let text = "0.5 :: uncle(A, B) :- brother(A, Who), (mother(Who, B) ; father(Who, B)), aunt(A, 'Ann'), (B = 'Bob' ; B = eve).";
    match &parse_rules(Path::new("r"), text).expect("a sound text")[..] {
        [Clause::Rule(written)] => assert_eq!(written.to_string(), text),
        other => panic!("{other:?}"),
    }
}

#[test]
fn names_of_variables_and_comments_make_no_difference() {
    let names = Dataset::families(0).names().clone();
    let plain = one("uncle(X, Y) :- brother(X, Z1), (mother(Z1, Y) ; father(Z1, Y)).", &names);
    let other = "% an uncle is a parent's brother\nuncle(Who,Of):-(father(P,Of);mother(P,Of)), % or\n brother(Who,P) .";
    assert_eq!(one(other, &names).expect("sound"), plain.expect("sound"));
}

#[test]
fn an_error_points_at_its_line_and_column() {
    let names = Dataset::families(0).names().clone();
    for (text, said) in [
        (
            "uncle(X, Y) :- brother(X, Z),\n  fother(Z, Y).",
            "my.rules:2:3: unknown predicate “fother”; did you mean one of “father”, “mother”",
        ),
        ("uncle(X, Y) :- brother(X Z).", "my.rules:1:26: the arguments (one or two) must be followed by “)”"),
        ("uncle(X, Y) : brother(X, Y).", "my.rules:1:13: the head must be followed by “:-”"),
        ("uncle(X, Y) & brother(X, Y).", "my.rules:1:13: names with signs must be in single quotes"),
        (
            "uncle(X, Y) :- at least 1.5: brother(X, Z).",
            "my.rules:1:25: “at least” must be followed by a whole",
        ),
        (
            "uncle(X, Y) :- at least 0: brother(X, Z).",
            "my.rules:1:25: “at least” must be followed by a whole",
        ),
        (
            "uncle(X, Y) :- at least 2 brother(X, Z).",
            "my.rules:1:27: at least so many must be followed by “:”",
        ),
        (
            "uncle(X, Y) :- at least 2: brother(X, Y).",
            "my.rules:1:1: a body that must have at least 2 groundings",
        ),
        ("uncle(X, Y) :- brother(X, Z), at least 2: son(X, Z).", "my.rules:1:34: a predicate's name must be"),
        ("uncle(X, X) :- brother(X, Y).", "my.rules:1:1: the head must have two different variables"),
        ("uncle(X, Y) :- 'brother(X, Y).", "my.rules:1:16: a quoted name must end on its line"),
        ("uncle(X, Y) :- brother(X, Y)", "my.rules:1:29: a rule's body must be followed by “.”"),
        ("uncle(X, Y) :- (father(X, Y) ; father(X, Z)).", "my.rules:1:32: the atoms of a disjunction"),
        ("uncle(X, Y) :- father(X, nobody).", "my.rules:1:16: unknown entity “nobody”"),
        ("uncle(X, Y) :- tall(X).", "my.rules:1:16: unknown property “tall”"),
    ] {
        let error = one(text, &names).expect_err(text).to_string();
        assert!(error.starts_with(said), "{text}\n{error}");
    }
}

#[test]
fn too_many_variables_are_refused_before_they_cost_anything() {
    let names = Dataset::families(0).names().clone();
    let chain: Vec<String> = (0..30).map(|n| format!("father(V{n}, V{})", n + 1)).collect();
    let error = one(&format!("uncle(V0, V30) :- {}.", chain.join(", ")), &names).expect_err("too many");
    assert!(error.to_string().contains("at most 9 variables"), "{error}");
}

//! Sets of rules: written and read back, renumbered, and counted.

use glidr::internals::graph::{Names, Predicate, Vocabulary};
use glidr::internals::rule::{Measures, TargetRules, Weight, WeightedRule};
use glidr::internals::solve::Limits;
use glidr::{Aggregation, Background, Dataset, RuleSet};
use proptest::prelude::*;

use crate::text::{measures, rule, vocabulary};

fn weight() -> impl Strategy<Value = f64> {
    prop_oneof![0.0f64..1.0, 0.0f64..1e9, Just(0.0), Just(1.0), Just(f64::MIN_POSITIVE)]
}

/// Rules of up to three targets over the numbers of [`vocabulary`], some of them without a weight.
pub fn rule_set() -> impl Strategy<Value = RuleSet> {
    let weights = (weight(), weight()).prop_map(|(tail, head)| Weight { tail, head });
    let weights = prop_oneof![weights, weight().prop_map(Weight::from)];
    let weighted = (rule(), weights, prop::option::of(measures()))
        .prop_map(|(rule, weight, measures)| WeightedRule { rule, weight, measures });
    let how = prop::array::uniform3(prop::sample::select(Aggregation::ALL.to_vec()));
    (prop::collection::vec(weighted, 0..12), how).prop_map(|(rules, how)| {
        let of = |target: u32| {
            let rules = rules.iter().filter(|weighted| weighted.rule.target.0 == target).cloned();
            TargetRules::new(Predicate(target), how[target as usize], rules.collect())
        };
        RuleSet::new((0..3).map(of))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_set_of_rules_is_read_back_as_the_very_same(
        names in vocabulary(),
        rules in rule_set(),
        bare in prop::collection::vec(rule(), 0..4),
    ) {
        let text = rules.to_text(&names);
        prop_assert_eq!(&RuleSet::parse("r", &text, &names).expect("what was printed can be read"), &rules);
        // Rules without a number stay so.
        let more: String = bare.iter().map(|rule| rule.show((&names).into()) + "\n").collect();
        let with_bare = RuleSet::parse("r", &(text + &more), &names).expect("readable");
        prop_assert_eq!(with_bare.len(), rules.len() + bare.len());
        let again = RuleSet::parse("r", &with_bare.to_text(&names), &names).expect("readable");
        prop_assert_eq!(again, with_bare);
    }

    #[test]
    fn rules_that_travel_there_and_back_are_the_same(names in vocabulary(), rules in rule_set()) {
        let (own, travelled) = rules.with_own_names(&names);
        prop_assert_eq!(travelled.len(), rules.len());
        prop_assert!(own.entities.len() <= 4 && own.predicates.len() <= 3);
        let back = travelled.renumbered(&own, &names);
        prop_assert_eq!((back.left_out, &back.rules), (0, &rules));
        // Only the numbers differ: the text says the same.
        prop_assert_eq!(RuleSet::parse("r", &travelled.to_text(&own), &names).expect("readable"), rules);
    }
}

#[test]
fn rules_that_name_what_other_data_lacks_are_left_out_and_counted() {
    let names = Dataset::families(0).names().clone();
    let text = "0.5 :: uncle(X, Y) :- brother(X, Z), father(Z, Y).\n\
        0.4 :: aunt(X, Y) :- sister(X, Z), father(Z, Y).\n\
        uncle(X, Y) :- sister(Y, X).\n\
        0.3 :: uncle(X, Y) :- brother(X, 'Arthur').\n";
    let rules = RuleSet::parse("r", text, &names).expect("sound");
    let predicates = Names::new(["father", "uncle", "brother"]);
    let other = Vocabulary { predicates, ..Vocabulary::default() };
    let renumbered = rules.renumbered(&names, &other);
    assert_eq!(renumbered.left_out, 3);
    assert_eq!(
        renumbered.rules.to_text(&other),
        ":- aggregation(uncle, noisy_or).\n0.5 :: uncle(X, Y) :- brother(X, Z1), father(Z1, Y).\n"
    );
}

#[test]
fn a_rule_without_a_number_gets_its_smoothed_confidence_on_the_facts() {
    let data = Dataset::families(0);
    let graph = data.graph(Background::Train);
    let text =
        ":- aggregation(uncle, max_plus).\nuncle(X, Y) :- nephew(Y, X).\n0.01 :: uncle(X, Y) :- aunt(X, Y).";
    let mut rules = RuleSet::parse("r", text, data.names()).expect("sound");
    assert_eq!((rules.unweighted().len(), rules.rules().count()), (1, 1));
    let bare = rules.unweighted()[0].clone();
    rules.weigh(graph, Limits::default()).expect("sound rules");
    assert!(rules.unweighted().is_empty());
    let uncle = &rules.targets()[0];
    assert_eq!((rules.targets().len(), uncle.aggregation), (1, Aggregation::MaxPlus));
    let counted = bare.measure(graph.neighbours(), Limits::default()).expect("a sound rule").value;
    let expected = counted.smoothed_confidence(Measures::SMOOTHING);
    assert!(expected > 0.1, "{expected}");
    assert_eq!((&uncle.rules[0].rule, uncle.rules[0].weight), (&bare, expected.into()));
    assert_eq!(uncle.rules[0].measures, Some(counted));
    assert_eq!(uncle.rules[1].measures, None, "a rule with a number is not counted for that");
    // Counts behind a rule are as good as counting.
    let text = rules.to_text(data.names()).replace(&format!("{expected} :: "), "");
    assert_eq!(RuleSet::parse("r", &text, data.names()).expect("sound"), rules);
    rules.measure(graph, Limits::default()).expect("sound rules");
    assert!(rules.rules().all(|weighted| weighted.measures.is_some()));
}

#[test]
fn counts_that_cannot_be_are_refused_and_other_comments_say_nothing() {
    let names = Dataset::families(0).names().clone();
    let read = |comment: &str| RuleSet::parse("r", &format!("uncle(X, Y) :- aunt(X, Y). {comment}"), &names);
    let said = |comment: &str| read(comment).expect_err("no such counts").to_string();
    assert!(said("% support 5, body 4, pca_body 4, facts 9").starts_with("r:1:28: support must be at most"));
    assert!(
        said("% support 99999999999999999999, body 4, pca_body 4, facts 9").contains("counts must be below")
    );
    for comment in [
        "% support is high",
        "% support 5",
        "",
        "% support 5, body 4, pca_body x, facts 9",
        "\n% support 1, body 1, pca_body 1, facts 1",
    ] {
        assert_eq!(read(comment).expect("a comment").unweighted().len(), 1, "{comment}");
    }
}

#[test]
fn a_rule_file_is_there_whole_and_another_kind_of_file_is_named() {
    let names = Dataset::families(0).names().clone();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("my.rules");
    let rules = RuleSet::parse("r", "0.25 :: uncle(X, Y) :- aunt(X, Y).", &names).expect("sound");
    rules.write(&path, &names).expect("a place for rules");
    assert_eq!(RuleSet::read(&path, &names).expect("the rules just written"), rules);
    let said = |text: &str| {
        std::fs::write(&path, text).expect("a small file");
        RuleSet::read(&path, &names).expect_err("no rules").to_string()
    };
    let facts = said("Arthur\tuncle\tColin\n");
    assert!(facts.ends_with(
        "a text of rules was expected, but this is a text of facts: glidr learn DATA -o MODEL learns a model from it"
    ), "{facts}");
    assert!(said("").contains("must hold at least one rule"));
    assert!(said("% nothing\n").contains("must hold at least one rule"));
    assert!(said("uncle(X, Y) :- aunt(X Y).").contains("my.rules:1:"));
    assert!(said("uncle(X, Y) :- aunt(X, Y).\n:- aggregation(uncle, best).").contains("my.rules:2:4: "));
    let folder = RuleSet::read(folder.path(), &names).expect_err("a folder").to_string();
    assert!(folder.contains("this is a folder of data"), "{folder}");
    let endless = WeightedRule { weight: f64::INFINITY.into(), ..rules.rules().next().expect("one").clone() };
    let endless = RuleSet::new([TargetRules::new(endless.rule.target, Aggregation::Sum, vec![endless])]);
    assert!(endless.write(&path, &names).is_err());
}

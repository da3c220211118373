//! The model file: what is saved is opened as the very same, and what is no model is refused by name.

use std::path::Path;
use std::sync::OnceLock;

use glidr::internals::constraint::KeptConstraints;
use glidr::internals::graph::Predicate;
use glidr::internals::model::{
    Calibration, MixingWeight, Provenance, RuleModel, SoftModel, TargetCalibration,
};
use glidr::internals::rule::{TargetRules, Weight, WeightedRule};
use glidr::{Aggregation, Dataset, Model, RuleSet, Training};
use proptest::prelude::*;

use crate::constraints::constraints;
use crate::rule_sets::rule_set;
use crate::text::{hostile, vocabulary};

/// Soft rules that were hardly trained.
fn soft() -> &'static SoftModel {
    static SOFT: OnceLock<SoftModel> = OnceLock::new();
    SOFT.get_or_init(|| {
        let training = Training { steps: 1, rules: 2, targets: vec!["uncle".into()], ..Training::default() };
        training.run(&Dataset::families(0)).expect("sound settings")
    })
}

fn provenance() -> Provenance {
    Provenance::of(&Dataset::families(0), 7)
}

/// What the rules may be like when fitted on *train* alone: most are the same with other weights, some are missing,
/// some are others, and a target may be aggregated in another way.
fn train_rules(rules: &RuleSet, others: &RuleSet, changes: &[u8]) -> RuleSet {
    let mut changes = changes.iter().cycle();
    let mut targets = Vec::new();
    for target in rules.targets() {
        let mut change = |weighted: &WeightedRule| match changes.next().expect("endless") % 5 {
            0 => None,
            1 => Some(weighted.clone()),
            2 => Some(WeightedRule { measures: None, ..weighted.clone() }),
            n => Some(WeightedRule {
                weight: Weight { tail: f64::from(n) / 7.0, head: 0.1 },
                ..weighted.clone()
            }),
        };
        let changed = target.rules.iter().filter_map(&mut change).collect();
        let aggregation = if changed_way(target) { Aggregation::MaxPlus } else { target.aggregation };
        targets.push(TargetRules::new(target.target, aggregation, changed));
    }
    RuleSet::new(targets.into_iter().chain(others.targets().iter().cloned()))
}

fn changed_way(target: &TargetRules) -> bool {
    target.target == Predicate(2)
}

/// Models of all that they may hold.
fn model() -> impl Strategy<Value = Model> {
    let rules = (vocabulary(), rule_set(), rule_set(), prop::collection::vec(0u8.., 1..20), prop::bool::ANY);
    let rules = rules.prop_map(|(names, rules, others, changes, has_train)| {
        let train = train_rules(&rules, &others, &changes);
        RuleModel::new(&rules, has_train.then_some(&train), &names)
    });
    let mixing = (hostile::<Predicate>(3), prop::array::uniform6(0.0f64..=1.0)).prop_map(|(names, w)| {
        let weights = names.iter().zip(w.as_chunks::<2>().0);
        weights
            .map(|(t, w)| MixingWeight { target: t.to_owned(), weight: w[0], valid_mrr: w[1] })
            .collect::<Vec<_>>()
    });
    let constraints =
        (vocabulary(), constraints()).prop_map(|(names, kept)| KeptConstraints::new(&kept, &names));
    (prop::option::of(rules), mixing, prop::bool::ANY, 0.0f64..9.0, prop::option::of(constraints)).prop_map(
        |(rules, mixing_weights, has_soft, smoothing, constraints)| Model {
            constraints,
            soft: has_soft.then(|| soft().clone()),
            search: rules.as_ref().map(|_| serde_json::json!({ "smoothing": smoothing, "max_pool": 800 })),
            rules,
            targets: mixing_weights.iter().map(|of| of.target.clone()).collect(),
            calibration: (smoothing > 4.0).then(|| Calibration {
                valid_share: smoothing / 9.0,
                facts: 9,
                all: [[smoothing; 6], [-smoothing; 6]],
                targets: mixing_weights
                    .iter()
                    .map(|of| TargetCalibration {
                        target: of.target.clone(),
                        tails: [of.weight; 6],
                        heads: [0.1; 6],
                    })
                    .collect(),
            }),
            mixing_weights,
            provenance: provenance(),
        },
    )
}

fn saved(model: &Model, path: &Path) -> Vec<u8> {
    model.save(path).expect("a place for a model");
    std::fs::read(path).expect("the model just written")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_saved_model_is_opened_as_the_very_same_and_saved_as_the_same_bytes(model in model()) {
        let folder = tempfile::tempdir().expect("a folder for a model");
        let path = folder.path().join("model");
        let bytes = saved(&model, &path);
        let opened = Model::open(&path).expect("the model just written");
        prop_assert_eq!(&opened, &model);
        prop_assert_eq!(saved(&opened, &path), bytes);
    }

    #[test]
    fn kept_rules_come_back_under_the_names_of_their_data(
        names in vocabulary(),
        rules in rule_set(),
        others in rule_set(),
        changes in prop::collection::vec(0u8.., 1..20),
    ) {
        let train = train_rules(&rules, &others, &changes);
        let kept = RuleModel::new(&rules, Some(&train), &names);
        let (back, train_back) = (kept.on(&names), kept.train_rules_on(&names).expect("they were kept"));
        prop_assert_eq!((back.left_out, back.rules), (0, rules));
        prop_assert_eq!((train_back.left_out, train_back.rules), (0, train));
    }
}

/// A model of soft and searched rules over the built-in families.
fn families() -> Model {
    let names = Dataset::families(0).names().clone();
    let read = |text: &str| RuleSet::parse("r", text, &names).expect("sound rules");
    let rules = read(
        ":- aggregation(uncle, sum).\n\
         0.5 :: uncle(X, Y) :- nephew(Y, X). % support 4, body 5, pca_body 5, facts 9\n\
         0.25 / 0.125 :: uncle(X, Y) :- brother(X, Z), father(Z, Y).\n\
         0.1 :: aunt(X, Y) :- uncle('Arthur', X), niece(Y, X).",
    );
    let train = read(
        ":- aggregation(uncle, sum).\n\
         0.4 :: uncle(X, Y) :- nephew(Y, X). % support 4, body 5, pca_body 5, facts 9\n\
         0.3 :: uncle(X, Y) :- sister(X, Z), father(Z, Y).",
    );
    let mixing = MixingWeight { target: "uncle".into(), weight: 0.2, valid_mrr: 0.9 };
    Model {
        mixing_weights: vec![mixing],
        search: Some(serde_json::json!({ "seed": 3 })),
        ..Model::new(provenance()).with_soft(soft().clone()).with_rules(RuleModel::new(
            &rules,
            Some(&train),
            &names,
        ))
    }
}

#[test]
fn every_altered_byte_and_every_cut_of_a_whole_model_is_refused() {
    let folder = tempfile::tempdir().expect("a folder for bad models");
    let path = folder.path().join("bad");
    let whole = saved(&families(), &path);
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("a small file");
        Model::open(&path).expect_err("a bad model").to_string()
    };
    for length in (0..whole.len()).step_by(61) {
        assert!(refused(&whole[..length]).contains("must be whole safetensors"), "cut at {length}");
    }
    let mut altered = whole.clone();
    for place in (0..whole.len()).step_by(7) {
        altered[place] ^= 0x15;
        refused(&altered);
        altered[place] = whole[place];
    }
}

#[test]
fn rules_fitted_on_train_are_kept_as_what_differs() {
    let model = families();
    let rules = model.rules.as_ref().expect("it keeps rules");
    let folder = tempfile::tempdir().expect("a folder for a model");
    let bytes = saved(&model, &folder.path().join("model"));
    let found = |text: &str| bytes.windows(text.len()).filter(|part| *part == text.as_bytes()).count();
    assert_eq!(found("nephew(Y, X)"), 1, "the same rule stands once");
    assert_eq!(found("sister(X, Z1)"), 1);
    let names: Vec<&str> = rules.names.entities.iter().collect();
    assert_eq!(names, ["Arthur"], "of the entities only constants are kept");
    assert!(found("Colin") == 0);
}

#[test]
fn what_no_file_can_hold_is_refused_before_it_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model");
    let refused = |model: Model| model.save(&path).expect_err("no sound model").to_string();
    let mixing = MixingWeight { target: "uncle".into(), weight: 1.5, valid_mrr: 0.0 };
    assert!(refused(Model { mixing_weights: vec![mixing], ..families() }).contains("“uncle” is 1.5"));
    let names = Dataset::families(0).names().clone();
    let bare = RuleSet::parse("r", "uncle(X, Y) :- aunt(X, Y).", &names).expect("sound");
    let said = refused(families().with_rules(RuleModel::new(&bare, None, &names)));
    assert!(said.ends_with("must have weights, but one has none: uncle(X, Y) :- aunt(X, Y)."), "{said}");
    assert!(!path.exists());
}

#[test]
fn a_file_of_another_kind_is_named_with_the_command_that_takes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    let names = Dataset::families(0).names().clone();
    let open = |text: &str| {
        std::fs::write(&path, text).expect("a small file");
        Model::open(&path).expect_err("no model").to_string()
    };
    let said = open("0.5 :: uncle(X, Y) :- aunt(X, Y).");
    assert!(said.contains("but this is a text of rules: glidr rules FILE DATA lists them"), "{said}");
    let said = open("Arthur\tuncle\tColin\n");
    assert!(said.contains("but this is a text of facts: glidr learn DATA -o MODEL"), "{said}");
    let said = Model::open(folder.path()).expect_err("a folder").to_string();
    assert!(said.contains("but this is a folder of data: glidr learn"), "{said}");
    families().save(&path).expect("a place for a model");
    let said = RuleSet::read(&path, &names).expect_err("no rules").to_string();
    assert!(said.contains("a text of rules was expected, but this is a model: glidr info MODEL"), "{said}");
    let said = Dataset::open(&path, 0).expect_err("no data").to_string();
    assert!(said.contains("a file of facts was expected, but this is a model: glidr info MODEL"), "{said}");
    std::fs::write(&path, "uncle(X, Y) :- aunt(X, Y).").expect("a small file");
    let said = Dataset::open(&path, 0).expect_err("no data").to_string();
    assert!(said.contains("but this is a text of rules"), "{said}");
}

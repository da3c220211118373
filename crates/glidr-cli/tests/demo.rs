//! What a newcomer sees first: `glidr learn` on the built-in families, and the questions that follow.

mod common;

use std::collections::BTreeSet;
use std::fs;

use common::{folder, json, run, stderr, stdout};
use glidr::internals::graph::Triple;
use glidr::internals::solve::Limits;
use glidr::{Background, Dataset, RuleSet, Split};

/// The first rule shown for a predicate must hold in the whole families, most of which it has not seen.
#[test]
fn the_first_rules_of_the_demo_hold_in_the_complete_family_trees() {
    let folder = folder();
    let shown = json(&run(folder.path(), "learn --json"));
    assert!(shown["ranking"]["hits1"].as_f64() >= Some(0.95), "{}", shown["ranking"]["hits1"]);
    let families = Dataset::families(0);
    let complete = families.graph(Background::All).neighbours();
    let best = shown["best_rules"].as_array().expect("rules");
    assert_eq!(best.len(), 12);
    let confidences = best.iter().map(|best| {
        let text = best["rule"].as_str().expect("a text");
        let rules = RuleSet::parse("the demo", text, families.names()).expect("a rule");
        let rule = rules.bare().next().expect("one rule").clone();
        let counted = rule.measure(complete, Limits::default()).expect("a sound rule").value;
        (counted.confidence(), text)
    });
    let weak: Vec<(f64, &str)> = confidences.filter(|(confidence, _)| *confidence < 0.9).collect();
    assert!(weak.len() <= 2, "{weak:?}");
}

/// A model of the families by search alone, in a folder of its own.
fn with_model() -> tempfile::TempDir {
    let folder = folder();
    stdout(&run(folder.path(), "learn --method search -o m.glidr"));
    folder
}

#[test]
fn complete_gives_new_facts_only_most_probable_first_and_proves_them() {
    let folder = with_model();
    let families = Dataset::families(0);
    let names = families.names();
    let found = json(&run(folder.path(), "complete m.glidr --min-probability 0.05 --explain --json"));
    let facts = found["facts"].as_array().expect("facts");
    assert!(!facts.is_empty());
    let graph = families.graph(Background::All);
    let triple = |fact: &[&str; 3]| Triple {
        head: names.entity(fact[0]).expect("an entity"),
        predicate: names.predicate(fact[1]).expect("a predicate"),
        tail: names.entity(fact[2]).expect("an entity"),
    };
    let mut last = 1.0;
    for fact in facts {
        let [head, predicate, tail] =
            ["head", "predicate", "tail"].map(|key| fact[key].as_str().expect("a name"));
        assert!(!graph.holds(triple(&[head, predicate, tail])), "{fact} is known");
        assert_ne!(head, tail, "nobody is their own {predicate}");
        let probability = fact["probability"].as_f64().expect("a number");
        assert!((0.05..=last).contains(&probability), "{fact} after {last}");
        last = probability;
        for proof in fact["proof"].as_array().into_iter().flatten() {
            let part = |n: usize| proof[n].as_str().expect("a name");
            assert!(graph.holds(triple(&[part(1), part(0), part(2)])), "{proof} is no fact");
        }
    }
    stdout(&run(folder.path(), "complete m.glidr --min-probability 0.05 --format nt -o new.nt"));
    let lines = fs::read_to_string(folder.path().join("new.nt")).expect("the file");
    assert_eq!(lines.lines().count(), facts.len());
    assert!(lines.lines().all(|line| line.starts_with("<urn:glidr:") && line.ends_with("> .")), "{lines}");
    let one =
        stdout(&run(folder.path(), "complete m.glidr --min-probability 0.05 --limit 1 --target son,wife"));
    assert_eq!(one.lines().count(), 1, "{one}");
}

#[test]
fn complete_with_test_held_out_finds_facts_of_test() {
    let folder = with_model();
    let told = json(&run(folder.path(), "complete m.glidr --hold-out --min-probability 0.05 --json"));
    let test: BTreeSet<String> =
        Dataset::families(0).split(Split::Test).iter().map(|fact| format!("{fact:?}")).collect();
    let facts = told["facts"].as_array().expect("facts").len();
    let above = &told["held_out"][2];
    assert_eq!(above["above"], 0.5);
    assert!(facts > 0 && !test.is_empty() && above["in_test"].as_f64() > Some(0.5), "{above}");
}

#[test]
fn unlikely_answers_are_hidden_and_counted_and_valid_is_known() {
    let folder = with_model();
    let ask = |least: &str| {
        let question =
            format!("predict m.glidr --target nephew --head Colin --min-probability {least} --json");
        json(&run(folder.path(), &question))
    };
    let (all, likely) = (ask("0"), ask("0.3"));
    let answers = |found: &serde_json::Value| found["answers"].as_array().expect("answers").clone();
    assert_eq!(
        answers(&all).len(),
        answers(&likely).len() + likely["hidden"].as_u64().expect("a count") as usize
    );
    assert!(answers(&likely).iter().all(|answer| answer["probability"].as_f64() >= Some(0.3)), "{likely}");
    assert!(
        answers(&all).iter().all(|answer| answer["split"].is_null() || answer["split"] == "test"),
        "{all}"
    );
    let none = run(folder.path(), "predict m.glidr --target nephew --head Colin --min-probability 1");
    assert!(stdout(&none).contains("no new answer is likely"), "{}", stderr(&none));
}

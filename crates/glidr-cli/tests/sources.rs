//! What commands work from: a model or a text of rules.

mod common;

use std::fs;

use common::{folder, json, run, stderr, stdout};
use glidr::internals::model::{Provenance, RuleModel};
use glidr::{Dataset, Model, RuleSet};

/// Settings that learn within a second.
const QUICK: &str = "--steps 60 --rules 2 --targets uncle,wife";

#[test]
fn a_model_or_a_text_of_rules_will_do_for_every_command_that_works_from_rules() {
    let folder = folder();
    stdout(&run(folder.path(), "learn -o m.glidr --method soft --steps 200 --rules 2 --targets wife"));
    // Rules of a model as a text, which stands for the model from then on.
    stdout(&run(folder.path(), "rules m.glidr --format text -o m.rules"));
    let text = fs::read_to_string(folder.path().join("m.rules")).expect("the rules just written");
    assert!(text.starts_with(":- aggregation(wife, noisy_or).\n") && text.contains(" % support "), "{text}");
    let by_model = stdout(&run(folder.path(), "solve m.glidr"));
    assert_eq!(stdout(&run(folder.path(), "solve m.rules")), by_model);
    assert_eq!(stdout(&run(folder.path(), "rules m.rules --format text")), text);
    // A model that keeps rules lists these, and needs no data where nothing is counted.
    let data = Dataset::families(0);
    let rules = RuleSet::read(folder.path().join("m.rules"), data.names()).expect("sound rules");
    let kept = RuleModel::new(&rules, None, data.names());
    let model = Model::new(Provenance::of(&data, 0)).with_rules(kept);
    model.save(folder.path().join("kept.glidr")).expect("a place for a model");
    assert_eq!(stdout(&run(folder.path(), "rules kept.glidr --format text")), text);
    assert_eq!(stdout(&run(folder.path(), "rules kept.glidr --format text --no-measures")), text);
    assert_eq!(stdout(&run(folder.path(), "solve kept.glidr")), by_model);
    let info = json(&run(folder.path(), "info kept.glidr --json"));
    assert_eq!(info["targets"]["wife"]["rules"], rules.len());
    for command in [
        "eval --ties mean",
        "predict --target wife --head Arthur --explain",
        "explain --target wife --head Arthur --tail Margaret",
    ] {
        let (command, flags) = command.split_once(' ').expect("flags");
        let mut by_both = ["kept.glidr", "m.rules"]
            .map(|source| json(&run(folder.path(), &format!("{command} {source} {flags} --json"))));
        if command == "eval" {
            // A text says by itself which targets it is about.
            by_both = by_both.map(|found| found["per_predicate"]["wife"].clone());
        }
        assert_eq!(by_both[0], by_both[1], "{command}");
        assert!(!by_both[0].is_null(), "{command}");
    }
    for (command, finding) in [
        ("info m.rules", "a file of facts was expected, but this is a text of rules"),
        ("solve m.glidr m.rules", "a file of facts was expected, but this is a text of rules"),
        ("eval .", "a model or a text of rules was expected, but this is a folder of data: glidr learn"),
        ("learn -o n.glidr --soft m.rules", "a glidr model file was expected, but this is a text of rules"),
        ("learn kept.glidr", "a file of facts was expected, but this is a model: glidr info MODEL"),
        ("solve .", "a model or a text of rules was expected, but this is a folder of data: glidr learn"),
    ] {
        let told = run(folder.path(), command);
        assert!(stderr(&told).contains(finding), "{command}: {}", stderr(&told));
    }
}

#[test]
fn a_scoring_that_lacks_its_rules_says_so() {
    let folder = folder();
    stdout(&run(folder.path(), &format!("learn -o soft.glidr --method soft {QUICK}")));
    fs::write(folder.path().join("own.rules"), "wife(X, Y) :- husband(Y, X).\n").expect("a small file");
    for (command, told) in [
        (
            "eval soft.glidr --scoring rules",
            "soft.glidr: this scoring needs searched rules, but the model holds none",
        ),
        ("eval soft.glidr --scoring blend", "soft.glidr: this scoring needs searched rules"),
        (
            "eval own.rules --scoring soft",
            "own.rules: this scoring needs soft rules, but the model holds none",
        ),
        ("rules soft.glidr --scoring rules", "soft.glidr holds no searched rules"),
        ("eval soft.glidr --scoring argmax --top-p 0.5", "--top-p goes with --scoring top-p alone"),
    ] {
        let refused = run(folder.path(), command);
        assert_eq!(refused.status.code(), Some(1), "{command}");
        assert!(stderr(&refused).contains(told), "{}", stderr(&refused));
    }
}

#[test]
fn each_method_learns_its_part_and_a_search_takes_soft_rules_and_proposals() {
    let folder = folder();
    let full = json(&run(folder.path(), &format!("learn -o full.glidr --json {QUICK}")));
    assert!(full["searched"][0]["aggregation"].is_string() && full["search"]["max_pool"] == 1200, "{full}");
    let soft = json(&run(folder.path(), &format!("learn -o soft.glidr --json --method soft {QUICK}")));
    assert!(soft["search"].is_null() && soft["best_rules"].as_array().map(Vec::len) == Some(2), "{soft}");
    stdout(&run(folder.path(), &format!("learn -o again.glidr --soft soft.glidr {QUICK}")));
    let bytes = |name: &str| fs::read(folder.path().join(name)).expect("a model");
    assert!(bytes("full.glidr") == bytes("again.glidr"), "soft rules trained before give the same model");
    let rule = "wife(X, Y) :- husband(Y, X), husband(Y, Z), husband(W, X), father(Y, W2).";
    fs::write(folder.path().join("own.rules"), rule).expect("a small file");
    let plain = json(&run(folder.path(), "learn --json --method search --target wife"));
    let proposed =
        json(&run(folder.path(), "learn --json --method search --target wife --propose own.rules"));
    assert!(plain["training"].is_null() && plain["targets"] == serde_json::json!([]), "{plain}");
    assert_eq!(
        proposed["searched"][0]["counted"].as_u64(),
        plain["searched"][0]["counted"].as_u64().map(|n| n + 1)
    );
}

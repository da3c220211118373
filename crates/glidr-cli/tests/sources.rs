//! What commands work from: a model or a text of rules.

mod common;

use std::fs;

use common::{folder, json, run, stderr, stdout};
use glidr::internals::model::{Provenance, RuleModel};
use glidr::{Dataset, Model, RuleSet};

#[test]
fn a_model_or_a_text_of_rules_will_do_for_every_command_that_works_from_rules() {
    let folder = folder();
    stdout(&run(folder.path(), "learn -o m.glidr --method soft --steps 200 --rules 2 --targets wife"));
    // Rules of a model as a text, which stands for the model from then on.
    stdout(&run(folder.path(), "rules m.glidr --format rules -o m.rules"));
    let text = fs::read_to_string(folder.path().join("m.rules")).expect("the rules just written");
    assert!(text.starts_with(":- aggregation(wife, noisy_or).\n") && text.contains(" % support "), "{text}");
    let by_model = stdout(&run(folder.path(), "solve m.glidr"));
    assert_eq!(stdout(&run(folder.path(), "solve m.rules")), by_model);
    assert_eq!(stdout(&run(folder.path(), "rules m.rules --format rules")), text);
    // A model that keeps rules lists these, and needs no data where nothing is counted.
    let data = Dataset::families(0);
    let rules = RuleSet::read(folder.path().join("m.rules"), data.names()).expect("sound rules");
    let kept = RuleModel::new(&rules, None, data.names());
    let model = Model::new(Provenance::of(&data, 0)).with_rules(kept);
    model.save(folder.path().join("kept.glidr")).expect("a place for a model");
    assert_eq!(stdout(&run(folder.path(), "rules kept.glidr --format rules")), text);
    assert_eq!(stdout(&run(folder.path(), "rules kept.glidr --format rules --no-measures")), text);
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

//! `glidr generate`, run as a user runs it, on small graphs.

mod common;

use std::fs;

use common::{folder, json, run, stderr, stdout};

const SMALL: &str = "--entities 300 --facts 3000 --instances 60";

#[test]
fn generate_writes_a_graph_that_other_commands_read() {
    let folder = folder();
    let made = json(&run(folder.path(), &format!("generate g --json {SMALL} --seed 3")));
    assert_eq!((&made["entities"], &made["predicates"]), (&300.into(), &24.into()));
    assert_eq!(made["planted"][0], "chain(X, Y) :- p01(X, Z1), p02(Z1, Y).");
    let info = json(&run(folder.path(), "info g --json"));
    assert_eq!((&info["entities"], &info["predicates"]), (&300.into(), &24.into()));
    // Applied to the whole graph, the planted rules say nothing that is not a fact already.
    assert_eq!(stdout(&run(folder.path(), "solve g/planted.rules g")), "");
    assert!(made["splits"]["test"].as_u64() > Some(0));
}

#[test]
fn generate_never_writes_over_what_is_there_unless_told() {
    let folder = folder();
    stdout(&run(folder.path(), &format!("generate g {SMALL}")));
    let before = fs::read_to_string(folder.path().join("g/train.txt")).expect("a split");
    let again = run(folder.path(), &format!("generate g {SMALL} --seed 1"));
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("--overwrite replaces it"), "{}", stderr(&again));
    assert_eq!(fs::read_to_string(folder.path().join("g/train.txt")).expect("a split"), before);
    stdout(&run(folder.path(), &format!("generate g {SMALL} --seed 1 --overwrite")));
    assert_ne!(fs::read_to_string(folder.path().join("g/train.txt")).expect("a split"), before);
    let refused = run(folder.path(), "generate h --entities 300 --facts 500");
    assert!(stderr(&refused).contains("facts must leave room"), "{}", stderr(&refused));
    assert!(!folder.path().join("h").exists());
}

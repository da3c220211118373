//! docs/json.md says what the program prints: every command of the page is run, and its keys are compared.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use common::{folder, json, run, stderr, stdout};
use serde_json::Value;

/// The sections of the page, each with its name; a packed crate has no page, and then there is nothing to compare.
fn sections() -> Vec<(String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let page = fs::read_to_string(page).unwrap_or_default();
    let parts = page.split("\n## ").skip(1).map(|part| part.split_once('\n').expect("a name and a text"));
    parts.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

/// The commands of a section, without the program's name.
fn commands(section: &str) -> Vec<&str> {
    section.lines().filter_map(|line| line.strip_prefix("glidr ")).collect()
}

/// The keys that a section tells of, and whether each is always there.
fn told(section: &str) -> BTreeMap<&str, bool> {
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    rows.map(|(key, what)| (key, !what.starts_with("only "))).collect()
}

/// The object that a key is in: `""` for the document.
fn parent(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// All keys of a document as the page writes them.
fn printed(value: &Value, place: &str, keys: &mut BTreeSet<String>) {
    if let Value::Array(list) = value {
        let place = format!("{place}[]");
        for element in list {
            printed(element, &place, keys);
        }
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        let key = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
        printed(value, &key, keys);
        keys.insert(key);
    }
}

#[test]
fn every_command_prints_the_keys_that_the_page_tells_of_and_no_others() {
    let folder = folder();
    for (name, section) in sections() {
        let (told, mut all) = (told(&section), BTreeSet::new());
        assert!(!told.is_empty() && !commands(&section).is_empty(), "{name}");
        for command in commands(&section) {
            printed(&json(&run(folder.path(), command)), "", &mut all);
        }
        // `a[].b` and `a.b` tell of `a` too.
        let mut parents: BTreeSet<&str> = told.keys().map(|key| parent(key)).collect();
        let mut known: BTreeSet<&str> = told.keys().copied().collect();
        for parent in parents.clone() {
            let mut above = parent;
            while !above.is_empty() {
                known.insert(above.trim_end_matches("[]"));
                above = self::parent(above);
                parents.insert(above);
            }
        }
        let new = all.iter().filter(|key| parents.contains(parent(key)) && !known.contains(key.as_str()));
        assert_eq!(new.collect::<Vec<_>>(), Vec::<&String>::new(), "{name}: not on the page");
        let gone = told.iter().filter(|(key, always)| **always && !all.contains(**key));
        assert_eq!(gone.collect::<Vec<_>>(), Vec::new(), "{name}: on the page, but not printed");
    }
}

#[test]
fn the_page_has_a_section_for_every_command() {
    let sections = sections();
    if sections.is_empty() {
        return;
    }
    let help = stdout(&run(folder().path(), "--help"));
    let list = help.split_once("Commands:\n").expect("a list of commands").1;
    for line in list.lines().take_while(|line| !line.is_empty()) {
        let command = line.split_whitespace().next().expect("a name");
        let is_there = sections.iter().any(|(name, _)| name.split(' ').next() == Some(command));
        assert!(is_there || command == "help", "{command}");
    }
}

#[test]
fn an_error_leaves_no_document() {
    let refused = run(folder().path(), "info nowhere --json");
    assert!(refused.stdout.is_empty() && stderr(&refused).contains("nowhere"), "{}", stderr(&refused));
}

//! docs/settings.md says what the code does: every setting, its default, its range and its flag.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use common::{folder, json, run, stderr, stdout};
use glidr::{Learner, Search};
use serde_json::Value;

/// A row of a table: flag, name in the file, default and values.
type Row = [String; 4];

/// The page; a packed crate has none, and then there is nothing to compare.
fn page() -> Option<String> {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md")).ok()
}

/// The rows of the table in a section.
fn rows(page: &str, section: &str) -> Vec<Row> {
    let part = page.split_once(&format!("\n## {section}\n")).expect("the section").1;
    let part = part.split("\n## ").next().unwrap_or_default();
    let lines = part.lines().filter(|line| line.starts_with('|')).skip(2);
    let row = |line: &str| -> Row {
        let cells = line.trim_matches('|').split(" | ").map(|cell| cell.trim().replace('`', ""));
        cells.take(4).collect::<Vec<_>>().try_into().expect("four cells at least")
    };
    lines.map(row).collect()
}

/// What a default reads in a TOML file; a dash is none.
fn default(row: &Row) -> Value {
    if row[2] == "–" {
        return Value::Null;
    }
    let table: toml::Table = toml::from_str(&format!("it = {}", row[2])).expect("a TOML value");
    serde_json::to_value(&table["it"]).expect("a value")
}

/// Settings as JSON reads them: numbers as they are written.
fn as_written(settings: &impl serde::Serialize) -> Value {
    let text = serde_json::to_string(settings).expect("JSON");
    serde_json::from_str(&text).expect("JSON")
}

fn compare(page: &str, section: &str, settings: &Value) {
    let settings = settings.as_object().expect("an object");
    let rows = rows(page, section);
    for row in &rows {
        assert_eq!(Some(&default(row)), settings.get(&row[1]), "{section}: {row:?}");
    }
    let told: BTreeSet<&String> = rows.iter().map(|row| &row[1]).collect();
    assert_eq!(told, settings.keys().collect(), "{section}");
}

#[test]
fn the_page_has_every_setting_with_its_default() {
    let Some(page) = page() else { return };
    compare(&page, "Training of soft rules", &as_written(&Learner::default().training));
    compare(&page, "Search for rules", &as_written(&Search::default()));
    let method = &rows(&page, "What is learned")[0];
    assert_eq!(default(method), as_written(&glidr::Method::default()));
}

#[test]
fn the_page_has_every_expert_flag_of_learn_and_no_other() {
    let Some(page) = page() else { return };
    let help = stdout(&run(folder().path(), "learn --help-all"));
    let usual = stdout(&run(folder().path(), "learn --help"));
    let flag = |line: &str| Some(line.trim().strip_prefix("--")?.split([' ', '`']).next()?.to_owned());
    let all: BTreeSet<String> = help.lines().filter_map(flag).collect();
    let told: BTreeSet<String> = page
        .lines()
        .filter(|line| line.starts_with("| `--"))
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .flat_map(|cell| {
            cell.split(", ").map(|flag| flag.trim_matches('`').trim_start_matches("--").to_owned())
        })
        .collect();
    assert!(told.is_subset(&all), "no flag: {:?}", told.difference(&all));
    let expert = all.iter().filter(|flag| !usual.contains(&format!("--{flag} ")));
    let missing: Vec<&String> = expert.filter(|flag| !told.contains(*flag)).collect();
    assert!(missing.is_empty(), "not on the page: {missing:?}");
}

#[test]
fn numbers_outside_the_ranges_of_the_page_are_refused_by_name() {
    let Some(page) = page() else { return };
    let folder = folder();
    fs::write(folder.path().join("d.tsv"), "a\tp\tb\nb\tp\tc\nc\tp\ta\na\tp\tc\n").expect("a small file");
    let mut ranges = 0;
    let training = rows(&page, "Training of soft rules").into_iter().map(|row| (row, false));
    let search = rows(&page, "Search for rules")
        .into_iter()
        .filter(|row| ["max_steps", "smoothing"].contains(&&*row[1]));
    for ([_, name, default, values], is_search) in training.chain(search.map(|row| (row, true))) {
        let outside: Vec<String> = match values.split_once(" to ") {
            Some((least, most)) => {
                let [least, most] = [least, most].map(|end| end.parse::<i64>().expect("a number"));
                let show =
                    |end: i64| if default.contains('.') { format!("{end}.0") } else { end.to_string() };
                vec![show(least - 1), show(most + 1)]
            }
            None if values == "at least 0" => vec!["-1".into()],
            None => continue,
        };
        for value in outside {
            ranges += 1;
            // What is accepted after all is soon learned.
            let quick = if name == "steps" { "rules = 1" } else { "steps = 1" };
            let text = if is_search {
                format!("[search]\n{name} = {value}\n")
            } else {
                format!("{name} = {value}\n{quick}\n")
            };
            fs::write(folder.path().join("s.toml"), text).expect("a small file");
            let method = if is_search { "search" } else { "soft" };
            let refused =
                run(folder.path(), &format!("learn d.tsv --settings s.toml --method {method} -o m.glidr"));
            assert_eq!(refused.status.code(), Some(1), "{name} = {value}");
            assert!(stderr(&refused).contains(&name), "{name} = {value}: {}", stderr(&refused));
        }
    }
    assert!(ranges > 10, "{ranges}");
}

#[test]
fn the_example_of_the_page_runs_and_every_line_of_it_counts() {
    let Some(page) = page() else { return };
    let example = page.split_once("```toml\n").expect("an example").1.split_once("```").expect("its end").0;
    let folder = folder();
    fs::write(folder.path().join("settings.toml"), example).expect("a small file");
    let learned = json(&run(folder.path(), "learn --settings settings.toml --no-rank --json"));
    let mut given: toml::Table = toml::from_str(example).expect("TOML");
    assert_eq!(given.remove("method"), Some("full".into()));
    let search = given.remove("search").expect("a table");
    assert!(!given.is_empty() && search.as_table().is_some_and(|table| !table.is_empty()));
    for (name, value) in given {
        assert_eq!(serde_json::to_value(value).expect("a value"), learned["training"][&name], "{name}");
    }
    for (name, value) in search.as_table().expect("a table") {
        assert_eq!(serde_json::to_value(value).expect("a value"), learned["search"][name], "{name}");
    }
}

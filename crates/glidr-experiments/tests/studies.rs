//! The real program `glidr-experiments`, run as a user runs it, on tiny data.

mod common;

use std::fs;

use common::{folder, json, run, stderr, stdout};
use serde_json::Value;

/// The plan that is built in, with searches that take no time.
fn small_plan(name: &str) -> String {
    let plan = stdout(&run(folder().path(), &format!("{name} --print-plan")));
    let small = "max_pool = 20, max_conjunctions = 5, max_paths = 40, max_patterns = 5, local_search = 5, max_refined = 2";
    let shorten = |line: &str| {
        if let Some(rest) = line.strip_prefix("search = { ") {
            format!("search = {{ {small}, {rest}\n")
        } else if line.starts_with("scores = [") && line.contains("\"blend\"")
            || line == "scores = [\"soft\", \"search\"]"
        {
            format!("{line}\nsearch = {{ {small} }}\n")
        } else {
            format!("{line}\n")
        }
    };
    plan.lines().map(shorten).collect()
}

/// Runs an experiment twice on tiny data: it writes what it says, and the second run only reads.
fn repeats(name: &str, flags: &str, figures: &[&str]) -> Value {
    let folder = folder();
    fs::write(folder.path().join("small.toml"), small_plan(name)).expect("a small file");
    let command = format!("{name} --plan small.toml -o out {flags}");
    let first = json(&run(folder.path(), &format!("{command} --json")));
    let units = fs::read_to_string(folder.path().join(format!("out/{name}.jsonl"))).expect("units");
    for figure in figures {
        let svg = fs::read_to_string(folder.path().join("out").join(figure)).expect(figure);
        assert!(svg.starts_with("<svg") && svg.contains("</svg>"), "{figure}");
    }
    let again = run(folder.path(), &format!("{command} --json"));
    assert!(!stderr(&again).contains("unit 1"), "all units are done: {}", stderr(&again));
    let value = json(&again);
    assert_eq!(first, value, "results are told as they were kept");
    let text = stdout(&run(folder.path(), &command));
    assert!(text.contains(&format!("written: out/{name}.jsonl")), "{text}");
    assert_eq!(fs::read_to_string(folder.path().join(format!("out/{name}.jsonl"))).expect("units"), units);
    // Broken off after the first unit, it can tell of that alone, and goes on to the same figures but for time.
    let first: String = units.lines().take(1).map(|line| format!("{line}\n")).collect();
    let path = folder.path().join(format!("out/{name}.jsonl"));
    fs::write(&path, first.clone() + "{\"unit\": torn").expect("torn");
    let part = run(folder.path(), &format!("{command} --done"));
    assert!(stdout(&part).contains("written: out/") && !stderr(&part).contains("unit"), "{}", stderr(&part));
    assert_eq!(fs::read_to_string(&path).expect("units"), first, "nothing was run");
    let resumed = run(folder.path(), &command);
    assert!(units.lines().count() < 2 || stderr(&resumed).contains("unit 2"), "{}", stderr(&resumed));
    assert!(!stderr(&resumed).contains("unit 1 "), "{}", stderr(&resumed));
    value
}

const TINY: &str = "--data families --seeds 0,1 --steps 20 --rules 2";

#[test]
fn completion_shows_mean_and_deviation_with_all_ways_of_scoring() {
    let value = repeats("completion", TINY, &["completion-families.svg"]);
    let results = value["results"].as_array().expect("results");
    let scores: Vec<&str> = results.iter().filter_map(|result| result["scores"].as_str()).collect();
    assert_eq!(scores, ["soft", "top-p", "search", "blend"]);
    for result in results {
        assert_eq!(result["mrr"]["runs"], 2);
        assert!(result["mrr"]["mean"].as_f64() >= result["hits1"]["mean"].as_f64(), "{result}");
    }
    assert!(value["published"].as_array().expect("others").len() > 20);
}

#[test]
fn noise_and_variables_give_a_line_over_their_axis() {
    let value = repeats("noise", &format!("{TINY} --points 3 --row paper --row ours"), &["noise.svg"]);
    let at: Vec<f64> =
        value["results"].as_array().expect("results").iter().filter_map(|r| r["x"].as_f64()).collect();
    assert_eq!(at, [0.0, 0.1, 0.2, 0.0, 0.1, 0.2], "the points of both rows");
    let value = repeats("variables", &format!("{TINY} --points 2"), &["variables.svg"]);
    assert_eq!(value["results"][1]["variables"], 3);
}

#[test]
fn rules_are_shown_with_measures_shapes_and_pictures() {
    let value = repeats("rules", &format!("{TINY} --row paper"), &[]);
    let best = &value["units"][0]["best"][0];
    assert!(best["rule"].as_str().expect("a rule").contains(" :- ") && best["confidence"].is_number());
    let shapes = value["units"][0]["shapes"].as_object().expect("shapes");
    assert!(shapes.values().filter_map(Value::as_u64).sum::<u64>() > 0);
}

#[test]
fn inductive_tests_on_entities_that_were_never_seen() {
    let value = repeats("inductive", &TINY.replace("families", "generated"), &["inductive.svg"]);
    let tested: Vec<&Value> =
        value["results"].as_array().expect("results").iter().map(|r| &r["change"]).collect();
    assert!(
        tested.iter().any(|change| change["parts"]["learn"] == 0 && change["parts"]["test"] == 1),
        "{tested:?}"
    );
}

#[test]
fn beyond_sets_quality_against_time() {
    let value = repeats("beyond", &format!("{TINY} --row noisy-or"), &["beyond-families.svg"]);
    assert!(value["results"][0]["seconds"].as_f64() > Some(0.0));
}

#[test]
fn scaling_measures_in_a_process_of_its_own_and_fits_slopes() {
    let folder = folder();
    let plan = "[[growth]]\nwhat = \"entities\"\nvalues = [300, 600]\n\
                graph = { entities = 300, facts = 3000, instances = 60 }\n\
                [[growth]]\nwhat = \"rules\"\nvalues = [1, 2]\n\
                graph = { entities = 300, facts = 3000, instances = 60 }\n";
    fs::write(folder.path().join("plan.toml"), plan).expect("a small file");
    let value = json(&run(folder.path(), "scaling --plan plan.toml --steps 1 -o out --json"));
    assert_eq!(value["units"].as_array().map(Vec::len), Some(4));
    assert!(value["units"][0]["measured"]["step"].as_f64() > Some(0.0));
    assert!(value["slopes"][0]["slope"].is_number(), "{}", value["slopes"]);
    assert!(folder.path().join("out/scaling-entities-time.svg").exists());
}

#[test]
fn check_counts_mislabelled_facts_among_the_most_suspicious() {
    let value = repeats("check", "--data families --seeds 0,1", &[]);
    let found = &value["units"][0]["found"];
    assert!(
        found["wrong"].as_u64() <= found["facts"].as_u64() && found["facts"].as_u64() > Some(50),
        "{found}"
    );
}

#[test]
fn constraints_are_planted_and_learned_again() {
    let value = repeats("constraints", "--seeds 0,1 --points 1", &[]);
    let confidences = value["units"][0]["recovered"]["confidences"].as_array().expect("a list");
    assert!(confidences.iter().all(|confidence| confidence.as_f64() > Some(0.8)), "{confidences:?}");
}

#[test]
fn what_cannot_be_run_is_told_by_name() {
    let folder = folder();
    let none = run(folder.path(), "noise --data families --done -o none");
    assert!(stderr(&none).contains("nothing of this is done yet"), "{}", stderr(&none));
    let said = |arguments: &str| {
        let output = run(folder.path(), arguments);
        assert!(!output.status.success());
        stderr(&output)
    };
    let missing = said("noise -o out --folder nowhere");
    assert!(missing.contains("nowhere/family") && missing.contains("--folder"), "{missing}");
    assert!(said("beyond -o out --row none").contains("but “none” is asked for"));
    fs::write(folder.path().join("bad.toml"), "sedes = [1]\n").expect("a small file");
    assert!(said("noise -o out --plan bad.toml").contains("sedes"));
    let help = stdout(&run(folder.path(), "--help"));
    for name in [
        "completion",
        "noise",
        "variables",
        "rules",
        "inductive",
        "scaling",
        "beyond",
        "few",
        "check",
        "constraints",
        "digits",
    ] {
        assert!(help.contains(name), "{name} is missing from:\n{help}");
    }
    let plan = stdout(&run(folder.path(), "noise --print-plan"));
    assert!(plan.contains("mislabelled = "), "{plan}");
}

#[cfg(not(feature = "digits"))]
#[test]
fn without_the_network_library_digits_says_how_to_get_it() {
    let refused = run(folder().path(), "digits data --epochs 3");
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("--features digits"), "{}", stderr(&refused));
}

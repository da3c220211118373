//! Explanations by the real program.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use glidr::{Dataset, Split};
use serde_json::Value;

fn glidr(folder: &Path, arguments: &str) -> String {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("glidr"));
    let output = command.current_dir(folder).args(arguments.split_whitespace()).output();
    let output = output.expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn json(folder: &Path, arguments: &str) -> Value {
    serde_json::from_str(&glidr(folder, &format!("{arguments} --json"))).expect("a JSON document")
}

fn with_model() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder to work in");
    glidr(
        folder.path(),
        "learn -o m.glidr --variables 4 --rounds 3 --steps 150 --rules 3 --joint-loss 0 --positives train \
         --targets uncle,wife",
    );
    folder
}

/// The facts that rules may look up, as predicate, head, tail.
fn background() -> HashSet<[String; 3]> {
    let data = Dataset::families(0);
    let names = data.names();
    let name = |entity: glidr::internals::graph::Entity| names.entities.name(entity).to_owned();
    let facts = [Split::Facts, Split::Train].into_iter().flat_map(|split| data.split(split));
    facts
        .map(|fact| [names.predicates.name(fact.predicate).to_owned(), name(fact.head), name(fact.tail)])
        .collect()
}

/// Questions about facts that are held out: target and head.
fn held_out() -> Vec<[String; 2]> {
    let data = Dataset::families(0);
    let names = data.names();
    let facts = [Split::Valid, Split::Test].into_iter().flat_map(|split| data.split(split));
    let named = facts.map(|fact| [names.predicates.name(fact.predicate), names.entities.name(fact.head)]);
    named.filter(|fact| ["uncle", "wife"].contains(&fact[0])).map(|fact| fact.map(String::from)).collect()
}

#[test]
fn an_explanation_adds_up_to_the_score_and_stands_on_real_facts() {
    let folder = with_model();
    let facts = background();
    let mut proofs = 0;
    for [target, head] in held_out() {
        let predicted = json(
            folder.path(),
            &format!("predict m.glidr --target {target} --head {head} -k 2 --explain --scoring soft"),
        );
        for answer in predicted["answers"].as_array().expect("a list") {
            let tail = answer["entity"].as_str().expect("a name");
            let told = json(
                folder.path(),
                &format!(
                    "explain m.glidr --target {target} --head {head} --tail {tail} --scoring soft --trace"
                ),
            );
            let (score, sum) = (answer["score"].as_f64(), told["score"].as_f64());
            let (score, sum) = (score.expect("a score"), sum.expect("a score"));
            assert!((score - sum).abs() <= 1e-5 * score.abs(), "{score} is told as {sum}");
            let soft = told["soft"].as_array().expect("soft rules").iter();
            let total: f64 = soft.filter_map(|rule| rule["contribution"].as_f64()).sum();
            assert!((total - sum).abs() <= 1e-5 * sum.abs(), "{told}");
            let rules = told["rules"].as_array().expect("rules");
            for rule in rules.iter().filter(|rule| rule["fires"] == true) {
                for fact in rule["facts"].as_array().expect("a proof") {
                    let fact: Vec<String> = serde_json::from_value(fact.clone()).expect("names");
                    let fact: [String; 3] = fact.try_into().expect("a triple");
                    assert!(facts.contains(&fact), "{fact:?} is no fact");
                    proofs += 1;
                }
            }
            let best = rules.iter().find(|rule| rule["fires"] == true);
            assert_eq!(
                answer["because"]["confidence"],
                best.map_or(Value::Null, |rule| rule["confidence"].clone())
            );
        }
    }
    assert!(proofs > 0, "some rule must fire for some answer");
}

#[test]
fn answers_by_searched_rules_are_explained_by_a_rule_that_fires() {
    let folder = with_model();
    let facts = background();
    let text = glidr(folder.path(), "rules m.glidr --format text");
    fs::write(folder.path().join("kept.rules"), text).expect("a small file");
    let mut proofs = 0;
    for [target, head] in held_out() {
        let ask = |how: &str| {
            let direction = format!("predict {how} --target {target} --head {head} -k 3 --explain");
            json(folder.path(), &direction)["answers"].clone()
        };
        let answers = ask("m.glidr --scoring rules");
        assert_eq!(answers, ask("kept.rules"), "the same rules from a file");
        for answer in answers.as_array().expect("a list") {
            assert!(answer["score"].as_f64() > Some(0.0), "{answer}");
            // Of an answer that priors alone speak for, no rule is told.
            assert!(answer["because"].is_null() || answer["because"]["fires"] == true, "{answer}");
            for fact in answer["because"]["facts"].as_array().into_iter().flatten() {
                let fact: Vec<String> = serde_json::from_value(fact.clone()).expect("names");
                assert!(facts.contains(&<[String; 3]>::try_from(fact).expect("a triple")), "{answer}");
                proofs += 1;
            }
        }
    }
    assert!(proofs > 0, "some rule must fire for some answer");
}

#[test]
fn a_low_score_names_the_literal_that_emptied_a_domain_and_where_rules_fail() {
    let folder = with_model();
    let told = json(
        folder.path(),
        "explain m.glidr --target wife --head Arthur --tail Colin --scoring soft --trace",
    );
    assert!(told["split"].is_null() && told["score"].as_f64() < Some(0.5), "{told}");
    let emptied = &told["soft"][0]["trace"]["emptied"];
    assert!(emptied["literal"][0][0].is_string(), "{told}");
    assert!(emptied["max_after"].as_f64() < emptied["max_before"].as_f64(), "{told}");
    let rounds = told["soft"][0]["trace"]["rounds"].as_array().expect("rounds");
    assert_eq!(rounds.len(), 4, "the start and three rounds");
    assert_eq!(rounds[0][0]["best"][0][0], "Arthur");
    assert!(told["rules"].as_array().expect("rules").iter().any(|rule| rule["failing_literal"].is_string()));
    let text = glidr(
        folder.path(),
        "explain m.glidr --target wife --head Arthur --tail Colin --scoring soft --trace",
    );
    for part in ["soft score", "the sum of weight × score", "narrowed most: ", "emptying", "fails at"] {
        assert!(text.contains(part), "{part} is missing from:\n{text}");
    }
}

#[test]
fn a_known_fact_is_explained_without_itself() {
    let folder = with_model();
    let known = background().into_iter().filter(|fact| fact[0] == "uncle").min().expect("an uncle");
    fs::write(folder.path().join("own.rules"), "uncle(X, Y) :- uncle(X, Y).\n").expect("a small file");
    let question = format!("explain own.rules --target uncle --head {} --tail {}", known[1], known[2]);
    let told = json(folder.path(), &question);
    assert_eq!((&told["left_out"], &told["rules"][0]["fires"]), (&true.into(), &false.into()), "{told}");
    assert_eq!(told["rules"][0]["failing_literal"], "uncle(X, Y)");
}

#[test]
fn rules_of_a_text_are_measured_on_a_split_and_exported() {
    let folder = tempfile::tempdir().expect("a folder to work in");
    let text = "0.25 :: wife(X, Y) :- husband(Y, X).\nuncle(X, Y) :- brother(X, Z), (mother(Z, Y) ; father(Z, Y)).\n";
    fs::write(folder.path().join("my.rules"), text).expect("a small file");
    let found = json(folder.path(), "rules my.rules --split test --sort f1 --min-support 1");
    let rules = found["rules"].as_array().expect("rules");
    assert!(rules.iter().all(|rule| rule["held_out"]["f1"].is_f64() && rule["body"].is_array()), "{found}");
    let csv = glidr(folder.path(), "rules my.rules --format csv --target wife");
    assert!(csv.starts_with("target,weight,support,answers,confidence,"), "{csv}");
    assert!(csv.contains("\nwife,0.25,") && csv.contains("\"wife(X, Y) :- husband(Y, X).\""), "{csv}");
    glidr(folder.path(), "rules my.rules --format prolog -o rules.pl");
    let prolog = fs::read_to_string(folder.path().join("rules.pl")).expect("the file");
    assert!(prolog.contains("derived(2, X, 'wife', Y) :- fact(Y, 'husband', X)."), "{prolog}");
    glidr(folder.path(), "rules my.rules --format svg -o pictures");
    let picture = |name: &str| fs::read_to_string(folder.path().join(name)).expect("the picture");
    let svg = picture("pictures/002-uncle.svg");
    let parts = [
        ">brother</text>",
        ">father or mother</text>",
        ">Z1</text>",
        ">uncle</text>",
        ">confidence 1.000, support 2<",
    ];
    for part in parts {
        assert!(svg.contains(part), "{part} is missing from:\n{svg}");
    }
    assert_eq!(picture("pictures/sheet.svg").matches(">confidence ").count(), 2, "both rules");
    glidr(folder.path(), "rules my.rules --format svg -o best.svg");
    assert_eq!(picture("best.svg"), picture("pictures/sheet.svg"));
    glidr(folder.path(), "rules my.rules --target uncle --format svg -o uncle.svg");
    assert_eq!(picture("uncle.svg"), svg, "one rule is no sheet");
    let dot = glidr(folder.path(), "rules my.rules --target wife --format dot");
    assert!(dot.contains("n1 -> n0 [label=\"husband\"];"), "{dot}");
    assert!(dot.contains("n0 -> n1 [label=\"wife\", style=dashed];"), "{dot}");
    let told = json(folder.path(), "export --format csv -o tables");
    assert_eq!((&told["facts"], &told["entities"]), (&112.into(), &24.into()));
    let facts = fs::read_to_string(folder.path().join("tables/fact.csv")).expect("the file");
    assert_eq!(facts.lines().count(), 113, "a header and a line for each fact");
}

#[test]
fn learning_that_starts_from_a_known_rule_knows_it_from_the_first_step() {
    let folder = tempfile::tempdir().expect("a folder to work in");
    fs::write(folder.path().join("known.rules"), "wife(X, Y) :- husband(Y, X).\n").expect("a small file");
    glidr(folder.path(), "learn -o m.glidr --steps 2 --rules 1 --targets wife --start known.rules");
    let rules = json(folder.path(), "rules m.glidr --scoring argmax");
    assert_eq!(rules["rules"][0]["rule"], "wife(X, Y) :- husband(Y, X).", "{rules}");
    glidr(folder.path(), "learn -o other.glidr --steps 2 --rules 1 --targets wife");
    let rules = json(folder.path(), "rules other.glidr --scoring argmax");
    assert_ne!(rules["rules"][0]["rule"], "wife(X, Y) :- husband(Y, X).", "two steps alone do not find it");
}

/// Rules for uncles: all that go over one other person by way of two predicates.
fn many_rules() -> String {
    let data = Dataset::families(0);
    let predicates: Vec<&str> = data.names().predicates.iter().collect();
    let over = |a: &str| {
        let rule = |b: &&str| {
            format!("uncle(X, Y) :- {a}(X, Z), {b}(Z, Y).\nuncle(X, Y) :- {a}(Z, X), {b}(Z, Y).\n")
        };
        predicates.iter().map(rule).collect::<String>()
    };
    predicates.iter().map(|a| over(a)).collect()
}

#[test]
fn of_many_rules_a_few_are_shown_and_the_others_are_counted() {
    let folder = tempfile::tempdir().expect("a folder to work in");
    fs::write(folder.path().join("many.rules"), many_rules()).expect("a small file");
    let question = "explain many.rules --target uncle --head Arthur --tail Colin --background all";
    let told = json(folder.path(), &format!("{question} --limit 0"));
    let (firing, decided) = (told["firing"].as_u64(), told["decided"].as_u64());
    let (firing, decided) = (firing.expect("a count"), decided.expect("a count"));
    assert!(firing > 2 && decided > 200, "{firing} of {decided}");
    let rules = told["rules"].as_array().expect("rules");
    assert_eq!(rules.len() as u64, decided, "--limit 0 shows all");
    // Every body has two literals: those whose first holds come before those whose first does not.
    let fails: Vec<u64> = rules.iter().filter_map(|rule| rule["fails_at"].as_u64()).collect();
    assert!(fails.is_sorted_by(|a, b| a >= b) && fails[0] == 2 && fails.ends_with(&[1]), "{fails:?}");
    let text = glidr(folder.path(), &format!("{question} --limit 2"));
    let failing = decided - firing;
    for part in [
        format!("a known fact ({}), explained without itself", told["split"].as_str().expect("a split")),
        format!("\n{firing} of {decided} rules fire:\n"),
        format!("\n  and {} more that fire (--limit 0 shows all)\n", firing - 2),
        format!("\n  and {} more that do not fire (--limit 0 shows all)\n", failing - 2),
    ] {
        assert!(text.contains(&part), "{part:?} is missing from:\n{text}");
    }
    assert_eq!(text.matches("  uncle(X, Y) :- ").count(), 4, "{text}");
    let proof = text.find("    because ").expect("a proof");
    assert!(proof < text.find("holds up to").expect("a rule that nearly fires"), "{text}");
}

#[test]
fn an_unlikely_fact_and_an_unknown_name_get_a_plain_answer() {
    let folder = with_model();
    let text = glidr(
        folder.path(),
        "explain m.glidr --target wife --head Arthur --tail Colin --scoring rules --trace",
    );
    assert!(text.contains("\nnot in the data\n\nnone of ") && text.contains(" rules fires\n"), "{text}");
    assert!(text.contains("no soft rule is part of this score"), "{text}");
    for (name, finding) in [
        ("--target wive --head Arthur --tail Colin", "unknown target “wive”; did you mean “wife”?"),
        ("--target wife --head Artur --tail Colin", "unknown entity “Artur”; did you mean “Arthur”?"),
        ("--target wife --head Arthur --tail Kolin", "unknown entity “Kolin”; did you mean “Colin”?"),
    ] {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("glidr"));
        let question = format!("explain m.glidr {name}");
        let output = command.current_dir(folder.path()).args(question.split_whitespace()).output();
        let output = output.expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains(finding), "{said}");
        assert!(output.stdout.is_empty(), "{name}");
    }
}

#[test]
fn a_pair_that_a_constraint_denies_is_told_why_in_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder to work in");
    fs::write(folder.path().join("my.constraints"), ":- nephew(X, Y), niece(X, Y).\n").expect("a small file");
    glidr(
        folder.path(),
        "learn -o m.glidr --method search --target nephew,niece --constraints my.constraints",
    );
    let known = "niece(Charlotte, Colin)";
    let arguments = "explain m.glidr --target nephew --head Charlotte --tail Colin";
    let facts = background();
    let fact = facts.iter().find(|fact| fact[0] == "niece").expect("a known niece");
    let arguments = arguments.replace("Charlotte", &fact[1]).replace("Colin", &fact[2]);
    let known = known.replace("Charlotte", &fact[1]).replace("Colin", &fact[2]);
    let told = glidr(folder.path(), &arguments);
    let why = format!("{known} is known, and no pair has both nephew and niece");
    let sentence =
        format!("it cannot be: {why}\n  constraint of confidence 1.000: :- nephew(X, Y), niece(X, Y).\n");
    assert!(told.contains(&sentence), "{told}");
    let denied = &json(folder.path(), &arguments)["denied_by"];
    assert_eq!(denied[0]["why"], why.as_str(), "{denied}");
    assert_eq!(denied[0]["constraint"], ":- nephew(X, Y), niece(X, Y).");
    assert_eq!(denied[0]["facts"][0], serde_json::json!(fact), "{denied}");
}

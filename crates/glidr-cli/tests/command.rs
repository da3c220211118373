//! The real program, run as a user runs it.

mod common;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{folder, glidr, json, run, stderr, stdout};
use serde_json::Value;

const QUICK: &str = "--steps 60 --rules 2 --targets uncle,wife";

/// A folder with a small model of the families.
fn with_model() -> tempfile::TempDir {
    let folder = folder();
    stdout(&run(folder.path(), &format!("learn -o m.glidr {QUICK}")));
    folder
}

#[test]
fn learn_alone_learns_the_families_and_shows_ranking_and_rules() {
    let folder = folder();
    let output = run(folder.path(), "learn --steps 60 --rules 2");
    let text = stdout(&output);
    assert!(text.starts_with("learned ") && text.contains("24 soft rules for 12 predicates in "), "{text}");
    for part in
        ["test: MRR ", "Hits@10", "uncle(X, Y) :- ", "because ", "it is in test", "glidr predict my.glidr "]
    {
        assert!(text.contains(part), "{part} is missing from:\n{text}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0, "nothing is kept without -o");
    assert_eq!(stderr(&output), "", "no progress when standard error is no terminal");
}

#[test]
fn every_command_has_json_with_its_documented_keys() {
    let folder = with_model();
    let eval = json(&run(folder.path(), "eval m.glidr --json"));
    for key in ["mrr", "hits1", "hits3", "hits10"] {
        assert!((0.0..=1.0).contains(&eval[key].as_f64().expect("a number")), "{key}: {eval}");
    }
    assert!(eval["mrr"].as_f64() >= eval["hits1"].as_f64());
    assert!(eval["queries"].as_u64() > Some(0) && eval["per_predicate"]["wife"]["mrr"].is_number());
    assert_eq!(eval["protocol"]["directions"], "both");
    assert_eq!(eval["protocol"]["ties"], "random");
    assert_eq!(eval["protocol"]["split_hash"].as_str().map(str::len), Some(64));
    let rules = json(&run(folder.path(), "rules m.glidr --json --target wife"));
    assert!(rules["rules"][0]["rule"].as_str().expect("a rule").starts_with("wife(X, Y) :- "));
    let predict = json(&run(folder.path(), "predict m.glidr --json --target uncle --head Arthur -k 3"));
    assert_eq!(predict["answers"].as_array().map(Vec::len), Some(3));
    assert_eq!(json(&run(folder.path(), "info m.glidr --json"))["kind"], "model");
    let data = json(&run(folder.path(), "info --json"));
    assert_eq!((&data["entities"], &data["predicates"]), (&24.into(), &12.into()));
    let learn = json(&run(folder.path(), &format!("learn --json {QUICK}")));
    assert_eq!(learn["ranking"]["queries"], eval["queries"]);
    assert_eq!(learn["training"]["rules"], 2);
}

#[test]
fn hard_rules_rank_too_and_ties_can_take_their_mean() {
    let folder = folder();
    stdout(&run(folder.path(), "learn -o m.glidr --steps 30 --rules 2"));
    for arguments in
        ["--scoring argmax", "--scoring top-p --top-p 0.5", "--ties mean", "--rounds 2", "--split valid"]
    {
        let eval = json(&run(folder.path(), &format!("eval m.glidr --json {arguments}")));
        assert!(eval["mrr"].as_f64() > Some(0.0), "{arguments}: {eval}");
    }
    let hard = json(&run(folder.path(), "eval m.glidr --json --scoring top-p --top-p 0.5"));
    assert_eq!(hard["protocol"]["scoring"], "top-p 0.5");
}

#[test]
fn an_unknown_name_gets_the_nearest_names_as_a_hint() {
    let folder = with_model();
    let output = run(folder.path(), "predict m.glidr --target unkle --head Arthur");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("unknown target “unkle”; did you mean “uncle”?"), "{}", stderr(&output));
    let output = run(folder.path(), "predict m.glidr --target uncle --head Artur");
    assert!(stderr(&output).contains("did you mean “Arthur”?"), "{}", stderr(&output));
    let output = run(folder.path(), "learn --targets uncel");
    assert!(
        stderr(&output).contains("unknown predicate “uncel”; did you mean “uncle”?"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_table_of_ones_own_is_named_in_sql_alone_and_never_read_as_sql() {
    let folder = folder();
    fs::write(folder.path().join("my.rules"), "wife(X, Y) :- husband(Y, X).\n").expect("a small file");
    let sql = "rules my.rules --format sql --table t;DROP --columns subject,order,o";
    let text = stdout(&run(folder.path(), sql));
    assert!(text.contains("FROM \"t;DROP\" l1\nWHERE l1.\"order\" = 'husband'"), "{text}");
    for (arguments, part) in [
        ("--format prolog --table t", "go with --format sql alone"),
        ("--format sql --json --table t", "go with --format sql alone"),
        ("--format sql --columns s,p,o", "--table"),
        ("--format sql --table t --columns s,p", "three columns"),
        ("--format sql --table t\"t", "quotes"),
        ("--format sql --table main.rule", "makes a view named rule"),
    ] {
        let output = run(folder.path(), &format!("rules my.rules {arguments} -o out"));
        assert!(!output.status.success(), "{arguments}");
        assert!(stderr(&output).contains(part), "{arguments}: {}", stderr(&output));
        assert!(!folder.path().join("out").exists(), "nothing is written");
    }
}

#[test]
fn bad_data_is_answered_with_file_line_and_finding() {
    let folder = folder();
    for (name, content, finding) in [
        ("fields.tsv", b"a\tp\tb\na p b\n".as_slice(), "fields.tsv:2: a triple has 3 tab-separated fields"),
        ("utf8.tsv", b"a\tp\t\xff\n", "utf8.tsv:1: a line must be UTF-8"),
        ("empty.tsv", b"", "empty.tsv: a data file must hold at least one fact"),
        ("plain.tsv.gz", b"a\tp\tb\n", "plain.tsv.gz: the name ends in .gz, but the content is not gzip"),
        (
            "broken.tsv.gz",
            b"\x1f\x8b\x08\0\0\0\0\0\0\0junk",
            "broken.tsv.gz:1: the gzip stream is broken here",
        ),
    ] {
        fs::write(folder.path().join(name), content).expect("a small file");
        for command in ["learn", "info"] {
            let output = run(folder.path(), &format!("{command} {name}"));
            assert_eq!(output.status.code(), Some(1));
            assert!(stderr(&output).contains(finding), "{}", stderr(&output));
        }
    }
    let output = run(folder.path(), "learn nowhere");
    assert!(stderr(&output).contains("nowhere: No such file"), "{}", stderr(&output));
}

#[test]
fn settings_come_from_a_file_and_flags_win() {
    let folder = folder();
    fs::write(folder.path().join("s.toml"), "rules = 3\nsteps = 9\ntargets = [\"wife\"]\n")
        .expect("a small file");
    let learn = json(&run(folder.path(), "learn --settings s.toml --steps 5 --json"));
    assert_eq!((&learn["training"]["rules"], &learn["training"]["steps"]), (&3.into(), &5.into()));
    fs::write(folder.path().join("s.toml"), "rulez = 3\n").expect("a small file");
    let output = run(folder.path(), "learn --settings s.toml");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("s.toml") && stderr(&output).contains("rulez"), "{}", stderr(&output));
    let output = run(folder.path(), "learn --variables 1");
    assert!(stderr(&output).contains("variables must be at least 2, but is 1"), "{}", stderr(&output));
    assert_eq!(run(folder.path(), "learn --no-such-flag").status.code(), Some(2));
}

#[test]
fn rule_weights_can_be_learned_and_nothing_else_of_the_model_changes() {
    let folder = folder();
    let learn = |how: &str| {
        let flags =
            format!("learn -o {how} --steps 30 --rules 4 --targets sister --rule-weights {how} --json");
        json(&run(folder.path(), &flags))
    };
    let (by_loss, fitted) = (learn("loss"), learn("learned"));
    assert_eq!(fitted["training"]["rule_weights"], "learned");
    assert_eq!(by_loss["targets"][0]["losses"], fitted["targets"][0]["losses"]);
    assert_ne!(by_loss["targets"][0]["weights"], fitted["targets"][0]["weights"]);
    let info = stdout(&run(folder.path(), "info learned"));
    assert!(info.contains("rule_weights learned"), "{info}");
}

#[test]
fn a_closed_pipe_is_a_quiet_end() {
    let folder = with_model();
    let mut child = glidr()
        .current_dir(folder.path())
        .args(["rules", "m.glidr"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    assert!(child.wait().expect("an end").success());
    assert_eq!(said, "");
}

#[test]
fn a_model_applied_to_data_that_lacks_its_predicates_says_which() {
    let folder = with_model();
    fs::write(folder.path().join("other.tsv"), "a\tuncle\tb\nb\twife\tc\nc\tuncle\td\n")
        .expect("a small file");
    let output = run(folder.path(), "predict m.glidr other.tsv --target uncle --head a --scoring rules");
    stdout(&output);
    assert!(stderr(&output).contains("lacks names that "), "{}", stderr(&output));
    let output = run(folder.path(), "predict m.glidr other.tsv --target uncle --head a --scoring soft");
    stdout(&output);
    assert!(stderr(&output).contains("lacks names of the model"), "{}", stderr(&output));
    assert!(stderr(&output).contains("aunt, brother, daughter"), "{}", stderr(&output));
    fs::write(folder.path().join("alien.tsv"), "a\tlikes\tb\n").expect("a small file");
    for scoring in ["soft", "rules", "blend"] {
        let question = format!("predict m.glidr alien.tsv --target uncle --head a --scoring {scoring}");
        let output = run(folder.path(), &question);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("has none of them"), "{}", stderr(&output));
    }
}

#[test]
fn a_model_that_is_none_is_refused() {
    let folder = folder();
    for (content, finding) in [
        ("a\tp\tb\n", " was expected, but this is a text of facts: glidr learn DATA -o MODEL"),
        ("nothing", " must be whole safetensors"),
    ] {
        fs::write(folder.path().join("m.glidr"), content).expect("a small file");
        for command in ["eval m.glidr", "rules m.glidr", "predict m.glidr --target p --head a"] {
            let output = run(folder.path(), command);
            assert_eq!(output.status.code(), Some(1));
            let told = stderr(&output);
            let expected = told.contains("m.glidr: a glidr model file ")
                || told.contains("m.glidr: a model or a text of rules ");
            assert!(expected && told.contains(finding), "{told}");
        }
    }
}

/// A run of `learn -o m.glidr` that takes some seconds.
const LONG: &str =
    "learn -o m.glidr --steps 8000 --rules 2 --targets uncle,wife,aunt --threads 2 --checkpoint-every 1";

fn start(folder: &Path) -> Child {
    let mut command = glidr();
    command.current_dir(folder).args(LONG.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

fn send(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(status.expect("kill is on every Unix").success());
}

fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_mins(1), "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn unbroken(folder: &Path) -> Vec<u8> {
    let whole = folder.join("whole");
    fs::create_dir(&whole).expect("a folder");
    stdout(&run(&whole, LONG));
    fs::read(whole.join("m.glidr")).expect("the model")
}

#[test]
fn signals_keep_a_checkpoint_and_resume_reaches_the_very_same_model() {
    let folder = folder();
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    for (turn, signal) in ["-INT", "-TERM"].into_iter().enumerate() {
        let mut child = start(folder.path());
        wait_for(&path("m.glidr.learning"));
        std::thread::sleep(Duration::from_millis(400));
        send(&child, signal);
        let mut said = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
        assert_eq!(child.wait().expect("an end").code(), Some(130), "{said}");
        assert!(said.contains("To go on: glidr learn -o m.glidr --resume"), "{said}");
        assert!(path("m.glidr.checkpoint").exists());
        // What was learned until then is a model too.
        stdout(&run(folder.path(), "rules m.glidr --no-measures"));
        if turn == 0 {
            let again = run(folder.path(), LONG);
            assert!(stderr(&again).contains("add --resume to go on"), "{}", stderr(&again));
            fs::remove_file(path("m.glidr.checkpoint")).expect("the checkpoint");
        }
    }
    stdout(&run(folder.path(), "learn -o m.glidr --resume --threads 1"));
    assert!(!path("m.glidr.checkpoint").exists() && !path("m.glidr.learning").exists());
    assert_eq!(fs::read(path("m.glidr")).expect("the model"), unbroken(folder.path()));
}

#[test]
fn a_kill_loses_at_most_the_work_since_the_last_checkpoint() {
    let folder = folder();
    let checkpoint = folder.path().join("m.glidr.checkpoint");
    let mut child = start(folder.path());
    wait_for(&checkpoint);
    send(&child, "-KILL");
    child.wait().expect("an end");
    assert!(checkpoint.exists() && !folder.path().join("m.glidr").exists());
    stdout(&run(folder.path(), "learn -o m.glidr --resume"));
    assert_eq!(fs::read(folder.path().join("m.glidr")).expect("the model"), unbroken(folder.path()));
}

#[test]
fn two_runs_never_write_one_model() {
    let folder = folder();
    let mut child = start(folder.path());
    wait_for(&folder.path().join("m.glidr.learning"));
    let second = run(folder.path(), LONG);
    assert!(stderr(&second).contains("another run is writing m.glidr"), "{}", stderr(&second));
    send(&child, "-KILL");
    child.wait().expect("an end");
}

#[test]
fn resume_without_a_checkpoint_says_so() {
    let folder = folder();
    let output = run(folder.path(), "learn -o m.glidr --resume");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("there is nothing to resume"), "{}", stderr(&output));
}

#[test]
fn a_file_that_is_no_model_is_never_written_over_nor_is_its_neighbour_removed() {
    let folder = folder();
    let triples: String = (0..40).map(|n| format!("e{n}\tp\te{}\n", n + 1)).collect();
    fs::write(folder.path().join("data"), &triples).expect("a small file");
    fs::write(folder.path().join("m.learning"), "precious").expect("a small file");
    let output = run(folder.path(), "learn data -o data --steps 2");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("only a glidr model is written over"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(folder.path().join("data")).expect("the data"), triples);
    let output = run(folder.path(), "learn data -o m --steps 2");
    assert!(stderr(&output).contains("is a file of yours"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(folder.path().join("m.learning")).expect("the file"), "precious");
    let output = run(folder.path(), "learn data -o . --steps 2");
    assert!(stderr(&output).contains("a plain file was expected"), "{}", stderr(&output));
}

#[test]
fn a_run_that_diverges_says_so_and_writes_no_model() {
    let folder = folder();
    let output =
        run(folder.path(), "learn -o m.glidr --steps 300 --rules 2 --targets uncle --learning-rate 100");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("logits must stay finite"), "{}", stderr(&output));
    assert!(!folder.path().join("m.glidr").exists());
}

#[test]
fn data_that_changed_since_learning_is_not_taken_for_the_same() {
    let folder = folder();
    let triples: String = (0..60).map(|n| format!("e{}\tp\te{}\n", n % 20, n * 7 % 19)).collect();
    fs::write(folder.path().join("data.tsv"), &triples).expect("a small file");
    stdout(&run(folder.path(), "learn data.tsv -o m.glidr --steps 5 --rules 1"));
    stdout(&run(folder.path(), "eval m.glidr"));
    fs::write(folder.path().join("data.tsv"), triples + "new\tp\te1\n").expect("a small file");
    let output = run(folder.path(), "eval m.glidr");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("is no longer the data"), "{}", stderr(&output));
    stdout(&run(folder.path(), "eval m.glidr data.tsv"));
}

#[test]
fn resume_names_the_settings_that_differ() {
    let folder = folder();
    let mut child = start(folder.path());
    wait_for(&folder.path().join("m.glidr.checkpoint"));
    send(&child, "-KILL");
    child.wait().expect("an end");
    let output = run(folder.path(), "learn -o m.glidr --resume --rules 3");
    assert!(stderr(&output).contains("other settings than these: rules"), "{}", stderr(&output));
}

#[test]
fn solve_writes_new_facts_with_rule_and_confidence() {
    let folder = folder();
    fs::write(
        folder.path().join("my.rules"),
        "0.9 :: uncle(X, Y) :- brother(X, Z), (mother(Z, Y) ; father(Z, Y)).\nwife(A, B) :- husband(B, A).\n",
    )
    .expect("a small file");
    let mut facts =
        "al\tbrother\tbea\nbea\tmother\tcy\nbea\tmother\tdi\ned\thusband\tbea\nx\twife\ty\n".to_owned();
    facts += "x\tuncle\ty\nx\tfather\ty\n";
    fs::write(folder.path().join("g.tsv"), facts).expect("a small file");
    let text = stdout(&run(folder.path(), "solve my.rules g.tsv"));
    assert_eq!(text.lines().count(), 3, "two nephews and a wife:\n{text}");
    assert!(text.starts_with("al\tuncle\tcy\t0.900000\t1\tuncle(X, Y) :- brother(X, Z1), "), "{text}");
    assert!(
        text.lines().all(|line| line.contains("uncle(X, Y) :- ") || line.contains("wife(X, Y) :- ")),
        "{text}"
    );
    let lines = stdout(&run(folder.path(), "solve my.rules g.tsv --format jsonl"));
    assert_eq!(lines.lines().count(), text.lines().count());
    let first: Value =
        serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON on each line");
    assert_eq!((&first["confidence"], &first["predicate"]), (&0.9.into(), &"uncle".into()));
    let document = json(&run(folder.path(), "solve my.rules g.tsv --json --limit 1"));
    assert_eq!(document["ended"], "answer-limit");
    stdout(&run(folder.path(), "solve my.rules g.tsv -o new.tsv"));
    assert_eq!(fs::read_to_string(folder.path().join("new.tsv")).expect("the file"), text);
    fs::write(folder.path().join("bad.rules"), "uncle(X, Y) :-\n  fother(X, Y).\n").expect("a small file");
    let output = run(folder.path(), "solve bad.rules g.tsv");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("bad.rules:2:3: unknown predicate “fother”"), "{}", stderr(&output));
}

#[test]
fn rules_are_measured_sorted_and_filtered() {
    let folder = with_model();
    let rules = |flags: &str| -> Vec<Value> {
        let found = json(&run(folder.path(), &format!("rules m.glidr --json {flags}")));
        found["rules"].as_array().expect("a list").clone()
    };
    let all = rules("--scoring top-p --top-p 0.6 --fidelity");
    assert!(
        all.iter().all(|rule| rule["measures"]["support"].is_u64() && rule["confidence"].is_f64()),
        "{all:?}"
    );
    let supported = rules("--scoring top-p --top-p 0.6 --min-support 3");
    let expected = all.iter().filter(|rule| rule["measures"]["support"].as_u64() >= Some(3)).count();
    assert_eq!(supported.len(), expected);
    let sorted = rules("--target wife --sort confidence");
    assert!(sorted.windows(2).all(|pair| pair[0]["confidence"].as_f64() >= pair[1]["confidence"].as_f64()));
    assert!(rules("--scoring top-p --no-measures")[0]["measures"].is_null());
}

#[test]
fn rules_that_search_finds_can_be_kept_and_ranked_with_again() {
    let folder = with_model();
    let direct = json(&run(folder.path(), "eval m.glidr --scoring rules --json"));
    assert!(direct["rules"].as_u64() > Some(0), "{direct}");
    let text = stdout(&run(folder.path(), "rules m.glidr --format text"));
    assert!(text.starts_with(":- aggregation("), "{text}");
    fs::write(folder.path().join("m.rules"), text).expect("a small file");
    let again = json(&run(folder.path(), "eval m.rules --json"));
    assert_eq!((&again["mrr"], &again["rules"]), (&direct["mrr"], &direct["rules"]));
}

#[test]
fn a_rule_with_two_numbers_answers_by_the_first_for_tails_and_by_the_second_for_heads() {
    let folder = folder();
    let text = ":- aggregation(wife, sum).\n0.25 / 2 :: wife(X, Y) :- husband(Y, X).\n";
    fs::write(folder.path().join("own.rules"), text).expect("a small file");
    for (given, answer, score) in
        [("head Penelope", "Christopher", 0.25), ("tail Christopher", "Penelope", 2.0)]
    {
        let direction = format!("predict own.rules --target wife --{given} --known --json");
        let found = json(&run(folder.path(), &direction));
        let first = &found["answers"][0];
        assert_eq!(
            (first["entity"].as_str(), first["score"].as_f64()),
            (Some(answer), Some(score)),
            "{found}"
        );
    }
    fs::write(folder.path().join("own.rules"), text.replace("/ 2", "/ wife")).expect("a small file");
    let refused = run(folder.path(), "eval own.rules");
    assert!(
        stderr(&refused).contains("“/” must be followed by the number for heads"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn a_blend_ranks_and_tells_its_mixing_weights() {
    let folder = folder();
    stdout(&run(folder.path(), "learn -o m.glidr --steps 40 --rules 2 --max-pool 40 --max-conjunctions 40"));
    let blend = json(&run(folder.path(), "eval m.glidr --json"));
    assert_eq!(blend["protocol"]["scoring"], "blend");
    let weights = blend["mixing_weights"].as_array().expect("mixing weights");
    assert!(
        !weights.is_empty()
            && weights.iter().all(|of| (0.0..=1.0).contains(&of["weight"].as_f64().expect("a weight")))
    );
    let refused = run(folder.path(), "rules m.glidr --scoring blend");
    assert!(stderr(&refused).contains("--scoring blend goes with eval"), "{}", stderr(&refused));
}

#[test]
fn a_blend_predicts_and_explains_what_it_predicts() {
    let folder = with_model();
    for (target, head) in [("wife", "Penelope"), ("uncle", "Arthur")] {
        let how = format!("--target {target} --head {head} --scoring blend --json");
        let found = json(&run(folder.path(), &format!("predict m.glidr --known --explain {how}")));
        let best = &found["answers"][0];
        assert!(best["score"].as_f64() > Some(0.9) && best["because"]["fires"] == true, "{found}");
        let tail = best["entity"].as_str().expect("a name");
        let told = json(&run(folder.path(), &format!("explain m.glidr --tail {tail} {how}")));
        assert!(told["mixing_weight"].is_f64() && told["rules"][0]["fires"] == true, "{told}");
    }
}

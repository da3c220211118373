//! Exported constraints, run in the engines they are written for: each lists exactly the facts that break one.
//!
//! `tools/engines` installs the engines; a test whose engine is missing fails and says so.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use glidr::internals::constraint::{Constraint, ConstraintKind};
use glidr::internals::graph::Triple;
use glidr::{Background, Dataset};

/// What breaks a constraint: its number, head, tail.
type Broken = BTreeSet<(usize, String, String)>;

const P: &str = r#"/film's "crew" \ 100%"#;
const Q: &str = "'; DROP TABLE fact; --";
const OWN: &str = "has 'prop' \\";
const NAMES: [&str; 14] = [
    "it's",
    r#"say "hi""#,
    r"back\slash\",
    "a/b/c",
    "two  spaces ",
    "漢字 😀 e\u{301} é",
    "%27",
    "null",
    "X",
    "_y",
    "{x} ?y <z> #c % d $this",
    "cr\rname",
    "Ünïcode\u{2028}line",
    "-- not",
];

fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\\', r"\\").replace('\'', r"\'"))
}

/// A graph in which every kind of constraint is broken somewhere, and kept elsewhere.
fn facts() -> String {
    let name = |n: usize| NAMES[n % NAMES.len()];
    let mut text = String::new();
    for n in 0..NAMES.len() {
        let mut fact = |head: usize, predicate: &str, tail: usize| {
            text.push_str(&format!("{}\t{predicate}\t{}\n", name(head), name(tail)));
        };
        fact(n, P, n + 1);
        if n % 3 == 0 {
            fact(n + 1, P, n);
            fact(n, P, n + 5);
            fact(n, Q, n + 1);
        }
        if n % 4 == 1 {
            fact(n, P, n);
            fact(n + 1, Q, n);
            fact(n, "is", n);
            fact(n, "is", n + 7);
        }
        if n % 5 == 2 {
            fact(n, Q, n + 3);
        }
        if n % 2 == 0 {
            text.push_str(&format!("{}\t{OWN}\n", name(n)));
        }
    }
    text
}

/// A constraint of every kind.
fn constraints() -> String {
    let (p, q, own) = (quoted(P), quoted(Q), quoted(OWN));
    let back = quoted(NAMES[2]);
    format!(
        ":- {p}(X, X).\n\
         :- {p}(X, Y), {p}(Y, X).\n\
         :- {p}(X, Y), {q}(X, Y).\n\
         :- {p}(X, Y), {q}(Y, X).\n\
         :- at least 2 Y: {p}(X, Y).\n\
         0.97 :: :- at least 3 Y: {p}(X, Y).\n\
         :- at least 2 X: {p}(X, Y).\n\
         :- {p}(X, Y), not {own}(X).\n\
         :- {p}(X, Y), not {q}(Y, Z1).\n\
         :- {p}(X, Y), not {q}(Z1, Y).\n\
         :- {p}(X, Y), _(X, Y).\n\
         :- {p}(X, Y), not _(X, Y).\n\
         :- {p}(X, Y), {p}(X, Z1), {q}(Z1, Y).\n\
         :- {q}(X, Y), ({p}(Y, Z1) ; {q}(Z1, Y)), {own}(Z1).\n\
         :- {p}(X, Y), {p}(X, {back}).\n"
    )
}

struct Case {
    folder: tempfile::TempDir,
    kinds: Vec<ConstraintKind>,
    expected: Broken,
}

impl Case {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder to work in");
        let data_path = folder.path().join("data.tsv");
        fs::write(&data_path, facts()).expect("a small file");
        fs::write(folder.path().join("my.constraints"), constraints()).expect("a small file");
        let data = Dataset::open(&data_path, 0).expect("sound data");
        let names = data.names();
        let all = Constraint::parse("my.constraints", &constraints(), names).expect("sound constraints");
        let neighbours = data.graph(Background::All).neighbours();
        let mut expected = Broken::new();
        for (place, constraint) in all.iter().enumerate() {
            let conflicts = constraint.denial.conflicts(neighbours).expect("a sound constraint");
            let of_group =
                [ConstraintKind::Asymmetric, ConstraintKind::Functional, ConstraintKind::InverseFunctional];
            let is_group = of_group.contains(&constraint.denial.kind());
            let told = conflicts.into_iter().flat_map(|conflict| {
                let others = if is_group { conflict.others } else { Vec::new() };
                others.into_iter().chain([conflict.fact])
            });
            let name = |entity| names.entities.name(entity).to_owned();
            let broken: Vec<Triple> = told.collect();
            let whole = neighbours.count(constraint.denial.targets()[0]);
            assert!(!broken.is_empty() && broken.len() < whole, "{}", constraint.show(names));
            expected.extend(broken.iter().map(|fact| (place + 1, name(fact.head), name(fact.tail))));
        }
        Case { folder, kinds: all.iter().map(|constraint| constraint.denial.kind()).collect(), expected }
    }

    fn glidr(&self, arguments: &[&str]) {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("glidr"));
        let output = command.current_dir(self.folder.path()).args(arguments).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Exports facts and constraints, and runs an engine on them.
    fn found(&self, facts: &str, constraints: &str, run: impl Fn(&Path, &Path) -> Broken) -> Broken {
        let path = |name: String| self.folder.path().join(name);
        let (facts_path, path) = (path(format!("facts.{facts}")), path(format!("constraints.{constraints}")));
        let shown = |path: &Path| path.to_str().expect("a plain path").to_owned();
        self.glidr(&["export", "data.tsv", "--format", facts, "-o", &shown(&facts_path)]);
        let flags = ["--constraints", "my.constraints", "--format", constraints, "-o", &shown(&path)];
        self.glidr(&[&["constraints", "data.tsv"], &flags[..]].concat());
        run(&facts_path, &path)
    }

    fn agrees(&self, facts: &str, constraints: &str, run: impl Fn(&Path, &Path) -> Broken) {
        let found = self.found(facts, constraints, run);
        let missing: Vec<_> = self.expected.difference(&found).take(3).collect();
        let wrong: Vec<_> = found.difference(&self.expected).take(3).collect();
        assert!(
            missing.is_empty() && wrong.is_empty(),
            "{constraints}: missing {missing:?}, wrong {wrong:?}"
        );
    }
}

fn run(program: &Path, arguments: &[&str], good: &[i32]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|error| {
        panic!("{} is missing ({error}): install the engines with tools/engines", program.display())
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| good.contains(&code)), "{}: {said}", program.display());
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn lines(text: &str) -> Broken {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        assert_eq!(fields.len(), 3, "{line:?}");
        (fields[0].parse().expect("a number"), fields[1].to_owned(), fields[2].to_owned())
    };
    text.split_terminator('\n').map(line).collect()
}

fn files<'p>(facts: &'p Path, constraints: &'p Path) -> [&'p str; 2] {
    [facts, constraints].map(|path| path.to_str().expect("a plain path"))
}

fn prolog(facts: &Path, constraints: &Path) -> Broken {
    let goal = "set_stream(user_output, encoding(utf8)), \
        findall(C-H-T, violation(C, H, _, T), All), sort(All, Each), \
        forall(member(C-H-T, Each), format(\"~d\\t~a\\t~a~n\", [C, H, T]))";
    let [facts, constraints] = files(facts, constraints);
    let arguments = ["-q", "--on-warning=status", "-g", goal, "-t", "halt", facts, constraints];
    lines(&run(Path::new("swipl"), &arguments, &[0]))
}

/// clingo prints `violation(1,"a","p","b")` for each, one on a line.
fn clingo(facts: &Path, constraints: &Path) -> Broken {
    let [facts, constraints] = files(facts, constraints);
    let enforced = ["-V0", "-c", "enforce=1", facts, constraints];
    assert!(run(Path::new("clingo"), &enforced, &[20]).contains("UNSAT"), "an enforced constraint is broken");
    let text =
        run(Path::new("clingo"), &["-V0", "--out-ifs=\\n", "--warn=all", facts, constraints], &[10, 30]);
    let mut found = Broken::new();
    for line in text.split('\n').filter_map(|line| line.strip_prefix("violation(")) {
        let (number, rest) = line.split_once(',').expect("a number first");
        let (mut strings, mut is_open, mut signs) = (Vec::new(), false, rest.chars());
        while let Some(sign) = signs.next() {
            match (sign, is_open) {
                ('"', _) => {
                    is_open = !is_open;
                    if is_open {
                        strings.push(String::new());
                    }
                }
                (sign, true) => {
                    let kept = if sign == '\\' { signs.next().expect("a sign after it") } else { sign };
                    strings.last_mut().expect("an open string").push(kept);
                }
                _ => {}
            }
        }
        let [head, _, tail] = &strings[..] else { panic!("three strings: {line:?}") };
        found.insert((number.parse().expect("a number"), head.clone(), tail.clone()));
    }
    found
}

/// An engine that Python has, by `constraint_engines.py`.
fn python(engine: &str) -> impl Fn(&Path, &Path) -> Broken + '_ {
    move |facts, constraints| {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("../../target"), PathBuf::from);
        let script = root.join("tests/constraint_engines.py");
        let [facts, constraints] = files(facts, constraints);
        let script = script.to_str().expect("a plain path");
        lines(&run(&target.join("engines/bin/python"), &[script, engine, facts, constraints], &[0]))
    }
}

#[test]
fn clauses_list_exactly_the_facts_that_break_a_constraint() {
    let case = Case::new();
    case.agrees("prolog", "prolog", prolog);
    case.agrees("asp", "asp", clingo);
}

#[test]
fn databases_and_graph_stores_list_exactly_the_facts_that_break_a_constraint() {
    let case = Case::new();
    case.agrees("sql", "sql", python("sqlite"));
    case.agrees("sql", "sql", python("duckdb"));
    case.agrees("sparql", "sparql", python("oxigraph"));
}

#[test]
fn shacl_reports_exactly_the_facts_that_break_a_constraint() {
    Case::new().agrees("sparql", "shacl", python("shacl"));
}

#[test]
fn owl_finds_broken_what_its_rules_can_see() {
    let case = Case::new();
    let found = case.found("sparql", "owl", python("owl"));
    let found: BTreeSet<usize> = found.iter().map(|(number, ..)| *number).collect();
    // OWL 2 RL has no rule for more than one end, nor for a kind that is not known.
    let numbered = case.kinds.iter().enumerate();
    let seen = numbered.filter(|(place, kind)| match kind {
        ConstraintKind::Irreflexive
        | ConstraintKind::Asymmetric
        | ConstraintKind::Disjoint
        | ConstraintKind::DisjointInverse => true,
        ConstraintKind::Functional | ConstraintKind::InverseFunctional => *place != 5,
        ConstraintKind::EndKind | ConstraintKind::Linked | ConstraintKind::Denial => false,
    });
    assert_eq!(found, seen.map(|(place, _)| place + 1).collect());
}

//! Exported rules, run in the engines they are written for: their answers are those of `solve`. SQL gives those of them
//! that are new.
//!
//! `tools/engines` installs the engines; a test whose engine is missing fails and says so.
#![expect(clippy::print_stderr, reason = "a test says what it did not run")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use glidr::internals::graph::{Predicate, Vocabulary};
use glidr::internals::rule::{Clause, RuleNames, parse_rules};
use glidr::internals::solve::{Limits, Solver};
use glidr::{Background, Dataset, Rule, Search, Split};

/// What is derived: rule, head, tail.
type Derived = BTreeSet<(usize, String, String)>;

/// Data, rules, and what `solve` says of them.
struct Case {
    folder: tempfile::TempDir,
    data: PathBuf,
    /// The rules as they are printed, in the order of their numbers.
    texts: Vec<String>,
    expected: Derived,
    /// What of it is no fact of the data, and no entity with itself where the data has no such fact.
    new: Derived,
}

/// A table of odd names, which `engines.py` makes.
const OWN: [&str; 4] =
    ["--table", r#"main."my ""odd"" triples; --""#, "--columns", r#""the subject",order,o;bject"#];

fn names_of(names: &Vocabulary) -> RuleNames<'_> {
    RuleNames {
        predicates: &names.predicates,
        properties: &names.properties,
        entities: Some(&names.entities),
    }
}

impl Case {
    /// Writes the rules as a text, and solves them one by one.
    fn new(path: &Path, rules: &[Rule]) -> Self {
        let data = Dataset::open(path, 0).expect("sound data");
        let names = data.names();
        let folder = tempfile::tempdir().expect("a folder to work in");
        let text: String =
            rules.iter().map(|rule| format!("0.5 :: {}\n", rule.show(names_of(names)))).collect();
        fs::write(folder.path().join("my.rules"), text).expect("a small file");
        // The command lists rules by target, and of a target by number and by the rules.
        let mut rules = rules.to_vec();
        rules.sort();
        let facts = data.graph(Background::All).neighbours();
        let (mut expected, mut new) = (Derived::new(), Derived::new());
        for (place, rule) in rules.iter().enumerate() {
            let known: BTreeSet<_> = facts.pairs(rule.target).collect();
            let is_reflexive = known.iter().any(|(head, tail)| head == tail);
            let solver = Solver::new(rule, facts, Limits::default()).expect("a rule of the language");
            let name = |entity: glidr::internals::graph::Entity| names.entities.name(entity).to_owned();
            let answers = solver.answers().value;
            let named = |&(head, tail): &_| (place + 1, name(head), name(tail));
            expected.extend(answers.iter().map(named));
            let is_new =
                |&&(head, tail): &&_| !known.contains(&(head, tail)) && (head != tail || is_reflexive);
            new.extend(answers.iter().filter(is_new).map(named));
        }
        assert!(
            !new.is_empty() && new.len() < expected.len(),
            "the rules must find known facts and new ones"
        );
        let texts = rules.iter().map(|rule| rule.show(names_of(names))).collect();
        Case { folder, data: path.to_owned(), texts, expected, new }
    }

    /// The rules of a text over some data.
    fn of_text(path: &Path, text: &str) -> Self {
        let data = Dataset::open(path, 0).expect("sound data");
        let source = Path::new("the test");
        let clauses = parse_rules(source, text).expect("a sound text");
        let rules: Vec<Rule> = clauses
            .iter()
            .map(|clause| match clause {
                Clause::Rule(rule) => rule.rule(source, data.names()).expect("known names"),
                Clause::Aggregation(..) | Clause::Constraint(..) => panic!("no rule"),
            })
            .collect();
        Case::new(path, &rules)
    }

    fn glidr(&self, arguments: &[&str]) {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("glidr"));
        let output = command.current_dir(self.folder.path()).args(arguments).output();
        let output = output.expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Exports facts and rules, and runs the engine on them.
    fn derived(
        &self,
        facts: &str,
        rules: &str,
        flags: &[&str],
        run: impl Fn(&Path, &Path) -> Derived,
    ) -> Derived {
        let data = self.data.to_str().expect("a plain path");
        let path = |name: &str| self.folder.path().join(name);
        let (facts_path, rules_path) = (path(&format!("facts.{facts}")), path(&format!("rules.{rules}")));
        let shown = |path: &Path| path.to_str().expect("a plain path").to_owned();
        let (facts_file, rules_file) = (shown(&facts_path), shown(&rules_path));
        self.glidr(&["export", data, "--format", facts, "-o", &facts_file]);
        let plain = ["rules", "my.rules", data, "--no-measures", "--format", rules, "-o", &rules_file];
        self.glidr(&[&plain, flags].concat());
        run(&facts_path, &rules_path)
    }

    /// Runs the engine, and compares with all that `solve` finds.
    fn agrees(&self, facts: &str, rules: &str, run: impl Fn(&Path, &Path) -> Derived) {
        same(rules, &self.expected, &self.derived(facts, rules, &[], run));
    }

    /// Runs a database over the tables that `glidr export` makes and over one of odd names, and compares with what is
    /// new.
    fn agrees_in_sql(&self, base: &str) {
        same(base, &self.new, &self.derived("sql", "sql", &[], python(base)));
        let own = format!("{base}_own");
        same(&own, &self.new, &self.derived("csv", "sql", &OWN, python(&own)));
        let told = self.derived("sql", "sql", &[], python(&format!("{base}_rules")));
        let texts = self.texts.iter().enumerate();
        let expected = texts.map(|(place, text)| (place + 1, "0.5".to_owned(), text.clone())).collect();
        let short = |(number, confidence, text): (usize, String, String)| {
            (number, confidence.trim_end_matches('0').to_owned(), text)
        };
        same(&format!("{base}: rule"), &expected, &told.into_iter().map(short).collect());
    }
}

fn same(what: &str, expected: &Derived, found: &Derived) {
    let missing: Vec<_> = expected.difference(found).take(3).collect();
    let wrong: Vec<_> = found.difference(expected).take(3).collect();
    assert!(
        missing.is_empty() && wrong.is_empty(),
        "{what}: of {} answers some are missing, {missing:?}, or wrong, {wrong:?}",
        expected.len()
    );
}

fn run(program: &Path, arguments: &[&str], good: &[i32]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|error| {
        panic!("{} is missing ({error}): install the engines with tools/engines", program.display())
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| good.contains(&code)), "{}: {said}", program.display());
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn lines(text: &str) -> Derived {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        assert_eq!(fields.len(), 3, "{line:?}");
        (fields[0].parse().expect("a number"), fields[1].to_owned(), fields[2].to_owned())
    };
    text.split_terminator('\n').map(line).collect()
}

fn prolog(facts: &Path, rules: &Path) -> Derived {
    let goal = "set_stream(user_output, encoding(utf8)), \
        findall(R-H-T, derived(R, H, _, T), All), sort(All, Each), \
        forall(member(R-H-T, Each), format(\"~d\\t~a\\t~a~n\", [R, H, T]))";
    let files = [facts, rules].map(|path| path.to_str().expect("a plain path"));
    let arguments = ["-q", "--on-warning=status", "-g", goal, "-t", "halt", files[0], files[1]];
    lines(&run(Path::new("swipl"), &arguments, &[0]))
}

/// clingo prints `derived(1,"a","p","b")` for each, one on a line.
fn clingo(facts: &Path, rules: &Path) -> Derived {
    let files = [facts, rules].map(|path| path.to_str().expect("a plain path"));
    let arguments = ["-V0", "--out-ifs=\\n", "--warn=all", files[0], files[1]];
    let text = run(Path::new("clingo"), &arguments, &[10, 30]);
    let mut found = Derived::new();
    for line in text.split('\n').filter_map(|line| line.strip_prefix("derived(")) {
        let (number, rest) = line.split_once(',').expect("a number first");
        let (mut strings, mut open, mut signs) = (Vec::new(), false, rest.chars());
        while let Some(sign) = signs.next() {
            match (sign, open) {
                ('"', false) => {
                    strings.push(String::new());
                    open = true;
                }
                ('"', true) => open = false,
                (sign, true) => {
                    let kept =
                        if sign == '\\' { signs.next().expect("a sign after a backslash") } else { sign };
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

/// An engine that Python has, by `engines.py`.
fn python(engine: &str) -> impl Fn(&Path, &Path) -> Derived + '_ {
    move |facts, rules| {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("../../target"), PathBuf::from);
        let script = root.join("tests/engines.py");
        let files = [&script, facts, rules].map(|path: &Path| path.to_str().expect("a plain path"));
        lines(&run(&target.join("engines/bin/python"), &[files[0], engine, files[1], files[2]], &[0]))
    }
}

/// Runs a case in every engine.
fn everywhere(case: &Case) {
    case.agrees("prolog", "prolog", prolog);
    case.agrees("asp", "asp", clingo);
    case.agrees("datalog", "datalog", python("nemo"));
    case.agrees("sparql", "sparql", python("oxigraph"));
    case.agrees_in_sql("sqlite");
    case.agrees_in_sql("duckdb");
}

/// A data set beside the project, or the built-in families written to a folder, with a clear word.
fn data_or_families(name: &str, folder: &Path) -> PathBuf {
    let found = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if found.is_dir() {
        return found.canonicalize().expect("it is there");
    }
    eprintln!("{} is absent: the built-in families stand in for it", found.display());
    let families = Dataset::families(0);
    let names = families.names();
    for split in Split::ALL {
        let line = |fact: &glidr::internals::graph::Triple| {
            let (head, tail) = (names.entities.name(fact.head), names.entities.name(fact.tail));
            format!("{head}\t{}\t{tail}\n", names.predicates.name(fact.predicate))
        };
        let text: String = families.split(split).iter().map(line).collect();
        fs::write(folder.join(format!("{}.txt", split.name())), text).expect("a small file");
    }
    folder.to_owned()
}

/// The best rules that a short search finds for some targets: chains, and conjunctions of two.
fn searched(path: &Path, targets: usize, each: usize) -> Vec<Rule> {
    let data = Dataset::open(path, 0).expect("sound data");
    let targets: Vec<Predicate> = (0..targets as u32).map(Predicate).collect();
    let search = Search { max_pool: 40, max_conjunctions: 40, max_paths: 100, ..Search::default() };
    let found = search.run(&data, None, &[], &targets, &[], &()).expect("a sound search");
    let mut rules: Vec<Rule> = Vec::new();
    for set in &found.rules {
        let mut of_target: Vec<&Rule> = set.rules.iter().map(|weighed| &weighed.rule).collect();
        of_target.sort_by_key(|rule| std::cmp::Reverse(rule.variables()));
        rules.extend(of_target.iter().take(each / 2).copied().cloned());
        rules.extend(of_target.iter().rev().take(each / 2).copied().cloned());
    }
    rules.sort();
    rules.dedup();
    rules
}

#[test]
fn every_engine_derives_from_umls_what_solve_does() {
    let folder = tempfile::tempdir().expect("a folder to work in");
    let path = data_or_families("umls", folder.path());
    everywhere(&Case::new(&path, &searched(&path, 4, 8)));
}

#[test]
fn every_engine_derives_from_family_what_solve_does() {
    let folder = tempfile::tempdir().expect("a folder to work in");
    let path = data_or_families("family", folder.path());
    // Three of the paper's rules (tab:rules), then disjunctions both ways round, loops, and bodies that must hold in
    // several ways.
    everywhere(&Case::of_text(
        &path,
        "nephew(X, Y) :- son(X, Z1), daughter(Z2, Z1), uncle(Y, Z2).\n\
         aunt(X, Y) :- sister(X, Z1), sister(X, Z2), brother(Z2, Z1), nephew(Y, Z1).\n\
         father(X, Y) :- husband(X, Z2), mother(Z2, Y).\n\
         uncle(X, Y) :- brother(X, Z1), (mother(Z1, Y) ; father(Z1, Y)).\n\
         niece(X, Y) :- (aunt(Y, X) ; uncle(Y, X)), (daughter(X, Z) ; mother(Z, X)).\n\
         brother(X, Y) :- brother(Y, X), brother(X, Z1), brother(Z1, Y), son(X, Z2), son(Y, Z2).\n\
         brother(X, Y) :- at least 2: brother(X, Z1), (brother(Z1, Y) ; sister(Z1, Y)).\n\
         uncle(X, Y) :- at least 4: (brother(X, Z1) ; sister(Z1, X)), (nephew(Z2, Z1) ; niece(Z2, Z1)), sister(Z2, Y).",
    ));
}

#[test]
fn every_engine_takes_hostile_names_and_all_that_rules_can_say() {
    let folder = tempfile::tempdir().expect("a folder to work in");
    let p = r#"/film's "crew" \ 100%"#;
    let q = "'; DROP TABLE fact; --";
    let names = [
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
        r#""""#,
        "{x} ?y <z> #c % d",
        "cr\rname",
        "\u{1}",
        "\\'",
        "'",
        "Ünïcode\u{2028}line",
        "-- not",
        "/* no */",
        "@a.b,c;d",
    ];
    let mut text = String::new();
    for (n, name) in names.iter().enumerate() {
        let next = names[(n + 1) % names.len()];
        text += &format!("{name}\t{p}\t{next}\n{next}\t{q}\t{}\n", names[(n * 3 + 2) % names.len()]);
        text += &format!("{name}\tis\t{name}\n");
        if n % 2 == 0 {
            text += &format!("{name}\thas 'prop' \\\n");
        }
        if n % 3 == 0 {
            text += &format!("{name}\tentity\n");
        }
    }
    let data = folder.path().join("hostile.tsv");
    fs::write(&data, text).expect("a small file");
    let quoted = |name: &str| format!("'{}'", name.replace('\\', r"\\").replace('\'', r"\'"));
    let (p, q, own) = (quoted(p), quoted(q), quoted("has 'prop' \\"));
    let back = quoted(r"back\slash\");
    let chain: Vec<String> = (0..8).map(|n| format!("{p}(V{n}, V{})", n + 1)).collect();
    everywhere(&Case::of_text(
        &data,
        &format!(
            "{q}(X, Y) :- {p}(X, Z), {q}(Z, Y), {own}(X).\n\
             {p}(X, Y) :- ({p}(X, Y) ; {q}(Y, X)), ({own}(X) ; entity(X)).\n\
             {p}(X, Y) :- ({p}(X, Y) ; {q}(X, Y) ; is(X, Y)), ({p}({back}, Y) ; {q}(Y, 'it\\'s')).\n\
             is(X, Y) :- is(X, X), {p}(X, Y).\n\
             is(X, Y) :- {p}(X, 'say \"hi\"').\n\
             is(X, Y) :- at least 2: ({p}(X, Z) ; {q}(X, Z)), entity(Y).\n\
             is(X, Y) :- at least 3: ({p}(Z, X) ; {q}(X, Z) ; is(X, Z)).\n\
             is(X, Y) :- at least 2: Y = {back}, ({p}(X, Z) ; {q}(X, Z)), ({p}(V, X) ; {q}(V, X)).\n\
             is(X, Y) :- (entity('it\\'s') ; entity({back})), {own}(X), entity(Y).\n\
             is(X, Y) :- {own}({back}), {p}(X, Y).\n\
             is(X, Y) :- Y = {back}, {own}(X).\n\
             is(X, Y) :- Y = 'null'.\n\
             is(X, Y) :- {p}(X, Y), (X = 'it\\'s' ; X = {back} ; {own}(X)).\n\
             is(V0, V8) :- {}.\n",
            chain.join(", ")
        ),
    ));
}

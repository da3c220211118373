//! Rules that are searched: proposed, measured, chosen and ranked with.

use glidr::rank::Asked;
use glidr::solve::{Facts, Limits, Solver};
use glidr::{Dataset, Entity, Graph, Predicate, Ranking, Search, Split};

/// Two hundred people in families of five: parents, children, and *grandparent* to be found.
fn generations() -> Dataset {
    let folder = tempfile::tempdir().expect("a folder for small files");
    let mut lines: [String; 4] = Default::default();
    for n in 0..120u32 {
        let (a, b, c) = (format!("a{n}"), format!("b{n}"), format!("c{n}"));
        lines[0] += &format!("{a}\tparent\t{b}\n{b}\tparent\t{c}\n{a}\tlikes\tc{}\n", (n * 7) % 120);
        let split = [0, 0, 1, 2, 3][n as usize % 5];
        lines[split] += &format!("{a}\tgrandparent\t{c}\n");
    }
    for (name, text) in ["facts", "train", "valid", "test"].iter().zip(&lines) {
        std::fs::write(folder.path().join(format!("{name}.txt")), text).expect("a small file");
    }
    Dataset::open(folder.path(), 0).expect("a sound folder")
}

#[test]
fn search_finds_the_rule_that_makes_the_data_and_ranks_perfectly_with_it() {
    let data = generations();
    let target = data.names().predicate("grandparent").expect("a predicate");
    let searched = Search::default().run(&data, None, &[], &[target], &|_| {}).expect("a sound search");
    let (ranked, _) = Ranking::default()
        .run_rules(&searched.sets, &[target], &data, Limits::default(), &|_, _| {})
        .expect("there are test facts");
    assert_eq!((ranked.all.hits1, ranked.all.queries), (1.0, 48));
    assert_eq!(searched.reports[0].rules, searched.sets[0].rules.len());
}

#[test]
fn a_search_gives_the_same_rules_on_any_number_of_threads() {
    let data = Dataset::families(0);
    let targets: Vec<Predicate> = (0..12).map(Predicate).collect();
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| Search::default().run(&data, None, &[], &targets, &|_| {}).expect("sound").sets)
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn the_test_split_changes_nothing_in_a_search() {
    let lines =
        |names: &[(u32, u32)]| -> String { names.iter().map(|(a, b)| format!("e{a}\tp\te{b}\n")).collect() };
    let folder = tempfile::tempdir().expect("a folder for small files");
    let facts: Vec<(u32, u32)> = (0..60).map(|n| (n % 13, n * 5 % 13)).collect();
    let sets = |test: &[(u32, u32)]| {
        std::fs::write(folder.path().join("facts.txt"), lines(&facts[..30])).expect("a small file");
        std::fs::write(folder.path().join("train.txt"), lines(&facts[30..45])).expect("a small file");
        std::fs::write(folder.path().join("valid.txt"), lines(&[(1, 2), (3, 9)])).expect("a small file");
        std::fs::write(folder.path().join("test.txt"), lines(test)).expect("a small file");
        let data = Dataset::open(folder.path(), 0).expect("a sound folder");
        Search::default().run(&data, None, &[], &[Predicate(0)], &|_| {}).expect("sound").sets
    };
    assert_eq!(sets(&[(0, 1)]), sets(&[(5, 7), (8, 2), (2, 2)]));
}

#[test]
fn scores_of_a_set_are_those_of_its_rules_evaluated_one_by_one() {
    let data = Dataset::families(0);
    let names = data.names();
    let uncle = names.predicate("uncle").expect("a predicate");
    let searched = Search::default().run(&data, None, &[], &[uncle], &|_| {}).expect("sound");
    let set = &searched.sets[0];
    let background: Vec<_> =
        [Split::Facts, Split::Train].iter().flat_map(|&split| data.split(split)).copied().collect();
    let facts = Facts::from(&Graph::new(names.entities.len(), names.predicates.len(), 0, &background, &[]));
    let solvers: Vec<Solver> = set.solvers(&facts, Limits::default()).expect("sound rules");
    for head in (0..names.entities.len() as u32).map(Entity) {
        let (scores, _) = set.scores(&solvers, Asked::Tail, head, names.entities.len());
        for tail in (0..names.entities.len() as u32).map(Entity) {
            let fires = solvers.iter().any(|solver| solver.holds(head, tail).value);
            assert_eq!(scores[tail.index()] > 0.0, fires, "a score needs a rule, and a rule gives one");
        }
    }
}

/// Two thousand and one lines of three generations: too many people for all pairs to be looked at.
fn many_generations() -> Dataset {
    let folder = tempfile::tempdir().expect("a folder for small files");
    let mut lines: [String; 4] = Default::default();
    for n in 0..2001u32 {
        let (a, b, c) = (format!("a{n}"), format!("b{n}"), format!("c{n}"));
        lines[0] += &format!("{a}\tparent\t{b}\n{b}\tparent\t{c}\n{a}\tlives\tcity{}\n", n % 10);
        lines[0] += &format!("{c}\tlives\tcity{}\n", (n + n % 7 / 6) % 10);
        if n < 300 {
            lines[[0, 0, 1, 2, 3][n as usize % 5]] += &format!("{a}\tgrandparent\t{c}\n");
        }
    }
    for (name, text) in ["facts", "train", "valid", "test"].iter().zip(&lines) {
        std::fs::write(folder.path().join(format!("{name}.txt")), text).expect("a small file");
    }
    Dataset::open(folder.path(), 0).expect("a sound folder")
}

#[test]
fn a_large_graph_is_searched_by_a_sample_of_questions_alike_on_any_number_of_threads() {
    let data = many_generations();
    let names = data.names();
    let targets = [names.predicate("grandparent").expect("known"), names.predicate("lives").expect("known")];
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| Search::default().run(&data, None, &[], &targets, &|_| {}).expect("sound").sets)
    };
    let sets = with(2);
    assert_eq!(sets, with(1));
    let (ranked, _) = Ranking::default()
        .run_rules(&sets, &targets[..1], &data, Limits::default(), &|_, _| {})
        .expect("there are test facts");
    assert_eq!((ranked.all.hits1, ranked.all.queries), (1.0, 120));
}

#[test]
fn a_search_that_runs_out_of_time_says_so() {
    let data = many_generations();
    let target = data.names().predicate("lives").expect("a predicate");
    let search = Search { time: Some(std::time::Duration::from_nanos(1)), ..Search::default() };
    let searched = search.run(&data, None, &[], &[target], &|_| {}).expect("sound");
    assert_eq!(searched.reports[0].ended, glidr::solve::Ended::TimeLimit);
}

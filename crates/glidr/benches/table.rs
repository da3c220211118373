//! How the engines grow and what they save, as one table.
//!
//! `cargo bench -p glidr --bench table` (about six minutes; `-- quick` leaves the largest out; `-- ranking`, `threads`,
//! `yago` or `growth` prints that part alone). Graphs are generated, but for Family where it is at hand. Every ratio is of two times taken one after the other, with answers compared.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use glidr::internals::graph::{ClassMatrix, Entity, Sizes, Triple};
use glidr::internals::infer::{Slots, Sparse, Tables};
use glidr::internals::predict::{Exhaustive, MessagePassing, Soft};
use glidr::internals::train::{Run, pairwise_logistic};
use glidr::{Background, Dataset, Evaluation, Predictor, Schema, Split, Training};

/// Numbers that look random and are the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

/// `count` facts of `predicates` predicates; the last predicate holds where the first two do in turn,
/// so that there is something to learn.
fn facts(entities: u32, predicates: u32, count: usize) -> Vec<Triple> {
    let mut numbers = Numbers(7);
    let mut facts: Vec<Triple> = Vec::with_capacity(count);
    let mut first: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    while facts.len() < count {
        let (head, predicate, tail) =
            (numbers.below(entities), numbers.below(predicates - 1), numbers.below(entities));
        facts.push(Triple::new(head, predicate, tail));
        if predicate == 0 {
            first.entry(tail).or_default().push(head);
        } else if predicate == 1 {
            for &from in first.get(&head).into_iter().flatten() {
                facts.push(Triple::new(from, predicates - 1, tail));
            }
        }
    }
    facts
}

/// Facts in *valid*: enough for every thread to have prepared all it needs before the rest is timed.
const VALID: usize = 520;

/// The facts as a folder: of the last predicate every fourth is a positive, and `held` are held out
/// in test and `VALID` in valid.
fn folder(facts: &[Triple], last: u32, held: usize) -> (tempfile::TempDir, Dataset) {
    let folder = tempfile::tempdir().expect("a folder for generated facts");
    let mut parts: [String; 4] = Default::default();
    let mut number = 0;
    for fact in facts {
        let mut part = 0;
        if fact.predicate.0 == last {
            number += 1;
            part = match number {
                n if n <= VALID => 2,
                n if n <= VALID + held => 3,
                n => usize::from(n % 4 == 0),
            };
        }
        let Triple { head, predicate, tail } = fact;
        parts[part] += &format!("e{}\tp{}\te{}\n", head.0, predicate.0, tail.0);
    }
    for (part, name) in parts.iter().zip(["facts", "train", "valid", "test"]) {
        std::fs::write(folder.path().join(format!("{name}.txt")), part).expect("room for generated facts");
    }
    let data = Dataset::open(folder.path(), 0).expect("generated facts are sound");
    (folder, data)
}

/// Megabytes this process holds now (`VmRSS`) or held at most (`VmHWM`).
fn resident(which: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(which)).unwrap_or_default().to_owned();
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

fn seconds<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed().as_secs_f64(), result)
}

/// Milliseconds of what a step does once (the profile, and the way back through it), and of one query
/// more, there and back: 8 rules, N = 4, R = 3.
fn training(graph: &ClassMatrix, facts: &[Triple]) -> (f64, f64) {
    let schema = Schema::new(4, graph.predicates(), 0).expect("in range");
    let tables: Vec<Tables> = (0..8)
        .map(|rule| {
            let mut logits = Slots::zero(&schema);
            let value = |n: usize| ((n * n + rule * 31) as f32 * 0.7).sin() * 2.0;
            logits.iter_mut().enumerate().for_each(|(n, logit)| *logit = value(n));
            Tables::new(&Slots::soft(&logits, &schema), schema, graph)
        })
        .collect();
    let tables: Vec<&Tables> = tables.iter().collect();
    let mut numbers = Numbers(3);
    let mut pairs: Vec<(Entity, Entity)> = Vec::new();
    for _ in 0..1024 {
        let fact = facts[numbers.below(facts.len() as u32) as usize];
        pairs.push((fact.head, fact.tail));
        pairs.push((fact.head, Entity(numbers.below(graph.entities() as u32))));
    }
    let mut sparse = Sparse::default();
    let mut step = |pairs: &[(Entity, Entity)]| {
        sparse.prepare(graph, &tables, 3);
        let scores = sparse.scores(graph, pairs);
        let of_first: Vec<f32> = scores.iter().map(|lanes| lanes[0]).collect();
        let (_, d) = pairwise_logistic(&of_first, pairs.len() / 2);
        let d: Vec<[f32; 8]> = d.into_iter().map(|d| [d; 8]).collect();
        assert_eq!(sparse.adjoint(graph, &d).len(), 8);
        scores
    };
    let first = step(&pairs);
    let (few, many) = (32, pairs.len());
    let mut time = |count: usize| {
        let (time, scores) = seconds(|| step(&pairs[..count]));
        assert_eq!(scores, first[..count], "the same again");
        time
    };
    // The median of several, as one query's time is the small difference of two steps.
    let repeats = 5;
    let mut times: Vec<(f64, f64)> = (0..repeats).map(|_| (time(few), time(many))).collect();
    times.sort_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    let (short, long) = times[repeats / 2];
    let query = (long - short) / (many - few) as f64;
    ((short - query * few as f64) * 1e3, query * 1e3)
}

/// Learns the last predicate for a few steps and ranks; returns seconds of learning, milliseconds of
/// one ranking query without what is done once per target, and the test split's MRR.
fn learn_and_rank(data: &Dataset, target: &str, steps: usize, rounds: usize) -> (f64, f64, f64) {
    let training = Training { steps, targets: vec![target.into()], ..Training::default() };
    let (learning, model) = seconds(|| training.run(data).expect("sound settings"));
    let rank = |split| {
        let passing = MessagePassing { rounds, ..MessagePassing::of(&model) };
        let soft = Soft::with(&model, data, Background::Train, passing).expect("its own data");
        let evaluation = Evaluation { split, ..Evaluation::default() };
        seconds(|| evaluation.run(&soft, data, &()).expect("held-out facts"))
    };
    let (few, valid) = rank(Split::Valid);
    let (many, test) = rank(Split::Test);
    let queries = (test.all.queries - valid.all.queries) as f64;
    (learning, (many - few) * 1e3 / queries, test.all.mrr)
}

fn slope(points: &[(f64, f64)]) -> f64 {
    let (first, last) = (points[0], points[points.len() - 1]);
    (last.1 / first.1).ln() / (last.0 / first.0).ln()
}

fn growth(quick: bool) {
    println!("\ngrowth: 5 facts an entity, 8 predicates; 8 rules, N = 4, training R = 3, ranking R = 2");
    println!(
        "{:>9} {:>12} {:>12} {:>14} {:>8} {:>8}",
        "entities", "once ms", "query ms", "ranking ms", "MRR", "MB"
    );
    let mut points: [Vec<(f64, f64)>; 3] = Default::default();
    for entities in [10_000u32, 100_000, 1_000_000] {
        if quick && entities > 100_000 {
            continue;
        }
        let facts = facts(entities, 8, 5 * entities as usize);
        let graph = ClassMatrix::new(
            Sizes { entities: entities as usize, predicates: 8, properties: 0 },
            &facts,
            &[],
        );
        let (profile, query) = training(&graph, &facts);
        drop(graph);
        let (_folder, data) = folder(&facts, 7, (entities as usize / 7).min(20_000));
        let (_, ranking, mrr) = learn_and_rank(&data, "p7", if quick { 20 } else { 40 }, 2);
        println!(
            "{entities:>9} {profile:>12.2} {query:>12.3} {ranking:>14.2} {mrr:>8.3} {:>8.0}",
            resident("VmRSS")
        );
        for (points, value) in points.iter_mut().zip([profile, query, ranking]) {
            points.push((f64::from(entities), value));
        }
    }
    let [profile, query, ranking] = points.map(|points| slope(&points));
    println!(
        "slope of log time by log entities: once a step {profile:.2}, training query {query:.2}, ranking query {ranking:.2}"
    );
}

fn yago() {
    println!(
        "\nYAGO3-10's size: 123,182 entities, 37 predicates, 1.08 million facts (generated), one target"
    );
    let facts = facts(123_182, 37, 1_080_000);
    let (_folder, data) = folder(&facts, 36, 1520);
    let before = resident("VmRSS");
    let (learning, ranking, mrr) = learn_and_rank(&data, "p36", 512, 2);
    println!(
        "learn 512 steps of 8 rules: {learning:.1} s; rank at R = 2: {ranking:.1} ms a query, MRR {mrr:.3}"
    );
    println!("resident: {before:.0} MB with the facts, {:.0} MB at most", resident("VmHWM"));
}

/// Family where it is at hand, else generated facts of its size.
fn family() -> (Option<tempfile::TempDir>, Dataset, &'static str) {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/family");
    if beside.exists() {
        return (None, Dataset::open(&beside, 0).expect("a sound folder"), "Family");
    }
    let (folder, data) = folder(&facts(3_000, 12, 23_000), 11, 500);
    (Some(folder), data, "generated facts of Family's size (Family is absent)")
}

fn threads() {
    let (_folder, data, name) = family();
    let training = Training { steps: 256, ..Training::default() };
    let learn = |threads| {
        let run = Run::new(training.clone(), &data).expect("sound settings");
        seconds(|| run.train(threads, &(), None).expect("finite logits")).0
    };
    let (one, two) = (learn(1), learn(2));
    println!(
        "\ntwo threads against one, learning all targets of {name}: {one:.1} s / {two:.1} s = {:.2}",
        one / two
    );
}

fn every_pair() {
    let (_folder, data, name) = family();
    let model = Training { steps: 256, ..Training::default() }.run(&data).expect("sound settings");
    let soft = Soft::new(&model, &data).expect("its own data");
    let rank = |predictor: &dyn Predictor| Evaluation::default().run(predictor, &data, &()).expect("facts");
    let (fast_time, fast) = seconds(|| rank(&soft));
    let (slow_time, slow) = seconds(|| rank(&Exhaustive(&soft)));
    assert_eq!(fast.ranks, slow.ranks, "every rank is the same");
    println!(
        "\nranking at R = 3 on {name}, all {} queries of test: {:.2} ms a query; every pair {:.2} ms = {:.0} times",
        fast.all.queries,
        fast_time * 1e3 / fast.all.queries as f64,
        slow_time * 1e3 / slow.all.queries as f64,
        slow_time / fast_time
    );
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let quick = words.iter().any(|word| word == "quick");
    let direction =
        |part: &str| words.iter().all(|word| word == "quick") || words.iter().any(|word| word == part);
    if direction("ranking") {
        every_pair();
    }
    if direction("threads") {
        threads();
    }
    if direction("yago") && !quick {
        yago();
    }
    if direction("growth") {
        growth(quick);
    }
}

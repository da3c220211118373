//! How long a large file of triples takes to open, and how much memory.
//!
//! `cargo bench -p glidr --bench reading` (half a minute). Triples are generated; the hash of the opened data is compared with
//! the one it always had.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::io::{BufWriter, Write};

use glidr::Dataset;

/// Lines of the file.
const TRIPLES: usize = 2_000_000;

/// The SHA-256 of the data that each file of names becomes under seed 0.
const HASHES: [&str; 2] = [
    "f9a5aaa594efabcb54ae8847d5052e0072b9966b5f8008f373fe66964264d1e9",
    "4c4810d1326e25ad177f67b1dfbf78ef8b98db770107e711b4d6d3cb71068f69",
];

/// Numbers that look random and are the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

/// A file of triples in no order: so many entities and predicates, with names that begin like this.
fn write(entities: u32, predicates: u32, prefix: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file for generated triples");
    let mut out = BufWriter::new(file);
    let mut numbers = Numbers(7);
    for _ in 0..TRIPLES {
        let [head, predicate, tail] = [entities, predicates, entities].map(|limit| numbers.below(limit));
        writeln!(out, "{prefix}e{head}\t{prefix}p{predicate}\t{prefix}e{tail}").expect("room for triples");
    }
    out.into_inner().expect("room for triples")
}

/// Seconds that this thread has run, where the system tells: what others do at the same time counts less.
fn processor_time() -> f64 {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = schedule.split(' ').next().and_then(|time| time.parse::<f64>().ok());
    nanoseconds.unwrap_or(f64::NAN) / 1e9
}

/// Megabytes that this process held at most, where the system tells.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) / 1024.0
}

fn main() {
    println!("{TRIPLES} triples    entities  open, s  hash, s  peak, MB");
    let files = [(400_000, 200, ""), (1_500_000, 500, "http://example.org/")];
    for ((entities, predicates, prefix), hash) in files.into_iter().zip(HASHES) {
        let file = write(entities, predicates, prefix);
        let start = processor_time();
        let data = Dataset::open(file.path(), 0).expect("generated triples are sound");
        let opened = processor_time();
        let found = data.hash();
        let (opened, hashed) = (opened - start, processor_time() - opened);
        let count = data.names().entities.len();
        println!("{prefix:<19} {count:>10} {opened:>8.2} {hashed:>8.2} {:>9.0}", peak());
        assert_eq!(found, hash, "the data that was always read");
    }
}

//! Datalog for Soufflé. No test runs this dialect: the engine is not to be had where the tests run.

use std::io::{self, Write};

use super::clauses::Counted;
use super::{Known, Program, Words, clauses};

/// A string: in double quotes, where quotes and backslashes have a backslash.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"").replace('\r', "\\r"))
}

pub(super) fn rules(program: &Program) -> String {
    let words = Words { names: program.names, quoted, sign: "", relation: "derived" };
    let mut text = ".decl rule(rule: number, confidence: float, text: symbol)\n\
        .decl either(rule: number, literal: number, a: symbol, b: symbol)\n\
        .decl derived(rule: number, head: symbol, predicate: symbol, tail: symbol)\n\
        .output derived\n\n"
        .to_owned();
    let several = program.rules.iter().filter(|(rule, _)| rule.min_groundings() > 1);
    for own in 1..=several.map(|(rule, _)| rule.variables() - 2).max().unwrap_or(0) {
        let own_ones: String = (1..=own).map(|number| format!(", z{number}: symbol")).collect();
        text += &format!(".decl way{own}(rule: number, x: symbol, y: symbol{own_ones})\n");
    }
    for (place, (rule, number)) in program.rules.iter().enumerate() {
        let shown = quoted(&rule.show(program.names));
        text += &format!("rule({}, {number:.6}, {shown}).\n", place + 1);
    }
    for (place, (rule, _)) in program.rules.iter().enumerate() {
        text += &words.clauses(place + 1, rule, ".", count);
    }
    text
}

fn count(counted: &Counted) -> String {
    let any = counted.any();
    format!("{} :- {any}, {} <= count : {{ {any} }}", counted.head, counted.least)
}

pub(super) fn facts(known: &Known, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, ".decl fact(head: symbol, predicate: symbol, tail: symbol)")?;
    writeln!(out, ".decl has(entity: symbol, property: symbol)\n.decl entity(name: symbol)\n")?;
    clauses::facts(known, out, quoted, ".")
}

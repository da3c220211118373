//! SQL: the view `violation (denial, head, predicate, tail)`, and `denial (number, confidence, text)`.

use super::super::sql::{Query, quoted, union};
use super::super::{FactTable, comment};
use super::{ConstraintProgram, asymmetric, whole};
use crate::constraint::{Constraint, Denial, Role};
use crate::graph::{Direction, Predicate, Vocabulary};

pub(super) fn views(program: &ConstraintProgram) -> String {
    let row = |(number, constraint): (usize, &Constraint)| {
        format!("({number}, {:.6}, {})", constraint.confidence, quoted(&constraint.show(program.names)))
    };
    let rows: Vec<String> = program.numbered().map(row).collect();
    let content = if rows.is_empty() {
        "SELECT 0, 0.0, '' WHERE 1 = 0".into()
    } else {
        format!("VALUES\n{}", rows.join(",\n"))
    };
    let queries: Vec<String> = program
        .numbered()
        .map(|(number, constraint)| {
            let shown = comment(&constraint.show(program.names));
            format!("-- {shown}\n{}", query(number, &constraint.denial, program.names))
        })
        .collect();
    format!(
        "DROP VIEW IF EXISTS denial;\nCREATE VIEW denial (number, confidence, text) AS {content};\n\n\
         DROP VIEW IF EXISTS violation;\nCREATE VIEW violation (denial, head, predicate, tail) AS\n\
         SELECT v.rule, v.head, v.predicate, v.tail FROM (\n{}\n) v;\n",
        union(&queries)
    )
}

/// The facts that break a denial, under the columns of a rule's answers.
fn query(number: usize, denial: &Denial, names: &Vocabulary) -> String {
    let target = denial.targets()[0];
    let name = |predicate: Predicate| quoted(names.predicates.name(predicate));
    let p = name(target);
    let facts = |condition: &str| {
        format!(
            "SELECT DISTINCT {number} AS rule, f.head AS head, f.predicate AS predicate, f.tail AS tail\n\
             FROM fact f\nWHERE f.predicate = {p} AND {condition}"
        )
    };
    match denial {
        Denial::Irreflexive(_) => facts("f.head = f.tail"),
        Denial::Body(_) if asymmetric(denial).is_some() => facts(&format!(
            "f.head <> f.tail AND EXISTS (SELECT 1 FROM fact g WHERE g.predicate = {p} AND g.head = f.tail \
             AND g.tail = f.head)"
        )),
        Denial::Body(rule) => {
            Query { names: names.into(), table: &FactTable::default() }.rule(number, &whole(rule))
        }
        Denial::AtLeast { counted, count, .. } => {
            let (known, end) = match counted {
                Direction::Tail => ("head", "tail"),
                Direction::Head => ("tail", "head"),
            };
            facts(&format!(
                "{count} <= (SELECT COUNT(DISTINCT g.{end}) FROM fact g WHERE g.predicate = {p} AND g.{known} = f.{known})"
            ))
        }
        Denial::End { end, role, .. } => {
            let end = if *end == Direction::Head { "f.head" } else { "f.tail" };
            let has = match *role {
                Role::Own(property) => {
                    let property = quoted(names.properties.name(property));
                    format!("has g WHERE g.property = {property} AND g.entity = {end}")
                }
                Role::Head(of) => format!("fact g WHERE g.predicate = {} AND g.head = {end}", name(of)),
                Role::Tail(of) => format!("fact g WHERE g.predicate = {} AND g.tail = {end}", name(of)),
            };
            facts(&format!("NOT EXISTS (SELECT 1 FROM {has})"))
        }
        Denial::Linked { denied, .. } => {
            let not = if *denied { "" } else { "NOT " };
            facts(&format!(
                "{not}EXISTS (SELECT 1 FROM fact g WHERE (g.head = f.head AND g.tail = f.tail AND g.predicate <> {p})\n  \
                 OR (g.head = f.tail AND g.tail = f.head AND (g.predicate <> {p} OR f.head <> f.tail)))"
            ))
        }
    }
}

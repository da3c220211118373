//! SHACL shapes in Turtle: `pyshacl -s shapes.ttl facts.nt`.
//!
//! Core SHACL says most constraints; the others are SPARQL constraints of SHACL. A shape's result names the end that a
//! count or a kind is about, or the head as focus node and the tail as value.

use super::super::sparql::{literal, quoted};
use super::sparql::{patterns, predicate};
use super::{ConstraintProgram, asymmetric};
use crate::constraint::{Constraint, Denial, Role};
use crate::graph::{Direction, Vocabulary};

pub(super) fn shapes(program: &ConstraintProgram) -> String {
    let mut text = "@prefix sh: <http://www.w3.org/ns/shacl#> .\n".to_owned();
    text += "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n";
    for (number, constraint) in program.numbered() {
        text += &format!(
            "\n<urn:glidr:constraint:{number}> a sh:NodeShape ;\n  <urn:glidr:confidence> \"{:.6}\"^^xsd:decimal ;\n  {} .\n",
            constraint.confidence,
            shape(constraint, program.names)
        );
    }
    text
}

/// The target of a shape and what it asks.
fn shape(constraint: &Constraint, names: &Vocabulary) -> String {
    let denial = &constraint.denial;
    let p = predicate(denial.targets()[0], names);
    // Before a brace that begins a variable of a message stands nothing that it could be taken for.
    let shown: String = constraint.show(names).chars().filter(|sign| !"{}".contains(*sign)).collect();
    let message = format!("sh:message {}", literal(&shown));
    let at = |end: Direction| match end {
        Direction::Head => format!("sh:targetSubjectsOf {p}"),
        Direction::Tail => format!("sh:targetObjectsOf {p}"),
    };
    let property = |end, path: &str, asks: &str| {
        format!("{} ;\n  sh:property [ sh:path {path} ; {asks} ; {message} ]", at(end))
    };
    let inverse = |predicate: &str| format!("[ sh:inversePath {predicate} ]");
    match denial {
        Denial::Body(_) if asymmetric(denial).is_none() && denial.as_disjoint().is_some() => {
            let (_, (other, forward)) = denial.as_disjoint().expect("just asked");
            let other = predicate(other, names);
            let path = if forward { other } else { inverse(&other) };
            property(Direction::Head, &path, &format!("sh:disjoint {p}"))
        }
        Denial::AtLeast { counted, count, .. } => {
            let path = if *counted == Direction::Tail { p.clone() } else { inverse(&p) };
            property(counted.other(), &path, &format!("sh:maxCount {}", count.saturating_sub(1)))
        }
        Denial::End { end, role, .. } => match *role {
            Role::Own(of) => {
                let class = quoted("property", names.properties.name(of));
                format!("{} ;\n  sh:class {class} ; {message}", at(*end))
            }
            Role::Head(of) => property(*end, &predicate(of, names), "sh:minCount 1"),
            Role::Tail(of) => property(*end, &inverse(&predicate(of, names)), "sh:minCount 1"),
        },
        _ => {
            let query = patterns(denial, names).replace("?X", "$this").replace("?Y", "?value");
            let select = literal(&format!("SELECT $this ?value WHERE {{ {query} }}"));
            format!(
                "{} ;\n  sh:sparql [ a sh:SPARQLConstraint ; {message} ;\n    sh:select {select} ]",
                at(Direction::Head)
            )
        }
    }
}

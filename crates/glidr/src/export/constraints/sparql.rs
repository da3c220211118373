//! SPARQL 1.1: one query of all that breaks a constraint, `?constraint ?head ?predicate ?tail`.

use super::super::{comment, sparql};
use super::{ConstraintProgram, asymmetric, whole};
use crate::constraint::{Denial, Role};
use crate::graph::{Direction, Predicate, Vocabulary};

pub(super) fn query(program: &ConstraintProgram) -> String {
    let names = program.names;
    let mut parts: Vec<String> = Vec::new();
    for (number, constraint) in program.numbered() {
        let target = predicate(constraint.denial.targets()[0], names);
        let shown = comment(&constraint.show(names));
        parts.push(format!(
            "  # {:.6} {shown}\n  {{ {} BIND ({number} AS ?constraint) BIND ({target} AS ?predicate) \
             BIND (?X AS ?head) BIND (?Y AS ?tail) }}\n",
            constraint.confidence,
            patterns(&constraint.denial, names)
        ));
    }
    let all = if parts.is_empty() { "  FILTER (false)\n".into() } else { parts.join("  UNION\n") };
    format!("SELECT DISTINCT ?constraint ?head ?predicate ?tail WHERE {{\n{all}}}\n")
}

pub(super) fn predicate(predicate: Predicate, names: &Vocabulary) -> String {
    sparql::quoted("predicate", names.predicates.name(predicate))
}

/// The patterns of facts ?X, ?Y that break a denial.
pub(super) fn patterns(denial: &Denial, names: &Vocabulary) -> String {
    let target = predicate(denial.targets()[0], names);
    let fact = format!("?X {target} ?Y .");
    match denial {
        Denial::Irreflexive(_) => format!("{fact} FILTER (?X = ?Y)"),
        Denial::Body(_) if asymmetric(denial).is_some() => {
            format!("{fact} ?Y {target} ?X . FILTER (?X != ?Y)")
        }
        Denial::Body(rule) => sparql::body(&whole(rule), names.into()).join(" "),
        Denial::AtLeast { counted, count, .. } => {
            let (known, others) = match counted {
                Direction::Tail => ("?X", format!("?X {target} ?end")),
                Direction::Head => ("?Y", format!("?end {target} ?Y")),
            };
            format!(
                "{{ SELECT {known} WHERE {{ {others} }} GROUP BY {known} HAVING (COUNT(DISTINCT ?end) >= {count}) }} {fact}"
            )
        }
        Denial::End { end, role, .. } => {
            let end = if *end == Direction::Head { "?X" } else { "?Y" };
            let has = match *role {
                Role::Own(property) => {
                    format!("{end} a {}", sparql::quoted("property", names.properties.name(property)))
                }
                Role::Head(of) => format!("{end} {} ?any", predicate(of, names)),
                Role::Tail(of) => format!("?any {} {end}", predicate(of, names)),
            };
            format!("{fact} FILTER NOT EXISTS {{ {has} }}")
        }
        Denial::Linked { denied, .. } => {
            let not = if *denied { "" } else { "NOT " };
            format!(
                "{fact} FILTER {not}EXISTS {{ {{ ?X ?other ?Y . FILTER (?other != {target}) }} UNION \
                 {{ ?Y ?other ?X . FILTER (?other != {target} || ?X != ?Y) }} }}"
            )
        }
    }
}

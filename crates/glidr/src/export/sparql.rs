//! SPARQL 1.1: facts are N-Triples in the default graph; rules are one update that puts what rule *n*
//! derives into the named graph `urn:glidr:rule:n`.

use std::io::{self, Write};

use super::{Known, Program, comment, constant, counted, free_ends, percent, variable};
use crate::rule::{Atom, Rule, RuleNames, Term};

const TYPE: &str = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";
const LABEL: &str = "<http://www.w3.org/2000/01/rdf-schema#label>";

/// A fact as a line of N-Triples. A name that is an address with a scheme is written as it is, any other like the names of
/// exported facts.
pub fn n_triple(head: &str, predicate: &str, tail: &str) -> String {
    let address = |kind: &str, name: &str| {
        let is_allowed = |sign: char| sign > ' ' && !"<>\"{}|^`\\".contains(sign);
        let has_scheme = name.contains("://") || name.starts_with("urn:");
        if has_scheme && name.chars().all(is_allowed) { format!("<{name}>") } else { quoted(kind, name) }
    };
    let ends = [head, tail].map(|name| address("entity", name));
    format!("{} {} {} .\n", ends[0], address("predicate", predicate), ends[1])
}

/// The address of a name: `urn:glidr:entity:`, `…predicate:` or `…property:` and the name as %XX.
pub(super) fn quoted(kind: &str, name: &str) -> String {
    format!("<urn:glidr:{kind}:{}>", percent(name))
}

/// A text in double quotes.
pub(super) fn literal(text: &str) -> String {
    let letter = |sign: char| match sign {
        '"' | '\\' => format!("\\{sign}"),
        sign if sign.is_control() => format!("\\u{:04X}", sign as u32),
        sign => sign.into(),
    };
    format!("\"{}\"", text.chars().map(letter).collect::<String>())
}

fn term(term: Term, names: RuleNames) -> String {
    match term {
        Term::Constant(_) => quoted("entity", constant(names, term)),
        other => format!("?{}", variable(other)),
    }
}

fn pattern(atom: Atom, names: RuleNames) -> String {
    match atom {
        Atom::Pair(predicate, a, b) => {
            let predicate = quoted("predicate", names.predicates.name(predicate));
            format!("{} {predicate} {}", term(a, names), term(b, names))
        }
        Atom::Own(property, a) => {
            let property = quoted("property", names.properties.name(property));
            format!("{} a {property}", term(a, names))
        }
        Atom::Is(a @ Term::Constant(_), entity) => {
            format!("FILTER ({} = {})", term(a, names), term(Term::Constant(entity), names))
        }
        Atom::Is(a, entity) => {
            format!("VALUES {} {{ {} }}", term(a, names), term(Term::Constant(entity), names))
        }
    }
}

/// The patterns of a rule's body.
pub(super) fn body(rule: &Rule, names: RuleNames) -> Vec<String> {
    let mut body: Vec<String> = Vec::new();
    for literal in rule.body() {
        let atoms: Vec<String> = literal.atoms().iter().map(|atom| pattern(*atom, names)).collect();
        body.push(if atoms.len() == 1 {
            format!("{} .", atoms.concat())
        } else {
            format!("{{ {} }}", atoms.join(" } UNION { "))
        });
    }
    let free = free_ends(rule).into_iter();
    body.extend(free.map(|end| format!("{} a <urn:glidr:Entity> .", term(end, names))));
    body
}

pub(super) fn rules(program: &Program) -> String {
    let names = program.names;
    let mut text = String::new();
    for (place, (rule, number)) in program.rules.iter().enumerate() {
        let graph = format!("<urn:glidr:rule:{}>", place + 1);
        let shown = rule.show(names);
        text += &format!("# {}\n", comment(&shown));
        text += &format!(
            "INSERT DATA {{ GRAPH <urn:glidr:rules> {{ {graph} <urn:glidr:confidence> {number:.6} ; {LABEL} {} }} }} ;\n",
            literal(&shown)
        );
        let body = body(rule, names);
        let target = quoted("predicate", names.predicates.name(rule.target));
        text += &format!("INSERT {{ GRAPH {graph} {{ ?X {target} ?Y }} }}\n");
        let mut body = body.join(" ");
        if rule.min_groundings() > 1 {
            let all: Vec<String> = counted(rule).into_iter().map(|one| term(one, names)).collect();
            body = format!(
                "{{ SELECT ?X ?Y WHERE {{ {{ SELECT DISTINCT {} WHERE {{ {body} }} }} }} GROUP BY ?X ?Y HAVING (COUNT(*) >= {}) }}",
                all.join(" "),
                rule.min_groundings()
            );
        }
        text += &format!("WHERE {{ {body} }} ;\n\n");
    }
    text
}

pub(super) fn facts(known: &Known, out: &mut dyn Write) -> io::Result<()> {
    for name in known.entities() {
        let entity = quoted("entity", name);
        writeln!(out, "{entity} {TYPE} <urn:glidr:Entity> .\n{entity} {LABEL} {} .", literal(name))?;
    }
    for [head, predicate, tail] in known.triples() {
        let (head, tail) = (quoted("entity", head), quoted("entity", tail));
        writeln!(out, "{head} {} {tail} .", quoted("predicate", predicate))?;
    }
    for [entity, property] in known.owned() {
        writeln!(out, "{} {TYPE} {} .", quoted("entity", entity), quoted("property", property))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::with_hostile_rule;
    use super::*;

    #[test]
    fn an_address_holds_plain_letters_only() {
        assert_eq!(quoted("entity", "a> <b"), "<urn:glidr:entity:a%3E%20%3Cb>");
        assert_eq!(literal("a \"b\" \\ \r"), r#""a \"b\" \\ \u000D""#);
    }

    #[test]
    fn a_disjunction_is_a_union_and_each_rule_has_its_graph() {
        let text = with_hostile_rule(rules);
        assert!(
            text.contains("INSERT { GRAPH <urn:glidr:rule:1> { ?X <urn:glidr:predicate:X> ?Y } }"),
            "{text}"
        );
        assert!(text.contains("{ ?Z1 a <urn:glidr:property:%27%3B%20DROP%20TABLE%20fact%3B%20-->"), "{text}");
        assert!(text.contains(" } UNION { "), "{text}");
    }
}

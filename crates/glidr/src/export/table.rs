//! Tables and documents: CSV as RFC 4180 has it, and JSON.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::{Known, constant, variable};
use crate::rule::{Atom, Rule, RuleNames, Term};

/// A field: in double quotes where it must be, quotes doubled.
pub fn csv_field(text: &str) -> String {
    let plain = !text.contains([',', '"', '\n', '\r']) && text.trim() == text && !text.is_empty();
    if plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

/// Lines of CSV under a header.
pub fn csv_rules(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |fields: Vec<String>| fields.join(",") + "\n";
    let head = line(header.iter().map(|name| csv_field(name)).collect());
    rows.into_iter()
        .map(|row| line(row.iter().map(|field| csv_field(field)).collect()))
        .fold(head, |a, b| a + &b)
}

/// The facts as files: a name and its content each.
pub fn csv_facts(known: &Known) -> Vec<(&'static str, String)> {
    let rows = |header: &[&str], rows: &mut dyn Iterator<Item = Vec<String>>| csv_rules(header, rows);
    let owned = |row: &[&str]| -> Vec<String> { row.iter().map(|&name| name.to_owned()).collect() };
    vec![
        ("fact.csv", rows(&["head", "predicate", "tail"], &mut known.triples().map(|row| owned(&row)))),
        ("has.csv", rows(&["entity", "property"], &mut known.owned().map(|row| owned(&row)))),
        ("entity.csv", rows(&["name"], &mut known.entities().map(|name| owned(&[name])))),
    ]
}

/// Writes the facts as one JSON document: entities, facts, properties.
pub fn json_facts(known: &Known, out: &mut dyn Write) -> io::Result<()> {
    let facts: Vec<[&str; 3]> = known.triples().collect();
    let properties: Vec<[&str; 2]> = known.owned().collect();
    let entities: Vec<&str> = known.entities().collect();
    let document = json!({ "entities": entities, "facts": facts, "properties": properties });
    serde_json::to_writer(&mut *out, &document)?;
    out.write_all(b"\n")
}

/// A rule's head and body as a document: a list of literals, each a list of atoms read as *or*; and
/// `at_least`, where the body must have several groundings.
pub fn rule_value(rule: &Rule, names: RuleNames) -> Value {
    let term = |term: Term| match term {
        Term::Constant(_) => json!({ "constant": constant(names, term) }),
        other => json!({ "variable": variable(other) }),
    };
    let atom = |atom: &Atom| match *atom {
        Atom::Pair(predicate, a, b) => {
            json!({ "predicate": names.predicates.name(predicate), "arguments": [term(a), term(b)] })
        }
        Atom::Own(property, a) => {
            json!({ "property": names.properties.name(property), "arguments": [term(a)] })
        }
        Atom::Is(a, entity) => json!({ "equal": [term(a), term(Term::Constant(entity))] }),
    };
    let body: Vec<Vec<Value>> =
        rule.body().iter().map(|literal| literal.atoms().iter().map(atom).collect()).collect();
    let mut value = json!({ "head": atom(&Atom::Pair(rule.target, Term::X, Term::Y)), "body": body });
    if rule.min_groundings() > 1 {
        value["at_least"] = json!(rule.min_groundings());
    }
    value
}

#[cfg(test)]
mod tests {
    use super::super::tests::with_hostile_rule;
    use super::*;

    #[test]
    fn a_field_is_quoted_where_it_must_be() {
        assert_eq!(csv_field("it's"), "it's");
        assert_eq!(csv_field(r#"a "b", c"#), r#""a ""b"", c""#);
        assert_eq!((csv_field(" a"), csv_field("")), ("\" a\"".into(), "\"\"".into()));
    }

    #[test]
    fn a_rule_as_a_document_has_all_its_atoms() {
        let value = with_hostile_rule(|program| rule_value(&program.rules[0].0, program.names));
        assert_eq!(value["head"]["predicate"], "X");
        assert_eq!(value["body"].as_array().map(Vec::len), Some(3));
        assert_eq!(value["body"][0][0]["arguments"][1]["variable"], "Z1");
        assert!(value.to_string().contains(r#"{"constant":"a \"b\" \\"}"#), "{value}");
    }
}

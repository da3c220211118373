//! SQL that `SQLite`, `DuckDB`, Postgres and Spark SQL read alike.
//!
//! They differ in how a quote or a backslash is written inside a text. So rules never write one: a name
//! that holds either is looked up in `odd_name`, by the name as %XX.

use std::io::{self, Write};

use super::{Known, Program, comment, constant, counted, free_ends, percent, variable, variables};
use crate::rule::{Atom, Literal, Rule, RuleNames, Term};

/// The longest name that a table can hold: a line of data has no longer one.
const LONGEST: usize = 1 << 20;
/// Rows of one INSERT.
const ROWS: usize = 200;

/// Whether the engines differ in how this name is written.
pub(super) fn is_odd(name: &str) -> bool {
    name.contains(['\'', '\\'])
}

/// A name in a rule: a text, or a look-up where engines would read the text in different ways.
pub(super) fn quoted(name: &str) -> String {
    if is_odd(name) {
        format!("(SELECT name FROM odd_name WHERE written = '{}')", percent(name))
    } else {
        format!("'{name}'")
    }
}

/// What one literal asks of which table, and the column of each of its variables.
struct Part {
    from: String,
    asks: Vec<String>,
    columns: Vec<(Term, String)>,
}

/// `column = name`, or several joined by OR.
fn equals(column: &str, names: &[&str]) -> String {
    let each: Vec<String> = names.iter().map(|name| format!("{column} = {}", quoted(name))).collect();
    if each.len() == 1 { each.concat() } else { format!("({})", each.join(" OR ")) }
}

fn table(atom: Atom) -> &'static str {
    match atom {
        Atom::Pair(..) => "fact",
        Atom::Own(..) => "has",
        Atom::Is(..) => "entity",
    }
}

/// The arguments of an atom by column.
fn arguments(atom: Atom) -> Vec<(&'static str, Term)> {
    match atom {
        Atom::Pair(_, a, b) => vec![("head", a), ("tail", b)],
        Atom::Own(_, a) => vec![("entity", a)],
        Atom::Is(a, _) => vec![("name", a)],
    }
}

fn label(atoms: &[Atom], names: RuleNames, column: &str) -> String {
    let name = |atom: &Atom| match *atom {
        Atom::Pair(predicate, ..) => names.predicates.name(predicate),
        Atom::Own(property, _) => names.properties.name(property),
        Atom::Is(_, entity) => constant(names, Term::Constant(entity)),
    };
    let kind = match atoms[0] {
        Atom::Pair(..) => "predicate",
        Atom::Own(..) => "property",
        Atom::Is(..) => "name",
    };
    equals(&format!("{column}{kind}"), &atoms.iter().map(name).collect::<Vec<_>>())
}

/// One atom as a query of its own, with a column for each variable.
fn select(atom: Atom, names: RuleNames) -> String {
    let arguments = arguments(atom);
    let mut asks = vec![label(&[atom], names, "")];
    for (column, term) in &arguments {
        if let Term::Constant(_) = term {
            asks.push(equals(column, &[constant(names, *term)]));
        }
    }
    if let [(a, first), (b, second)] = arguments[..]
        && first == second
        && !matches!(first, Term::Constant(_))
    {
        asks.push(format!("{a} = {b}"));
    }
    let columns: Vec<String> = variables(atom)
        .iter()
        .filter_map(|term| arguments.iter().find(|(_, argument)| argument == term))
        .map(|(column, term)| format!("{column} AS {}", variable(*term).to_lowercase()))
        .collect();
    let columns = if columns.is_empty() { "1 AS one".into() } else { columns.join(", ") };
    format!("SELECT {columns} FROM {} WHERE {}", table(atom), asks.join(" AND "))
}

/// A literal as a part of FROM and WHERE. Atoms that differ in no more than their names are one table;
/// others are a union.
fn part(literal: &Literal, alias: &str, names: RuleNames) -> Part {
    let (atoms, first) = (literal.atoms(), literal.atoms()[0]);
    let alike = |atom: &Atom| table(*atom) == table(first) && arguments(*atom) == arguments(first);
    if !atoms.iter().all(alike) {
        let queries: Vec<String> = atoms.iter().map(|atom| select(*atom, names)).collect();
        let column = |term: Term| (term, format!("{alias}.{}", variable(term).to_lowercase()));
        return Part {
            from: format!("({}) {alias}", queries.join(" UNION ")),
            asks: Vec::new(),
            columns: variables(first).into_iter().map(column).collect(),
        };
    }
    let mut part = Part {
        from: format!("{} {alias}", table(first)),
        asks: vec![label(atoms, names, &format!("{alias}."))],
        columns: Vec::new(),
    };
    for (column, term) in arguments(first) {
        let column = format!("{alias}.{column}");
        match term {
            Term::Constant(_) => part.asks.push(equals(&column, &[constant(names, term)])),
            variable => part.columns.push((variable, column)),
        }
    }
    part
}

fn query(number: usize, rule: &Rule, names: RuleNames) -> String {
    let mut parts: Vec<Part> = Vec::new();
    for (place, literal) in rule.body().iter().enumerate() {
        parts.push(part(literal, &format!("l{}", place + 1), names));
    }
    for end in free_ends(rule) {
        let alias = variable(end).to_lowercase();
        let columns = vec![(end, format!("{alias}.name"))];
        parts.push(Part { from: format!("entity {alias}"), asks: Vec::new(), columns });
    }
    let (mut known, mut asks): (Vec<(Term, String)>, Vec<String>) = (Vec::new(), Vec::new());
    for part in &parts {
        asks.extend(part.asks.iter().cloned());
        for (term, column) in &part.columns {
            match known.iter().find(|(other, _)| other == term) {
                Some((_, first)) => asks.push(format!("{column} = {first}")),
                None => known.push((*term, column.clone())),
            }
        }
    }
    let column = |end| known.iter().find(|(term, _)| *term == end).map_or("", |(_, column)| column);
    let from: Vec<&str> = parts.iter().map(|part| part.from.as_str()).collect();
    let target = quoted(names.predicates.name(rule.target));
    let mut found = format!("FROM {}", from.join(", "));
    if !asks.is_empty() {
        found += &format!("\nWHERE {}", asks.join("\n  AND "));
    }
    if rule.min_groundings() == 1 {
        let (x, y) = (column(Term::X), column(Term::Y));
        return format!("INSERT INTO derived\nSELECT DISTINCT {number}, {x}, {target}, {y}\n{found};\n");
    }
    let named = |term: Term| format!("{} AS {}", column(term), variable(term).to_lowercase());
    let columns: Vec<String> = counted(rule).into_iter().map(named).collect();
    format!(
        "INSERT INTO derived\nSELECT {number}, x, {target}, y\nFROM (SELECT DISTINCT {}\n{found}) ways\nGROUP BY x, y\nHAVING COUNT(*) >= {};\n",
        columns.join(", "),
        rule.min_groundings()
    )
}

pub(super) fn rules(program: &Program) -> String {
    let name = format!("VARCHAR({LONGEST})");
    let mut text = "CREATE TABLE rule (number INTEGER, confidence DECIMAL(18, 6));\n".to_owned();
    text += &format!("CREATE TABLE derived (rule INTEGER, head {name}, predicate {name}, tail {name});\n");
    for (place, (rule, number)) in program.rules.iter().enumerate() {
        text += &format!("\n-- {}\n", comment(&rule.show(program.names)));
        text += &format!("INSERT INTO rule VALUES ({}, {number:.6});\n", place + 1);
        text += &query(place + 1, rule, program.names);
    }
    text
}

/// Writes rows in INSERTs of many. Quotes are doubled, as all of the engines but old Sparks read them.
fn insert<'a, const N: usize>(
    table: &str,
    rows: impl Iterator<Item = [&'a str; N]>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut count = 0;
    for row in rows {
        let start = if count % ROWS == 0 { format!("INSERT INTO {table} VALUES\n") } else { ",\n".into() };
        if count > 0 && count % ROWS == 0 {
            out.write_all(b";\n")?;
        }
        let values = row.map(|name| format!("'{}'", name.replace('\'', "''")));
        write!(out, "{start}({})", values.join(", "))?;
        count += 1;
    }
    if count > 0 { out.write_all(b";\n") } else { Ok(()) }
}

pub(super) fn facts(known: &Known, out: &mut dyn Write) -> io::Result<()> {
    let name = format!("VARCHAR({LONGEST})");
    writeln!(out, "CREATE TABLE fact (head {name}, predicate {name}, tail {name});")?;
    writeln!(out, "CREATE TABLE has (entity {name}, property {name});")?;
    writeln!(out, "CREATE TABLE entity (name {name});")?;
    writeln!(out, "CREATE TABLE odd_name (written {name}, name {name});")?;
    insert("fact", known.triples(), out)?;
    insert("has", known.owned(), out)?;
    insert("entity", known.entities().map(|name| [name]), out)?;
    let odd = odd_names(known);
    insert("odd_name", odd.iter().map(|(written, name)| [written.as_str(), name]), out)
}

/// All names that rules must look up, each once, with how it is written there.
pub(super) fn odd_names<'a>(known: &Known<'a>) -> Vec<(String, &'a str)> {
    let mut odd: Vec<&str> = known.names.iter().filter(|name| is_odd(name)).collect();
    odd.sort_unstable();
    odd.dedup();
    odd.into_iter().map(|name| (percent(name), name)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::with_hostile_rule;
    use super::*;

    #[test]
    fn no_name_ends_a_text() {
        assert_eq!(quoted("uncle é"), "'uncle é'");
        assert_eq!(quoted("it's"), "(SELECT name FROM odd_name WHERE written = 'it%27s')");
        let mut out = Vec::new();
        insert("t", [["it's", "\\"]].into_iter(), &mut out).expect("written");
        assert_eq!(String::from_utf8_lossy(&out), "INSERT INTO t VALUES\n('it''s', '\\');\n");
    }

    #[test]
    fn atoms_of_other_shapes_are_a_union() {
        let text = with_hostile_rule(rules);
        assert!(
            text.contains("(SELECT entity AS z1 FROM has WHERE property = (SELECT name")
                || text.contains("UNION SELECT entity AS z1 FROM has"),
            "{text}"
        );
        assert!(
            text.contains("SELECT tail AS x, head AS z1 FROM fact WHERE predicate = (SELECT name"),
            "{text}"
        );
        assert!(text.contains("entity y\nWHERE "), "{text}");
    }

    #[test]
    fn atoms_that_differ_in_names_alone_are_one_table() {
        use crate::graph::{Names, Predicate};
        let (predicates, properties) = (Names::new(["uncle", "mother", "father"]), Names::default());
        let names = RuleNames { predicates: &predicates, properties: &properties, entities: None };
        let either = |p| Atom::Pair(Predicate(p), Term::X, Term::Y);
        let rule = Rule::new(Predicate(0), &[Literal::any_of(vec![either(1), either(2)])]);
        assert_eq!(
            query(7, &rule, names),
            "INSERT INTO derived\nSELECT DISTINCT 7, l1.head, 'uncle', l1.tail\nFROM fact l1\n\
            WHERE (l1.predicate = 'mother' OR l1.predicate = 'father');\n"
        );
    }

    #[test]
    fn many_rows_are_several_inserts() {
        let mut out = Vec::new();
        insert("t", (0..=ROWS).map(|_| ["a"]), &mut out).expect("written");
        let text = String::from_utf8_lossy(&out).into_owned();
        assert_eq!((text.matches("INSERT").count(), text.matches(';').count()), (2, 2));
        assert_eq!(text.matches("('a')").count(), ROWS + 1);
    }
}

//! A rule as a query over the table of facts.

use super::super::{constant, counted, free_ends, variable, variables};
use super::fact_table::FactTable;
use super::text::quoted;
use crate::rule::{Atom, Literal, Rule, RuleNames, Term};

/// What one literal asks of which table, and the column of each of its variables.
struct Part {
    from: String,
    asks: Vec<String>,
    columns: Vec<(Term, String)>,
}

/// What queries are written with.
#[derive(Clone, Copy)]
pub(in super::super) struct Query<'a> {
    pub names: RuleNames<'a>,
    pub table: &'a FactTable,
}

/// `column = name`, or several joined by OR.
fn equals(column: &str, names: &[&str]) -> String {
    let each: Vec<String> = names.iter().map(|name| format!("{column} = {}", quoted(name))).collect();
    if each.len() == 1 { each.concat() } else { format!("({})", each.join(" OR ")) }
}

impl Query<'_> {
    /// Where an atom is looked up. A property in a table of one's own is a row without a tail.
    fn from(self, atom: Atom) -> String {
        match atom {
            Atom::Own(..) if !self.table.is_own => "has".into(),
            Atom::Pair(..) | Atom::Own(..) => self.table.name.clone(),
            Atom::Is(..) => self.table.entities(),
        }
    }

    /// The arguments of an atom by column.
    fn arguments(self, atom: Atom) -> Vec<(&'static str, String, Term)> {
        let table = self.table;
        match atom {
            Atom::Pair(_, a, b) => vec![("head", table.head().into(), a), ("tail", table.tail().into(), b)],
            Atom::Own(_, a) if table.is_own => vec![("head", table.head().into(), a)],
            Atom::Own(_, a) => vec![("entity", "entity".into(), a)],
            Atom::Is(a, _) => vec![("name", "name".into(), a)],
        }
    }

    /// What some atoms that differ in their names alone ask of the row of their table.
    fn label(self, atoms: &[Atom], alias: &str) -> Vec<String> {
        let (table, names) = (self.table, self.names);
        let name = |atom: &Atom| match *atom {
            Atom::Pair(predicate, ..) => names.predicates.name(predicate),
            Atom::Own(property, _) => names.properties.name(property),
            Atom::Is(_, entity) => constant(names, Term::Constant(entity)),
        };
        let column = match atoms[0] {
            Atom::Own(..) if !table.is_own => "property",
            Atom::Pair(..) | Atom::Own(..) => table.predicate(),
            Atom::Is(..) => "name",
        };
        let mut asks =
            vec![equals(&format!("{alias}.{column}"), &atoms.iter().map(name).collect::<Vec<_>>())];
        if table.is_own && matches!(atoms[0], Atom::Own(..)) {
            asks.push(format!("{alias}.{} IS NULL", table.tail()));
        }
        asks
    }

    /// One atom as a query of its own, with a column for each variable.
    fn select(self, atom: Atom) -> String {
        let arguments = self.arguments(atom);
        let mut asks = self.label(&[atom], "t");
        for (place, column, term) in &arguments {
            match term {
                Term::Constant(_) => {
                    asks.push(equals(&format!("t.{column}"), &[constant(self.names, *term)]));
                }
                _ if *place == "tail" && self.table.is_own => asks.push(format!("t.{column} IS NOT NULL")),
                _ => {}
            }
        }
        if let [(_, a, first), (_, b, second)] = &arguments[..]
            && first == second
            && !matches!(first, Term::Constant(_))
        {
            asks.push(format!("t.{a} = t.{b}"));
        }
        let columns: Vec<String> = variables(atom)
            .iter()
            .filter_map(|term| arguments.iter().find(|(.., argument)| argument == term))
            .map(|(_, column, term)| format!("t.{column} AS {}", variable(*term).to_lowercase()))
            .collect();
        let columns = if columns.is_empty() { "1 AS one".into() } else { columns.join(", ") };
        format!("SELECT {columns} FROM {} t WHERE {}", self.from(atom), asks.join(" AND "))
    }

    /// A literal as a part of FROM and WHERE. Atoms that differ in no more than their names are one table;
    /// others are a union.
    fn part(self, literal: &Literal, alias: &str) -> Part {
        let (atoms, first) = (literal.atoms(), literal.atoms()[0]);
        let kind = |atom: Atom| std::mem::discriminant(&atom);
        let alike =
            |atom: &Atom| kind(*atom) == kind(first) && self.arguments(*atom) == self.arguments(first);
        if !atoms.iter().all(alike) {
            let queries: Vec<String> = atoms.iter().map(|atom| self.select(*atom)).collect();
            let column = |term: Term| (term, format!("{alias}.{}", variable(term).to_lowercase()));
            return Part {
                from: format!("({}) {alias}", queries.join(" UNION ")),
                asks: Vec::new(),
                columns: variables(first).into_iter().map(column).collect(),
            };
        }
        let mut part = Part {
            from: format!("{} {alias}", self.from(first)),
            asks: self.label(atoms, alias),
            columns: Vec::new(),
        };
        for (_, column, term) in self.arguments(first) {
            let column = format!("{alias}.{column}");
            match term {
                Term::Constant(_) => part.asks.push(equals(&column, &[constant(self.names, term)])),
                variable => part.columns.push((variable, column)),
            }
        }
        part
    }

    /// The answers of a rule with its number.
    pub fn rule(self, number: usize, rule: &Rule) -> String {
        let mut parts: Vec<Part> = Vec::new();
        for (place, literal) in rule.body().iter().enumerate() {
            parts.push(self.part(literal, &format!("l{}", place + 1)));
        }
        for end in free_ends(rule) {
            let alias = variable(end).to_lowercase();
            let columns = vec![(end, format!("{alias}.name"))];
            parts.push(Part {
                from: format!("{} {alias}", self.table.entities()),
                asks: Vec::new(),
                columns,
            });
        }
        let known = self.joined(&mut parts);
        let column = |end| known.iter().find(|(term, _)| *term == end).map_or("", |(_, column)| column);
        let from: Vec<&str> = parts.iter().map(|part| part.from.as_str()).collect();
        let asks: Vec<&str> = parts.iter().flat_map(|part| part.asks.iter()).map(String::as_str).collect();
        let target = quoted(self.names.predicates.name(rule.target));
        let mut found = format!("FROM {}", from.join(", "));
        if !asks.is_empty() {
            found += &format!("\nWHERE {}", asks.join("\n  AND "));
        }
        let least = rule.min_groundings();
        if least == 1 {
            let (x, y) = (column(Term::X), column(Term::Y));
            return format!(
                "SELECT DISTINCT {number} AS rule, {x} AS head, {target} AS predicate, {y} AS tail\n{found}"
            );
        }
        let named = |term: Term| format!("{} AS {}", column(term), variable(term).to_lowercase());
        let columns: Vec<String> = counted(rule).into_iter().map(named).collect();
        format!(
            "SELECT {number} AS rule, g.x AS head, {target} AS predicate, g.y AS tail\n\
             FROM (SELECT DISTINCT {}\n{found}) g\nGROUP BY g.x, g.y\nHAVING COUNT(*) >= {least}",
            columns.join(", "),
        )
    }

    /// The first column of every variable. All others are equal to it; a tail that equals none must be there.
    fn joined(self, parts: &mut [Part]) -> Vec<(Term, String)> {
        let all: Vec<Term> =
            parts.iter().flat_map(|part| part.columns.iter().map(|(term, _)| *term)).collect();
        let alone = |term: Term| all.iter().filter(|&&other| other == term).count() == 1;
        let ending = format!(".{}", self.table.tail());
        let mut known: Vec<(Term, String)> = Vec::new();
        for part in parts {
            for (term, column) in &part.columns {
                if let Some((_, first)) = known.iter().find(|(other, _)| other == term) {
                    part.asks.push(format!("{column} = {first}"));
                    continue;
                }
                if self.table.is_own && alone(*term) && column.ends_with(&ending) {
                    part.asks.push(format!("{column} IS NOT NULL"));
                }
                known.push((*term, column.clone()));
            }
        }
        known
    }
}

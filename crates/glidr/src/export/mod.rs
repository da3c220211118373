//! Rules and facts for other engines: Prolog, Datalog, answer sets, SPARQL, SQL.
//!
//! In: [`Program`], rules with their numbers; [`Known`], the facts they look up. Out: a text for each,
//! in one of the [`Dialect`]s. All have the same relations, so that a name is only ever a constant:
//!
//! ```text
//! fact(Head, Predicate, Tail)    has(Entity, Property)    entity(Name)
//! derived(Rule, Head, Predicate, Tail)
//! ```
//!
//! What is derived stands apart from the facts: a rule is applied once, as [`crate::solve`] does, even
//! where its target stands in its body. SQL derives new facts alone, and may look facts up in a [`FactTable`] of
//! one's own. docs/export.md shows how each engine is run.

mod asp;
mod clauses;
mod constraints;
mod datalog;
mod prolog;
mod souffle;
mod sparql;
mod sql;
mod table;

use std::io::Write;

use clauses::Words;
pub use constraints::{ConstraintDialect, ConstraintProgram};
pub use sparql::n_triple;
pub use sql::FactTable;
pub use table::{csv_facts, csv_field, csv_rules, json_facts, rule_value};

use crate::error::{Error, Result};
use crate::graph::{Background, Dataset, PropertyFact, Triple, Vocabulary};
use crate::rule::{Atom, Literal, Rule, RuleNames, Term};

/// A language that rules and facts are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SWI-Prolog.
    Prolog,
    /// Nemo.
    Datalog,
    /// clingo.
    Asp,
    /// SPARQL 1.1 Update for rules, N-Triples for facts.
    Sparql,
    /// SQL that `SQLite`, `DuckDB`, Postgres and Spark SQL share.
    Sql,
    /// Soufflé; no test runs it.
    Souffle,
}

/// Rules to be written, each with its number: a confidence, or a weight.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The rules; they are counted from 1.
    pub rules: &'a [(Rule, f64)],
    /// The names that they are written with.
    pub names: RuleNames<'a>,
}

impl Program<'_> {
    /// The rules as SQL over somebody's own table of facts; refuses names that SQL cannot hold.
    ///
    /// ```
    /// use glidr::internals::export::{FactTable, Program};
    /// use glidr::internals::graph::{Names, Predicate};
    /// use glidr::internals::rule::{Atom, Literal, Rule, RuleNames, Term};
    ///
    /// let predicates = Names::new(["wife", "husband"]);
    /// let names = RuleNames { predicates: &predicates, properties: &Names::default(), entities: None };
    /// let husband = Atom::Pair(Predicate(1), Term::Y, Term::X);
    /// let rules = [(Rule::new(Predicate(0), &[Literal::any_of(vec![husband])]), 0.9)];
    /// let mine = FactTable::parse("my_triples", "subject,verb,object")?;
    /// let text = Program { rules: &rules, names }.over_table(&mine)?;
    /// assert!(text.contains("FROM my_triples l1\nWHERE l1.verb = 'husband'"), "{text}");
    /// # Ok::<(), glidr::Error>(())
    /// ```
    pub fn over_table(&self, table: &FactTable) -> Result<String> {
        self.check()?;
        Ok(sql::rules(self, table))
    }

    /// Refuses what no language can hold.
    fn check(&self) -> Result<()> {
        refuse_nul(self.names.iter())?;
        self.rules.iter().try_for_each(|(rule, _)| check(rule, self.names))
    }
}

/// Facts to be written.
#[derive(Clone, Debug)]
pub struct Known<'a> {
    /// The names of everything.
    pub names: &'a Vocabulary,
    /// The facts, sorted and distinct.
    pub facts: Vec<Triple>,
    /// The properties.
    pub property_facts: &'a [PropertyFact],
}

impl<'a> Known<'a> {
    /// The facts of some splits.
    pub fn of(data: &'a Dataset, background: Background) -> Self {
        let splits = background.splits().iter();
        let mut facts: Vec<Triple> = splits.flat_map(|&split| data.split(split)).copied().collect();
        facts.sort_unstable();
        facts.dedup();
        Known { names: data.names(), facts, property_facts: data.property_facts() }
    }

    /// Every fact by its names: head, predicate, tail.
    fn triples(&self) -> impl Iterator<Item = [&str; 3]> {
        let names = self.names;
        self.facts.iter().map(|fact| {
            let (head, tail) = (names.entities.name(fact.head), names.entities.name(fact.tail));
            [head, names.predicates.name(fact.predicate), tail]
        })
    }

    /// Every property by its names: entity, property.
    fn owned(&self) -> impl Iterator<Item = [&str; 2]> {
        let names = self.names;
        self.property_facts
            .iter()
            .map(|fact| [names.entities.name(fact.entity), names.properties.name(fact.property)])
    }

    fn entities(&self) -> impl Iterator<Item = &str> {
        self.names.entities.iter()
    }
}

impl Dialect {
    /// The rules as a text of this language; refuses names that it cannot hold.
    ///
    /// ```
    /// use glidr::internals::export::{Dialect, Program};
    /// use glidr::internals::graph::{Names, Predicate};
    /// use glidr::internals::rule::{Atom, Literal, Rule, RuleNames, Term};
    ///
    /// let predicates = Names::new(["wife", "husband of"]);
    /// let names = RuleNames { predicates: &predicates, properties: &Names::default(), entities: None };
    /// let husband = Atom::Pair(Predicate(1), Term::Y, Term::X);
    /// let rule = Rule::new(Predicate(0), &[Literal::any_of(vec![husband])]);
    /// let text = Dialect::Prolog.rules(&Program { rules: &[(rule, 0.9)], names })?;
    /// assert!(text.contains("derived(1, X, 'wife', Y) :- fact(Y, 'husband of', X)."));
    /// # Ok::<(), glidr::Error>(())
    /// ```
    pub fn rules(self, program: &Program) -> Result<String> {
        program.check()?;
        Ok(match self {
            Dialect::Prolog => prolog::rules(program),
            Dialect::Datalog => datalog::rules(program),
            Dialect::Asp => asp::rules(program),
            Dialect::Sparql => sparql::rules(program),
            Dialect::Sql => sql::rules(program, &FactTable::default()),
            Dialect::Souffle => souffle::rules(program),
        })
    }

    /// Writes the facts as a text of this language; refuses names that it cannot hold.
    pub fn facts(self, known: &Known, out: &mut dyn Write) -> Result<()> {
        refuse_nul(known.names.iter())?;
        let written = match self {
            Dialect::Prolog => prolog::facts(known, out),
            Dialect::Datalog => datalog::facts(known, out),
            Dialect::Asp => asp::facts(known, out),
            Dialect::Sparql => sparql::facts(known, out),
            Dialect::Sql => sql::facts(known, out),
            Dialect::Souffle => souffle::facts(known, out),
        };
        written.map_err(|error| Error::file("the export", error))
    }
}

/// A NUL ends a text in several engines, so that two names could become one.
fn refuse_nul<'n>(mut names: impl Iterator<Item = &'n str>) -> Result<()> {
    match names.find(|name| name.contains('\0')) {
        None => Ok(()),
        Some(name) => Err(Error::Rule(format!(
            "names must hold no NUL character to be exported, but “{}” does",
            name.escape_debug()
        ))),
    }
}

/// Refuses what no text of rules can say, and constants without a name.
fn check(rule: &Rule, names: RuleNames) -> Result<()> {
    for literal in rule.body() {
        if literal.atoms().is_empty() {
            return Err(Error::Rule("a literal must have at least one atom, but one has none".into()));
        }
        if literal.atoms().iter().any(|atom| variables(*atom) != variables(literal.atoms()[0])) {
            return Err(Error::Rule(
                "the atoms of a disjunction must have the same variables, but these do not".into(),
            ));
        }
        for atom in literal.atoms() {
            let (a, b) = atom.terms();
            let is = if let Atom::Is(_, entity) = *atom { Term::Constant(entity) } else { a };
            for term in [a, b, is] {
                if let Term::Constant(entity) = term
                    && names.entities.and_then(|entities| entities.get(entity)).is_none()
                {
                    return Err(Error::Rule(format!(
                        "constants must have names, but entity {} has none",
                        entity.0
                    )));
                }
            }
        }
    }
    Ok(())
}

/// The distinct variables of an atom, in the order of terms.
fn variables(atom: Atom) -> Vec<Term> {
    let (a, b) = atom.terms();
    let mut list: Vec<Term> = [a, b].into_iter().filter(|term| !matches!(term, Term::Constant(_))).collect();
    list.sort_unstable();
    list.dedup();
    list
}

/// The variables of a body that must have several groundings: X, Y, and its own.
fn counted(rule: &Rule) -> Vec<Term> {
    let inner = (1..=rule.variables() - 2).map(|number| Term::Z(number as u8));
    [Term::X, Term::Y].into_iter().chain(inner).collect()
}

/// X and Y where the body does not bind them: any entity will do.
fn free_ends(rule: &Rule) -> Vec<Term> {
    let bound: Vec<Term> =
        rule.body().iter().flat_map(Literal::atoms).flat_map(|atom| variables(*atom)).collect();
    [Term::X, Term::Y].into_iter().filter(|end| !bound.contains(end)).collect()
}

/// The name of an entity that [`check`] has found.
fn constant(names: RuleNames<'_>, term: Term) -> &str {
    match (term, names.entities) {
        (Term::Constant(entity), Some(entities)) => entities.name(entity),
        _ => "",
    }
}

/// A variable's plain name.
fn variable(term: Term) -> String {
    match term {
        Term::X => "X".into(),
        Term::Y => "Y".into(),
        Term::Z(number) => format!("Z{number}"),
        Term::Constant(_) => String::new(),
    }
}

/// A text that stays on its line, to stand behind the sign of a comment.
fn comment(text: &str) -> String {
    let breaks = |sign: char| sign.is_control() || matches!(sign, '\u{2028}' | '\u{2029}');
    text.chars().map(|sign| if breaks(sign) { ' ' } else { sign }).collect()
}

/// A name in the letters that every language leaves alone: UTF-8 with all others as %XX.
fn percent(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).into() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Entity, Names, Predicate, Property};

    /// Names that break what is not quoted well.
    pub(super) const HOSTILE: [&str; 6] =
        ["it's", r#"a "b" \"#, "50% / </x>", "漢字 😀 é", "'; DROP TABLE fact; --", "X"];

    /// A rule of all that the language has, over names that are hostile.
    pub(super) fn with_hostile_rule<T>(f: impl FnOnce(&Program) -> T) -> T {
        let names = Vocabulary {
            entities: Names::new(HOSTILE),
            predicates: Names::new(HOSTILE),
            properties: Names::new(HOSTILE),
        };
        let pair = |p, a, b| Atom::Pair(Predicate(p), a, b);
        let body = [
            Literal::any_of(vec![pair(0, Term::X, Term::Z(1))]),
            Literal::any_of(vec![pair(1, Term::Z(1), Term::X), pair(3, Term::X, Term::Z(1))]),
            Literal::any_of(vec![
                Atom::Own(Property(4), Term::Z(1)),
                pair(2, Term::Z(1), Term::Constant(Entity(1))),
            ]),
        ];
        let rules = [(Rule::new(Predicate(5), &body), 0.5)];
        f(&Program {
            rules: &rules,
            names: RuleNames {
                predicates: &names.predicates,
                properties: &names.properties,
                entities: Some(&names.entities),
            },
        })
    }

    #[test]
    fn a_nul_and_a_constant_without_a_name_are_refused() {
        let (plain, nul, none) = (Names::new(["p"]), Names::new(["a\0b"]), Names::default());
        let rules = [(Rule::new(Predicate(0), &[]), 1.0)];
        let names = RuleNames { predicates: &nul, properties: &none, entities: None };
        let said = Dialect::Asp.rules(&Program { rules: &rules, names }).expect_err("a NUL").to_string();
        assert!(said.contains("NUL") && said.contains("a\\0b"), "{said}");
        let atom = Atom::Pair(Predicate(0), Term::X, Term::Constant(Entity(0)));
        let rules = [(Rule::new(Predicate(0), &[Literal::any_of(vec![atom])]), 1.0)];
        let names = RuleNames { predicates: &plain, properties: &none, entities: None };
        assert!(Dialect::Sql.rules(&Program { rules: &rules, names }).is_err());
        let rules = [(Rule::new(Predicate(0), &[Literal::any_of(vec![Atom::Is(Term::X, Entity(0))])]), 1.0)];
        assert!(Dialect::Sql.rules(&Program { rules: &rules, names }).is_err());
    }

    #[test]
    fn ends_that_the_body_leaves_open_are_any_entity() {
        let (predicates, properties) = (Names::new(["p"]), Names::default());
        let names = RuleNames { predicates: &predicates, properties: &properties, entities: None };
        let rules = [(Rule::new(Predicate(0), &[]), 1.0)];
        let program = Program { rules: &rules, names };
        for (dialect, part) in [
            (Dialect::Prolog, "entity(X), entity(Y)."),
            (Dialect::Datalog, "entity(?X), entity(?Y) ."),
            (Dialect::Asp, "entity(X), entity(Y)."),
            (Dialect::Sparql, "?Y a <urn:glidr:Entity>"),
            (Dialect::Sql, "FROM entity x, entity y\n) f"),
            (Dialect::Souffle, "entity(X), entity(Y)."),
        ] {
            let text = dialect.rules(&program).expect("a sound rule");
            assert!(text.contains(part), "{dialect:?}:\n{text}");
        }
    }

    #[test]
    fn a_variable_that_is_a_constant_is_bound_to_its_name() {
        let (predicates, properties) = (Names::new(["p", "it's"]), Names::default());
        let entities = Names::new(["p", "it's"]);
        let names = RuleNames { predicates: &predicates, properties: &properties, entities: Some(&entities) };
        let body = [Literal::any_of(vec![Atom::Is(Term::Y, Entity(0)), Atom::Is(Term::Y, Entity(1))])];
        let rules = [(Rule::new(Predicate(0), &body), 1.0)];
        let program = Program { rules: &rules, names };
        for (dialect, part) in [
            (Dialect::Prolog, r"( Y = 'p', entity(Y) ; Y = 'it\'s', entity(Y) ), entity(X)."),
            (Dialect::Datalog, "either(1, 1, ?Y, ?Y) :- ?Y = \"p\", entity(?Y) ."),
            (Dialect::Asp, "either(1, 1, Y, Y) :- Y = \"p\", entity(Y)."),
            (Dialect::Sparql, "{ VALUES ?Y { <urn:glidr:entity:p> } } UNION { VALUES ?Y { <"),
            (Dialect::Sql, "FROM entity l1, entity x\nWHERE (l1.name = 'p' OR l1.name = 'it''s')"),
            (Dialect::Souffle, "either(1, 1, Y, Y) :- Y = \"p\", entity(Y)."),
        ] {
            let text = dialect.rules(&program).expect("a sound rule");
            assert!(text.contains(part), "{dialect:?}:\n{text}");
        }
        let value = rule_value(&rules[0].0, names);
        assert_eq!(value["body"][0][1]["equal"][1]["constant"], "it's", "{value}");
    }

    #[test]
    fn no_comment_leaves_its_line() {
        assert_eq!(comment("a\rb\u{85}c\u{2028}d\te"), "a b c d e");
        assert_eq!(percent("a b/é%"), "a%20b%2F%C3%A9%25");
    }
}

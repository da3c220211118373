//! SWI-Prolog and clingo: `violation(Constraint, Head, Predicate, Tail)`.

use super::super::clauses::Counted;
use super::super::{Words, asp, prolog};
use super::{ConstraintProgram, asymmetric, whole};
use crate::constraint::{Constraint, Denial, Role};
use crate::graph::{Direction, Predicate};
use crate::rule::Rule;

/// Stands for the end that is counted or any: no name that is written holds it.
const OPEN: &str = "\0";

/// What differs between the two languages.
struct Language<'a> {
    words: Words<'a>,
    /// Between two terms that differ.
    differs: &'static str,
    /// The clauses of a denial of a body.
    body: fn(usize, &Rule, Words) -> String,
    /// So many ends at least of an end: the relation of a fact with `_` or a variable for the counted end.
    at_least: fn(&str, u32) -> String,
    /// No such fact.
    none: fn(&str) -> String,
}

pub(super) fn prolog(program: &ConstraintProgram) -> String {
    let names = program.names.into();
    let words = Words { names, quoted: prolog::quoted, sign: "", relation: "violation" };
    let body = |number, rule: &Rule, words: Words| {
        format!("{} :- {}.\n", words.head(number, rule), prolog::body(rule, words).join(", "))
    };
    let at_least = |fact: &str, count| {
        format!("aggregate_all(count, {}, Ends), Ends >= {count}", fact.replace(OPEN, "_"))
    };
    let none = |fact: &str| format!("\\+ {}", fact.replace(OPEN, "_"));
    let language = Language { words, differs: "\\==", body, at_least, none };
    let mut text = ":- encoding(utf8).\n:- style_check(-singleton).\n\n".to_owned();
    text += "% constraint(Number, Confidence, Text).\n";
    text += &language.list(program);
    text += "\n% violation(Constraint, Head, Predicate, Tail).\n:- discontiguous violation/4, linked/3.\n";
    text += ":- dynamic violation/4.\n";
    text + &program
        .numbered()
        .map(|(number, constraint)| language.clauses(number, constraint))
        .collect::<String>()
}

pub(super) fn asp(program: &ConstraintProgram) -> String {
    let names = program.names.into();
    let words = Words { names, quoted: asp::quoted, sign: "", relation: "violation" };
    let body = |number, rule: &Rule, words: Words| words.clauses(number, rule, ".", Counted::any);
    let at_least = |fact: &str, count| format!("{count} <= #count {{ End : {} }}", fact.replace(OPEN, "End"));
    let none = |fact: &str| format!("not {}", fact.replace(OPEN, "_"));
    let language = Language { words, differs: "!=", body, at_least, none };
    let mut text = "% constraint(Number, Confidence, Text).\n".to_owned();
    text += &language.list(program);
    text += "\n% violation(Constraint, Head, Predicate, Tail).\n";
    let clauses = program.numbered().map(|(number, constraint)| language.clauses(number, constraint));
    text += &clauses.collect::<String>();
    text + "\n% clingo -c enforce=1 admits no answer set that breaks one.\n#const enforce = 0.\n\
            :- violation(Constraint, Head, Predicate, Tail), enforce = 1.\n\
            #defined fact/3. #defined has/2. #defined entity/1. #defined violation/4. #defined linked/3.\n\
            #show violation/4.\n"
}

impl Language<'_> {
    fn list(&self, program: &ConstraintProgram) -> String {
        let quoted = self.words.quoted;
        let line = |(number, constraint): (usize, &Constraint)| {
            let shown = quoted(&constraint.show(program.names));
            // clingo has no numbers with a point.
            let confidence = format!("{:.6}", constraint.confidence);
            let confidence = if self.differs == "!=" { quoted(&confidence) } else { confidence };
            format!("constraint({number}, {confidence}, {shown}).\n")
        };
        program.numbered().map(line).collect()
    }

    fn fact(&self, predicate: Predicate, head: &str, tail: &str) -> String {
        format!("fact({head}, {}, {tail})", (self.words.quoted)(self.words.names.predicates.name(predicate)))
    }

    /// `violation(number, X, p, Y) :- fact(X, p, Y), condition.`
    fn clause(&self, number: usize, predicate: Predicate, condition: &str) -> String {
        let head = self.words.head(number, &Rule::new(predicate, &[]));
        format!("{head} :- {}, {condition}.\n", self.fact(predicate, "X", "Y"))
    }

    fn clauses(&self, number: usize, constraint: &Constraint) -> String {
        match &constraint.denial {
            Denial::Irreflexive(predicate) => self.clause(number, *predicate, "X = Y"),
            denial @ Denial::Body(rule) => match asymmetric(denial) {
                Some(predicate) => {
                    let back = self.fact(predicate, "Y", "X");
                    self.clause(number, predicate, &format!("{back}, X {} Y", self.differs))
                }
                None => (self.body)(number, &whole(rule), self.words),
            },
            Denial::AtLeast { predicate, counted, count } => {
                let fact = match counted {
                    Direction::Tail => self.fact(*predicate, "X", OPEN),
                    Direction::Head => self.fact(*predicate, OPEN, "Y"),
                };
                self.clause(number, *predicate, &(self.at_least)(&fact, *count))
            }
            Denial::End { predicate, end, role } => {
                let end = if *end == Direction::Head { "X" } else { "Y" };
                let has = match *role {
                    Role::Own(property) => {
                        let name = (self.words.quoted)(self.words.names.properties.name(property));
                        format!("has({end}, {name})")
                    }
                    Role::Head(of) => self.fact(of, end, OPEN),
                    Role::Tail(of) => self.fact(of, OPEN, end),
                };
                self.clause(number, *predicate, &(self.none)(&has))
            }
            Denial::Linked { predicate, denied } => self.linked(number, *predicate, *denied),
        }
    }

    /// What links a pair is a relation of its own.
    fn linked(&self, number: usize, predicate: Predicate, denied: bool) -> String {
        let name = (self.words.quoted)(self.words.names.predicates.name(predicate));
        let (fact, differs) = (self.fact(predicate, "X", "Y"), self.differs);
        let head = format!("linked({number}, X, Y)");
        let mut text = format!("{head} :- {fact}, fact(X, Other, Y), Other {differs} {name}.\n");
        text += &format!("{head} :- {fact}, fact(Y, Other, X), Other {differs} {name}.\n");
        text += &format!("{head} :- {fact}, {}, X {differs} Y.\n", self.fact(predicate, "Y", "X"));
        let is_linked = if denied { head } else { (self.none)(&head) };
        text + &self.clause(number, predicate, &is_linked)
    }
}

//! What the languages of clauses share: Prolog, Datalog, answer sets.

use std::io::{self, Write};

use super::{Known, constant, counted, free_ends, variable, variables};
use crate::rule::{Atom, Rule, RuleNames, Term};

/// Every fact as a clause of its own, closed by `end`.
pub(super) fn facts(
    known: &Known,
    out: &mut dyn Write,
    quoted: fn(&str) -> String,
    end: &str,
) -> io::Result<()> {
    for triple in known.triples() {
        writeln!(out, "fact({}){end}", triple.map(quoted).join(", "))?;
    }
    for owned in known.owned() {
        writeln!(out, "has({}){end}", owned.map(quoted).join(", "))?;
    }
    for name in known.entities() {
        writeln!(out, "entity({}){end}", quoted(name))?;
    }
    Ok(())
}

/// How a language of clauses writes terms and atoms.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    pub names: RuleNames<'a>,
    pub quoted: fn(&str) -> String,
    /// Stands before every variable.
    pub sign: &'static str,
    /// What holds of that which a rule derives.
    pub relation: &'static str,
}

/// A body that must have several groundings: each is a fact `way1(Rule, X, Y, Z1)`, `way2(Rule, X, Y, Z1, Z2)`, …
pub(super) struct Counted {
    /// What is derived.
    pub head: String,
    /// The rule's number, X and Y.
    pub ends: String,
    /// The body's own variables.
    pub own: Vec<String>,
    pub least: u32,
}

impl Counted {
    /// A way with these in place of the body's own variables.
    pub fn way(&self, own: &str) -> String {
        format!("way{}({}, {own})", self.own.len(), self.ends)
    }

    /// Any way.
    pub fn any(&self) -> String {
        self.way(&vec!["_"; self.own.len()].join(", "))
    }
}

impl Words<'_> {
    pub fn term(&self, term: Term) -> String {
        match term {
            Term::Constant(_) => (self.quoted)(constant(self.names, term)),
            other => format!("{}{}", self.sign, variable(other)),
        }
    }

    pub fn atom(&self, atom: Atom) -> String {
        match atom {
            Atom::Pair(predicate, a, b) => {
                let name = (self.quoted)(self.names.predicates.name(predicate));
                format!("fact({}, {name}, {})", self.term(a), self.term(b))
            }
            Atom::Own(property, a) => {
                let name = (self.quoted)(self.names.properties.name(property));
                format!("has({}, {name})", self.term(a))
            }
            Atom::Is(a, entity) => {
                let a = self.term(a);
                format!("{a} = {}, entity({a})", self.term(Term::Constant(entity)))
            }
        }
    }

    pub fn head(&self, number: usize, rule: &Rule) -> String {
        let target = (self.quoted)(self.names.predicates.name(rule.target));
        let relation = self.relation;
        format!("{relation}({number}, {}, {target}, {})", self.term(Term::X), self.term(Term::Y))
    }

    /// The clauses of a rule where a body can hold no *or*: each disjunction is a relation of its own,
    /// `either(Rule, Literal, A, B)` over the variables of its atoms. `count` writes the clause of a rule whose body
    /// must have several groundings.
    pub fn clauses(&self, number: usize, rule: &Rule, end: &str, count: fn(&Counted) -> String) -> String {
        let (mut body, mut text) = (Vec::new(), String::new());
        for (place, literal) in rule.body().iter().enumerate() {
            if let [one] = literal.atoms() {
                body.push(self.atom(*one));
                continue;
            }
            let terms: Vec<String> =
                variables(literal.atoms()[0]).into_iter().map(|term| self.term(term)).collect();
            let pair = match &terms[..] {
                [] => format!("{0}, {0}", (self.quoted)("")),
                [one] => format!("{one}, {one}"),
                _ => terms.join(", "),
            };
            let head = format!("either({number}, {}, {pair})", place + 1);
            for atom in literal.atoms() {
                text += &format!("{head} :- {}{end}\n", self.atom(*atom));
            }
            body.push(head);
        }
        body.extend(free_ends(rule).into_iter().map(|end| format!("entity({})", self.term(end))));
        if rule.min_groundings() == 1 {
            return text + &format!("{} :- {}{end}\n", self.head(number, rule), body.join(", "));
        }
        let terms: Vec<String> = counted(rule).into_iter().map(|term| self.term(term)).collect();
        let counted = Counted {
            head: self.head(number, rule),
            ends: format!("{number}, {}, {}", terms[0], terms[1]),
            own: terms[2..].to_vec(),
            least: rule.min_groundings(),
        };
        text += &format!("{} :- {}{end}\n", counted.way(&counted.own.join(", ")), body.join(", "));
        text + &count(&counted) + end + "\n"
    }
}

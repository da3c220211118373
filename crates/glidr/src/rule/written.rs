//! Rules as they were written, and the [`Rule`]s they stand for under the names of some data.
//!
//! In: what the parser read. Out: rules by number; an error names file, line and column. What was written prints
//! back with its own order and its own names of variables.

use std::fmt;
use std::path::Path;

use super::lexer::Position;
use super::parser::{Read, Wrong};
use super::printer::{at_least, quoted_argument};
use super::written_constraint::WrittenConstraint;
use super::{
    Aggregation, Atom, Literal, MAX_VARIABLES, Measures, Rule, Term, Weight, quoted, quoted_constant,
};
use crate::error::{Error, Result};
use crate::graph::{Predicate, Vocabulary};

/// An argument as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WrittenTerm {
    /// A variable: a bare word with a capital first letter.
    Variable(String),
    /// A constant: a quoted name, or a bare word with a small first letter.
    Constant(String),
}

/// An atom as it was written, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenAtom {
    /// The predicate's or property's name; none where two terms are said to be equal.
    pub name: Option<String>,
    /// One or two arguments.
    pub terms: Vec<WrittenTerm>,
    pub(super) at: Position,
}

/// A rule as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenRule {
    /// The number before it: a confidence or a weight, or one for tails and one for heads.
    pub weight: Option<Weight>,
    /// The head.
    pub head: WrittenAtom,
    /// How many groundings the body must have at least.
    pub min_groundings: u32,
    /// The body: literals, each a disjunction of atoms.
    pub body: Vec<Vec<WrittenAtom>>,
    /// What was counted of it: the comment behind it.
    pub measures: Option<Measures>,
}

/// `:- aggregation(target, how).` as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenAggregation {
    /// The target's name.
    pub target: String,
    /// The word for how its rules are aggregated.
    pub how: String,
    pub(super) at: Position,
}

/// What stands in a text of rules.
#[derive(Clone, Debug, PartialEq)]
pub enum Clause {
    /// A rule.
    Rule(WrittenRule),
    /// How the rules of a target are aggregated.
    Aggregation(WrittenAggregation),
    /// What never holds.
    Constraint(WrittenConstraint),
}

impl WrittenAggregation {
    /// An error that names its place.
    pub(crate) fn error(&self, path: &Path, finding: impl Into<String>) -> Error {
        Wrong { at: self.at, finding: finding.into() }.error(path)
    }

    /// The target and its aggregation under the names of some data; an error names `path`, line and column.
    pub fn resolve(&self, path: &Path, names: &Vocabulary) -> Result<(Predicate, Aggregation)> {
        let wrong = |error: Error| Wrong { at: self.at, finding: error.to_string() }.error(path);
        Ok((names.predicate(&self.target).map_err(wrong)?, Aggregation::parse(&self.how).map_err(wrong)?))
    }
}

impl WrittenRule {
    /// The rule under the names of some data; an error names `path`, line and column.
    pub fn rule(&self, path: &Path, names: &Vocabulary) -> Result<Rule> {
        self.resolve(names).map_err(|wrong| wrong.error(path))
    }

    fn resolve(&self, names: &Vocabulary) -> Read<Rule> {
        let [WrittenTerm::Variable(x), WrittenTerm::Variable(y)] = &self.head.terms[..] else {
            return Err(self.head.wrong("the head must have two different variables"));
        };
        if x == y {
            return Err(self.head.wrong("the head must have two different variables"));
        }
        let target = self.head.name.as_deref().unwrap_or_default();
        let target = names.predicate(target).map_err(|error| self.head.wrong(error.to_string()))?;
        let mut scope = Scope { names, ends: [x, y], inner: Vec::new() };
        let body: Vec<Literal> =
            self.body.iter().map(|literal| scope.literal(literal)).collect::<Read<_>>()?;
        if self.min_groundings > 1 && scope.inner.is_empty() {
            return Err(self.head.wrong(format!(
                "a body that must have at least {} groundings must have a variable besides {x} and {y}, but has none",
                self.min_groundings
            )));
        }
        Ok(Rule::new(target, &body).with_min_groundings(self.min_groundings))
    }
}

impl WrittenAtom {
    /// An error that names its place.
    pub(crate) fn error(&self, path: &Path, finding: impl Into<String>) -> Error {
        self.wrong(finding).error(path)
    }

    fn wrong(&self, finding: impl Into<String>) -> Wrong {
        Wrong { at: self.at, finding: finding.into() }
    }
}

/// The names that stand for something in one rule.
pub(super) struct Scope<'a> {
    pub names: &'a Vocabulary,
    /// The variables of the head.
    pub ends: [&'a str; 2],
    /// The other variables, in the order met.
    pub inner: Vec<&'a str>,
}

impl<'a> Scope<'a> {
    fn literal(&mut self, written: &'a [WrittenAtom]) -> Read<Literal> {
        let mut atoms = Vec::new();
        for atom in written {
            atoms.push(self.atom(atom)?);
            if atoms[0].variables() != atoms[atoms.len() - 1].variables() {
                return Err(atom
                    .wrong("the atoms of a disjunction must have the same variables, but this has others"));
            }
        }
        Ok(Literal::any_of(atoms))
    }

    pub fn atom(&mut self, written: &'a WrittenAtom) -> Read<Atom> {
        let terms: Vec<Term> =
            written.terms.iter().map(|term| self.term(term, written)).collect::<Read<_>>()?;
        match (&written.name, &terms[..]) {
            (Some(name), &[a, b]) => {
                let predicate =
                    self.names.predicate(name).map_err(|error| written.wrong(error.to_string()))?;
                Ok(Atom::Pair(predicate, a, b))
            }
            (Some(name), &[a]) => {
                let property = self.names.property(name).map_err(|error| written.wrong(error.to_string()))?;
                Ok(Atom::Own(property, a))
            }
            (None, &[a, Term::Constant(entity)]) => Ok(Atom::Is(a, entity)),
            (None, _) => Err(written.wrong("“=” must be followed by a constant")),
            (Some(_), other) => {
                Err(written.wrong(format!("an atom must have one or two arguments, but has {}", other.len())))
            }
        }
    }

    fn term(&mut self, term: &'a WrittenTerm, within: &WrittenAtom) -> Read<Term> {
        let variable = match term {
            WrittenTerm::Constant(name) => {
                let entity = self.names.entity(name).map_err(|error| within.wrong(error.to_string()))?;
                return Ok(Term::Constant(entity));
            }
            WrittenTerm::Variable(name) if name == self.ends[0] => return Ok(Term::X),
            WrittenTerm::Variable(name) if name == self.ends[1] => return Ok(Term::Y),
            WrittenTerm::Variable(name) => name,
        };
        let place = self.inner.iter().position(|known| known == variable).unwrap_or_else(|| {
            self.inner.push(variable);
            self.inner.len() - 1
        });
        if self.inner.len() + 2 > MAX_VARIABLES {
            return Err(within.wrong(format!("a rule must have at most {MAX_VARIABLES} variables")));
        }
        Ok(Term::Z(place as u8 + 1))
    }
}

impl fmt::Display for WrittenAtom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<String> = self.terms.iter().map(ToString::to_string).collect();
        match &self.name {
            Some(name) => write!(f, "{}({})", quoted(name), terms.join(", ")),
            None => f.write_str(&terms.join(" = ")),
        }
    }
}

impl fmt::Display for WrittenTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WrittenTerm::Variable(name) => f.write_str(name),
            WrittenTerm::Constant(name) => f.write_str(&quoted_constant(name)),
        }
    }
}

impl fmt::Display for WrittenAggregation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":- aggregation({}, {}).", quoted_argument(&self.target), self.how)
    }
}

impl fmt::Display for WrittenRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(weight) = self.weight {
            write!(f, "{weight} :: ")?;
        }
        let literal = |atoms: &Vec<WrittenAtom>| {
            let atoms: Vec<String> = atoms.iter().map(ToString::to_string).collect();
            if atoms.len() == 1 { atoms.concat() } else { format!("({})", atoms.join(" ; ")) }
        };
        let body: Vec<String> = self.body.iter().map(literal).collect();
        let body = if body.is_empty() { "true".into() } else { body.join(", ") };
        write!(f, "{} :- {}{body}.", self.head, at_least(self.min_groundings))?;
        self.measures.map_or(Ok(()), |measures| write!(f, " % {measures}"))
    }
}

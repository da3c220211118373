//! Constraints as they were written: `0.998 :: :- nephew(X, Y), niece(X, Y).`
//!
//! In: what the parser read. Out: literals by number, under the names of some data.

use std::path::Path;

use super::lexer::Position;
use super::parser::Wrong;
use super::written::Scope;
use super::{Atom, WrittenAtom, WrittenTerm};
use crate::error::Error;
use crate::graph::Vocabulary;

/// What stands for any other predicate, in either direction.
pub const ANY_PREDICATE: &str = "_";

/// A literal of a constraint as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenLiteral {
    /// Whether `not` stands before it.
    pub negated: bool,
    /// Whether its predicate is any other.
    pub is_any: bool,
    /// Its atoms, one of which must hold.
    pub atoms: Vec<WrittenAtom>,
    pub(super) at: Position,
}

/// A constraint as it was written: a body that never holds.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenConstraint {
    /// The number before it.
    pub confidence: Option<f64>,
    /// How many of a variable are too many.
    pub at_least: Option<(u32, String)>,
    /// The literals.
    pub body: Vec<WrittenLiteral>,
    /// The comment behind it.
    pub comment: String,
    pub(super) at: Position,
}

impl WrittenConstraint {
    /// An error that names its place.
    pub(crate) fn error(&self, path: &Path, finding: impl Into<String>) -> Error {
        Wrong { at: self.at, finding: finding.into() }.error(path)
    }

    /// The variables of the first atom, which are called X and Y wherever it is printed.
    fn ends(&self) -> [&str; 2] {
        let terms =
            self.body.first().and_then(|literal| literal.atoms.first()).map(|atom| atom.terms.as_slice());
        let variable = |place: usize| match terms.and_then(|terms| terms.get(place)) {
            Some(WrittenTerm::Variable(name)) => name.as_str(),
            _ => "",
        };
        [variable(0), variable(1)]
    }

    /// Whether the variable that is counted is X, or Y; none where it is neither.
    pub(crate) fn counts_second(&self) -> Option<bool> {
        let (_, variable) = self.at_least.as_ref()?;
        self.ends().iter().position(|end| end == variable).map(|place| place == 1)
    }

    /// The literals under the names of some data: each atom, or none for any other predicate.
    pub(crate) fn resolve(&self, names: &Vocabulary) -> Result<Vec<Vec<Option<Atom>>>, String> {
        let mut scope = Scope { names, ends: self.ends(), inner: Vec::new() };
        let mut body = Vec::new();
        for literal in &self.body {
            let mut atoms = Vec::new();
            for atom in &literal.atoms {
                if literal.is_any {
                    let terms: Vec<&WrittenTerm> = atom.terms.iter().collect();
                    let is_end = |term: &WrittenTerm, end: &str| matches!(term, WrittenTerm::Variable(name) if name == end);
                    let [first, second] = self.ends();
                    if !matches!(terms[..], [a, b] if is_end(a, first) && is_end(b, second)) {
                        return Err("“_” must be of X and Y, but here is another".into());
                    }
                    atoms.push(None);
                } else {
                    atoms.push(Some(scope.atom(atom).map_err(|wrong| wrong.finding)?));
                }
            }
            body.push(atoms);
        }
        Ok(body)
    }
}

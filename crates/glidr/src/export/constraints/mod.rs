//! Constraints for other engines: clauses, SHACL shapes, OWL axioms, and queries that list what breaks them.
//!
//! In: [`ConstraintProgram`]. Out: a text in one of the [`ConstraintDialect`]s. All that list what breaks a constraint have
//! one relation beside those of the facts: each fact of the constraint's first predicate that breaks it.
//!
//! ```text
//! violation(Constraint, Head, Predicate, Tail)
//! ```

mod clauses;
mod owl;
mod shacl;
mod sparql;
mod sql;

use super::{check, refuse_nul};
use crate::constraint::{Constraint, Denial};
use crate::error::Result;
use crate::graph::{Predicate, Vocabulary};
use crate::rule::{Atom, Literal, Rule, Term};

/// A language that constraints are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintDialect {
    /// SWI-Prolog.
    Prolog,
    /// clingo.
    Asp,
    /// A SPARQL 1.1 query.
    Sparql,
    /// Views that `SQLite`, `DuckDB`, Postgres and Spark SQL share.
    Sql,
    /// SHACL shapes in Turtle.
    Shacl,
    /// OWL 2 axioms in Turtle.
    Owl,
}

/// Constraints to be written.
#[derive(Clone, Copy, Debug)]
pub struct ConstraintProgram<'a> {
    /// The constraints; they are counted from 1.
    pub constraints: &'a [Constraint],
    /// The names that they are written with.
    pub names: &'a Vocabulary,
}

impl ConstraintProgram<'_> {
    /// The constraints with their numbers.
    fn numbered(&self) -> impl Iterator<Item = (usize, &Constraint)> {
        self.constraints.iter().enumerate().map(|(place, constraint)| (place + 1, constraint))
    }
}

impl ConstraintDialect {
    /// The constraints as a text of this language; refuses names that it cannot hold.
    ///
    /// ```
    /// use glidr::internals::constraint::{Constraint, Denial};
    /// use glidr::internals::export::{ConstraintDialect, ConstraintProgram};
    /// use glidr::internals::graph::{Names, Predicate, Vocabulary};
    ///
    /// let names = Vocabulary { predicates: Names::new(["wife", "niece"]), ..Vocabulary::default() };
    /// let denial = Denial::disjoint(Predicate(0), (Predicate(1), true));
    /// let constraints = [Constraint { denial, confidence: 0.98, counts: None }];
    /// let text = ConstraintDialect::Prolog.write(&ConstraintProgram { constraints: &constraints, names: &names })?;
    /// assert!(text.contains("violation(1, X, 'wife', Y) :- fact(X, 'wife', Y), fact(X, 'niece', Y)."), "{text}");
    /// # Ok::<(), glidr::Error>(())
    /// ```
    pub fn write(self, program: &ConstraintProgram) -> Result<String> {
        refuse_nul(program.names.iter())?;
        for constraint in program.constraints {
            if let Denial::Body(rule) = &constraint.denial {
                check(rule, program.names.into())?;
            }
        }
        Ok(match self {
            ConstraintDialect::Prolog => clauses::prolog(program),
            ConstraintDialect::Asp => clauses::asp(program),
            ConstraintDialect::Sparql => sparql::query(program),
            ConstraintDialect::Sql => sql::views(program),
            ConstraintDialect::Shacl => shacl::shapes(program),
            ConstraintDialect::Owl => owl::axioms(program),
        })
    }
}

/// The body of a denial with its target in front: what holds where it is broken.
fn whole(rule: &Rule) -> Rule {
    let target = Literal::any_of(vec![Atom::Pair(rule.target, Term::X, Term::Y)]);
    let mut body = vec![target];
    body.extend_from_slice(rule.body());
    Rule::new(rule.target, &body)
}

/// The predicate that never holds both ways round, where a denial says that.
fn asymmetric(denial: &Denial) -> Option<Predicate> {
    match denial.as_disjoint() {
        Some((one, (other, false))) if one == other => Some(one),
        _ => None,
    }
}

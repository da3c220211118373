//! Constraints as text: `0.998 :: :- nephew(X, Y), niece(X, Y). % facts 1204, exceptions 0, expected 140.3`
//!
//! In: a text as docs/rules.md has it, and the names of some data. Out: [`Constraint`]s, which print as a text that is
//! read back as the very same.

use std::fmt;
use std::path::Path;

use super::{Constraint, ConstraintCounts, Denial, Role};
use crate::error::{Error, Result};
use crate::graph::{Direction, Predicate, Vocabulary};
use crate::rule::{
    ANY_PREDICATE, Atom, Clause, Literal, Rule, RuleNames, Term, WrittenConstraint, parse_rules, quoted,
};

impl Constraint {
    /// Reads a text of constraints under the names of some data; an error names `path`, line and column.
    ///
    /// ```
    /// use glidr::internals::constraint::Constraint;
    /// use glidr::Dataset;
    /// let families = Dataset::families(0);
    /// let text = "0.9 :: :- nephew(X, Y), niece(X, Y).\n:- at least 2 Y: husband(X, Y).\n";
    /// let read = Constraint::parse("my.constraints", text, families.names())?;
    /// assert_eq!(read[0].show(families.names()), ":- nephew(X, Y), niece(X, Y).");
    /// assert_eq!((read[0].confidence, read[1].confidence), (0.9, 1.0));
    /// # Ok::<(), glidr::Error>(())
    /// ```
    pub fn parse(path: impl AsRef<Path>, text: &str, names: &Vocabulary) -> Result<Vec<Self>> {
        let path = path.as_ref();
        let mut constraints = Vec::new();
        for clause in parse_rules(path, text)? {
            match clause {
                Clause::Constraint(written) => constraints.push(Self::resolve(&written, path, names)?),
                Clause::Rule(written) => {
                    let finding = "a file of constraints must have no rules, but here is one";
                    return Err(written.head.error(path, finding));
                }
                Clause::Aggregation(written) => {
                    let finding = "a file of constraints must have no directives, but here is one";
                    return Err(written.error(path, finding));
                }
            }
        }
        Ok(constraints)
    }

    /// Reads a file of constraints.
    pub fn read(path: impl AsRef<Path>, names: &Vocabulary) -> Result<Vec<Self>> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| Error::file(path, error))?;
        Self::parse(path, &text, names)
    }

    fn resolve(written: &WrittenConstraint, path: &Path, names: &Vocabulary) -> Result<Self> {
        let denial = denial(written, names).map_err(|finding| written.error(path, finding))?;
        let counts = ConstraintCounts::from_comment(&written.comment)
            .map_err(|finding| written.error(path, finding))?;
        let sure = counts.map_or(1.0, |counts| counts.confidence());
        let confidence = written.confidence.unwrap_or(sure);
        if !(0.0..=1.0).contains(&confidence) {
            let finding = format!("the confidence of a constraint must be from 0 to 1, but is {confidence}");
            return Err(written.error(path, finding));
        }
        Ok(Constraint { denial, confidence, counts })
    }

    /// The denial as it is printed.
    pub fn show(&self, names: &Vocabulary) -> String {
        self.denial.show(names)
    }

    /// All of it as a line of text, which is read back as the same constraint.
    pub fn to_line(&self, names: &Vocabulary) -> String {
        let counts = self.counts.map_or(String::new(), |counts| format!(" % {counts}"));
        format!("{} :: {}{counts}", self.confidence, self.show(names))
    }
}

impl Denial {
    /// The denial as it is printed.
    pub fn show(&self, names: &Vocabulary) -> String {
        let name = |predicate: Predicate| quoted(names.predicates.name(predicate));
        let pair = |predicate| format!("{}(X, Y)", name(predicate));
        let body = match self {
            Denial::Irreflexive(predicate) => format!("{}(X, X)", name(*predicate)),
            Denial::Body(rule) => {
                let literals = rule.body().iter().map(|literal| literal.show(RuleNames::from(names)));
                std::iter::once(pair(rule.target)).chain(literals).collect::<Vec<_>>().join(", ")
            }
            Denial::AtLeast { predicate, counted, count } => {
                format!("at least {count} {}: {}", end_name(*counted), pair(*predicate))
            }
            Denial::End { predicate, end, role } => {
                let end = end_name(*end);
                let role = match *role {
                    Role::Own(property) => format!("{}({end})", quoted(names.properties.name(property))),
                    Role::Head(of) => format!("{}({end}, Z1)", name(of)),
                    Role::Tail(of) => format!("{}(Z1, {end})", name(of)),
                };
                format!("{}, not {role}", pair(*predicate))
            }
            Denial::Linked { predicate, denied } => {
                let not = if *denied { "" } else { "not " };
                format!("{}, {not}{ANY_PREDICATE}(X, Y)", pair(*predicate))
            }
        };
        format!(":- {body}.")
    }
}

/// The variable at one end of a pair.
fn end_name(end: Direction) -> &'static str {
    if end == Direction::Tail { "Y" } else { "X" }
}

/// What was written, by number.
fn denial(written: &WrittenConstraint, names: &Vocabulary) -> std::result::Result<Denial, String> {
    let forms = "a constraint must be like :- p(X, Y), q(X, Y).  or :- p(X, X).  or :- at least 2 Y: p(X, Y).  \
                 or :- p(X, Y), not q(X, Z1).  or :- p(X, Y), _(X, Y).";
    let body = written.resolve(names)?;
    let mut atoms = body.iter();
    let first = atoms.next().ok_or(forms)?;
    let target = match first.as_slice() {
        [Some(Atom::Pair(target, Term::X, Term::X))] if body.len() == 1 && written.at_least.is_none() => {
            return Ok(Denial::Irreflexive(*target));
        }
        [Some(Atom::Pair(target, Term::X, Term::Y))] if !written.body[0].negated => *target,
        _ => return Err(format!("{forms}; this one does not begin with a predicate of X and Y")),
    };
    if let Some((count, _)) = &written.at_least {
        let counted = match (written.counts_second(), body.len()) {
            (Some(true), 1) => Direction::Tail,
            (Some(false), 1) => Direction::Head,
            _ => return Err(format!("{forms}; “at least” must count X or Y of one predicate")),
        };
        return Ok(Denial::AtLeast { predicate: target, counted, count: *count });
    }
    let rest: Vec<&Vec<Option<Atom>>> = atoms.collect();
    match (rest.as_slice(), written.body.get(1).is_some_and(|literal| literal.negated)) {
        ([one], negated) if one.as_slice() == [None] => {
            Ok(Denial::Linked { predicate: target, denied: !negated })
        }
        ([one], true) => {
            let (end, role) = match one.as_slice() {
                [Some(Atom::Own(property, term))] => (*term, Role::Own(*property)),
                [Some(Atom::Pair(of, term, Term::Z(_)))] => (*term, Role::Head(*of)),
                [Some(Atom::Pair(of, Term::Z(_), term))] => (*term, Role::Tail(*of)),
                _ => return Err(format!("{forms}; what follows “not” must be about X or Y alone")),
            };
            let end = match end {
                Term::X => Direction::Head,
                Term::Y => Direction::Tail,
                _ => return Err(format!("{forms}; what follows “not” must be about X or Y alone")),
            };
            Ok(Denial::End { predicate: target, end, role })
        }
        (rest, _) if !rest.is_empty() && !written.body.iter().any(|literal| literal.negated) => {
            let literals = rest.iter().map(|atoms| {
                let atoms: Option<Vec<Atom>> = atoms.iter().copied().collect();
                Ok(Literal::any_of(
                    atoms.ok_or_else(|| format!("{forms}; “_” must be the last of two atoms"))?,
                ))
            });
            let literals = literals.collect::<std::result::Result<Vec<_>, String>>()?;
            let denial = Denial::Body(Rule::new(target, &literals));
            Ok(denial.as_disjoint().map_or(denial, |(one, other)| Denial::disjoint(one, other)))
        }
        _ => Err(forms.into()),
    }
}

impl ConstraintCounts {
    /// What a comment says was counted; none where it says something else.
    fn from_comment(comment: &str) -> std::result::Result<Option<Self>, String> {
        let words = ["facts ", "exceptions ", "expected "];
        let parts: Vec<&str> = comment.split(", ").collect();
        let numbers: Vec<&str> =
            parts.iter().zip(words).filter_map(|(part, word)| part.strip_prefix(word)).collect();
        let (3, &[facts, exceptions, expected]) = (parts.len(), numbers.as_slice()) else { return Ok(None) };
        let wrong = || format!("counts must be numbers of at least 0, but here is: {comment}");
        let whole = |text: &str| text.parse::<usize>().map_err(|_| wrong());
        let expected: f64 = expected.parse().map_err(|_| wrong())?;
        if !(expected.is_finite() && expected >= 0.0) {
            return Err(wrong());
        }
        Ok(Some(ConstraintCounts { facts: whole(facts)?, exceptions: whole(exceptions)?, expected }))
    }
}

impl fmt::Display for ConstraintCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConstraintCounts { facts, exceptions, expected } = self;
        write!(f, "facts {facts}, exceptions {exceptions}, expected {expected}")
    }
}

//! Constraints: what never holds in a graph, learned from its facts beside the rules, or written by hand.
//!
//! In: a [`Dataset`](crate::graph::Dataset). Out: [`Constraint`]s, each with what chance would give and its exceptions;
//! and the candidates of a query that they refuse ([`Refusals`]). The paper has no constraints.

mod against;
mod conflicts;
mod kept;
mod learn;
mod links;
mod paths;
mod refusals;
mod sentence;
mod text;

use std::fmt;

pub use conflicts::Conflict;
pub use kept::{Checked, KeptConstraint, KeptConstraints};
pub use learn::learn_constraints;
pub(crate) use paths::{PathNumber, ShortPaths};
pub use refusals::Refusals;
use serde::{Deserialize, Serialize};

use crate::graph::{Direction, Predicate, Property};
use crate::rule::{Atom, Literal, Rule, Term};

/// What never holds: the body of a rule without a head.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Denial {
    /// `:- p(X, X).` No entity has p with itself.
    Irreflexive(Predicate),
    /// `:- p(X, Y), q(X, Y).` The rule's target and its body never hold of one pair.
    Body(Rule),
    /// `:- at least 2 Y: p(X, Y).` No entity has so many ends.
    AtLeast {
        /// The predicate.
        predicate: Predicate,
        /// Which ends are counted: tails of one head, or heads of one tail.
        counted: Direction,
        /// So many are too many.
        count: u32,
    },
    /// `:- p(X, Y), not q(X, Z1).` All entities at one end of p have a role.
    End {
        /// The predicate.
        predicate: Predicate,
        /// The end.
        end: Direction,
        /// The role that all entities have there.
        role: Role,
    },
    /// `:- p(X, Y), _(X, Y).` or `:- p(X, Y), not _(X, Y).`
    Linked {
        /// The predicate.
        predicate: Predicate,
        /// Whether pairs that are linked by another predicate, in either direction, are denied, or all others are.
        denied: bool,
    },
}

/// What an entity is or does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// It has a property.
    Own(Property),
    /// It is the head of some fact of a predicate.
    Head(Predicate),
    /// It is the tail of one.
    Tail(Predicate),
}

/// What was counted of a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConstraintCounts {
    /// Facts, pairs or ends that it speaks of.
    pub facts: usize,
    /// How many of these break it.
    pub exceptions: usize,
    /// How many would by chance, if what it forbids to go together were independent.
    pub expected: f64,
}

impl ConstraintCounts {
    /// How sure it is that this is no chance: exceptions beside what chance would give, by the rule of succession.
    ///
    /// ```text
    /// confidence = 1 − (exceptions + 1) / (expected + 2)
    /// ```
    pub fn confidence(&self) -> f64 {
        (1.0 - (self.exceptions as f64 + 1.0) / (self.expected + 2.0)).max(0.0)
    }
}

/// A denial with its confidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// What never holds.
    pub denial: Denial,
    /// How sure that is, from 0 to 1.
    pub confidence: f64,
    /// What was counted of it; none of one that was written by hand.
    pub counts: Option<ConstraintCounts>,
}

impl Constraint {
    /// A denial of which this was counted.
    pub fn counted(denial: Denial, counts: ConstraintCounts) -> Self {
        Constraint { denial, confidence: counts.confidence(), counts: Some(counts) }
    }
}

/// What a constraint is about, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConstraintKind {
    /// No entity with itself.
    Irreflexive,
    /// Never both ways round.
    Asymmetric,
    /// Two predicates never hold of the same pair.
    Disjoint,
    /// Two predicates never hold of a pair and of the pair turned round.
    DisjointInverse,
    /// A head has at most so many tails.
    Functional,
    /// A tail has at most so many heads.
    InverseFunctional,
    /// All ends are of one kind.
    EndKind,
    /// A pair that is linked already, or one that is not.
    Linked,
    /// A longer body.
    Denial,
}

impl fmt::Display for ConstraintKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConstraintKind::Irreflexive => "irreflexive",
            ConstraintKind::Asymmetric => "asymmetric",
            ConstraintKind::Disjoint => "disjoint",
            ConstraintKind::DisjointInverse => "disjoint-inverse",
            ConstraintKind::Functional => "functional",
            ConstraintKind::InverseFunctional => "inverse-functional",
            ConstraintKind::EndKind => "end-kind",
            ConstraintKind::Linked => "linked",
            ConstraintKind::Denial => "denial",
        })
    }
}

/// A predicate that a pair may have, and whether it is read forward.
pub type Step = (Predicate, bool);

impl Denial {
    /// The denial that two predicates hold of one pair, the second perhaps turned round; the same in both orders.
    pub fn disjoint(one: Predicate, (other, forward): (Predicate, bool)) -> Self {
        let (first, second) = (one.min(other), one.max(other));
        let (a, b) = if forward { (Term::X, Term::Y) } else { (Term::Y, Term::X) };
        let literal = Literal::any_of(vec![Atom::Pair(second, a, b)]);
        Denial::Body(Rule::new(first, &[literal]))
    }

    /// Where it denies that two predicates hold of one pair: these, and whether the second is read forward.
    pub fn as_disjoint(&self) -> Option<(Predicate, Step)> {
        let Denial::Body(rule) = self else { return None };
        match rule.body() {
            [literal] => match literal.atoms() {
                [Atom::Pair(other, Term::X, Term::Y)] => Some((rule.target, (*other, true))),
                [Atom::Pair(other, Term::Y, Term::X)] => Some((rule.target, (*other, false))),
                _ => None,
            },
            _ => None,
        }
    }

    /// What it is about.
    pub fn kind(&self) -> ConstraintKind {
        match self {
            Denial::Irreflexive(_) => ConstraintKind::Irreflexive,
            Denial::Body(_) => match self.as_disjoint() {
                Some((one, (other, false))) if one == other => ConstraintKind::Asymmetric,
                Some((_, (_, false))) => ConstraintKind::DisjointInverse,
                Some((_, (_, true))) => ConstraintKind::Disjoint,
                None => ConstraintKind::Denial,
            },
            Denial::AtLeast { counted: Direction::Tail, .. } => ConstraintKind::Functional,
            Denial::AtLeast { counted: Direction::Head, .. } => ConstraintKind::InverseFunctional,
            Denial::End { .. } => ConstraintKind::EndKind,
            Denial::Linked { .. } => ConstraintKind::Linked,
        }
    }

    /// All that it names, as the literals of one rule.
    pub(crate) fn named(&self) -> Rule {
        let literal = |atom| Literal::any_of(vec![atom]);
        match self {
            Denial::Body(rule) => rule.clone(),
            Denial::End { predicate, role, .. } => {
                let atom = match *role {
                    Role::Own(property) => Atom::Own(property, Term::X),
                    Role::Head(of) | Role::Tail(of) => Atom::Pair(of, Term::X, Term::Y),
                };
                Rule::new(*predicate, &[literal(atom)])
            }
            Denial::Irreflexive(predicate)
            | Denial::AtLeast { predicate, .. }
            | Denial::Linked { predicate, .. } => Rule::new(*predicate, &[]),
        }
    }

    /// The predicates whose candidates it may refuse.
    pub fn targets(&self) -> Vec<Predicate> {
        let mut targets = match self {
            Denial::Irreflexive(predicate)
            | Denial::AtLeast { predicate, .. }
            | Denial::End { predicate, .. }
            | Denial::Linked { predicate, .. } => vec![*predicate],
            Denial::Body(rule) => {
                let other = self.as_disjoint().map(|(_, (other, _))| other);
                std::iter::once(rule.target).chain(other).collect()
            }
        };
        targets.dedup();
        targets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_predicates_are_disjoint_in_whatever_order_they_are_named() {
        let (p, q) = (Predicate(3), Predicate(1));
        for forward in [true, false] {
            let denial = Denial::disjoint(p, (q, forward));
            assert_eq!(denial, Denial::disjoint(q, (p, forward)));
            assert_eq!(denial.as_disjoint(), Some((q, (p, forward))));
            assert_eq!(denial.targets(), [q, p]);
        }
        assert_eq!(Denial::disjoint(p, (p, false)).kind(), ConstraintKind::Asymmetric);
        assert_eq!(Denial::disjoint(p, (p, false)).targets(), [p]);
    }

    #[test]
    fn confidence_grows_with_what_chance_would_give_and_falls_with_exceptions() {
        let confidence =
            |exceptions, expected| ConstraintCounts { facts: 5000, exceptions, expected }.confidence();
        assert!(confidence(0, 3.0) < confidence(0, 30.0));
        assert!(confidence(4, 3000.0) > 0.99, "a few exceptions in thousands are tolerated");
        assert!(confidence(40, 30.0) <= 0.0);
    }
}

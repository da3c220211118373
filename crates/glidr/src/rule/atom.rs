//! The parts of a rule: terms, atoms and literals.

use crate::graph::{Entity, Predicate, Property};

/// An argument in a finished rule: X and Y of the head, Z1, Z2, … of the body alone, or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Term {
    /// First argument of the head.
    X,
    /// A variable of the body alone, counted from 1.
    Z(u8),
    /// Second argument of the head.
    Y,
    /// An entity, by the data's number.
    Constant(Entity),
}

/// A predicate applied to variables or constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Atom {
    /// `p(a, b)`
    Pair(Predicate, Term, Term),
    /// `q(a)`
    Own(Property, Term),
    /// `a = c`: what it stands for is this entity.
    Is(Term, Entity),
}

impl Atom {
    /// Its variables, or the constants that stand for them; where there is one only, it stands twice.
    pub fn terms(self) -> (Term, Term) {
        match self {
            Atom::Pair(_, a, b) => (a, b),
            Atom::Own(_, a) | Atom::Is(a, _) => (a, a),
        }
    }

    /// Its variables, sorted, each once.
    pub fn variables(self) -> Vec<Term> {
        let (a, b) = self.terms();
        let mut list: Vec<Term> =
            [a, b].into_iter().filter(|term| !matches!(term, Term::Constant(_))).collect();
        list.sort_unstable();
        list.dedup();
        list
    }

    pub(super) fn rename(self, name: &impl Fn(Term) -> Term) -> Self {
        match self {
            Atom::Pair(predicate, a, b) => Atom::Pair(predicate, name(a), name(b)),
            Atom::Own(property, a) => Atom::Own(property, name(a)),
            Atom::Is(a, entity) => Atom::Is(name(a), entity),
        }
    }
}

/// A body literal: one atom, or several read as *or*.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Literal {
    pub(super) atoms: Vec<Atom>,
}

impl Literal {
    /// The disjunction of `atoms`, sorted, each once.
    pub fn any_of(mut atoms: Vec<Atom>) -> Self {
        atoms.sort_unstable();
        atoms.dedup();
        Literal { atoms }
    }

    /// The atoms of the disjunction.
    pub fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// Where it stands in a body: by its variables first, so that a body reads from X to Y.
    pub(super) fn place(&self) -> (Term, Term, &[Atom]) {
        let (a, b) = self.atoms.first().map_or((Term::X, Term::X), |atom| atom.terms());
        (a.min(b), a.max(b), &self.atoms)
    }
}

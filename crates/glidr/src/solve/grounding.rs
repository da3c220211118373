//! A grounding: an entity for every variable of a rule, and the facts that prove the body with them.

use super::constraints::{X, Y};
use crate::graph::{Entity, Neighbours, Triple};
use crate::rule::{Atom, Rule, Term};

/// An entity for every variable, under which the body holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grounding {
    /// The entity of X, Y, Z1, Z2, …, in this order.
    pub entities: Vec<Entity>,
}

impl Grounding {
    /// The entity that a term stands for.
    pub fn entity(&self, term: Term) -> Entity {
        match term {
            Term::X => self.entities[X],
            Term::Y => self.entities[Y],
            Term::Z(number) => self.entities[number as usize + 1],
            Term::Constant(entity) => entity,
        }
    }

    /// For every literal of the body the first of its atoms that holds, with its arguments; a literal that holds by
    /// what a variable is has no fact to name.
    pub fn facts(&self, rule: &Rule, facts: &Neighbours) -> Vec<(Atom, Entity, Entity)> {
        let holds = |atom: &Atom| {
            let (a, b) = atom.terms();
            let (a, b) = (self.entity(a), self.entity(b));
            let found = match *atom {
                Atom::Pair(predicate, ..) => facts.holds(Triple { head: a, predicate, tail: b }),
                Atom::Own(property, _) => facts.owners(property).binary_search(&a.0).is_ok(),
                Atom::Is(_, entity) => a == entity,
            };
            found.then_some((*atom, a, b))
        };
        let held = rule.body().iter().filter_map(|literal| literal.atoms().iter().find_map(holds));
        held.filter(|(atom, ..)| !matches!(atom, Atom::Is(..))).collect()
    }
}

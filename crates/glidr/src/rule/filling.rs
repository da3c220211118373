//! A schema with every slot filled: the bridge from weights to logic and back.

use super::{Atom, Filler, Literal, Rule, Schema, Term};
use crate::graph::{Predicate, Property};

/// The fillers chosen for every slot of a schema; none chosen means `P_true`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filling {
    /// The schema that is filled.
    pub schema: Schema,
    pairs: Vec<Vec<Filler>>,
    owns: Vec<Vec<Property>>,
}

impl Filling {
    /// `P_true` everywhere.
    pub fn new(schema: Schema) -> Self {
        Filling { schema, pairs: vec![Vec::new(); schema.slots()], owns: vec![Vec::new(); schema.variables] }
    }

    /// Fills the slot between variables i < j (from 0) with a disjunction; `P_true` in it wins.
    #[must_use]
    pub fn pair(mut self, i: usize, j: usize, fillers: &[Filler]) -> Self {
        let slot = self.schema.slot(i, j);
        self.pairs[slot] = if fillers.contains(&Filler::True) { Vec::new() } else { fillers.to_vec() };
        self
    }

    /// Fills the own slot of variable i (from 0) with a disjunction of properties.
    #[must_use]
    pub fn own(mut self, i: usize, properties: &[Property]) -> Self {
        self.owns[i] = properties.to_vec();
        self
    }

    /// The fillers of a pair slot; none means `P_true`.
    pub fn slot(&self, slot: usize) -> &[Filler] {
        &self.pairs[slot]
    }

    /// The properties asked of variable i; none means `P_true`.
    pub fn own_slot(&self, i: usize) -> &[Property] {
        &self.owns[i]
    }

    /// The filled schema as a rule: `P_true` gone, inverses turned round, unused variables gone.
    pub fn rule(&self, target: Predicate) -> Rule {
        let last = self.schema.variables - 1;
        let variable = |i: usize| match i {
            0 => Term::X,
            i if i == last => Term::Y,
            i => Term::Z(i as u8),
        };
        let pairs = self.schema.pairs().zip(&self.pairs).filter(|(_, fillers)| !fillers.is_empty());
        let mut body: Vec<Literal> = pairs
            .map(|((i, j), fillers)| {
                let atoms = fillers.iter().map(|filler| match *filler {
                    Filler::Direct(p) => Atom::Pair(p, variable(i), variable(j)),
                    Filler::Inverse(p) => Atom::Pair(p, variable(j), variable(i)),
                    Filler::True => unreachable!("P_true is kept as an empty list"),
                });
                Literal::any_of(atoms.collect())
            })
            .collect();
        for (i, properties) in self.owns.iter().enumerate().filter(|(_, properties)| !properties.is_empty()) {
            let atoms = properties.iter().map(|&property| Atom::Own(property, variable(i)));
            body.push(Literal::any_of(atoms.collect()));
        }
        Rule::new(target, &body)
    }
}

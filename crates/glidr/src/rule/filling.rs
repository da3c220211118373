//! A schema with every slot filled: the bridge from weights to logic and back.

use super::{Atom, Filler, Literal, Rule, Schema, Term};
use crate::error::{Error, Result};
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

    /// A schema filled so that it says what `rule` says; an error names what no slot can hold.
    pub fn of(rule: &Rule, schema: Schema) -> Result<Self> {
        if rule.variables() > schema.variables {
            return Err(Error::Rule(format!(
                "a rule must fit {} variables to start from, but has {}",
                schema.variables,
                rule.variables()
            )));
        }
        let no_slot =
            |what: &str| Error::Rule(format!("no slot can hold {what}, so nothing can start from this rule"));
        if rule.min_groundings() > 1 {
            return Err(no_slot("how often a body must hold"));
        }
        let number = |term: Term| match term {
            Term::X => Ok(0),
            Term::Y => Ok(schema.variables - 1),
            Term::Z(number) => Ok(number as usize),
            Term::Constant(_) => Err(no_slot("a constant")),
        };
        let mut filling = Filling::new(schema);
        for literal in rule.body() {
            for &atom in literal.atoms() {
                let (a, b) = atom.terms();
                let (a, b) = (number(a)?, number(b)?);
                match atom {
                    Atom::Own(property, _) => filling.owns[a].push(property),
                    Atom::Is(..) => return Err(no_slot("a constant")),
                    Atom::Pair(..) if a == b => {
                        return Err(no_slot("a predicate of one variable with itself"));
                    }
                    Atom::Pair(p, ..) if a < b => filling.pairs[schema.slot(a, b)].push(Filler::Direct(p)),
                    Atom::Pair(p, ..) => filling.pairs[schema.slot(b, a)].push(Filler::Inverse(p)),
                }
            }
        }
        // Two literals on one slot would be read as a disjunction.
        if filling.rule(rule.target) == *rule {
            Ok(filling)
        } else {
            Err(no_slot("two literals of the same variables"))
        }
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

#[cfg(test)]
mod tests {
    use super::Term::{X, Y, Z};
    use super::*;
    use crate::graph::Entity;

    #[test]
    fn a_rule_becomes_a_filling_and_the_same_rule_again() {
        let schema = Schema::new(4, 3, 1).expect("in range");
        let pair = |p, a, b| Atom::Pair(Predicate(p), a, b);
        let rule = Rule::new(
            Predicate(0),
            &[
                Literal::any_of(vec![pair(1, Z(1), X)]),
                Literal::any_of(vec![pair(2, Z(1), Y), pair(0, Y, Z(1))]),
                Literal::any_of(vec![Atom::Own(Property(0), Y)]),
            ],
        );
        assert_eq!(Filling::of(&rule, schema).expect("it fits").rule(Predicate(0)), rule);
        let refused = |body: &[Literal]| Filling::of(&Rule::new(Predicate(0), body), schema).is_err();
        assert!(refused(&[Literal::any_of(vec![pair(1, X, Y)]), Literal::any_of(vec![pair(2, X, Y)])]));
        assert!(refused(&[Literal::any_of(vec![pair(1, X, Term::Constant(Entity(0)))])]));
        assert!(refused(&[Literal::any_of(vec![pair(1, X, X)])]));
    }
}

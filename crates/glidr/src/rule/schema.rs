//! The graph-like schema: variables Z₁ … Z_N, a slot for every pair, and what may fill a slot.
//!
//! Paper: `def:graphlike`, `sec:extended_bg_predicates`.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::graph::Predicate;

/// The most schematic variables that a schema may have.
pub const MAX_VARIABLES: usize = 9;

/// What may stand in a slot: the extended predicates P* of `sec:extended_bg_predicates`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Filler {
    /// `p(Zᵢ, Zⱼ)`
    Direct(Predicate),
    /// `p(Zⱼ, Zᵢ)`
    Inverse(Predicate),
    /// `P_true`: the slot asks nothing.
    True,
}

/// The shape of a rule before it is filled.
///
/// There is a slot for every pair i < j, numbered (1,2), (1,3), …, (1,N), (2,3), …; its fillers
/// are numbered: predicates, inverses, `P_true`. Where there are properties, every variable has
/// an own slot too: its fillers are the properties, then `P_true`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// Schematic variables, N.
    pub variables: usize,
    /// Binary predicates.
    pub predicates: usize,
    /// Properties.
    pub properties: usize,
}

impl Schema {
    /// A schema of `variables` ≥ 2 over so many predicates and properties.
    pub fn new(variables: usize, predicates: usize, properties: usize) -> Result<Self> {
        if variables < 2 {
            return Err(Error::Setting(format!("variables must be at least 2, but is {variables}")));
        }
        if variables > MAX_VARIABLES {
            return Err(Error::Setting(format!(
                "variables must be at most {MAX_VARIABLES}, but is {variables}"
            )));
        }
        Ok(Schema { variables, predicates, properties })
    }

    /// The number of pair slots, N(N−1)/2.
    pub fn slots(&self) -> usize {
        self.variables * (self.variables - 1) / 2
    }

    /// The number of the slot between variables i < j, both counted from 0.
    #[inline]
    pub fn slot(&self, i: usize, j: usize) -> usize {
        debug_assert!(i < j && j < self.variables);
        i * (2 * self.variables - i - 1) / 2 + (j - i - 1)
    }

    /// The two variables of every slot, in slot order.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let n = self.variables;
        (0..n).flat_map(move |i| (i + 1..n).map(move |j| (i, j)))
    }

    /// How many fillers a pair slot has: predicates, inverses and `P_true`.
    pub fn fillers(&self) -> usize {
        2 * self.predicates + 1
    }

    /// How many fillers an own slot has: properties and `P_true`; 0 where there are no own slots.
    pub fn own_fillers(&self) -> usize {
        if self.properties == 0 { 0 } else { self.properties + 1 }
    }

    /// The filler with this number in a pair slot.
    pub fn filler(&self, number: usize) -> Filler {
        let predicates = self.predicates;
        match number {
            direct if direct < predicates => Filler::Direct(Predicate(direct as u32)),
            inverse if inverse < 2 * predicates => Filler::Inverse(Predicate((inverse - predicates) as u32)),
            _ => Filler::True,
        }
    }

    /// The number of a filler in a pair slot.
    pub fn filler_number(&self, filler: Filler) -> usize {
        match filler {
            Filler::Direct(predicate) => predicate.index(),
            Filler::Inverse(predicate) => self.predicates + predicate.index(),
            Filler::True => 2 * self.predicates,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_numbered_in_the_order_of_their_pairs() {
        for variables in 2..=MAX_VARIABLES {
            let schema = Schema::new(variables, 3, 0).expect("in range");
            let pairs: Vec<_> = schema.pairs().collect();
            assert_eq!(pairs.len(), schema.slots());
            for (number, (i, j)) in pairs.into_iter().enumerate() {
                assert_eq!(schema.slot(i, j), number);
            }
        }
    }

    #[test]
    fn too_few_or_too_many_variables_are_refused_by_name() {
        let error = Schema::new(1, 3, 0).expect_err("too few").to_string();
        assert_eq!(error, "variables must be at least 2, but is 1");
        assert!(Schema::new(10, 3, 0).is_err());
    }

    #[test]
    fn a_filler_and_its_number_are_one() {
        let schema = Schema::new(4, 3, 2).expect("in range");
        for number in 0..schema.fillers() {
            assert_eq!(schema.filler_number(schema.filler(number)), number);
        }
        assert_eq!(schema.own_fillers(), 3);
    }
}

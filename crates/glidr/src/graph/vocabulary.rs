//! The names of a data set.

use super::{Entity, Names, Predicate, Property, Sizes};
use crate::error::Result;

/// The names of entities, predicates and properties.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vocabulary {
    /// Names of entities.
    pub entities: Names<Entity>,
    /// Names of binary predicates.
    pub predicates: Names<Predicate>,
    /// Names of properties.
    pub properties: Names<Property>,
}

impl Vocabulary {
    /// How many names of each kind there are.
    pub fn sizes(&self) -> Sizes {
        Sizes {
            entities: self.entities.len(),
            predicates: self.predicates.len(),
            properties: self.properties.len(),
        }
    }

    /// All names: of predicates, then of properties, then of entities.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.predicates.iter().chain(self.properties.iter()).chain(self.entities.iter())
    }

    /// The entity called `name`, or an error with the nearest names.
    pub fn entity(&self, name: &str) -> Result<Entity> {
        self.entities.number(name)
    }

    /// The predicate called `name`, or an error with the nearest names.
    pub fn predicate(&self, name: &str) -> Result<Predicate> {
        self.predicates.number(name)
    }

    /// The property called `name`, or an error with the nearest names.
    pub fn property(&self, name: &str) -> Result<Property> {
        self.properties.number(name)
    }
}

//! The atoms of a knowledge graph: entities, predicates, properties and the facts they form.

use serde::{Deserialize, Serialize};

/// An entity (a constant *e* of the paper): a number whose name lives in the [`Vocabulary`].
///
/// [`Vocabulary`]: super::Vocabulary
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Entity(pub u32);

/// A binary predicate (a relation *r* of the paper).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Predicate(pub u32);

/// A property, that is a unary predicate such as *male*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Property(pub u32);

/// A ground fact `predicate(head, tail)`                          `def:background_graph`
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Triple {
    /// First argument.
    pub head: Entity,
    /// What holds between the two.
    pub predicate: Predicate,
    /// Second argument.
    pub tail: Entity,
}

impl Triple {
    /// The fact `predicate(head, tail)`.
    pub fn new(head: u32, predicate: u32, tail: u32) -> Self {
        Triple { head: Entity(head), predicate: Predicate(predicate), tail: Entity(tail) }
    }
}

/// A ground fact `property(entity)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PropertyFact {
    /// Who has the property.
    pub entity: Entity,
    /// The property.
    pub property: Property,
}

/// How many entities, predicates and properties there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Entities.
    pub entities: usize,
    /// Binary predicates.
    pub predicates: usize,
    /// Properties.
    pub properties: usize,
}

/// A number with a type, for names: that of an entity, a predicate or a property.
pub trait Id: Copy {
    /// What it is a number of, as errors call it.
    const KIND: &'static str;
    /// The number with its type.
    fn new(number: u32) -> Self;
    /// The number as an index.
    fn index(self) -> usize;
}

macro_rules! id {
    ($name:ident, $kind:literal) => {
        impl $name {
            /// The number as an index.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl Id for $name {
            const KIND: &'static str = $kind;

            fn new(number: u32) -> Self {
                $name(number)
            }

            fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(Entity, "entity");
id!(Predicate, "predicate");
id!(Property, "property");

//! Which entities may be new answers to a query: none that is known, none of another kind, and no entity itself where
//! the data never has that.

use std::collections::BTreeMap;

use crate::graph::{Background, Dataset, Direction, Entity, Kinds, Predicate, Query, Split};

/// What may be a new answer to queries about one target.
pub struct Guard<'a> {
    data: &'a Dataset,
    background: Background,
    irreflexive: bool,
    /// Whether entities are of a kind that the target has at its tails, and at its heads.
    admitted: [Vec<bool>; 2],
}

impl<'a> Guard<'a> {
    /// The guard of one target. Facts of *test* are known only where rules look them up.
    pub fn new(
        data: &'a Dataset,
        background: Background,
        kinds: &Kinds,
        target: Predicate,
        allow_reflexive: bool,
    ) -> Self {
        let irreflexive =
            !allow_reflexive && data.irreflexive().get(target.index()).copied().unwrap_or(false);
        let admitted = Direction::BOTH.map(|direction| kinds.admitted(target, direction));
        Guard { data, background, irreflexive, admitted }
    }

    /// Whether no entity is its own answer.
    pub fn irreflexive(&self) -> bool {
        self.irreflexive
    }

    /// Whether an entity is of a kind that the target has at this end.
    pub fn is_of_kind(&self, direction: Direction, entity: Entity) -> bool {
        self.admitted[direction as usize].get(entity.index()).is_none_or(|&admitted| admitted)
    }

    /// Whether a split's facts are known.
    pub fn is_known(&self, split: Split) -> bool {
        split != Split::Test || self.background.splits().contains(&split)
    }

    /// Whether an entity may answer a query, known or not.
    pub fn admits(&self, query: Query, entity: Entity) -> bool {
        self.is_of_kind(query.direction, entity) && !(self.irreflexive && entity == query.known)
    }

    /// The answers that splits hold, each with the first split that does.
    pub fn held(&self, query: Query) -> BTreeMap<Entity, Split> {
        let mut held = BTreeMap::new();
        for split in Split::ALL {
            for &fact in self.data.split(split) {
                let (asked, answer) = Query::of(fact, query.direction);
                if asked == query {
                    held.entry(answer).or_insert(split);
                }
            }
        }
        held
    }
}

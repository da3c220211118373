//! Which entities may be new answers to a query: none that is known, none of another kind, and no entity itself where
//! the data never has that.

use std::collections::BTreeMap;

use crate::constraint::Refusals;
use crate::graph::{Background, Dataset, Direction, Entity, Kinds, Predicate, Query, Split};

/// What may be a new answer to queries about one target.
pub struct Guard<'a> {
    data: &'a Dataset,
    background: Background,
    irreflexive: bool,
    /// Whether entities are of a kind that the target has at its tails, and at its heads.
    admitted: [Vec<bool>; 2],
    refusals: Option<Refusals<'a>>,
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
        Guard { data, background, irreflexive, admitted, refusals: None }
    }

    /// The same, where a known end may have as many answers as it can have.
    #[must_use]
    pub fn refusing(self, refusals: Refusals<'a>) -> Self {
        Guard { refusals: Some(refusals), ..self }
    }

    /// Whether the known end has as many answers as it can have.
    pub fn is_full(&self, query: Query) -> bool {
        self.refusals.as_ref().is_some_and(|refusals| refusals.is_full(query.direction, query.known))
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

    /// One query, with the answers that splits hold.
    pub fn ask(&self, query: Query) -> GuardedQuery<'_> {
        let mut held = BTreeMap::new();
        for split in Split::ALL {
            for &fact in self.data.split(split) {
                let (asked, answer) = Query::of(fact, query.direction);
                if asked == query {
                    held.entry(answer).or_insert(split);
                }
            }
        }
        GuardedQuery { guard: self, query, held, is_full: self.is_full(query) }
    }
}

/// A query with the answers that splits hold.
pub struct GuardedQuery<'a> {
    guard: &'a Guard<'a>,
    query: Query,
    held: BTreeMap<Entity, Split>,
    is_full: bool,
}

impl GuardedQuery<'_> {
    /// The first split that holds an answer.
    pub fn split(&self, entity: Entity) -> Option<Split> {
        self.held.get(&entity).copied()
    }

    /// Whether it is a known answer.
    pub fn is_known(&self, entity: Entity) -> bool {
        self.split(entity).is_some_and(|split| self.guard.is_known(split))
    }

    /// How many answers are known, without this one.
    pub fn known_answers(&self, but: Option<Entity>) -> usize {
        self.held.keys().filter(|&&entity| Some(entity) != but && self.is_known(entity)).count()
    }

    /// Whether an entity may be an answer: one that is not known, or any.
    pub fn admits(&self, entity: Entity, known_too: bool) -> bool {
        let is_new = || !self.is_known(entity) && !self.is_full;
        self.guard.admits(self.query, entity) && (known_too || is_new())
    }
}

//! For every predicate, sorted lists of neighbours in both directions.
//!
//! In: facts. Out: [`Neighbours`], which exact evaluation reads.

use std::borrow::Cow;

use super::rows::Rows;
use super::{Entity, Predicate, Property, PropertyFact, Sizes, Triple};

/// The facts that rules are evaluated on.
#[derive(Clone, Debug)]
pub struct Neighbours {
    entities: usize,
    tails: Vec<Rows>,
    heads: Vec<Rows>,
    owners: Vec<Vec<u32>>,
}

impl Neighbours {
    /// The given facts; facts given twice count once.
    pub fn new(sizes: Sizes, facts: &[Triple], property_facts: &[PropertyFact]) -> Self {
        let Sizes { entities, predicates, properties } = sizes;
        let mut of: Vec<Vec<(u32, u32)>> = vec![Vec::new(); predicates];
        for fact in facts {
            of[fact.predicate.index()].push((fact.head.0, fact.tail.0));
        }
        let mut index = Neighbours {
            entities,
            tails: Vec::new(),
            heads: Vec::new(),
            owners: vec![Vec::new(); properties],
        };
        for mut pairs in of {
            pairs.sort_unstable();
            pairs.dedup();
            index.tails.push(Rows::new(entities, &pairs));
            let mut pairs: Vec<(u32, u32)> = pairs.into_iter().map(|(head, tail)| (tail, head)).collect();
            pairs.sort_unstable();
            index.heads.push(Rows::new(entities, &pairs));
        }
        for fact in property_facts {
            index.owners[fact.property.index()].push(fact.entity.0);
        }
        for owners in &mut index.owners {
            owners.sort_unstable();
            owners.dedup();
        }
        index
    }

    /// How many entities there are.
    pub fn entities(&self) -> usize {
        self.entities
    }

    /// How many predicates there are.
    pub fn predicates(&self) -> usize {
        self.tails.len()
    }

    /// How many properties there are.
    pub fn properties(&self) -> usize {
        self.owners.len()
    }

    /// All tails of `predicate(head, ?)`, sorted.
    pub fn tails(&self, predicate: Predicate, head: Entity) -> &[u32] {
        self.tails[predicate.index()].row(head.0)
    }

    /// All heads of `predicate(?, tail)`, sorted.
    pub fn heads(&self, predicate: Predicate, tail: Entity) -> &[u32] {
        self.heads[predicate.index()].row(tail.0)
    }

    /// All that have `property`, sorted.
    pub fn owners(&self, property: Property) -> &[u32] {
        &self.owners[property.index()]
    }

    /// How many facts `predicate` has.
    pub fn count(&self, predicate: Predicate) -> usize {
        self.tails[predicate.index()].len()
    }

    /// Whether `fact` is one of them.
    pub fn holds(&self, fact: Triple) -> bool {
        self.tails(fact.predicate, fact.head).binary_search(&fact.tail.0).is_ok()
    }

    /// All pairs of `predicate`, sorted.
    pub fn pairs(&self, predicate: Predicate) -> impl Iterator<Item = (Entity, Entity)> + '_ {
        self.tails[predicate.index()].entries().map(|(head, tail)| (Entity(head), Entity(tail)))
    }

    /// The neighbours of `from` under `predicate`, read forward or backward, one fact left out.
    pub(crate) fn neighbours(
        &self,
        predicate: Predicate,
        forward: bool,
        from: u32,
        without: Option<Triple>,
    ) -> Cow<'_, [u32]> {
        let from = Entity(from);
        let row = if forward { self.tails(predicate, from) } else { self.heads(predicate, from) };
        let gone = without.filter(|fact| fact.predicate == predicate).and_then(|fact| {
            let (near, far) = if forward { (fact.head, fact.tail) } else { (fact.tail, fact.head) };
            if near == from { row.binary_search(&far.0).ok() } else { None }
        });
        match gone {
            None => Cow::Borrowed(row),
            Some(place) => Cow::Owned([&row[..place], &row[place + 1..]].concat()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_found_in_both_directions_and_one_can_be_left_out() {
        let facts = [Triple::new(0, 1, 2), Triple::new(0, 1, 1), Triple::new(0, 1, 2), Triple::new(2, 0, 2)];
        let property_facts = [PropertyFact { entity: Entity(1), property: Property(0) }];
        let sizes = Sizes { entities: 3, predicates: 2, properties: 1 };
        let index = Neighbours::new(sizes, &facts, &property_facts);
        assert_eq!(index.tails(Predicate(1), Entity(0)), [1, 2]);
        assert_eq!(index.heads(Predicate(1), Entity(2)), [0]);
        assert_eq!(index.owners(Property(0)), [1]);
        assert_eq!((index.count(Predicate(1)), index.count(Predicate(0))), (2, 1));
        let left_out = Some(Triple::new(0, 1, 2));
        assert_eq!(index.neighbours(Predicate(1), true, 0, left_out).as_ref(), [1]);
        assert!(index.neighbours(Predicate(1), false, 2, left_out).is_empty());
        assert_eq!(index.neighbours(Predicate(0), false, 2, left_out).as_ref(), [2]);
    }
}

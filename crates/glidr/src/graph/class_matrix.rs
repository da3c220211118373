//! The background graph as inference reads it.
//!
//! In: facts with values. Out: for every entity, its neighbours, each with a *class*: the set of
//! extended predicates (with values) that hold between the two. FB15k-237 has 335,000 linked
//! pairs but only 2,531 classes, so a slot's soft adjacency matrix **M** (`eq:soft_adj_mtx`) is
//! one short table from class to value, and never built dense.

use super::classes::{ClassFinder, Properties};
use super::{Classes, Link, Member, PropertyFact, Sizes, Triple};

/// Graphs with more entities are never treated as dense.
const MAX_DENSE: usize = 256;

/// The background graph 𝒢: who is linked to whom, and how.
#[derive(Clone, Debug)]
pub struct ClassMatrix {
    pub(super) sizes: Sizes,
    start: Vec<usize>,
    pub(super) links: Vec<Link>,
    pub(super) classes: Classes,
    pub(super) inverse: Vec<u32>,
    kind: Vec<u32>,
    kinds: Classes,
    facts: usize,
}

/// An entry before rows are formed: `filler` holds from `column` to `row`.
struct Entry {
    row: u32,
    column: u32,
    member: Member,
}

impl Entry {
    fn place(&self) -> (u32, u32, u32) {
        (self.row, self.column, self.member.filler)
    }
}

impl ClassMatrix {
    /// The matrix of plain facts, each of value 1; facts given twice count once.
    pub fn new(sizes: Sizes, facts: &[Triple], property_facts: &[PropertyFact]) -> Self {
        let facts = facts.iter().map(|&fact| (fact, 1.0));
        let property_facts = property_facts.iter().map(|&fact| (fact, 1.0));
        Self::build(sizes, facts, property_facts, true)
    }

    /// The matrix of facts with values, for work that needs the derivative by each value.
    ///
    /// Facts must be distinct. Every linked pair gets a class of its own, so the adjoint can tell
    /// one fact from another; facts are numbered in the order given, properties after them.
    pub fn valued(sizes: Sizes, facts: &[(Triple, f32)], property_facts: &[(PropertyFact, f32)]) -> Self {
        Self::build(sizes, facts.iter().copied(), property_facts.iter().copied(), false)
    }

    fn build(
        sizes: Sizes,
        facts: impl ExactSizeIterator<Item = (Triple, f32)>,
        property_facts: impl Iterator<Item = (PropertyFact, f32)>,
        shared: bool,
    ) -> Self {
        let mut entries = Vec::with_capacity(2 * facts.len());
        for (number, (fact, value)) in facts.enumerate() {
            let (head, tail, filler) = (fact.head.0, fact.tail.0, fact.predicate.0);
            let inverse = filler + sizes.predicates as u32;
            let fact = if shared { u32::MAX } else { number as u32 };
            entries.push(Entry { row: tail, column: head, member: Member { filler, value, fact } });
            entries.push(Entry { row: head, column: tail, member: Member { filler: inverse, value, fact } });
        }
        entries.sort_unstable_by_key(Entry::place);
        if shared {
            entries.dedup_by_key(|entry| entry.place());
        }
        let mut finder = ClassFinder::new(shared);
        let mut links = Vec::new();
        let mut start = vec![0; sizes.entities + 1];
        for pair in entries.chunk_by(|a, b| (a.row, a.column) == (b.row, b.column)) {
            let members: Vec<Member> = pair.iter().map(|entry| entry.member).collect();
            links.push(Link { entity: pair[0].column, class: finder.class(&members) });
            start[pair[0].row as usize + 1] += 1;
        }
        for row in 0..sizes.entities {
            start[row + 1] += start[row];
        }
        let facts = entries.len() / 2;
        let Properties { kind, kinds, count } =
            Properties::new(sizes.entities, facts, property_facts, shared);
        let mut matrix = ClassMatrix {
            sizes,
            start,
            links,
            inverse: Vec::new(),
            classes: finder.classes,
            kind,
            kinds,
            facts: facts + count,
        };
        matrix.inverse = matrix.inverses();
        matrix
    }

    /// For each class the class of the same pairs read the other way round.
    fn inverses(&self) -> Vec<u32> {
        let mut inverse = vec![u32::MAX; self.classes.len()];
        for entity in 0..self.sizes.entities {
            for link in self.row(entity) {
                if inverse[link.class as usize] == u32::MAX {
                    let back = self.class(entity, link.entity as usize);
                    inverse[link.class as usize] = back.expect("every pair is linked in both directions");
                }
            }
        }
        inverse
    }

    /// The neighbours of `entity`, sorted; classes are of the pair (neighbour → `entity`).
    #[inline]
    pub fn row(&self, entity: usize) -> &[Link] {
        &self.links[self.start[entity]..self.start[entity + 1]]
    }

    /// The class of the ordered pair (`from` → `to`), if anything links them.
    pub fn class(&self, from: usize, to: usize) -> Option<u32> {
        self.place(from, to).map(|place| self.links[place].class)
    }

    /// The place of the link of the ordered pair (`from` → `to`).
    pub(super) fn place(&self, from: usize, to: usize) -> Option<usize> {
        let found = self.row(to).binary_search_by_key(&(from as u32), |link| link.entity);
        found.ok().map(|place| self.start[to] + place)
    }

    /// How many entities there are.
    pub fn entities(&self) -> usize {
        self.sizes.entities
    }

    /// How many predicates there are.
    pub fn predicates(&self) -> usize {
        self.sizes.predicates
    }

    /// How many properties there are.
    pub fn properties(&self) -> usize {
        self.sizes.properties
    }

    /// How many facts it was built from, properties included.
    pub fn facts(&self) -> usize {
        self.facts
    }

    /// How many ordered pairs are linked.
    pub fn linked_pairs(&self) -> usize {
        self.links.len()
    }

    /// Whether so many pairs are linked that messages are better sent as dense products.
    pub fn is_dense(&self) -> bool {
        self.sizes.entities <= MAX_DENSE && 4 * self.links.len() >= self.sizes.entities * self.sizes.entities
    }

    /// The share of all links that lie within two steps of an entity, on average: how far a
    /// query's neighbourhood covers the graph.
    pub fn reach(&self) -> f64 {
        let degree = |entity: usize| self.row(entity).len() as f64;
        let two_steps: f64 = (0..self.sizes.entities).map(|entity| degree(entity) * degree(entity)).sum();
        two_steps / (self.sizes.entities as f64 * self.links.len().max(1) as f64)
    }

    /// The sets of fillers that occur between two entities.
    pub fn classes(&self) -> &Classes {
        &self.classes
    }

    /// The class of the same pair read the other way round.
    #[inline]
    pub fn inverse(&self, class: u32) -> u32 {
        self.inverse[class as usize]
    }

    /// The set of properties of `entity`, as a number into [`ClassMatrix::kinds`].
    #[inline]
    pub fn kind(&self, entity: usize) -> u32 {
        self.kind[entity]
    }

    /// The sets of properties that occur.
    pub fn kinds(&self) -> &Classes {
        &self.kinds
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Entity, Property};
    use super::*;

    #[test]
    fn a_pair_holds_its_fillers_in_both_directions() {
        let facts = [Triple::new(0, 1, 2), Triple::new(2, 0, 0), Triple::new(1, 1, 1)];
        let sizes = Sizes { entities: 3, predicates: 2, properties: 0 };
        let graph = ClassMatrix::new(sizes, &facts, &[]);
        let fillers = |from, to| -> Vec<u32> {
            let class = graph.class(from, to).expect("linked") as usize;
            graph.classes().members(class).iter().map(|member| member.filler).collect()
        };
        // 0 → 2: predicate 1 directly, predicate 0 as an inverse (2 + 0).
        assert_eq!(fillers(0, 2), [1, 2]);
        assert_eq!(fillers(2, 0), [0, 3]);
        assert_eq!(fillers(1, 1), [1, 3]);
        assert_eq!(graph.class(0, 1), None);
        let there = graph.class(0, 2).expect("linked");
        assert_eq!(graph.inverse(there), graph.class(2, 0).expect("linked"));
        assert_eq!(graph.linked_pairs(), 3);
    }

    #[test]
    fn equal_sets_share_a_class_unless_values_are_asked_for() {
        let facts = [Triple::new(0, 0, 1), Triple::new(1, 0, 2)];
        let property_facts = [PropertyFact { entity: Entity(1), property: Property(0) }];
        let sizes = Sizes { entities: 3, predicates: 1, properties: 1 };
        assert_eq!(ClassMatrix::new(sizes, &facts, &property_facts).classes().len(), 2);
        let twice =
            ClassMatrix::new(sizes, &[facts, facts].concat(), &[property_facts, property_facts].concat());
        assert_eq!((twice.facts(), twice.classes().len()), (3, 2));
        let half = facts.map(|fact| (fact, 0.5));
        let valued = ClassMatrix::valued(sizes, &half, &property_facts.map(|fact| (fact, 0.25)));
        assert_eq!((valued.classes().len(), valued.kinds().len()), (4, 3));
        assert_eq!(valued.kinds().members(valued.kind(1) as usize)[0].fact, 2);
    }
}

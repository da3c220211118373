//! The background graph as inference reads it.
//!
//! In: facts with values. Out: for every entity, its neighbours, each with a *class*: the set of
//! extended predicates (with values) that hold between the two. FB15k-237 has 335,000 linked
//! pairs but only 2,531 classes, so a slot's soft adjacency matrix **M** (`eq:soft_adj_mtx`) is
//! one short table from class to value, and never built dense.

use std::collections::HashMap;

use super::{PropertyFact, Triple};

/// Graphs with more entities are never treated as dense.
const LARGEST_DENSE: usize = 256;

/// One entry of a row: a neighbour and the class of the ordered pair (neighbour → row's entity).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The neighbour.
    pub entity: u32,
    /// Which fillers hold from the neighbour to the row's entity.
    pub class: u32,
}

/// One filler of a class and its value, 1 when symbolic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// Number of the filler: predicates, then inverses; or the property.
    pub filler: u32,
    /// The fact's value.
    pub value: f32,
    /// The fact it came from, in a graph built with [`ClassMatrix::valued`].
    pub fact: u32,
}

/// Sets of fillers, each held once.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    start: Vec<u32>,
    members: Vec<Member>,
}

impl Classes {
    /// How many classes there are.
    pub fn len(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The fillers of one class.
    pub fn members(&self, class: usize) -> &[Member] {
        &self.members[self.start[class] as usize..self.start[class + 1] as usize]
    }

    pub(super) fn push(&mut self, members: &[Member]) -> u32 {
        if self.start.is_empty() {
            self.start.push(0);
        }
        self.members.extend_from_slice(members);
        self.start.push(self.members.len() as u32);
        self.start.len() as u32 - 2
    }
}

/// Finds the class of a set of fillers, adding it when new; never shares one in a valued graph.
struct ClassFinder {
    classes: Classes,
    shared: bool,
    found: HashMap<Vec<(u32, u32)>, u32>,
}

impl ClassFinder {
    fn new(shared: bool) -> Self {
        ClassFinder { classes: Classes::default(), shared, found: HashMap::new() }
    }

    fn class(&mut self, members: &[Member]) -> u32 {
        if !self.shared {
            return self.classes.push(members);
        }
        let key: Vec<(u32, u32)> = members.iter().map(|m| (m.filler, m.value.to_bits())).collect();
        if let Some(&class) = self.found.get(&key) {
            return class;
        }
        let class = self.classes.push(members);
        self.found.insert(key, class);
        class
    }
}

/// The background graph 𝒢: who is linked to whom, and how.
#[derive(Clone, Debug)]
pub struct ClassMatrix {
    entities: usize,
    pub(super) predicates: usize,
    properties: usize,
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

impl ClassMatrix {
    /// The graph of plain facts, each of value 1; facts given twice count once.
    pub fn new(
        entities: usize,
        predicates: usize,
        properties: usize,
        facts: &[Triple],
        property_facts: &[PropertyFact],
    ) -> Self {
        let (mut facts, mut property_facts) = (facts.to_vec(), property_facts.to_vec());
        facts.sort_unstable();
        facts.dedup();
        property_facts.sort_unstable();
        property_facts.dedup();
        let (ones, property_ones) = (vec![1.0; facts.len()], vec![1.0; property_facts.len()]);
        Self::build([entities, predicates, properties], &facts, &ones, &property_facts, &property_ones, true)
    }

    /// The graph of facts with values, for work that needs the derivative by each value.
    ///
    /// Facts must be distinct. Every linked pair gets a class of its own, so the adjoint can tell
    /// one fact from another; facts are numbered in the order given, properties after them.
    pub fn valued(
        sizes: [usize; 3],
        facts: &[Triple],
        values: &[f32],
        property_facts: &[PropertyFact],
        property_values: &[f32],
    ) -> Self {
        Self::build(sizes, facts, values, property_facts, property_values, false)
    }

    fn build(
        [entities, predicates, properties]: [usize; 3],
        facts: &[Triple],
        values: &[f32],
        property_facts: &[PropertyFact],
        property_values: &[f32],
        shared: bool,
    ) -> Self {
        assert_eq!(
            (facts.len(), property_facts.len()),
            (values.len(), property_values.len()),
            "a value for every fact"
        );
        let mut entries = Vec::with_capacity(2 * facts.len());
        for (number, (fact, &value)) in facts.iter().zip(values).enumerate() {
            let (head, tail, filler) = (fact.head.0, fact.tail.0, fact.predicate.0);
            let inverse = filler + predicates as u32;
            let fact = if shared { u32::MAX } else { number as u32 };
            entries.push(Entry { row: tail, column: head, member: Member { filler, value, fact } });
            entries.push(Entry { row: head, column: tail, member: Member { filler: inverse, value, fact } });
        }
        entries.sort_unstable_by_key(|entry| (entry.row, entry.column, entry.member.filler));
        let mut finder = ClassFinder::new(shared);
        let mut links = Vec::new();
        let mut start = vec![0; entities + 1];
        for pair in entries.chunk_by(|a, b| (a.row, a.column) == (b.row, b.column)) {
            let members: Vec<Member> = pair.iter().map(|entry| entry.member).collect();
            links.push(Link { entity: pair[0].column, class: finder.class(&members) });
            start[pair[0].row as usize + 1] += 1;
        }
        for row in 0..entities {
            start[row + 1] += start[row];
        }
        let (kind, kinds) = kinds(entities, facts.len(), property_facts, property_values, shared);
        let mut graph = ClassMatrix {
            entities,
            predicates,
            properties,
            start,
            links,
            inverse: Vec::new(),
            classes: finder.classes,
            kind,
            kinds,
            facts: facts.len() + property_facts.len(),
        };
        graph.inverse = graph.inverses();
        graph
    }

    /// For each class the class of the same pairs read the other way round.
    fn inverses(&self) -> Vec<u32> {
        let mut inverse = vec![u32::MAX; self.classes.len()];
        for entity in 0..self.entities {
            for link in self.row(entity) {
                if inverse[link.class as usize] == u32::MAX {
                    let back = self.class(entity, link.entity as usize);
                    inverse[link.class as usize] = back.expect("every pair is linked both ways");
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

    /// Where the link of the ordered pair (`from` → `to`) stands.
    pub(super) fn place(&self, from: usize, to: usize) -> Option<usize> {
        let found = self.row(to).binary_search_by_key(&(from as u32), |link| link.entity);
        found.ok().map(|place| self.start[to] + place)
    }

    /// How many entities there are.
    pub fn entities(&self) -> usize {
        self.entities
    }

    /// How many predicates there are.
    pub fn predicates(&self) -> usize {
        self.predicates
    }

    /// How many properties there are.
    pub fn properties(&self) -> usize {
        self.properties
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
        self.entities <= LARGEST_DENSE && 4 * self.links.len() >= self.entities * self.entities
    }

    /// The share of all links that lie within two steps of an entity, on average: how far a
    /// query's neighbourhood covers the graph.
    pub fn reach(&self) -> f64 {
        let degree = |entity: usize| self.row(entity).len() as f64;
        let two_steps: f64 = (0..self.entities).map(|entity| degree(entity) * degree(entity)).sum();
        two_steps / (self.entities as f64 * self.links.len().max(1) as f64)
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

/// Each entity's set of properties.
fn kinds(
    entities: usize,
    first: usize,
    property_facts: &[PropertyFact],
    values: &[f32],
    shared: bool,
) -> (Vec<u32>, Classes) {
    let mut of: Vec<Vec<Member>> = vec![Vec::new(); entities];
    for (number, (fact, &value)) in property_facts.iter().zip(values).enumerate() {
        let fact_number = if shared { u32::MAX } else { (first + number) as u32 };
        of[fact.entity.index()].push(Member { filler: fact.property.0, value, fact: fact_number });
    }
    let mut finder = ClassFinder::new(shared);
    let mut kind = Vec::with_capacity(entities);
    for mut members in of {
        members.sort_unstable_by_key(|member| member.filler);
        kind.push(finder.class(&members));
    }
    (kind, finder.classes)
}

#[cfg(test)]
mod tests {
    use super::super::{Entity, Property};
    use super::*;

    #[test]
    fn a_pair_holds_its_fillers_in_both_directions() {
        let facts = [Triple::new(0, 1, 2), Triple::new(2, 0, 0), Triple::new(1, 1, 1)];
        let graph = ClassMatrix::new(3, 2, 0, &facts, &[]);
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
        assert_eq!(ClassMatrix::new(3, 1, 1, &facts, &property_facts).classes().len(), 2);
        let valued = ClassMatrix::valued([3, 1, 1], &facts, &[0.5, 0.5], &property_facts, &[0.25]);
        assert_eq!((valued.classes().len(), valued.kinds().len()), (4, 3));
        assert_eq!(valued.kinds().members(valued.kind(1) as usize)[0].fact, 2);
    }
}

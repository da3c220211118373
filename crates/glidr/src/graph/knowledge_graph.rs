//! The background graph 𝒢: the facts, and the indices that inference reads.
//!
//! In: facts. Out: a [`ClassMatrix`] for message passing and [`Neighbours`] for exact evaluation, each
//! built when first asked for. Paper: `def:background_graph`.

use std::sync::OnceLock;

use super::{ClassMatrix, Neighbours, PropertyFact, Sizes, Triple};

/// Facts and their indices. Threads may share it: an index is built once, by the first who asks.
///
/// ```
/// use glidr::internals::graph::{Entity, KnowledgeGraph, Predicate, Sizes, Triple};
/// let sizes = Sizes { entities: 3, predicates: 1, properties: 0 };
/// let graph = KnowledgeGraph::new(sizes, vec![Triple::new(0, 0, 1), Triple::new(0, 0, 2)], Vec::new());
/// assert_eq!(graph.neighbours().tails(Predicate(0), Entity(0)), [1, 2]);
/// assert_eq!(graph.adjacency().linked_pairs(), 4);
/// ```
#[derive(Clone, Debug, Default)]
pub struct KnowledgeGraph {
    sizes: Sizes,
    facts: Vec<Triple>,
    property_facts: Vec<PropertyFact>,
    adjacency: OnceLock<ClassMatrix>,
    neighbours: OnceLock<Neighbours>,
}

impl KnowledgeGraph {
    /// The graph of these facts; facts given twice count once.
    pub fn new(sizes: Sizes, mut facts: Vec<Triple>, mut property_facts: Vec<PropertyFact>) -> Self {
        facts.sort_unstable();
        facts.dedup();
        property_facts.sort_unstable();
        property_facts.dedup();
        KnowledgeGraph { sizes, facts, property_facts, ..Self::default() }
    }

    /// The same graph without one fact: a rule that is asked about a fact must not look it up.
    #[must_use]
    pub fn without(&self, fact: Triple) -> Self {
        let facts = self.facts.iter().copied().filter(|&known| known != fact).collect();
        KnowledgeGraph {
            sizes: self.sizes,
            facts,
            property_facts: self.property_facts.clone(),
            ..Self::default()
        }
    }

    /// How many entities, predicates and properties there are.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// How many entities there are.
    pub fn entities(&self) -> usize {
        self.sizes.entities
    }

    /// The triples, sorted and distinct.
    pub fn facts(&self) -> &[Triple] {
        &self.facts
    }

    /// The property facts, sorted and distinct.
    pub fn property_facts(&self) -> &[PropertyFact] {
        &self.property_facts
    }

    /// Whether `fact` is one of the facts.
    pub fn holds(&self, fact: Triple) -> bool {
        self.facts.binary_search(&fact).is_ok()
    }

    /// The index for message passing.
    pub fn adjacency(&self) -> &ClassMatrix {
        self.adjacency.get_or_init(|| ClassMatrix::new(self.sizes, &self.facts, &self.property_facts))
    }

    /// The index for exact evaluation.
    pub fn neighbours(&self) -> &Neighbours {
        self.neighbours.get_or_init(|| Neighbours::new(self.sizes, &self.facts, &self.property_facts))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Entity, Predicate, Property};
    use super::*;

    const SIZES: Sizes = Sizes { entities: 5, predicates: 3, properties: 2 };

    fn facts() -> impl Strategy<Value = (Vec<Triple>, Vec<PropertyFact>)> {
        let fact = (0..5u32, 0..3u32, 0..5u32).prop_map(|(h, p, t)| Triple::new(h, p, t));
        let property =
            (0..5u32, 0..2u32).prop_map(|(e, q)| PropertyFact { entity: Entity(e), property: Property(q) });
        (prop::collection::vec(fact, 0..30), prop::collection::vec(property, 0..10))
    }

    /// The facts that an adjacency holds, read from predicates and from inverses.
    fn read_back(matrix: &ClassMatrix) -> [Vec<Triple>; 2] {
        let mut read = [Vec::new(), Vec::new()];
        for to in 0..SIZES.entities as u32 {
            for link in matrix.row(to as usize) {
                for member in matrix.classes().members(link.class as usize) {
                    match member.filler.checked_sub(SIZES.predicates as u32) {
                        None => read[0].push(Triple::new(link.entity, member.filler, to)),
                        Some(predicate) => read[1].push(Triple::new(to, predicate, link.entity)),
                    }
                }
            }
        }
        read.map(|mut facts| {
            facts.sort_unstable();
            facts
        })
    }

    proptest! {
        #[test]
        fn both_indices_hold_the_facts_and_nothing_else((facts, property_facts) in facts(), gone in 0usize..30) {
            let all = KnowledgeGraph::new(SIZES, facts.clone(), property_facts);
            let without = facts.get(gone).map(|&fact| all.without(fact));
            for graph in [&all, without.as_ref().unwrap_or(&all)] {
                let neighbours = graph.neighbours();
                let predicates = (0..SIZES.predicates as u32).map(Predicate);
                let mut pairs: Vec<Triple> = predicates
                    .flat_map(|predicate| {
                        neighbours.pairs(predicate).map(move |(head, tail)| Triple { head, predicate, tail })
                    })
                    .collect();
                pairs.sort_unstable();
                prop_assert_eq!(&pairs, graph.facts());
                for &fact in &pairs {
                    prop_assert!(graph.holds(fact));
                    prop_assert!(neighbours.heads(fact.predicate, fact.tail).contains(&fact.head.0));
                }
                prop_assert_eq!(read_back(graph.adjacency()), [pairs.clone(), pairs]);
                let adjacency = graph.adjacency();
                for fact in graph.property_facts() {
                    prop_assert!(neighbours.owners(fact.property).contains(&fact.entity.0));
                    let kind = adjacency.kinds().members(adjacency.kind(fact.entity.index()) as usize);
                    prop_assert!(kind.iter().any(|member| member.filler == fact.property.0));
                }
                prop_assert_eq!(adjacency.facts(), graph.facts().len() + graph.property_facts().len());
            }
            if let Some(&fact) = facts.get(gone) {
                prop_assert!(all.holds(fact) && !all.without(fact).holds(fact));
            }
        }
    }
}

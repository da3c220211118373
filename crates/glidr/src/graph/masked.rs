//! A graph in which facts of one predicate can be masked.
//!
//! Learning from *all* known facts asks about facts that are in the background. The facts of a
//! batch are masked for its step, so that no rule proves a fact by itself.

use std::collections::HashMap;

use super::{ClassMatrix, Entity, Member, Predicate};

/// A copy of a graph whose facts of one predicate can be hidden.
///
/// ```
/// use glidr::internals::graph::{ClassMatrix, Entity, MaskedGraph, Predicate, Sizes, Triple};
/// let sizes = Sizes { entities: 2, predicates: 2, properties: 0 };
/// let graph = ClassMatrix::new(sizes, &[Triple::new(0, 0, 1), Triple::new(0, 1, 1)], &[]);
/// let mut masked = MaskedGraph::new(&graph, Predicate(0));
/// let hidden = masked.without(&[(Entity(0), Entity(1))]);
/// let class = hidden.class(0, 1).expect("still linked by the other predicate");
/// assert_eq!(hidden.classes().members(class as usize).len(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct MaskedGraph {
    graph: ClassMatrix,
    /// Per class: the class without the predicate, and without its inverse.
    without: Vec<[u32; 2]>,
    changed: Vec<(usize, u32)>,
}

impl MaskedGraph {
    /// Prepares a graph of plain facts. Every class that hiding can lead to is added now, so that
    /// the numbers of classes depend on nothing that happens later.
    pub fn new(graph: &ClassMatrix, predicate: Predicate) -> Self {
        let mut graph = graph.clone();
        let fillers = [predicate.0, predicate.0 + graph.predicates() as u32];
        let key = |members: &[Member]| -> Vec<u32> { members.iter().map(|member| member.filler).collect() };
        let mut found: HashMap<Vec<u32>, u32> = HashMap::new();
        for class in 0..graph.classes.len() {
            found.insert(key(graph.classes.members(class)), class as u32);
        }
        let mut without: Vec<[u32; 2]> = Vec::new();
        while without.len() < graph.classes.len() {
            let class = without.len();
            let mut less = [class as u32; 2];
            for (less, filler) in less.iter_mut().zip(fillers) {
                let all = graph.classes.members(class).to_vec();
                let rest: Vec<Member> =
                    all.iter().filter(|member| member.filler != filler).copied().collect();
                if rest.len() < all.len() {
                    let classes = &mut graph.classes;
                    *less = *found.entry(key(&rest)).or_insert_with(|| classes.push(&rest));
                }
            }
            without.push(less);
        }
        // What is without p one way is without p's inverse the other way.
        graph.inverse.resize(without.len(), 0);
        for class in 0..without.len() {
            for turn in 0..2 {
                let less = without[class][turn] as usize;
                if less != class {
                    graph.inverse[less] = without[graph.inverse[class] as usize][1 - turn];
                }
            }
        }
        MaskedGraph { graph, without, changed: Vec::new() }
    }

    /// The graph without the facts of the predicate about these pairs, and with all others.
    pub fn without(&mut self, pairs: &[(Entity, Entity)]) -> &ClassMatrix {
        for (place, class) in self.changed.drain(..).rev() {
            self.graph.links[place].class = class;
        }
        for &(head, tail) in pairs {
            for (turn, [from, to]) in [[head, tail], [tail, head]].into_iter().enumerate() {
                if let Some(place) = self.graph.place(from.index(), to.index()) {
                    let class = &mut self.graph.links[place].class;
                    self.changed.push((place, *class));
                    *class = self.without[*class as usize][turn];
                }
            }
        }
        &self.graph
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Sizes, Triple};
    use super::*;

    type Members = Vec<Vec<Vec<u32>>>;

    /// The fillers of every ordered pair; a pair without any is the same as no pair.
    fn fillers(graph: &ClassMatrix) -> Members {
        let of = |from, to| -> Vec<u32> {
            let class = graph.class(from, to);
            let members = class.map_or(&[][..], |class| graph.classes().members(class as usize));
            members.iter().map(|member| member.filler).collect()
        };
        (0..graph.entities()).map(|from| (0..graph.entities()).map(|to| of(from, to)).collect()).collect()
    }

    proptest! {
        #[test]
        fn a_masked_graph_is_the_graph_built_without_the_facts(
            facts in prop::collection::btree_set((0u32..5, 0u32..3, 0u32..5), 1..40),
            picks in prop::collection::vec(prop::collection::vec(0usize..40, 0..8), 1..4),
        ) {
            let facts: Vec<Triple> = facts.iter().map(|&(h, p, t)| Triple::new(h, p, t)).collect();
            let graph = ClassMatrix::new(Sizes { entities: 5, predicates: 3, properties: 0 }, &facts, &[]);
            let mut masked = MaskedGraph::new(&graph, Predicate(1));
            for picks in picks {
                let of_target: Vec<Triple> = facts.iter().filter(|fact| fact.predicate.0 == 1).copied().collect();
                let hidden: Vec<Triple> = picks.iter().filter_map(|&n| of_target.get(n)).copied().collect();
                let pairs: Vec<_> = hidden.iter().map(|fact| (fact.head, fact.tail)).collect();
                let rest: Vec<Triple> = facts.iter().filter(|fact| !hidden.contains(fact)).copied().collect();
                let masked = masked.without(&pairs);
                prop_assert_eq!(fillers(masked), fillers(&ClassMatrix::new(Sizes { entities: 5, predicates: 3, properties: 0 }, &rest, &[])));
                for entity in 0..5 {
                    for link in masked.row(entity) {
                        let back = masked.class(entity, link.entity as usize).expect("linked in both directions");
                        prop_assert_eq!(masked.inverse(link.class), back);
                    }
                }
            }
            prop_assert_eq!(fillers(masked.without(&[])), fillers(&graph));
        }
    }
}

//! New facts that contradict no constraint, nor each other.
//!
//! In: new facts, and what is known. Out: those that stay. Of facts that cannot be true together the least probable goes,
//! until nothing contradicts.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use super::NewFact;
use crate::constraint::KeptConstraint;
use crate::error::Result;
use crate::graph::{KnowledgeGraph, Predicate, Triple};

/// Drops what contradicts a constraint that is used for its predicate.
pub(super) fn consistent(
    mut new: Vec<NewFact>,
    constraints: &[KeptConstraint],
    known: &KnowledgeGraph,
) -> Result<Vec<NewFact>> {
    let mut used: HashMap<Predicate, Vec<&KeptConstraint>> = HashMap::new();
    for kept in constraints {
        for &target in &kept.used_for {
            used.entry(target).or_default().push(kept);
        }
    }
    loop {
        let by_fact: HashMap<Triple, NewFact> = new.iter().map(|new| (new.fact, *new)).collect();
        let facts: Vec<Triple> = known.facts().iter().copied().chain(by_fact.keys().copied()).collect();
        let graph = KnowledgeGraph::new(known.sizes(), facts, known.property_facts().to_vec());
        // Of a contradiction: the least probable of the new facts that the constraint speaks of.
        let dropped = |new: &NewFact| -> Result<Vec<Triple>> {
            let mut dropped = Vec::new();
            for kept in used.get(&new.fact.predicate).into_iter().flatten() {
                let Some(others) = kept.constraint.denial.against(graph.neighbours(), new.fact)? else {
                    continue;
                };
                let others = others.iter().filter_map(|other| by_fact.get(other));
                let others = others.filter(|other| kept.used_for.contains(&other.fact.predicate));
                dropped.extend(others.chain([new]).min().map(|least| least.fact));
            }
            Ok(dropped)
        };
        let all: Vec<Vec<Triple>> = new.par_iter().map(dropped).collect::<Result<_>>()?;
        let dropped: HashSet<Triple> = all.into_iter().flatten().collect();
        if dropped.is_empty() {
            return Ok(new);
        }
        new.retain(|new| !dropped.contains(&new.fact));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraint::{Constraint, Denial};
    use crate::graph::{Direction, Sizes};

    fn new(head: u32, predicate: u32, tail: u32, probability: f64) -> NewFact {
        NewFact { fact: Triple::new(head, predicate, tail), probability, rule: None, is_held_out: false }
    }

    fn kept(denial: Denial) -> KeptConstraint {
        let used_for = denial.targets();
        KeptConstraint { constraint: Constraint { denial, confidence: 1.0, counts: None }, used_for }
    }

    #[test]
    fn of_new_facts_that_contradict_each_other_the_more_probable_stays() {
        let sizes = Sizes { entities: 9, predicates: 2, properties: 0 };
        let known = KnowledgeGraph::new(sizes, vec![Triple::new(5, 0, 6)], Vec::new());
        let constraints = [
            kept(Denial::disjoint(Predicate(0), (Predicate(1), true))),
            kept(Denial::AtLeast { predicate: Predicate(0), counted: Direction::Tail, count: 2 }),
        ];
        let all = vec![
            new(0, 0, 1, 0.9),
            new(0, 1, 1, 0.8),  // disjoint with the one above
            new(0, 0, 2, 0.7),  // a second tail
            new(0, 1, 2, 0.6),  // disjoint with the one above, which goes itself
            new(5, 0, 7, 0.99), // a second tail of a known fact
            new(3, 1, 4, 0.1),
        ];
        let stays = consistent(all, &constraints, &known).expect("sound constraints");
        let stays: Vec<Triple> = stays.iter().map(|new| new.fact).collect();
        assert_eq!(stays, [Triple::new(0, 0, 1), Triple::new(3, 1, 4)]);
    }
}

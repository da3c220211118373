//! Paths of one or two steps between the ends of a pair, by number.
//!
//! In: a [`ClassMatrix`]. Out: which paths link a pair. What learns denials of two steps and what checks data count these.

use crate::graph::{ClassMatrix, Link, Predicate};
use crate::rule::{Atom, Literal, Rule, Term};

/// Entities between two others that are looked at, at most: hubs link all to all and tell nothing.
const MAX_BETWEEN: usize = 1000;

/// A path of one or two steps, by number: steps are predicates, then inverses; a path of one step has the number of its
/// step.
pub(crate) type PathNumber = u64;

/// The paths of a graph.
#[derive(Clone, Copy)]
pub(crate) struct ShortPaths<'g>(pub &'g ClassMatrix);

impl ShortPaths<'_> {
    fn steps(self) -> u64 {
        2 * self.0.predicates() as u64
    }

    /// The paths that link a pair, sorted: over a third entity, where they have two steps.
    pub fn between(self, head: usize, tail: usize) -> Vec<PathNumber> {
        let graph = self.0;
        let steps = |class: u32| graph.classes().members(class as usize).iter().map(|m| u64::from(m.filler));
        let mut found: Vec<PathNumber> = graph.class(head, tail).into_iter().flat_map(steps).collect();
        let mut over = |first: &Link, second: &Link| {
            if first.entity as usize != head && first.entity as usize != tail {
                for one in steps(graph.inverse(first.class)) {
                    found.extend(steps(second.class).map(|two| self.steps() * (one + 1) + two));
                }
            }
        };
        let (heads, tails) = (graph.row(head), graph.row(tail));
        let at = |row: &[Link], entity| row.binary_search_by_key(&entity, |link: &Link| link.entity).ok();
        if heads.len() < tails.len() {
            let common = heads.iter().filter_map(|first| Some((first, &tails[at(tails, first.entity)?])));
            common.take(MAX_BETWEEN).for_each(|(first, second)| over(first, second));
        } else {
            let common = tails.iter().filter_map(|second| Some((&heads[at(heads, second.entity)?], second)));
            common.take(MAX_BETWEEN).for_each(|(first, second)| over(first, second));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether a path is that one step of a predicate.
    pub fn is_step(self, path: PathNumber, predicate: Predicate, forward: bool) -> bool {
        path == u64::from(predicate.0) + if forward { 0 } else { self.0.predicates() as u64 }
    }

    /// Whether a path has two steps.
    pub fn is_long(self, path: PathNumber) -> bool {
        path >= self.steps()
    }

    /// The rule whose body is a path.
    pub fn rule(self, target: Predicate, path: PathNumber) -> Rule {
        let predicates = self.0.predicates() as u64;
        let atom = |step: u64, from, to| {
            let predicate = Predicate((step % predicates) as u32);
            let (a, b) = if step < predicates { (from, to) } else { (to, from) };
            Literal::any_of(vec![Atom::Pair(predicate, a, b)])
        };
        let middle = Term::Z(1);
        let body = if self.is_long(path) {
            let (one, two) = (path / self.steps() - 1, path % self.steps());
            vec![atom(one, Term::X, middle), atom(two, middle, Term::Y)]
        } else {
            vec![atom(path, Term::X, Term::Y)]
        };
        Rule::new(target, &body)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::{Entity, KnowledgeGraph, Sizes, Triple};
    use crate::solve::{Limits, Solver};

    proptest! {
        #[test]
        fn a_path_links_a_pair_exactly_if_its_body_holds_there(
            facts in prop::collection::vec((0..7u32, 0..2u32, 0..7u32), 1..25),
        ) {
            let facts = facts.into_iter().filter(|(head, _, tail)| head != tail);
            let facts: Vec<Triple> = facts.map(|(h, p, t)| Triple::new(h, p, t)).collect();
            let graph =
                KnowledgeGraph::new(Sizes { entities: 7, predicates: 2, properties: 0 }, facts, Vec::new());
            let paths = ShortPaths(graph.adjacency());
            let all: Vec<PathNumber> = (0..4).chain(4..20).collect();
            for (head, tail) in (0..7).flat_map(|head| (0..7).map(move |tail| (head, tail))) {
                let found = paths.between(head, tail);
                for &path in &all {
                    let rule = paths.rule(Predicate(0), path);
                    let solver = Solver::new(&rule, graph.neighbours(), Limits::default()).expect("sound");
                    let holds = solver.holds(Entity(head as u32), Entity(tail as u32)).value;
                    prop_assert_eq!(found.binary_search(&path).is_ok(), holds, "{:?}", rule);
                }
            }
        }
    }
}

//! Chains of one or two steps that link the target's own pairs, and how many each links.

use crate::graph::{ClassMatrix, Entity, Predicate};
use crate::rule::{Atom, Literal, Rule, Term};

/// The step that is not there, in a chain of one.
pub(super) const NONE: usize = usize::MAX;

/// Fillers by number: predicates, then inverses.
pub(super) type Chain = (usize, usize);

/// All chains that link at least `least` of `pairs`, most first; a pair is never linked by the very
/// fact that it is.
pub(super) fn chains(
    graph: &ClassMatrix,
    target: Predicate,
    pairs: &[(Entity, Entity)],
    least: usize,
) -> Vec<(Rule, usize)> {
    let found = counted(graph, target, pairs, least);
    found.into_iter().map(|(chain, count)| (rule(chain, target, graph.predicates()), count)).collect()
}

/// The same by fillers.
pub(super) fn counted(
    graph: &ClassMatrix,
    target: Predicate,
    pairs: &[(Entity, Entity)],
    least: usize,
) -> Vec<(Chain, usize)> {
    let fillers = 2 * graph.predicates();
    let mut ones = vec![0usize; fillers];
    let mut twos = vec![(0usize, usize::MAX); fillers * fillers];
    for (number, &(head, tail)) in pairs.iter().enumerate() {
        let (a, b) = (head.index(), tail.index());
        // Whether filler f from u to v is the fact target(a, b) itself.
        let itself = |f: usize, u: usize, v: usize| {
            (f == target.index() && (u, v) == (a, b))
                || (f == target.index() + graph.predicates() && (v, u) == (a, b))
        };
        let members = |class: u32| graph.classes().members(class as usize).iter().map(|m| m.filler as usize);
        if let Some(class) = graph.class(a, b) {
            members(class).filter(|&f| !itself(f, a, b)).for_each(|f| ones[f] += 1);
        }
        for link in graph.row(a) {
            let z = link.entity as usize;
            let Some(second) = graph.class(z, b) else { continue };
            for f in members(graph.inverse(link.class)).filter(|&f| !itself(f, a, z)) {
                for g in members(second).filter(|&g| !itself(g, z, b)) {
                    let (count, last) = &mut twos[f * fillers + g];
                    *count += usize::from(*last != number);
                    *last = number;
                }
            }
        }
    }
    let ones = ones.into_iter().enumerate().map(|(f, count)| ((f, NONE), count));
    let twos = twos.into_iter().enumerate().map(|(n, (count, _))| ((n / fillers, n % fillers), count));
    let mut found: Vec<(Chain, usize)> = ones.chain(twos).filter(|(_, count)| *count >= least).collect();
    found.sort_by_key(|&(chain, count)| (std::cmp::Reverse(count), chain.1 != NONE, chain));
    found
}

fn rule((first, second): Chain, target: Predicate, predicates: usize) -> Rule {
    let literal = |filler: usize, a: Term, b: Term| {
        let atom = if filler < predicates {
            Atom::Pair(Predicate(filler as u32), a, b)
        } else {
            Atom::Pair(Predicate((filler - predicates) as u32), b, a)
        };
        Literal::any_of(vec![atom])
    };
    if second == NONE {
        Rule::new(target, &[literal(first, Term::X, Term::Y)])
    } else {
        Rule::new(target, &[literal(first, Term::X, Term::Z(1)), literal(second, Term::Z(1), Term::Y)])
    }
}

/// Both bodies at once, joined by X and Y alone; none where that has too many variables.
pub(super) fn both(a: &Rule, b: &Rule) -> Option<Rule> {
    let inner = a.variables() - 2;
    if inner + b.variables() > crate::rule::MAX_VARIABLES || a.min_groundings() > 1 || b.min_groundings() > 1
    {
        return None;
    }
    let moved = b.renamed(|term| match term {
        Term::Z(number) => Term::Z(number + inner as u8),
        other => other,
    });
    Some(Rule::new(a.target, &[a.body(), &moved].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{KnowledgeGraph, Sizes, Triple};
    use crate::solve::{Limits, Solver};

    #[test]
    fn a_chain_links_as_many_pairs_as_its_exact_support() {
        let mut facts = Vec::new();
        for n in 0..60u32 {
            facts.push(Triple::new(n * 7 % 11, n % 3, n * n % 11));
        }
        let sizes = Sizes { entities: 11, predicates: 3, properties: 0 };
        let graph = KnowledgeGraph::new(sizes, facts, Vec::new());
        let index = graph.neighbours();
        for target in (0..3).map(Predicate) {
            let pairs: Vec<_> = index.pairs(target).collect();
            let found = chains(graph.adjacency(), target, &pairs, 1);
            assert!(found.len() > 20, "{}", found.len());
            for (rule, count) in found {
                let measures = rule.measure(index, Limits::default()).expect("a sound rule").value;
                assert_eq!(measures.support, count, "{rule:?}");
            }
        }
    }

    #[test]
    fn folding_two_joined_bodies_drops_variables_and_changes_no_answer() {
        let facts: Vec<Triple> = (0..60u32).map(|n| Triple::new(n * 7 % 11, n % 3, n * n % 11)).collect();
        let sizes = Sizes { entities: 11, predicates: 3, properties: 0 };
        let graph = KnowledgeGraph::new(sizes, facts, Vec::new());
        let index = graph.neighbours();
        let answers =
            |rule: &Rule| Solver::new(rule, index, Limits::default()).expect("a sound rule").answers().value;
        let pairs: Vec<_> = index.pairs(Predicate(0)).collect();
        let found = chains(graph.adjacency(), Predicate(0), &pairs, 1);
        let mut shorter = 0;
        for (a, _) in found.iter().step_by(3) {
            for (b, _) in found.iter().step_by(4) {
                let joined = both(a, b).expect("few variables");
                let folded = joined.folded();
                assert_eq!(answers(&joined), answers(&folded), "{joined:?} and {folded:?}");
                shorter += usize::from(folded.variables() < joined.variables());
            }
        }
        assert!(shorter > 0, "a body joined with itself at least");
        let pair = |p, a, b| Literal::any_of(vec![Atom::Pair(Predicate(p), a, b)]);
        let loose =
            [pair(1, Term::Z(1), Term::X), pair(1, Term::Z(2), Term::X), pair(2, Term::Z(1), Term::Y)];
        let tight = [pair(1, Term::Z(1), Term::X), pair(2, Term::Z(1), Term::Y)];
        assert_eq!(Rule::new(Predicate(0), &loose).folded(), Rule::new(Predicate(0), &tight));
    }

    #[test]
    fn two_bodies_are_joined_by_the_ends_alone() {
        let pair = |p, a, b| Literal::any_of(vec![Atom::Pair(Predicate(p), a, b)]);
        let one = Rule::new(Predicate(0), &[pair(1, Term::X, Term::Z(1)), pair(2, Term::Z(1), Term::Y)]);
        let two = both(&one, &one).expect("few variables");
        assert_eq!((two.variables(), two.body().len()), (4, 4));
    }
}

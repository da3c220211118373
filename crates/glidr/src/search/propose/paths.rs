//! Paths of one or two steps that link the target's own pairs, most pairs first; and similarity paths of three.

use crate::graph::{ClassMatrix, Predicate};
use crate::search::body::{Body, Step, Steps};

/// The step that is not there, in a path of one.
const NONE: usize = usize::MAX;

/// Fillers by number: predicates, then inverses.
type Path = (usize, usize);

/// The `most` paths of one or two steps that link most of `pairs`, at least `min_support` of them; a pair is never
/// linked by the very fact that it is.
pub(in crate::search) fn paths(
    graph: &ClassMatrix,
    target: Predicate,
    pairs: &[(u32, u32)],
    min_support: usize,
    most: usize,
) -> Vec<Body> {
    let body = |((first, second), _): (Path, usize)| {
        let steps = [first as Step, second as Step];
        Body::path(if second == NONE { &steps[..1] } else { &steps })
    };
    counted(graph, target, pairs, min_support).into_iter().take(most).map(body).collect()
}

/// Paths of three steps over entities that are alike: to what the target says of an entity that shares something with
/// the head, and to an entity that shares something with what the target says of the head.
pub(in crate::search) fn similarity_paths(steps: &Steps, target: Predicate) -> Vec<Body> {
    let (there, back) = (target.0, steps.inverse(target.0));
    let mut paths = vec![[there, back, there]];
    for step in (0..steps.between() as Step).filter(|&step| step != there && step != back) {
        paths.push([step, steps.inverse(step), there]);
        paths.push([there, step, steps.inverse(step)]);
    }
    paths.push([back, there, there]);
    paths.push([there, there, back]);
    paths.iter().map(|path| Body::path(path)).collect()
}

/// Each path with how many of the pairs it links.
fn counted(
    graph: &ClassMatrix,
    target: Predicate,
    pairs: &[(u32, u32)],
    min_support: usize,
) -> Vec<(Path, usize)> {
    let fillers = 2 * graph.predicates();
    let mut ones = vec![0usize; fillers];
    let mut twos = vec![(0usize, usize::MAX); fillers * fillers];
    for (number, &(head, tail)) in pairs.iter().enumerate() {
        let (a, b) = (head as usize, tail as usize);
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
    let mut found: Vec<(Path, usize)> = ones.chain(twos).filter(|(_, count)| *count >= min_support).collect();
    found.sort_by_key(|&(path, count)| (std::cmp::Reverse(count), path.1 != NONE, path));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Neighbours;
    use crate::graph::{Sizes, Triple};
    use crate::solve::Limits;

    #[test]
    fn a_path_links_as_many_pairs_as_its_exact_support() {
        let facts: Vec<Triple> = (0..60u32).map(|n| Triple::new(n * 7 % 11, n % 3, n * n % 11)).collect();
        let graph = ClassMatrix::new(Sizes { entities: 11, predicates: 3, properties: 0 }, &facts, &[]);
        let index = Neighbours::new(Sizes { entities: 11, predicates: 3, properties: 0 }, &facts, &[]);
        let steps = Steps::new(&index);
        for target in (0..3).map(Predicate) {
            let pairs: Vec<(u32, u32)> = index.pairs(target).map(|(head, tail)| (head.0, tail.0)).collect();
            let found = counted(&graph, target, &pairs, 1);
            assert!(found.len() > 20, "{}", found.len());
            let bodies = paths(&graph, target, &pairs, 1, usize::MAX);
            for (body, (_, count)) in bodies.into_iter().zip(found) {
                let rule = steps.rule(body, target);
                let measures = rule.measure(&index, Limits::default()).expect("a sound rule");
                assert_eq!(measures.value.support, count, "{rule:?}");
            }
        }
    }
}

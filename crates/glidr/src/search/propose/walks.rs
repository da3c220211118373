//! Paths of three to five steps that link the target's own pairs, where a graph is sparse enough to walk them: from both
//! ends of a pair, to where the walks meet.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::graph::ClassMatrix;
use crate::search::body::{IDENTITY, MAX_STEPS, Step, Steps, Walk};

/// Neighbours of an entity on average, at most: three steps of any kind then lead to some hundred entities. Where they are
/// more there are very many paths, each with many answers.
const MAX_NEIGHBOURS: usize = 6;
/// Walks of one length from one end of a pair, at most: with more no walk of this length is taken, as a path over them
/// has too many answers.
const MAX_WALKS: usize = 1000;
/// What an entity may lead to by one step, at most.
const MAX_FAN: usize = 100;
/// Steps that are walked from one end, at most.
const MAX_DEPTH: usize = MAX_STEPS.div_ceil(2);

/// A walk from one end of a pair, which visits no entity twice.
#[derive(Clone, Copy, Default)]
struct Walked {
    at: u32,
    steps: [Step; MAX_DEPTH],
    /// The entities it visits, the last one too.
    visited: [u32; MAX_DEPTH],
}

/// Where walks start, and what they must do without.
struct Pair<'a> {
    graph: &'a ClassMatrix,
    steps: &'a Steps<'a>,
    head: u32,
    tail: u32,
}

impl Pair<'_> {
    /// The walks of one, two and three steps from one end that do not come to the other; those of a length that has too
    /// many are left out, and longer ones.
    fn walks(&self, start: u32) -> Vec<Vec<Walked>> {
        let graph = self.graph;
        let mut walks = vec![vec![Walked { at: start, ..Walked::default() }]];
        for depth in 0..MAX_DEPTH {
            let mut longer = Vec::new();
            for walk in &walks[depth] {
                let row = graph.row(walk.at as usize);
                if row.len() > MAX_WALKS {
                    return walks;
                }
                let steps = |class: u32| {
                    let members = graph.classes().members(graph.inverse(class) as usize).iter();
                    members.map(|member| member.filler)
                };
                for link in row {
                    let to = link.entity;
                    if [self.head, self.tail].contains(&to) || walk.visited[..depth].contains(&to) {
                        continue;
                    }
                    for step in
                        steps(link.class).filter(|&step| self.steps.from(step, walk.at).len() <= MAX_FAN)
                    {
                        let mut walk = Walked { at: to, ..*walk };
                        (walk.steps[depth], walk.visited[depth]) = (step, to);
                        longer.push(walk);
                    }
                }
                if longer.len() > MAX_WALKS {
                    return walks;
                }
            }
            walks.push(longer);
        }
        walks
    }

    /// The paths of three steps and more that link the pair.
    fn paths(&self, max_steps: usize) -> HashSet<Walk> {
        let there = self.walks(self.head);
        let mut back = self.walks(self.tail);
        for walks in &mut back {
            walks.sort_by_key(|walk| walk.at);
        }
        let mut found = HashSet::new();
        for length in 3..=max_steps {
            let (more, fewer) = (length.div_ceil(2), length / 2);
            let lengths = [(more, fewer), (fewer, more)];
            let Some((a, b)) = lengths.into_iter().find(|&(a, b)| a < there.len() && b < back.len()) else {
                break;
            };
            for walk in &there[a] {
                let first = back[b].partition_point(|other| other.at < walk.at);
                for other in back[b][first..].iter().take_while(|other| other.at == walk.at) {
                    // Both visit the entity where they meet.
                    if walk.visited[..a - 1].iter().any(|entity| other.visited[..b - 1].contains(entity)) {
                        continue;
                    }
                    let mut path = [IDENTITY; MAX_STEPS];
                    path[..a].copy_from_slice(&walk.steps[..a]);
                    let rest = other.steps[..b].iter().rev().map(|&step| self.steps.inverse(step));
                    path[a..length].iter_mut().zip(rest).for_each(|(place, step)| *place = step);
                    found.insert(path);
                }
            }
        }
        found
    }
}

/// Where the graph is sparse, the paths of three to `max_steps` steps that link at least `min_support` of the pairs, those that link most first. A
/// pair that has too many is passed over, and all that the time does not reach.
pub(in crate::search) fn long_paths(
    graph: &ClassMatrix,
    steps: &Steps,
    pairs: &[(u32, u32)],
    min_support: usize,
    max_steps: usize,
    is_late: &mut dyn FnMut() -> bool,
) -> Vec<Walk> {
    let mut counts: HashMap<Walk, usize> = HashMap::new();
    let is_sparse = graph.linked_pairs() <= MAX_NEIGHBOURS * steps.entities();
    for &(head, tail) in pairs.iter().filter(|_| is_sparse).filter(|(head, tail)| head != tail) {
        if is_late() {
            break;
        }
        for path in (Pair { graph, steps, head, tail }).paths(max_steps) {
            *counts.entry(path).or_default() += 1;
        }
    }
    let mut found: Vec<(Walk, usize)> =
        counts.into_iter().filter(|(_, count)| *count >= min_support).collect();
    found.sort_by_key(|&(path, count)| (Reverse(count), path));
    found.into_iter().map(|(path, _)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Neighbours, Predicate, Sizes, Triple};
    use crate::search::body::Body;

    /// All paths of three steps and more over entities that differ, tried one after the other.
    fn plainly(steps: &Steps, (head, tail): (u32, u32), max_steps: usize) -> HashSet<Walk> {
        let mut found = HashSet::new();
        let mut open = vec![(vec![head], Vec::<Step>::new())];
        while let Some((visited, path)) = open.pop() {
            let at = visited[visited.len() - 1];
            for step in 0..steps.between() as Step {
                for &to in steps.from(step, at).iter().filter(|to| !visited.contains(to)) {
                    let path = [&path[..], &[step]].concat();
                    if to == tail && path.len() >= 3 {
                        let Body::Path(walk, _) = Body::path(&path) else { panic!("a path") };
                        found.insert(walk);
                    } else if to != tail && path.len() < max_steps {
                        open.push(([&visited[..], &[to]].concat(), path));
                    }
                }
            }
        }
        found
    }

    #[test]
    fn all_long_paths_between_the_ends_of_a_pair_are_found() {
        let facts: Vec<Triple> =
            (0..44u32).map(|n| Triple::new(n * 7 % 17, n % 3, (n * n + n / 17) % 17)).collect();
        let sizes = Sizes { entities: 17, predicates: 3, properties: 0 };
        let (graph, index) = (ClassMatrix::new(sizes, &facts, &[]), Neighbours::new(sizes, &facts, &[]));
        let steps = Steps::new(&index);
        let pairs: Vec<(u32, u32)> = index.pairs(Predicate(1)).map(|(head, tail)| (head.0, tail.0)).collect();
        let mut of_all: HashMap<Walk, usize> = HashMap::new();
        for &(head, tail) in pairs.iter().filter(|(head, tail)| head != tail) {
            for max_steps in 3..=MAX_STEPS {
                let found = (Pair { graph: &graph, steps: &steps, head, tail }).paths(max_steps);
                assert_eq!(found, plainly(&steps, (head, tail), max_steps), "{head} {tail} {max_steps}");
                if max_steps == MAX_STEPS {
                    for path in found {
                        *of_all.entry(path).or_default() += 1;
                    }
                }
            }
        }
        let several = of_all.values().filter(|count| **count > 1).count();
        assert!(several > 0);
        let found = long_paths(&graph, &steps, &pairs, 2, MAX_STEPS, &mut || false);
        assert_eq!(found.len(), several);
    }

    #[test]
    fn what_leads_to_too_much_is_not_walked() {
        // Every head leads to one hub, and the hub to every tail.
        let hub = 400;
        let mut facts: Vec<Triple> = (0..200).map(|n| Triple::new(n, 0, n + 200)).collect();
        facts.extend((0..200).flat_map(|n| [Triple::new(n, 1, hub), Triple::new(hub, 1, n + 200)]));
        facts.extend((0..200).map(|n| Triple::new(n + 200, 1, n + 200)));
        facts.extend([Triple::new(0, 2, 401), Triple::new(401, 2, 402), Triple::new(402, 2, 200)]);
        facts.extend([Triple::new(1, 2, 403), Triple::new(403, 2, 404), Triple::new(404, 2, 201)]);
        let sizes = Sizes { entities: 405, predicates: 3, properties: 0 };
        let (graph, index) = (ClassMatrix::new(sizes, &facts, &[]), Neighbours::new(sizes, &facts, &[]));
        let pairs: Vec<(u32, u32)> = index.pairs(Predicate(0)).map(|(head, tail)| (head.0, tail.0)).collect();
        let found = long_paths(&graph, &Steps::new(&index), &pairs, 2, MAX_STEPS, &mut || false);
        let Body::Path(planted, _) = Body::path(&[2, 2, 2]) else { panic!("a path") };
        assert_eq!(found, [planted]);
    }
}

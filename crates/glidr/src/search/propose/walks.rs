//! Paths of three to five steps that link the target's own pairs, where a graph is sparse enough to walk them: from both
//! ends of a pair, to where the walks meet.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::graph::ClassMatrix;
use crate::search::body::{IDENTITY, MAX_STEPS, Step, Steps, Walk};

/// Walks of one length from one end of a pair, at most: with more no walk of this length is taken, as a path over them
/// has too many answers.
const MAX_WALKS: usize = 3000;
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
        back.iter_mut().for_each(|walks| walks.sort_by_key(|walk| walk.at));
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

/// The paths of three to `max_steps` steps that link at least `min_support` of the pairs, those that link most first. A
/// pair that has too many is passed over.
pub(in crate::search) fn long_paths(
    graph: &ClassMatrix,
    steps: &Steps,
    pairs: &[(u32, u32)],
    min_support: usize,
    max_steps: usize,
) -> Vec<Walk> {
    let mut counts: HashMap<Walk, usize> = HashMap::new();
    for &(head, tail) in pairs {
        for path in (Pair { graph, steps, head, tail }).paths(max_steps) {
            *counts.entry(path).or_default() += 1;
        }
    }
    let mut found: Vec<(Walk, usize)> =
        counts.into_iter().filter(|(_, count)| *count >= min_support).collect();
    found.sort_by_key(|&(path, count)| (Reverse(count), path));
    found.into_iter().map(|(path, _)| path).collect()
}

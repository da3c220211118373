//! Bodies worth measuring for one target on a large graph: chains, marks of its ends, and ends that are a constant.
//! Chains of three steps are only those over what is alike: others bring nothing (docs/trials.md).

use std::collections::{BTreeMap, HashMap, HashSet};

use super::bodies::{Body, IS, Mark, Step, Walk};
use super::chains::{NONE, counted};
use crate::graph::{ClassMatrix, Entity, Predicate};

/// How many bodies of each kind are listed, at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Most {
    pub chains: usize,
    pub marks: usize,
    pub both: usize,
    /// Constants that an end may be.
    pub constants: usize,
}

/// Of ends with more marks than this only what they are, and which steps they have, is paired.
const MOST_MARKS: usize = 200;

/// A mark, how many of the pairs have it, and how many entities.
type Marked = (Mark, usize, usize);

/// Lists bodies that hold for at least `least` of `pairs`, a sample of the target's `facts`.
pub(super) fn bodies(
    walk: &Walk,
    graph: &ClassMatrix,
    target: Predicate,
    pairs: &[(u32, u32)],
    facts: usize,
    least: usize,
    most: Most,
) -> Vec<Body> {
    let ends: Vec<(Entity, Entity)> =
        pairs.iter().map(|&(head, tail)| (Entity(head), Entity(tail))).collect();
    let chains = counted(graph, target, &ends, least).into_iter().take(most.chains);
    let mut bodies: Vec<Body> = chains
        .map(|((first, second), _)| {
            let second = if second == NONE { IS } else { second as u32 };
            Body::Chain([first as u32, second, IS], 1)
        })
        .collect();
    bodies.extend(alike(walk, target.0).into_iter().map(|steps| Body::Chain(steps, 1)));
    let heads = marks(walk, pairs.iter().map(|pair| pair.0), least);
    let tails = marks(walk, pairs.iter().map(|pair| pair.1), least);
    let of_heads = chosen(walk, &heads, most);
    let of_tails = chosen(walk, &tails, most);
    bodies.extend(of_heads.iter().map(|&mark| Body::X(mark)));
    bodies.extend(of_tails.iter().map(|&mark| Body::Y(mark)));
    let heads: HashSet<Mark> = heads.iter().map(|marked| marked.0).collect();
    let tails: HashSet<Mark> = tails.iter().map(|marked| marked.0).collect();
    let (of_heads, of_tails): (HashSet<Mark>, HashSet<Mark>) =
        (of_heads.into_iter().collect(), of_tails.into_iter().collect());
    // A narrow mark of one end with any of the other.
    let mut found: HashMap<(Mark, Mark), usize> = HashMap::new();
    for &(head, tail) in pairs {
        let (x, y) = (marks_of(walk, head, MOST_MARKS), marks_of(walk, tail, MOST_MARKS));
        for a in x.iter().filter(|mark| heads.contains(mark)) {
            for b in y.iter().filter(|mark| tails.contains(mark)) {
                if of_heads.contains(a) || of_tails.contains(b) {
                    *found.entry((*a, *b)).or_default() += 1;
                }
            }
        }
    }
    let scale = facts as f64 / pairs.len().max(1) as f64;
    let mut both: Vec<(f64, Body)> = found
        .into_iter()
        .filter(|(_, count)| *count >= least)
        .map(|((a, b), count)| {
            let body = walk.holders(a).len() as f64 * walk.holders(b).len() as f64;
            let count = count as f64;
            (count * (count / (body / scale + 5.0)), Body::Both(a, b))
        })
        .collect();
    both.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    bodies.extend(both.into_iter().take(most.both).map(|(_, body)| body));
    bodies
}

/// Chains of three steps over what is alike: to what the target says of an entity that shares something with the head,
/// and to an entity that shares something with what the target says of the head.
fn alike(walk: &Walk, target: Step) -> Vec<[Step; 3]> {
    let back = walk.inverse(target);
    let mut chains = vec![[target, back, target]];
    for step in (0..walk.steps() as Step).filter(|&step| step != target && step != back) {
        chains.push([step, walk.inverse(step), target]);
        chains.push([target, step, walk.inverse(step)]);
    }
    chains.push([back, target, target]);
    chains.push([target, target, back]);
    chains
}

/// An entity's marks; where they are more than `most`, those with a constant say little of it and are left out, but
/// for the one that says which entity it is.
fn marks_of(walk: &Walk, entity: u32, most: usize) -> Vec<Mark> {
    let mut marks = vec![Mark { step: IS, constant: Some(entity) }];
    for step in 0..walk.steps() as u32 {
        let led = walk.from(step, entity);
        if !led.is_empty() {
            marks.push(Mark { step, constant: None });
            marks.extend(led.iter().map(|&constant| Mark { step, constant: Some(constant) }));
        }
    }
    if marks.len() > most {
        marks.retain(|mark| mark.step == IS || mark.constant.is_none());
    }
    marks
}

/// The marks that at least `least` of some entities have: what an entity is first, then in their order; of marks that
/// the same entities have, the first.
fn marks(walk: &Walk, entities: impl Iterator<Item = u32>, least: usize) -> Vec<Marked> {
    let mut often: BTreeMap<u32, usize> = BTreeMap::new();
    for entity in entities {
        *often.entry(entity).or_default() += 1;
    }
    let mut counts: BTreeMap<Mark, usize> = BTreeMap::new();
    for (&entity, &times) in &often {
        for mark in marks_of(walk, entity, usize::MAX) {
            *counts.entry(mark).or_default() += times;
        }
    }
    let enough = counts.into_iter().filter(|&(_, count)| count >= least);
    let mut marks: Vec<Marked> =
        enough.map(|(mark, count)| (mark, count, walk.holders(mark).len())).collect();
    marks.sort_by_key(|marked| marked.0.step != IS);
    let mut known: HashSet<&[u32]> = HashSet::new();
    marks.retain(|marked| known.insert(walk.holders(marked.0)));
    marks
}

/// The marks that tell most: some by how sure they are, some by how often they hold; of marks that the
/// same entities have, the first. And the constants that are most often the end.
fn chosen(walk: &Walk, marks: &[Marked], most: Most) -> Vec<Mark> {
    let (mut constants, marks): (Vec<Marked>, Vec<Marked>) = marks.iter().partition(|m| m.0.step == IS);
    let mut chosen: Vec<Mark> = Vec::new();
    let mut known: HashSet<&[u32]> = HashSet::new();
    for (power, share) in [(1.0, 2), (0.5, 1)] {
        let value = |marked: &Marked| marked.1 as f64 / (marked.2 as f64).powf(power);
        let mut order: Vec<&Marked> = marks.iter().collect();
        order.sort_by(|a, b| value(b).total_cmp(&value(a)).then(a.0.cmp(&b.0)));
        let mut left = most.marks * share / 3;
        for marked in order {
            if left == 0 {
                break;
            }
            if known.insert(walk.holders(marked.0)) {
                chosen.push(marked.0);
                left -= 1;
            }
        }
    }
    constants.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    chosen.extend(constants.iter().take(most.constants).map(|marked| marked.0));
    chosen
}

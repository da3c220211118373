//! Denials of two short bodies: a predicate and a path of two steps that never link the same pair.
//!
//! In: the linked pairs whose ends occur at the ends of a predicate and that no simpler constraint denies. Out: a few
//! denials of each predicate, those that chance would break most often; each denies pairs that those before it leave.

use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;

use super::super::{ConstraintCounts, Denial, PathNumber, Refusals, ShortPaths};
use super::{ConstraintLearner, is_kept};
use crate::graph::{Direction, Entity, Predicate};

/// Facts of a predicate that are looked at, at most.
const MAX_FACTS: usize = 1000;
/// Linked pairs near them, at most: they tell no more than a share.
const MAX_PAIRS: usize = 500;
/// Many bodies are tried: what is less sure may be chance.
const MIN_BODY_CONFIDENCE: f64 = 0.95;
/// Denials of one predicate, at most; each must deny this share of the pairs that those before it leave.
const BODIES: (usize, f64) = (5, 0.1);

/// A pair of entities.
type Pair = (u32, u32);

impl ConstraintLearner<'_> {
    /// Finds what simpler constraints leave open, which are those that are found already.
    pub(super) fn bodies(&self, found: &mut BTreeMap<Denial, ConstraintCounts>) {
        let simple: Vec<&Denial> = found.keys().collect();
        let targets = (0..self.facts.predicates() as u32).into_par_iter().map(Predicate);
        let bodies: Vec<(Denial, ConstraintCounts)> =
            targets.flat_map_iter(|target| self.bodies_of(target, &simple)).collect();
        found.extend(bodies);
    }

    fn bodies_of(&self, target: Predicate, simple: &[&Denial]) -> Vec<(Denial, ConstraintCounts)> {
        let facts: Vec<Pair> = self.facts.pairs(target).map(|(head, tail)| (head.0, tail.0)).collect();
        let about = simple.iter().copied().filter(|denial| denial.targets().contains(&target));
        let Ok(refusals) = Refusals::new(about, target, self.facts) else { return Vec::new() };
        let paths = ShortPaths(self.matrix);
        let long = |pair: &Pair| -> Vec<PathNumber> {
            let found = paths.between(pair.0 as usize, pair.1 as usize);
            found.into_iter().filter(|&path| paths.is_long(path)).collect()
        };
        let near: Vec<Vec<PathNumber>> = self.open_pairs(target, &refusals).iter().map(long).collect();
        let known = spread(&facts, MAX_FACTS);
        let (mut holding, mut exceptions) = (HashMap::new(), HashMap::new());
        for path in near.iter().flatten() {
            *holding.entry(*path).or_insert(0usize) += 1;
        }
        for path in known.iter().flat_map(long) {
            *exceptions.entry(path).or_insert(0usize) += 1;
        }
        let counted = holding.into_iter().map(|(path, count)| {
            let expected = known.len() as f64 * count as f64 / near.len() as f64;
            let exceptions = exceptions.get(&path).copied().unwrap_or(0);
            (path, ConstraintCounts { facts: known.len(), exceptions, expected })
        });
        let mut candidates: Vec<(PathNumber, ConstraintCounts)> =
            counted.filter(|(_, counts)| is_kept(*counts, MIN_BODY_CONFIDENCE)).collect();
        candidates.sort_by(|a, b| b.1.expected.total_cmp(&a.1.expected).then(a.0.cmp(&b.0)));
        let (mut kept, mut left) = (Vec::new(), near);
        for (path, counts) in candidates {
            let before = left.len();
            let denied = left.iter().filter(|found| found.binary_search(&path).is_ok()).count();
            if kept.len() < BODIES.0 && denied as f64 > BODIES.1 * before as f64 {
                left.retain(|found| found.binary_search(&path).is_err());
                kept.push((Denial::Body(paths.rule(target, path)), counts));
            }
        }
        kept
    }

    /// Linked pairs whose ends occur at the ends of a predicate, and that no constraint denies.
    fn open_pairs(&self, target: Predicate, refusals: &Refusals) -> Vec<Pair> {
        let is_end = |end: Direction, entity: u32| {
            super::super::links::degree(self.facts, target, end.other(), entity) > 0
        };
        let entities = self.facts.entities() as u32;
        let mut near: Vec<Pair> = Vec::new();
        for head in (0..entities).filter(|&head| is_end(Direction::Head, head)) {
            let tails = self.matrix.row(head as usize).iter().map(|link| link.entity);
            near.extend(tails.filter(|&tail| is_end(Direction::Tail, tail)).map(|tail| (head, tail)));
        }
        // Twice as many, as some are denied.
        let mut open = spread(&near, 2 * MAX_PAIRS);
        open.retain(|&(head, tail)| !refusals.refuses(Entity(head), Entity(tail)));
        spread(&open, MAX_PAIRS)
    }
}

/// At most so many of a list, evenly.
fn spread(all: &[Pair], most: usize) -> Vec<Pair> {
    let count = all.len().min(most);
    (0..count).map(|place| all[place * all.len() / count]).collect()
}

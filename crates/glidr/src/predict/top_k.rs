//! The best candidates of a query.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::iter;

use super::TargetPredictor;
use crate::graph::{Entity, Query};

/// So many candidates are scored first, twice as many next, and so on up to the last number.
const FIRST: usize = 8;
const MAX_AT_ONCE: usize = 64;

/// A candidate and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The candidate.
    pub entity: Entity,
    /// Its score, which orders the candidates of one query.
    pub score: f64,
}

/// A candidate that is not scored yet; the highest bound is the greatest, of equal ones the lowest number.
struct Waiting {
    bound: f32,
    candidate: Entity,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.total_cmp(&other.bound).then(other.candidate.cmp(&self.candidate))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Waiting {}

/// The `k` best candidates that `allowed` admits, best first, equal scores in the order of their numbers: exactly,
/// though only those whose bound is high enough are scored.
///
/// ```
/// use glidr::internals::graph::{Direction, Query};
/// use glidr::internals::predict::{Rules, top_k};
/// use glidr::{Dataset, Predictor, RuleSet};
/// let families = Dataset::families(0);
/// let names = families.names();
/// let rules = RuleSet::parse("own rules", "1.0 :: wife(X, Y) :- husband(Y, X).", names)?;
/// let (wife, known) = (names.predicate("wife")?, names.entity("Penelope")?);
/// let predictor = Rules::new(rules.targets(), &families);
/// let query = Query { predicate: wife, direction: Direction::Tail, known };
/// let best = top_k(predictor.target(wife, true)?.as_mut(), query, 1, &|_| true);
/// assert_eq!(names.entities.name(best[0].entity), "Christopher");
/// # Ok::<(), glidr::Error>(())
/// ```
pub fn top_k(
    target: &mut dyn TargetPredictor,
    query: Query,
    k: usize,
    allowed: &dyn Fn(Entity) -> bool,
) -> Vec<Answer> {
    let bounds = target.bounds(&[query]).and_then(|mut bounds| bounds.pop());
    top_k_within(target, query, k, allowed, bounds.as_deref())
}

/// The same by bounds that are known already.
pub(super) fn top_k_within(
    target: &mut dyn TargetPredictor,
    query: Query,
    k: usize,
    allowed: &dyn Fn(Entity) -> bool,
    bounds: Option<&[f32]>,
) -> Vec<Answer> {
    let candidates = (0..target.entities() as u32).map(Entity).filter(|&entity| allowed(entity));
    let Some(bounds) = bounds else {
        let mut best = Vec::new();
        take(&mut best, target, query, candidates.collect(), k);
        return best;
    };
    let mut waiting: BinaryHeap<Waiting> =
        candidates.map(|candidate| Waiting { bound: bounds[candidate.index()], candidate }).collect();
    let (mut best, mut at_once) = (Vec::<Answer>::new(), FIRST);
    while let Some(highest) = waiting.peek() {
        let last = best.last().map_or(f64::INFINITY, |last| last.score);
        let least = if best.len() < k { 0.0 } else { last };
        if f64::from(highest.bound) < least {
            break;
        }
        let next = iter::from_fn(|| waiting.pop()).take(at_once);
        let mut candidates: Vec<Entity> = next.map(|waiting| waiting.candidate).collect();
        target.drop_below(query, &mut candidates, least);
        take(&mut best, target, query, candidates, k);
        at_once = (2 * at_once).min(MAX_AT_ONCE);
    }
    best
}

/// Scores candidates and keeps the `k` best.
fn take(
    best: &mut Vec<Answer>,
    target: &mut dyn TargetPredictor,
    query: Query,
    candidates: Vec<Entity>,
    k: usize,
) {
    let scores = target.scores(query, &candidates);
    best.extend(candidates.into_iter().zip(scores).map(|(entity, score)| Answer { entity, score }));
    best.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.entity.cmp(&b.entity)));
    best.truncate(k);
}

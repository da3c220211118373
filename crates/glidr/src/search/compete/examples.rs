//! Linked pairs, each with the predicate that it has, and which bodies hold for them.
//!
//! In: all known facts, and those of *valid*. Out: for each body the examples that it fires on, as if the example's own
//! fact were not known.

use std::collections::{BTreeSet, HashMap};

use rayon::prelude::*;

use super::{AnyBody, BroughtUp};
use crate::graph::{Background, Dataset, Direction, Entity, Split, Triple};
use crate::search::body::{Body, Steps};
use crate::search::ends::Ends;
use crate::solve::{Limits, Solver};

/// A body must fire on so many examples.
const MIN_FIRES: usize = 5;
/// And on no more than one in so many: one that nearly always fires tells predicates apart badly.
const MAX_SHARE: usize = 2;

/// Facts that say which predicate a pair has.
pub(super) struct Examples {
    /// In the order of their heads.
    pub facts: Vec<Triple>,
    /// Whether *valid* says so.
    pub from_valid: Vec<bool>,
}

impl Examples {
    pub fn new(data: &Dataset) -> Self {
        let graph = data.graph(Background::Train);
        let known = graph.facts().iter().map(|&fact| (fact, false));
        let valid =
            data.split(Split::Valid).iter().filter(|fact| !graph.holds(**fact)).map(|&fact| (fact, true));
        let mut all: Vec<(Triple, bool)> = known.chain(valid).collect();
        all.sort_unstable();
        all.dedup_by_key(|(fact, _)| *fact);
        let (facts, from_valid) = all.into_iter().unzip();
        Examples { facts, from_valid }
    }
}

/// All bodies that any target's search brought up, once each.
pub(super) struct Features {
    pub bodies: Vec<AnyBody>,
    /// A feature is one body, or two joined by X and Y.
    pub parts: Vec<(usize, Option<usize>)>,
}

impl Features {
    pub fn of(all: &[BroughtUp]) -> Self {
        let bodies: BTreeSet<&AnyBody> = all.iter().flat_map(|of| &of.bodies).collect();
        let number: HashMap<&AnyBody, usize> =
            bodies.iter().enumerate().map(|(n, body)| (*body, n)).collect();
        let mut joined: BTreeSet<(usize, usize)> = BTreeSet::new();
        for of in all {
            let places =
                |(one, other): &(usize, usize)| (number[&of.bodies[*one]], number[&of.bodies[*other]]);
            joined.extend(
                of.conjunctions.iter().map(places).map(|(one, other)| (one.min(other), one.max(other))),
            );
        }
        let single = (0..bodies.len()).map(|body| (body, None));
        let parts = single.chain(joined.into_iter().map(|(one, other)| (one, Some(other)))).collect();
        Features { bodies: bodies.into_iter().cloned().collect(), parts }
    }

    /// The examples that every feature fires on; features that fire on few are dropped.
    pub fn fires(&mut self, examples: &Examples, steps: &Steps) -> Vec<Vec<u32>> {
        let single: Vec<Vec<u32>> = self.bodies.par_iter().map(|body| examples.fired(body, steps)).collect();
        let fires = |&(one, other): &(usize, Option<usize>)| match other {
            None => single[one].clone(),
            Some(other) => {
                single[one].iter().copied().filter(|at| single[other].binary_search(at).is_ok()).collect()
            }
        };
        let found: Vec<Vec<u32>> = self.parts.par_iter().map(fires).collect();
        let kept: Vec<bool> = found
            .iter()
            .map(|fires| (MIN_FIRES..=examples.facts.len() / MAX_SHARE).contains(&fires.len()))
            .collect();
        let mut is_kept = kept.iter().copied();
        self.parts.retain(|_| is_kept.next() == Some(true));
        found.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(fires, _)| fires).collect()
    }
}

impl Examples {
    /// The examples that a body holds for without the example's own fact.
    fn fired(&self, body: &AnyBody, steps: &Steps) -> Vec<u32> {
        match body {
            AnyBody::Walked(path @ Body::Path(..)) => {
                let (least, mut ends) = (path.min_groundings(), Ends::new(steps.entities()));
                self.filter(|fact, is_new_head| {
                    if is_new_head {
                        steps.ends(*path, Direction::Tail, fact.head.0, usize::MAX, &mut ends);
                    }
                    let place = ends.list().binary_search(&fact.tail.0);
                    place.is_ok_and(|place| ends.groundings(place) >= least)
                        && leave_one_out(steps, *path, fact, least) >= least
                })
            }
            AnyBody::Walked(pattern) => self.filter(|fact, _| {
                let (head, tail) = (fact.head.0, fact.tail.0);
                let holds = match *pattern {
                    Body::X(x) => steps.has(head, x),
                    Body::Y(y) => steps.has(tail, y),
                    Body::Both(x, y) => steps.has(head, x) && steps.has(tail, y),
                    _ => true,
                };
                holds && leave_one_out(steps, *pattern, fact, 1) > 0
            }),
            AnyBody::General(rule) => {
                let Ok(solver) = Solver::new(rule, steps.facts, Limits::default()) else { return Vec::new() };
                let mut tails = Vec::new();
                self.filter(|fact, is_new_head| {
                    if is_new_head {
                        tails = solver.tails(fact.head).value;
                    }
                    tails.binary_search(&fact.tail).is_ok()
                        && (!rule.uses(fact.predicate)
                            || solver.holds_without(fact.head, fact.tail, *fact).value)
                })
            }
        }
    }

    /// The examples that hold, which are told where a new head begins.
    fn filter(&self, mut holds: impl FnMut(&Triple, bool) -> bool) -> Vec<u32> {
        let mut head: Option<Entity> = None;
        let numbered = (0..).zip(&self.facts);
        let held = numbered.filter(|(_, fact)| holds(fact, head.replace(fact.head) != Some(fact.head)));
        held.map(|(at, _)| at).collect()
    }
}

/// How many groundings a body has for an example without its own fact, up to so many.
fn leave_one_out(steps: &Steps, body: Body, fact: &Triple, cap: u32) -> u32 {
    steps.leave_one_out(body, fact.predicate, (fact.head.0, fact.tail.0), cap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Names, Predicate, Vocabulary};
    use crate::search::body::Pattern;

    #[test]
    fn a_body_fires_on_an_example_as_its_rule_holds_without_the_examples_own_fact() {
        let vocabulary = Vocabulary {
            entities: Names::new((0..11).map(|n| format!("e{n:02}"))),
            predicates: Names::new((0..3).map(|n| format!("p{n}"))),
            properties: Names::default(),
        };
        let known: Vec<Triple> = (0..33u32).map(|n| Triple::new(n * 7 % 11, n % 3, n * n % 11)).collect();
        let valid = (0..30u32).map(|n| Triple::new(n * 5 % 11, n % 3, (n * 3 + 1) % 11)).collect();
        let data = Dataset::of("made", vocabulary, [known, vec![], valid, vec![]], vec![]).expect("sound");
        let steps = Steps::new(data.graph(Background::Train).neighbours());
        let examples = Examples::new(&data);
        assert!(examples.from_valid.iter().any(|&valid| valid));
        let path = |n: u32| {
            let steps = [n % 6, n / 6 % 6, n % 5];
            Body::path(&steps[..if n.is_multiple_of(4) { 3 } else { 2 }]).with_min_groundings(1 + n % 3)
        };
        let mut bodies: Vec<AnyBody> = (0..36).map(path).map(AnyBody::Walked).collect();
        let pattern = |step, constant| Pattern { step, constant };
        bodies.extend((0..6).map(|step| AnyBody::Walked(Body::X(pattern(step, Some(3))))));
        bodies.extend((0..6).map(|step| AnyBody::Walked(Body::Y(pattern(step, None)))));
        bodies
            .extend((0..6).map(|step| AnyBody::Walked(Body::Both(pattern(step, None), pattern(1, Some(4))))));
        bodies.extend(
            (0..36).map(|n| AnyBody::General(steps.rule(path(n).with_min_groundings(1), Predicate(0)))),
        );
        let mut left_out = 0;
        for body in bodies {
            let rule = body.rule(&steps, Predicate(0));
            let solver = Solver::new(&rule, steps.facts, Limits::default()).expect("a sound rule");
            let mut holds = |fact: &Triple| {
                left_out += usize::from(
                    solver.holds(fact.head, fact.tail).value
                        && !solver.holds_without(fact.head, fact.tail, *fact).value,
                );
                solver.holds_without(fact.head, fact.tail, *fact).value
            };
            let expected: Vec<u32> =
                (0..).zip(&examples.facts).filter(|(_, fact)| holds(fact)).map(|(at, _)| at).collect();
            assert_eq!(examples.fired(&body, &steps), expected, "{rule:?}");
        }
        assert!(left_out > 5, "{left_out}");
    }
}

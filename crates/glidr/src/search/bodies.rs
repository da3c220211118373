//! Bodies of few literals, walked over the facts directly: what large graphs are searched with.
//!
//! They say no more than the same rules under `solve`, and are checked against it; only their answers to
//! one question come quicker.

use super::ends::Ends;
use crate::graph::Direction;
use crate::graph::{Entity, Neighbours, Predicate};
use crate::rule::{Atom, Literal, Rule, Term};

/// A step by its number: predicates, then inverses.
pub(super) type Step = u32;

/// The step from every entity to itself: a mark of it says that the entity is a constant.
pub(super) const IS: Step = Step::MAX;

/// What an entity may have: a step that leads from it to a constant, or to anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Mark {
    pub step: Step,
    pub constant: Option<u32>,
}

/// A body over X and Y.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Body {
    /// Steps by at least so many ways, that is entities between them; one that is not there is [`IS`].
    Chain([Step; 3], u32),
    X(Mark),
    Y(Mark),
    /// A mark of X and one of Y.
    Both(Mark, Mark),
}

impl Body {
    /// By how many ways it must hold.
    pub fn min_groundings(self) -> u32 {
        if let Body::Chain(_, least) = self { least } else { 1 }
    }

    /// The same by at least so many ways; only chains hold by more than one.
    pub fn in_ways(self, least: u32) -> Self {
        if let Body::Chain(steps, _) = self { Body::Chain(steps, least) } else { self }
    }
}

/// The facts, by steps.
pub(super) struct Walk<'a> {
    facts: &'a Neighbours,
    /// For every step the entities it leads from.
    starts: Vec<Vec<u32>>,
    /// All entities.
    all: Vec<u32>,
}

impl<'a> Walk<'a> {
    pub fn new(facts: &'a Neighbours) -> Self {
        let all = 0..facts.entities() as u32;
        let mut walk = Walk { facts, starts: Vec::new(), all: all.clone().collect() };
        walk.starts = (0..walk.steps() as u32)
            .map(|step| all.clone().filter(|&entity| !walk.from(step, entity).is_empty()).collect())
            .collect();
        walk
    }

    /// How many steps there are.
    pub fn steps(&self) -> usize {
        2 * self.facts.predicates()
    }

    pub fn entities(&self) -> usize {
        self.facts.entities()
    }

    pub fn inverse(&self, step: Step) -> Step {
        let half = self.facts.predicates() as u32;
        match step {
            IS => IS,
            step if step < half => step + half,
            step => step - half,
        }
    }

    /// Where a step leads from an entity.
    pub fn from(&self, step: Step, entity: u32) -> &[u32] {
        let half = self.facts.predicates() as u32;
        if step == IS {
            &self.all[entity as usize..=entity as usize]
        } else if step < half {
            self.facts.tails(Predicate(step), Entity(entity))
        } else {
            self.facts.heads(Predicate(step - half), Entity(entity))
        }
    }

    /// How many facts of a predicate are known.
    pub fn known(&self, predicate: Predicate) -> usize {
        self.facts.count(predicate)
    }

    /// All that have a mark.
    pub fn holders(&self, mark: Mark) -> &[u32] {
        match mark.constant {
            Some(constant) => self.from(self.inverse(mark.step), constant),
            None => &self.starts[mark.step as usize],
        }
    }

    fn has(&self, entity: u32, mark: Mark) -> bool {
        let led = self.from(mark.step, entity);
        mark.constant.map_or(!led.is_empty(), |constant| led.binary_search(&constant).is_ok())
    }

    /// The other ends that go with a known one; false if there are more than `most` links to follow.
    /// A body that says nothing about the end asked for has none, as it changes no order.
    pub fn ends<'w>(
        &'w self,
        body: Body,
        direction: Direction,
        known: u32,
        most: usize,
        ends: &mut Ends<'w>,
    ) -> bool {
        let tail = direction == Direction::Tail;
        ends.keep(match body {
            Body::Chain(steps, _) => {
                let back = || [steps[2], steps[1], steps[0]].map(|step| self.inverse(step));
                return ends.follow(self, if tail { steps } else { back() }, known, most);
            }
            Body::Y(mark) if tail => self.holders(mark),
            Body::X(mark) if !tail => self.holders(mark),
            Body::X(_) | Body::Y(_) => &[],
            Body::Both(x, y) => {
                let (near, far) = if tail { (x, y) } else { (y, x) };
                if self.has(known, near) { self.holders(far) } else { &[] }
            }
        });
        true
    }

    /// By how many of the `most` ways that a body holds for a fact of `target` it does so without that very fact.
    pub fn leave_one_out_groundings(
        &self,
        body: Body,
        target: Predicate,
        head: u32,
        tail: u32,
        most: u32,
    ) -> u32 {
        let half = self.facts.predicates() as u32;
        let itself = |step: Step, from: u32, to: u32| {
            (step == target.0 && (from, to) == (head, tail))
                || (step == target.0 + half && (to, from) == (head, tail))
        };
        let marked = |mark: Mark, entity: u32| match mark.constant {
            Some(constant) => !itself(mark.step, entity, constant),
            None => self.from(mark.step, entity).iter().any(|&to| !itself(mark.step, entity, to)),
        };
        let [first, second, third] = match body {
            Body::Chain(steps, _) => steps,
            Body::X(mark) => return u32::from(marked(mark, head)),
            Body::Y(mark) => return u32::from(marked(mark, tail)),
            Body::Both(x, y) => return u32::from(marked(x, head) && marked(y, tail)),
        };
        if ![first, second, third].iter().any(|&step| step == target.0 || step == self.inverse(target.0)) {
            return most;
        }
        let before = self.from(self.inverse(third), tail);
        let mut ways = 0;
        for &one in self.from(first, head).iter().filter(|&&one| !itself(first, head, one)) {
            let next = self.from(second, one);
            let (fewer, more) = if next.len() < before.len() { (next, before) } else { (before, next) };
            for two in fewer.iter().filter(|two| more.binary_search(two).is_ok()) {
                ways += u32::from(!itself(second, one, *two) && !itself(third, *two, tail));
                if ways >= most {
                    return ways;
                }
            }
        }
        ways
    }

    /// The body as a rule.
    pub fn rule(&self, body: Body, target: Predicate) -> Rule {
        let half = self.facts.predicates() as u32;
        let literal = |step: Step, a, b| {
            Literal::any_of(vec![if step < half {
                Atom::Pair(Predicate(step), a, b)
            } else {
                Atom::Pair(Predicate(step - half), b, a)
            }])
        };
        let mark = |mark: Mark, end, free| match mark.constant {
            Some(constant) if mark.step == IS => Literal::any_of(vec![Atom::Is(end, Entity(constant))]),
            constant => literal(mark.step, end, constant.map_or(free, |c| Term::Constant(Entity(c)))),
        };
        let least = body.min_groundings();
        let body = match body {
            Body::Chain(steps, _) => {
                let steps: Vec<Step> = steps.into_iter().filter(|&step| step != IS).collect();
                let term = |place: usize| match place {
                    0 => Term::X,
                    place if place == steps.len() => Term::Y,
                    place => Term::Z(place as u8),
                };
                let numbered = steps.iter().enumerate();
                numbered.map(|(place, &step)| literal(step, term(place), term(place + 1))).collect()
            }
            Body::X(x) => vec![mark(x, Term::X, Term::Z(1))],
            Body::Y(y) => vec![mark(y, Term::Y, Term::Z(1))],
            Body::Both(x, y) => vec![mark(x, Term::X, Term::Z(1)), mark(y, Term::Y, Term::Z(2))],
        };
        Rule::new(target, &body).with_min_groundings(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Sizes, Triple};
    use crate::solve::{Limits, Solver};

    #[test]
    fn a_body_walked_gives_the_answers_of_its_rule() {
        let triples: Vec<Triple> = (0..50u32).map(|n| Triple::new(n * 7 % 11, n % 3, n * n % 11)).collect();
        let facts = Neighbours::new(Sizes { entities: 11, predicates: 3, properties: 0 }, &triples, &[]);
        let walk = Walk::new(&facts);
        let marks: Vec<Mark> = (0..6)
            .flat_map(|step| [None, Some(2), Some(4)].map(|constant| Mark { step, constant }))
            .collect();
        let marks: Vec<Mark> =
            marks.into_iter().chain([1, 4].map(|e| Mark { step: IS, constant: Some(e) })).collect();
        let mut bodies: Vec<Body> = (0..6).map(|step| Body::Chain([step, IS, IS], 1)).collect();
        bodies.extend((0..108).map(|n| Body::Chain([n / 6 % 6, n % 6, IS], 1 + n / 36)));
        bodies.extend((0..864).map(|n| Body::Chain([n / 36 % 6, n / 6 % 6, n % 6], 1 + n / 216)));
        bodies.extend(marks.iter().flat_map(|&x| marks.iter().map(move |&y| Body::Both(x, y))));
        bodies.extend(marks.iter().map(|&mark| Body::X(mark)));
        bodies.extend(marks.iter().map(|&mark| Body::Y(mark)));
        let (target, mut ends, mut seen) = (Predicate(1), Ends::new(11), 0);
        for body in bodies {
            let least = body.min_groundings();
            let rule = walk.rule(body, target);
            let solver = Solver::new(&rule, &facts, Limits::default()).expect("a sound rule");
            for known in 0..11 {
                for direction in [Direction::Tail, Direction::Head] {
                    if matches!(
                        (body, direction),
                        (Body::X(_), Direction::Tail) | (Body::Y(_), Direction::Head)
                    ) {
                        continue;
                    }
                    assert!(walk.ends(body, direction, known, usize::MAX, &mut ends));
                    let exact = match direction {
                        Direction::Tail => solver.tails(Entity(known)),
                        Direction::Head => solver.heads(Entity(known)),
                    };
                    let often = (0..ends.list().len()).filter(|&place| ends.ways(place) >= least);
                    let walked: Vec<u32> = often.map(|place| ends.list()[place]).collect();
                    assert_eq!(walked, exact.value.iter().map(|e| e.0).collect::<Vec<_>>(), "{rule:?}");
                    for end in walked {
                        let (head, tail) = direction.pair(Entity(known), Entity(end));
                        let fact = Triple { head, predicate: target, tail };
                        if facts.holds(fact) {
                            let fair = solver.holds_without(head, tail, fact).value;
                            let ways = walk.leave_one_out_groundings(body, target, head.0, tail.0, least);
                            assert_eq!(ways >= least, fair, "{rule:?} {fact:?}");
                            seen += usize::from(!fair);
                        }
                    }
                }
            }
        }
        assert!(seen > 50, "{seen}");
    }
}

//! Bodies of few literals, walked over the facts directly: paths and endpoint patterns.
//!
//! They say no more than the same rules under `solve`, and are checked against it; only their answers to
//! one query come quicker. A rule of any other shape is a [`Body::General`], which an evaluator answers.

use serde::Serialize;

use super::ends::Ends;
use crate::graph::Neighbours;
use crate::graph::{Direction, Entity, Predicate, Property};
use crate::rule::{Atom, Literal, Rule, Term};

/// A step by its number: predicates, then inverses, then properties (steps from an entity to itself).
pub(super) type Step = u32;

/// The step from every entity to itself: a pattern of it says that the entity is a constant.
pub(super) const IDENTITY: Step = Step::MAX;

/// Steps of a path, at most.
pub(super) const MAX_STEPS: usize = 5;

/// The steps of a path from X to Y; those that are not there are [`IDENTITY`].
pub(super) type Walk = [Step; MAX_STEPS];

/// What an end may have: a step that leads from it to a constant, or to anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Pattern {
    pub step: Step,
    pub constant: Option<u32>,
}

/// A body over X and Y.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Body {
    /// Steps with at least so many groundings.
    Path(Walk, u32),
    /// A pattern of X alone.
    X(Pattern),
    /// A pattern of Y alone.
    Y(Pattern),
    /// A pattern of X and one of Y.
    Both(Pattern, Pattern),
    /// Any other rule, by its number in the evaluator.
    General(u32),
}

/// Kinds of bodies, the simplest first. Those that are not plain make up for what is missing on some graphs, and are
/// noise on others: how many kinds count is chosen on *valid*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Paths of one or two steps, and rules of any other shape.
    Plain,
    /// Longer paths, and paths with several groundings at least.
    Derived,
    /// Endpoint patterns: nothing links X and Y.
    Pattern,
}

impl Kind {
    /// All kinds.
    pub(super) const ALL: [Kind; 3] = [Kind::Plain, Kind::Derived, Kind::Pattern];
}

impl Body {
    /// The path of these steps.
    pub fn path(steps: &[Step]) -> Self {
        let mut walk = [IDENTITY; MAX_STEPS];
        walk[..steps.len()].copy_from_slice(steps);
        Body::Path(walk, 1)
    }

    /// How many groundings it must have.
    pub fn min_groundings(self) -> u32 {
        if let Body::Path(_, min_groundings) = self { min_groundings } else { 1 }
    }

    /// The same with at least so many groundings; only paths are asked for more than one.
    pub fn with_min_groundings(self, min_groundings: u32) -> Self {
        if let Body::Path(steps, _) = self { Body::Path(steps, min_groundings) } else { self }
    }

    /// Its kind.
    pub fn kind(self) -> Kind {
        match self {
            Body::X(_) | Body::Y(_) | Body::Both(..) => Kind::Pattern,
            Body::Path([_, _, third, ..], min_groundings) if third != IDENTITY || min_groundings > 1 => {
                Kind::Derived
            }
            Body::Path(..) | Body::General(_) => Kind::Plain,
        }
    }

    /// Whether it is a path of several steps.
    pub fn is_long_path(self) -> bool {
        matches!(self, Body::Path([_, second, ..], _) if second != IDENTITY)
    }
}

/// The facts, by steps.
pub(super) struct Steps<'a> {
    pub facts: &'a Neighbours,
    /// For every step the entities it leads from.
    starts: Vec<Vec<u32>>,
    /// All entities.
    all: Vec<u32>,
}

impl<'a> Steps<'a> {
    pub fn new(facts: &'a Neighbours) -> Self {
        let all = 0..facts.entities() as u32;
        let mut steps = Steps { facts, starts: Vec::new(), all: all.clone().collect() };
        steps.starts = (0..steps.count() as u32)
            .map(|step| all.clone().filter(|&entity| !steps.from(step, entity).is_empty()).collect())
            .collect();
        steps
    }

    /// How many steps follow a predicate, there or back.
    pub fn between(&self) -> usize {
        2 * self.facts.predicates()
    }

    /// How many steps there are, those of properties included.
    pub fn count(&self) -> usize {
        self.between() + self.facts.properties()
    }

    pub fn entities(&self) -> usize {
        self.facts.entities()
    }

    fn half(&self) -> u32 {
        self.facts.predicates() as u32
    }

    /// The property of a step that is one.
    fn property(&self, step: Step) -> Option<Property> {
        (step != IDENTITY && step >= 2 * self.half()).then(|| Property(step - 2 * self.half()))
    }

    pub fn inverse(&self, step: Step) -> Step {
        match step {
            step if step >= 2 * self.half() => step,
            step if step < self.half() => step + self.half(),
            step => step - self.half(),
        }
    }

    /// Where a step leads from an entity.
    pub fn from(&self, step: Step, entity: u32) -> &[u32] {
        let itself = &self.all[entity as usize..=entity as usize];
        if step == IDENTITY {
            itself
        } else if let Some(property) = self.property(step) {
            if self.facts.owners(property).binary_search(&entity).is_ok() { itself } else { &[] }
        } else if step < self.half() {
            self.facts.tails(Predicate(step), Entity(entity))
        } else {
            self.facts.heads(Predicate(step - self.half()), Entity(entity))
        }
    }

    /// All that have a pattern.
    pub fn holders(&self, pattern: Pattern) -> &[u32] {
        match pattern.constant {
            Some(constant) => self.from(self.inverse(pattern.step), constant),
            None => &self.starts[pattern.step as usize],
        }
    }

    /// Whether an entity has a pattern.
    pub fn has(&self, entity: u32, pattern: Pattern) -> bool {
        let led = self.from(pattern.step, entity);
        pattern.constant.map_or(!led.is_empty(), |constant| led.binary_search(&constant).is_ok())
    }

    /// The other ends that go with a known one; false if there are more than `max_links` links to follow.
    /// A body that says nothing about the end asked for has none, as it changes no order.
    pub fn ends<'w>(
        &'w self,
        body: Body,
        direction: Direction,
        known: u32,
        max_links: usize,
        ends: &mut Ends<'w>,
    ) -> bool {
        let tail = direction == Direction::Tail;
        ends.keep(match body {
            Body::Path(steps, _) => {
                return ends.follow(self, if tail { steps } else { self.reversed(steps) }, known, max_links);
            }
            Body::Y(pattern) if tail => self.holders(pattern),
            Body::X(pattern) if !tail => self.holders(pattern),
            Body::X(_) | Body::Y(_) | Body::General(_) => &[],
            Body::Both(x, y) => {
                let (near, far) = if tail { (x, y) } else { (y, x) };
                if self.has(known, near) { self.holders(far) } else { &[] }
            }
        });
        true
    }

    /// How many of the `cap` groundings that a body has for a fact of `target` do without that very fact.
    pub fn leave_one_out(&self, body: Body, target: Predicate, (head, tail): (u32, u32), cap: u32) -> u32 {
        let itself = |step: Step, from: u32, to: u32| {
            (step == target.0 && (from, to) == (head, tail))
                || (step == target.0 + self.half() && (to, from) == (head, tail))
        };
        let holds = |pattern: Pattern, entity: u32| match pattern.constant {
            Some(constant) => !itself(pattern.step, entity, constant),
            None => self.from(pattern.step, entity).iter().any(|&to| !itself(pattern.step, entity, to)),
        };
        let walk = match body {
            Body::Path(steps, _) => steps,
            Body::X(x) => return u32::from(holds(x, head)),
            Body::Y(y) => return u32::from(holds(y, tail)),
            Body::Both(x, y) => return u32::from(holds(x, head) && holds(y, tail)),
            Body::General(_) => return cap,
        };
        if !walk.iter().any(|&step| step == target.0 || step == self.inverse(target.0)) {
            return cap;
        }
        let path: Vec<Step> = walk.into_iter().take_while(|&step| step != IDENTITY).collect();
        self.groundings_without(&path, head, tail, cap, &itself)
    }

    /// How many of the `cap` groundings that a path has between two entities do without the links left out.
    fn groundings_without(
        &self,
        path: &[Step],
        from: u32,
        to: u32,
        cap: u32,
        left_out: &dyn Fn(Step, u32, u32) -> bool,
    ) -> u32 {
        let (first, rest) = path.split_first().expect("a path has a step");
        let next = self.from(*first, from);
        if rest.is_empty() {
            return u32::from(next.binary_search(&to).is_ok() && !left_out(*first, from, to));
        }
        let mut groundings = 0;
        if let [last] = rest {
            let before = self.from(self.inverse(*last), to);
            let (fewer, more) = if next.len() < before.len() { (next, before) } else { (before, next) };
            for &one in fewer.iter().filter(|one| more.binary_search(one).is_ok()) {
                groundings += u32::from(!left_out(*first, from, one) && !left_out(*last, one, to));
                if groundings >= cap {
                    break;
                }
            }
            return groundings;
        }
        for &one in next.iter().filter(|&&one| !left_out(*first, from, one)) {
            groundings += self.groundings_without(rest, one, to, cap - groundings, left_out);
            if groundings >= cap {
                break;
            }
        }
        groundings
    }

    /// The same path from Y to X.
    pub fn reversed(&self, walk: Walk) -> Walk {
        let mut back = [IDENTITY; MAX_STEPS];
        let steps = walk.iter().rev().filter(|&&step| step != IDENTITY);
        back.iter_mut().zip(steps).for_each(|(back, &step)| *back = self.inverse(step));
        back
    }

    /// A path or pattern as a rule.
    pub fn rule(&self, body: Body, target: Predicate) -> Rule {
        let pattern = |pattern: Pattern, end, free| match (pattern.constant, self.property(pattern.step)) {
            (Some(constant), _) if pattern.step == IDENTITY => Atom::Is(end, Entity(constant)),
            (_, Some(property)) => Atom::Own(property, end),
            (constant, None) => {
                self.atom(pattern.step, end, constant.map_or(free, |c| Term::Constant(Entity(c))))
            }
        };
        let atoms = match body {
            Body::Path(steps, _) => self.path_atoms(steps),
            Body::X(x) => vec![pattern(x, Term::X, Term::Z(1))],
            Body::Y(y) => vec![pattern(y, Term::Y, Term::Z(1))],
            Body::Both(x, y) => vec![pattern(x, Term::X, Term::Z(1)), pattern(y, Term::Y, Term::Z(2))],
            Body::General(_) => unreachable!("an evaluator knows the rules of other shapes"),
        };
        let literals: Vec<Literal> = atoms.into_iter().map(|atom| Literal::any_of(vec![atom])).collect();
        Rule::new(target, &literals).with_min_groundings(body.min_groundings())
    }

    fn path_atoms(&self, steps: Walk) -> Vec<Atom> {
        let steps: Vec<Step> = steps.into_iter().filter(|&step| step != IDENTITY).collect();
        let term = |place: usize| match place {
            0 => Term::X,
            place if place == steps.len() => Term::Y,
            place => Term::Z(place as u8),
        };
        steps.iter().enumerate().map(|(at, &step)| self.atom(step, term(at), term(at + 1))).collect()
    }

    fn atom(&self, step: Step, a: Term, b: Term) -> Atom {
        if step < self.half() {
            Atom::Pair(Predicate(step), a, b)
        } else {
            Atom::Pair(Predicate(step - self.half()), b, a)
        }
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
        let steps = Steps::new(&facts);
        let patterns: Vec<Pattern> = (0..6)
            .flat_map(|step| [None, Some(2), Some(4)].map(|constant| Pattern { step, constant }))
            .collect();
        let patterns: Vec<Pattern> = patterns
            .into_iter()
            .chain([1, 4].map(|e| Pattern { step: IDENTITY, constant: Some(e) }))
            .collect();
        let mut bodies: Vec<Body> = (0..6).map(|step| Body::path(&[step])).collect();
        let path = |steps: &[Step], min_groundings| Body::path(steps).with_min_groundings(min_groundings);
        bodies.extend((0..108).map(|n| path(&[n / 6 % 6, n % 6], 1 + n / 36)));
        bodies.extend((0..864).map(|n| path(&[n / 36 % 6, n / 6 % 6, n % 6], 1 + n / 216)));
        bodies.extend((0..99).map(|n| path(&[n / 36 % 6, n / 6 % 6, n % 6, n / 9 % 6], 1 + n % 4)));
        bodies
            .extend((0..99).map(|n| path(&[n / 36 % 6, n / 6 % 6, n % 6, n / 9 % 6, n / 5 % 6], 1 + n % 4)));
        bodies.extend(patterns.iter().flat_map(|&x| patterns.iter().map(move |&y| Body::Both(x, y))));
        bodies.extend(patterns.iter().map(|&pattern| Body::X(pattern)));
        bodies.extend(patterns.iter().map(|&pattern| Body::Y(pattern)));
        let (target, mut ends, mut seen) = (Predicate(1), Ends::new(11), 0);
        for body in bodies {
            let least = body.min_groundings();
            let rule = steps.rule(body, target);
            let solver = Solver::new(&rule, &facts, Limits::default()).expect("a sound rule");
            for known in 0..11 {
                for direction in [Direction::Tail, Direction::Head] {
                    if matches!(
                        (body, direction),
                        (Body::X(_), Direction::Tail) | (Body::Y(_), Direction::Head)
                    ) {
                        continue;
                    }
                    assert!(steps.ends(body, direction, known, usize::MAX, &mut ends));
                    let exact = match direction {
                        Direction::Tail => solver.tails(Entity(known)),
                        Direction::Head => solver.heads(Entity(known)),
                    };
                    let often = (0..ends.list().len()).filter(|&place| ends.groundings(place) >= least);
                    let stepsed: Vec<u32> = often.map(|place| ends.list()[place]).collect();
                    assert_eq!(stepsed, exact.value.iter().map(|e| e.0).collect::<Vec<_>>(), "{rule:?}");
                    for end in stepsed {
                        let (head, tail) = direction.pair(Entity(known), Entity(end));
                        let fact = Triple { head, predicate: target, tail };
                        if facts.holds(fact) {
                            let fair = solver.holds_without(head, tail, fact).value;
                            let ways = steps.leave_one_out(body, target, (head.0, tail.0), least);
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

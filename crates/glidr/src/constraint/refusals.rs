//! The candidates that constraints refuse.
//!
//! In: the constraints of one target, and facts. Out: for a query, the entities that cannot be answers; for a pair, the
//! constraints that it would break.

use super::links::{degree, has_role, is_linked, linked, step};
use super::{Denial, Step};
use crate::error::Result;
use crate::graph::{Direction, Entity, Neighbours, Predicate, Query};
use crate::solve::{Limits, Solver};

/// What the constraints of one target refuse on some facts.
pub struct Refusals<'f> {
    facts: &'f Neighbours,
    target: Predicate,
    irreflexive: bool,
    steps: Vec<Step>,
    bodies: Vec<Solver<'f>>,
    /// Whether linked pairs are refused; whether all others are.
    linked: [bool; 2],
    /// Per direction, a known end with so many answers has no other.
    max_answers: [usize; 2],
    /// Per direction, the entities that answer no query.
    never: [Vec<bool>; 2],
}

impl<'f> Refusals<'f> {
    /// What these denials refuse of the target's candidates. Denials of other targets refuse nothing.
    pub fn new<'d>(
        denials: impl IntoIterator<Item = &'d Denial>,
        target: Predicate,
        facts: &'f Neighbours,
    ) -> Result<Self> {
        let mut refusals = Refusals {
            facts,
            target,
            irreflexive: false,
            steps: Vec::new(),
            bodies: Vec::new(),
            linked: [false; 2],
            max_answers: [usize::MAX; 2],
            never: [Vec::new(), Vec::new()],
        };
        for denial in denials {
            refusals.add(denial)?;
        }
        Ok(refusals)
    }

    fn add(&mut self, denial: &Denial) -> Result<()> {
        match denial {
            Denial::Irreflexive(predicate) => self.irreflexive |= *predicate == self.target,
            Denial::Body(rule) => match denial.as_disjoint() {
                Some((one, (other, forward))) => {
                    if one == self.target {
                        self.steps.push((other, forward));
                    } else if other == self.target {
                        self.steps.push((one, forward));
                    }
                }
                None if rule.target == self.target => {
                    self.bodies.push(Solver::new(rule, self.facts, Limits::default())?);
                }
                None => {}
            },
            Denial::AtLeast { predicate, counted, count } if *predicate == self.target => {
                let most = count.saturating_sub(1) as usize;
                let known = counted.other();
                self.max_answers[*counted as usize] = self.max_answers[*counted as usize].min(most);
                self.refuse_all(known, |facts, entity| degree(facts, *predicate, *counted, entity) >= most);
            }
            Denial::End { predicate, end, role } if *predicate == self.target => {
                self.refuse_all(*end, |facts, entity| !has_role(facts, *role, entity));
            }
            Denial::Linked { predicate, denied } if *predicate == self.target => {
                self.linked[usize::from(!denied)] = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn refuse_all(&mut self, direction: Direction, refuses: impl Fn(&Neighbours, u32) -> bool) {
        let never = &mut self.never[direction as usize];
        never.resize(self.facts.entities(), false);
        for (entity, never) in (0..).zip(never) {
            *never |= refuses(self.facts, entity);
        }
    }

    /// Whether nothing is refused.
    pub fn is_empty(&self) -> bool {
        let never = self.never.iter().flatten().any(|&never| never);
        let of_pairs = self.steps.is_empty() && self.bodies.is_empty() && self.linked == [false; 2];
        !never && of_pairs && !self.irreflexive && self.max_answers == [usize::MAX; 2]
    }

    /// Whether pairs are refused that another predicate links.
    pub fn refuses_linked(&self) -> bool {
        self.linked[0]
    }

    /// Whether a known end has as many answers as it may have.
    pub fn is_full(&self, direction: Direction, known: Entity) -> bool {
        let most = self.max_answers[direction as usize];
        most < usize::MAX && degree(self.facts, self.target, direction, known.0) >= most
    }

    /// For every entity whether it answers no query of this direction; empty where all may.
    pub fn never(&self, direction: Direction) -> &[bool] {
        &self.never[direction as usize]
    }

    /// The entities that do not answer this very query, sorted, beside those that answer none.
    pub fn of_query(&self, direction: Direction, known: Entity) -> Vec<u32> {
        let mut refused: Vec<u32> = Vec::new();
        for &of in &self.steps {
            refused.extend_from_slice(step(self.facts, of, direction, known.0));
        }
        for body in &self.bodies {
            let found = match direction {
                Direction::Tail => body.tails(known),
                Direction::Head => body.heads(known),
            };
            refused.extend(found.value.into_iter().map(|entity| entity.0));
        }
        if self.irreflexive {
            refused.push(known.0);
        }
        if self.linked != [false; 2] {
            let linked = linked(self.facts, self.target, direction, known.0);
            if self.linked[1] {
                let is_other = |entity: &u32| linked.binary_search(entity).is_err();
                refused.extend((0..self.facts.entities() as u32).filter(is_other));
            }
            if self.linked[0] {
                refused.extend(linked);
            }
        }
        refused.sort_unstable();
        refused.dedup();
        refused
    }

    /// All entities that are refused as answers to a query, sorted; none where all are, as the known end has as many
    /// answers as it may have.
    pub fn all(&self, query: Query) -> Vec<Entity> {
        if self.is_full(query.direction, query.known) {
            return Vec::new();
        }
        let mut refused = self.of_query(query.direction, query.known);
        let never = self.never(query.direction);
        if never.iter().any(|&never| never) {
            refused.extend((0..).zip(never).filter(|(_, never)| **never).map(|(entity, _)| entity));
            refused.sort_unstable();
            refused.dedup();
        }
        refused.into_iter().map(Entity).collect()
    }

    /// Whether a fact that is none of those that are looked up would break a constraint: the slow twin of the lists above.
    pub fn refuses(&self, head: Entity, tail: Entity) -> bool {
        let linked = || is_linked(self.facts, self.target, head.0, tail.0);
        let holds = |&of: &Step| step(self.facts, of, Direction::Tail, head.0).binary_search(&tail.0).is_ok();
        let never = |direction: Direction, entity: Entity| {
            self.never(direction).get(entity.index()).copied().unwrap_or(false)
        };
        self.steps.iter().any(holds)
            || self.bodies.iter().any(|body| body.holds(head, tail).value)
            || (self.irreflexive && head == tail)
            || (self.linked[0] && linked())
            || (self.linked[1] && !linked())
            || self.is_full(Direction::Tail, head)
            || self.is_full(Direction::Head, tail)
            || never(Direction::Tail, tail)
            || never(Direction::Head, head)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Role;
    use super::*;
    use crate::graph::{Sizes, Triple};
    use crate::rule::{Atom, Literal, Rule, Term};

    fn denial() -> impl Strategy<Value = Denial> {
        let p = || (0..3u32).prop_map(Predicate);
        let end = || prop_oneof![Just(Direction::Tail), Just(Direction::Head)];
        let path = |(p, q, r): (Predicate, Predicate, Predicate)| {
            let pair = |p, a, b| Literal::any_of(vec![Atom::Pair(p, a, b)]);
            Denial::Body(Rule::new(p, &[pair(q, Term::X, Term::Z(1)), pair(r, Term::Z(1), Term::Y)]))
        };
        let at_least = |(predicate, counted, count)| Denial::AtLeast { predicate, counted, count };
        let role = prop_oneof![p().prop_map(Role::Head), p().prop_map(Role::Tail)];
        prop_oneof![
            p().prop_map(Denial::Irreflexive),
            (p(), p(), any::<bool>())
                .prop_map(|(one, other, forward)| Denial::disjoint(one, (other, forward || one == other))),
            (p(), p()).prop_map(|(one, other)| Denial::disjoint(one, (other, false))),
            (p(), p(), p()).prop_map(path),
            (p(), end(), 2..4u32).prop_map(at_least),
            (p(), end(), role).prop_map(|(predicate, end, role)| Denial::End { predicate, end, role }),
            (p(), any::<bool>()).prop_map(|(predicate, denied)| Denial::Linked { predicate, denied }),
        ]
    }

    proptest! {
        #[test]
        fn the_refused_candidates_of_a_query_are_those_whose_facts_break_a_constraint(
            facts in prop::collection::vec((0..6u32, 0..3u32, 0..6u32), 0..25),
            denials in prop::collection::vec(denial(), 0..4),
        ) {
            let facts: Vec<Triple> = facts.into_iter().map(|(h, p, t)| Triple::new(h, p, t)).collect();
            let index = Neighbours::new(Sizes { entities: 6, predicates: 3, properties: 0 }, &facts, &[]);
            for target in (0..3).map(Predicate) {
                let refusals = Refusals::new(&denials, target, &index).expect("sound denials");
                for direction in Direction::BOTH {
                    for known in (0..6).map(Entity) {
                        let all = refusals.all(Query { predicate: target, direction, known });
                        if refusals.is_full(direction, known) {
                            continue;
                        }
                        for candidate in (0..6).map(Entity) {
                            let (head, tail) = direction.pair(known, candidate);
                            // A known end that is of another kind refuses all, which changes no order.
                            let other = refusals.never(direction.other()).get(known.index());
                            if !index.holds(Triple { head, predicate: target, tail }) && other != Some(&true) {
                                prop_assert_eq!(all.contains(&candidate), refusals.refuses(head, tail));
                            }
                        }
                    }
                }
            }
        }
    }
}

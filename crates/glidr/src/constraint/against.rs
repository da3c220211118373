//! Why a candidate is refused: the facts that it contradicts.
//!
//! In: a denial, facts, and a fact that may be new. Out: the facts that cannot be true beside it.

use super::Denial;
use super::links::has_role;
use crate::error::Result;
use crate::graph::{Direction, Entity, Neighbours, Predicate, Triple};
use crate::rule::Atom;
use crate::solve::{Limits, Solver};

impl Denial {
    /// The facts beside which this one breaks the constraint, which may be none; nothing where it does not. It makes no
    /// difference whether it is among the facts itself.
    pub fn against(&self, facts: &Neighbours, fact: Triple) -> Result<Option<Vec<Triple>>> {
        let Triple { head, predicate, tail } = fact;
        let turned = |of: Predicate| Triple { head: tail, predicate: of, tail: head };
        let same = |of: Predicate| Triple { head, predicate: of, tail };
        let held = |of: Triple| (of != fact && facts.holds(of)).then(|| vec![of]);
        Ok(match self {
            Denial::Irreflexive(of) => (*of == predicate && head == tail).then(Vec::new),
            Denial::Body(rule) => match self.as_disjoint() {
                Some((one, (other, forward))) => {
                    let beside = |of| if forward { same(of) } else { turned(of) };
                    let first = (one == predicate).then(|| held(beside(other))).flatten();
                    first.or_else(|| (other == predicate).then(|| held(beside(one))).flatten())
                }
                None if rule.target == predicate => {
                    let grounding = Solver::new(rule, facts, Limits::default())?.grounding(head, tail).value;
                    grounding.map(|grounding| {
                        let triple = |(atom, head, tail)| match atom {
                            Atom::Pair(predicate, ..) => Some(Triple { head, predicate, tail }),
                            _ => None,
                        };
                        grounding.facts(rule, facts).into_iter().filter_map(triple).collect()
                    })
                }
                None => None,
            },
            Denial::AtLeast { predicate: of, counted, count } if *of == predicate => {
                let others: Vec<Triple> = match counted {
                    Direction::Tail => {
                        let tails = facts.tails(predicate, head).iter().filter(|&&other| other != tail.0);
                        tails.map(|&tail| Triple { tail: Entity(tail), ..fact }).collect()
                    }
                    Direction::Head => {
                        let heads = facts.heads(predicate, tail).iter().filter(|&&other| other != head.0);
                        heads.map(|&head| Triple { head: Entity(head), ..fact }).collect()
                    }
                };
                Some(others).filter(|others| others.len() + 1 >= *count as usize)
            }
            Denial::End { predicate: of, end, role } if *of == predicate => {
                let entity = if *end == Direction::Head { head } else { tail };
                (!has_role(facts, *role, entity.0)).then(Vec::new)
            }
            Denial::Linked { predicate: of, denied } if *of == predicate => {
                let all = (0..facts.predicates() as u32).map(Predicate);
                let linking = all.flat_map(|of| [same(of), turned(of)]);
                let mut linking: Vec<Triple> = linking.filter(|&of| of != fact && facts.holds(of)).collect();
                linking.dedup();
                if *denied {
                    Some(linking).filter(|of| !of.is_empty())
                } else {
                    linking.is_empty().then(Vec::new)
                }
            }
            _ => None,
        })
    }
}

//! Facts in conflict: those that together break a constraint.
//!
//! In: a denial and facts. Out: [`Conflict`]s, each with the facts that cannot all be true.

use super::links::{degree, has_role, is_linked};
use super::{Denial, Step};
use crate::error::Result;
use crate::graph::{Direction, Entity, Neighbours, Predicate, Triple};
use crate::rule::Atom;
use crate::solve::{Limits, Solver};

/// Facts that break a constraint together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The fact that the constraint speaks of first.
    pub fact: Triple,
    /// The others; none where a fact breaks it alone, or what is lacking breaks it.
    pub others: Vec<Triple>,
}

impl Denial {
    /// All conflicts among some facts, in the order of their facts. Two facts that deny each other stand here once.
    pub fn conflicts(&self, facts: &Neighbours) -> Result<Vec<Conflict>> {
        let pairs = |predicate: Predicate| {
            facts.pairs(predicate).map(move |(head, tail)| Triple { head, predicate, tail })
        };
        let alone = |fact: Triple| Conflict { fact, others: Vec::new() };
        Ok(match self {
            Denial::Irreflexive(predicate) => {
                pairs(*predicate).filter(|fact| fact.head == fact.tail).map(alone).collect()
            }
            Denial::Body(rule) => {
                if let Some((one, other)) = self.as_disjoint() {
                    return Ok(pairs(one).filter_map(|fact| beside(facts, fact, other)).collect());
                }
                let solver = Solver::new(rule, facts, Limits::default())?;
                let found = |fact: Triple| -> Option<Conflict> {
                    let grounding = solver.grounding(fact.head, fact.tail).value?;
                    let held = grounding.facts(rule, facts);
                    let pair = |(atom, head, tail)| match atom {
                        Atom::Pair(predicate, ..) => Some(Triple { head, predicate, tail }),
                        _ => None,
                    };
                    Some(Conflict { fact, others: held.into_iter().filter_map(pair).collect() })
                };
                pairs(rule.target).filter_map(found).collect()
            }
            Denial::AtLeast { predicate, counted, count } => {
                let known = |fact: &Triple| match counted {
                    Direction::Tail => fact.head,
                    Direction::Head => fact.tail,
                };
                let mut all: Vec<Triple> = pairs(*predicate).collect();
                all.sort_unstable_by_key(|fact| (known(fact), *fact));
                let of_one = all.chunk_by(|a, b| known(a) == known(b));
                let many = of_one
                    .filter(|of| degree(facts, *predicate, *counted, known(&of[0]).0) >= *count as usize);
                many.map(|of| Conflict { fact: of[0], others: of[1..].to_vec() }).collect()
            }
            Denial::End { predicate, end, role } => {
                let at = |fact: &Triple| if *end == Direction::Head { fact.head } else { fact.tail };
                pairs(*predicate).filter(|fact| !has_role(facts, *role, at(fact).0)).map(alone).collect()
            }
            Denial::Linked { predicate, denied } => {
                let is_so = |fact: &Triple| is_linked(facts, *predicate, fact.head.0, fact.tail.0) == *denied;
                pairs(*predicate).filter(is_so).map(alone).collect()
            }
        })
    }
}

/// The conflict of a fact with another predicate of the same pair, if it holds.
fn beside(facts: &Neighbours, fact: Triple, (predicate, forward): Step) -> Option<Conflict> {
    let (head, tail): (Entity, Entity) =
        if forward { (fact.head, fact.tail) } else { (fact.tail, fact.head) };
    let other = Triple { head, predicate, tail };
    // Of an asymmetric predicate both facts come by; the first tells.
    let is_told = predicate == fact.predicate && other < fact;
    (facts.holds(other) && other != fact && !is_told).then(|| Conflict { fact, others: vec![other] })
}

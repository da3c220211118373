//! Who is linked to whom, and how constraints look at pairs of facts.

use super::{Role, Step};
use crate::graph::{Direction, Entity, Neighbours, Predicate};

/// The entities at the other end of a step from `known`, where the answer in this direction is asked for, sorted.
pub(super) fn step(facts: &Neighbours, step: Step, direction: Direction, known: u32) -> &[u32] {
    let (predicate, forward) = step;
    if forward == (direction == Direction::Tail) {
        facts.tails(predicate, Entity(known))
    } else {
        facts.heads(predicate, Entity(known))
    }
}

/// The entities that another predicate links to `known`, in either direction, or the same the other way round; sorted.
pub(super) fn linked(facts: &Neighbours, predicate: Predicate, direction: Direction, known: u32) -> Vec<u32> {
    let mut linked = Vec::new();
    for other in (0..facts.predicates() as u32).map(Predicate) {
        for forward in [true, false] {
            if (other, forward) != (predicate, true) {
                linked.extend_from_slice(step(facts, (other, forward), direction, known));
            }
        }
    }
    linked.sort_unstable();
    linked.dedup();
    linked
}

/// Whether another predicate links two entities, in either direction, or the same the other way round.
pub(super) fn is_linked(facts: &Neighbours, predicate: Predicate, head: u32, tail: u32) -> bool {
    (0..facts.predicates() as u32).map(Predicate).any(|other| {
        let holds = |from: u32, to: u32| facts.tails(other, Entity(from)).binary_search(&to).is_ok();
        (other != predicate && holds(head, tail))
            || ((other != predicate || head != tail) && holds(tail, head))
    })
}

/// Whether an entity has a role.
pub(super) fn has_role(facts: &Neighbours, role: Role, entity: u32) -> bool {
    match role {
        Role::Own(property) => facts.owners(property).binary_search(&entity).is_ok(),
        Role::Head(predicate) => !facts.tails(predicate, Entity(entity)).is_empty(),
        Role::Tail(predicate) => !facts.heads(predicate, Entity(entity)).is_empty(),
    }
}

/// How many answers an entity has where it is the known end.
pub(super) fn degree(facts: &Neighbours, predicate: Predicate, direction: Direction, known: u32) -> usize {
    step(facts, (predicate, true), direction, known).len()
}

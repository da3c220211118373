//! Queries: a fact with one end missing, and which end that is.

use serde::{Deserialize, Serialize};

use super::{Entity, Predicate, Triple};

/// Which end of a fact is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// `p(h, ?)`
    Tail,
    /// `p(?, t)`
    Head,
}

impl Direction {
    /// Both, in the order of the printed results.
    pub const BOTH: [Direction; 2] = [Direction::Tail, Direction::Head];

    /// The end that is known where this one is asked for.
    #[must_use]
    pub fn other(self) -> Self {
        Direction::BOTH[1 - self as usize]
    }

    /// The pair of the known end and a candidate.
    pub fn pair(self, known: Entity, candidate: Entity) -> (Entity, Entity) {
        match self {
            Direction::Tail => (known, candidate),
            Direction::Head => (candidate, known),
        }
    }
}

/// `p(h, ?)` or `p(?, t)`: which entity is the missing end?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Query {
    /// The predicate.
    pub predicate: Predicate,
    /// The end that is asked for.
    pub direction: Direction,
    /// The end that is known.
    pub known: Entity,
}

impl Query {
    /// The fact that a candidate would make.
    pub fn fact(self, candidate: Entity) -> Triple {
        let (head, tail) = self.direction.pair(self.known, candidate);
        Triple { head, predicate: self.predicate, tail }
    }

    /// The query that a fact answers, and its answer.
    pub fn of(fact: Triple, direction: Direction) -> (Query, Entity) {
        let (known, answer) = match direction {
            Direction::Tail => (fact.head, fact.tail),
            Direction::Head => (fact.tail, fact.head),
        };
        (Query { predicate: fact.predicate, direction, known }, answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_of_a_fact_gives_the_fact_back_with_its_answer() {
        let fact = Triple::new(3, 1, 7);
        for direction in Direction::BOTH {
            let (query, answer) = Query::of(fact, direction);
            assert_eq!(query.fact(answer), fact);
        }
        assert_eq!(Query::of(fact, Direction::Head).0.known, Entity(7));
    }
}

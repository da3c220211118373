//! A rule's confidence or weight, for each direction.

use std::fmt;

use serde::Serialize;

use crate::graph::Direction;

/// A rule's confidence or weight for queries that ask for a tail, and for those that ask for a head. A rule may tell
/// much in one direction only: a film tells an actor's profession, a profession hardly tells the actor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Weight {
    /// Where the tail is asked for.
    pub tail: f64,
    /// Where the head is.
    pub head: f64,
}

impl Weight {
    /// The one for a direction.
    pub fn of(self, direction: Direction) -> f64 {
        match direction {
            Direction::Tail => self.tail,
            Direction::Head => self.head,
        }
    }

    /// The greater one.
    pub fn max(self) -> f64 {
        self.tail.max(self.head)
    }

    /// The one that tells more: of a rule that speaks against its answers the lesser one, else the greater.
    pub fn main(self) -> f64 {
        let least = self.tail.min(self.head);
        if self.max() <= 0.0 { least } else { self.max() }
    }

    /// The weights that a text such as `0.5` or `0.4 / 1.7` says, as they print.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite());
        match text.split_once(" / ") {
            Some((tail, head)) => Some(Weight { tail: number(tail)?, head: number(head)? }),
            None => number(text).map(Weight::from),
        }
    }

    /// Both, changed alike.
    pub(crate) fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Weight { tail: change(self.tail), head: change(self.head) }
    }
}

impl From<f64> for Weight {
    fn from(number: f64) -> Self {
        Weight { tail: number, head: number }
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Added to 0, so that a negative zero has no sign.
        write!(f, "{}", self.tail + 0.0)?;
        if self.tail == self.head { Ok(()) } else { write!(f, " / {}", self.head + 0.0) }
    }
}

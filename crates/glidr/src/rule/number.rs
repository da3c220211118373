//! What a rule counts beside others: its confidence, or its weight.

use std::fmt;

use serde::Serialize;

use crate::rank::Asked;

/// A rule's number where a tail is asked for, and where a head is. How much a rule tells may differ: of a profession few
/// people are told apart by what tells a person's profession.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Number {
    /// Where the tail is asked for.
    pub tail: f64,
    /// Where the head is.
    pub head: f64,
}

impl Number {
    /// The one for a question.
    pub fn of(self, asked: Asked) -> f64 {
        match asked {
            Asked::Tail => self.tail,
            Asked::Head => self.head,
        }
    }

    /// The greater one.
    pub fn most(self) -> f64 {
        self.tail.max(self.head)
    }

    /// Both, changed alike.
    pub(crate) fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Number { tail: change(self.tail), head: change(self.head) }
    }
}

impl From<f64> for Number {
    fn from(number: f64) -> Self {
        Number { tail: number, head: number }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.tail)?;
        if self.tail.to_bits() == self.head.to_bits() { Ok(()) } else { write!(f, " / {}", self.head) }
    }
}

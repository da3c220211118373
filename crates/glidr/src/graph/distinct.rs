//! A list that drops repeats while it grows.

/// Shorter lists are not looked through for repeats.
const MIN_LIMIT: usize = 1 << 20;

/// Facts as they come, each once: repeats are dropped whenever the list has doubled, so that memory is
/// that of the distinct facts and not of the lines.
pub(super) struct Distinct<F> {
    facts: Vec<F>,
    given: usize,
    limit: usize,
}

impl<F> Default for Distinct<F> {
    fn default() -> Self {
        Distinct { facts: Vec::new(), given: 0, limit: MIN_LIMIT }
    }
}

impl<F: Copy + Ord> Distinct<F> {
    /// Adds a fact.
    pub fn push(&mut self, fact: F) {
        if self.facts.len() >= self.limit {
            self.facts.sort_unstable();
            self.facts.dedup();
            self.limit = (2 * self.facts.len()).max(MIN_LIMIT);
        }
        self.given += 1;
        self.facts.push(fact);
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// The facts under other numbers, sorted and distinct, and how many repeats there were.
    pub fn renumbered(mut self, number: impl Fn(F) -> F) -> (Vec<F>, usize) {
        for fact in &mut self.facts {
            *fact = number(*fact);
        }
        self.facts.sort_unstable();
        self.facts.dedup();
        self.facts.shrink_to_fit();
        let repeats = self.given - self.facts.len();
        (self.facts, repeats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_dropped_and_counted_and_take_no_room() {
        let mut list = Distinct::default();
        assert!(list.is_empty());
        for number in 0..3 * MIN_LIMIT {
            list.push(number % 100);
        }
        assert!(list.facts.capacity() <= 2 * MIN_LIMIT);
        let (facts, repeats) = list.renumbered(|number| 100 - number);
        assert_eq!(facts, (1..=100).collect::<Vec<_>>());
        assert_eq!(repeats, 3 * MIN_LIMIT - 100);
    }
}

//! The pairs that any rule of a target fires on, numbered.

use crate::graph::Entity;

/// Sorted pairs; all others have no rule.
pub(super) struct Universe {
    pub entities: usize,
    pub pairs: Vec<(u32, u32)>,
    /// Where each head's pairs start.
    start: Vec<u32>,
    /// The numbers of the pairs by tail.
    columns: Vec<Vec<u32>>,
}

impl Universe {
    pub fn new(entities: usize, mut pairs: Vec<(u32, u32)>) -> Self {
        pairs.sort_unstable();
        pairs.dedup();
        let mut start = vec![0; entities + 1];
        let mut columns = vec![Vec::new(); entities];
        for (place, &(head, tail)) in pairs.iter().enumerate() {
            start[head as usize + 1] += 1;
            columns[tail as usize].push(place as u32);
        }
        for head in 0..entities {
            start[head + 1] += start[head];
        }
        Universe { entities, pairs, start, columns }
    }

    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    pub fn find(&self, (head, tail): (u32, u32)) -> Option<usize> {
        let from = self.start[head as usize] as usize;
        let row = &self.pairs[from..self.start[head as usize + 1] as usize];
        row.binary_search(&(head, tail)).ok().map(|place| from + place)
    }

    /// The numbers of the pairs of one head.
    pub fn row(&self, head: u32) -> std::ops::Range<u32> {
        self.start[head as usize]..self.start[head as usize + 1]
    }

    /// The numbers of the pairs of one tail.
    pub fn column(&self, tail: u32) -> &[u32] {
        &self.columns[tail as usize]
    }

    /// The numbers of answers, all of which must be in the universe.
    pub fn numbers(&self, answers: &[(Entity, Entity)]) -> Vec<u32> {
        let number = |&(head, tail): &(Entity, Entity)| {
            self.find((head.0, tail.0)).expect("the universe holds all answers") as u32
        };
        answers.iter().map(number).collect()
    }
}

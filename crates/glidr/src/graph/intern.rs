//! Interning: every distinct name is kept once, and a fact is three numbers.
//!
//! In: names as they are read. Out: a number for each, and in the end the names in order.

use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;

use super::strings::Strings;

/// A free place of the table.
const FREE: u32 = u32::MAX;

/// One place of the table: the number of a name and a part of its hash.
#[derive(Clone, Copy)]
struct Slot {
    hash: u32,
    number: u32,
}

/// Names and a hash table of their numbers; numbers are given in the order of first sight.
///
/// The table holds eight bytes for a name, not a copy of it: `std`'s map needs the names as keys.
#[derive(Default)]
pub(super) struct Interner {
    strings: Strings,
    /// A power of two, at most half of it taken; the next free place is tried when one is taken.
    table: Vec<Slot>,
    hasher: RandomState,
}

impl Interner {
    /// The number of `name`, a new one if it was never seen.
    pub fn intern(&mut self, name: &str) -> u32 {
        self.number(name, self.hash(name))
    }

    /// The numbers of many names.
    ///
    /// A large table is out of the processor's reach, and every look into it takes long. Here all places
    /// are read before any is needed, so that the looks overlap: half the time for two million triples.
    pub fn intern_all(&mut self, names: &Strings) -> Vec<u32> {
        let hashes: Vec<u32> = names.iter().map(|name| self.hash(name)).collect();
        if let Some(last) = self.table.len().checked_sub(1) {
            let near: Vec<u32> = hashes.iter().map(|&hash| self.table[hash as usize & last].number).collect();
            black_box(near.iter().map(|&number| self.strings.touch(number as usize)).max());
        }
        names.iter().zip(hashes).map(|(name, hash)| self.number(name, hash)).collect()
    }

    fn hash(&self, name: &str) -> u32 {
        self.hasher.hash_one(name) as u32
    }

    fn number(&mut self, name: &str, hash: u32) -> u32 {
        if 2 * (self.strings.len() + 1) > self.table.len() {
            self.grow();
        }
        let mut place = hash as usize & (self.table.len() - 1);
        loop {
            let slot = self.table[place];
            if slot.number == FREE {
                break;
            }
            if slot.hash == hash && self.strings.get(slot.number as usize) == Some(name) {
                return slot.number;
            }
            place = (place + 1) & (self.table.len() - 1);
        }
        let number = self.strings.len() as u32;
        assert!(number < FREE, "at most 2³² − 1 names");
        self.table[place] = Slot { hash, number };
        self.strings.push(name);
        number
    }

    /// Doubles the table.
    fn grow(&mut self) {
        let size = (2 * self.table.len()).max(16);
        let old = std::mem::replace(&mut self.table, vec![Slot { hash: 0, number: FREE }; size]);
        for slot in old.into_iter().filter(|slot| slot.number != FREE) {
            let mut place = slot.hash as usize & (size - 1);
            while self.table[place].number != FREE {
                place = (place + 1) & (size - 1);
            }
            self.table[place] = slot;
        }
    }

    /// The names in the order of their numbers.
    pub fn into_strings(self) -> Strings {
        self.strings
    }

    /// The names in bytewise order, and for each number its place in that order.
    pub fn into_sorted(self) -> (Strings, Vec<u32>) {
        let strings = self.into_strings();
        let order = strings.order();
        let mut rank = vec![0; order.len()];
        for (place, &number) in order.iter().enumerate() {
            rank[number as usize] = place as u32;
        }
        (strings.in_order(&order), rank)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_those_of_a_plain_map_and_the_order_is_that_of_a_tree(names in prop::collection::vec("[a-dä]{0,4}", 0..200)) {
            let mut interner = Interner::default();
            let mut plain: HashMap<&str, u32> = HashMap::new();
            for name in &names {
                let next = plain.len() as u32;
                let number = *plain.entry(name).or_insert(next);
                prop_assert_eq!(interner.intern(name), number);
            }
            let mut at_once = Interner::default();
            for names in names.chunks(7) {
                let mut strings = Strings::default();
                for name in names {
                    strings.push(name);
                }
                let numbers: Vec<u32> = names.iter().map(|name| plain[name.as_str()]).collect();
                prop_assert_eq!(at_once.intern_all(&strings), numbers);
            }
            let (sorted, rank) = interner.into_sorted();
            let tree: BTreeSet<&str> = names.iter().map(String::as_str).collect();
            prop_assert_eq!(sorted.iter().collect::<Vec<_>>(), tree.into_iter().collect::<Vec<_>>());
            for (name, number) in plain {
                prop_assert_eq!(sorted.get(rank[number as usize] as usize), Some(name));
            }
        }
    }
}

//! The links of one graph: which pairs of entities have any, and by which predicates.

/// One predicate's link of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub predicate: u32,
    pub value: f32,
    /// How it grows with its attention.
    pub slope: f32,
}

/// Pairs of entities with a link in either direction, by the first entity; both (e, f) and (f, e) are
/// there whenever one is.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Where each entity's pairs start; one more at the end.
    pub start: Vec<u32>,
    /// The second entity of every pair, rising within one entity's.
    pub other: Vec<u32>,
    /// The number of the pair the other way round.
    pub back: Vec<u32>,
    /// How many links of one entity a pair stands for: as many as there are entities like the second, other
    /// than itself.
    pub times: Vec<f32>,
    /// Where each pair's entries start; one more at the end.
    pub first: Vec<u32>,
    /// The links from the first entity to the second.
    pub entries: Vec<Entry>,
    /// Links as they are found: place in the square, predicate, value.
    found: Vec<(u32, Entry)>,
    /// The number of each place's pair, plus one; 0 for none.
    number: Vec<u32>,
}

impl Links {
    /// Starts anew.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.found.clear();
    }

    /// Adds a link from one entity to another.
    #[inline(always)]
    pub fn push(&mut self, place: usize, entry: Entry) {
        self.found.push((place as u32, entry));
    }

    /// Puts all links that were added in order; `counts` says how many entities are like each.
    #[inline(always)]
    pub fn settle(&mut self, counts: &[f32]) {
        let entities = counts.len();
        self.number.clear();
        self.number.resize(entities * entities, 0);
        for (place, _) in &self.found {
            let (e, f) = (*place as usize / entities, *place as usize % entities);
            self.number[e * entities + f] = 1;
            self.number[f * entities + e] = 1;
        }
        self.start.clear();
        self.other.clear();
        self.times.clear();
        for e in 0..entities {
            self.start.push(self.other.len() as u32);
            for f in 0..entities {
                let number = &mut self.number[e * entities + f];
                if *number != 0 {
                    self.other.push(f as u32);
                    self.times.push(if e == f { counts[f] - 1.0 } else { counts[f] });
                    *number = self.other.len() as u32;
                }
            }
        }
        self.start.push(self.other.len() as u32);
        self.back.clear();
        for e in 0..entities {
            for pair in self.pairs(e) {
                self.back.push(self.number[self.other[pair] as usize * entities + e] - 1);
            }
        }
        // Entries by pair, within a pair in the order they were added.
        self.first.clear();
        self.first.resize(self.other.len() + 1, 0);
        for (place, _) in &self.found {
            self.first[self.number[*place as usize] as usize] += 1;
        }
        let mut sum = 0;
        for first in &mut self.first {
            sum += *first;
            *first = sum;
        }
        self.entries.clear();
        self.entries.resize(self.found.len(), Entry { predicate: 0, value: 0.0, slope: 0.0 });
        for (place, entry) in self.found.iter().rev() {
            // Filled from behind: what is left in `first` are the starts.
            let end = &mut self.first[self.number[*place as usize] as usize];
            *end -= 1;
            self.entries[*end as usize] = *entry;
        }
        self.first.rotate_left(1);
        if let Some(last) = self.first.last_mut() {
            *last = self.entries.len() as u32;
        }
    }

    /// The numbers of an entity's pairs.
    #[inline(always)]
    pub fn pairs(&self, entity: usize) -> std::ops::Range<usize> {
        self.start[entity] as usize..self.start[entity + 1] as usize
    }

    /// The entries of a pair and of the pair the other way round, each with the number of its first filler.
    #[inline(always)]
    pub fn both_ways(&self, pair: usize, predicates: usize) -> [(std::ops::Range<usize>, usize); 2] {
        [(self.entries(pair), 0), (self.entries(self.back[pair] as usize), predicates)]
    }

    /// The numbers of a pair's entries.
    #[inline(always)]
    pub fn entries(&self, pair: usize) -> std::ops::Range<usize> {
        self.first[pair] as usize..self.first[pair + 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_by_their_pair_and_every_pair_knows_its_way_back() {
        let mut links = Links::default();
        let given = [(1, 2, 0, 0.6), (0, 1, 0, 0.7), (1, 1, 1, 0.7), (2, 1, 1, 0.8), (1, 2, 1, 0.9)];
        for (e, f, predicate, value) in given {
            links.push(e * 3 + f, Entry { predicate, value, slope: 0.0 });
        }
        links.settle(&[1.0, 5.0, 2.0]);
        assert_eq!(links.other, [1, 0, 1, 2, 1]);
        assert_eq!(links.times, [5.0, 1.0, 4.0, 2.0, 5.0]);
        for e in 0..3 {
            for pair in links.pairs(e) {
                let back = links.back[pair] as usize;
                assert_eq!((links.other[back] as usize, links.back[back] as usize), (e, pair));
                let mut expected: Vec<(u32, f32)> = Vec::new();
                let ends = (e, links.other[pair] as usize);
                expected.extend(given.iter().filter(|g| (g.0, g.1) == ends).map(|g| (g.2, g.3)));
                let entries = &links.entries[links.entries(pair)];
                let found: Vec<(u32, f32)> =
                    entries.iter().map(|entry| (entry.predicate, entry.value)).collect();
                assert_eq!(found, expected);
            }
        }
        links.clear();
        links.settle(&[1.0; 2]);
        assert_eq!((links.start.as_slice(), links.first.as_slice()), (&[0, 0, 0][..], &[0][..]));
    }
}

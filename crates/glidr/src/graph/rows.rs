//! Sorted lists of numbers, one for each of many rows, in one piece of memory.

/// Rows that have so few entries that each would pay for more than this many empty rows are looked up by
/// search: a graph of a million entities and hundreds of predicates would else be mostly empty rows.
const MAX_ROWS_PER_ENTRY: usize = 32;

/// Rows of sorted numbers, one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// The rows that are not empty, where most are; else none.
    filled: Option<Vec<u32>>,
    start: Vec<u32>,
    list: Vec<u32>,
}

impl Rows {
    /// Rows from (row, number) entries, sorted and distinct.
    pub fn new(rows: usize, entries: &[(u32, u32)]) -> Self {
        if rows > entries.len().saturating_mul(MAX_ROWS_PER_ENTRY) {
            Self::few(entries)
        } else {
            Self::all(rows, entries)
        }
    }

    /// A start for every row.
    fn all(rows: usize, entries: &[(u32, u32)]) -> Self {
        let mut start = vec![0; rows + 1];
        for &(row, _) in entries {
            start[row as usize + 1] += 1;
        }
        for row in 0..rows {
            start[row + 1] += start[row];
        }
        Rows { filled: None, start, list: numbers(entries) }
    }

    /// A start for every row that is not empty.
    fn few(entries: &[(u32, u32)]) -> Self {
        let (mut filled, mut start, mut end) = (Vec::new(), vec![0], 0);
        for row in entries.chunk_by(|a, b| a.0 == b.0) {
            end += row.len() as u32;
            filled.push(row[0].0);
            start.push(end);
        }
        Rows { filled: Some(filled), start, list: numbers(entries) }
    }

    /// The numbers of one row.
    #[inline]
    pub fn row(&self, row: u32) -> &[u32] {
        let place = match &self.filled {
            None => row as usize,
            Some(filled) => match filled.binary_search(&row) {
                Ok(place) => place,
                Err(_) => return &[],
            },
        };
        &self.list[self.start[place] as usize..self.start[place + 1] as usize]
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// All entries, sorted.
    pub fn entries(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let row = |place: usize| self.filled.as_ref().map_or(place as u32, |filled| filled[place]);
        let rows = self.start.windows(2).enumerate();
        rows.flat_map(move |(place, ends)| {
            let numbers = &self.list[ends[0] as usize..ends[1] as usize];
            numbers.iter().map(move |&number| (row(place), number))
        })
    }
}

fn numbers(entries: &[(u32, u32)]) -> Vec<u32> {
    entries.iter().map(|&(_, number)| number).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_are_the_same_with_a_start_for_all_or_for_few(entries in prop::collection::btree_set((0u32..20, 0u32..9), 0..40)) {
            let entries: Vec<(u32, u32)> = entries.into_iter().collect();
            for rows in [Rows::all(20, &entries), Rows::few(&entries), Rows::new(20, &entries)] {
                prop_assert_eq!(rows.len(), entries.len());
                prop_assert_eq!(rows.entries().collect::<Vec<_>>(), entries.clone());
                for row in 0..20 {
                    let plain: Vec<u32> = entries.iter().filter(|entry| entry.0 == row).map(|entry| entry.1).collect();
                    prop_assert_eq!(rows.row(row), plain);
                }
            }
        }
    }
}

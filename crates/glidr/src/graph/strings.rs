//! Strings in one piece of memory: a large data set has millions of short names.

/// Strings in one piece of memory, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Strings {
    text: String,
    ends: Vec<usize>,
}

impl Strings {
    /// How many strings there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The string at `place`, if there are so many.
    pub fn get(&self, place: usize) -> Option<&str> {
        let end = *self.ends.get(place)?;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.text[start..end])
    }

    /// Adds a string at the end.
    pub fn push(&mut self, string: &str) {
        self.text.push_str(string);
        self.ends.push(self.text.len());
    }

    /// All strings in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|place| self.at(place))
    }

    /// A byte of the string at `place`: reading it brings the string near.
    pub fn touch(&self, place: usize) -> u8 {
        let end = self.ends.get(place).copied().unwrap_or(0);
        self.text.as_bytes().get(end.wrapping_sub(1)).copied().unwrap_or(0)
    }

    /// The string at `place`, which there is.
    pub fn at(&self, place: usize) -> &str {
        self.get(place).expect("a string that is there")
    }

    /// Forgets all strings.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// The places of the strings in the bytewise order of the strings.
    ///
    /// Most are told apart by the eight bytes after what all begin with, without looking at the strings.
    pub fn order(&self) -> Vec<u32> {
        let first = self.get(0).unwrap_or_default().as_bytes();
        let alike = |name: &str| first.iter().zip(name.as_bytes()).take_while(|(a, b)| a == b).count();
        let prefix = self.iter().map(alike).min().unwrap_or(0);
        let key = |name: &str| {
            let mut bytes = [0; 8];
            bytes.iter_mut().zip(&name.as_bytes()[prefix..]).for_each(|(byte, &of)| *byte = of);
            u64::from_be_bytes(bytes)
        };
        let mut order: Vec<(u64, u32)> = self.iter().map(key).zip(0..).collect();
        order.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| self.at(a.1 as usize).cmp(self.at(b.1 as usize)))
        });
        order.into_iter().map(|(_, place)| place).collect()
    }

    /// The same strings in another order.
    pub fn in_order(&self, order: &[u32]) -> Strings {
        let mut strings = Strings {
            text: String::with_capacity(self.text.len()),
            ends: Vec::with_capacity(self.ends.len()),
        };
        for &place in order {
            strings.push(self.at(place as usize));
        }
        strings
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_a_plain_sort(list in prop::collection::vec("(ab|)[a-b\0é]{0,12}", 0..40)) {
            let mut strings = Strings::default();
            for string in &list {
                strings.push(string);
            }
            let ordered = strings.in_order(&strings.order());
            let mut sorted: Vec<&str> = list.iter().map(String::as_str).collect();
            sorted.sort_unstable();
            prop_assert_eq!(ordered.iter().collect::<Vec<_>>(), sorted);
        }
    }
}

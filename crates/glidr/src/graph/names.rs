//! Names and their numbers. In: names in any order. Out: look-ups in both directions, and near names for a typo.

use std::marker::PhantomData;

use serde::{Serialize, Serializer};

use super::Id;
use super::intern::Interner;
use super::strings::Strings;
use crate::error::{Error, Result};

/// So few names are all offered when none looks like the one asked for.
const FEW: usize = 5;

/// A list of distinct names, each with its number: of entities, predicates or properties.
///
/// ```
/// use glidr::internals::graph::{Names, Predicate};
/// let names: Names<Predicate> = Names::new(["uncle", "aunt"]);
/// assert_eq!(names.find("aunt"), Some(Predicate(1)));
/// assert_eq!(names.name(Predicate(0)), "uncle");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names<I> {
    strings: Strings,
    /// The numbers in the order of the names; empty where that is the order of the numbers.
    order: Vec<u32>,
    of: PhantomData<I>,
}

impl<I> Default for Names<I> {
    fn default() -> Self {
        Names { strings: Strings::default(), order: Vec::new(), of: PhantomData }
    }
}

impl<I: Id> Names<I> {
    /// Numbers `list` in its order; later repeats of a name are dropped.
    pub fn new(list: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut interner = Interner::default();
        for name in list {
            interner.intern(name.as_ref());
        }
        let strings = interner.into_strings();
        let order = if strings.iter().is_sorted() { Vec::new() } else { strings.order() };
        Names { strings, order, of: PhantomData }
    }

    /// Names that are sorted and distinct.
    pub(super) fn from_sorted(strings: Strings) -> Self {
        Names { strings, order: Vec::new(), of: PhantomData }
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.strings.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of a number that has one.
    pub fn name(&self, number: I) -> &str {
        self.strings.at(number.index())
    }

    /// The name of a number, if it has one.
    pub fn get(&self, number: I) -> Option<&str> {
        self.strings.get(number.index())
    }

    /// The number of `name`, if it has one.
    pub fn find(&self, name: &str) -> Option<I> {
        let number = |place: usize| self.order.get(place).map_or(place, |&number| number as usize);
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.strings.at(number(middle)).cmp(name) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(I::new(number(middle) as u32)),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// All names in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.strings.iter()
    }

    /// The number of `name`, or an error that offers the nearest names.
    pub fn number(&self, name: &str) -> Result<I> {
        self.find(name).ok_or_else(|| Error::UnknownName {
            kind: I::KIND,
            name: name.to_owned(),
            near: self.near(name),
        })
    }

    /// Up to three names that look like `name`, nearest first; or all, where there are few.
    pub fn near(&self, name: &str) -> Vec<String> {
        let low = name.to_lowercase();
        if let Some(same) = self.iter().find(|other| other.to_lowercase() == low) {
            return vec![same.to_owned()];
        }
        let mut near: Vec<(f64, &str)> = self
            .iter()
            .map(|other| (likeness(&low, &other.to_lowercase()), other))
            .filter(|(likeness, _)| *likeness >= 0.6)
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        if near.is_empty() && self.len() <= FEW {
            return self.iter().map(String::from).collect();
        }
        near.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
    }
}

impl<I: Id> Serialize for Names<I> {
    /// A list of strings.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// 1 for equal words, 0 for words with nothing in common; a part of a path counts as its whole.
fn likeness(a: &str, b: &str) -> f64 {
    if b.contains(a) && a.len() >= 3 {
        return 0.95;
    }
    strsim::normalized_damerau_levenshtein(a, b)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Predicate;
    use super::*;

    #[test]
    fn a_typo_is_answered_with_the_nearest_name() {
        let names: Names<Predicate> = Names::new(["uncle", "aunt", "nephew"]);
        assert_eq!(names.near("unkle"), ["uncle"]);
        assert_eq!(names.near("Uncle"), ["uncle"]);
        let error = names.number("unkle").expect_err("no such name").to_string();
        assert_eq!(error, "unknown predicate “unkle”; did you mean “uncle”?");
    }

    #[test]
    fn a_repeated_name_keeps_its_first_number() {
        let names: Names<Predicate> = Names::new(["b", "a", "b"]);
        let found = (names.find("b"), names.find("a"), names.find("c"));
        assert_eq!((names.len(), found), (2, (Some(Predicate(0)), Some(Predicate(1)), None)));
        assert_eq!((names.get(Predicate(1)), names.get(Predicate(2))), (Some("a"), None));
    }

    proptest! {
        #[test]
        fn every_name_is_found_by_its_number_and_every_number_by_its_name(list in prop::collection::vec("[a-cä]{0,3}", 0..30)) {
            let names: Names<Predicate> = Names::new(&list);
            let mut distinct: Vec<&String> = Vec::new();
            for name in &list {
                if !distinct.contains(&name) {
                    distinct.push(name);
                }
            }
            prop_assert_eq!(names.len(), distinct.len());
            for (number, name) in distinct.into_iter().enumerate() {
                prop_assert_eq!(names.name(Predicate(number as u32)), name);
                prop_assert_eq!(names.find(name), Some(Predicate(number as u32)));
            }
            prop_assert_eq!(names.find("d"), None);
        }
    }
}

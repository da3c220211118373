//! Names and their numbers. In: sorted names. Out: look-ups both ways, and near names for a typo.

use std::collections::HashMap;

use super::{Entity, Predicate, Property, Sizes};
use crate::error::{Error, Result};

/// So few names are all offered when none looks like the one asked for.
const FEW: usize = 5;

/// A list of distinct names, each with its number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    list: Vec<String>,
    number: HashMap<String, u32>,
}

impl Names {
    /// Numbers `list` in its order; later repeats of a name are dropped.
    pub fn new(list: impl IntoIterator<Item = String>) -> Self {
        let mut names = Names::default();
        for name in list {
            let next = names.list.len() as u32;
            if let std::collections::hash_map::Entry::Vacant(place) = names.number.entry(name.clone()) {
                place.insert(next);
                names.list.push(name);
            }
        }
        names
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The name of number `number`.
    pub fn name(&self, number: u32) -> &str {
        &self.list[number as usize]
    }

    /// The name of number `number`, if there is such a number.
    pub fn get(&self, number: u32) -> Option<&str> {
        self.list.get(number as usize).map(String::as_str)
    }

    /// The number of `name`, if it has one.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.number.get(name).copied()
    }

    /// All names in number order.
    pub fn list(&self) -> &[String] {
        &self.list
    }

    /// The number of `name`, or an error that offers the nearest names.
    pub fn number(&self, kind: &'static str, name: &str) -> Result<u32> {
        self.find(name).ok_or_else(|| Error::UnknownName {
            kind,
            name: name.to_owned(),
            near: self.near(name),
        })
    }

    /// Up to three names that look like `name`, nearest first; or all, where there are few.
    pub fn near(&self, name: &str) -> Vec<String> {
        let low = name.to_lowercase();
        if let Some(same) = self.list.iter().find(|other| other.to_lowercase() == low) {
            return vec![same.clone()];
        }
        let mut near: Vec<(f64, &String)> = self
            .list
            .iter()
            .map(|other| (likeness(&low, &other.to_lowercase()), other))
            .filter(|(likeness, _)| *likeness >= 0.6)
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let near: Vec<String> = near.into_iter().take(3).map(|(_, name)| name.clone()).collect();
        if near.is_empty() && self.list.len() <= FEW { self.list.clone() } else { near }
    }
}

/// 1 for equal words, 0 for words with nothing in common; a part of a path counts as its whole.
fn likeness(a: &str, b: &str) -> f64 {
    if b.contains(a) && a.len() >= 3 {
        return 0.95;
    }
    strsim::normalized_damerau_levenshtein(a, b)
}

/// The names of a data set: its entities, predicates and properties.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vocabulary {
    /// Names of entities.
    pub entities: Names,
    /// Names of binary predicates.
    pub predicates: Names,
    /// Names of properties.
    pub properties: Names,
}

impl Vocabulary {
    /// How many names of each kind there are.
    pub fn sizes(&self) -> Sizes {
        Sizes {
            entities: self.entities.len(),
            predicates: self.predicates.len(),
            properties: self.properties.len(),
        }
    }

    /// The entity called `name`, or an error with the nearest names.
    pub fn entity(&self, name: &str) -> Result<Entity> {
        self.entities.number("entity", name).map(Entity)
    }

    /// The predicate called `name`, or an error with the nearest names.
    pub fn predicate(&self, name: &str) -> Result<Predicate> {
        self.predicates.number("predicate", name).map(Predicate)
    }

    /// The property called `name`, or an error with the nearest names.
    pub fn property(&self, name: &str) -> Result<Property> {
        self.properties.number("property", name).map(Property)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_is_answered_with_the_nearest_name() {
        let names = Names::new(["uncle", "aunt", "nephew"].map(String::from));
        assert_eq!(names.near("unkle"), ["uncle"]);
        assert_eq!(names.near("Uncle"), ["uncle"]);
        let error = names.number("predicate", "unkle").expect_err("no such name").to_string();
        assert_eq!(error, "unknown predicate “unkle”; did you mean “uncle”?");
    }

    #[test]
    fn a_repeated_name_keeps_its_first_number() {
        let names = Names::new(["b", "a", "b"].map(String::from));
        assert_eq!((names.len(), names.find("b"), names.find("a")), (2, Some(0), Some(1)));
    }
}

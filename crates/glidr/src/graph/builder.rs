//! A data set from facts by name.
//!
//! In: facts, each in a split. Out: [`Dataset`]. Names are interned and repeats dropped as facts come; in
//! the end names are sorted, so that the order of the facts changes nothing.

use super::distinct::Distinct;
use super::formats::tsv::RawFact;
use super::intern::Interner;
use super::numbered::Numbered;
use super::strings::Strings;
use super::{
    DataWarnings, Dataset, Entity, Names, Predicate, Property, PropertyFact, Split, Triple, Vocabulary,
};
use crate::error::{Error, Result};

/// So many triples are looked up at once.
const BATCH: usize = 256;

/// Collects facts by name, split by split.
///
/// ```
/// use glidr::internals::graph::DatasetBuilder;
/// use glidr::{Dataset, Split};
/// let data: Dataset = DatasetBuilder::new("a small family")
///     .triples(Split::Facts, [("Ann", "mother", "Bob"), ("Bob", "father", "Eve")])
///     .triples(Split::Train, [("Ann", "grandmother", "Eve")])
///     .properties(Split::Facts, [("Ann", "female")])
///     .build(0)?;
/// assert_eq!(data.names().predicate("mother")?.index(), 2);
/// assert_eq!(data.split(Split::Facts).len(), 2);
/// # Ok::<(), glidr::Error>(())
/// ```
#[derive(Default)]
pub struct DatasetBuilder {
    source: String,
    entities: Interner,
    predicates: Interner,
    properties: Interner,
    /// Triples whose heads and tails are not looked up yet, and those.
    waiting: Vec<(Split, Predicate)>,
    waiting_ends: Strings,
    triples: [Distinct<Triple>; 4],
    property_facts: [Distinct<PropertyFact>; 4],
    /// The first name that cannot be one.
    refused: Option<String>,
}

impl DatasetBuilder {
    /// No facts yet; `source` says where they come from.
    pub fn new(source: impl Into<String>) -> Self {
        DatasetBuilder { source: source.into(), ..Self::default() }
    }

    /// Adds facts (head, predicate, tail) to a split.
    #[must_use]
    pub fn triples<H, P, T>(mut self, split: Split, facts: impl IntoIterator<Item = (H, P, T)>) -> Self
    where
        H: AsRef<str>,
        P: AsRef<str>,
        T: AsRef<str>,
    {
        for (head, predicate, tail) in facts {
            let (head, predicate, tail) = (head.as_ref(), predicate.as_ref(), tail.as_ref());
            self.check([head, predicate, tail]);
            self.add(split, RawFact::Triple(head, predicate, tail));
        }
        self
    }

    /// Adds facts (entity, property) to a split.
    #[must_use]
    pub fn properties<E, P>(mut self, split: Split, facts: impl IntoIterator<Item = (E, P)>) -> Self
    where
        E: AsRef<str>,
        P: AsRef<str>,
    {
        for (entity, property) in facts {
            let (entity, property) = (entity.as_ref(), property.as_ref());
            self.check([entity, property]);
            self.add(split, RawFact::Property(entity, property));
        }
        self
    }

    /// The data set; where *facts* was given nothing, *train* is divided 3:1 by `seed`.
    ///
    /// A name that is empty or holds a tab or a line break is refused.
    pub fn build(mut self, seed: u64) -> Result<Dataset> {
        if !self.has_background() {
            let finding = "facts and train must hold at least one triple, but hold none";
            return Err(Error::data(self.source, finding));
        }
        let undivided = self.triples[0].is_empty() && self.property_facts[0].is_empty();
        let mut numbered = self.numbered()?;
        if undivided {
            numbered.divide_train(seed);
        }
        Ok(numbered.into_dataset())
    }

    /// All that is in *train*, divided by `seed` into the four splits.
    pub(super) fn divide(self, seed: u64) -> Result<Dataset> {
        let mut numbered = self.numbered()?;
        numbered.divide_all(seed);
        Ok(numbered.into_dataset())
    }

    /// Whether *facts* or *train* has a triple.
    pub(super) fn has_background(&mut self) -> bool {
        self.number_waiting();
        self.triples[..=Split::Train as usize].iter().any(|facts| !facts.is_empty())
    }

    /// Adds one fact.
    pub(super) fn add(&mut self, split: Split, fact: RawFact) {
        match fact {
            RawFact::Triple(head, predicate, tail) => {
                self.waiting.push((split, Predicate(self.predicates.intern(predicate))));
                self.waiting_ends.push(head);
                self.waiting_ends.push(tail);
                if self.waiting.len() >= BATCH {
                    self.number_waiting();
                }
            }
            RawFact::Property(entity, property) => self.property_facts[split as usize].push(PropertyFact {
                entity: Entity(self.entities.intern(entity)),
                property: Property(self.properties.intern(property)),
            }),
        }
    }

    /// Gives the triples that wait their numbers.
    fn number_waiting(&mut self) {
        let ends = self.entities.intern_all(&self.waiting_ends);
        for (&(split, predicate), ends) in self.waiting.iter().zip(ends.chunks_exact(2)) {
            let (head, tail) = (Entity(ends[0]), Entity(ends[1]));
            self.triples[split as usize].push(Triple { head, predicate, tail });
        }
        self.waiting.clear();
        self.waiting_ends.clear();
    }

    fn check<const N: usize>(&mut self, names: [&str; N]) {
        if self.refused.is_some() {
            return;
        }
        if names.contains(&"") {
            let finding = format!("a name must have at least one character, but one of {names:?} has none");
            self.refused = Some(finding);
        } else if let Some(name) = names.iter().find(|name| name.contains(['\t', '\n', '\r'])) {
            self.refused = Some(format!("a name must hold no tab or line break, but {name:?} does"));
        }
    }

    /// Gives every name its number, in the order of the names, and every fact the numbers of its names.
    fn numbered(mut self) -> Result<Numbered> {
        self.number_waiting();
        if let Some(finding) = self.refused {
            return Err(Error::data(self.source, finding));
        }
        let (entities, entity) = self.entities.into_sorted();
        let (predicates, predicate) = self.predicates.into_sorted();
        let (properties, property) = self.properties.into_sorted();
        let names = Vocabulary {
            entities: Names::from_sorted(entities),
            predicates: Names::from_sorted(predicates),
            properties: Names::from_sorted(properties),
        };
        let entity = |old: Entity| Entity(entity[old.index()]);
        let mut duplicates = 0;
        let triples = self.triples.map(|facts| {
            let (facts, repeats) = facts.renumbered(|fact| Triple {
                head: entity(fact.head),
                predicate: Predicate(predicate[fact.predicate.index()]),
                tail: entity(fact.tail),
            });
            duplicates += repeats;
            facts
        });
        let properties = self.property_facts.map(|facts| {
            let (facts, repeats) = facts.renumbered(|fact| PropertyFact {
                entity: entity(fact.entity),
                property: Property(property[fact.property.index()]),
            });
            duplicates += repeats;
            facts
        });
        let warnings = DataWarnings { duplicates, ..DataWarnings::default() };
        Ok(Numbered { source: self.source, names, triples, properties, warnings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triples_by_name_are_divided_like_a_file_of_them() {
        let triples: Vec<_> = (0..100).map(|n| (format!("e{n}"), "p", format!("e{}", n / 2))).collect();
        let data = Dataset::from_triples(triples.clone(), 7).expect("sound triples");
        let mut file = tempfile::NamedTempFile::new().expect("a place for a small file");
        for (head, predicate, tail) in &triples {
            std::io::Write::write_fmt(&mut file, format_args!("{head}\t{predicate}\t{tail}\n"))
                .expect("a small file");
        }
        let read = Dataset::open(file.path(), 7).expect("a sound file");
        assert_eq!(data.hash(), read.hash());
        assert_eq!(data.warnings(), read.warnings());
    }

    #[test]
    fn train_without_facts_is_divided_and_given_facts_stay() {
        let triples = |from: u32| (from..from + 8).map(|n| (n.to_string(), "p", "x"));
        let builder = DatasetBuilder::new("here").triples(Split::Train, triples(0));
        let data = builder.build(0).expect("sound triples");
        assert_eq!(Split::ALL.map(|split| data.split(split).len()), [6, 2, 0, 0]);
        assert!(data.warnings().divided_by_seed);
        let builder = DatasetBuilder::new("here").triples(Split::Facts, triples(0));
        let data = builder.triples(Split::Train, triples(4)).build(0).expect("sound triples");
        assert_eq!(Split::ALL.map(|split| data.split(split).len()), [8, 8, 0, 0]);
        assert_eq!(data.warnings().leakage[0].count, 4);
    }

    #[test]
    fn no_triples_and_names_that_no_file_could_hold_are_refused() {
        let error = |triples: &[(&str, &str, &str)]| {
            let refused = Dataset::from_triples(triples.iter().copied(), 0);
            refused.expect_err("no data").to_string()
        };
        assert_eq!(error(&[]), "triples: facts and train must hold at least one triple, but hold none");
        let empty = error(&[("a", "p", "b"), ("a", "", "b")]);
        assert!(empty.contains("at least one character") && empty.contains(r#"["a", "", "b"]"#), "{empty}");
        let tab = error(&[("a\tb", "p", "c")]);
        assert!(tab.contains(r#"no tab or line break, but "a\tb" does"#), "{tab}");
    }
}

//! What a user should know about data that was read.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;

use super::formats::tsv::FileReport;
use super::{Dataset, Predicate, PropertyFact, Split, Triple, Vocabulary};

/// What was found while a data set was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DataWarnings {
    /// Facts given more than once in one split; the repeats were dropped.
    pub duplicates: usize,
    /// Facts that are in two splits.
    pub leakage: Vec<Leakage>,
    /// Predicates of valid or test that training never saw.
    pub unseen_predicates: Vec<String>,
    /// Entities seen only in valid or test.
    pub unseen_entities: usize,
    /// Properties in valid or test: no predicate asks for them, so they are left out.
    pub properties_left_out: usize,
    /// Whether the program divided the data itself, by the seed.
    pub divided_by_seed: bool,
    /// Files of the folder that look like facts but are no split, and were not read.
    pub unread: Vec<String>,
    /// Files whose first line names the columns, and is no fact.
    pub headers: Vec<String>,
    /// Files with names that begin or end with a blank: how many lines have such, and the first of them.
    pub padded: Vec<(String, usize, usize)>,
}

impl DataWarnings {
    /// What was found in one file.
    pub(super) fn add_file(&mut self, path: &Path, report: FileReport) {
        let name = path.display().to_string();
        if report.padded > 0 {
            self.padded.push((name.clone(), report.padded, report.first_padded));
        }
        if report.has_header {
            self.headers.push(name);
        }
    }
}

/// Facts that two splits have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leakage {
    /// One of the splits.
    pub first: Split,
    /// The other, later one.
    pub second: Split,
    /// How many facts are in both.
    pub count: usize,
    /// One of them.
    pub example: String,
}

impl Leakage {
    /// What the splits have in common, pair by pair; all lists are sorted and distinct.
    pub(super) fn find(
        names: &Vocabulary,
        triples: &[Vec<Triple>; 4],
        properties: &[Vec<PropertyFact>; 4],
    ) -> Vec<Leakage> {
        let mut found = Vec::new();
        for (i, &first) in Split::ALL.iter().enumerate() {
            for &second in &Split::ALL[i + 1..] {
                let j = second as usize;
                let (count, triple) = common(&triples[i], &triples[j]);
                let (more, property) = common(&properties[i], &properties[j]);
                let triple = triple.map(|fact| show_triple(names, fact));
                let example = triple.or_else(|| property.map(|fact| show_property(names, fact)));
                found.extend(example.map(|example| Leakage { first, second, count: count + more, example }));
            }
        }
        found
    }
}

fn show_triple(names: &Vocabulary, fact: Triple) -> String {
    let (head, tail) = (names.entities.name(fact.head), names.entities.name(fact.tail));
    format!("{}({head}, {tail})", names.predicates.name(fact.predicate))
}

fn show_property(names: &Vocabulary, fact: PropertyFact) -> String {
    format!("{}({})", names.properties.name(fact.property), names.entities.name(fact.entity))
}

/// How many facts two sorted lists have in common, and the first of them.
fn common<F: Copy + Ord>(a: &[F], b: &[F]) -> (usize, Option<F>) {
    let (mut count, mut first, mut rest) = (0, None, b);
    for &fact in a {
        let skipped = rest.iter().take_while(|&&other| other < fact).count();
        rest = &rest[skipped..];
        if rest.first() == Some(&fact) {
            count += 1;
            first = first.or(Some(fact));
        }
    }
    (count, first)
}

impl Dataset {
    /// Counts what only the held-out splits have.
    pub(super) fn find_unseen(&mut self) {
        let [facts, train, valid, test] = &self.splits;
        let sizes = self.names.sizes();
        let (mut entities, mut predicates) = (vec![false; sizes.entities], vec![false; sizes.predicates]);
        for fact in facts.iter().chain(train) {
            entities[fact.head.index()] = true;
            entities[fact.tail.index()] = true;
            predicates[fact.predicate.index()] = true;
        }
        for fact in &self.property_facts {
            entities[fact.entity.index()] = true;
        }
        let mut unseen: BTreeSet<Predicate> = BTreeSet::new();
        for fact in valid.iter().chain(test) {
            if !predicates[fact.predicate.index()] {
                unseen.insert(fact.predicate);
            }
            for entity in [fact.head, fact.tail] {
                let known = std::mem::replace(&mut entities[entity.index()], true);
                self.warnings.unseen_entities += usize::from(!known);
            }
        }
        let name = |&predicate| self.names.predicates.name(predicate).to_owned();
        self.warnings.unseen_predicates = unseen.iter().map(name).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_facts_are_counted_and_the_first_is_named() {
        assert_eq!(common(&[1, 3, 4, 7], &[0, 3, 5, 7, 9]), (2, Some(3)));
        assert_eq!(common(&[1, 2], &[3]), (0, None));
        assert_eq!(common(&[1], &[]), (0, None));
    }
}

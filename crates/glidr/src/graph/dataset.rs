//! A data set: facts, train, valid and test by number, and what was found on the way in.
//!
//! The splits are those of `tab:metrics`: inference reads *facts*, positives come from *train*;
//! for validation and test the background is *facts* + *train*.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{Background, DataWarnings, Entity, KnowledgeGraph, Predicate, PropertyFact, Triple, Vocabulary};
use crate::error::{Error, Result};

/// The four parts of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// The background in training.
    Facts,
    /// The positives in training; part of the background afterwards.
    Train,
    /// Held out for rule weights and choices.
    Valid,
    /// Held out for the final figures.
    Test,
}

impl Split {
    /// All splits in their order.
    pub const ALL: [Split; 4] = [Split::Facts, Split::Train, Split::Valid, Split::Test];

    /// The split's name, which is also the stem of its file.
    pub fn name(self) -> &'static str {
        ["facts", "train", "valid", "test"][self as usize]
    }
}

/// A knowledge graph in four splits.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Where it came from.
    pub source: String,
    pub(super) names: Vocabulary,
    pub(super) splits: [Vec<Triple>; 4],
    pub(super) property_facts: Vec<PropertyFact>,
    pub(super) warnings: DataWarnings,
    /// One for each [`Background`], built when first asked for.
    pub(super) graphs: [OnceLock<Arc<KnowledgeGraph>>; 3],
}

impl Dataset {
    /// A data set of facts that are numbered already; repeats within a split are dropped and counted.
    ///
    /// Numbers that have no name are refused.
    pub fn of(
        source: impl Into<String>,
        names: Vocabulary,
        splits: [Vec<Triple>; 4],
        mut property_facts: Vec<PropertyFact>,
    ) -> Result<Self> {
        let (source, mut warnings) = (source.into(), DataWarnings::default());
        let entity = |entity: Entity| entity.index() < names.entities.len();
        let sound = |fact: &Triple| {
            entity(fact.head) && entity(fact.tail) && fact.predicate.index() < names.predicates.len()
        };
        let sound_property =
            |fact: &PropertyFact| entity(fact.entity) && fact.property.index() < names.properties.len();
        if !splits.iter().flatten().all(sound) || !property_facts.iter().all(sound_property) {
            return Err(Error::data(source, "every number of a fact must have a name, but one has none"));
        }
        let splits = splits.map(|mut facts| {
            let given = facts.len();
            facts.sort_unstable();
            facts.dedup();
            warnings.duplicates += given - facts.len();
            facts
        });
        property_facts.sort_unstable();
        property_facts.dedup();
        let mut dataset =
            Dataset { source, names, splits, property_facts, warnings, graphs: Default::default() };
        dataset.find_unseen();
        Ok(dataset)
    }

    /// The names of everything.
    pub fn names(&self) -> &Vocabulary {
        &self.names
    }

    /// The triples of one split, sorted and distinct.
    pub fn split(&self, split: Split) -> &[Triple] {
        &self.splits[split as usize]
    }

    /// The properties of *facts* and *train*: background at every stage.
    pub fn property_facts(&self) -> &[PropertyFact] {
        &self.property_facts
    }

    /// The graph of a background, under the data's numbers; built when first asked for, then kept.
    ///
    /// ```
    /// use glidr::{Background, Dataset, Split};
    /// let data = Dataset::families(0);
    /// let graph = data.graph(Background::Train);
    /// assert_eq!(graph.facts().len(), data.split(Split::Facts).len() + data.split(Split::Train).len());
    /// ```
    pub fn graph(&self, background: Background) -> &Arc<KnowledgeGraph> {
        self.graphs[background as usize].get_or_init(|| {
            let splits = background.splits().iter().map(|&split| self.split(split));
            let facts = splits.collect::<Vec<_>>().concat();
            Arc::new(KnowledgeGraph::new(self.names.sizes(), facts, self.property_facts.clone()))
        })
    }

    /// What was found while reading.
    pub fn warnings(&self) -> &DataWarnings {
        &self.warnings
    }

    /// The positives of training: *train* without what is in *facts*.
    pub fn positives(&self, target: Predicate) -> Vec<(Entity, Entity)> {
        let facts: HashSet<&Triple> =
            self.split(Split::Facts).iter().filter(|fact| fact.predicate == target).collect();
        self.split(Split::Train)
            .iter()
            .filter(|fact| fact.predicate == target && !facts.contains(fact))
            .map(|fact| (fact.head, fact.tail))
            .collect()
    }

    /// All known facts of a target: *facts* and *train*.
    pub fn known(&self, target: Predicate) -> Vec<(Entity, Entity)> {
        let facts = self.split(Split::Facts).iter().filter(|fact| fact.predicate == target);
        facts.map(|fact| (fact.head, fact.tail)).chain(self.positives(target)).collect()
    }

    /// For every predicate whether it is *irreflexive* as far as training can tell: it has facts, and
    /// none of them is about an entity and itself.
    pub fn irreflexive(&self) -> Vec<bool> {
        let mut seen = vec![[false; 2]; self.names.predicates.len()];
        for fact in self.split(Split::Facts).iter().chain(self.split(Split::Train)) {
            seen[fact.predicate.index()][usize::from(fact.head == fact.tail)] = true;
        }
        seen.into_iter().map(|[apart, with_itself]| apart && !with_itself).collect()
    }

    /// SHA-256 of one split's facts by name, whatever the order of the lines was.
    pub fn split_hash(&self, split: Split) -> String {
        let mut hash = Sha256::new();
        self.hash_split(split, &mut hash);
        hex(&hash.finalize())
    }

    /// SHA-256 of all splits and properties.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        for split in Split::ALL {
            self.hash_split(split, &mut hash);
        }
        for fact in &self.property_facts {
            hash_line(
                &mut hash,
                [self.names.entities.name(fact.entity), self.names.properties.name(fact.property)],
            );
        }
        hex(&hash.finalize())
    }

    /// Facts are hashed by predicate, then in their order.
    fn hash_split(&self, split: Split, hash: &mut Sha256) {
        hash_line(hash, [split.name()]);
        let mut facts = self.split(split).to_vec();
        facts.sort_unstable_by_key(|fact| (fact.predicate, fact.head, fact.tail));
        for Triple { head, predicate, tail } in facts {
            let (head, tail) = (self.names.entities.name(head), self.names.entities.name(tail));
            hash_line(hash, [head, self.names.predicates.name(predicate), tail]);
        }
    }
}

/// Adds a line of fields, with tabs between them.
fn hash_line<const N: usize>(hash: &mut Sha256, fields: [&str; N]) {
    for (place, field) in fields.into_iter().enumerate() {
        if place > 0 {
            hash.update("\t");
        }
        hash.update(field);
    }
    hash.update("\n");
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

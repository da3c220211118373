//! A data set: facts, train, valid and test by number, and what was warnings on the way in.
//!
//! The splits are those of `tab:metrics`: inference reads *facts*, positives come from *train*;
//! for validation and test the background is *facts* + *train*.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{Background, Entity, KnowledgeGraph, Predicate, PropertyFact, Triple, Vocabulary};
use crate::error::{Error, Result};

/// The four parts of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// The background in training.
    Facts,
    /// The positives in training; part of the background afterwards.
    Train,
    /// Held out for votes and choices.
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

/// What was warnings while a data set was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DataWarnings {
    /// Facts that stood more than once in one split, and were dropped.
    pub duplicates: usize,
    /// Facts that stand in two splits: (first, second, how many, one of them).
    pub leakage: Vec<(Split, Split, usize, String)>,
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
        dataset.notice_unseen();
        Ok(dataset)
    }

    /// Counts what only the held-out splits have.
    pub(super) fn notice_unseen(&mut self) {
        let [facts, train, valid, test] = &self.splits;
        let known = || facts.iter().chain(train);
        let predicates: HashSet<Predicate> = known().map(|fact| fact.predicate).collect();
        let mut entities: HashSet<Entity> = known().flat_map(|fact| [fact.head, fact.tail]).collect();
        entities.extend(self.property_facts.iter().map(|fact| fact.entity));
        let held_out = || valid.iter().chain(test);
        let unseen: BTreeSet<Predicate> = held_out()
            .map(|fact| fact.predicate)
            .filter(|predicate| !predicates.contains(predicate))
            .collect();
        self.warnings.unseen_predicates =
            unseen.into_iter().map(|predicate| self.names.predicates.name(predicate.0).to_owned()).collect();
        let only_held_out: HashSet<Entity> = held_out()
            .flat_map(|fact| [fact.head, fact.tail])
            .filter(|entity| !entities.contains(entity))
            .collect();
        self.warnings.unseen_entities = only_held_out.len();
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

    /// What was warnings while reading.
    pub fn warnings(&self) -> &DataWarnings {
        &self.warnings
    }

    /// The positives of training: *train* without what already stands in *facts*.
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
            seen[fact.predicate.0 as usize][usize::from(fact.head == fact.tail)] = true;
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
            let entity = self.names.entities.name(fact.entity.0);
            hash.update(format!("{entity}\t{}\n", self.names.properties.name(fact.property.0)));
        }
        hex(&hash.finalize())
    }

    fn hash_split(&self, split: Split, hash: &mut Sha256) {
        hash.update(format!("{}\n", split.name()));
        let mut by_predicate: BTreeMap<Predicate, Vec<&Triple>> = BTreeMap::new();
        for fact in self.split(split) {
            by_predicate.entry(fact.predicate).or_default().push(fact);
        }
        for fact in by_predicate.into_values().flatten() {
            let (head, tail) = (self.names.entities.name(fact.head.0), self.names.entities.name(fact.tail.0));
            hash.update(format!("{head}\t{}\t{tail}\n", self.names.predicates.name(fact.predicate.0)));
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

//! The background: which splits of a data set inference may read.

use super::{ClassMatrix, Dataset, Split, Triple};

/// Which splits stand in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    /// *facts*: training.
    Facts,
    /// *facts* and *train*: validation and test.
    Train,
    /// All splits: when nothing is held out.
    All,
}

impl Background {
    /// The splits that belong to it.
    pub fn splits(self) -> &'static [Split] {
        match self {
            Background::Facts => &Split::ALL[..1],
            Background::Train => &Split::ALL[..2],
            Background::All => &Split::ALL,
        }
    }

    /// The facts of a data set that belong to it, but for one, under the data's numbers.
    pub fn graph(self, data: &Dataset, without: Option<Triple>) -> ClassMatrix {
        let names = data.names();
        let facts = self.splits().iter().flat_map(|&split| data.split(split)).copied();
        let facts: Vec<Triple> = facts.filter(|&fact| Some(fact) != without).collect();
        let (entities, predicates, properties) =
            (names.entities.len(), names.predicates.len(), names.properties.len());
        ClassMatrix::new(entities, predicates, properties, &facts, data.property_facts())
    }
}

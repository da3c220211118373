//! Facts whose names have numbers, on their way to a data set: divided by a seed where they must be.

use super::{DataWarnings, Dataset, Leakage, PropertyFact, Triple, Vocabulary, divide};

/// Facts by number, sorted and distinct in every split.
pub(super) struct Numbered {
    pub source: String,
    pub names: Vocabulary,
    pub triples: [Vec<Triple>; 4],
    pub properties: [Vec<PropertyFact>; 4],
    pub warnings: DataWarnings,
}

impl Numbered {
    /// Divides *train* by `seed` into *facts* and *train*; properties become *facts*.
    pub fn divide_train(&mut self, seed: u64) {
        let [facts, train, ..] = &mut self.triples;
        [*facts, *train] = divide::three_to_one(std::mem::take(train), seed);
        self.properties[0] = std::mem::take(&mut self.properties[1]);
        self.warnings.divided_by_seed = true;
    }

    /// Divides *train* by `seed` into all four splits.
    pub fn divide_all(&mut self, seed: u64) {
        let [_, train, valid, test] = &mut self.triples;
        [*train, *valid, *test] = divide::hold_out(std::mem::take(train), seed);
        self.divide_train(seed);
    }

    /// The data set, with warnings about it.
    pub fn into_dataset(self) -> Dataset {
        let Numbered { source, names, triples, properties, mut warnings } = self;
        warnings.leakage = Leakage::find(&names, &triples, &properties);
        let [facts, train, valid, test] = properties;
        warnings.properties_left_out = valid.len() + test.len();
        let mut property_facts = [facts, train].concat();
        property_facts.sort_unstable();
        property_facts.dedup();
        let graphs = Default::default();
        let mut data = Dataset { source, names, splits: triples, property_facts, warnings, graphs };
        data.find_unseen();
        data
    }
}

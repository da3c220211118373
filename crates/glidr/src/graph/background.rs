//! The background: which splits of a data set inference may read.

use super::Split;

/// Which splits are in the background.
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
}

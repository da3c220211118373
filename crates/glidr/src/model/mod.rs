//! The model: the one file a user keeps. Soft rules, searched rules, how both are blended, settings and provenance.
//!
//! In: what training and search found. Out: a [`Model`] that is saved and opened; docs/model-file.md has its format.

pub mod container;
mod extract;
mod file;
mod rules;
mod soft;
mod soft_file;
mod training;

pub(crate) use container::{Container, Tensor};
pub use extract::Extraction;
pub use rules::RuleModel;
use serde::{Deserialize, Serialize};
pub use soft::{Ensemble, SoftModel, SoftRule, View};
pub use training::{Negative, Positives, RuleWeights, Training};

use crate::graph::Dataset;

/// The data that a model was learned on, and what learned it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Where the data came from.
    pub source: String,
    /// SHA-256 over all splits of the data.
    pub hash: String,
    /// The version of glidr.
    pub version: String,
    /// The seed of every random choice.
    pub seed: u64,
}

impl Provenance {
    /// Of what this version of glidr learns from `data`.
    pub fn of(data: &Dataset, seed: u64) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Provenance { source: data.source.clone(), hash: data.hash(), version, seed }
    }
}

/// How much of one target's score is soft.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MixingWeight {
    /// The target's name.
    pub target: String,
    /// The part of the score that is soft, from 0 to 1.
    pub weight: f64,
    /// Mean reciprocal rank on *valid* with this weight; 0 where *valid* has no fact of the target.
    pub valid_mrr: f64,
}

/// What was learned from some data: soft rules, searched rules, or both.
///
/// ```
/// use glidr::internals::model::Provenance;
/// use glidr::{Dataset, Model, Training};
/// let families = Dataset::families(0);
/// let training = Training { steps: 20, rules: 2, targets: vec!["uncle".into()], ..Training::default() };
/// let model = Model::new(Provenance::of(&families, training.seed)).with_soft(training.run(&families)?);
/// let folder = tempfile::tempdir().expect("a folder");
/// model.save(folder.path().join("my.glidr"))?;
/// assert_eq!(Model::open(folder.path().join("my.glidr"))?, model);
/// # Ok::<(), glidr::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The soft rules, with how they were trained.
    pub soft: Option<SoftModel>,
    /// The searched rules, with the names they use.
    pub rules: Option<RuleModel>,
    /// How both are blended, target by target.
    pub mixing_weights: Vec<MixingWeight>,
    /// How the rules were searched.
    pub search: Option<serde_json::Value>,
    /// What it was learned on.
    pub provenance: Provenance,
}

impl Model {
    /// A model that has learned nothing yet.
    pub fn new(provenance: Provenance) -> Self {
        Model { soft: None, rules: None, mixing_weights: Vec::new(), search: None, provenance }
    }

    /// The same with these soft rules.
    #[must_use]
    pub fn with_soft(self, soft: SoftModel) -> Self {
        Model { soft: Some(soft), ..self }
    }

    /// The same with these searched rules.
    #[must_use]
    pub fn with_rules(self, rules: RuleModel) -> Self {
        Model { rules: Some(rules), ..self }
    }
}

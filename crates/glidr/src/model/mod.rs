//! The model: the one file a user keeps. Soft rules, searched rules, how both are blended, settings and provenance.
//!
//! In: what training and search found. Out: a [`Model`] that is saved and opened; docs/model-file.md has its format.

mod calibration;
mod constraints_file;
pub mod container;
mod extract;
mod file;
mod rules;
mod soft;
mod soft_file;
mod training;

use std::borrow::Cow;
use std::fmt;

pub(crate) use calibration::logistic;
pub use calibration::{Calibration, Coefficients, Evidence, FEATURES, TargetCalibration};
pub(crate) use container::{Container, Tensor};
pub use extract::Extraction;
pub use rules::RuleModel;
use serde::{Deserialize, Serialize};
pub use soft::{Ensemble, SoftModel, SoftRule, View};
pub use training::{Loss, Negative, Positives, RuleWeights, Training};

use crate::constraint::KeptConstraints;
use crate::error::{Error, Result};
use crate::graph::{Dataset, Names, Predicate, Vocabulary};
use crate::rule::{Measures, Rule, RuleNames, Weight, WeightedRule};

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

/// A rule as it is read: its text, its weight and what was counted of it.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedRule {
    /// The rule as logic.
    pub text: String,
    /// Its confidence, or where rules are summed its weight, for each direction.
    pub weight: Weight,
    /// What was counted of it, where that is known.
    pub measures: Option<Measures>,
    /// What it is sorted by: how good it is to read (docs/guide/3-reading-rules.md).
    pub rating: f64,
}

impl fmt::Display for NamedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
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
    /// What never holds, with the names they use; none where no constraint was learned or given.
    pub constraints: Option<KeptConstraints>,
    /// How both are blended, target by target.
    pub mixing_weights: Vec<MixingWeight>,
    /// How probabilities are read; none where *valid* had no facts to learn that from.
    pub calibration: Option<Calibration>,
    /// How the rules were searched.
    pub search: Option<serde_json::Value>,
    /// The names of the predicates it was told to learn; all where there are none.
    pub targets: Vec<String>,
    /// What it was learned on.
    pub provenance: Provenance,
}

impl Model {
    /// A model that has learned nothing yet.
    pub fn new(provenance: Provenance) -> Self {
        Model {
            soft: None,
            rules: None,
            constraints: None,
            mixing_weights: Vec::new(),
            calibration: None,
            search: None,
            targets: Vec::new(),
            provenance,
        }
    }

    /// The same with these soft rules.
    #[must_use]
    pub fn with_soft(self, soft: SoftModel) -> Self {
        Model { targets: soft.training.targets.clone(), soft: Some(soft), ..self }
    }

    /// The same with these searched rules.
    #[must_use]
    pub fn with_rules(self, rules: RuleModel) -> Self {
        Model { rules: Some(rules), ..self }
    }

    /// Whether facts about the predicate called `name` are ranked: all are, unless it was told what to learn.
    pub fn is_target(&self, name: &str) -> bool {
        self.targets.is_empty() || self.targets.iter().any(|target| target == name)
    }

    /// Refuses a name that is no target with rules, with the nearest that are.
    pub(crate) fn check_target(&self, name: &str) -> Result<()> {
        let known = self.learned_targets();
        if known.contains(&name) {
            return Ok(());
        }
        let near = Names::<Predicate>::new(known.iter().map(|&name| name.to_owned())).near(name);
        Err(Error::UnknownName { kind: "target", name: name.to_owned(), near })
    }

    /// The names of the targets that it has rules for.
    pub fn learned_targets(&self) -> Vec<&str> {
        let searched = self.rules.iter().flat_map(|kept| {
            kept.rules.targets().iter().map(|of_target| kept.names.predicates.name(of_target.target))
        });
        let soft = self.soft.iter().flat_map(|soft| {
            let ensembles = soft.ensembles.iter().filter(|ensemble| !ensemble.rules.is_empty());
            ensembles.map(|ensemble| soft.predicates.name(ensemble.target))
        });
        let mut targets: Vec<&str> = searched.chain(soft).collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }

    /// The searched rules of a target that link X and Y and speak for their answers, best to read first. Without searched rules,
    /// those that its soft rules stand for, by top-p with p = 0.25.
    ///
    /// ```
    /// use glidr::{Dataset, Learner, Method};
    /// let families = Dataset::families(0);
    /// let model = Learner { method: Method::Search, ..Learner::default() }.fit(&families)?;
    /// let rule = model.rules("uncle")?.next().expect("a rule");
    /// assert!(rule.to_string().starts_with("uncle(X, Y) :- ") && rule.weight.max() > 0.0);
    /// # Ok::<(), glidr::Error>(())
    /// ```
    pub fn rules(&self, target: &str) -> Result<impl Iterator<Item = NamedRule>> {
        self.check_target(target)?;
        // Of one target alone: there may be very many rules.
        let (rules, names) = match (&self.rules, &self.soft) {
            (Some(kept), _) => {
                let number = kept.names.predicates.find(target);
                let rules = number.and_then(|number| kept.rules.target(number));
                (rules.map_or(Vec::new(), |of_target| of_target.rules.clone()), Cow::Borrowed(&kept.names))
            }
            (None, Some(soft)) => {
                let rules = soft.target(target)?.extract(&soft.schema, Extraction::TopP(0.25));
                let weighted = |(rule, weight): (Rule, f32)| WeightedRule::new(rule, f64::from(weight));
                (rules.into_iter().map(weighted).collect(), Cow::Owned(soft.vocabulary()))
            }
            (None, None) => (Vec::new(), Cow::Owned(Vocabulary::default())),
        };
        let named = |weighted: WeightedRule| NamedRule {
            text: weighted.rule.show(RuleNames::from(names.as_ref())),
            weight: weighted.weight,
            measures: weighted.measures,
            rating: weighted.rating(),
        };
        let linked = rules.into_iter().filter(WeightedRule::is_reason);
        let mut named: Vec<NamedRule> = linked.map(named).collect();
        named.sort_by(|a, b| b.rating.total_cmp(&a.rating));
        Ok(named.into_iter())
    }
}

//! Learning in one call: soft rules, searched rules, and how both are blended.
//!
//! In: a [`Dataset`]. Out: a [`Model`]. Soft rules are trained first; the search starts from them and from the graph;
//! the mixing weights are chosen on *valid* with what has not been fitted to it.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::evaluate::{Evaluation, calibrate, choose_mixing_weights};
use crate::graph::{Background, Dataset};
use crate::model::{Calibration, MixingWeight, Model, Provenance, RuleModel, SoftModel, Training};
use crate::predict::{Blend, Reasoning, Rules, Soft};
use crate::rule::{Rule, RuleSet, TargetRules};
use crate::search::{Search, SearchReport};
use crate::train::{Run, TrainingEnd};
use crate::util::progress::Progress;

/// What is learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Soft rules, searched rules, and how both are blended.
    #[default]
    Full,
    /// Soft rules alone: the paper's method.
    Soft,
    /// Searched rules alone.
    Search,
}

/// Learns a model from a graph.
///
/// ```
/// use glidr::{Dataset, Learner, Training};
/// let families = Dataset::families(0);
/// let training = Training { steps: 100, targets: vec!["uncle".into()], ..Training::default() };
/// let model = Learner { training, ..Learner::default() }.fit(&families)?;
/// assert!(model.soft.is_some() && model.rules("uncle")?.count() > 0);
/// # Ok::<(), glidr::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Learner {
    /// What is learned.
    pub method: Method,
    /// How soft rules are trained. Its targets and its seed are those of the search too.
    pub training: Training,
    /// How rules are searched.
    pub search: Search,
}

/// What a checkpoint says beside the training settings.
#[derive(Deserialize)]
struct Note {
    method: Method,
    search: Search,
}

/// A model, and what the search for its rules found.
#[derive(Clone, Debug)]
pub struct Learned {
    /// The model.
    pub model: Model,
    /// What was found, target by target.
    pub reports: Vec<SearchReport>,
}

impl Learner {
    /// Learns on all processors.
    pub fn fit(&self, data: &Dataset) -> Result<Model> {
        let learned = self.fit_watched(data, &())?;
        Ok(learned.expect("nothing stops it").model)
    }

    /// The same with progress; none where that stopped it.
    pub fn fit_watched(&self, data: &Dataset, progress: &dyn Progress) -> Result<Option<Learned>> {
        let mut soft = None;
        if self.method != Method::Search {
            let run = self.run(data)?;
            if run.train(rayon::current_num_threads(), progress, None)? == TrainingEnd::Stopped {
                return Ok(None);
            }
            soft = Some(run.into_model(progress));
        }
        self.complete(soft, data, &[], progress)
    }

    /// The run that trains its soft rules; its checkpoints know the whole learner.
    pub fn run<'d>(&self, data: &'d Dataset) -> Result<Run<'d>> {
        let note = serde_json::json!({ "method": self.method, "search": self.search });
        Ok(Run::new(self.training.clone(), data)?.with_note(note))
    }

    /// The learner that a checkpoint was written by.
    pub fn of_checkpoint(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (training, note) = Run::checkpoint_settings(path)?;
        let refused = |error| Error::data(path, format!("the checkpoint is not of a learner: {error}"));
        let Note { method, search } = serde_json::from_value(note).map_err(refused)?;
        Ok(Learner { method, training, search })
    }

    /// Makes a model of trained soft rules, if there are any: searches, also among `proposed` rules, and chooses mixing
    /// weights, as the method has it. None where `progress` stopped it.
    pub fn complete(
        &self,
        soft: Option<SoftModel>,
        data: &Dataset,
        proposed: &[Rule],
        progress: &dyn Progress,
    ) -> Result<Option<Learned>> {
        let mut model = Model::new(Provenance::of(data, self.training.seed));
        model.targets.clone_from(&self.training.targets);
        let mut reports = Vec::new();
        if self.method != Method::Soft {
            let search = Search { seed: self.training.seed, ..self.search };
            let targets = self.training.targets_on(data)?;
            let Some(searched) = search.run(data, soft.as_ref(), proposed, &targets, progress)? else {
                return Ok(None);
            };
            if let Some(soft) = &soft {
                model.mixing_weights = self.mixing_weights(soft, &searched.train_rules, data, progress)?;
            }
            let mut rules = RuleSet::new(searched.rules);
            let mut train_rules = RuleSet::new(searched.train_rules);
            rules.measure_linked(data.graph(Background::Train), progress)?;
            train_rules.take_measures(&rules);
            model.rules = Some(RuleModel::new(&rules, Some(&train_rules), data.names()));
            model.search = Some(serde_json::to_value(search).expect("settings are plain values"));
            reports = searched.reports;
        }
        model.soft = soft;
        if !progress.is_stopped() {
            model.calibration = self.calibration(&model, data, progress)?;
        }
        Ok((!progress.is_stopped()).then_some(Learned { model, reports }))
    }

    /// Fitted on *valid* with what has not been fitted to it.
    fn calibration(
        &self,
        model: &Model,
        data: &Dataset,
        progress: &dyn Progress,
    ) -> Result<Option<Calibration>> {
        let reasoning = Reasoning { train_only: true, ..Reasoning::default() };
        let evaluation = Evaluation {
            allow_reflexive: self.search.allow_reflexive,
            seed: self.training.seed,
            ..Evaluation::default()
        };
        calibrate(model.on_with(data, reasoning)?.predictor(), data, evaluation, progress)
    }

    /// Chosen on *valid* with what has not been fitted to it; every target has 0 where *valid* has no facts.
    fn mixing_weights(
        &self,
        soft: &SoftModel,
        train_rules: &[TargetRules],
        data: &Dataset,
        progress: &dyn Progress,
    ) -> Result<Vec<MixingWeight>> {
        let unfitted = soft.with_loss_weights();
        let rules = Rules::new(train_rules, data);
        let blend = Blend::new(Arc::new(rules), Arc::new(Soft::new(&unfitted, data)?));
        let evaluation = Evaluation { allow_reflexive: self.search.allow_reflexive, ..Evaluation::default() };
        choose_mixing_weights(&blend, data, evaluation, progress)
    }
}

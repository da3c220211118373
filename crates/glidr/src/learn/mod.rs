//! Learning in one call: soft rules, searched rules, and how both are blended.
//!
//! In: a [`Dataset`]. Out: a [`Model`]. Soft rules are trained first; the search starts from them and from the graph;
//! the mixing weights are chosen on *valid* with what has not been fitted to it.

mod constraints;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::constraint::{Checked, Constraint, KeptConstraint, KeptConstraints};
use crate::error::{Error, Result};
use crate::evaluate::{Evaluation, calibrate, choose_mixing_weights, sure_enough};
use crate::graph::{Background, Dataset, Split};
use crate::model::{Calibration, MixingWeight, Model, Provenance, RuleModel, SoftModel, Training};
use crate::predict::{Blend, Predictor, Reasoning, Rules, Soft};
use crate::rule::{Rule, RuleSet, TargetRules};
use crate::search::{Search, SearchReport, Searched};
use crate::solve::Ended;
use crate::train::{Checkpoints, Run, TrainingEnd};
use crate::util::progress::{Budget, Progress};

/// What is learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Full, or search alone where soft rules would take too long.
    #[default]
    Auto,
    /// Soft rules, searched rules, and how both are blended.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Learner {
    /// What is learned.
    pub method: Method,
    /// How soft rules are trained. Its targets and its seed are those of the search too.
    pub training: Training,
    /// How rules are searched.
    pub search: Search,
    /// The most time that all of it may take; no limit where not given. With a limit it depends on the machine what is
    /// found.
    #[serde(skip)]
    pub time: Option<Duration>,
}

impl Default for Learner {
    fn default() -> Self {
        let (method, search) = (Method::default(), Search::default());
        Learner { method, training: Training::for_blend(), search, time: None }
    }
}

/// What a checkpoint says beside the training settings.
#[derive(Deserialize)]
struct Note {
    method: Method,
    search: Search,
}

/// Where learning begins, and where its checkpoints go.
#[derive(Default)]
pub struct Start<'a> {
    /// Soft rules that are taken instead of trained ones.
    pub soft: Option<SoftModel>,
    /// Rules that the search counts too.
    pub proposed: &'a [Rule],
    /// Constraints that are used beside the learned ones.
    pub constraints: &'a [Constraint],
    /// Where the training of soft rules keeps itself.
    pub checkpoints: Option<Checkpoints<'a>>,
    /// Whether training goes on from that checkpoint.
    pub resumes: bool,
}

/// A model, and how it was found.
#[derive(Clone, Debug)]
pub struct Learned {
    /// The model.
    pub model: Model,
    /// What the search found, target by target.
    pub reports: Vec<SearchReport>,
    /// Targets without soft rules, for want of positives in *train*.
    pub without_positives: Vec<String>,
    /// Targets that were not begun when the time was over or the work was stopped.
    pub left_out: Vec<String>,
    /// Whether something was cut short.
    pub is_cut: bool,
}

/// Soft rules that would take longer to train are left out.
const MAX_SOFT_SECONDS: f64 = 300.0;
/// When the parts of a limited time end: training of soft rules, search, counting, mixing weights; probabilities are
/// fitted in the rest.
const PARTS: [f64; 4] = [0.4, 0.82, 0.9, 0.95];

impl Learner {
    /// The paper, exactly: soft rules alone, by its settings.
    pub fn paper() -> Self {
        let search = Search { constraints: false, ..Search::default() };
        Learner { method: Method::Soft, training: Training::default(), search, time: None }
    }

    /// Learns on all processors.
    pub fn fit(&self, data: &Dataset) -> Result<Model> {
        let learned = self.fit_watched(data, Start::default(), &())?;
        Ok(learned.expect("nothing stops it before it has begun").model)
    }

    /// The same with progress. Where that stops the work, or the time is over, the model is of what there is by then; none
    /// where that is nothing.
    pub fn fit_watched(
        &self,
        data: &Dataset,
        start: Start,
        progress: &dyn Progress,
    ) -> Result<Option<Learned>> {
        let budget = Budget::new(progress, self.time);
        let method = self.method_on(data, start.soft.is_some() || start.resumes);
        let mut learned = Learned {
            model: Model::new(Provenance::of(data, self.training.seed)),
            reports: Vec::new(),
            without_positives: Vec::new(),
            left_out: Vec::new(),
            is_cut: false,
        };
        learned.model.targets.clone_from(&self.training.targets);
        let checked = self.constraints(data, start.constraints)?;
        let mut soft = start.soft;
        if soft.is_none() && method != Method::Search {
            let is_last = method == Method::Soft;
            let time = if is_last { budget } else { budget.until(PARTS[0]) };
            soft = self.train(data, start.checkpoints, start.resumes, &time, &mut learned)?;
        }
        let constraints = match &soft {
            Some(soft) if method == Method::Soft => self.chosen_for_soft(soft, &checked, data, &budget)?,
            _ => self.search(soft.as_ref(), data, start.proposed, &checked, &budget, &mut learned)?,
        };
        if !constraints.is_empty() {
            learned.model.constraints = Some(KeptConstraints::new(&constraints, data.names()));
        }
        learned.model.soft = soft;
        if learned.model.soft.is_none() && learned.model.rules.is_none() {
            return Ok(None);
        }
        learned.model.calibration = self.calibration(&learned.model, data, &budget)?;
        learned.is_cut |= budget.is_stopped();
        Ok(Some(learned))
    }

    /// About how many processor seconds soft rules take: to train, and to rank *valid* with.
    pub fn soft_seconds(&self, data: &Dataset) -> f64 {
        let queries = 2 * data.split(Split::Valid).len();
        self.training.estimated_seconds(data) + self.training.estimated_ranking_seconds(data, queries)
    }

    /// The method on some data: soft rules are left out where they would take more than about five minutes of processor
    /// time, or a fifth of the time that there is; never where they are there, or begun.
    pub fn method_on(&self, data: &Dataset, has_soft: bool) -> Method {
        let limit = self.time.map_or(MAX_SOFT_SECONDS, |time| time.as_secs_f64() / 5.0);
        match self.method {
            Method::Auto if has_soft => Method::Full,
            Method::Auto if self.soft_seconds(data) > limit.min(MAX_SOFT_SECONDS) => Method::Search,
            Method::Auto => Method::Full,
            given => given,
        }
    }

    /// Trains soft rules; none where there was no time for a step.
    fn train(
        &self,
        data: &Dataset,
        checkpoints: Option<Checkpoints>,
        resumes: bool,
        budget: &Budget,
        learned: &mut Learned,
    ) -> Result<Option<SoftModel>> {
        let run = self.run(data)?;
        if let Some(checkpoints) = checkpoints.filter(|_| resumes) {
            run.load_checkpoint(checkpoints.path)?;
        }
        learned.without_positives = run.without_positives().into_iter().map(String::from).collect();
        if run.train(rayon::current_num_threads(), budget, checkpoints)? == TrainingEnd::Stopped {
            learned.is_cut = true;
            run.validate_stopped();
        }
        let model = run.into_model(budget);
        Ok(Some(model).filter(|model| model.count() > 0))
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
        Ok(Learner { method, training, search, time: None })
    }

    /// Searches, also among `proposed` rules, counts what was found, chooses the constraints that are used, and mixing
    /// weights where there are soft rules.
    ///
    /// A small graph is searched with constraints and without, and again where only some of them are used; also without
    /// what soft rules propose.
    fn search(
        &self,
        soft: Option<&SoftModel>,
        data: &Dataset,
        proposed: &[Rule],
        checked: &Checked,
        budget: &Budget,
        learned: &mut Learned,
    ) -> Result<Vec<KeptConstraint>> {
        let search = Search { seed: self.training.seed, ..self.search };
        let targets = self.training.targets_on(data)?;
        let run_with = |model: Option<&SoftModel>, constraints: &[KeptConstraint]| {
            let time = budget.until(PARTS[1]);
            search.run_in_rounds(data, model, proposed, &targets, constraints, &time)
        };
        let mut constraints = checked.kept.clone();
        let mut searched = run_with(soft, &constraints)?;
        let predictor =
            |searched: &Searched| -> Arc<dyn Predictor> { Arc::new(Rules::new(&searched.train_rules, data)) };
        // What soft rules propose may fit by chance: on a small graph *valid* is asked whether they shall.
        let mut proposing = soft.filter(|_| search.local_search > 0);
        if proposing.is_some() && self.time.is_none() && search.is_exact(data) {
            let time = budget.until(PARTS[2]);
            let plain = run_with(None, &constraints)?;
            let mrr = |searched| self.valid_mrr(predictor(searched), &constraints, data, &time);
            if mrr(&plain)? > mrr(&searched)? {
                (searched, proposing) = (plain, None);
            }
        }
        let run = |constraints: &[KeptConstraint]| run_with(proposing, constraints);
        let competing = search.compete(&searched, data, &budget.until(PARTS[1]));
        let time = budget.until(PARTS[2]);
        if constraints.iter().any(|kept| !kept.used_for.is_empty()) {
            let again = self.time.is_none() && search.is_exact(data);
            let plain = again.then(|| run(&sure_enough(constraints.clone(), f64::INFINITY))).transpose()?;
            let heeding = predictor(&searched);
            let without = plain.as_ref().map_or(Arc::clone(&heeding), predictor);
            let chosen = self.chosen_constraints([&without, &heeding], checked, data, &time)?;
            searched = match plain {
                Some(_) if chosen == constraints => searched,
                Some(plain) if chosen.iter().all(|kept| kept.used_for.is_empty()) => plain,
                Some(_) => run(&chosen)?,
                None => searched,
            };
            constraints = chosen;
        }
        if let Some(competing) = competing {
            let one_by_one = predictor(&searched);
            let together = predictor(&competing);
            let chosen = self.chosen_constraints([&together; 2], checked, data, &time)?;
            let mrr = |predictor, constraints: &[KeptConstraint]| {
                self.valid_mrr(predictor, constraints, data, &time)
            };
            if mrr(together, &chosen)? > mrr(one_by_one, &constraints)? {
                (searched, constraints) = (competing, chosen);
            }
        }
        learned.is_cut |= searched.reports.iter().any(|report| report.ended != Ended::Complete);
        let names = &data.names().predicates;
        learned.left_out = searched.left_out.iter().map(|&target| names.name(target).to_owned()).collect();
        learned.reports = searched.reports;
        if searched.rules.is_empty() && !searched.left_out.is_empty() {
            return Ok(constraints);
        }
        let mut rules = RuleSet::new(searched.rules);
        rules.measure_linked(data.graph(Background::Train), &budget.until(PARTS[2]))?;
        if let Some(soft) = soft {
            let time = budget.until(PARTS[3]);
            learned.model.mixing_weights =
                self.mixing_weights(soft, &searched.train_rules, &constraints, data, &time)?;
        }
        let mut train_rules = RuleSet::new(searched.train_rules);
        train_rules.take_measures(&rules);
        learned.model.rules = Some(RuleModel::new(&rules, Some(&train_rules), data.names()));
        learned.model.search = Some(serde_json::to_value(search).expect("settings are plain values"));
        Ok(constraints)
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
        constraints: &[KeptConstraint],
        data: &Dataset,
        progress: &dyn Progress,
    ) -> Result<Vec<MixingWeight>> {
        let unfitted = soft.with_loss_weights();
        let rules = Rules::new(train_rules, data);
        let blend = Blend::new(Arc::new(rules), Arc::new(Soft::new(&unfitted, data)?));
        let evaluation = Evaluation { allow_reflexive: self.search.allow_reflexive, ..Evaluation::default() };
        choose_mixing_weights(&blend, constraints, data, evaluation, progress)
    }
}

//! One unit of work: what is learned on, what is ranked on, and by which scores.

use std::sync::Arc;

use glidr::internals::evaluate::{EvaluationReport, Metrics, choose_mixing_weights};
use glidr::internals::model::{Extraction, RuleWeights, SoftModel};
use glidr::internals::predict::{Blend, MessagePassing, Rules, Soft};
use glidr::internals::rule::TargetRules;
use glidr::internals::search::Searched;
use glidr::{Background, Dataset, Evaluation, Predictor, Training};
use serde::Serialize;
use serde_json::{Value, json};

use crate::Watch;
use crate::model_store::{ModelStore, TrainedModel};
use crate::plan::{Scores, SearchPlan};
use crate::watch::Stopwatch;

/// What is done to the data before learning.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Nothing.
    None,
    /// Facts are mislabelled with this chance.
    Mislabelled {
        /// The chance.
        p: f64,
        /// Whether ranking sees the clean facts.
        clean_background: bool,
    },
    /// Learned on one of two parts, tested on one of them.
    Parts {
        /// The share of the first part.
        share: f64,
        /// The part that is learned on.
        learn: usize,
        /// The part that is tested on.
        test: usize,
    },
}

/// One unit of work.
#[derive(Clone, Debug)]
pub struct Job {
    /// The row it belongs to.
    pub row: String,
    /// The data set's name.
    pub data: String,
    /// The data set's folder.
    pub folder: std::path::PathBuf,
    /// What is done to it.
    pub change: Change,
    /// Where it stands on the axis of its figure.
    pub x: f64,
    /// How it learns; the seed is its own.
    pub training: Training,
    /// How it scores.
    pub scores: Scores,
    /// Rounds when ranking, where they are not those of learning.
    pub rounds: Option<usize>,
    /// How it searches.
    pub search: SearchPlan,
}

impl Job {
    /// Everything that decides the result.
    pub fn unit(&self, data: &Dataset) -> Value {
        let mut unit = json!({
            "data": self.data, "hash": data.hash(), "change": self.change, "training": self.training,
            "scores": self.scores, "rounds": self.rounds, "search": self.search,
        });
        if matches!(self.scores, Scores::Search | Scores::Blend) {
            unit["search_revision"] = json!(glidr::internals::search::REVISION);
        }
        unit
    }

    /// What it is, for the one who waits.
    pub fn show(&self) -> String {
        let at = match self.change {
            Change::None => format!("N = {}", self.training.variables),
            Change::Mislabelled { p, .. } => format!("p = {p}"),
            Change::Parts { learn, test, .. } => format!("part {} on part {}", learn + 1, test + 1),
        };
        format!("{}, {}, {at}, seed {}, {}", self.row, self.data, self.training.seed, self.scores.name())
    }

    /// What is learned on, and what is ranked on.
    pub fn sides(&self, data: &Dataset) -> anyhow::Result<(Dataset, Dataset)> {
        let seed = self.training.seed;
        Ok(match self.change {
            Change::None => (data.clone(), data.clone()),
            Change::Mislabelled { p, clean_background } => {
                let noisy = data.mislabelled(p, seed)?;
                (noisy.clone(), if clean_background { data.clone() } else { noisy })
            }
            Change::Parts { share, learn, test } => {
                let parts = data.parts(share, seed)?;
                (parts[learn].clone(), parts[test].clone())
            }
        })
    }

    /// Whether rule weights are learned from clean facts after rules were learned from noisy ones: the paper mislabels
    /// "during training", and weighs rules by validation.
    fn weights_later(&self) -> bool {
        let clean = matches!(self.change, Change::Mislabelled { clean_background: true, .. });
        clean && self.training.rule_weights == RuleWeights::Learned
    }

    /// The model of this unit, and the processor seconds that learning took; none where it was asked to stop.
    pub fn model(
        &self,
        (learned, tested): (&Dataset, &Dataset),
        learner: &mut ModelStore,
        watch: &dyn Watch,
    ) -> anyhow::Result<Option<TrainedModel>> {
        let rule_weights = if self.weights_later() { RuleWeights::Loss } else { self.training.rule_weights };
        let training = Training { rule_weights, ..self.training.clone() };
        let Some(found) = learner.model(&training, learned, watch)? else { return Ok(None) };
        let (mut model, mut seconds) = (found.model.clone(), found.seconds);
        if self.weights_later() {
            let started = Stopwatch::start();
            model.learn_rule_weights(tested, watch)?;
            model.training.rule_weights = RuleWeights::Learned;
            seconds = seconds.map(|seconds| seconds + started.seconds());
        }
        Ok(Some(TrainedModel { model, seconds }))
    }

    fn soft<'a>(
        &self,
        model: &'a SoftModel,
        data: &'a Dataset,
        extraction: Option<Extraction>,
    ) -> glidr::Result<Soft<'a>> {
        let plain = MessagePassing::of(model);
        let passing = MessagePassing { rounds: self.rounds.unwrap_or(plain.rounds), extraction, ..plain };
        Soft::with(model, data, Background::Train, passing)
    }

    /// The searched rules, and the processor seconds that this took; a search is run once for all that use it. None
    /// where it was asked to stop.
    fn searched<'m>(
        &self,
        model: &SoftModel,
        learned: &Dataset,
        memo: &'m mut Memo,
        watch: &dyn Watch,
    ) -> anyhow::Result<Option<&'m (Searched, f64)>> {
        let key = json!([self.training, learned.hash(), self.search]);
        if memo.as_ref().is_none_or(|(known, _)| *known != key) {
            let (started, targets) = (Stopwatch::start(), self.training.targets_on(learned)?);
            let found = self.search.search()?.run(learned, Some(model), &[], &targets, &[], watch)?;
            if watch.is_stopped() {
                return Ok(None);
            }
            *memo = Some((key, (found, started.seconds())));
        }
        Ok(memo.as_ref().map(|(_, found)| found))
    }

    /// Ranks the test split of `tested` with what was learned on `learned`; none where it was asked to stop.
    pub fn rank(
        &self,
        model: &SoftModel,
        learned: &Dataset,
        tested: &Dataset,
        memo: &mut Memo,
        watch: &dyn Watch,
    ) -> anyhow::Result<Option<Ranks>> {
        let evaluation = Evaluation { seed: self.training.seed, ..Evaluation::default() };
        let evaluate = |predictor: &dyn Predictor| evaluation.run(predictor, tested, watch);
        let soft: usize = model.ensembles.iter().map(|ensemble| ensemble.rules.len()).sum();
        let by = |extraction: Option<Extraction>| evaluate(&self.soft(model, tested, extraction)?);
        let counted = |sets: &[TargetRules]| sets.iter().map(|set| set.rules.len()).sum::<usize>();
        let started = Stopwatch::start();
        let (ranked, rules) = match self.scores {
            Scores::Soft => (by(None)?, soft),
            Scores::TopP => (by(Some(Extraction::TopP(0.25)))?, soft),
            Scores::Argmax => (by(Some(Extraction::Argmax))?, soft),
            Scores::Search => {
                let Some((found, seconds)) = self.searched(model, learned, memo, watch)? else {
                    return Ok(None);
                };
                let started = Stopwatch::start();
                let ranked = evaluate(&Rules::new(&found.rules, tested))?;
                return Ok(Some(Ranks::of(&ranked, counted(&found.rules), seconds + started.seconds())));
            }
            Scores::Blend => {
                // Mixing weights are chosen by rules that have not seen valid; those that rank have.
                let Some((found, seconds)) = self.searched(model, learned, memo, watch)? else {
                    return Ok(None);
                };
                let started = Stopwatch::start();
                let unfitted = model.with_loss_weights();
                let blend = Blend::new(
                    Arc::new(Rules::new(&found.train_rules, learned)),
                    Arc::new(self.soft(&unfitted, learned, None)?),
                );
                let weights = choose_mixing_weights(&blend, &[], learned, evaluation, watch)?;
                let rules = Arc::new(Rules::new(&found.rules, tested));
                let blend = Blend::new(rules, Arc::new(self.soft(model, tested, None)?));
                let ranked = evaluate(&blend.weighted(&weights, &tested.names().predicates))?;
                let seconds = seconds + started.seconds();
                return Ok(Some(Ranks::of(&ranked, soft + counted(&found.rules), seconds)));
            }
        };
        Ok(Some(Ranks::of(&ranked, rules, started.seconds())))
    }
}

/// The last search, by all that decides it, and its processor seconds.
pub type Memo = Option<(Value, (Searched, f64))>;

/// What a ranking result.
pub struct Ranks {
    /// Over all ranks.
    pub metrics: Metrics,
    /// The test split's hash.
    pub split_hash: String,
    /// Rules that scores come from.
    pub rules: usize,
    /// Processor seconds of searching and ranking.
    pub seconds: f64,
}

impl Ranks {
    fn of(ranked: &EvaluationReport, rules: usize, seconds: f64) -> Self {
        Ranks { metrics: ranked.all, split_hash: ranked.protocol.split_hash.clone(), rules, seconds }
    }
}

#[cfg(test)]
mod tests {
    use glidr::{Progress, Stage};

    use super::*;

    /// Nobody watches, and nobody stops it.
    struct Alone;

    impl Progress for Alone {
        fn report(&self, _: Stage, _: usize, _: usize) {}
    }

    impl Watch for Alone {
        fn unit(&self, _: usize, _: usize, _: &str) {}
        fn say(&self, _: &str) {}
        fn threads(&self) -> usize {
            1
        }
        fn measure(&self, _: &crate::ScalingPoint) -> anyhow::Result<crate::ScalingMeasured> {
            anyhow::bail!("nothing grows here")
        }
    }

    #[test]
    fn rule_weights_are_learned_from_the_facts_that_ranking_sees_also_where_rules_learn_from_noise() {
        let clean = Dataset::families(0);
        let folder = tempfile::tempdir().expect("a folder for models");
        let learned = |clean_background: bool| {
            let training =
                Training { steps: 20, rules: 8, rule_weights: RuleWeights::Learned, ..Training::default() };
            let job = Job {
                row: "one".into(),
                data: "families".into(),
                folder: folder.path().into(),
                change: Change::Mislabelled { p: 0.5, clean_background },
                x: 0.5,
                training,
                scores: Scores::Soft,
                rounds: None,
                search: SearchPlan::default(),
            };
            let (noisy, tested) = job.sides(&clean).expect("sound data");
            let mut learner = ModelStore::new(folder.path(), "noise", false);
            let found = job.model((&noisy, &tested), &mut learner, &Alone).expect("sound settings");
            (found.expect("nobody stops it").model, noisy)
        };
        for clean_background in [true, false] {
            let (model, noisy) = learned(clean_background);
            let fitted = |data: &Dataset| {
                let mut model = model.clone();
                model.learn_rule_weights(data, &()).expect("the data has its predicates");
                model.ensembles
            };
            assert_eq!(fitted(&clean) == model.ensembles, clean_background);
            assert_eq!(fitted(&noisy) == model.ensembles, !clean_background);
            assert_eq!(model.training.rule_weights, RuleWeights::Learned);
        }
    }
}

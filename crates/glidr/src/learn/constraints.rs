//! Constraints as a part of learning: learned or given, checked on *valid*, and used if ranking *valid* gains by it.

use std::sync::Arc;

use super::Learner;
use crate::constraint::{Checked, Constraint, Denial, KeptConstraint, learn_constraints};
use crate::error::Result;
use crate::evaluate::{Evaluation, choose_constraints, estimated_mrr, sure_enough};
use crate::graph::{Background, Dataset, Split};
use crate::model::SoftModel;
use crate::predict::{Constrained, Predictor, Soft};
use crate::util::progress::Progress;

/// How sure constraints must be where there is no time to ask *valid*.
const UNASKED: f64 = 0.95;

impl Learner {
    /// The constraints that are learned, where that is wanted, and those that are given, by the data's numbers.
    pub(super) fn constraints(&self, data: &Dataset, given: &[Constraint]) -> Result<Checked> {
        let mut all = given.to_vec();
        if self.search.constraints {
            let mut learned = learn_constraints(data);
            let is_linked = |denial: &Denial| matches!(denial, Denial::Linked { denied: true, .. });
            learned.retain(|constraint| self.search.linked || !is_linked(&constraint.denial));
            learned.retain(|constraint| given.iter().all(|given| given.denial != constraint.denial));
            all.extend(learned);
        }
        Checked::new(all, data)
    }

    /// Those of the constraints that *valid* ranks best with; the first predictor ranks where none is used.
    pub(super) fn chosen_constraints(
        &self,
        predictors: [&Arc<dyn Predictor + '_>; 2],
        checked: &Checked,
        data: &Dataset,
        progress: &dyn Progress,
    ) -> Result<Vec<KeptConstraint>> {
        let evaluation = Evaluation {
            allow_reflexive: self.search.allow_reflexive,
            seed: self.training.seed,
            ..Evaluation::default()
        };
        let least = choose_constraints(predictors, checked, data, evaluation, progress)?;
        Ok(sure_enough(checked.kept.clone(), least.unwrap_or(UNASKED)))
    }

    /// How well a predictor that heeds constraints ranks *valid*, by an estimate that does not look at *test*.
    pub(super) fn valid_mrr(
        &self,
        predictor: Arc<dyn Predictor + '_>,
        constraints: &[KeptConstraint],
        data: &Dataset,
        progress: &dyn Progress,
    ) -> Result<f64> {
        let evaluation = Evaluation {
            allow_reflexive: self.search.allow_reflexive,
            seed: self.training.seed,
            ..Evaluation::default()
        };
        let graph = Arc::clone(data.graph(Background::Train));
        estimated_mrr(&Constrained::new(predictor, graph, Arc::from(constraints)), data, evaluation, progress)
    }

    /// The same for soft rules alone; where ranking with them takes long, *valid* is not asked.
    pub(super) fn chosen_for_soft(
        &self,
        soft: &SoftModel,
        checked: &Checked,
        data: &Dataset,
        progress: &dyn Progress,
    ) -> Result<Vec<KeptConstraint>> {
        let queries = 2 * data.split(Split::Valid).len();
        if checked.kept.is_empty()
            || self.training.estimated_ranking_seconds(data, queries) > super::MAX_SOFT_SECONDS
        {
            return Ok(sure_enough(checked.kept.clone(), UNASKED));
        }
        let unfitted = soft.with_loss_weights();
        let predictor: Arc<dyn Predictor> = Arc::new(Soft::new(&unfitted, data)?);
        self.chosen_constraints([&predictor; 2], checked, data, progress)
    }
}

//! Two predictors blended: a part of a candidate's score is soft, a part comes from hard rules.
//!
//! ```text
//! score = (1 − w) · hard / max hard + w · soft / max soft
//! ```
//!
//! Both are divided by the highest score that any candidate of the same query has, so that they can be added
//! though one is a sum of rule weights and the other a sum of soft scores. The mixing weight w is chosen for each
//! target on *valid*; 0 is the hard rules alone, 1 the soft ones alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{BlendTarget, Predictor, TargetPredictor};
use crate::error::Result;
use crate::explain::{Detail, Explanation};
use crate::graph::{Entity, Names, Predicate, Query, Triple};
use crate::model::MixingWeight;

/// Hard and soft rules blended.
#[derive(Clone)]
pub struct Blend<'a> {
    rules: Arc<dyn Predictor + 'a>,
    soft: Arc<dyn Predictor + 'a>,
    weights: BTreeMap<Predicate, f64>,
}

impl<'a> Blend<'a> {
    /// A blend in which every target has mixing weight 0.
    pub fn new(rules: Arc<dyn Predictor + 'a>, soft: Arc<dyn Predictor + 'a>) -> Self {
        Blend { rules, soft, weights: BTreeMap::new() }
    }

    /// The same with these mixing weights; a target that is not among them has 0.
    #[must_use]
    pub fn weighted(self, weights: &[MixingWeight], predicates: &Names<Predicate>) -> Self {
        let number = |weight: &MixingWeight| Some((predicates.find(&weight.target)?, weight.weight));
        Blend { weights: weights.iter().filter_map(number).collect(), ..self }
    }

    fn weight(&self, target: Predicate) -> f64 {
        self.weights.get(&target).copied().unwrap_or(0.0)
    }

    /// One target under several mixing weights. Where none is above 0 nobody asks for soft scores, and where all are
    /// 1 nobody asks for hard ones.
    pub(crate) fn mixed(
        &self,
        target: Predicate,
        irreflexive: bool,
        weights: Vec<f64>,
    ) -> Result<BlendTarget<'_>> {
        let (asks_rules, asks_soft) = (weights.iter().any(|&w| w < 1.0), weights.iter().any(|&w| w > 0.0));
        let rules = asks_rules.then(|| self.rules.target(target, irreflexive)).transpose()?;
        let soft = asks_soft.then(|| self.soft.target(target, irreflexive)).transpose()?;
        Ok(BlendTarget { rules, soft, irreflexive, weights })
    }
}

impl Predictor for Blend<'_> {
    fn scoring(&self) -> String {
        "blend".into()
    }

    fn rounds(&self) -> usize {
        self.soft.rounds()
    }

    fn is_target(&self, predicate: Predicate) -> bool {
        self.rules.is_target(predicate) && self.soft.is_target(predicate)
    }

    fn has_rules(&self, predicate: Predicate) -> bool {
        self.rules.has_rules(predicate) || self.soft.has_rules(predicate)
    }

    fn batch_size(&self) -> usize {
        self.soft.batch_size()
    }

    fn target(&self, target: Predicate, irreflexive: bool) -> Result<Box<dyn TargetPredictor + '_>> {
        Ok(Box::new(self.mixed(target, irreflexive, vec![self.weight(target)])?))
    }

    fn without(&self, fact: Triple) -> Result<Option<Box<dyn Predictor + '_>>> {
        let (rules, soft) = (self.rules.without(fact)?, self.soft.without(fact)?);
        if rules.is_none() && soft.is_none() {
            return Ok(None);
        }
        Ok(Some(Box::new(Blend {
            rules: rules.map_or_else(|| Arc::clone(&self.rules), Arc::from),
            soft: soft.map_or_else(|| Arc::clone(&self.soft), Arc::from),
            weights: self.weights.clone(),
        })))
    }

    fn evidence(&self, query: Query, candidate: Entity, detail: &Detail) -> Result<Explanation> {
        let weight = self.weight(query.predicate);
        let score = self.target(query.predicate, false)?.scores(query, &[candidate])[0];
        let by_rules = self.rules.evidence(query, candidate, detail)?;
        let soft_alone = Detail { max_firing: 0, max_failing: 0, ..*detail };
        let asks_soft = weight > 0.0 && detail.max_traces > 0;
        let soft = asks_soft.then(|| self.soft.evidence(query, candidate, &soft_alone)).transpose()?;
        let soft = soft.map_or(Vec::new(), |evidence| evidence.soft);
        Ok(Explanation { score, mixing_weight: Some(weight), soft, ..by_rules })
    }
}

//! Answers with probabilities.

use super::{Answer, Predictor, TargetPredictor, top_k};
use crate::graph::{Dataset, Direction, Entity, Predicate, Query};
use crate::model::{Calibration, Coefficients, Evidence};

/// So many best candidates of a query are weighed against each other.
pub const TOP: usize = 20;

/// What one candidate's probability is read from, whatever its rank; none where nothing speaks for it.
pub fn features_of(
    target: &mut dyn TargetPredictor,
    query: Query,
    candidate: Entity,
    allowed: &dyn Fn(Entity) -> bool,
    known_answers: usize,
) -> Option<Coefficients> {
    if target.scores(query, &[candidate])[0] <= 0.0 {
        return None;
    }
    let allowed = |entity: Entity| entity == candidate || allowed(entity);
    let mut best = top_k(target, query, TOP, &allowed);
    best.retain(|answer| answer.score > 0.0);
    let mut entities: Vec<Entity> = best.iter().map(|answer| answer.entity).collect();
    entities.push(candidate);
    let evidence = target.evidence(query, &entities);
    let others = weighed(&evidence[..best.len()]);
    Some(evidence[best.len()].features(others, known_answers))
}

/// Σ e^sum over some candidates.
fn weighed(evidence: &[Evidence]) -> f64 {
    evidence.iter().map(|evidence| evidence.sum.min(500.0).exp()).sum()
}

/// The best candidates of a query that something speaks for, best first, each with the features that its probability is
/// read from: as many as asked for, and never fewer than are weighed against each other.
pub fn with_features(
    target: &mut dyn TargetPredictor,
    query: Query,
    k: usize,
    allowed: &dyn Fn(Entity) -> bool,
    known_answers: usize,
) -> Vec<(Answer, Coefficients)> {
    let mut best = top_k(target, query, k.max(TOP), allowed);
    best.retain(|answer| answer.score > 0.0);
    let entities: Vec<Entity> = best.iter().map(|answer| answer.entity).collect();
    let evidence = target.evidence(query, &entities);
    let others = weighed(&evidence[..evidence.len().min(TOP)]);
    let featured =
        |(answer, evidence): (Answer, Evidence)| (answer, evidence.features(others, known_answers));
    best.into_iter().zip(evidence).map(featured).collect()
}

/// A predictor whose answers have probabilities.
#[derive(Clone, Copy)]
pub struct Calibrated<'a> {
    /// What scores candidates.
    pub predictor: &'a dyn Predictor,
    /// How probabilities are read.
    pub calibration: &'a Calibration,
    /// Whose names the calibration uses.
    pub data: &'a Dataset,
}

impl Calibrated<'_> {
    /// The coefficients of one target and direction.
    pub fn coefficients(&self, target: Predicate, direction: Direction) -> &Coefficients {
        self.calibration.of(self.data.names().predicates.name(target), direction)
    }

    /// The probabilities of ranked candidates: of none it is above that of one before it.
    pub fn probabilities(&self, query: Query, ranked: &[(Answer, Coefficients)]) -> Vec<f64> {
        let coefficients = self.coefficients(query.predicate, query.direction);
        let mut least: f64 = 1.0;
        let probability = |(_, features): &(Answer, Coefficients)| {
            least = least.min(self.calibration.probability(coefficients, features));
            least
        };
        ranked.iter().map(probability).collect()
    }
}

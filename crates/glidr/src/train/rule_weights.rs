//! Learned rule weights: fitted to *valid*, so that its answers score higher than others; the paper's weights go by each
//! rule's own validation loss.
//!
//! In: a [`SoftModel`] and a [`Dataset`]. Out: the model with other rule weights. *test* is not looked at, not even to
//! leave out what it says is true.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::error::Result;
use crate::evaluate::{Answers, Evaluation};
use crate::graph::{Background, Dataset, Entity, Predicate, Query, Split};
use crate::model::{Ensemble, SoftModel};
use crate::predict::{MessagePassing, SoftTarget, top_k};
use crate::util::listwise::{ListwiseQuery, listwise_adjoint};
use crate::util::progress::{Progress, Stage};
use crate::util::projected_adam::ProjectedAdam;

/// So many negatives compete with an answer: those with the highest scores by the weights before.
const NEGATIVES: usize = 30;
/// So many queries of a target are taken at most, evenly over all.
const QUERIES: usize = 2000;
/// What scores are multiplied by before the softmax.
const SHARPNESS: f64 = 6.0;
/// How much weights are held to those before.
const L2: f64 = 1.0;
/// For so many known answers of a query one more may be missing, and its likeliest negative is masked.
const SMOOTHING: usize = 3;
/// Steps of the fit.
const STEPS: i32 = 200;
/// The length of the first step; steps shorten towards the end.
const RATE: f64 = 0.1;

/// The scores of one candidate by each rule.
type Row = Vec<f32>;

/// The queries that weights are fitted to, with the scores of their candidates.
#[derive(Default)]
struct Fit {
    rows: Vec<Row>,
    queries: Vec<ListwiseQuery>,
}

impl SoftModel {
    /// Fits the rule weights to *valid*; a target of which it has no fact keeps those before. `progress` is
    /// told how many targets are done, of how many.
    pub fn learn_rule_weights(&mut self, data: &Dataset, progress: &dyn Progress) -> Result<()> {
        let view = self.view(data, Background::Train)?;
        let known =
            [Split::Facts, Split::Train, Split::Valid].into_iter().flat_map(|split| data.split(split));
        let (asked, truth) =
            (Answers::of(data.split(Split::Valid).iter().copied()), Answers::of(known.copied()));
        let irreflexive = Evaluation::default().irreflexive(data);
        let passing = MessagePassing { engine: self.training.engine, ..MessagePassing::of(self) };
        let (done, all) = (AtomicUsize::new(0), self.ensembles.len());
        let fitted = |ensemble: &Ensemble| {
            let mut ensemble = ensemble.clone();
            ensemble.weigh(self.training.loss);
            let mut weights: Vec<f64> = ensemble.rules.iter().map(|rule| f64::from(rule.weight)).collect();
            let target = data.names().predicates.find(self.predicates.name(ensemble.target));
            if let Some(target) = target.filter(|_| !weights.is_empty()) {
                let mut soft = SoftTarget::new(&ensemble, self.schema, view.graph.adjacency(), passing);
                weights = Fit::new(&mut soft, target, &asked, &truth, irreflexive[target.index()])
                    .weights(&weights);
            }
            progress.report(Stage::RuleWeights, done.fetch_add(1, Ordering::Relaxed) + 1, all);
            weights
        };
        let weights: Vec<Vec<f64>> = self.ensembles.par_iter().map(fitted).collect();
        for (ensemble, weights) in self.ensembles.iter_mut().zip(weights) {
            ensemble.rules.iter_mut().zip(weights).for_each(|(rule, weight)| rule.weight = weight as f32);
        }
        Ok(())
    }
}

impl Fit {
    /// Every answer that *valid* asks of a target, with its negatives.
    fn new(
        soft: &mut SoftTarget,
        target: Predicate,
        asked: &Answers,
        truth: &Answers,
        irreflexive: bool,
    ) -> Self {
        let queries: Vec<(Query, &[Entity])> =
            asked.iter().filter(|(query, _)| query.predicate == target).collect();
        let every = queries.len().div_ceil(QUERIES).max(1);
        let mut fit = Fit::default();
        for (query, answers) in queries.into_iter().step_by(every) {
            let known = truth.to(query);
            let is_negative = |entity: Entity| {
                known.binary_search(&entity).is_err() && !(irreflexive && entity == query.known)
            };
            let missing = known.len().div_ceil(SMOOTHING);
            let best = top_k(soft, query, NEGATIVES + missing, &is_negative);
            let negatives = best.iter().skip(missing).map(|negative| negative.entity);
            let candidates = answers.iter().copied().chain(negatives);
            let pairs: Vec<_> =
                candidates.map(|candidate| query.direction.pair(query.known, candidate)).collect();
            fit.add(soft.scores_by_rule(&pairs), answers.len());
        }
        fit
    }

    /// Adds a query: its answers first, then its negatives.
    fn add(&mut self, rows: Vec<Row>, answers: usize) {
        let first = self.rows.len();
        let (answers, last) = (first..first + answers, first + rows.len());
        let negatives = answers.end..last;
        self.queries.push(ListwiseQuery { answers, negatives, uncovered: 0.0 });
        self.rows.extend(rows);
    }

    /// Weights by which answers score higher than their negatives.
    ///
    /// ```text
    /// minimise  − Σ ln (e^κs⁺ / (e^κs⁺ + Σ e^κs⁻)) + L2/2 Σ (w − w₀)²,   s = Σ w · score,   w ≥ 0
    /// ```
    fn weights(&self, before: &[f64]) -> Vec<f64> {
        let (mut projected_adam, mut weights) = (ProjectedAdam::new(before.len(), 0.0), before.to_vec());
        for step in 1..=STEPS {
            projected_adam.begin(step);
            let d_weights = self.d_weights(&weights);
            let rate = RATE * f64::from(STEPS - step + 1) / f64::from(STEPS);
            for (number, weight) in weights.iter_mut().enumerate() {
                let d = d_weights[number] + L2 * (*weight - before[number]);
                projected_adam.step(number, weight, d, rate);
            }
        }
        weights
    }

    /// The sharpened score of every candidate, less the highest of its query: only differences count.
    fn scores(&self, weights: &[f64]) -> Vec<f64> {
        let score = |row: &Row| -> f64 {
            SHARPNESS * row.iter().zip(weights).map(|(&score, weight)| f64::from(score) * weight).sum::<f64>()
        };
        let mut scores: Vec<f64> = self.rows.iter().map(score).collect();
        for query in &self.queries {
            let of_query = &mut scores[query.answers.start..query.negatives.end];
            let max = of_query.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for score in of_query {
                *score -= max;
            }
        }
        scores
    }

    /// The derivative of the loss by each weight.
    fn d_weights(&self, weights: &[f64]) -> Vec<f64> {
        let (scores, masked) = (self.scores(weights), vec![false; self.rows.len()]);
        let mut d_scores = vec![0.0; self.rows.len()];
        listwise_adjoint(&self.queries, &masked, &scores, &mut d_scores);
        let mut d_weights = vec![0.0; weights.len()];
        for (row, d_score) in self.rows.iter().zip(d_scores) {
            for (d_weight, &score) in d_weights.iter_mut().zip(row) {
                *d_weight += SHARPNESS * d_score * f64::from(score);
            }
        }
        d_weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::util::listwise::listwise_loss;

    /// The scores of some candidates by three rules.
    type Rows<'a> = &'a [[f32; 3]];

    fn fit_of(queries: &[(Rows, Rows)]) -> Fit {
        let mut fit = Fit::default();
        for (answers, negatives) in queries {
            let rows = answers.iter().chain(*negatives).map(|row| row.to_vec()).collect();
            fit.add(rows, answers.len());
        }
        fit
    }

    /// Three rules: one finds the answers, one the negatives, one both.
    fn small() -> Fit {
        let answers = [[0.9, 0.1, 0.5], [0.4, 0.0, 0.6]];
        let negatives = [[0.1, 0.8, 0.5], [0.0, 0.3, 0.4]];
        fit_of(&[(&answers, &negatives), (&[[0.2, 0.1, 0.2]], &[[0.1, 0.1, 0.3]])])
    }

    #[test]
    fn the_derivative_agrees_with_a_finite_difference() {
        let (fit, weights) = (small(), [0.8, 0.5, 1.0]);
        for (number, d) in fit.d_weights(&weights).into_iter().enumerate() {
            let moved = |by: f64| {
                let mut weights = weights;
                weights[number] += by;
                listwise_loss(&fit.queries, &vec![false; fit.rows.len()], &fit.scores(&weights))
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((d - difference).abs() < 1e-6, "{number}: {d} against {difference}");
        }
    }

    #[test]
    fn a_rule_that_finds_answers_gains_and_one_that_finds_their_negatives_loses() {
        let weights = small().weights(&[1.0, 1.0, 1.0]);
        assert!(weights[0] > 1.2 && weights[1] < 0.8, "{weights:?}");
        assert_eq!(Fit::default().weights(&[0.7, 1.0]), [0.7, 1.0]);
    }

    #[test]
    fn an_answer_far_below_all_others_leaves_a_finite_derivative() {
        let fit = fit_of(&[(&[[1.0; 3], [0.0; 3]], &[[0.0; 3]])]);
        assert!(fit.d_weights(&[1e4, 0.0, 0.0]).iter().all(|d| d.is_finite()));
    }
}

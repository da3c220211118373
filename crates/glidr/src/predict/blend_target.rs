//! One target's queries answered by hard and soft rules at once, under several mixing weights.

use super::top_k::top_k_within;
use super::{Comparison, FilteredQuery, TIE, TargetPredictor, compare_scores};
use crate::graph::{Entity, Query};
use crate::model::Evidence;
use crate::solve::Ended;

/// A target whose hard and soft rules are ready.
pub(crate) struct BlendTarget<'a> {
    /// None where no weight asks for hard scores.
    pub(super) rules: Option<Box<dyn TargetPredictor + 'a>>,
    /// None where no weight asks for soft scores.
    pub(super) soft: Option<Box<dyn TargetPredictor + 'a>>,
    /// Whether no entity is its own answer.
    pub(super) irreflexive: bool,
    /// The mixing weights, at least one: scores are by the first.
    pub(super) weights: Vec<f64>,
}

/// What the scores of one query are made from.
struct Parts {
    /// Every entity's hard score, divided by the highest.
    hard: Vec<f64>,
    /// The highest soft score.
    max_soft: f64,
}

impl Parts {
    fn blend(&self, weight: f64, candidate: Entity, soft: f64) -> f64 {
        let soft = if self.max_soft > 0.0 { soft / self.max_soft } else { 0.0 };
        (1.0 - weight) * self.hard[candidate.index()] + weight * soft
    }
}

impl BlendTarget<'_> {
    fn parts(&mut self, query: Query, bounds: Option<&[f32]>) -> Parts {
        let is_candidate = |entity: Entity| !(self.irreflexive && entity == query.known);
        let entities = self.entities();
        let mut hard = vec![0.0; entities];
        if let Some(rules) = &mut self.rules {
            hard = rules.scores(query, &(0..entities as u32).map(Entity).collect::<Vec<_>>());
            if !is_candidate(query.known) {
                hard[query.known.index()] = 0.0;
            }
            let max = hard.iter().copied().fold(0.0, f64::max);
            if max > 0.0 {
                for score in &mut hard {
                    *score /= max;
                }
            }
        }
        let best = match &mut self.soft {
            Some(soft) => top_k_within(soft.as_mut(), query, 1, &is_candidate, bounds),
            None => Vec::new(),
        };
        Parts { hard, max_soft: best.first().map_or(0.0, |best| best.score) }
    }

    fn soft_scores(&mut self, query: Query, candidates: &[Entity]) -> Vec<f64> {
        match &mut self.soft {
            Some(soft) => soft.scores(query, candidates),
            None => vec![0.0; candidates.len()],
        }
    }

    /// How each answer of these queries compares with competing candidates under each mixing weight.
    pub fn compare_mixed(&mut self, queries: &[FilteredQuery]) -> Vec<Vec<Vec<Comparison>>> {
        let open: Vec<Query> = queries.iter().map(|query| query.query).collect();
        let bounds = self.soft.as_mut().and_then(|soft| soft.bounds(&open));
        let compare = |(number, query): (usize, &FilteredQuery)| {
            self.compare_one(query, bounds.as_ref().map(|bounds| bounds[number].as_slice()))
        };
        queries.iter().enumerate().map(compare).collect()
    }

    fn compare_one(&mut self, filtered: &FilteredQuery, bounds: Option<&[f32]>) -> Vec<Vec<Comparison>> {
        let query = filtered.query;
        let parts = self.parts(query, bounds);
        let soft = self.soft_scores(query, &filtered.answers);
        let answers: Vec<Vec<f64>> = self
            .weights
            .iter()
            .map(|&weight| {
                let blend = |(&answer, &soft)| parts.blend(weight, answer, soft);
                filtered.answers.iter().zip(&soft).map(blend).collect()
            })
            .collect();
        // A candidate counts only where it could reach the lowest answer under some weight.
        let lowest = |scores: &Vec<f64>| scores.iter().copied().fold(f64::INFINITY, f64::min);
        let floors: Vec<f64> =
            answers.iter().map(|scores| lowest(scores) * (1.0 - 2.0 * f64::from(TIE))).collect();
        let reaches = |candidate: &Entity| {
            bounds.is_none_or(|bounds| {
                let bound = f64::from(bounds[candidate.index()]);
                let mut weights = self.weights.iter().zip(&floors);
                weights.any(|(&weight, &floor)| parts.blend(weight, *candidate, bound) >= floor)
            })
        };
        let competing: Vec<Entity> = filtered.competing(parts.hard.len()).filter(reaches).collect();
        let soft = self.soft_scores(query, &competing);
        let compare = |number: usize| {
            let compare = |(&weight, answers): (&f64, &Vec<f64>)| {
                let scores = competing.iter().zip(&soft);
                let scores = scores.map(|(&candidate, &soft)| parts.blend(weight, candidate, soft));
                compare_scores(self.tie_range(answers[number]), scores)
            };
            self.weights.iter().zip(&answers).map(compare).collect()
        };
        (0..filtered.answers.len()).map(compare).collect()
    }
}

impl TargetPredictor for BlendTarget<'_> {
    fn entities(&self) -> usize {
        self.rules.as_ref().or(self.soft.as_ref()).map_or(0, |part| part.entities())
    }

    fn scores(&mut self, query: Query, candidates: &[Entity]) -> Vec<f64> {
        let bounds = self.soft.as_mut().and_then(|soft| soft.bounds(&[query]));
        let parts = self.parts(query, bounds.as_ref().map(|bounds| bounds[0].as_slice()));
        let soft = self.soft_scores(query, candidates);
        let blend = |(&candidate, soft)| parts.blend(self.weights[0], candidate, soft);
        candidates.iter().zip(soft).map(blend).collect()
    }

    fn compare(&mut self, queries: &[FilteredQuery]) -> Vec<Vec<Comparison>> {
        let first = |comparisons: Vec<Vec<Comparison>>| comparisons.iter().map(|of| of[0]).collect();
        self.compare_mixed(queries).into_iter().map(first).collect()
    }

    fn evidence(&mut self, query: Query, candidates: &[Entity]) -> Vec<Evidence> {
        let soft = self.scores(query, candidates);
        let mut evidence = match &mut self.rules {
            Some(rules) => rules.evidence(query, candidates),
            None => vec![Evidence::default(); candidates.len()],
        };
        evidence.iter_mut().zip(soft).for_each(|(evidence, soft)| evidence.soft = soft);
        evidence
    }

    fn ended(&self) -> Ended {
        self.rules.as_ref().map_or(Ended::Complete, |rules| rules.ended())
    }
}

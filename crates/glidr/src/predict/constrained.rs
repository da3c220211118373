//! A predictor that heeds constraints: candidates that they refuse come last, all of them alike.
//!
//! In: any [`Predictor`], and the constraints that are used. Out: the same scores, but −∞ for refused candidates. Where a
//! known end has as many answers as it may have, the order of its candidates stays as it is.

use std::sync::Arc;

use super::{Comparison, FilteredQuery, Predictor, TargetPredictor};
use crate::constraint::{KeptConstraint, Refusals};
use crate::error::Result;
use crate::explain::{Detail, Explanation};
use crate::graph::{Entity, KnowledgeGraph, Predicate, Query, Triple};
use crate::model::Evidence;
use crate::solve::Ended;

/// The score of a candidate that is refused.
pub const REFUSED: f64 = f64::NEG_INFINITY;

/// A predictor beside the constraints of its data.
pub struct Constrained<'a> {
    inner: Arc<dyn Predictor + 'a>,
    graph: Arc<KnowledgeGraph>,
    constraints: Arc<[KeptConstraint]>,
}

impl<'a> Constrained<'a> {
    /// The predictor on the facts that constraints look up, which are by the same numbers.
    pub fn new(
        inner: Arc<dyn Predictor + 'a>,
        graph: Arc<KnowledgeGraph>,
        constraints: Arc<[KeptConstraint]>,
    ) -> Self {
        Constrained { inner, graph, constraints }
    }
}

/// What the constraints that are used for a target refuse there.
pub(crate) fn refusals<'f>(
    constraints: &[KeptConstraint],
    target: Predicate,
    graph: &'f KnowledgeGraph,
) -> Result<Refusals<'f>> {
    let used = constraints.iter().filter(|kept| kept.used_for.contains(&target));
    Refusals::new(used.map(|kept| &kept.constraint.denial), target, graph.neighbours())
}

impl Predictor for Constrained<'_> {
    fn scoring(&self) -> String {
        self.inner.scoring()
    }

    fn rounds(&self) -> usize {
        self.inner.rounds()
    }

    fn is_target(&self, predicate: Predicate) -> bool {
        self.inner.is_target(predicate)
    }

    fn has_rules(&self, predicate: Predicate) -> bool {
        self.inner.has_rules(predicate)
    }

    fn batch_size(&self) -> usize {
        self.inner.batch_size()
    }

    fn target(&self, target: Predicate, irreflexive: bool) -> Result<Box<dyn TargetPredictor + '_>> {
        let inner = self.inner.target(target, irreflexive)?;
        // Of predicates that only the model knows there is nothing to look up.
        if target.index() >= self.graph.neighbours().predicates() {
            return Ok(inner);
        }
        let refusals = refusals(&self.constraints, target, &self.graph)?;
        Ok(if refusals.is_empty() { inner } else { Box::new(ConstrainedTarget { inner, refusals }) })
    }

    fn without(&self, fact: Triple) -> Result<Option<Box<dyn Predictor + '_>>> {
        let Some(inner) = self.inner.without(fact)? else { return Ok(None) };
        Ok(Some(Box::new(Constrained {
            inner: Arc::from(inner),
            graph: Arc::new(self.graph.without(fact)),
            constraints: Arc::clone(&self.constraints),
        })))
    }

    fn evidence(&self, query: Query, candidate: Entity, detail: &Detail) -> Result<Explanation> {
        self.inner.evidence(query, candidate, detail)
    }
}

struct ConstrainedTarget<'a> {
    inner: Box<dyn TargetPredictor + 'a>,
    refusals: Refusals<'a>,
}

impl TargetPredictor for ConstrainedTarget<'_> {
    fn entities(&self) -> usize {
        self.inner.entities()
    }

    fn scores(&mut self, query: Query, candidates: &[Entity]) -> Vec<f64> {
        let refused = self.refusals.all(query);
        let mut scores = self.inner.scores(query, candidates);
        for (score, candidate) in scores.iter_mut().zip(candidates) {
            if refused.binary_search(candidate).is_ok() {
                *score = REFUSED;
            }
        }
        scores
    }

    fn bounds(&mut self, queries: &[Query]) -> Option<Vec<Vec<f32>>> {
        self.inner.bounds(queries)
    }

    fn drop_below(&mut self, query: Query, candidates: &mut Vec<Entity>, least: f64) {
        self.inner.drop_below(query, candidates, least);
    }

    fn compare(&mut self, queries: &[FilteredQuery]) -> Vec<Vec<Comparison>> {
        let mut parts: Vec<(Vec<Entity>, FilteredQuery)> = Vec::new();
        for query in queries {
            let refused = self.refusals.all(query.query);
            let is_refused = |entity: &Entity| refused.binary_search(entity).is_ok();
            let answers = query.answers.iter().copied().filter(|answer| !is_refused(answer)).collect();
            let mut filtered = query.filtered.clone();
            filtered.extend(&refused);
            filtered.sort_unstable();
            filtered.dedup();
            parts.push((refused, FilteredQuery { query: query.query, answers, filtered }));
        }
        let admitted: Vec<FilteredQuery> = parts.iter().map(|(_, admitted)| admitted.clone()).collect();
        let compared = self.inner.compare(&admitted);
        let entities = self.entities();
        let all = queries.iter().zip(parts).zip(compared).map(|((query, (refused, admitted)), compared)| {
            let mut compared = compared.into_iter();
            let competing = entities - query.filtered.len();
            let above = entities - admitted.filtered.len();
            let last = Comparison { above, tied: competing - above };
            let of = |answer: &Entity| match refused.binary_search(answer) {
                Ok(_) => last,
                Err(_) => compared.next().unwrap_or_default(),
            };
            query.answers.iter().map(of).collect()
        });
        all.collect()
    }

    fn tie_range(&self, score: f64) -> [f64; 2] {
        if score == REFUSED { [REFUSED; 2] } else { self.inner.tie_range(score) }
    }

    fn evidence(&mut self, query: Query, candidates: &[Entity]) -> Vec<Evidence> {
        self.inner.evidence(query, candidates)
    }

    fn ended(&self) -> Ended {
        self.inner.ended()
    }
}

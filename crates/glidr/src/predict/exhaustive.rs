//! The slow twin of any predictor: it scores every candidate and knows no bounds.

use super::{Predictor, TargetPredictor};
use crate::error::Result;
use crate::explain::{Detail, Explanation};
use crate::graph::{Entity, Predicate, Query, Triple};
use crate::solve::Ended;

/// A predictor by its scores alone: comparisons, top-k answers and blends must come out the same.
pub struct Exhaustive<'a>(pub &'a dyn Predictor);

struct ExhaustiveTarget<'a>(Box<dyn TargetPredictor + 'a>);

impl Predictor for Exhaustive<'_> {
    fn scoring(&self) -> String {
        self.0.scoring()
    }

    fn rounds(&self) -> usize {
        self.0.rounds()
    }

    fn is_target(&self, predicate: Predicate) -> bool {
        self.0.is_target(predicate)
    }

    fn has_rules(&self, predicate: Predicate) -> bool {
        self.0.has_rules(predicate)
    }

    fn target(&self, target: Predicate, irreflexive: bool) -> Result<Box<dyn TargetPredictor + '_>> {
        Ok(Box::new(ExhaustiveTarget(self.0.target(target, irreflexive)?)))
    }

    fn without(&self, fact: Triple) -> Result<Option<Box<dyn Predictor + '_>>> {
        self.0.without(fact)
    }

    fn evidence(&self, query: Query, candidate: Entity, detail: &Detail) -> Result<Explanation> {
        self.0.evidence(query, candidate, detail)
    }
}

impl TargetPredictor for ExhaustiveTarget<'_> {
    fn entities(&self) -> usize {
        self.0.entities()
    }

    fn scores(&mut self, query: Query, candidates: &[Entity]) -> Vec<f64> {
        self.0.scores(query, candidates)
    }

    fn tie_range(&self, score: f64) -> [f64; 2] {
        self.0.tie_range(score)
    }

    fn ended(&self) -> Ended {
        self.0.ended()
    }
}

//! Prediction: scores for the candidates of a query, behind one trait.
//!
//! In: rules of some kind, and a [`Query`]. Out: scores, how an answer compares with its competing candidates, and an
//! [`Explanation`]. [`Soft`] passes messages, [`Rules`] evaluates hard rules exactly, [`Blend`] mixes two predictors.
//! [`Constrained`] puts those last that constraints refuse. Filtered evaluation, [`top_k`], explanation and the choice of
//! mixing weights are written once over [`Predictor`].

mod blend;
mod blend_target;
mod calibrated;
mod compare;
mod competing;
mod complete;
mod consistent;
mod constrained;
mod exhaustive;
mod guard;
mod reasoner;
mod rules;
mod soft;
mod top_k;

pub use blend::Blend;
pub(crate) use blend_target::BlendTarget;
pub(crate) use calibrated::features_of;
pub use calibrated::{Calibrated, TOP, with_features};
pub(crate) use compare::compare_scores;
pub use compare::{Comparison, FilteredQuery, TIE};
pub use complete::{Completion, NewFact};
pub(crate) use constrained::refusals;
pub use constrained::{Constrained, REFUSED};
pub use exhaustive::Exhaustive;
pub use guard::{Guard, GuardedQuery};
pub use reasoner::{Prediction, Reasoner, Reasoning, Scoring};
pub use rules::Rules;
pub use soft::{MessagePassing, Soft, SoftTarget};
pub use top_k::{Answer, top_k};

use crate::error::Result;
use crate::explain::{Detail, Explanation};
use crate::graph::{Entity, Predicate, Query, Triple};
use crate::model::Evidence;
use crate::solve::Ended;

/// Scores candidates for the missing end of a query. Predicates have the data's numbers.
pub trait Predictor: Send + Sync {
    /// How it scores: `soft`, `top-p 0.25`, `argmax`, `rules` or `blend`.
    fn scoring(&self) -> String;

    /// Rounds of message passing; 0 where no messages are passed.
    fn rounds(&self) -> usize {
        0
    }

    /// Whether it was made for queries about this predicate; facts about others are not evaluated.
    fn is_target(&self, predicate: Predicate) -> bool;

    /// Whether it has a rule for this predicate. Without one all candidates score 0.
    fn has_rules(&self, predicate: Predicate) -> bool;

    /// How many queries of one target are best compared at once.
    fn batch_size(&self) -> usize {
        64
    }

    /// Makes one target ready. Of an irreflexive one, no entity is a candidate for its own query.
    fn target(&self, target: Predicate, irreflexive: bool) -> Result<Box<dyn TargetPredictor + '_>>;

    /// The same predictor on a background that lacks this fact; none where the background lacks it already.
    fn without(&self, fact: Triple) -> Result<Option<Box<dyn Predictor + '_>>>;

    /// What speaks for this candidate on the background as it is.
    fn evidence(&self, query: Query, candidate: Entity, detail: &Detail) -> Result<Explanation>;

    /// Why this candidate has its score. A candidate that makes a fact of the background is explained without that
    /// fact.
    ///
    /// ```
    /// use glidr::internals::explain::Detail;
    /// use glidr::internals::graph::{Direction, Query};
    /// use glidr::internals::predict::Rules;
    /// use glidr::{Dataset, Predictor, RuleSet};
    /// let families = Dataset::families(0);
    /// let names = families.names();
    /// let rules = RuleSet::parse("own rules", "1.0 :: wife(X, Y) :- husband(Y, X).", names)?;
    /// let (predicate, known) = (names.predicate("wife")?, names.entity("Penelope")?);
    /// let query = Query { predicate, direction: Direction::Tail, known };
    /// let predictor = Rules::new(rules.targets(), &families);
    /// let explanation = predictor.explain(query, names.entity("Christopher")?, &Detail::default())?;
    /// assert_eq!(explanation.best_rule().expect("it fires").rule, "wife(X, Y) :- husband(Y, X).");
    /// # Ok::<(), glidr::Error>(())
    /// ```
    fn explain(&self, query: Query, candidate: Entity, detail: &Detail) -> Result<Explanation> {
        match self.without(query.fact(candidate))? {
            Some(without) => without.evidence(query, candidate, detail),
            None => self.evidence(query, candidate, detail),
        }
    }
}

/// A predictor that is ready for the queries of one target. It keeps workspace, so each thread has its own.
pub trait TargetPredictor {
    /// How many entities there are: all are candidates.
    fn entities(&self) -> usize;

    /// The scores of these candidates.
    fn scores(&mut self, query: Query, candidates: &[Entity]) -> Vec<f64>;

    /// For each of these queries, which share a direction, an upper bound of every entity's score; none where bounds
    /// are no cheaper than scores.
    fn bounds(&mut self, _queries: &[Query]) -> Option<Vec<Vec<f32>>> {
        None
    }

    /// Drops candidates that something cheaper than [`TargetPredictor::scores`] shows to score below `least`.
    fn drop_below(&mut self, _query: Query, _candidates: &mut Vec<Entity>, _least: f64) {}

    /// How each answer of these queries, which share a direction, compares with the candidates that are not filtered
    /// out. This default scores every candidate: faster ones must give the same.
    fn compare(&mut self, queries: &[FilteredQuery]) -> Vec<Vec<Comparison>> {
        compare::compare_exhaustive(self, queries)
    }

    /// Scores from the first to the second number tie with this one.
    fn tie_range(&self, score: f64) -> [f64; 2] {
        compare::tie_range(score)
    }

    /// What speaks for each of these candidates.
    fn evidence(&mut self, query: Query, candidates: &[Entity]) -> Vec<Evidence> {
        let scores = self.scores(query, candidates);
        scores.into_iter().map(|soft| Evidence { soft, ..Evidence::default() }).collect()
    }

    /// How exact evaluation ended so far: after a limit, scores may lack a rule's part.
    fn ended(&self) -> Ended {
        Ended::Complete
    }
}

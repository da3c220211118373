//! Which constraints may refuse candidates: all that are sure enough, where how sure is told by ranking *valid*.
//!
//! In: predictors that know nothing of *valid*, and constraints as checked on *valid*. Out: the least confidence of
//! those that are used. That a constraint was dropped for the facts it would have refused says nothing of other facts; so
//! each fact of *valid* that a constraint would refuse if it did not know it counts as lost.

use std::sync::Arc;

use super::queries::Queries;
use super::{Evaluation, Ties};
use crate::constraint::{Checked, KeptConstraint};
use crate::error::Result;
use crate::graph::{Background, Dataset, Split, Triple};
use crate::predict::{Comparison, Constrained, FilteredQuery, Predictor, TargetPredictor};
use crate::solve::Ended;
use crate::util::progress::{Progress, Stage};
use crate::util::random::{Purpose, shuffle, stream};

/// How sure constraints must be, tried in this order: of equals the first is taken, which refuses least.
const LEVELS: [f64; 5] = [f64::INFINITY, 0.98, 0.95, 0.9, 0.0];
/// Facts of *valid* that are ranked, at most.
const MAX_FACTS: usize = 2000;

/// Constraints that are sure enough; those that were written by hand always are.
#[must_use]
pub fn sure_enough(mut kept: Vec<KeptConstraint>, least: f64) -> Vec<KeptConstraint> {
    for kept in &mut kept {
        if kept.constraint.counts.is_some() && kept.constraint.confidence < least {
            kept.used_for.clear();
        }
    }
    kept
}

/// The least confidence of constraints that are used, infinite where none is; none where *valid* has nothing to tell.
///
/// `without` ranks where none is used; `predictor`, which may be fitted to what constraints leave, where some are.
pub fn choose_constraints(
    [without, predictor]: [&Arc<dyn Predictor + '_>; 2],
    checked: &Checked,
    data: &Dataset,
    evaluation: Evaluation,
    progress: &dyn Progress,
) -> Result<Option<f64>> {
    let evaluation = Evaluation { split: Split::Valid, ties: Ties::Mean, ..evaluation };
    let asked = data.split(Split::Valid).iter().filter(|fact| predictor.is_target(fact.predicate)).copied();
    let mut random = stream(evaluation.seed, Purpose::Constraints, [0; 3]);
    let mut asked: Vec<Triple> = asked.collect();
    shuffle(&mut asked, &mut random);
    asked.truncate(MAX_FACTS);
    if asked.is_empty() {
        return Ok(None);
    }
    let graph = data.graph(Background::Train);
    let at_level = |&least: &f64| {
        let used = Arc::from(sure_enough(checked.kept.clone(), least));
        let inner = if least.is_infinite() { without } else { predictor };
        Constrained::new(Arc::clone(inner), Arc::clone(graph), used)
    };
    let levels: Vec<Constrained> = LEVELS.iter().map(at_level).collect();
    let splits = [Split::Facts, Split::Train, Split::Valid];
    let queries = Queries::about(asked, &evaluation, predictor.as_ref(), data, &splits, usize::MAX);
    let (compared, _) = queries.compare(
        LEVELS.len(),
        |target, irreflexive| levels.iter().map(|level| level.target(target, irreflexive)).collect(),
        |targets: &mut Vec<Box<dyn TargetPredictor + '_>>, queries| {
            (compare(targets, queries), Ended::Complete)
        },
        &|done, all| {
            progress.report(Stage::Mixing, done, all);
            progress.is_stopped()
        },
    )?;
    let mut gains = [0.0; LEVELS.len()];
    for answer in &compared {
        let surest = checked.refused.get(&answer.fact).copied();
        for ((gain, &least), &comparison) in gains.iter_mut().zip(&LEVELS).zip(&answer.comparisons) {
            if surest.is_none_or(|surest| surest < least) {
                *gain += 1.0 / evaluation.rank(comparison, answer.fact, answer.direction);
            }
        }
    }
    let best = (0..LEVELS.len()).max_by(|&a, &b| gains[a].total_cmp(&gains[b]).then(b.cmp(&a)));
    Ok(best.map(|place| LEVELS[place]))
}

/// For each query and answer, how it compares at every level.
fn compare(
    targets: &mut [Box<dyn TargetPredictor + '_>],
    queries: &[FilteredQuery],
) -> Vec<Vec<Vec<Comparison>>> {
    let at_levels: Vec<Vec<Vec<Comparison>>> =
        targets.iter_mut().map(|target| target.compare(queries)).collect();
    let answers = |query: usize| 0..queries[query].answers.len();
    let of = |query: usize, answer: usize| at_levels.iter().map(|level| level[query][answer]).collect();
    (0..queries.len()).map(|query| answers(query).map(|answer| of(query, answer)).collect()).collect()
}

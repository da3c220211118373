//! The choice of mixing weights: how much of each target's score is soft.
//!
//! In: a [`Blend`] of hard rules and soft ones. Out: the weight of each target that ranks *valid* best. *test* is not
//! looked at, not even to leave out what it says is true.

use std::collections::BTreeMap;

use super::queries::Queries;
use super::{Evaluation, Ties};
use crate::constraint::KeptConstraint;
use crate::error::Result;
use crate::graph::{Dataset, Predicate, Split};
use crate::model::MixingWeight;
use crate::predict::{Blend, BlendTarget, Predictor};
use crate::solve::Ended;
use crate::util::progress::{Progress, Stage};

/// The weights that are tried.
const WEIGHTS: [f64; 10] = [0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0];
/// The mean over all targets counts as much as so many queries of a target itself: few of its own must not decide alone.
const SHARED_QUERIES: f64 = 100.0;

/// Queries that are ranked at once where time is limited.
const TIMED_BATCH: usize = 8;

/// Chooses the mixing weight of each target on *valid*; none where *valid* has no fact about a target.
///
/// Candidates that constraints refuse do not compete. Where `progress` stops the work, the queries that were ranked by then choose.
///
/// Neither part of the blend may have been fitted to *valid*: of searched rules take those fitted on train, of a model
/// the rule weights by loss (`SoftModel::with_loss_weights`).
pub fn choose_mixing_weights(
    blend: &Blend,
    constraints: &[KeptConstraint],
    data: &Dataset,
    evaluation: Evaluation,
    progress: &dyn Progress,
) -> Result<Vec<MixingWeight>> {
    if !data.split(Split::Valid).iter().any(|fact| blend.is_target(fact.predicate)) {
        return Ok(Vec::new());
    }
    let evaluation = Evaluation { split: Split::Valid, ties: Ties::Mean, ..evaluation };
    // Of limited time little is lost with a small batch.
    let max_batch = progress.time_left().map_or(usize::MAX, |_| TIMED_BATCH);
    let splits = [Split::Facts, Split::Train, Split::Valid];
    let mut queries = Queries::new(&evaluation, blend, data, &splits, max_batch)?;
    queries.refuse(constraints, data)?;
    let (compared, _) = queries.compare(
        WEIGHTS.len(),
        |target, irreflexive| blend.mixed(target, irreflexive, WEIGHTS.to_vec()),
        |target: &mut BlendTarget, queries| (target.compare_mixed(queries), Ended::Complete),
        &|done, all| {
            progress.report(Stage::Mixing, done, all);
            progress.is_stopped()
        },
    )?;
    let mut gains: BTreeMap<Predicate, ([f64; WEIGHTS.len()], usize)> = BTreeMap::new();
    for answer in &compared {
        let (gain, count) = gains.entry(answer.fact.predicate).or_insert(([0.0; WEIGHTS.len()], 0));
        for (gain, &comparison) in gain.iter_mut().zip(&answer.comparisons) {
            *gain += 1.0 / evaluation.rank(comparison, answer.fact, answer.direction);
        }
        *count += 1;
    }
    let sum = |place: usize| gains.values().map(|(gain, _)| gain[place]).sum::<f64>();
    let mean: Vec<f64> = (0..WEIGHTS.len()).map(|place| sum(place) / compared.len().max(1) as f64).collect();
    let best = |own: &[f64]| {
        // The first of equals leans most on hard rules.
        let value = |place: usize| own[place] + SHARED_QUERIES * mean[place];
        (0..WEIGHTS.len()).max_by(|&a, &b| value(a).total_cmp(&value(b)).then(b.cmp(&a))).unwrap_or(0)
    };
    let names = &data.names().predicates;
    let targets = (0..names.len() as u32).map(Predicate);
    let targets = targets.filter(|target| gains.contains_key(target) || blend.has_rules(*target));
    Ok(targets
        .map(|target| {
            let (own, count) = gains.get(&target).copied().unwrap_or(([0.0; WEIGHTS.len()], 0));
            let place = best(&own);
            MixingWeight {
                target: names.name(target).to_owned(),
                weight: WEIGHTS[place],
                valid_mrr: own[place] / count.max(1) as f64,
            }
        })
        .collect())
}

//! How well a predictor ranks facts that it was not told, estimated on *valid* alone.
//!
//! In: a predictor that knows nothing of *valid*. Out: its MRR there. Held-out facts of *test* compete with those of *valid*,
//! which speaks against whoever ranks both high; but *test* is not looked at. So of the candidates above an answer as many
//! are taken to be true as other answers of *valid* stand above it.

use super::queries::{Compared, Queries};
use super::{Evaluation, Ties};
use crate::error::Result;
use crate::graph::{Dataset, Split, Triple};
use crate::predict::{Comparison, Predictor};
use crate::util::progress::{Progress, Stage};
use crate::util::random::{Purpose, shuffle, stream};

/// Facts of *valid* that are ranked, at most.
const MAX_FACTS: usize = 2000;

/// The mean reciprocal rank of *valid*; 0 where it has nothing to tell.
pub fn estimated_mrr(
    predictor: &dyn Predictor,
    data: &Dataset,
    evaluation: Evaluation,
    progress: &dyn Progress,
) -> Result<f64> {
    let evaluation = Evaluation { split: Split::Valid, ties: Ties::Mean, ..evaluation };
    let asked = data.split(Split::Valid).iter().filter(|fact| predictor.is_target(fact.predicate)).copied();
    let mut asked: Vec<Triple> = asked.collect();
    shuffle(&mut asked, &mut stream(evaluation.seed, Purpose::Estimate, [0; 3]));
    asked.truncate(MAX_FACTS);
    let ranked = |splits: &[Split]| -> Result<Vec<Compared>> {
        let queries = Queries::about(asked.clone(), &evaluation, predictor, data, splits, usize::MAX);
        let (compared, _) = queries.compare(
            1,
            |target, irreflexive| predictor.target(target, irreflexive),
            |target, queries| {
                let once = |of: Vec<Comparison>| of.into_iter().map(|comparison| vec![comparison]).collect();
                (target.compare(queries).into_iter().map(once).collect(), target.ended())
            },
            &|done, all| {
                progress.report(Stage::Mixing, done, all);
                progress.is_stopped()
            },
        )?;
        Ok(compared)
    };
    let filtered = ranked(&[Split::Facts, Split::Train, Split::Valid])?;
    let with_others = ranked(&[Split::Facts, Split::Train])?;
    let mut gain = 0.0;
    for (filtered_one, with_others) in filtered.iter().zip(&with_others) {
        let (own, all) = (filtered_one.comparisons[0], with_others.comparisons[0]);
        let others_above = all.above.saturating_sub(own.above);
        let estimated = Comparison { above: own.above.saturating_sub(others_above), ..own };
        gain += 1.0 / evaluation.rank(estimated, filtered_one.fact, filtered_one.direction);
    }
    Ok(gain / filtered.len().max(1) as f64)
}

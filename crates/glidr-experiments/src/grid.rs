//! Experiments that learn and rank over a grid: rows × data × seeds × kinds of scores.

use anyhow::Context;
use glidr::Training;
use serde::{Deserialize, Serialize};

use crate::Watch;
use crate::job::{Change, Job};
use crate::model_store::ModelStore;
use crate::plan::{Choices, DataSets, Plan, first, folder};
use crate::store::Store;

/// What a unit gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UnitResult {
    /// Mean reciprocal rank.
    pub mrr: f64,
    /// Hits@1, as a fraction of 1.
    pub hits1: f64,
    /// Hits@3.
    pub hits3: f64,
    /// Hits@10.
    pub hits10: f64,
    /// How many queries.
    pub queries: usize,
    /// The test split's hash.
    pub split_hash: String,
    /// Rules that scores come from.
    pub rules: usize,
    /// Processor seconds of learning; unknown where it was taken up again after a stop.
    pub learn_seconds: Option<f64>,
    /// Processor seconds of searching and ranking.
    pub rank_seconds: f64,
}

/// A unit with what it gave.
pub type Done = (Job, UnitResult);

/// All units of a plan, those that share a model one after the other.
pub fn jobs(plan: &Plan, choices: &Choices) -> anyhow::Result<Vec<Job>> {
    let mut jobs = Vec::new();
    let folder = folder(plan, choices);
    for row in plan.chosen_rows(choices)? {
        for data in plan.data_of(&row, choices) {
            for seed in plan.seeds_of(&row, choices) {
                for (x, change, variables) in points(plan, choices, row.training.variables) {
                    for &scores in &row.scores {
                        jobs.push(Job {
                            row: row.name.clone(),
                            data: data.clone(),
                            folder: folder.clone(),
                            change,
                            x,
                            training: Training { seed, variables, ..row.training.clone() },
                            scores,
                            rounds: row.rounds,
                            search: row.search.clone(),
                        });
                    }
                }
            }
        }
    }
    if jobs.is_empty() {
        anyhow::bail!("nothing is left to run: no row has this data and these seeds");
    }
    Ok(jobs)
}

/// The points of a figure's axis: chances of noise, numbers of variables, pairs of parts, or one alone.
fn points(plan: &Plan, choices: &Choices, variables: usize) -> Vec<(f64, Change, usize)> {
    if let Some(share) = plan.share {
        let pairs = [(0, 0), (0, 1), (1, 1)];
        let part = |(place, (learn, test)): (usize, (usize, usize))| {
            (place as f64, Change::Parts { share, learn, test }, variables)
        };
        let mut points: Vec<_> = pairs.into_iter().enumerate().map(part).collect();
        points.push((3.0, Change::None, variables));
        return points;
    }
    if !plan.mislabelled.is_empty() {
        let clean_background = plan.clean_background;
        let point = |p: f64| (p, Change::Mislabelled { p, clean_background }, variables);
        return first(&plan.mislabelled, choices).into_iter().map(point).collect();
    }
    if !plan.variables.is_empty() {
        return first(&plan.variables, choices).into_iter().map(|n| (n as f64, Change::None, n)).collect();
    }
    vec![(0.0, Change::None, variables)]
}

/// Runs all units that are not done yet; none where it was asked to stop.
pub fn run(
    jobs: &[Job],
    store: &mut Store,
    mut learner: ModelStore,
    watch: &dyn Watch,
) -> anyhow::Result<Option<Vec<Done>>> {
    let (mut data_sets, mut done) = (DataSets::default(), Vec::new());
    let mut memo = None;
    for (number, job) in jobs.iter().enumerate() {
        let data = data_sets.open(&job.data, &job.folder)?;
        let unit = job.unit(data);
        if let Some(result) = store.get::<UnitResult>(&unit) {
            done.push((job.clone(), result));
            continue;
        }
        if store.only_done {
            continue;
        }
        watch.unit(number, jobs.len(), &job.show());
        let (learned, tested) = job.sides(data)?;
        let found = job.model((&learned, &tested), &mut learner, watch).with_context(|| job.show())?;
        let Some(found) = found else { return Ok(None) };
        let ranks =
            job.rank(&found.model, &learned, &tested, &mut memo, watch).with_context(|| job.show())?;
        let Some(ranks) = ranks else { return Ok(None) };
        let result = UnitResult {
            mrr: ranks.metrics.mrr,
            hits1: ranks.metrics.hits1,
            hits3: ranks.metrics.hits3,
            hits10: ranks.metrics.hits10,
            queries: ranks.metrics.queries,
            split_hash: ranks.split_hash,
            rules: ranks.rules,
            learn_seconds: found.seconds,
            rank_seconds: ranks.seconds,
        };
        store.put(&unit, &result)?;
        done.push((job.clone(), result));
        if watch.is_stopped() && number + 1 < jobs.len() {
            return Ok(None);
        }
    }
    watch.unit(jobs.len(), jobs.len(), "");
    anyhow::ensure!(!done.is_empty(), "nothing of this is done yet");
    Ok(Some(done))
}

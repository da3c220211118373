//! Experiments that learn and rank over a grid: rows × data × seeds × ways of scoring.

use anyhow::Context;
use glidr::learn::Votes;
use glidr::rank::{Metrics, Ranked};
use glidr::search::{Join, Joined, RuleSet, Searched};
use glidr::solve::Limits;
use glidr::{Dataset, Extraction, Model, Predicate, Ranking, Search, Split, Training};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Watch;
use crate::learner::{Learned, Learner, stopped};
use crate::plan::{Choices, Plan, Scores, SearchPlan, Shelf, first, folder};
use crate::store::Store;
use crate::watch::Stopwatch;

/// What is done to the data before learning.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Nothing.
    None,
    /// Facts are mislabelled with this chance.
    Mislabelled {
        /// The chance.
        p: f64,
        /// Whether ranking sees the clean facts.
        clean_background: bool,
    },
    /// Learned on one of two parts, tested on one of them.
    Parts {
        /// The share of the first part.
        share: f64,
        /// The part that is learned on.
        learn: usize,
        /// The part that is tested on.
        test: usize,
    },
}

/// One unit of work.
#[derive(Clone, Debug)]
pub struct Job {
    /// The row it belongs to.
    pub row: String,
    /// The data set's name.
    pub data: String,
    /// The data set's folder.
    folder: std::path::PathBuf,
    /// What is done to it.
    pub change: Change,
    /// Where it stands on the axis of its figure.
    pub x: f64,
    /// How it learns; the seed is its own.
    pub training: Training,
    /// How it scores.
    pub scores: Scores,
    rounds: Option<usize>,
    search: SearchPlan,
}

/// What a unit gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gave {
    /// Mean reciprocal rank.
    pub mrr: f64,
    /// Hits@1, as a fraction of 1.
    pub hits1: f64,
    /// Hits@3.
    pub hits3: f64,
    /// Hits@10.
    pub hits10: f64,
    /// How many questions.
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
pub type Done = (Job, Gave);

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

impl Job {
    /// Everything that decides the result.
    fn unit(&self, data: &Dataset) -> Value {
        let mut unit = json!({
            "data": self.data, "hash": data.hash(), "change": self.change, "training": self.training,
            "scores": self.scores, "rounds": self.rounds, "search": self.search,
        });
        if matches!(self.scores, Scores::Search | Scores::Joined) {
            unit["search_revision"] = json!(glidr::search::REVISION);
        }
        unit
    }

    /// What it is, for the one who waits.
    fn show(&self) -> String {
        let at = match self.change {
            Change::None => format!("N = {}", self.training.variables),
            Change::Mislabelled { p, .. } => format!("p = {p}"),
            Change::Parts { learn, test, .. } => format!("part {} on part {}", learn + 1, test + 1),
        };
        format!("{}, {}, {at}, seed {}, {}", self.row, self.data, self.training.seed, self.scores.name())
    }

    /// What is learned on, and what is ranked on.
    fn sides(&self, data: &Dataset) -> anyhow::Result<(Dataset, Dataset)> {
        let seed = self.training.seed;
        Ok(match self.change {
            Change::None => (data.clone(), data.clone()),
            Change::Mislabelled { p, clean_background } => {
                let noisy = data.mislabelled(p, seed)?;
                (noisy.clone(), if clean_background { data.clone() } else { noisy })
            }
            Change::Parts { share, learn, test } => {
                let parts = data.parts(share, seed)?;
                (parts[learn].clone(), parts[test].clone())
            }
        })
    }

    /// Whether votes are fitted to clean facts after rules were learned from noisy ones: the paper mislabels
    /// "during training", and weighs rules by validation.
    fn votes_later(&self) -> bool {
        let clean = matches!(self.change, Change::Mislabelled { clean_background: true, .. });
        clean && self.training.votes == Votes::Fitted
    }

    /// The model of this unit, and the processor seconds that learning took; none where it was asked to stop.
    fn model(
        &self,
        (learned, tested): (&Dataset, &Dataset),
        learner: &mut Learner,
        watch: &dyn Watch,
    ) -> anyhow::Result<Option<Learned>> {
        let votes = if self.votes_later() { Votes::Loss } else { self.training.votes };
        let training = Training { votes, ..self.training.clone() };
        let Some(found) = learner.model(&training, learned, watch)? else { return Ok(None) };
        let (mut model, mut seconds) = (found.model.clone(), found.seconds);
        if self.votes_later() {
            let started = Stopwatch::start();
            model.fit_votes(tested, &|done, all| watch.progress(done, all, "votes"))?;
            model.training.votes = Votes::Fitted;
            seconds = seconds.map(|seconds| seconds + started.seconds());
        }
        Ok(Some(Learned { model, seconds }))
    }

    fn search(&self) -> anyhow::Result<Search> {
        let plain = Search::default();
        Ok(Search {
            base: self.search.base.unwrap_or(plain.base),
            conjunctions: self.search.conjunctions.unwrap_or(plain.conjunctions),
            budget: self.search.budget.unwrap_or(plain.budget),
            chains: self.search.chains.unwrap_or(plain.chains),
            join: self.search.join.as_deref().map(Join::parse).transpose()?,
            ..plain
        })
    }

    /// The searched rules, and the processor seconds that this took; a search is run once for all that use it.
    fn searched<'m>(
        &self,
        model: &Model,
        learned: &Dataset,
        memo: &'m mut Memo,
        watch: &(dyn Fn(usize, usize) + Sync),
    ) -> anyhow::Result<&'m (Searched, f64)> {
        let key = json!([self.training, learned.hash(), self.search]);
        if memo.as_ref().is_none_or(|(known, _)| *known != key) {
            let (started, targets) = (Stopwatch::start(), targets(learned));
            let told = |done: usize| watch(done, targets.len());
            let found = self.search()?.run(learned, Some(model), &[], &targets, &told)?;
            *memo = Some((key, (found, started.seconds())));
        }
        memo.as_ref().map(|(_, found)| found).context("a search is kept")
    }

    /// Ranks the test split of `tested` with what was learned on `learned`.
    fn rank(
        &self,
        model: &Model,
        learned: &Dataset,
        tested: &Dataset,
        memo: &mut Memo,
        watch: &(dyn Fn(usize, usize) + Sync),
    ) -> anyhow::Result<Ranks> {
        let plain = Ranking { seed: self.training.seed, rounds: self.rounds, ..Ranking::default() };
        let soft: usize = model.ensembles.iter().map(|ensemble| ensemble.rules.len()).sum();
        let by = |hard: Option<Extraction>| Ranking { hard, ..plain }.run(model, tested, watch);
        let counted = |sets: &[RuleSet]| sets.iter().map(|set| set.rules.len()).sum::<usize>();
        let limits = Limits::default();
        let started = Stopwatch::start();
        let (ranked, rules) = match self.scores {
            Scores::Soft => (by(None)?, soft),
            Scores::TopP => (by(Some(Extraction::TopP(0.25)))?, soft),
            Scores::Argmax => (by(Some(Extraction::Argmax))?, soft),
            Scores::Search => {
                let (found, seconds) = self.searched(model, learned, memo, watch)?;
                let started = Stopwatch::start();
                let ranked = plain.run_rules(&found.sets, &[], tested, limits, watch)?.0;
                return Ok(Ranks::of(&ranked, counted(&found.sets), seconds + started.seconds()));
            }
            Scores::Joined => {
                // Shares are chosen by rules that have not seen valid; those that rank have.
                let (found, seconds) = self.searched(model, learned, memo, watch)?;
                let started = Stopwatch::start();
                let joined = Joined::choose(model, &found.judged, learned, plain, limits, watch)?;
                let ranked = joined.rank(model, &found.sets, tested, plain, limits, watch)?.0;
                let seconds = seconds + started.seconds();
                return Ok(Ranks::of(&ranked, soft + counted(&found.sets), seconds));
            }
        };
        Ok(Ranks::of(&ranked, rules, started.seconds()))
    }
}

/// The last search, by all that decides it, and its processor seconds.
type Memo = Option<(Value, (Searched, f64))>;

/// What a ranking gave.
struct Ranks {
    metrics: Metrics,
    split_hash: String,
    rules: usize,
    seconds: f64,
}

impl Ranks {
    fn of(ranked: &Ranked, rules: usize, seconds: f64) -> Self {
        Ranks { metrics: ranked.all, split_hash: ranked.convention.split_hash.clone(), rules, seconds }
    }
}

/// All predicates that training sees.
pub fn targets(data: &Dataset) -> Vec<Predicate> {
    let seen = [Split::Facts, Split::Train].into_iter().flat_map(|split| data.split(split));
    let mut targets: Vec<Predicate> = seen.map(|fact| fact.predicate).collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}

/// Runs all units that are not done yet; none where it was asked to stop.
pub fn run(
    jobs: &[Job],
    store: &mut Store,
    mut learner: Learner,
    watch: &dyn Watch,
) -> anyhow::Result<Option<Vec<Done>>> {
    let (mut shelf, mut done) = (Shelf::default(), Vec::new());
    let mut memo = None;
    for (number, job) in jobs.iter().enumerate() {
        let data = shelf.open(&job.data, &job.folder)?;
        let unit = job.unit(data);
        if let Some(gave) = store.get::<Gave>(&unit) {
            done.push((job.clone(), gave));
            continue;
        }
        if store.only_done {
            continue;
        }
        watch.unit(number, jobs.len(), &job.show());
        let (learned, tested) = job.sides(data)?;
        let found = job.model((&learned, &tested), &mut learner, watch).with_context(|| job.show())?;
        let Some(found) = found else { return Ok(None) };
        let shown = |done: usize, all: usize| watch.progress(done, all, "questions or targets");
        let ranks =
            job.rank(&found.model, &learned, &tested, &mut memo, &shown).with_context(|| job.show())?;
        let gave = Gave {
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
        store.put(&unit, &gave)?;
        done.push((job.clone(), gave));
        if stopped(watch) && number + 1 < jobs.len() {
            return Ok(None);
        }
    }
    watch.unit(jobs.len(), jobs.len(), "");
    anyhow::ensure!(!done.is_empty(), "nothing of this is done yet");
    Ok(Some(done))
}

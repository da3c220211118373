//! The paper's experiments, and ours: each is a plan in TOML, units of work that are kept as soon as
//! they are done, and a report of tables and figures with the paper's numbers beside ours.
//!
//! In: an [`Experiment`], a [`Plan`] and [`Choices`] that shorten it. Out: a [`Report`]. Paper:
//! `tab:metrics`, `fig:mislabeling`, `fig:rule_length`, `tab:rules`.

mod check;
#[cfg(feature = "digits")]
pub mod digits;
mod few;
mod figure;
mod grid;
mod job;
mod model_store;
mod plan;
mod published;
mod recovered;
mod report;
mod rules;
mod scaling;
mod sparse;
mod stats;
mod store;
mod summary;
mod watch;

use std::path::Path;

use model_store::ModelStore;
pub use plan::{Choices, Plan};
pub use report::{Report, Table};
pub use scaling::{ScalingMeasured, ScalingPoint};
pub use stats::{Spread, slope};
pub use store::Store;
pub use watch::Watch;

/// The experiments that need no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// Filtered ranking on all data sets.                                        `tab:metrics`
    Completion,
    /// Hits@1 as facts are mislabelled.                                           `fig:mislabeling`
    Noise,
    /// Hits@1 as rules have more variables.                                       `fig:rule_length`
    Variables,
    /// The best rules, their measures, shapes and pictures.                       `tab:rules`
    Rules,
    /// Learned on one part of a graph, tested on a part with other entities.
    Inductive,
    /// Time and memory as graphs and rules grow.
    Scaling,
    /// What more rules, variables, rounds and other aggregations bring.
    Beyond,
    /// MRR as more rules of each predicate are kept.
    Few,
    /// Mislabelled facts among the most suspicious.
    Check,
    /// Planted constraints that are learned again.
    Constraints,
    /// Sparse graphs and hierarchies, beside a sampler of rules.
    Sparse,
}

impl Experiment {
    /// All of them.
    pub const ALL: [Experiment; 11] = [
        Experiment::Completion,
        Experiment::Noise,
        Experiment::Variables,
        Experiment::Rules,
        Experiment::Inductive,
        Experiment::Scaling,
        Experiment::Beyond,
        Experiment::Few,
        Experiment::Check,
        Experiment::Constraints,
        Experiment::Sparse,
    ];

    /// Its name, which is also that of its files.
    pub fn name(self) -> &'static str {
        [
            "completion",
            "noise",
            "variables",
            "rules",
            "inductive",
            "scaling",
            "beyond",
            "few",
            "check",
            "constraints",
            "sparse",
        ][self as usize]
    }

    /// The plan that is built in.
    pub fn plan(self) -> &'static str {
        match self {
            Experiment::Completion => include_str!("../plans/completion.toml"),
            Experiment::Noise => include_str!("../plans/noise.toml"),
            Experiment::Variables => include_str!("../plans/variables.toml"),
            Experiment::Rules => include_str!("../plans/rules.toml"),
            Experiment::Inductive => include_str!("../plans/inductive.toml"),
            Experiment::Scaling => include_str!("../plans/scaling.toml"),
            Experiment::Beyond => include_str!("../plans/beyond.toml"),
            Experiment::Few => include_str!("../plans/few.toml"),
            Experiment::Check => include_str!("../plans/check.toml"),
            Experiment::Constraints => include_str!("../plans/constraints.toml"),
            Experiment::Sparse => include_str!("../plans/sparse.toml"),
        }
    }

    /// Runs what is not done yet, and reports over all that is. `None` means that it was asked to stop;
    /// what was done is kept.
    pub fn run(
        self,
        plan: &Plan,
        choices: &Choices,
        out: &Path,
        watch: &dyn Watch,
    ) -> anyhow::Result<Option<Report>> {
        let mut store = Store::open(&out.join(format!("{}.jsonl", self.name())), choices.restart)?;
        store.only_done = choices.done;
        let learner = ModelStore::new(out, self.name(), choices.restart);
        match self {
            Experiment::Rules => rules::run(plan, choices, &mut store, learner, watch),
            Experiment::Few => few::run(plan, choices, &mut store, watch),
            Experiment::Check => check::run(plan, choices, &mut store, watch),
            Experiment::Constraints => recovered::run(plan, choices, &mut store, watch),
            Experiment::Sparse => sparse::run(plan, choices, &mut store, watch),
            Experiment::Scaling => scaling::run(plan, choices, &mut store, watch),
            _ => {
                let jobs = grid::jobs(plan, choices)?;
                let Some(done) = grid::run(&jobs, &mut store, learner, watch)? else {
                    return Ok(None);
                };
                summary::report(self, plan, &done).map(Some)
            }
        }
    }
}

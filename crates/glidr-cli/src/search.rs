//! Searching for rules, by flags.

use std::time::Duration;

use clap::{Args, ValueEnum};
use glidr::Aggregation;
use glidr::search::Searched;
use glidr::solve::Limits;
use glidr::{Dataset, Predicate, Rule, Search, SoftModel, Split};

use crate::output::Output;

/// How rules are searched with --hard search.
#[derive(Args)]
#[command(next_help_heading = "Search for rules")]
pub struct SearchFlags {
    /// Seconds for the proposals of one target; also for any one question to a rule
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    search_time: Option<u64>,
    /// Rules of a target's pool that are no conjunctions, at most; nine for every four of them on a graph of more than
    /// 5792 entities [default: 800]
    #[arg(long, value_name = "COUNT")]
    base: Option<usize>,
    /// Conjunctions of two of these, at most [default: 1500]
    #[arg(long, value_name = "COUNT")]
    conjunctions: Option<usize>,
    /// Rules measured around each soft rule, at most; 0 leaves the soft rules out [default: 60]
    #[arg(long, value_name = "COUNT")]
    budget: Option<usize>,
    /// Chains of one or two steps measured, at most; 0 leaves them out [default: 5000]
    #[arg(long, value_name = "COUNT")]
    chains: Option<usize>,
    /// The best rules of a target, so many, are also measured with one literal more on a variable, which makes
    /// branches: worth trying, say with 20, and comparing on valid [default: 0]
    #[arg(long, value_name = "COUNT")]
    branched: Option<usize>,
    /// Facts of a target that ask, on a graph of more than 5792 entities, where rules are measured by a sample
    /// [default: 5000]
    #[arg(long, value_name = "COUNT")]
    questions: Option<usize>,
    /// How rules are aggregated [default: what does best on valid, for each target]
    #[arg(long, value_enum)]
    aggregation: Option<AggregationFlag>,
}

#[derive(Clone, Copy, ValueEnum)]
enum AggregationFlag {
    /// 1 − Π (1 − confidence), over all rules
    NoisyOr,
    /// The same over the five best
    NoisyOr5,
    /// By the best confidence, then by the next best, and so on
    MaxPlus,
    /// The sum of fitted weights
    Sum,
}

impl SearchFlags {
    /// The limits on evaluating one rule.
    pub fn limits(&self) -> Limits {
        Limits { time: self.search_time.map(Duration::from_secs), answers: None }
    }

    /// The search that they ask for.
    pub fn search(&self) -> Search {
        let plain = Search::default();
        Search {
            time: self.search_time.map(Duration::from_secs),
            base: self.base.unwrap_or(plain.base),
            conjunctions: self.conjunctions.unwrap_or(plain.conjunctions),
            budget: self.budget.unwrap_or(plain.budget),
            chains: self.chains.unwrap_or(plain.chains),
            questions: self.questions.unwrap_or(plain.questions),
            branched: self.branched.unwrap_or(plain.branched),
            aggregation: self.aggregation.map(|flag| Aggregation::ALL[flag as usize]),
            ..plain
        }
    }
}

/// Searches, with a progress bar.
pub fn run(
    search: Search,
    model: &SoftModel,
    data: &Dataset,
    extra: &[Rule],
    targets: &[Predicate],
    output: &Output,
) -> anyhow::Result<Searched> {
    let bar = output
        .bar(targets.len() as u64, "{bar:30} {pos} of {len} targets searched  {elapsed} gone, {eta} left");
    let searched = search.run(data, Some(model), extra, targets, &|done| bar.set_position(done as u64))?;
    bar.finish_and_clear();
    Ok(searched)
}

/// The predicates of the data that the model was told to learn; all that training sees if it was told none.
pub fn targets_of(model: &SoftModel, data: &Dataset) -> Vec<Predicate> {
    let names = data.names();
    let seen = [Split::Facts, Split::Train].into_iter().flat_map(|split| data.split(split));
    let mut targets: Vec<Predicate> = seen.map(|fact| fact.predicate).collect();
    targets.sort_unstable();
    targets.dedup();
    targets.retain(|target| model.ranks(names.predicates.name(target.0)));
    targets
}

//! Searching for rules, by flags.

use std::time::Duration;

use clap::{Args, ValueEnum};
use glidr::internals::graph::Predicate;
use glidr::internals::model::SoftModel;
use glidr::internals::search::{Evaluated, Searched};
use glidr::internals::solve::Limits;
use glidr::{Aggregation, Dataset, Rule, Search, Split};

use crate::output::Output;

/// How rules are searched with --scoring search or blend.
#[derive(Args)]
#[command(next_help_heading = "Search for rules")]
pub struct SearchFlags {
    /// Seconds for the proposals of one target; also for any one question to a rule
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    search_time: Option<u64>,
    /// Rules of a target that are no conjunctions, at most [default: 2400]
    #[arg(long, value_name = "COUNT")]
    max_rules: Option<usize>,
    /// Conjunctions of two of these, at most [default: 500]
    #[arg(long, value_name = "COUNT")]
    max_conjunctions: Option<usize>,
    /// Paths of one or two steps that are counted, at most; 0 leaves them out [default: 1250]
    #[arg(long, value_name = "COUNT")]
    max_paths: Option<usize>,
    /// Endpoint patterns of either end, at most; 0 leaves them out [default: 200]
    #[arg(long, value_name = "COUNT")]
    max_patterns: Option<usize>,
    /// Leave out similarity paths of three steps
    #[arg(long)]
    no_similarity_paths: bool,
    /// Leave out bodies that need several groundings at least
    #[arg(long)]
    no_min_groundings: bool,
    /// Rules counted around each soft rule, at most; 0 leaves the soft rules out [default: 60]
    #[arg(long, value_name = "COUNT")]
    local_search: Option<usize>,
    /// So many of a target's best rules are also counted with one literal more on a variable, which makes branches
    /// [default: 0]
    #[arg(long, value_name = "COUNT")]
    max_refined: Option<usize>,
    /// Evaluate rules on every query and candidate (exact), on a sample of them (sampled), or exactly on graphs of at
    /// most 5792 entities (auto)
    #[arg(long, value_enum, default_value = "auto")]
    evaluated: EvaluatedFlag,
    /// In a sample, facts of a target that ask, at most [default: 5000]
    #[arg(long, value_name = "COUNT")]
    max_facts: Option<usize>,
    /// How rules are aggregated [default: what does best on valid, for each target]
    #[arg(long, value_enum)]
    aggregation: Option<AggregationFlag>,
}

#[derive(Clone, Copy, ValueEnum)]
enum EvaluatedFlag {
    Auto,
    Exact,
    Sampled,
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
            max_rules: self.max_rules.unwrap_or(plain.max_rules),
            max_conjunctions: self.max_conjunctions.unwrap_or(plain.max_conjunctions),
            max_paths: self.max_paths.unwrap_or(plain.max_paths),
            max_patterns: self.max_patterns.unwrap_or(plain.max_patterns),
            similarity_paths: !self.no_similarity_paths,
            min_groundings: !self.no_min_groundings,
            local_search: self.local_search.unwrap_or(plain.local_search),
            max_refined: self.max_refined.unwrap_or(plain.max_refined),
            max_facts: self.max_facts.unwrap_or(plain.max_facts),
            evaluated: match self.evaluated {
                EvaluatedFlag::Auto => Evaluated::Auto,
                EvaluatedFlag::Exact => Evaluated::Exact,
                EvaluatedFlag::Sampled => Evaluated::Sampled,
            },
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
    targets.retain(|target| model.ranks(names.predicates.name(*target)));
    targets
}

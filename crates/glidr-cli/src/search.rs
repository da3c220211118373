//! Searching for rules, by flags.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use glidr::internals::search::Evaluated;
use glidr::{Aggregation, Search};

use crate::help::USUAL;
use crate::settings::ReflexiveFlag;

/// How rules are searched.
#[derive(Args)]
#[command(next_help_heading = "Expert settings of the search")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct SearchFlags {
    /// Rules kept of each predicate, and as many priors [default: 30 to 300, by its facts; 0: all]
    ///
    /// 30; of a predicate with more than 3000 facts one more for every 40 beyond, up to 300.
    #[arg(long, value_name = "COUNT", help_heading = USUAL)]
    max_rules: Option<usize>,
    /// Plain rules of a target that these are taken from, at most: paths, and what soft rules stand for; half as many
    /// may be of every other kind [default: 1200]
    #[arg(long, value_name = "COUNT")]
    max_pool: Option<usize>,
    /// Conjunctions of two of these, at most [default: 500]
    #[arg(long, value_name = "COUNT")]
    max_conjunctions: Option<usize>,
    /// Paths of one or two steps that are counted, at most, and as many longer ones; 0 leaves them out [default: 1250]
    #[arg(long, value_name = "COUNT")]
    max_paths: Option<usize>,
    /// Steps of a path, at most: 2 to 5; paths of three and more are walked where the graph is sparse enough [default: 5]
    #[arg(long, value_name = "COUNT")]
    max_steps: Option<usize>,
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
    /// most 5792 entities (auto) [default: auto]
    #[arg(long, value_enum)]
    evaluated: Option<EvaluatedFlag>,
    /// In a sample, facts of a target that ask, at most [default: 5000]
    #[arg(long, value_name = "COUNT")]
    max_facts: Option<usize>,
    /// How rules are aggregated [default: what does best on valid, for each target]
    #[arg(long, value_enum)]
    aggregation: Option<AggregationFlag>,
    /// File of rules (docs/rules.md) that the search counts too
    #[arg(long, value_name = "FILE")]
    pub propose: Option<PathBuf>,
    /// File of constraints (docs/constraints.md), which hold whatever the data says
    #[arg(long, value_name = "FILE", help_heading = USUAL)]
    pub constraints: Option<PathBuf>,
    /// Learn no constraints: whatever the data never has may be an answer
    #[arg(long)]
    no_constraints: bool,
    /// Learn nothing of pairs that are linked already
    #[arg(long)]
    no_linked: bool,
    /// Fit no weights below 0
    #[arg(long)]
    no_signed: bool,
    /// Let no predicates compete for a pair, also where a pair has one
    #[arg(long)]
    no_compete: bool,
    #[command(flatten)]
    reflexive: ReflexiveFlag,
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
    /// The search that they ask for, where `plain` stands for all that is not given.
    pub fn search(&self, plain: Search) -> Search {
        Search {
            max_rules: self.max_rules.or(plain.max_rules),
            max_pool: self.max_pool.unwrap_or(plain.max_pool),
            max_conjunctions: self.max_conjunctions.unwrap_or(plain.max_conjunctions),
            max_paths: self.max_paths.unwrap_or(plain.max_paths),
            max_steps: self.max_steps.unwrap_or(plain.max_steps),
            max_patterns: self.max_patterns.unwrap_or(plain.max_patterns),
            similarity_paths: plain.similarity_paths && !self.no_similarity_paths,
            min_groundings: plain.min_groundings && !self.no_min_groundings,
            local_search: self.local_search.unwrap_or(plain.local_search),
            max_refined: self.max_refined.unwrap_or(plain.max_refined),
            max_facts: self.max_facts.unwrap_or(plain.max_facts),
            evaluated: self.evaluated.map_or(plain.evaluated, |flag| match flag {
                EvaluatedFlag::Auto => Evaluated::Auto,
                EvaluatedFlag::Exact => Evaluated::Exact,
                EvaluatedFlag::Sampled => Evaluated::Sampled,
            }),
            aggregation: self.aggregation.map(|flag| Aggregation::ALL[flag as usize]).or(plain.aggregation),
            constraints: plain.constraints && !self.no_constraints,
            linked: plain.linked && !self.no_linked,
            signed: plain.signed && !self.no_signed,
            compete: plain.compete && !self.no_compete,
            allow_reflexive: plain.allow_reflexive || self.reflexive.allow_reflexive,
            ..plain
        }
    }
}

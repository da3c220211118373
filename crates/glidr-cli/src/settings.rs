//! Training settings from flags and from a TOML file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use glidr::internals::infer::Engine;
use glidr::internals::model::{Loss, Negative, Positives, RuleWeights};
use glidr::internals::rule::{Clause, parse_rules};
use glidr::{Background, Learner, Method, Training};

use crate::help::{EXPERT, USUAL};
use crate::search::SearchFlags;
use crate::time::parse_time;

/// Every setting of learning: a flag wins over the file, the file over the default.
#[derive(Args)]
#[command(next_help_heading = "Expert settings of learning")]
pub struct SettingFlags {
    /// TOML file of settings, such as rules = 32 (docs/settings.md)
    #[arg(long, value_name = "FILE", help_heading = USUAL)]
    settings: Option<PathBuf>,
    /// What is learned [default: auto]
    #[arg(long, value_enum, help_heading = USUAL)]
    method: Option<MethodFlag>,
    /// The most time for all of it, such as 90s, 10m or 2h [default: none]
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = USUAL)]
    time: Option<Duration>,
    /// The paper, exactly: soft rules alone, by its settings
    #[arg(long, conflicts_with_all = ["method", "settings"], help_heading = USUAL)]
    paper: bool,
    /// Schematic variables, N of the paper, from 2 to 9, X and Y among them [default: 3, with --paper 4]
    #[arg(long, value_name = "N")]
    variables: Option<usize>,
    /// Rounds of message passing, `R_max` of the paper, at most 1000 [default: 3]
    #[arg(long, value_name = "R")]
    rounds: Option<usize>,
    /// Rule definitions per target, at most 10000 [default: 16, with --paper 8]
    #[arg(long, value_name = "COUNT")]
    rules: Option<usize>,
    /// Training steps per rule [default: 256, with --paper 2048]
    #[arg(long, value_name = "COUNT")]
    steps: Option<usize>,
    /// Pairs per batch, half of them positives, or with the listwise loss the candidates of some queries; from 2 to
    /// 65536 [default: 128, with --paper 64]
    #[arg(long, value_name = "COUNT")]
    batch: Option<usize>,
    /// Learning rate of `AdamW` [default: 0.15]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    learning_rate: Option<f32>,
    /// Weight decay of `AdamW` [default: 0.1]
    #[arg(long, value_name = "DECAY", allow_negative_numbers = true)]
    weight_decay: Option<f32>,
    /// Standard deviation of the first logits θ [default: 1]
    #[arg(long, value_name = "SPREAD", allow_negative_numbers = true)]
    init_std: Option<f32>,
    /// Added, in every fourth rule, to the first logit of `P_true` in the slot between X and Y: such
    /// rules start out looking for a way through other entities [default: 0]
    #[arg(long, value_name = "LOGIT", allow_negative_numbers = true)]
    direct_slot_bias: Option<f32>,
    /// What training descends on: pairwise (every positive against every negative, the paper's loss), or listwise (the
    /// answer of a query against the query's negatives) [default: listwise, with --paper pairwise]
    #[arg(long, value_name = "LOSS")]
    loss: Option<LossFlag>,
    /// With the listwise loss, candidates of a query, its answer among them [default: 16]
    #[arg(long, value_name = "COUNT")]
    candidates: Option<usize>,
    /// Share of the pairwise loss that is taken of the sum of eight rules' scores, so that each learns what the
    /// others miss; the rest is each rule's own, as in the paper [default: 1, with --paper 0]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    joint_loss: Option<f32>,
    /// Where positives come from: train (the paper's way, with facts as background), or all (facts
    /// and train, with each batch's own facts taken out of the background for its step)
    /// [default: all, with --paper train]
    #[arg(long, value_name = "WHICH")]
    positives: Option<PositivesFlag>,
    /// How negatives are drawn: mix (all ways, equally often), or a list of: head (a positive with
    /// another head), tail (with another tail), other (a pair that holds another predicate), any
    /// (any pair) [default: mix]; the listwise loss has its own
    #[arg(long, value_name = "WAYS")]
    negatives: Option<String>,
    /// Weights of soft rules: loss (each by its own validation loss, the paper's way; with the listwise loss all equal), or learned (those of a target
    /// together, so that the answers of valid stand before others) [default: loss]
    #[arg(long, value_name = "HOW")]
    rule_weights: Option<RuleWeightsFlag>,
    /// Which engine passes messages: auto (by the graph), dense or sparse; all learn the same but
    /// for the order of summation [default: auto]
    #[arg(long, value_name = "ENGINE")]
    engine: Option<EngineFlag>,
    /// Seed of random choices, and of dividing undivided data [default: 0]
    #[arg(long, value_name = "SEED", help_heading = USUAL)]
    seed: Option<u64>,
    #[command(flatten)]
    targets: TargetFlags,
    /// File of known rules (docs/rules.md): the first soft rules of their targets start from them
    #[arg(long, value_name = "FILE")]
    start: Option<PathBuf>,
    #[command(flatten)]
    pub search: SearchFlags,
}

/// Some predicates.
#[derive(Args)]
pub struct TargetFlags {
    /// Only these predicates, parted by commas
    ///
    /// A comma inside a name is written \,. The flag may be given several times.
    #[arg(long, alias = "targets", value_name = "NAMES", help_heading = USUAL)]
    target: Vec<String>,
}

impl TargetFlags {
    /// The names; none where all are meant.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for given in &self.target {
            let (mut name, mut signs) = (String::new(), given.chars().peekable());
            while let Some(sign) = signs.next() {
                match sign {
                    '\\' if signs.peek() == Some(&',') => name.extend(signs.next()),
                    ',' => names.push(std::mem::take(&mut name)),
                    sign => name.push(sign),
                }
            }
            names.push(name);
        }
        names
    }
}

/// [`Method`] as a flag.
#[derive(Clone, Copy, ValueEnum)]
enum MethodFlag {
    /// Full, or search alone where soft rules would take long
    Auto,
    /// Soft rules, searched rules, and how both are blended
    Full,
    /// Soft rules alone: the paper's method
    Soft,
    /// Searched rules alone
    Search,
}

impl From<MethodFlag> for Method {
    fn from(flag: MethodFlag) -> Self {
        match flag {
            MethodFlag::Auto => Method::Auto,
            MethodFlag::Full => Method::Full,
            MethodFlag::Soft => Method::Soft,
            MethodFlag::Search => Method::Search,
        }
    }
}

impl SettingFlags {
    /// The settings in force, where `start` stands for all that is not given.
    pub fn learner(&self, start: Learner) -> anyhow::Result<Learner> {
        let start = match &self.settings {
            None => start,
            Some(path) => read_settings(path).with_context(|| path.display().to_string())?,
        };
        let start = if self.paper { Learner::paper() } else { start };
        Ok(Learner {
            method: self.method.map_or(start.method, Into::into),
            training: self.training(start.training)?,
            search: self.search.search(start.search),
            time: self.time.or(start.time),
        })
    }

    fn training(&self, mut training: Training) -> anyhow::Result<Training> {
        set(&mut training.variables, self.variables);
        set(&mut training.rounds, self.rounds);
        set(&mut training.rules, self.rules);
        set(&mut training.steps, self.steps);
        set(&mut training.batch, self.batch);
        set(&mut training.learning_rate, self.learning_rate);
        set(&mut training.weight_decay, self.weight_decay);
        set(&mut training.init_std, self.init_std);
        set(&mut training.direct_slot_bias, self.direct_slot_bias);
        set(&mut training.loss, self.loss.map(Into::into));
        set(&mut training.candidates, self.candidates);
        set(&mut training.joint_loss, self.joint_loss);
        set(&mut training.positives, self.positives.map(Into::into));
        set(&mut training.rule_weights, self.rule_weights.map(Into::into));
        set(&mut training.engine, self.engine.map(Into::into));
        set(&mut training.seed, self.seed);
        if let Some(ways) = &self.negatives {
            training.negatives = Negative::parse_list(ways)?;
        }
        let targets = self.targets.names();
        if !targets.is_empty() {
            training.targets = targets;
        }
        if let Some(path) = &self.start {
            let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
            training.start = parse_rules(path, &text)?
                .iter()
                .filter_map(|clause| match clause {
                    Clause::Rule(rule) => Some(rule.to_string()),
                    Clause::Aggregation(..) | Clause::Constraint(..) => None,
                })
                .collect();
        }
        training.check()?;
        Ok(training)
    }
}

/// Settings of a file: those of training stand at the top, those of the search under `[search]`.
fn read_settings(path: &Path) -> anyhow::Result<Learner> {
    let text = std::fs::read_to_string(path)?;
    let mut table: toml::Table = toml::from_str(&text)?;
    // Parsed from the text where it can be, so that an error shows the line.
    if !table.contains_key("method") && !table.contains_key("search") {
        toml::from_str::<Training>(&text)?;
    }
    let method = table.remove("method").map(toml::Value::try_into).transpose()?.unwrap_or_default();
    let search = table.remove("search").map(toml::Value::try_into).transpose()?.unwrap_or_default();
    // What the file leaves open is as it is without a file.
    let mut training = toml::Table::try_from(Training::for_blend())?;
    training.extend(table);
    Ok(Learner { method, training: training.try_into()?, search, time: None })
}

fn set<T: Copy>(setting: &mut T, flag: Option<T>) {
    if let Some(value) = flag {
        *setting = value;
    }
}

/// Whether an entity may be its own answer.
#[derive(Args)]
pub struct ReflexiveFlag {
    /// Let an entity be its own answer also where no training fact of the predicate is about an entity
    /// and itself
    #[arg(long, help_heading = EXPERT)]
    pub allow_reflexive: bool,
}

/// [`Loss`] as a flag.
#[derive(Clone, Copy, ValueEnum)]
enum LossFlag {
    Pairwise,
    Listwise,
}

impl From<LossFlag> for Loss {
    fn from(flag: LossFlag) -> Self {
        match flag {
            LossFlag::Pairwise => Loss::Pairwise,
            LossFlag::Listwise => Loss::Listwise,
        }
    }
}

/// [`RuleWeights`] as a flag.
#[derive(Clone, Copy, ValueEnum)]
enum RuleWeightsFlag {
    Loss,
    Learned,
}

impl From<RuleWeightsFlag> for RuleWeights {
    fn from(flag: RuleWeightsFlag) -> Self {
        match flag {
            RuleWeightsFlag::Loss => RuleWeights::Loss,
            RuleWeightsFlag::Learned => RuleWeights::Learned,
        }
    }
}

/// [`Positives`] as a flag.
#[derive(Clone, Copy, ValueEnum)]
enum PositivesFlag {
    Train,
    All,
}

impl From<PositivesFlag> for Positives {
    fn from(flag: PositivesFlag) -> Self {
        match flag {
            PositivesFlag::Train => Positives::Train,
            PositivesFlag::All => Positives::All,
        }
    }
}

/// [`Engine`] as a flag.
#[derive(Clone, Copy, ValueEnum)]
pub enum EngineFlag {
    Auto,
    Dense,
    Sparse,
}

impl From<EngineFlag> for Engine {
    fn from(flag: EngineFlag) -> Self {
        match flag {
            EngineFlag::Auto => Engine::Auto,
            EngineFlag::Dense => Engine::Dense,
            EngineFlag::Sparse => Engine::Sparse,
        }
    }
}

/// The facts that rules look up: [`Background`] as a flag.
#[derive(Clone, Copy, ValueEnum)]
pub enum Looked {
    /// facts and train, as when ranking
    Train,
    /// all splits
    All,
}

impl From<Looked> for Background {
    fn from(looked: Looked) -> Self {
        match looked {
            Looked::Train => Background::Train,
            Looked::All => Background::All,
        }
    }
}

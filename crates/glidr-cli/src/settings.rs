//! Training settings from flags and from a TOML file.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use glidr::learn::Negative;
use glidr::{Extraction, Training};

/// Every setting of learning: a flag wins over the file, the file over the default.
#[derive(Args, Default, PartialEq)]
#[command(next_help_heading = "Settings of learning")]
pub struct SettingFlags {
    /// TOML file of settings, under the names of these flags
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Schematic variables, N of the paper, from 2 to 9 [default: 4]
    #[arg(long, value_name = "N")]
    variables: Option<usize>,
    /// Rounds of message passing, `R_max` of the paper [default: 3]
    #[arg(long, value_name = "R")]
    rounds: Option<usize>,
    /// Rule definitions per target [default: 8]
    #[arg(long, value_name = "COUNT")]
    rules: Option<usize>,
    /// Training steps per rule [default: 2048]
    #[arg(long, value_name = "COUNT")]
    steps: Option<usize>,
    /// Pairs per batch, half of them positives [default: 64]
    #[arg(long, value_name = "COUNT")]
    batch: Option<usize>,
    /// Learning rate of `AdamW` [default: 0.15]
    #[arg(long, value_name = "RATE")]
    rate: Option<f32>,
    /// Weight decay of `AdamW` [default: 0.1]
    #[arg(long, value_name = "DECAY")]
    decay: Option<f32>,
    /// Standard deviation of the first logits θ [default: 1]
    #[arg(long, value_name = "SPREAD")]
    spread: Option<f32>,
    /// Added, in every fourth rule, to the first logit of `P_true` in the slot between X and Y: such
    /// rules start out looking for a way through other entities [default: 0]
    #[arg(long, value_name = "LOGIT")]
    indirect: Option<f32>,
    /// How negatives are drawn: mix (all ways, equally often), or a list of: head (a positive with
    /// another head), tail (with another tail), other (a pair that holds another predicate), any
    /// (any pair) [default: mix]
    #[arg(long, value_name = "WAYS")]
    negatives: Option<String>,
    /// Seed of every random choice, and of dividing data that is not divided [default: 0]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Predicates to learn, parted by commas; a comma inside a name: give the flag once per name
    /// with --target [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    targets: Vec<String>,
    /// A predicate to learn; may be given several times
    #[arg(long = "target", value_name = "NAME")]
    target: Vec<String>,
}

impl SettingFlags {
    /// The settings in force.
    pub fn training(&self) -> anyhow::Result<Training> {
        let mut training = match &self.settings {
            None => Training::default(),
            Some(path) => {
                let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
                toml::from_str(&text).with_context(|| path.display().to_string())?
            }
        };
        set(&mut training.variables, self.variables);
        set(&mut training.rounds, self.rounds);
        set(&mut training.rules, self.rules);
        set(&mut training.steps, self.steps);
        set(&mut training.batch, self.batch);
        set(&mut training.rate, self.rate);
        set(&mut training.decay, self.decay);
        set(&mut training.spread, self.spread);
        set(&mut training.indirect, self.indirect);
        set(&mut training.seed, self.seed);
        if let Some(ways) = &self.negatives {
            training.negatives = Negative::parse_list(ways)?;
        }
        let targets = [&self.targets[..], &self.target[..]].concat();
        if !targets.is_empty() {
            training.targets = targets;
        }
        training.check()?;
        Ok(training)
    }

    /// Whether any setting was given by flag or file.
    pub fn any(&self) -> bool {
        *self != SettingFlags::default()
    }
}

fn set<T: Copy>(setting: &mut T, flag: Option<T>) {
    if let Some(value) = flag {
        *setting = value;
    }
}

/// How hard rules are taken from weights.
#[derive(Clone, Copy, ValueEnum)]
pub enum Hard {
    /// The filler of most weight in every slot
    Argmax,
    /// All fillers within the top p of a slot's mass, read as or
    TopP,
}

impl Hard {
    /// The extraction with its share `p`.
    pub fn extraction(self, p: f32) -> anyhow::Result<Extraction> {
        match self {
            Hard::Argmax => Ok(Extraction::Argmax),
            Hard::TopP => Ok(Extraction::top_p(p)?),
        }
    }
}

//! How candidates are scored, by flags.

use std::path::Path;
use std::time::Duration;

use anyhow::{bail, ensure};
use clap::{Args, ValueEnum};
use glidr::internals::model::Extraction;
use glidr::internals::solve::Limits;
use glidr::{Dataset, Model, Reasoner, Reasoning, Scoring};

use crate::help::EXPERT;
use crate::output::{Output, counted};

/// How candidates are scored.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum ScoringFlag {
    /// Soft rules, by message passing
    Soft,
    /// Hard rules taken from the soft ones: all fillers within the top p of a slot's mass, read as or
    TopP,
    /// Hard rules taken from the soft ones: the filler of most weight in every slot
    Argmax,
    /// The searched rules, evaluated exactly
    Rules,
    /// Soft and searched rules: a weighted sum of both scores, each divided by the highest of its query, with the
    /// mixing weight for each target that does best on valid
    Blend,
}

/// How candidates are scored, by flags.
#[derive(Args)]
pub struct ScoringFlags {
    /// How candidates are scored [default: the best that the model holds: blend, rules or soft]
    #[arg(long, value_enum, help_heading = EXPERT)]
    scoring: Option<ScoringFlag>,
    /// The part p of a slot's mass for --scoring top-p [default: 0.25]
    #[arg(long, value_name = "P", allow_negative_numbers = true, help_heading = EXPERT)]
    top_p: Option<f32>,
}

impl ScoringFlags {
    /// Whether anything is said about it.
    pub fn is_given(&self) -> bool {
        self.scoring.is_some() || self.top_p.is_some()
    }

    /// The scoring asked for; p alone asks for top-p, nothing for what the model holds.
    pub fn scoring(&self) -> anyhow::Result<Option<Scoring>> {
        let top_p = || Extraction::top_p(self.top_p.unwrap_or(0.25)).map(Scoring::Extracted);
        let fits = matches!(self.scoring, None | Some(ScoringFlag::TopP));
        ensure!(self.top_p.is_none() || fits, "--top-p goes with --scoring top-p alone");
        Ok(match self.scoring {
            Some(ScoringFlag::Soft) => Some(Scoring::Soft),
            Some(ScoringFlag::TopP) => Some(top_p()?),
            Some(ScoringFlag::Argmax) => Some(Scoring::Extracted(Extraction::Argmax)),
            Some(ScoringFlag::Rules) => Some(Scoring::Rules),
            Some(ScoringFlag::Blend) => Some(Scoring::Blend),
            None => self.top_p.map(|_| top_p()).transpose()?,
        })
    }

    /// For a command that lists hard rules: how they are taken from soft ones, or none for the searched rules.
    pub fn listed(&self, model: &Model) -> anyhow::Result<Option<Extraction>> {
        Ok(match self.scoring()? {
            None if model.rules.is_none() => Some(Extraction::TopP(0.25)),
            None | Some(Scoring::Rules) => None,
            Some(Scoring::Extracted(extraction)) => Some(extraction),
            Some(Scoring::Soft) => bail!("soft rules are not listed: take --scoring top-p or argmax"),
            Some(Scoring::Blend) => bail!("--scoring blend goes with eval, predict and explain"),
        })
    }
}

/// Limits on hard rules, by flags.
#[derive(Args)]
pub struct LimitFlags {
    /// Seconds for any one question to a rule [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..), help_heading = EXPERT)]
    time: Option<u64>,
}

impl LimitFlags {
    pub fn limits(&self) -> Limits {
        Limits { time: self.time.map(Duration::from_secs), answers: None }
    }
}

/// The model on some data; says what the data lacks. An error names the file.
pub fn reasoner<'a>(
    (model, path): (&'a Model, &Path),
    data: &'a Dataset,
    reasoning: Reasoning,
    output: &Output,
) -> anyhow::Result<Reasoner<'a>> {
    let place = || path.display().to_string();
    let reasoner = model.on_with(data, reasoning).map_err(|error| match error {
        error @ glidr::Error::Mismatch(_) => anyhow::Error::from(error).context(place()),
        error => error.into(),
    })?;
    if !reasoner.lacking().is_empty() {
        let names = reasoner.lacking().join(", ");
        output.say(&format!("{} lacks names of the model, which hold nowhere there: {names}", data.source));
    }
    if reasoner.rules_left_out > 0 {
        let count = counted(reasoner.rules_left_out, "rule");
        output.say(&format!("{} lacks names that {count} use, which are left out", data.source));
    }
    Ok(reasoner)
}

//! `glidr learn`: trains, searches, blends, and writes the model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use glidr::internals::constraint::Constraint;
use glidr::internals::learn::{Learned, Start};
use glidr::internals::model::SoftModel;
use glidr::internals::train::Checkpoints;
use glidr::{Dataset, Learner, Method, Model, RuleSet};
use serde_json::json;

use crate::STOPPED;
use crate::bars::Bars;
use crate::eval::{self, evaluated_json};
use crate::help::EXPERT;
use crate::keeper::Keeper;
use crate::output::Output;
use crate::screen::Screen;
use crate::settings::SettingFlags;
use crate::signals::Signals;
use crate::sources::open_data;

/// Learn rules from a graph and keep them as a model.
///
/// Soft rules are trained, rules are searched, and how both are blended is chosen on valid: every other command starts
/// from the model. Without -o nothing is kept, but the ranking on test and the best rule of each predicate are shown.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    glidr learn                                          the built-in families, nothing kept\n  \
    glidr learn my-graph/ -o my.glidr                    all predicates of your own graph\n  \
    glidr learn my-graph/ -o my.glidr --target uncle     rules of one predicate alone\n  \
    glidr learn my-graph/ -o my.glidr --resume           go on after Ctrl-C or a crash")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command")]
pub struct Learn {
    /// Folder or file of triples [default: the built-in families]
    data: Option<PathBuf>,
    /// Where the model goes
    #[arg(short, long, value_name = "MODEL")]
    output: Option<PathBuf>,
    /// Go on from MODEL.checkpoint, to the very same model as an unbroken run
    #[arg(long, requires = "output")]
    resume: bool,
    /// Throw away an unfinished run's MODEL.checkpoint and start anew
    #[arg(long, requires = "output", conflicts_with = "resume")]
    restart: bool,
    /// Seconds between checkpoints
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..), help_heading = EXPERT)]
    checkpoint_every: u64,
    /// Rank the test split afterwards, also with -o
    #[arg(long, help_heading = EXPERT)]
    rank: bool,
    /// Do not rank the test split, even without -o
    #[arg(long, conflicts_with = "rank", help_heading = EXPERT)]
    no_rank: bool,
    /// Take the soft rules of this model instead of training them
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["resume", "restart"], help_heading = EXPERT)]
    soft: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingFlags,
}

impl Learn {
    /// Learns and reports.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        let keeper = self.output.as_deref().map(Keeper::new).transpose()?;
        let learner = self.learner(keeper.as_ref())?;
        let data = open_data(self.data.as_deref(), learner.training.seed, output)?;
        let has_soft = self.soft.is_some() || self.resume;
        if learner.method == Method::Auto && learner.method_on(&data, has_soft) == Method::Search {
            let minutes = (learner.soft_seconds(&data) / 60.0).max(0.1);
            output.say(&format!(
                "no soft rules: they would take about {minutes:.1} min of processor time and seldom add much on \
                 such a graph; --method full trains them all the same"
            ));
        }
        let started = Instant::now();
        let signals = Signals::listen()?;
        signals.training.store(true, Ordering::Relaxed);
        let bars = Bars::stopped_by(output, Arc::clone(&signals.stop)).naming(&data.names().predicates);
        let learned = self.learn(&learner, &data, keeper.as_ref(), &bars);
        bars.finish();
        let learned = learned?;
        let is_stopped = signals.stop.load(Ordering::Relaxed);
        match (&keeper, &learned) {
            (Some(keeper), Some(learned)) if is_stopped => learned.model.save(&keeper.model)?,
            (Some(keeper), Some(learned)) => keeper.finish(&learned.model)?,
            _ => {}
        }
        if keeper.is_some() && learned.is_some() {
            signals.written.store(true, Ordering::Relaxed);
        }
        if is_stopped {
            return Ok(self.stopped(keeper.as_ref(), learned.as_ref(), output));
        }
        drop(keeper);
        signals.training.store(false, Ordering::Relaxed);
        let learned = learned.context("--time was over before anything was learned: give it more")?;
        tell(&learned, output);
        self.report(&learned, &data, started.elapsed(), output)
    }

    /// The settings: from flags and file, or from the checkpoint when nothing else is said.
    fn learner(&self, keeper: Option<&Keeper>) -> anyhow::Result<Learner> {
        let Some(keeper) = keeper else { return self.settings.learner(Learner::default()) };
        let checkpoint = &keeper.checkpoint;
        match (self.resume, checkpoint.exists()) {
            (true, true) => self.settings.learner(Learner::of_checkpoint(checkpoint)?),
            (true, false) => bail!("there is nothing to resume: {} does not exist", checkpoint.display()),
            (false, true) if !self.restart => bail!(
                "{} holds an unfinished run: add --resume to go on with it, or --restart to throw it away",
                checkpoint.display()
            ),
            (false, there) => {
                let learner = self.settings.learner(Learner::default())?;
                if there {
                    std::fs::remove_file(checkpoint).with_context(|| checkpoint.display().to_string())?;
                }
                Ok(learner)
            }
        }
    }

    /// Trains, searches and blends; none where it was stopped before there was anything.
    fn learn(
        &self,
        learner: &Learner,
        data: &Dataset,
        keeper: Option<&Keeper>,
        bars: &Bars,
    ) -> anyhow::Result<Option<Learned>> {
        let proposed: Vec<_> = match &self.settings.search.propose {
            Some(path) => RuleSet::read(path, data.names())?.bare().cloned().collect(),
            None => Vec::new(),
        };
        let constraints = match &self.settings.search.constraints {
            Some(path) => Constraint::read(path, data.names())?,
            None => Vec::new(),
        };
        let every = Duration::from_secs(self.checkpoint_every);
        let start = Start {
            soft: self.soft.as_ref().map(|path| open_soft(path, data)).transpose()?,
            proposed: &proposed,
            constraints: &constraints,
            checkpoints: keeper.map(|keeper| Checkpoints { path: &keeper.checkpoint, every }),
            resumes: self.resume,
        };
        Ok(learner.fit_watched(data, start, bars)?)
    }

    /// Says what a stopped run leaves, and how to go on.
    fn stopped(&self, keeper: Option<&Keeper>, learned: Option<&Learned>, output: &Output) -> ExitCode {
        let Some(keeper) = keeper else {
            output.say("stopped; nothing was kept: give -o MODEL to keep what is learned");
            return ExitCode::from(STOPPED);
        };
        let model = typed(self.output.as_deref().unwrap_or(&keeper.model));
        match learned {
            None => output.say("stopped; there was nothing to keep yet"),
            Some(learned) => {
                let searched = if learned.left_out.is_empty() {
                    String::new()
                } else {
                    format!("; not searched yet: {}", names(&learned.left_out))
                };
                output.say(&format!("stopped; {model} holds what was learned until then{searched}"));
            }
        }
        if keeper.checkpoint.exists() {
            let data = self.data.as_ref().map_or(String::new(), |data| format!(" {}", typed(data)));
            output.say(&format!("To go on: glidr learn{data} -o {model} --resume"));
        }
        ExitCode::from(STOPPED)
    }

    fn report(
        &self,
        Learned { model, reports, left_out, is_cut, .. }: &Learned,
        data: &Dataset,
        time: Duration,
        output: &Output,
    ) -> anyhow::Result<ExitCode> {
        let mut ranked = None;
        if self.rank || (self.output.is_none() && !self.no_rank) {
            match eval::rank(model, data, output) {
                Ok(found) => ranked = Some(found),
                // Small or one-sided data may have no test facts: learning is done all the same.
                Err(error) => output.say(&format!("not ranked: {error:#}")),
            }
        }
        let (soft, ensembles) =
            model.soft.as_ref().map_or((0, &[][..]), |soft| (soft.count(), &soft.ensembles[..]));
        let searched = model.rules.as_ref().map_or(0, |kept| kept.rules.len());
        if output.json {
            let mut best = Vec::new();
            for target in model.learned_targets() {
                best.extend(model.rules(target)?.next().map(|rule| (target, rule)));
            }
            return output.write_json(&json!({
                "model": self.output.as_ref().map(|path| path.display().to_string()),
                "data": { "source": data.source, "hash": data.hash() },
                "training": model.soft.as_ref().map(|soft| &soft.training),
                "search": model.search,
                "seconds": time.as_secs_f64(),
                "targets": ensembles.iter().map(|ensemble| json!({
                    "target": model.soft.as_ref().map(|soft| soft.predicates.name(ensemble.target)),
                    "weights": ensemble.rules.iter().map(|rule| rule.weight).collect::<Vec<f32>>(),
                    "losses": ensemble.rules.iter().map(|rule| rule.loss).collect::<Vec<f32>>(),
                })).collect::<Vec<_>>(),
                "searched": reports,
                "left_out": left_out,
                "cut_short": is_cut,
                "mixing_weights": model.mixing_weights,
                "best_rules": best.iter().map(|(target, rule)| json!({
                    "target": target, "rule": rule.text, "weight": rule.weight.max(),
                    "confidence": rule.measures.map(|measures| measures.confidence()),
                    "support": rule.measures.map(|measures| measures.support),
                })).collect::<Vec<_>>(),
                "ranking": ranked.as_ref().map(evaluated_json),
            }));
        }
        let shown =
            Screen { model, data, path: self.output.as_deref(), typed_data: self.data.as_deref(), time };
        output.write(&shown.text(ranked.as_ref(), searched, soft)?)
    }
}

/// Names that a message lists, at most.
const NAMES: usize = 8;

/// Some names for a message, and how many more there are.
fn names(names: &[String]) -> String {
    match names.len().saturating_sub(NAMES) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..NAMES].join(", ")),
    }
}

/// Says what a person should know of how a model was found.
fn tell(learned: &Learned, output: &Output) {
    if !learned.without_positives.is_empty() {
        let names = names(&learned.without_positives);
        output.say(&format!("no positives in train, so no soft rules, for: {names}"));
    }
    if !learned.left_out.is_empty() {
        output.say(&format!("no time was left for: {}", names(&learned.left_out)));
    } else if learned.is_cut {
        output.say("the time was over before all was tried: with more there may be better rules");
    }
}

/// The soft rules of a model that was learned before.
fn open_soft(path: &Path, data: &Dataset) -> anyhow::Result<SoftModel> {
    let model = Model::open(path)?;
    anyhow::ensure!(
        model.provenance.hash == data.hash(),
        "{} was learned on other data: {}",
        path.display(),
        model.provenance.source
    );
    model.soft.with_context(|| format!("{} holds no soft rules", path.display()))
}

/// A path as it can be typed into a shell.
pub fn typed(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+:,@".contains(letter);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

//! `glidr learn`: trains, keeps checkpoints, writes the model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use glidr::internals::model::{Extraction, SoftModel};
use glidr::internals::train::{Ended, Run};
use glidr::{Dataset, Training};
use serde_json::json;

use crate::STOPPED;
use crate::eval::{self, evaluated_json, evaluated_text};
use crate::keeper::Keeper;
use crate::output::{Output, counted, table};
use crate::settings::SettingFlags;
use crate::signals::Signals;
use crate::sources::open_data;

/// Learn rules for the predicates of a graph, and keep them as a model.
///
/// Positives come from train, with facts as background; rule weights come from valid. Without -o nothing
/// is kept, but the ranking on test and the best rule of each predicate are shown.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    glidr learn                                     the built-in families, nothing kept\n  \
    glidr learn kinships/ -o kin.glidr --rules 32   more rules than the paper's 8\n  \
    glidr learn kinships/ -o kin.glidr --resume     go on after Ctrl-C or a crash\n\n\
    Settings in a file (--settings): one line each, such as  rules = 32  or  targets = [\"uncle\"]")]
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
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    checkpoint_every: u64,
    /// Rank the test split afterwards, also with -o
    #[arg(long)]
    rank: bool,
    /// Do not rank the test split, even without -o
    #[arg(long, conflicts_with = "rank")]
    no_rank: bool,
    #[command(flatten)]
    settings: SettingFlags,
}

impl Learn {
    /// Trains and reports.
    pub fn run(&self, output: &Output, threads: usize) -> anyhow::Result<ExitCode> {
        let keeper = self.output.as_deref().map(Keeper::new).transpose()?;
        let training = self.training(keeper.as_ref())?;
        let data = open_data(self.data.as_deref(), training.seed, output)?;
        let run = Run::new(training, &data)?;
        if self.resume
            && let Some(keeper) = &keeper
        {
            run.load_checkpoint(&keeper.checkpoint)?;
        }
        let without = run.without_positives().join(", ");
        if !without.is_empty() {
            output.say(&format!("no positives in train, so no rules, for: {without}"));
        }
        let engine = run.engine().name();
        let started = Instant::now();
        let signals = Signals::listen()?;
        signals.training.store(true, Ordering::Relaxed);
        let model = match self.train(&run, keeper.as_ref(), output, threads, &signals.stop)? {
            Ended::Stopped => return Ok(self.stopped(&run, keeper.as_ref(), output)?),
            Ended::Diverged(target) => return Err(run.diverged(target).into()),
            Ended::Finished => {
                let bar = output.bar(0, "{bar:30} rule weights of {pos} of {len} targets  {elapsed} gone");
                let watch = |done: usize, all: usize| {
                    bar.set_length(all as u64);
                    bar.set_position(bar.position().max(done as u64));
                };
                let model = match &keeper {
                    Some(keeper) => keeper.finish(run, &watch)?,
                    None => run.into_model(&watch),
                };
                bar.finish_and_clear();
                model
            }
        };
        drop(keeper);
        signals.training.store(false, Ordering::Relaxed);
        self.report(&model, &data, engine, started.elapsed(), output)
    }

    /// The settings: from flags and file, or from the checkpoint when nothing else is said.
    fn training(&self, keeper: Option<&Keeper>) -> anyhow::Result<Training> {
        let Some(keeper) = keeper else { return self.settings.training() };
        let checkpoint = &keeper.checkpoint;
        match (self.resume, checkpoint.exists()) {
            (true, true) => self.settings.training_from(Run::checkpoint_training(checkpoint)?),
            (true, false) => bail!("there is nothing to resume: {} does not exist", checkpoint.display()),
            (false, true) if !self.restart => bail!(
                "{} holds an unfinished run: add --resume to go on with it, or --restart to throw it away",
                checkpoint.display()
            ),
            (false, there) => {
                let training = self.settings.training()?;
                if there {
                    std::fs::remove_file(checkpoint).with_context(|| checkpoint.display().to_string())?;
                }
                Ok(training)
            }
        }
    }

    fn train(
        &self,
        run: &Run,
        keeper: Option<&Keeper>,
        output: &Output,
        threads: usize,
        stop: &AtomicBool,
    ) -> anyhow::Result<Ended> {
        let bar = output.bar(run.progress().all_steps as u64, "{bar:30} {msg}  {elapsed} gone, {eta} left");
        let every = Duration::from_secs(self.checkpoint_every);
        let (mut last, mut failed) = (Instant::now(), None);
        let ended = run.train(threads, stop, |run| {
            let progress = run.progress();
            bar.set_position(progress.steps as u64);
            bar.set_message(format!(
                "{} of {}, loss {:.1}",
                progress.targets,
                counted(progress.all_targets, "target"),
                progress.loss
            ));
            if let Some(keeper) = keeper
                && last.elapsed() >= every
                && failed.is_none()
            {
                failed = run.save_checkpoint(&keeper.checkpoint).err();
                stop.store(failed.is_some() || stop.load(Ordering::Relaxed), Ordering::Relaxed);
                last = Instant::now();
            }
        });
        bar.finish_and_clear();
        match failed {
            Some(error) => Err(error).context("cannot keep a checkpoint"),
            None => Ok(ended),
        }
    }

    fn stopped(&self, run: &Run, keeper: Option<&Keeper>, output: &Output) -> glidr::Result<ExitCode> {
        match keeper {
            None => output.say("stopped; nothing was kept: give -o MODEL to keep checkpoints"),
            Some(keeper) => {
                run.save_checkpoint(&keeper.checkpoint)?;
                let data = self.data.as_ref().map_or(String::new(), |data| format!(" {}", typed(data)));
                output.say(&format!(
                    "stopped; {} keeps what was done. To go on: glidr learn{data} -o {} --resume",
                    keeper.checkpoint.display(),
                    typed(self.output.as_deref().unwrap_or(&keeper.model))
                ));
            }
        }
        Ok(ExitCode::from(STOPPED))
    }

    fn report(
        &self,
        model: &SoftModel,
        data: &Dataset,
        engine: &str,
        time: Duration,
        output: &Output,
    ) -> anyhow::Result<ExitCode> {
        let mut ranked = None;
        if self.rank || (self.output.is_none() && !self.no_rank) {
            match eval::rank_soft(model, data, output) {
                Ok(found) => ranked = Some(found),
                // Small or one-sided data may have no test facts: learning is done all the same.
                Err(error) => output.say(&format!("not ranked: {error:#}")),
            }
        }
        let best = model.ensembles.iter().filter_map(|ensemble| {
            let (rule, weight) =
                ensemble.extract(&model.schema, Extraction::TopP(0.25)).into_iter().next()?;
            Some((model.predicates.name(ensemble.target), rule.show(model.names()), weight))
        });
        let best: Vec<(&str, String, f32)> = best.collect();
        if output.json {
            return output.write_json(&json!({
                "model": self.output.as_ref().map(|path| path.display().to_string()),
                "data": { "source": data.source, "hash": data.hash() },
                "training": model.training,
                "engine": engine,
                "seconds": time.as_secs_f64(),
                "targets": model.ensembles.iter().map(|ensemble| json!({
                    "target": model.predicates.name(ensemble.target),
                    "weights": ensemble.rules.iter().map(|rule| rule.weight).collect::<Vec<f32>>(),
                    "losses": ensemble.rules.iter().map(|rule| rule.loss).collect::<Vec<f32>>(),
                })).collect::<Vec<_>>(),
                "best_rules": best.iter().map(|(target, rule, weight)| json!({
                    "target": target, "rule": rule, "weight": weight,
                })).collect::<Vec<_>>(),
                "ranking": ranked.as_ref().map(evaluated_json),
            }));
        }
        let rules: usize = model.ensembles.iter().map(|ensemble| ensemble.rules.len()).sum();
        let mut text = format!(
            "learned {} for {} in {:.1} s by the {engine} engine\n",
            counted(rules, "rule"),
            counted(model.ensembles.len(), "target"),
            time.as_secs_f64()
        );
        if let Some(ranked) = &ranked {
            text += &format!("\n{}", evaluated_text(ranked));
        }
        text += "\nthe best rule of each predicate (top-p 0.25; weights of equal rules summed):\n";
        text += &table(
            &["weight", "rule"],
            2,
            best.iter().map(|(_, rule, weight)| vec![format!("{weight:.2}"), rule.clone()]),
        );
        if let Some(path) = &self.output {
            text += &format!("\nmodel: {}\n", path.display());
        }
        output.write(&text)
    }
}

/// A path as it can be typed into a shell.
fn typed(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+:,@".contains(letter);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

//! `digits`: trains or resumes a run, evaluates it, draws what it found.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use glidr_experiments::digits::{Confusion, Digits as Images, DigitsEnd, DigitsRun, Settings, pictures};
use serde_json::json;

use crate::output::Output;
use crate::{STOPPED, signals};

/// Train an encoder of 4 × 4 pixel patches and one rule per digit end to end, and evaluate them.
///
/// The last images of the training files are held out for validation; settings are to be chosen on
/// those. --test evaluates on the 10,000 test images as well.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    glidr-experiments digits mnist/ -o small.run                                      the paper's 8 + 8 predicates\n  \
    glidr-experiments digits mnist/ -o small.run --resume                             continue after Ctrl-C\n  \
    glidr-experiments digits mnist/ -o large.run --predicates 32 --properties 32      the paper's 32 + 32\n  \
    glidr-experiments digits mnist/ --evaluate small.run --test --pictures pictures/  evaluate and draw")]
pub struct Digits {
    /// Folder with the IDX files of MNIST, plain or .gz
    data: PathBuf,
    /// Where the run goes: checkpoints while it trains, the finished run at the end
    #[arg(short, long, value_name = "RUN")]
    output: Option<PathBuf>,
    /// Continue the run at -o, to the very same end as an unbroken one
    #[arg(long, requires = "output", conflicts_with = "evaluate")]
    resume: bool,
    /// Evaluate a finished run; nothing is trained
    #[arg(long, value_name = "RUN", conflicts_with = "output")]
    evaluate: Option<PathBuf>,
    /// Evaluate on the 10,000 test images as well
    #[arg(long)]
    test: bool,
    /// Draw links, rules and the confusion matrix as SVG into this folder
    #[arg(long, value_name = "FOLDER")]
    pictures: Option<PathBuf>,
    /// Train on the first so many images only
    #[arg(long, value_name = "COUNT")]
    images: Option<usize>,
    /// Training images, the last ones, that are held out for validation
    #[arg(long, value_name = "COUNT", default_value_t = 5000)]
    validation: usize,
    /// Seconds between checkpoints
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    checkpoint_every: u64,
    /// TOML file of settings: one line each, such as `epochs = 20`
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Binary predicates to learn [default: 8]
    #[arg(long, value_name = "COUNT")]
    predicates: Option<usize>,
    /// Properties to learn [default: 8]
    #[arg(long, value_name = "COUNT")]
    properties: Option<usize>,
    /// Rules for each digit [default: 1]
    #[arg(long, value_name = "COUNT")]
    rules_per_digit: Option<usize>,
    /// Passes over the training images
    #[arg(long, value_name = "COUNT")]
    epochs: Option<usize>,
    /// Seed of every random choice [default: 0]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
}

impl Digits {
    /// Trains and reports.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        let begun = self.begun()?;
        let settings = match &begun {
            Some(run) => run.network.settings.clone(),
            None => self.chosen()?,
        };
        let all = settings.prepare(Images::train(&self.data)?);
        if self.validation >= all.len() {
            bail!(
                "validation must leave images to train on, but holds out {} of {}",
                self.validation,
                all.len()
            );
        }
        let start = all.len() - self.validation;
        let (train, valid) = all.split(start);
        let train = train.split(self.images.unwrap_or(usize::MAX)).0;
        let started = Instant::now();
        let mut run = begun.map_or_else(|| DigitsRun::new(settings, &train), Ok)?;
        if self.evaluate.is_none() && !self.train(&mut run, &train, output)? {
            return Ok(ExitCode::from(STOPPED));
        }
        if !run.is_finished() {
            bail!("the run has done {} of {} steps: finish it with -o RUN --resume", run.step, run.steps());
        }
        self.report(&run, &valid, started.elapsed(), output)
    }

    fn chosen(&self) -> anyhow::Result<Settings> {
        let mut settings = match &self.settings {
            Some(path) => {
                let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
                toml::from_str(&text).with_context(|| path.display().to_string())?
            }
            None => Settings::default(),
        };
        let set = |to: &mut usize, from: Option<usize>| *to = from.unwrap_or(*to);
        set(&mut settings.predicates, self.predicates);
        set(&mut settings.properties, self.properties);
        set(&mut settings.rules_per_digit, self.rules_per_digit);
        set(&mut settings.epochs, self.epochs);
        settings.seed = self.seed.unwrap_or(settings.seed);
        Ok(settings)
    }

    /// The run to evaluate or to continue.
    fn begun(&self) -> anyhow::Result<Option<DigitsRun>> {
        Ok(match (&self.evaluate, &self.output) {
            (Some(path), _) => Some(DigitsRun::open(path)?),
            (None, Some(path)) if self.resume => Some(DigitsRun::open(path)?),
            (None, Some(path)) if path.exists() => bail!(
                "{} is there already: add --resume to continue it, or choose another name",
                path.display()
            ),
            _ => None,
        })
    }

    /// Trains to the end, or until it is stopped; tells whether it is finished.
    fn train(&self, run: &mut DigitsRun, images: &Images, output: &Output) -> anyhow::Result<bool> {
        let stop = signals::listen()?;
        let bar = output.bar(run.steps() as u64, "{bar:30} {msg}  {elapsed} gone, {eta} left");
        let (every, mut last, mut mean) = (Duration::from_secs(self.checkpoint_every), Instant::now(), None);
        let ended = run.train(images, &stop, |run, loss| {
            let smooth = mean.map_or(loss, |mean| 0.98 * mean + 0.02 * loss);
            mean = Some(smooth);
            bar.set_position(run.step as u64);
            let restarted =
                if run.restarts > 0 { format!("restart {}, ", run.restarts) } else { String::new() };
            bar.set_message(format!(
                "{restarted}epoch {} of {}, loss {smooth:.3}",
                run.losses.len() + 1,
                run.network.settings.epochs
            ));
            match &self.output {
                Some(path) if last.elapsed() >= every => {
                    last = Instant::now();
                    run.save(path)
                }
                _ => Ok(()),
            }
        })?;
        bar.finish_and_clear();
        if let Some(path) = &self.output {
            run.save(path)?;
        }
        if ended == DigitsEnd::Stopped {
            let told = match &self.output {
                Some(path) => {
                    format!("stopped; {} keeps what was done: continue with --resume", path.display())
                }
                None => "stopped; nothing was kept: give -o RUN to keep checkpoints".into(),
            };
            output.say(&told);
        }
        Ok(ended == DigitsEnd::Finished)
    }

    fn report(
        &self,
        run: &DigitsRun,
        valid: &Images,
        time: Duration,
        output: &Output,
    ) -> anyhow::Result<ExitCode> {
        let mut evaluated = Vec::new();
        if !valid.is_empty() {
            evaluated.push(("validation", Confusion::of(&run.network, &run.parameters, valid)?));
        }
        let prepared = |images| run.network.settings.prepare(images);
        let is_needed = self.test || self.pictures.is_some();
        let test = is_needed.then(|| Images::test(&self.data).map(prepared)).transpose()?;
        if let (Some(test), true) = (&test, self.test) {
            evaluated.push(("test", Confusion::of(&run.network, &run.parameters, test)?));
        }
        let reuse = pictures::reuse(run)?;
        if let (Some(folder), Some(test)) = (&self.pictures, &test) {
            let confusion = evaluated.last().map(|(_, confusion)| confusion);
            pictures::draw(run, test, confusion, folder)?;
        }
        if output.json {
            let part = |(name, confusion): &(&str, Confusion)| {
                json!({ "images": name, "macro_f1": confusion.macro_f1(), "accuracy": confusion.accuracy(),
                        "confusion": confusion.counts })
            };
            let all = json!({ "settings": run.network.settings, "restarts": run.restarts, "losses": run.losses, "seconds": time.as_secs_f64(),
                              "evaluated": evaluated.iter().map(part).collect::<Vec<_>>(), "reuse": reuse });
            return output.write_json(&all);
        }
        let s = &run.network.settings;
        let mut text = format!(
            "{} + {} predicates, {} rules, seed {}: {} epochs of {} images, last loss {:.3}\n",
            s.predicates,
            s.properties,
            s.rules(),
            s.seed,
            s.epochs,
            run.images,
            run.losses.last().copied().unwrap_or(f32::NAN)
        );
        for (name, confusion) in &evaluated {
            text += &format!(
                "{name}: macro F1 {:.4}, accuracy {:.4} on {} images\n",
                confusion.macro_f1(),
                confusion.accuracy(),
                confusion.counts.iter().flatten().sum::<usize>()
            );
        }
        text += &format!("binary predicates by the number of digits whose rule uses them: {reuse:?}\n");
        output.write(&text)
    }
}

//! Learns a model for a unit of work, so that a stop loses little: training keeps a checkpoint, and a
//! model that took long is kept until the units that use it are done.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use glidr::learn::Ended;
use glidr::{Dataset, Model, Run, Training};

use crate::Watch;

/// How often a checkpoint is kept; what is learned faster needs none.
const KEEP: Duration = Duration::from_mins(1);

/// A learned model, and how long that took; unknown where it was taken up again.
pub struct Learned {
    /// The model.
    pub model: Model,
    /// Seconds of learning.
    pub seconds: Option<f64>,
}

/// Learns models one after the other, and remembers the last.
pub struct Learner {
    last: Option<(Training, String, Learned)>,
    checkpoint: PathBuf,
    kept: PathBuf,
}

impl Learner {
    /// Keeps its files beside `stem`: `STEM.checkpoint` and `STEM.glidr`.
    pub fn new(stem: &Path) -> Self {
        Learner {
            last: None,
            checkpoint: stem.with_extension("checkpoint"),
            kept: stem.with_extension("glidr"),
        }
    }

    /// The model of these settings and data; none where it was asked to stop.
    pub fn model(
        &mut self,
        training: &Training,
        data: &Dataset,
        watch: &dyn Watch,
    ) -> anyhow::Result<Option<&Learned>> {
        let hash = data.hash();
        let same = |(known, of, _): &(Training, String, Learned)| known == training && *of == hash;
        if !self.last.as_ref().is_some_and(same) {
            let fits = |model: &Model| model.training == *training && model.data.hash == hash;
            let learned = match Model::open(&self.kept).ok().filter(fits) {
                Some(model) => Learned { model, seconds: None },
                None => match self.learn(training, data, watch)? {
                    Some(learned) => learned,
                    None => return Ok(None),
                },
            };
            self.last = Some((training.clone(), hash, learned));
        }
        Ok(self.last.as_ref().map(|(_, _, learned)| learned))
    }

    /// Removes what was kept for a run that is broken off: this one is not.
    pub fn finish(self) {
        if self.last.is_some() {
            remove(&self.checkpoint);
            remove(&self.kept);
        }
    }

    fn learn(
        &self,
        training: &Training,
        data: &Dataset,
        watch: &dyn Watch,
    ) -> anyhow::Result<Option<Learned>> {
        let run = Run::new(training.clone(), data)?;
        // A checkpoint of other settings or data is one of a unit that nobody asks for any more.
        let fits = Run::checkpoint_training(&self.checkpoint).is_ok_and(|known| known == *training);
        let resumed = fits && run.load_checkpoint(&self.checkpoint).is_ok();
        let (started, mut last) = (Instant::now(), Instant::now());
        let mut failed = None;
        let ended = run.go_on(watch.threads(), watch.stop(), |run| {
            let progress = run.progress();
            watch.progress(progress.steps, progress.all_steps, "steps");
            if last.elapsed() >= KEEP && failed.is_none() {
                failed = run.save_checkpoint(&self.checkpoint).err();
                last = Instant::now();
            }
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        match ended {
            Ended::Diverged(target) => Err(run.diverged(target).into()),
            Ended::Stopped => {
                run.save_checkpoint(&self.checkpoint)?;
                Ok(None)
            }
            Ended::Finished => {
                let seconds = started.elapsed();
                let model = run.into_model();
                if resumed || seconds >= KEEP {
                    model.save(&self.kept)?;
                }
                remove(&self.checkpoint);
                Ok(Some(Learned { model, seconds: (!resumed).then_some(seconds.as_secs_f64()) }))
            }
        }
    }
}

fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}

/// Whether a stop was asked for.
pub fn stopped(watch: &dyn Watch) -> bool {
    watch.stop().load(Ordering::Relaxed)
}

//! Learns a model for a unit of work, so that a stop loses little and nothing is learned twice: training
//! keeps a checkpoint, and a finished model stays in `OUT/models`, where all experiments look first.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use glidr::internals::model::{Provenance, SoftModel};
use glidr::internals::train::{Checkpoints, Run, TrainingEnd};
use glidr::internals::util::atomic_file;
use glidr::{Dataset, Model, Training};
use serde_json::{Value, json};

use crate::Watch;
use crate::watch::Stopwatch;

/// How often a checkpoint is kept; what is learned faster needs none.
const KEEP: Duration = Duration::from_mins(1);

/// A learned model, and how long that took; unknown where it was taken up again.
pub struct TrainedModel {
    /// The model.
    pub model: SoftModel,
    /// Seconds of processor time.
    pub seconds: Option<f64>,
}

/// Learns models one after the other.
pub struct ModelStore {
    last: Option<(Training, String, TrainedModel)>,
    checkpoint: PathBuf,
    models: PathBuf,
    /// Whether models of earlier runs are learned again.
    restart: bool,
    /// The models of this run.
    own: HashSet<PathBuf>,
}

impl ModelStore {
    /// Keeps checkpoints of the experiment `name` and models below `out`; `restart` trusts none of earlier runs.
    pub fn new(out: &Path, name: &str, restart: bool) -> Self {
        ModelStore {
            last: None,
            checkpoint: out.join(name).with_extension("checkpoint"),
            models: out.join("models"),
            restart,
            own: HashSet::new(),
        }
    }

    /// The model of these settings and data; none where it was asked to stop.
    pub fn model(
        &mut self,
        training: &Training,
        data: &Dataset,
        watch: &dyn Watch,
    ) -> anyhow::Result<Option<&TrainedModel>> {
        let hash = data.hash();
        let same = |(known, of, _): &(Training, String, TrainedModel)| known == training && *of == hash;
        if !self.last.as_ref().is_some_and(same) {
            let path = self.path(training, &hash)?;
            let learned = match self.kept(&path, training, &hash) {
                Some(learned) => learned,
                None => match self.learn(training, data, watch)? {
                    Some(learned) => {
                        keep(&path, &learned, training, data)?;
                        learned
                    }
                    None => return Ok(None),
                },
            };
            self.own.insert(path);
            self.last = Some((training.clone(), hash, learned));
        }
        Ok(self.last.as_ref().map(|(_, _, learned)| learned))
    }

    /// Where a model is kept: a name made of all that decides it.
    fn path(&self, training: &Training, data: &str) -> anyhow::Result<PathBuf> {
        let mut hasher = DefaultHasher::new();
        (serde_json::to_string(training)?, data).hash(&mut hasher);
        Ok(self.models.join(format!("{:016x}.glidr", hasher.finish())))
    }

    /// A model that was learned before. Only one with these very settings and data counts, whatever its name.
    fn kept(&self, path: &Path, training: &Training, data: &str) -> Option<TrainedModel> {
        if self.restart && !self.own.contains(path) {
            return None;
        }
        let kept = Model::open(path).ok()?;
        let model = kept.soft?;
        let fits = model.training == *training && kept.provenance.hash == data;
        let told = std::fs::read_to_string(path.with_extension("json")).ok();
        let seconds = told.and_then(|text| serde_json::from_str::<Value>(&text).ok()?["seconds"].as_f64());
        fits.then_some(TrainedModel { model, seconds })
    }

    fn learn(
        &self,
        training: &Training,
        data: &Dataset,
        watch: &dyn Watch,
    ) -> anyhow::Result<Option<TrainedModel>> {
        let run = Run::new(training.clone(), data)?;
        // A checkpoint of other settings or data is one of a unit that nobody asks for any more.
        let fits = Run::checkpoint_settings(&self.checkpoint).is_ok_and(|(known, _)| known == *training);
        let resumed = fits && run.load_checkpoint(&self.checkpoint).is_ok();
        let started = Stopwatch::start();
        let checkpoints = Checkpoints { path: &self.checkpoint, every: KEEP };
        if run.train(watch.threads(), watch, Some(checkpoints))? == TrainingEnd::Stopped {
            return Ok(None);
        }
        let seconds = (!resumed).then(|| started.seconds());
        let model = run.into_model(watch);
        let _ = std::fs::remove_file(&self.checkpoint);
        Ok(Some(TrainedModel { model, seconds }))
    }
}

/// Keeps a model, and beside it in words what it is and how long it took.
fn keep(path: &Path, learned: &TrainedModel, training: &Training, data: &Dataset) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let provenance = Provenance::of(data, training.seed);
    let told = json!({ "training": training, "data": provenance.hash, "seconds": learned.seconds });
    Model::new(provenance).with_soft(learned.model.clone()).save(path)?;
    Ok(atomic_file::write(&path.with_extension("json"), format!("{told:#}\n"))?)
}

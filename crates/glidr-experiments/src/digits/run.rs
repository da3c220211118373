//! One training run of the study, step by step; it can be stopped and resumed.
//!
//! In: [`Settings`] and training images. Out: the trained [`Parameters`]. Equal seeds give equal
//! parameters, on any number of threads, and whether or not the run was stopped in between.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use burn::tensor::Device;
use glidr::internals::model::{container::Container, container::Tensor};
use glidr::{Error, Result};
use glidr_burn::layer::numbers;
use glidr_burn::parameters::Parameters;
use glidr_burn::random::{Purpose, shuffle, stream};
use serde::{Deserialize, Serialize};

use super::idx::Digits;
use super::network::Network;
use super::settings::Settings;

/// The format's name in the file.
const FORMAT: &str = "glidr-digits";
/// Restarts of a run at most.
const MAX_RESTARTS: usize = 9;

/// A run: what was learned so far.
#[derive(Clone, Debug)]
pub struct DigitsRun {
    /// The network's shape and settings.
    pub network: Network,
    /// Its numbers.
    pub parameters: Parameters,
    /// Training images per epoch.
    pub images: usize,
    /// How often the run restarted from another initialisation.
    pub restarts: usize,
    /// Steps done since the last restart.
    pub step: usize,
    /// The sum of the losses of this epoch's steps so far.
    loss: f32,
    /// The mean loss of every finished epoch.
    pub losses: Vec<f32>,
    order: Vec<usize>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigitsEnd {
    /// All epochs are done.
    Finished,
    /// It was asked to stop.
    Stopped,
}

#[derive(Serialize, Deserialize)]
struct Header {
    settings: Settings,
    images: usize,
    restarts: usize,
    step: usize,
    loss: f32,
    losses: Vec<f32>,
}

impl DigitsRun {
    /// A run that has not begun.
    pub fn new(settings: Settings, digits: &Digits) -> Result<Self> {
        let mut run = DigitsRun::blank(settings, digits.len())?;
        run.network.calibrate(&mut run.parameters, digits)?;
        Ok(run)
    }

    fn blank(settings: Settings, images: usize) -> Result<Self> {
        let network = Network::new(settings)?;
        if images < network.settings.batch {
            return Err(Error::Setting(format!(
                "a batch has {} images, but there are only {images} to train on",
                network.settings.batch
            )));
        }
        let parameters = network.start(0);
        Ok(DigitsRun {
            network,
            parameters,
            images,
            restarts: 0,
            step: 0,
            loss: 0.0,
            losses: Vec::new(),
            order: Vec::new(),
        })
    }

    /// Whole batches of an epoch; images left over wait for the next order.
    pub fn steps_per_epoch(&self) -> usize {
        self.images / self.network.settings.batch
    }

    /// Steps of the whole run.
    pub fn steps(&self) -> usize {
        self.steps_per_epoch() * self.network.settings.epochs
    }

    /// Whether all is done.
    pub fn is_finished(&self) -> bool {
        self.step >= self.steps()
    }

    /// One step; returns its loss.
    pub fn advance(&mut self, digits: &Digits) -> Result<f32> {
        if digits.len() != self.images {
            return Err(Error::Mismatch(format!(
                "the run has {} training images, but {} are given",
                self.images,
                digits.len()
            )));
        }
        let (settings, epoch) = (&self.network.settings, self.step / self.steps_per_epoch());
        let within = self.step % self.steps_per_epoch();
        if within == 0 || self.order.is_empty() {
            self.order = (0..self.images).collect();
            shuffle(&mut self.order, &mut stream(settings.seed, Purpose::Order, epoch as u64));
        }
        let some = &self.order[within * settings.batch..][..settings.batch];
        let labels: Vec<u8> = some.iter().map(|&number| digits.labels[number]).collect();
        let device = Device::flex().autodiff();
        let leaves = self.parameters.leaves(&device, true);
        let patches = self.network.patches(digits, some, &device)?;
        let gradient_threshold = settings.gradient_threshold_at(self.step, self.steps());
        let loss = self.network.loss(&leaves, &patches, &labels, gradient_threshold)?;
        let value = numbers(&loss)?[0];
        let gradients = loss.backward();
        let (step, steps) = (self.step, self.steps());
        let optimizer = |name: &str| self.network.settings.optimizer(name, step, steps);
        self.parameters.step(&leaves, &gradients, step + 1, optimizer)?;
        self.step += 1;
        self.loss += value;
        if self.step.is_multiple_of(self.steps_per_epoch()) {
            self.losses.push(self.loss / self.steps_per_epoch() as f32);
            self.loss = 0.0;
            let is_bad = self.network.settings.restart_loss.is_some_and(|limit| self.losses[0] > limit);
            if self.losses.len() == 1 && is_bad && self.restarts < MAX_RESTARTS {
                self.restart(digits)?;
            }
        }
        Ok(value)
    }

    /// Restarts from another initialisation.
    fn restart(&mut self, digits: &Digits) -> Result<()> {
        self.restarts += 1;
        self.parameters = self.network.start(self.restarts);
        self.network.calibrate(&mut self.parameters, digits)?;
        self.step = 0;
        self.losses.clear();
        Ok(())
    }

    /// Trains to the end, or until `stop` is set; tells `watch` after every step.
    pub fn train(
        &mut self,
        digits: &Digits,
        stop: &AtomicBool,
        mut watch: impl FnMut(&DigitsRun, f32) -> Result<()>,
    ) -> Result<DigitsEnd> {
        while !self.is_finished() {
            if stop.load(Ordering::Relaxed) {
                return Ok(DigitsEnd::Stopped);
            }
            let loss = self.advance(digits)?;
            watch(self, loss)?;
        }
        Ok(DigitsEnd::Finished)
    }

    /// Writes the run, finished or not, so that [`DigitsRun::open`] resumes it.
    pub fn save(&self, path: &Path) -> Result<()> {
        let header = Header {
            settings: self.network.settings.clone(),
            images: self.images,
            restarts: self.restarts,
            step: self.step,
            loss: self.loss,
            losses: self.losses.clone(),
        };
        let tensors = self.parameters.0.iter().flat_map(|(name, parameter)| {
            let lists = [("", &parameter.values), (".mean", &parameter.mean), (".square", &parameter.square)];
            lists.map(|(kind, values)| {
                (format!("{name}{kind}"), Tensor { shape: parameter.shape.clone(), values: values.clone() })
            })
        });
        Container { header, tensors: tensors.collect(), texts: BTreeMap::new() }.write(path, FORMAT)
    }

    /// Reads what [`DigitsRun::save`] wrote.
    pub fn open(path: &Path) -> Result<Self> {
        let mut file: Container<Header> = Container::read(path, FORMAT)?;
        let header = Header {
            losses: file.header.losses.clone(),
            settings: file.header.settings.clone(),
            ..file.header
        };
        let mut run = DigitsRun::blank(header.settings, header.images)?;
        for (name, parameter) in &mut run.parameters.0 {
            parameter.values = file.take(path, name, &parameter.shape)?;
            parameter.mean = file.take(path, &format!("{name}.mean"), &parameter.shape)?;
            parameter.square = file.take(path, &format!("{name}.square"), &parameter.shape)?;
        }
        if header.step > run.steps() {
            let finding = format!("a run has at most {} steps, but this says {}", run.steps(), header.step);
            return Err(Error::data(path, finding));
        }
        (run.restarts, run.step) = (header.restarts, header.step);
        (run.loss, run.losses) = (header.loss, header.losses);
        Ok(run)
    }
}

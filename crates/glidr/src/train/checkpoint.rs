//! Checkpoints, format `glidr-checkpoint`: every unit's step, logits and optimizer memory.
//!
//! Batches are drawn by step, so this is all that a resumed run needs to reach the very same
//! model as an unbroken one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};

use super::Run;
use crate::error::{Error, Result};
use crate::model::{Container, Provenance, Tensor, Training};

const FORMAT: &str = "glidr-checkpoint";

#[derive(Serialize, Deserialize)]
struct Header {
    training: Training,
    provenance: Provenance,
    /// What the run is a part of.
    note: serde_json::Value,
    units: Vec<UnitHeader>,
}

#[derive(Serialize, Deserialize)]
struct UnitHeader {
    step: usize,
    validation: Vec<f32>,
}

impl Run<'_> {
    /// Writes the state of every unit, each after a whole step.
    pub fn save_checkpoint(&self, path: impl AsRef<Path>) -> Result<()> {
        let (mut units, mut tensors) = (Vec::new(), BTreeMap::new());
        for (number, unit) in self.units().enumerate() {
            units.push(UnitHeader { step: unit.step, validation: unit.validation.clone() });
            if unit.step == 0 {
                continue; // its logits are drawn again from the seed
            }
            for (rule, state) in unit.states.iter().enumerate() {
                let logits = state.logits.iter().collect();
                let parts = [logits, state.memory.mean.clone(), state.memory.square.clone()];
                for (part, values) in ["logits", "mean", "square"].into_iter().zip(parts) {
                    let tensor = Tensor { shape: vec![values.len()], values };
                    tensors.insert(tensor_name(number, rule, part), tensor);
                }
            }
        }
        let (training, provenance, note) =
            (self.training.clone(), self.provenance.clone(), self.note.clone());
        let header = Header { training, provenance, note, units };
        Container { header, tensors, texts: BTreeMap::new() }.write(path.as_ref(), FORMAT)
    }

    /// The settings that a checkpoint was written under, and the note that [`Run::with_note`] put into it.
    pub fn checkpoint_settings(path: impl AsRef<Path>) -> Result<(Training, serde_json::Value)> {
        let header = Container::<Header>::read(path.as_ref(), FORMAT)?.header;
        Ok((header.training, header.note))
    }

    /// Takes up the state of a checkpoint, which must be of the same settings and data.
    pub fn load_checkpoint(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let mut file = Container::<Header>::read(path, FORMAT)?;
        let other = self.training.differences(&file.header.training);
        if !other.is_empty() {
            let finding =
                format!("the checkpoint was written under other settings than these: {}", other.join(", "));
            return Err(Error::data(path, finding));
        }
        if file.header.provenance.hash != self.provenance.hash {
            return Err(Error::data(path, "the checkpoint was written on other data than this"));
        }
        if file.header.units.len() != self.units.len() {
            return Err(Error::data(path, "the checkpoint has other rules than this run"));
        }
        let mut steps = 0;
        for (number, header) in std::mem::take(&mut file.header.units).into_iter().enumerate() {
            let mut unit = super::lock(&self.units[number]);
            if header.step > self.training.steps || ![0, unit.rules.len()].contains(&header.validation.len())
            {
                return Err(Error::data(path, format!("unit {number} does not fit this run")));
            }
            steps += header.step;
            unit.step = header.step;
            unit.validation = header.validation;
            if unit.step == 0 {
                continue;
            }
            for (rule, state) in unit.states.iter_mut().enumerate() {
                let shape = [state.logits.len()];
                let mut take = |part| file.take(path, &tensor_name(number, rule, part), &shape);
                let logits = take("logits")?;
                state.logits.iter_mut().zip(logits).for_each(|(logit, value)| *logit = value);
                state.memory.mean = take("mean")?;
                state.memory.square = take("square")?;
            }
        }
        self.steps.store(steps, Ordering::Relaxed);
        Ok(())
    }
}

fn tensor_name(unit: usize, rule: usize, part: &str) -> String {
    format!("unit.{unit}.{rule}.{part}")
}

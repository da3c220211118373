//! What is trained, as named lists of numbers, and the optimizer that moves them.
//!
//! Tensors are made of them for one step and let go after it, so that a checkpoint is these lists and
//! nothing else.

use std::collections::BTreeMap;

use burn::tensor::{Device, Gradients, Tensor, TensorData};
use glidr::{Error, Result};

/// How fast the mean of gradients forgets.
const MEAN: f32 = 0.9;
/// How fast the mean of squared gradients forgets.
const SQUARE: f32 = 0.999;
/// Keeps the step finite where gradients vanish.
const SMALL: f32 = 1e-8;

/// How AdamW moves a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptimizerSettings {
    /// Learning rate.
    pub learning_rate: f32,
    /// Weight decay, multiplied by the learning rate.
    pub weight_decay: f32,
}

/// Numbers with a shape, and what AdamW remembers of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The shape.
    pub shape: Vec<usize>,
    /// The numbers, row by row.
    pub values: Vec<f32>,
    /// Mean of gradients.
    pub mean: Vec<f32>,
    /// Mean of squared gradients.
    pub square: Vec<f32>,
}

impl Parameter {
    /// A parameter that was not yet moved.
    pub fn new(shape: Vec<usize>, values: Vec<f32>) -> Self {
        let zeros = vec![0.0; values.len()];
        Parameter { shape, values, mean: zeros.clone(), square: zeros }
    }

    /// Moves against the gradient; `step` counts from 1. AdamW as in optax: decay times the rate.
    ///
    /// ```text
    /// m ← β₁m + (1−β₁)g    v ← β₂v + (1−β₂)g²
    /// θ ← θ − rate (m̂ / (√v̂ + ε) + decay θ)
    /// ```
    fn step(&mut self, d: &[f32], step: usize, settings: OptimizerSettings) {
        let power = i32::try_from(step).unwrap_or(i32::MAX);
        let (mean_bias, square_bias) = (1.0 - MEAN.powi(power), 1.0 - SQUARE.powi(power));
        let memory = self.mean.iter_mut().zip(&mut self.square);
        for ((value, d), (mean, square)) in self.values.iter_mut().zip(d).zip(memory) {
            *mean = MEAN * *mean + (1.0 - MEAN) * d;
            *square = SQUARE * *square + (1.0 - SQUARE) * d * d;
            let toward = (*mean / mean_bias) / ((*square / square_bias).sqrt() + SMALL);
            *value -= settings.learning_rate * (toward + settings.weight_decay * *value);
        }
    }
}

/// All parameters of a model by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters(pub BTreeMap<&'static str, Parameter>);

/// The tensors of one step.
#[derive(Clone, Debug)]
pub struct Leaves {
    tensors: BTreeMap<&'static str, (Tensor<1>, Vec<usize>)>,
}

impl Parameters {
    /// Adds a parameter.
    pub fn add(&mut self, name: &'static str, shape: &[usize], values: Vec<f32>) {
        assert_eq!(shape.iter().product::<usize>(), values.len(), "{name} has as many numbers as its shape");
        self.0.insert(name, Parameter::new(shape.to_vec(), values));
    }

    /// The numbers of a parameter, to be changed.
    pub fn get_mut(&mut self, name: &str) -> &mut [f32] {
        &mut self.0.get_mut(name).expect("a parameter is asked for by its name").values
    }

    /// Tensors of all parameters; with `learn` on a device that keeps gradients.
    pub fn leaves(&self, device: &Device, learn: bool) -> Leaves {
        let tensors = self.0.iter().map(|(&name, parameter)| {
            let data = TensorData::new(parameter.values.clone(), [parameter.values.len()]);
            let tensor = Tensor::from_data(data, device);
            let tensor = if learn { tensor.require_grad() } else { tensor };
            (name, (tensor, parameter.shape.clone()))
        });
        Leaves { tensors: tensors.collect() }
    }

    /// Moves every parameter by its gradient; says so when one is no longer finite.
    pub fn step(
        &mut self,
        leaves: &Leaves,
        gradients: &Gradients,
        step: usize,
        settings: impl Fn(&str) -> OptimizerSettings,
    ) -> Result<()> {
        for (&name, parameter) in &mut self.0 {
            let Some(gradient) = leaves.tensors[name].0.grad(gradients) else { continue };
            parameter.step(&crate::layer::numbers(&gradient)?, step, settings(name));
            if parameter.values.iter().any(|value| !value.is_finite()) {
                let finding = format!("training diverged at step {step}: {name} is no longer finite");
                return Err(Error::Mismatch(finding + "; a smaller learning rate may help"));
            }
        }
        Ok(())
    }
}

impl Leaves {
    /// The tensor called `name`.
    pub fn get<const D: usize>(&self, name: &str) -> Tensor<D> {
        let (tensor, shape) = &self.tensors[name];
        let shape: [usize; D] = shape.as_slice().try_into().expect("a parameter is asked for by its rank");
        tensor.clone().reshape(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_has_the_length_of_the_rate_and_decay_pulls_to_zero() {
        let mut parameter = Parameter::new(vec![3], vec![1.0, -2.0, 0.0]);
        parameter.step(&[0.3, -7.0, 0.0], 1, OptimizerSettings { learning_rate: 0.1, weight_decay: 0.5 });
        let expected = [1.0 - 0.1 - 0.05, -2.0 + 0.1 + 0.1, 0.0];
        assert!(parameter.values.iter().zip(expected).all(|(ours, theirs)| (ours - theirs).abs() < 1e-6));
    }
}

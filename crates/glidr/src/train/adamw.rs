//! AdamW, the optimizer of the paper.

use crate::infer::Slots;

/// How fast the mean of gradients forgets.
const MEAN: f32 = 0.9;
/// How fast the mean of squared gradients forgets.
const SQUARE: f32 = 0.999;
/// Keeps the step finite where gradients vanish.
const SMALL: f32 = 1e-8;

/// What AdamW remembers of one rule: running means of its gradients and of their squares.
#[derive(Clone, Debug, PartialEq)]
pub struct AdamW {
    /// Mean of gradients.
    pub mean: Vec<f32>,
    /// Mean of squared gradients.
    pub square: Vec<f32>,
}

impl AdamW {
    /// A fresh memory for `size` numbers.
    pub fn new(size: usize) -> Self {
        AdamW { mean: vec![0.0; size], square: vec![0.0; size] }
    }

    /// Moves the logits against their gradient; `step` counts from 1.
    ///
    /// ```text
    /// m ← β₁m + (1−β₁)g    v ← β₂v + (1−β₂)g²
    /// θ ← θ − rate (m̂ / (√v̂ + ε) + decay θ)
    /// ```
    ///
    /// Decay is multiplied by the learning rate, as in optax; the AdamW paper multiplies only by
    /// the schedule.
    pub fn step(
        &mut self,
        logits: &mut Slots,
        d_logits: &Slots,
        step: usize,
        learning_rate: f32,
        weight_decay: f32,
    ) {
        let power = i32::try_from(step).unwrap_or(i32::MAX);
        let (mean_bias, square_bias) = (1.0 - MEAN.powi(power), 1.0 - SQUARE.powi(power));
        let memory = self.mean.iter_mut().zip(&mut self.square);
        for ((logit, d), (mean, square)) in logits.iter_mut().zip(d_logits.iter()).zip(memory) {
            *mean = MEAN * *mean + (1.0 - MEAN) * d;
            *square = SQUARE * *square + (1.0 - SQUARE) * d * d;
            let toward = (*mean / mean_bias) / ((*square / square_bias).sqrt() + SMALL);
            *logit -= learning_rate * (toward + weight_decay * *logit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_has_the_length_of_the_rate_and_decay_pulls_to_zero() {
        let mut logits = Slots { pairs: vec![1.0, -2.0], owns: vec![0.0] };
        let d = Slots { pairs: vec![0.3, -7.0], owns: vec![0.0] };
        AdamW::new(3).step(&mut logits, &d, 1, 0.1, 0.5);
        let expected = [1.0 - 0.1 - 0.05, -2.0 + 0.1 + 0.1, 0.0];
        assert!(logits.iter().zip(expected).all(|(ours, theirs)| (ours - theirs).abs() < 1e-6));
    }
}

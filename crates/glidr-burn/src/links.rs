//! Soft links: how attention between entities becomes the facts of a learned predicate.
//!
//! In: attention, one number per predicate and pair of entities, and a bias per predicate. Out: values
//! of facts in [0, 1]. The paper: a sigmoid instead of softmax, zero diagonals, values below 0.5 clipped
//! to zero.

use glidr::{Error, Result};
use rayon::prelude::*;

/// Which links are clipped to nothing.
///
/// No derivative reaches a clipped link, so it could go but never come back. A clipped link that is not weaker
/// than the gradient threshold keeps the derivative that it would have unclipped. Values do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clip {
    /// Links weaker than this are none (the paper: 0.5).
    pub threshold: f32,
    /// Links weaker than this have no derivative.
    pub gradient_threshold: f32,
}

impl Clip {
    /// The plain clip: what is weaker than `threshold` has neither value nor derivative.
    pub fn at(threshold: f32) -> Self {
        Clip { threshold, gradient_threshold: threshold }
    }

    /// Refuses what is out of range.
    pub(crate) fn check(self) -> Result<()> {
        let Clip { threshold, gradient_threshold } = self;
        if (0.0..1.0).contains(&threshold) && (0.0..=threshold).contains(&gradient_threshold) {
            return Ok(());
        }
        Err(Error::Setting(format!(
            "a threshold must be at least 0 and below 1, and the gradient threshold at least 0 and at most that, \
             but they are {threshold} and {gradient_threshold}"
        )))
    }

    /// Both thresholds before the sigmoid, so that most exponentials need not be taken.
    pub fn logits(self) -> (f32, f32) {
        let logit = |threshold: f32| (threshold / (1.0 - threshold)).ln();
        (logit(self.threshold), logit(self.gradient_threshold))
    }
}

pub(crate) fn sigmoid(a: f32) -> f32 {
    1.0 / (1.0 + (-a).exp())
}

/// Links of one square matrix after another, `entities` on a side, a predicate each in turn.
///
/// ```text
/// s = 1 / (1 + e^−(a + bias));  b = s where s ≥ threshold and off the diagonal, else 0
/// ```
pub(crate) fn links(attention: &[f32], bias: &[f32], entities: usize, clip: Clip) -> Vec<f32> {
    let (threshold, _) = clip.logits();
    let size = entities * entities;
    let mut links = vec![0.0; attention.len()];
    let squares = links.par_chunks_mut(size).zip(attention.par_chunks(size)).enumerate();
    squares.for_each(|(number, (links, attention))| {
        let bias = bias[number % bias.len()];
        for (link, &a) in links.iter_mut().zip(attention) {
            if a + bias >= threshold {
                *link = sigmoid(a + bias);
            }
        }
        links.iter_mut().step_by(entities + 1).for_each(|link| *link = 0.0);
    });
    links
}

/// The adjoint of [`links`]: by attention and by the biases, which get the sums of their predicates.
///
/// ```text
/// d_a = s (1 − s) d_b where s ≥ gradient threshold and off the diagonal, else 0
/// ```
pub(crate) fn links_adjoint(
    attention: &[f32],
    bias: &[f32],
    entities: usize,
    clip: Clip,
    d_links: &[f32],
) -> (Vec<f32>, Vec<f32>) {
    let (_, gradient_threshold) = clip.logits();
    let size = entities * entities;
    let mut d_attention = vec![0.0; attention.len()];
    let squares = d_attention.par_chunks_mut(size).zip(attention.par_chunks(size)).enumerate();
    let sums: Vec<f32> = squares
        .zip(d_links.par_chunks(size))
        .map(|((number, (d_attention, attention)), d_links)| {
            let bias = bias[number % bias.len()];
            for (d_a, (&a, d_b)) in d_attention.iter_mut().zip(attention.iter().zip(d_links)) {
                if a + bias >= gradient_threshold {
                    let s = sigmoid(a + bias);
                    *d_a = s * (1.0 - s) * d_b;
                }
            }
            d_attention.iter_mut().step_by(entities + 1).for_each(|d_a| *d_a = 0.0);
            d_attention.iter().sum()
        })
        .collect();
    let mut d_bias = vec![0.0; bias.len()];
    for (number, sum) in sums.iter().enumerate() {
        d_bias[number % bias.len()] += sum;
    }
    (d_attention, d_bias)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_links_and_links_to_oneself_are_none() {
        let found = links(&[5.0, 1.0, -0.1, 5.0], &[0.0], 2, Clip::at(0.5));
        assert_eq!(found, [0.0, 1.0 / (1.0 + (-1.0f32).exp()), 0.0, 0.0]);
        assert_eq!(links(&[5.0, 1.0, 2.0, 5.0], &[0.0], 2, Clip::at(0.8))[1], 0.0);
        assert_eq!(links(&[5.0, 1.0, 2.0, 5.0], &[-1.5], 2, Clip::at(0.5))[1], 0.0);
        assert!(
            links(&[0.0, -9.0, 0.0, 0.0], &[0.0], 2, Clip::at(0.0))[1] > 0.0,
            "with no threshold every pair is linked"
        );
    }

    #[test]
    fn the_adjoint_of_links_agrees_with_a_finite_difference() {
        let attention: Vec<f32> = (0..36).map(|n| (n as f32 * 1.7).sin() * 2.0).collect();
        let bias = [0.31, -0.42];
        let weights: Vec<f32> = (0..36).map(|n| 1.0 + n as f32 * 0.1).collect();
        let total = |a: &[f32], bias: &[f32]| {
            links(a, bias, 3, Clip::at(0.5)).iter().zip(&weights).map(|(b, w)| b * w).sum::<f32>()
        };
        let (d, d_bias) = links_adjoint(&attention, &bias, 3, Clip::at(0.5), &weights);
        let step = 1e-2;
        for place in 0..36 {
            let (mut more, mut less) = (attention.clone(), attention.clone());
            more[place] += step;
            less[place] -= step;
            let plain = (total(&more, &bias) - total(&less, &bias)) / (2.0 * step);
            assert!((d[place] - plain).abs() < 2e-3, "{place}: {} {plain}", d[place]);
        }
        for place in 0..2 {
            let (mut more, mut less) = (bias, bias);
            more[place] += step;
            less[place] -= step;
            let plain = (total(&attention, &more) - total(&attention, &less)) / (2.0 * step);
            assert!((d_bias[place] - plain).abs() < 2e-2, "{place}: {} {plain}", d_bias[place]);
        }
    }

    #[test]
    fn a_clipped_link_above_the_gradient_threshold_has_the_derivative_it_would_have_unclipped() {
        let (attention, clip) = ([0.0, -0.5, -2.0, 0.0], Clip { threshold: 0.5, gradient_threshold: 0.3 });
        assert_eq!(links(&attention, &[0.0], 2, clip), [0.0; 4]);
        let unclipped = links_adjoint(&attention, &[0.0], 2, Clip::at(0.0), &[1.0; 4]).0;
        let (d, d_bias) = links_adjoint(&attention, &[0.0], 2, clip, &[1.0; 4]);
        assert_eq!(d, [0.0, unclipped[1], 0.0, 0.0]);
        assert!(d[1] > 0.2 && d_bias == [d[1]]);
        assert!(
            Clip { threshold: 0.5, gradient_threshold: 0.6 }.check().is_err()
                && Clip::at(1.0).check().is_err()
        );
    }
}

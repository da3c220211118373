//! Soft links: how attention between entities becomes the facts of a learned predicate.
//!
//! In: attention, one number per predicate and pair of entities, and a bias per predicate. Out: values
//! of facts in [0, 1]. The paper: a sigmoid instead of softmax, zero diagonals, values below 0.5 clipped
//! to zero.

use rayon::prelude::*;

/// What attention and bias must reach together for a link not to be clipped: `least` before the sigmoid.
pub(crate) fn bar(least: f32) -> f32 {
    (least / (1.0 - least)).ln()
}

/// Links of one square matrix after another, `entities` on a side, a predicate each in turn.
///
/// ```text
/// s = 1 / (1 + e^−(a + bias));  b = s where s ≥ least and off the diagonal, else 0
/// ```
pub(crate) fn links(attention: &[f32], bias: &[f32], entities: usize, least: f32) -> Vec<f32> {
    let bar = bar(least); // so that most exponentials need not be taken
    let size = entities * entities;
    let mut links = vec![0.0; attention.len()];
    let squares = links.par_chunks_mut(size).zip(attention.par_chunks(size)).enumerate();
    squares.for_each(|(number, (links, attention))| {
        let bias = bias[number % bias.len()];
        for (link, &a) in links.iter_mut().zip(attention) {
            if a + bias >= bar {
                *link = 1.0 / (1.0 + (-(a + bias)).exp());
            }
        }
        links.iter_mut().step_by(entities + 1).for_each(|link| *link = 0.0);
    });
    links
}

/// The adjoint of [`links`]: by attention and by the biases, which get the sums of their predicates.
///
/// ```text
/// d_a = b (1 − b) d_b
/// ```
pub(crate) fn links_adjoint(
    links: &[f32],
    d_links: &[f32],
    predicates: usize,
    entities: usize,
) -> (Vec<f32>, Vec<f32>) {
    let size = entities * entities;
    let mut d_attention = vec![0.0; links.len()];
    let sums: Vec<f32> = d_attention
        .par_chunks_mut(size)
        .zip(links.par_chunks(size).zip(d_links.par_chunks(size)))
        .map(|(d_attention, (links, d_links))| {
            for (d_a, (b, d_b)) in d_attention.iter_mut().zip(links.iter().zip(d_links)) {
                *d_a = b * (1.0 - b) * d_b;
            }
            d_attention.iter().sum()
        })
        .collect();
    let mut d_bias = vec![0.0; predicates];
    for (number, sum) in sums.iter().enumerate() {
        d_bias[number % predicates] += sum;
    }
    (d_attention, d_bias)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_links_and_links_to_oneself_are_none() {
        let found = links(&[5.0, 1.0, -0.1, 5.0], &[0.0], 2, 0.5);
        assert_eq!(found, [0.0, 1.0 / (1.0 + (-1.0f32).exp()), 0.0, 0.0]);
        assert_eq!(links(&[5.0, 1.0, 2.0, 5.0], &[0.0], 2, 0.8)[1], 0.0);
        assert_eq!(links(&[5.0, 1.0, 2.0, 5.0], &[-1.5], 2, 0.5)[1], 0.0);
        assert!(links(&[0.0, -9.0, 0.0, 0.0], &[0.0], 2, 0.0)[1] > 0.0, "with no bar every pair is linked");
    }

    #[test]
    fn the_adjoint_of_links_agrees_with_a_finite_difference() {
        let attention: Vec<f32> = (0..36).map(|n| (n as f32 * 1.7).sin() * 2.0).collect();
        let bias = [0.31, -0.42];
        let weights: Vec<f32> = (0..36).map(|n| 1.0 + n as f32 * 0.1).collect();
        let total = |a: &[f32], bias: &[f32]| {
            links(a, bias, 3, 0.5).iter().zip(&weights).map(|(b, w)| b * w).sum::<f32>()
        };
        let (d, d_bias) = links_adjoint(&links(&attention, &bias, 3, 0.5), &weights, 2, 3);
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
}

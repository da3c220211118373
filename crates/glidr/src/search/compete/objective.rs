//! The loss of weights under which all predicates compete for a pair, and its adjoint.
//!
//! ```text
//! loss = − Σ ln P(p | x, y) + l2/2 Σ w²,   P(p | x, y) = e^{s_p} / Σ_q e^{s_q},   summed over the examples p(x, y)
//! ```

use rayon::prelude::*;

/// The weights of one predicate.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::search) struct Fit {
    /// Features by their numbers.
    pub taken: Vec<usize>,
    /// A weight for each.
    pub weights: Vec<f64>,
    /// What the predicate has without any.
    pub bias: f64,
}

/// Examples with their predicates, as weights are fitted to them.
pub(super) struct Objective<'a> {
    /// The examples that every feature fires on.
    pub fires: &'a [&'a [u32]],
    /// The predicate of every example.
    pub labels: &'a [u32],
    /// Whether an example counts.
    pub counts: &'a [bool],
}

impl Objective<'_> {
    /// For every predicate the probability that an example is its own.
    pub fn probabilities(&self, fits: &[Fit]) -> Vec<Vec<f64>> {
        let mut sums: Vec<Vec<f64>> = fits.par_iter().map(|fit| self.sums(fit)).collect();
        let mut totals = vec![0.0; self.labels.len()];
        // No sum is far from 0, so that e^s is finite; a cap makes sure of that.
        for sums in &mut sums {
            for (sum, total) in sums.iter_mut().zip(&mut totals) {
                *sum = sum.min(500.0).exp();
                *total += *sum;
            }
        }
        sums.par_iter_mut().for_each(|sums| sums.iter_mut().zip(&totals).for_each(|(p, total)| *p /= total));
        sums
    }

    fn sums(&self, fit: &Fit) -> Vec<f64> {
        let mut sums = vec![fit.bias; self.labels.len()];
        for (&feature, &weight) in fit.taken.iter().zip(&fit.weights) {
            self.fires[feature].iter().for_each(|&at| sums[at as usize] += weight);
        }
        sums
    }

    /// The loss.
    #[cfg(test)]
    pub fn loss(&self, fits: &[Fit], l2: f64) -> f64 {
        let probabilities = self.probabilities(fits);
        let counted = (0..self.labels.len()).filter(|&at| self.counts[at]);
        let surprise: f64 = counted.map(|at| -probabilities[self.labels[at] as usize][at].ln()).sum();
        let squares: f64 = fits.iter().flat_map(|fit| &fit.weights).map(|weight| weight * weight).sum();
        surprise + l2 / 2.0 * squares
    }

    /// The derivative of the loss by the sums of each predicate, and the second one.
    ///
    /// ```text
    /// d = P − [it is its own],   dd = P (1 − P)
    /// ```
    pub fn derive(&self, fits: &[Fit]) -> Vec<[Vec<f64>; 2]> {
        let derive = |(predicate, mut p): (usize, Vec<f64>)| {
            let mut dd = vec![0.0; p.len()];
            for (at, (d, dd)) in p.iter_mut().zip(&mut dd).enumerate() {
                if self.counts[at] {
                    *dd = *d * (1.0 - *d);
                    *d -= f64::from(self.labels[at] == predicate as u32);
                } else {
                    *d = 0.0;
                }
            }
            [p, dd]
        };
        self.probabilities(fits).into_par_iter().enumerate().map(derive).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_derivative_agrees_with_a_finite_difference() {
        let fires: [&[u32]; 3] = [&[0, 1, 4], &[1, 2, 3], &[0, 5]];
        let labels = [0, 1, 2, 1, 0, 2];
        let counts = [true, true, true, true, true, false];
        let objective = Objective { fires: &fires, labels: &labels, counts: &counts };
        let fit = |taken: &[usize], weights: &[f64], bias| Fit {
            taken: taken.to_vec(),
            weights: weights.to_vec(),
            bias,
        };
        let fits =
            [fit(&[0, 2], &[0.7, -0.4], 0.1), fit(&[1], &[-0.9], 0.0), fit(&[0, 1], &[0.2, 1.3], -0.5)];
        let derived = objective.derive(&fits);
        for predicate in 0..3 {
            for place in 0..fits[predicate].weights.len() {
                let moved = |by: f64| {
                    let mut fits = fits.clone();
                    fits[predicate].weights[place] += by;
                    objective.loss(&fits, 2.0)
                };
                let fired = fires[fits[predicate].taken[place]];
                let sum = |which: usize| {
                    fired.iter().map(|&at| derived[predicate][which][at as usize]).sum::<f64>()
                };
                let d = sum(0) + 2.0 * fits[predicate].weights[place];
                let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((d - difference).abs() < 1e-6, "{d} against {difference}");
                let second = (moved(1e-3) - 2.0 * moved(0.0) + moved(-1e-3)) / 1e-6;
                assert!((sum(1) + 2.0 - second).abs() < 1e-4, "{} against {second}", sum(1) + 2.0);
            }
        }
    }
}

//! Projected Adam: minimises over weights that are not below a limit. A fixed number of steps gives the same weights on any machine
//! that adds in the same order.

/// How fast the means of gradients and of their squares forget, and what keeps a division finite.
const MEANS: (f64, f64, f64) = (0.9, 0.99, 1e-8);

/// What is remembered of every weight: running means of its gradient and of the square.
pub(crate) struct ProjectedAdam {
    mean: Vec<f64>,
    square: Vec<f64>,
    /// No weight goes below.
    least: f64,
    /// What both means are short of in the present step, since they begin at 0.
    corrections: (f64, f64),
}

impl ProjectedAdam {
    /// A fresh memory for `count` weights of at least `least`.
    pub fn new(count: usize, least: f64) -> Self {
        ProjectedAdam { mean: vec![0.0; count], square: vec![0.0; count], least, corrections: (1.0, 1.0) }
    }

    /// Begins a step; they count from 1.
    pub fn begin(&mut self, step: i32) {
        self.corrections = (1.0 - MEANS.0.powi(step), 1.0 - MEANS.1.powi(step));
    }

    /// Moves weight `number` against its derivative `d`.
    pub fn step(&mut self, number: usize, weight: &mut f64, d: f64, rate: f64) {
        let (m, v) = self.corrections;
        let (mean, square) = (&mut self.mean[number], &mut self.square[number]);
        *mean = MEANS.0 * *mean + (1.0 - MEANS.0) * d;
        *square = MEANS.1 * *square + (1.0 - MEANS.1) * d * d;
        *weight = f64::max(*weight - rate * ((*mean / m) / ((*square / v).sqrt() + MEANS.2)), self.least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_ends_where_the_hill_does_or_at_nothing() {
        let (mut projected_adam, mut weights) = (ProjectedAdam::new(2, 0.0), [1.0, 1.0]);
        for step in 1..=300 {
            projected_adam.begin(step);
            for (number, bottom) in [0.3, -0.7].into_iter().enumerate() {
                let d = weights[number] - bottom;
                projected_adam.step(number, &mut weights[number], d, 0.1 * f64::from(301 - step) / 300.0);
            }
        }
        assert!((weights[0] - 0.3).abs() < 1e-3 && weights[1] == 0.0, "{weights:?}");
    }
}

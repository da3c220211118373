//! Means, spreads and slopes.

use serde::Serialize;

/// A mean and the standard deviation over runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation, with n − 1; 0 for a single run.
    pub deviation: f64,
    /// How many runs.
    pub runs: usize,
}

impl Spread {
    /// Of `values`; none where there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if values.len() < 2 { 0.0 } else { (squares / (count - 1.0)).sqrt() };
        Some(Spread { mean, deviation, runs: values.len() })
    }
}

/// The slope of the straight line of least squares through the logarithms: the exponent of growth.
///
/// None with fewer than two different sizes, or with a value that has no logarithm.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    if points.iter().any(|(x, y)| *x <= 0.0 || *y <= 0.0) {
        return None;
    }
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let (mean_x, mean_y) =
        (logs.iter().map(|p| p.0).sum::<f64>() / count, logs.iter().map(|p| p.1).sum::<f64>() / count);
    let square: f64 = logs.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    let product: f64 = logs.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    (square > 1e-12).then(|| product / square)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_the_mean_and_the_deviation_of_a_sample() {
        let spread = Spread::of(&[1.0, 2.0, 3.0, 4.0]).expect("four values");
        assert_eq!((spread.mean, spread.runs), (2.5, 4));
        assert!((spread.deviation - 1.290_994_448_7).abs() < 1e-9);
        assert_eq!(Spread::of(&[7.0]).expect("one value").deviation, 0.0);
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn the_slope_is_the_exponent_of_a_power() {
        let square: Vec<(f64, f64)> = [1.0, 2.0, 10.0, 50.0].map(|x: f64| (x, 3.0 * x * x)).to_vec();
        assert!((slope(&square).expect("a line") - 2.0).abs() < 1e-12);
        assert_eq!(slope(&[(1.0, 2.0)]), None);
        assert_eq!(slope(&[(2.0, 1.0), (2.0, 3.0)]), None);
        assert_eq!(slope(&[(1.0, 0.0), (2.0, 3.0)]), None);
    }
}

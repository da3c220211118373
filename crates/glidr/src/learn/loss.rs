//! The pairwise logistic loss and its derivative.

/// The loss of a batch of scores, positives before negatives, and its derivative by each score.
///
/// ```text
/// l = Σᵢ Σⱼ I[yᵢ > yⱼ] log(1 + exp(−(ŷᵢ − ŷⱼ)))            eq:pairwise_log_loss
/// ```
///
/// ```
/// use glidr::learn::pairwise_logistic;
/// let (loss, gradient) = pairwise_logistic(&[1.0, 0.0], 1);
/// assert!((loss - 0.313_262).abs() < 1e-6);
/// assert!(gradient[0] < 0.0 && gradient[1] > 0.0);
/// ```
pub fn pairwise_logistic(scores: &[f32], positives: usize) -> (f32, Vec<f32>) {
    let (mut loss, mut d_scores) = (0.0f64, vec![0.0f32; scores.len()]);
    for i in 0..positives {
        for j in positives..scores.len() {
            let lead = scores[i] - scores[j];
            let odds = (-lead).exp();
            loss += f64::from(odds.ln_1p());
            let d = odds / (1.0 + odds);
            d_scores[i] -= d;
            d_scores[j] += d;
        }
    }
    (loss as f32, d_scores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_derivative_agrees_with_a_finite_difference() {
        let scores = [0.9, 0.2, 0.4, 0.1, 0.6];
        let (_, d) = pairwise_logistic(&scores, 2);
        for place in 0..scores.len() {
            let at = |by: f32| {
                let mut other = scores;
                other[place] += by;
                pairwise_logistic(&other, 2).0
            };
            let slope = (at(1e-2) - at(-1e-2)) / 2e-2;
            assert!((d[place] - slope).abs() < 1e-3, "{} is not {slope}", d[place]);
        }
    }

    #[test]
    fn a_batch_of_one_kind_has_no_loss() {
        assert_eq!(pairwise_logistic(&[0.5, 0.7], 2), (0.0, vec![0.0, 0.0]));
    }
}

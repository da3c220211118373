//! The pairwise logistic loss and its derivative, and what any loss of some rules says of each.

/// The loss of a batch of scores, positives before negatives, and its derivative by each score.
///
/// ```text
/// l = Σᵢ Σⱼ I[yᵢ > yⱼ] log(1 + exp(−(ŷᵢ − ŷⱼ)))            eq:pairwise_log_loss
/// ```
///
/// ```
/// use glidr::internals::train::pairwise_logistic;
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

/// A loss of some rules' scores on one batch.
pub(crate) trait Objective {
    /// Whether a rule's derivative depends on the scores of others.
    fn is_joint(&self) -> bool;

    /// From the scores of all pairs, rule by rule, each rule's loss and the derivative of the whole by its scores.
    fn losses(&self, scores: &[Vec<f32>]) -> Vec<(f32, Vec<f32>)>;
}

/// How much of the loss is a rule's own, and how much is that of the sum of all.
///
/// ```text
/// l = own Σ_r l(ŷ_r)  +  together · l(Σ_r ŷ_r)
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pairwise {
    /// So many pairs, the first ones, are positives.
    pub positives: usize,
    pub own: f32,
    pub joint_loss: f32,
}

impl Objective for Pairwise {
    fn is_joint(&self) -> bool {
        self.joint_loss > 0.0
    }

    fn losses(&self, scores: &[Vec<f32>]) -> Vec<(f32, Vec<f32>)> {
        let sum = |pair: usize| scores.iter().map(|scores| scores[pair]).sum::<f32>();
        let d_sums = self.is_joint().then(|| {
            let sums: Vec<f32> = (0..scores.first().map_or(0, Vec::len)).map(sum).collect();
            pairwise_logistic(&sums, self.positives).1
        });
        let of_rule = |scores: &Vec<f32>| {
            let (loss, mut d_scores) = pairwise_logistic(scores, self.positives);
            for d in &mut d_scores {
                *d *= self.own;
            }
            for (d, d_sum) in d_scores.iter_mut().zip(d_sums.iter().flatten()) {
                *d += self.joint_loss * d_sum;
            }
            (loss, d_scores)
        };
        scores.iter().map(of_rule).collect()
    }
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
    fn the_derivative_of_a_shared_loss_agrees_with_a_finite_difference() {
        let scores = [vec![0.9, 0.2, 0.4, 0.1], vec![0.3, 0.5, 0.2, 0.7]];
        let pairwise = Pairwise { positives: 2, own: 0.3, joint_loss: 0.4 };
        let total = |scores: &[Vec<f32>; 2]| {
            let own: f32 = scores.iter().map(|scores| pairwise_logistic(scores, 2).0).sum();
            let sums: Vec<f32> = (0..4).map(|pair| scores[0][pair] + scores[1][pair]).collect();
            pairwise.own * own + pairwise.joint_loss * pairwise_logistic(&sums, 2).0
        };
        for (rule, (_, d)) in pairwise.losses(&scores).into_iter().enumerate() {
            for pair in 0..4 {
                let at = |by: f32| {
                    let mut other = scores.clone();
                    other[rule][pair] += by;
                    total(&other)
                };
                let slope = (at(1e-2) - at(-1e-2)) / 2e-2;
                assert!((d[pair] - slope).abs() < 1e-3, "{} is not {slope}", d[pair]);
            }
        }
    }

    #[test]
    fn a_batch_of_one_kind_has_no_loss() {
        assert_eq!(pairwise_logistic(&[0.5, 0.7], 2), (0.0, vec![0.0, 0.0]));
    }
}

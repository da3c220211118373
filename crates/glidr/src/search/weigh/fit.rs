//! Adam over the weights of rules, which may have to be at least 0; the score of a candidate is the sum of the weights of
//! its rules.

use crate::util::projected_adam::ProjectedAdam;

/// How the steps of a fit go.
pub(super) struct Steps<'a> {
    pub count: i32,
    /// The length of each.
    pub rate: &'a dyn Fn(i32) -> f64,
    /// Whether weights may be below 0.
    pub signed: bool,
    /// Whether the time is over: then a fit ends early.
    pub is_late: &'a dyn Fn() -> bool,
}

/// Steps of a fit from nothing.
pub(super) const STEPS: i32 = 100;
/// The first step's length; steps shorten towards the end.
const LEARNING_RATE: f64 = 0.1;
/// A fit has so many steps whatever the time.
const MIN_STEPS: i32 = 5;
/// A rule without weight that would get less is looked at every so many steps.
const LOOK: i32 = 10;

/// Fits weights, given the derivative of the loss by each candidate's score: from nothing, or on from weights that
/// are near already, by the last steps of a fit from nothing.
pub(super) fn fit(
    candidates: usize,
    rules: &[Vec<u32>],
    adjoint: &dyn Fn(&[f64], &mut [f64]),
    l2: f64,
    from: Option<&[f64]>,
    signed: bool,
    is_late: &dyn Fn() -> bool,
) -> Vec<f64> {
    let steps = if from.is_some() { STEPS * 2 / 5 } else { STEPS };
    let nothing = vec![0.0; rules.len()];
    let rate = |step: i32| LEARNING_RATE * f64::from(steps - step + 1) / f64::from(STEPS);
    let steps = Steps { count: steps, rate: &rate, signed, is_late };
    fit_on(candidates, rules, adjoint, l2, from.unwrap_or(&nothing), &steps)
}

/// The same by given steps.
pub(super) fn fit_on<F: AsRef<[u32]>>(
    candidates: usize,
    rules: &[F],
    adjoint: &dyn Fn(&[f64], &mut [f64]),
    l2: f64,
    from: &[f64],
    steps: &Steps,
) -> Vec<f64> {
    let mut weights = from.to_vec();
    let mut adam = ProjectedAdam::new(rules.len(), if steps.signed { f64::NEG_INFINITY } else { 0.0 });
    let (mut scores, mut d_scores) = (vec![0.0; candidates], vec![0.0; candidates]);
    let mut is_idle = vec![false; rules.len()];
    for step in 1..=steps.count {
        if step > MIN_STEPS && (steps.is_late)() {
            break;
        }
        adam.begin(step);
        add_up(rules, &weights, &mut scores);
        adjoint(&scores, &mut d_scores);
        let rate = (steps.rate)(step);
        for (number, fires) in rules.iter().enumerate() {
            if is_idle[number] && step % LOOK != 0 {
                continue;
            }
            let d = sum_at(&d_scores, fires.as_ref()) + l2 * weights[number];
            adam.step(number, &mut weights[number], d, rate);
            is_idle[number] = !steps.signed && weights[number] == 0.0 && d >= 0.0;
        }
    }
    weights
}

/// The sum of the values at some places, in several sums side by side that need not wait for each other.
fn sum_at(values: &[f64], places: &[u32]) -> f64 {
    let (groups, rest) = places.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for group in groups {
        for (sum, &place) in sums.iter_mut().zip(group) {
            *sum += values[place as usize];
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|&place| values[place as usize]).sum::<f64>()
}

/// The score of every candidate.
pub(in crate::search) fn scores<F: AsRef<[u32]>>(
    candidates: usize,
    rules: &[F],
    weights: &[f64],
) -> Vec<f64> {
    let mut scores = vec![0.0; candidates];
    add_up(rules, weights, &mut scores);
    scores
}

fn add_up<F: AsRef<[u32]>>(rules: &[F], weights: &[f64], scores: &mut [f64]) {
    scores.fill(0.0);
    for (fires, &weight) in rules.iter().zip(weights).filter(|(_, weight)| **weight != 0.0) {
        for &candidate in fires.as_ref() {
            scores[candidate as usize] += weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_side_by_side_are_the_plain_sum() {
        let values: Vec<f64> = (0..100).map(|n| f64::from(n * n % 37) - 11.0).collect();
        for count in [0, 1, 7, 8, 9, 64, 99] {
            let places: Vec<u32> = (0..count).map(|n| n * 7 % 100).collect();
            assert_eq!(sum_at(&values, &places), places.iter().map(|&p| values[p as usize]).sum::<f64>());
        }
    }
}

//! Weights for the rules of one target, fitted so that true answers stand before others.
//!
//! In: for each rule the pairs it fires on, and which pairs are true. Out: a weight of at least 0 for
//! each rule. The score of a pair is the sum of the weights of its rules.

use super::universe::Universe;
use crate::util::projected_adam::ProjectedAdam;

/// Steps of a fit from nothing.
pub(super) const STEPS: i32 = 150;
/// The first step's length; steps shorten towards the end.
const RATE: f64 = 0.1;

/// Fits the weights.
///
/// ```text
/// minimise  − Σ ln σ(s⁺ ∥ row) − Σ ln σ(s⁺ ∥ column) + l2/2 Σ w²,   w ≥ 0,
/// σ(s⁺ ∥ line) = e^s⁺ / (e^s⁺ + Σ e^s over the line's pairs that are not true)
/// ```
///
/// Each true pair stands once against its row (other tails) and once against its column (other heads),
/// as it does when it is ranked. The problem is convex.
pub(super) fn fit(universe: &Universe, rules: &[&[u32]], truth: &Truth, l2: f64) -> Vec<f64> {
    let d_scores = |scores: &[f64], d: &mut [f64]| d.copy_from_slice(&truth.d_scores(universe, scores));
    descend(universe.len(), rules, &d_scores, Descent { l2, from: None, steps: STEPS, look: 1 })
}

/// How to go down.
pub(super) struct Descent<'a> {
    pub l2: f64,
    /// From nothing, or on from weights that are near already.
    pub from: Option<&'a [f64]>,
    /// Steps: the last so many of a fit from nothing.
    pub steps: i32,
    /// A rule without weight that would get less is looked at every so many steps.
    pub look: i32,
}

/// Projected Adam, given the derivative of the loss by each place's score.
pub(super) fn descend(
    places: usize,
    rules: &[&[u32]],
    d_scores_of: &dyn Fn(&[f64], &mut [f64]),
    Descent { l2, from, steps, look }: Descent,
) -> Vec<f64> {
    let mut weights = from.map_or_else(|| vec![0.0; rules.len()], <[f64]>::to_vec);
    let mut projected_adam = ProjectedAdam::new(rules.len());
    let (mut scores, mut d_scores) = (vec![0.0; places], vec![0.0; places]);
    let mut is_idle = vec![false; rules.len()];
    for step in 1..=steps {
        add_up(rules, &weights, &mut scores);
        d_scores_of(&scores, &mut d_scores);
        let rate = RATE * f64::from(steps - step + 1) / f64::from(STEPS);
        for (number, fires) in rules.iter().enumerate() {
            if is_idle[number] && step % look != 0 {
                continue;
            }
            let d = sum_at(&d_scores, fires) + l2 * weights[number];
            projected_adam.step(number, &mut weights[number], d, step, rate);
            is_idle[number] = weights[number] == 0.0 && d >= 0.0;
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

/// The sum of weights at every place.
pub(super) fn scores(places: usize, rules: &[&[u32]], weights: &[f64]) -> Vec<f64> {
    let mut scores = vec![0.0; places];
    add_up(rules, weights, &mut scores);
    scores
}

fn add_up(rules: &[&[u32]], weights: &[f64], scores: &mut [f64]) {
    scores.fill(0.0);
    for (fires, &weight) in rules.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
        for &pair in *fires {
            scores[pair as usize] += weight;
        }
    }
}

/// Which pairs are true, inside the universe and outside of it.
#[derive(Clone)]
pub(super) struct Truth {
    /// For every pair of the universe whether it is true.
    pub inside: Vec<bool>,
    /// For every pair of the universe whether it may well be true though nothing says so: it is no rival.
    masked_negatives: Vec<bool>,
    /// True pairs that no rule fires on.
    pub outside: Vec<(u32, u32)>,
}

impl Truth {
    pub fn new(universe: &Universe, pairs: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut truth = Truth {
            inside: vec![false; universe.len()],
            masked_negatives: vec![false; universe.len()],
            outside: Vec::new(),
        };
        for pair in pairs {
            match universe.find(pair) {
                Some(place) => truth.inside[place] = true,
                None => truth.outside.push(pair),
            }
        }
        truth
    }

    /// The same, but the `most` pairs of highest score that are not known to be true are no rivals.
    /// Some facts are missing from any data, and a pair that many rules agree on may be one of them.
    pub fn masking(&self, scores: &[f64], most: usize) -> Self {
        let mut order: Vec<usize> =
            (0..scores.len()).filter(|&place| !self.inside[place] && scores[place] > 0.0).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
        let mut truth = self.clone();
        order.into_iter().take(most).for_each(|place| truth.masked_negatives[place] = true);
        truth
    }

    fn is_negative(&self, place: usize) -> bool {
        !self.inside[place] && !self.masked_negatives[place]
    }

    /// The derivative of the loss by each score.
    fn d_scores(&self, universe: &Universe, scores: &[f64]) -> Vec<f64> {
        let powers: Vec<f64> = scores.iter().map(|score| score.min(500.0).exp()).collect();
        let mut d_scores = vec![0.0; scores.len()];
        for line_of in [|pair: (u32, u32)| pair.0 as usize, |pair: (u32, u32)| pair.1 as usize] {
            // Pairs that no rule fires on have score 0, hence power 1.
            let mut others = vec![universe.entities as f64; universe.entities];
            for (place, &pair) in universe.pairs.iter().enumerate() {
                others[line_of(pair)] += if self.is_negative(place) { powers[place] - 1.0 } else { -1.0 };
            }
            for &pair in &self.outside {
                others[line_of(pair)] -= 1.0;
            }
            let mut pull = vec![0.0; universe.entities];
            for &pair in &self.outside {
                pull[line_of(pair)] += 1.0 / (1.0 + others[line_of(pair)]);
            }
            for (place, &pair) in universe.pairs.iter().enumerate().filter(|(place, _)| self.inside[*place]) {
                let sum = powers[place] + others[line_of(pair)];
                pull[line_of(pair)] += 1.0 / sum;
                d_scores[place] += powers[place] / sum - 1.0;
            }
            for (place, &pair) in
                universe.pairs.iter().enumerate().filter(|(place, _)| self.is_negative(*place))
            {
                d_scores[place] += powers[place] * pull[line_of(pair)];
            }
        }
        d_scores
    }

    #[cfg(test)]
    fn loss(&self, universe: &Universe, scores: &[f64]) -> f64 {
        let score = |pair| universe.find(pair).map_or(0.0, |place| scores[place]);
        let is_true =
            |pair| self.outside.contains(&pair) || universe.find(pair).is_some_and(|p| self.inside[p]);
        let is_doubted = |pair| universe.find(pair).is_some_and(|place| self.masked_negatives[place]);
        let n = universe.entities as u32;
        let all: Vec<(u32, u32)> = (0..n).flat_map(|h| (0..n).map(move |t| (h, t))).collect();
        let mut loss = 0.0;
        for &(head, tail) in all.iter().filter(|pair| is_true(**pair)) {
            for same in [|a: (u32, u32), b: (u32, u32)| a.0 == b.0, |a: (u32, u32), b: (u32, u32)| a.1 == b.1]
            {
                let negatives = all
                    .iter()
                    .filter(|pair| same(**pair, (head, tail)) && !is_true(**pair) && !is_doubted(**pair));
                let sum: f64 = negatives.map(|&pair| score(pair).exp()).sum();
                let own = score((head, tail)).exp();
                loss -= (own / (own + sum)).ln();
            }
        }
        loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> (Universe, Truth) {
        let universe = Universe::new(4, vec![(0, 1), (0, 2), (1, 1), (2, 3), (3, 3), (3, 0)]);
        let truth = Truth::new(&universe, [(0, 1), (2, 3), (3, 2), (1, 1)].into_iter());
        (universe, truth)
    }

    #[test]
    fn the_derivative_agrees_with_a_finite_difference() {
        let (universe, truth) = small();
        let scores = [0.5, 0.2, 1.5, 0.0, 0.7, 0.1];
        let truth = truth.masking(&scores, 1);
        assert_eq!(truth.masked_negatives, [false, false, false, false, true, false]);
        let d = truth.d_scores(&universe, &scores);
        for place in 0..scores.len() {
            let moved = |by: f64| {
                let mut scores = scores;
                scores[place] += by;
                truth.loss(&universe, &scores)
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((d[place] - difference).abs() < 1e-6, "{place}: {} against {difference}", d[place]);
        }
    }

    #[test]
    fn sums_side_by_side_are_the_plain_sum() {
        let values: Vec<f64> = (0..100).map(|n| f64::from(n * n % 37) - 11.0).collect();
        for count in [0, 1, 7, 8, 9, 64, 99] {
            let places: Vec<u32> = (0..count).map(|n| n * 7 % 100).collect();
            assert_eq!(sum_at(&values, &places), places.iter().map(|&p| values[p as usize]).sum::<f64>());
        }
    }

    #[test]
    fn a_rule_that_finds_the_truth_gets_weight_and_one_that_misses_it_none() {
        let (universe, truth) = small();
        let weights = fit(&universe, &[&[0, 2, 3], &[1, 4, 5]], &truth, 1.0);
        assert!(weights[0] > 0.3 && weights[1] == 0.0, "{weights:?}");
    }
}

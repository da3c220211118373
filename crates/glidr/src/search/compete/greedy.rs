//! Greedy selection for predicates that compete: round by round every predicate takes the rules that promise most.
//!
//! In: the examples that every rule fires on. Out: for each predicate few rules, with weights of either sign fitted
//! together: on *train*, and on *train* and *valid*.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use rayon::prelude::*;

use super::examples::Examples;
pub(in crate::search) use super::objective::Fit;
use super::objective::Objective;
use crate::search::weigh::simplicity;
use crate::util::progress::Progress;
use crate::util::projected_adam::ProjectedAdam;

/// The L2 strength.
const L2: f64 = 10.0;
/// A rule that promises less is not taken.
const MIN_GAIN: f64 = 0.2;
/// In the first rounds one rule is taken, then in each a part of those that are there.
const FIRST_ROUNDS: i32 = 10;
const PART: usize = 10;
/// Every so many rounds all rules are looked at again: what one promises may grow, but seldom does.
const LOOK: i32 = 6;
/// Rules of a predicate, at most, where there is no limit.
const MAX_TAKEN: usize = 100;
/// After each round weights are fitted by so many steps of this length; at the end by so many that shorten.
const STEPS: (i32, f64) = (25, 0.05);
const LAST_STEPS: (i32, f64) = (200, 0.05);

/// A rule that any predicate may take.
pub(super) struct Offer<'a> {
    /// The examples that it fires on.
    pub fires: &'a [u32],
    /// Whether its body links X and Y; else it is a prior.
    pub is_linked: bool,
    /// Its literals.
    pub literals: usize,
}

/// Takes at most `max_rules` linked rules for each predicate and as many priors. The weights as fitted on *train*, and on
/// *train* and *valid*. A stopped `progress` ends it with what there is.
pub(super) fn take_together(
    offers: &[Offer],
    examples: &Examples,
    predicates: usize,
    max_rules: usize,
    progress: &dyn Progress,
) -> [Vec<Fit>; 2] {
    let labels: Vec<u32> = examples.facts.iter().map(|fact| fact.predicate.0).collect();
    let from_train: Vec<bool> = examples.from_valid.iter().map(|valid| !valid).collect();
    let fires: Vec<&[u32]> = offers.iter().map(|offer| offer.fires).collect();
    let train = Objective { fires: &fires, labels: &labels, counts: &from_train };
    let mut fits = vec![Fit::default(); predicates];
    train.fit(&mut fits, LAST_STEPS);
    let (promised, fired) = (vec![f64::INFINITY; offers.len()], HashSet::new());
    let start = Taking { promised, fired, left: [max_rules.min(MAX_TAKEN); 2] };
    let mut taking = vec![start; predicates];
    for round in 0.. {
        let before: usize = fits.iter().map(|fit| fit.taken.len()).sum();
        let derived = train.derive(&fits);
        fits.par_iter_mut().zip(&mut taking).zip(&derived).for_each(|((fit, taking), derived)| {
            let count = if round < FIRST_ROUNDS { 1 } else { 1 + fit.taken.len() / PART };
            if round % LOOK == 0 {
                taking.promised.fill(f64::INFINITY);
            }
            taking.take(fit, count, offers, derived);
        });
        train.fit(&mut fits, STEPS);
        let is_over = fits.iter().map(|fit| fit.taken.len()).sum::<usize>() == before;
        if is_over || progress.is_stopped() {
            break;
        }
    }
    train.fit(&mut fits, LAST_STEPS);
    let all = Objective { counts: &vec![true; labels.len()], ..train };
    let mut with_valid = fits.clone();
    all.fit(&mut with_valid, LAST_STEPS);
    [fits, with_valid]
}

/// What one predicate may yet take.
#[derive(Clone)]
struct Taking<'a> {
    /// What every rule promised when it was looked at last.
    promised: Vec<f64>,
    /// The examples that rules fire on that were taken.
    fired: HashSet<&'a [u32]>,
    /// How many priors and how many linked rules.
    left: [usize; 2],
}

impl<'a> Taking<'a> {
    /// Takes the rules that promise most, given the derivatives of the loss. A rule is looked at again when it comes first.
    fn take(&mut self, fit: &mut Fit, count: usize, offers: &[Offer<'a>], derived: &[Vec<f64>; 2]) {
        // Gains are not negative, so their bits sort alike. Of equals the linked one comes first, then the simplest.
        let entry = |gain: f64, feature: usize, step: Option<f64>| {
            let Offer { is_linked, literals, .. } = offers[feature];
            (gain.to_bits(), is_linked, Reverse(literals), Reverse(feature), step.map(f64::to_bits))
        };
        let promised = self.promised.iter().enumerate().filter(|(_, promised)| **promised >= MIN_GAIN);
        let mut waiting: BinaryHeap<_> =
            promised.map(|(feature, &promised)| entry(promised, feature, None)).collect();
        let enough = fit.taken.len() + count;
        while fit.taken.len() < enough {
            let Some((.., Reverse(feature), step)) = waiting.pop() else { break };
            let Offer { fires, is_linked, .. } = offers[feature];
            let left = &mut self.left[usize::from(is_linked)];
            if *left == 0 || self.fired.contains(fires) {
                continue;
            }
            if let Some(step) = step.map(f64::from_bits) {
                *left -= 1;
                self.fired.insert(fires);
                fit.taken.push(feature);
                fit.weights.push(step);
            } else {
                let (gain, step) = offers[feature].promise(derived);
                self.promised[feature] = gain;
                waiting.extend((gain >= MIN_GAIN).then(|| entry(gain, feature, Some(step))));
            }
        }
    }
}

impl Offer<'_> {
    /// By how much a Newton step of this rule alone lowers the loss, and the step.
    ///
    /// ```text
    /// step = − d / (dd + l2),   gain = step · |d| / 2,   d and dd summed over the examples it fires on
    /// ```
    fn promise(&self, [d, dd]: &[Vec<f64>; 2]) -> (f64, f64) {
        let (mut first, mut second) = (0.0, L2);
        for &at in self.fires {
            first += d[at as usize];
            second += dd[at as usize];
        }
        (first * first / second / 2.0 * simplicity(self.literals), -first / second)
    }
}

impl Objective<'_> {
    /// Fits all weights on, by so many steps of this length; those of a last fit shorten.
    fn fit(&self, fits: &mut [Fit], (steps, rate): (i32, f64)) {
        let mut adams: Vec<ProjectedAdam> =
            fits.iter().map(|fit| ProjectedAdam::new(fit.taken.len() + 1, f64::NEG_INFINITY)).collect();
        for step in 1..=steps {
            let derived = self.derive(fits);
            let rate = rate * f64::from(steps - step + 1) / f64::from(steps);
            fits.par_iter_mut().zip(&mut adams).zip(&derived).for_each(|((fit, adam), [d, _])| {
                adam.begin(step);
                adam.step(fit.taken.len(), &mut fit.bias, d.iter().sum(), rate);
                for (number, (&feature, weight)) in fit.taken.iter().zip(&mut fit.weights).enumerate() {
                    let fires = self.fires[feature];
                    let d = fires.iter().map(|&at| d[at as usize]).sum::<f64>() + L2 * *weight;
                    adam.step(number, weight, d, rate);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Triple;

    /// 40 pairs of two predicates, a quarter of them from *valid*.
    fn examples() -> Examples {
        let facts = (0..40).map(|n| Triple::new(n, n % 2, n + 1)).collect();
        Examples { facts, from_valid: (0..40).map(|n| n % 4 == 3).collect() }
    }

    fn offer(fires: &[u32], is_linked: bool, literals: usize) -> Offer<'_> {
        Offer { fires, is_linked, literals }
    }

    #[test]
    fn what_holds_for_one_predicate_speaks_for_it_and_against_the_other() {
        let firsts: Vec<u32> = (0..40).step_by(2).collect();
        let any: Vec<u32> = (0..40).step_by(3).collect();
        let offers = [
            offer(&any, true, 1),
            offer(&firsts, false, 1),
            offer(&firsts, true, 2),
            offer(&firsts, true, 3),
        ];
        for fits in take_together(&offers, &examples(), 2, 9, &()) {
            // Of features that fire on the same examples the simplest linked one is taken.
            assert!(fits.iter().all(|fit| fit.taken.first() == Some(&2)), "{fits:?}");
            assert!(fits[0].weights[0] > 0.3 && fits[1].weights[0] < -0.3, "{fits:?}");
            assert!(fits.iter().all(|fit| !fit.taken.contains(&1) && !fit.taken.contains(&3)), "{fits:?}");
        }
    }

    #[test]
    fn valid_is_not_looked_at_before_the_last_fit() {
        let mut others = examples();
        let mirrored = |(fact, valid): (&mut Triple, &bool)| fact.predicate.0 ^= u32::from(*valid);
        others.facts.iter_mut().zip(&others.from_valid).for_each(mirrored);
        let firsts: Vec<u32> = (0..40).step_by(2).collect();
        let offers = [offer(&firsts, true, 1)];
        let [one, other] = [examples(), others].map(|examples| take_together(&offers, &examples, 2, 9, &()));
        assert_eq!(one[0], other[0]);
        assert_ne!(one[1], other[1]);
    }

    #[test]
    fn no_more_rules_and_no_more_priors_are_taken_than_asked_for() {
        let some: Vec<Vec<u32>> =
            (0..12).map(|n| (0..40).filter(|at| at % 2 == 0 && at % 13 != n).collect()).collect();
        let offers: Vec<Offer> =
            some.iter().enumerate().map(|(n, fires)| offer(fires, n % 2 == 0, 1)).collect();
        let [fits, _] = take_together(&offers, &examples(), 2, 1, &());
        for fit in fits {
            let linked = fit.taken.iter().filter(|&&taken| offers[taken].is_linked).count();
            assert!(linked <= 1 && fit.taken.len() - linked <= 1 && !fit.taken.is_empty(), "{fit:?}");
        }
    }
}

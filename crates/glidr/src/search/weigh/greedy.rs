//! Greedy selection: the few rules that together rank the training queries best.
//!
//! In: the candidates that every rule fires on. Out: the rules that are taken, one after the other: each promises, beside
//! those before it, to lower the loss most.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};

use super::fit::{Steps, fit_on, scores};
use super::objective::Objective;
use crate::graph::Direction;
use crate::search::evaluate::QuerySample;
use crate::util::listwise::listwise_adjoint;
use crate::util::progress::{Budget, Progress};

/// The L2 strength while rules are taken: a rule of little support promises little.
const L2: f64 = 10.0;
/// What the gain of a rule counts for each literal beyond the second.
const PER_LITERAL: f64 = 0.6;
/// A rule that promises less is not taken.
const MIN_GAIN: f64 = 0.1;
/// All weights so far are fitted by so many steps of this length after each rule.
const STEPS: (i32, f64) = (10, 0.05);
/// After so many rules, only every such time: a rule changes little then.
const FIRST_FITS: (usize, usize) = (8, 4);
/// Of the training queries so many candidates are looked at in one direction.
const MAX_CANDIDATES: usize = 200_000;
/// No weight starts higher.
const MAX_START: f64 = 3.0;

/// A rule that may be taken.
pub(in crate::search) struct Offer<'a> {
    /// The candidates that it fires on.
    pub fires: &'a [u32],
    /// Whether its body links X and Y; else it is a prior.
    pub is_linked: bool,
    /// Its literals: of rules that fire on the same candidates the simplest is taken.
    pub literals: usize,
}

/// What the gain of a rule of so many literals counts: a longer rule fits by chance more easily, and is harder to read.
pub(in crate::search) fn simplicity(literals: usize) -> f64 {
    (2..literals).map(|_| PER_LITERAL).product()
}

/// Takes at most `max_rules` linked rules and as many priors, with weights of at least 0 or of either sign, no two of which
/// fire on the same candidates; their places, in the order they are taken. When the time is over, the others are taken in the order of what they promised last.
pub(in crate::search) fn take_greedily(
    offers: &[Offer],
    sample: &QuerySample,
    max_rules: usize,
    signed: bool,
    budget: &Budget,
) -> Vec<usize> {
    let fires: Vec<&[u32]> = offers.iter().map(|offer| offer.fires).collect();
    let mut fits = Direction::BOTH
        .map(|direction| Fit::new(Objective::of_some(MAX_CANDIDATES, sample, &fires, direction), signed));
    let promise = |fits: &[Fit; 2], rule: usize, round: usize| Promise {
        gain: simplicity(offers[rule].literals) * fits.iter().map(|fit| fit.step(rule).1).sum::<f64>(),
        simplicity: (offers[rule].is_linked, usize::MAX - offers[rule].literals),
        rule,
        round,
    };
    let mut waiting: BinaryHeap<Promise> = (0..offers.len()).map(|rule| promise(&fits, rule, 0)).collect();
    let (mut taken, mut fired): (Vec<usize>, HashSet<&[u32]>) = (Vec::new(), HashSet::new());
    let mut left = [max_rules; 2];
    while let Some(best) = waiting.pop().filter(|best| best.gain >= MIN_GAIN) {
        let left = &mut left[usize::from(offers[best.rule].is_linked)];
        if *left == 0 || fired.contains(fires[best.rule]) {
            continue;
        }
        let is_late = budget.is_stopped();
        if best.round < taken.len() && !is_late {
            waiting.push(promise(&fits, best.rule, taken.len()));
            continue;
        }
        *left -= 1;
        taken.push(best.rule);
        fired.insert(fires[best.rule]);
        if !is_late {
            for fit in &mut fits {
                fit.take(&taken);
            }
        }
    }
    taken
}

/// What a rule promised when so many rules were taken. It is looked at again when it comes first.
struct Promise {
    gain: f64,
    simplicity: (bool, usize),
    rule: usize,
    round: usize,
}

impl Ord for Promise {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_gain = self.gain.total_cmp(&other.gain).then(self.simplicity.cmp(&other.simplicity));
        by_gain.then(other.rule.cmp(&self.rule))
    }
}

impl PartialOrd for Promise {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Promise {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Promise {}

/// The rules taken so far, in one direction.
struct Fit {
    objective: Objective,
    weights: Vec<f64>,
    /// First and second derivative of the loss by the score of each candidate.
    d_scores: Vec<f64>,
    dd_scores: Vec<f64>,
    masked: Vec<bool>,
    /// Whether weights may be below 0.
    signed: bool,
}

impl Fit {
    fn new(objective: Objective, signed: bool) -> Self {
        let none = vec![0.0; objective.candidates];
        let masked = vec![false; objective.candidates];
        let (weights, d_scores) = (Vec::new(), none.clone());
        let mut fit = Fit { objective, weights, d_scores, dd_scores: none, masked, signed };
        fit.derive(&[]);
        fit
    }

    /// A Newton step of one rule alone from weight 0, and by how much it lowers the loss.
    ///
    /// ```text
    /// step = − d / (dd + L2),   gain = step · |d| / 2,   d and dd summed over the candidates it fires on
    /// ```
    fn step(&self, rule: usize) -> (f64, f64) {
        let (mut d, mut dd) = (0.0, L2);
        for &candidate in &self.objective.fires[rule] {
            d += self.d_scores[candidate as usize];
            dd += self.dd_scores[candidate as usize];
        }
        let least = if self.signed { f64::NEG_INFINITY } else { 0.0 };
        let step = f64::max(-d / dd, least);
        (step, -0.5 * step * d)
    }

    /// Gives the rule that was taken last its weight, and fits all.
    fn take(&mut self, taken: &[usize]) {
        self.weights.extend(taken.last().map(|&last| self.step(last).0.clamp(-MAX_START, MAX_START)));
        if taken.len() <= FIRST_FITS.0 || taken.len().is_multiple_of(FIRST_FITS.1) {
            let fires = self.objective.fires_of(taken);
            let queries = &self.objective.queries;
            let adjoint = |scores: &[f64], d: &mut [f64]| listwise_adjoint(queries, &self.masked, scores, d);
            let (steps, rate) = STEPS;
            let how = Steps { count: steps, rate: &|_| rate, signed: self.signed, is_late: &|| false };
            self.weights = fit_on(self.objective.candidates, &fires, &adjoint, L2, &self.weights, &how);
        }
        self.derive(taken);
    }

    /// Derives the loss: a softmax's second derivative by one score is p (1 − p).
    fn derive(&mut self, taken: &[usize]) {
        let fires = self.objective.fires_of(taken);
        let scores = scores(self.objective.candidates, &fires, &self.weights);
        listwise_adjoint(&self.objective.queries, &self.masked, &scores, &mut self.d_scores);
        for query in &self.objective.queries {
            for at in query.answers.clone() {
                let p = 1.0 + self.d_scores[at];
                self.dd_scores[at] = p * (1.0 - p);
            }
            for at in query.negatives.clone() {
                // Its mean p over the answers that it competes with.
                let p = self.d_scores[at] / query.answers.len() as f64;
                self.dd_scores[at] = self.d_scores[at] * (1.0 - p);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::evaluate::Label;
    use crate::search::evaluate::test_samples::small_sample;

    /// The candidates that are answers, and all others.
    fn answers_and_others(sample: &QuerySample) -> [Vec<u32>; 2] {
        let all = 0..sample.labels.len() as u32;
        let is_answer = |&candidate: &u32| sample.labels[candidate as usize] == Label::Answer;
        let (answers, others) = all.partition(is_answer);
        [answers, others]
    }

    fn unlimited() -> Budget<'static> {
        Budget::new(&(), None)
    }

    fn offer(fires: &[u32], is_linked: bool, literals: usize) -> Offer<'_> {
        Offer { fires, is_linked, literals }
    }

    #[test]
    fn the_rule_that_finds_all_answers_comes_first_and_one_that_finds_none_never() {
        let sample = small_sample();
        let [answers, others] = answers_and_others(&sample);
        let half = &answers[..answers.len() / 2];
        let offers = [offer(&others, true, 1), offer(half, true, 1), offer(&answers, true, 2)];
        let taken = take_greedily(&offers, &sample, 9, false, &unlimited());
        assert_eq!(taken.first(), Some(&2));
        assert!(!taken.contains(&0));
    }

    #[test]
    fn a_rule_that_misses_all_answers_speaks_against_where_it_may() {
        let sample = small_sample();
        let [_, others] = answers_and_others(&sample);
        let step =
            |signed| Fit::new(Objective::of_some(99, &sample, &[&others], Direction::Tail), signed).step(0);
        assert_eq!(step(false), (0.0, 0.0));
        assert!(step(true).0 < 0.0 && step(true).1 > 0.0);
    }

    #[test]
    fn of_rules_with_the_same_answers_the_simplest_linked_one_is_taken() {
        let sample = small_sample();
        let [answers, _] = answers_and_others(&sample);
        let offers = [offer(&answers, false, 1), offer(&answers, true, 3), offer(&answers, true, 2)];
        assert_eq!(take_greedily(&offers, &sample, 9, false, &unlimited()), [2]);
    }

    #[test]
    fn no_more_rules_and_no_more_priors_are_taken_than_asked_for() {
        let sample = small_sample();
        let [answers, _] = answers_and_others(&sample);
        let some: Vec<&[u32]> = (0..answers.len()).map(|n| &answers[n..]).collect();
        let offers: Vec<Offer> =
            some.iter().enumerate().map(|(n, fires)| offer(fires, n % 2 == 0, 1)).collect();
        let taken = take_greedily(&offers, &sample, 1, false, &unlimited());
        let linked = taken.iter().filter(|&&rule| offers[rule].is_linked).count();
        assert!(linked <= 1 && taken.len() - linked <= 1 && !taken.is_empty(), "{taken:?}");
    }
}

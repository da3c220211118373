//! The queries of one direction as weights are fitted to them.
//!
//! In: a sample's candidates. Out: weights of rules for that direction. Candidates are numbered anew, so that those of
//! one query lie side by side: answers first, then negatives.

use super::fit::{fit, scores};
use crate::graph::Direction;
use crate::rule::Weight;
use crate::search::WeightFit;
use crate::search::evaluate::{Label, QuerySample};
use crate::util::listwise::{ListwiseQuery, listwise_adjoint};
use crate::util::progress::{Budget, Progress};

/// All queries that weights for one direction are fitted to.
pub(super) struct Objective {
    pub queries: Vec<ListwiseQuery>,
    /// Answers of each query that may be missing from the data.
    missing: Vec<usize>,
    pub candidates: usize,
    /// The candidates that every rule fires on.
    pub fires: Vec<Vec<u32>>,
}

impl Objective {
    /// The training queries, or these with those of *valid*.
    pub fn new(sample: &QuerySample, fires: &[&[u32]], direction: Direction, with_valid: bool) -> Self {
        Objective::of_every(1, sample, fires, direction, with_valid)
    }

    /// Of the training queries one in several, so that there are about so many candidates at most.
    pub fn of_some(
        max_candidates: usize,
        sample: &QuerySample,
        fires: &[&[u32]],
        direction: Direction,
    ) -> Self {
        let queries = sample.training().filter(|(_, query)| query.direction == direction);
        let candidates: usize = queries.map(|(_, query)| query.candidates.len()).sum();
        Objective::of_every(candidates.div_ceil(max_candidates).max(1), sample, fires, direction, false)
    }

    fn of_every(
        stride: usize,
        sample: &QuerySample,
        fires: &[&[u32]],
        direction: Direction,
        with_valid: bool,
    ) -> Self {
        let (mut queries, mut missing, mut candidates) = (Vec::new(), Vec::new(), 0);
        let mut numbers = vec![u32::MAX; sample.labels.len()];
        let mut is_fired = vec![false; sample.labels.len()];
        fires.iter().copied().flatten().for_each(|&candidate| is_fired[candidate as usize] = true);
        let counts = |from_valid: bool| with_valid || !from_valid;
        let asked = sample.queries.iter().filter(|q| q.direction == direction && counts(q.from_valid));
        for query in asked.step_by(stride) {
            let mut number = |counts: &dyn Fn(usize) -> bool| {
                let first = candidates;
                let labelled = query.candidates.iter().map(|&(_, candidate)| candidate as usize);
                for candidate in labelled.filter(|&candidate| counts(candidate)) {
                    numbers[candidate] = candidates as u32;
                    candidates += 1;
                }
                first..candidates
            };
            let answers = number(&|candidate| sample.labels[candidate] == Label::Answer);
            let is_negative =
                |label| label == Label::Negative || (label == Label::ValidAnswer && !with_valid);
            let negatives = number(&|candidate| is_negative(sample.labels[candidate]) && is_fired[candidate]);
            // Negatives on which no rule fires have score 0, whatever the weights.
            let of_query = query.candidates.iter().map(|&(_, candidate)| candidate as usize);
            let idle = of_query
                .filter(|&candidate| is_negative(sample.labels[candidate]) && !is_fired[candidate])
                .count();
            let uncovered = (sample.uncovered(query) + idle) as f64;
            queries.push(ListwiseQuery { answers, negatives, uncovered });
            missing.push(sample.missing(query, with_valid));
        }
        let renumber = |fires: &&[u32]| {
            let mut fires: Vec<u32> = fires.iter().map(|&candidate| numbers[candidate as usize]).collect();
            fires.retain(|&candidate| candidate != u32::MAX);
            fires.sort_unstable();
            fires
        };
        Objective { queries, missing, candidates, fires: fires.iter().map(renumber).collect() }
    }

    /// The candidates that some of the rules fire on.
    pub fn fires_of(&self, rules: &[usize]) -> Vec<&[u32]> {
        rules.iter().map(|&rule| self.fires[rule].as_slice()).collect()
    }

    /// Weights for L2 strengths from the strongest to the weakest, each on from those before, of at least 0 or of either sign:
    /// without false-negative
    /// masking, and on from these with it.
    fn path(&self, l2s: &[f64], signed: bool, budget: &Budget) -> Vec<[Vec<f64>; 2]> {
        let mut path: Vec<[Vec<f64>; 2]> = Vec::new();
        for &l2 in l2s {
            let how = |masking| WeightFit { l2, masking, signed };
            let plain = self.fit(how(false), path.last().map(|[plain, _]| plain.as_slice()), budget);
            let masks = self.missing.iter().any(|&missing| missing > 0);
            let masking = if masks { self.fit(how(true), Some(&plain), budget) } else { plain.clone() };
            path.push([plain, masking]);
        }
        path
    }

    /// Weights from nothing or on from others; a fit with masking needs these others.
    fn fit(&self, how: WeightFit, from: Option<&[f64]>, budget: &Budget) -> Vec<f64> {
        let masked = match from {
            Some(from) if how.masking => self.masked(&scores(self.candidates, &self.fires, from)),
            _ => vec![false; self.candidates],
        };
        let adjoint = |scores: &[f64], d: &mut [f64]| listwise_adjoint(&self.queries, &masked, scores, d);
        let is_late = || budget.is_stopped();
        fit(self.candidates, &self.fires, &adjoint, how.l2, from, how.signed, &is_late)
    }

    /// The same queries with some of the rules alone, while `work` uses them.
    fn of_rules<T>(&mut self, rules: &[usize], work: impl FnOnce(&Objective) -> T) -> T {
        let some = rules.iter().map(|&rule| std::mem::take(&mut self.fires[rule])).collect();
        let all = std::mem::replace(&mut self.fires, some);
        let done = work(self);
        let some = std::mem::replace(&mut self.fires, all);
        rules.iter().zip(some).for_each(|(&rule, fires)| self.fires[rule] = fires);
        done
    }

    /// False-negative masking: of each query as many of the likeliest negatives as answers may be missing there.
    fn masked(&self, scores: &[f64]) -> Vec<bool> {
        let mut masked = vec![false; self.candidates];
        for (query, &missing) in self.queries.iter().zip(&self.missing).filter(|(_, missing)| **missing > 0) {
            let mut likely: Vec<usize> = query.negatives.clone().filter(|&at| scores[at] > 0.0).collect();
            likely.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
            likely.into_iter().take(missing).for_each(|candidate| masked[candidate] = true);
        }
        masked
    }
}

/// Fits weights to the training queries.
pub(in crate::search) struct Fits {
    objectives: [Objective; 2],
}

impl Fits {
    pub fn new(sample: &QuerySample, fires: &[&[u32]]) -> Self {
        Fits { objectives: Direction::BOTH.map(|direction| Objective::new(sample, fires, direction, false)) }
    }

    /// The weights of some rules, of either sign or not, under each L2 strength: without false-negative masking, and with
    /// it.
    pub fn weights(
        &mut self,
        rules: &[usize],
        l2s: &[f64],
        signed: bool,
        budget: &Budget,
    ) -> Vec<[Vec<Weight>; 2]> {
        let [tails, heads] = self
            .objectives
            .each_mut()
            .map(|objective| objective.of_rules(rules, |part| part.path(l2s, signed, budget)));
        let join =
            |([plain_tails, masking_tails], [plain_heads, masking_heads]): ([Vec<f64>; 2], [Vec<f64>; 2])| {
                [weights(plain_tails, plain_heads), weights(masking_tails, masking_heads)]
            };
        tails.into_iter().zip(heads).map(join).collect()
    }
}

/// Refits weights to the facts of *valid* too, on from those fitted without them: only rules that have some weight
/// may keep some.
pub(in crate::search) struct Refit<'a> {
    budget: &'a Budget<'a>,
    fires: &'a [&'a [u32]],
    objectives: [Objective; 2],
}

impl<'a> Refit<'a> {
    pub fn new(sample: &QuerySample, fires: &'a [&'a [u32]], budget: &'a Budget) -> Self {
        let objectives = Direction::BOTH.map(|direction| Objective::new(sample, fires, direction, true));
        Refit { budget, fires, objectives }
    }

    /// The weights under one fit, for some directions; 0 for the others.
    pub fn weights(
        &mut self,
        how: WeightFit,
        fitted: &[(usize, Weight)],
        directions: &[Direction],
    ) -> Vec<Weight> {
        let [tails, heads] = Direction::BOTH.map(|direction| {
            let mut all = vec![0.0; self.fires.len()];
            if directions.contains(&direction) {
                let objective = &mut self.objectives[direction as usize];
                let some: Vec<(usize, f64)> = fitted
                    .iter()
                    .map(|(rule, weight)| (*rule, weight.of(direction)))
                    .filter(|(_, weight)| *weight != 0.0)
                    .collect();
                let (rules, from): (Vec<usize>, Vec<f64>) = some.iter().copied().unzip();
                let fit = |part: &Objective| part.fit(how, Some(&from), self.budget);
                let found = objective.of_rules(&rules, fit);
                some.iter().zip(found).for_each(|(&(rule, _), weight)| all[rule] = weight);
            }
            all
        });
        weights(tails, heads)
    }
}

fn weights(tails: Vec<f64>, heads: Vec<f64>) -> Vec<Weight> {
    tails.into_iter().zip(heads).map(|(tail, head)| Weight { tail, head }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::evaluate::test_samples::{small_sample, two_answers};
    use crate::search::weigh::ranks::tests::scored;
    use crate::util::listwise::listwise_loss;

    /// Every candidate of a sample as a rule of its own.
    fn alone(sample: &QuerySample) -> Vec<[u32; 1]> {
        (0..sample.labels.len() as u32).map(|candidate| [candidate]).collect()
    }

    fn objective(sample: &QuerySample, direction: Direction, with_valid: bool) -> Objective {
        let alone = alone(sample);
        let fires: Vec<&[u32]> = alone.iter().map(|candidate| &candidate[..]).collect();
        Objective::new(sample, &fires, direction, with_valid)
    }

    /// Scores of the sample's candidates by the objective's own numbers.
    fn here(objective: &Objective, scores: &[f64]) -> Vec<f64> {
        let mut here = vec![0.0; objective.candidates];
        for (fires, &score) in objective.fires.iter().zip(scores) {
            if let Some(&candidate) = fires.first() {
                here[candidate as usize] = score;
            }
        }
        here
    }

    /// The loss by the scores of the sample's own candidates, from its definition.
    fn loss(sample: &QuerySample, scores: &[f64], direction: Direction, with_valid: bool) -> f64 {
        let mut loss = 0.0;
        for query in &sample.queries {
            if query.direction != direction || (query.from_valid && !with_valid) {
                continue;
            }
            let negatives = sample.labelled(query, Label::Negative).map(|at| scores[at].exp()).sum::<f64>();
            for at in sample.labelled(query, Label::Answer) {
                let own = scores[at].exp();
                loss -= (own / (own + negatives + sample.uncovered(query) as f64)).ln();
            }
        }
        loss
    }

    #[test]
    fn the_objective_of_each_direction_is_the_loss_of_its_queries() {
        let sample = small_sample();
        let scores: Vec<f64> = (0..sample.labels.len()).map(|n| (n * 7 % 5) as f64 / 3.0).collect();
        for (direction, with_valid) in Direction::BOTH.into_iter().flat_map(|d| [(d, false), (d, true)]) {
            let objective = objective(&sample, direction, with_valid);
            let here = here(&objective, &scores);
            let found = listwise_loss(&objective.queries, &vec![false; objective.candidates], &here);
            let expected = loss(&sample, &scores, direction, with_valid);
            assert!((found - expected).abs() < 1e-9, "{found} against {expected}");
        }
    }

    #[test]
    fn negatives_on_which_no_rule_fires_count_though_they_have_no_place() {
        let sample = small_sample();
        let fires: Vec<u32> =
            (0..sample.labels.len() as u32).filter(|candidate| candidate % 3 != 1).collect();
        for direction in Direction::BOTH {
            let objective = Objective::new(&sample, &[&fires], direction, false);
            let here = scores(objective.candidates, &objective.fires, &[0.7]);
            let found = listwise_loss(&objective.queries, &vec![false; objective.candidates], &here);
            let of_all = scores(sample.labels.len(), &[&fires], &[0.7]);
            let expected = loss(&sample, &of_all, direction, false);
            assert!((found - expected).abs() < 1e-9, "{found} against {expected}");
            let all = self::objective(&sample, direction, false);
            assert!(objective.candidates < all.candidates);
        }
    }

    #[test]
    fn as_many_negatives_are_masked_as_may_be_missing_the_likeliest_first() {
        let sample = two_answers();
        let scores = scored(&sample, &[(1, 9.0), (3, 8.0), (4, 7.0), (6, 6.0)]);
        // Known are one fact and two of *valid*, and two may be missing; so of three known tails two.
        let objective = objective(&sample, Direction::Tail, true);
        let masked = objective.masked(&here(&objective, &scores));
        let query =
            sample.queries.iter().find(|q| q.from_valid && q.direction == Direction::Tail).expect("one");
        let of = |entity: u32| {
            let candidate = query.candidates.iter().find(|(of, _)| *of == entity).expect("a candidate").1;
            masked[objective.fires[candidate as usize][0] as usize]
        };
        assert_eq!([1, 2, 3, 4, 6].map(of), [false, false, true, true, false]);
    }

    #[test]
    fn every_candidate_is_of_tails_or_of_heads_once() {
        let sample = small_sample();
        let [tails, heads] = Direction::BOTH.map(|direction| objective(&sample, direction, true));
        for (tail, head) in tails.fires.iter().zip(&heads.fires) {
            assert_eq!(tail.len() + head.len(), 1);
        }
        assert_eq!(tails.candidates + heads.candidates, sample.labels.len());
    }

    #[test]
    fn a_fit_on_from_a_stronger_l2_is_nearly_as_good_as_one_from_nothing() {
        let sample = small_sample();
        let all: Vec<u32> = (0..sample.labels.len() as u32).collect();
        let is_answer = |candidate: &u32| sample.labels[*candidate as usize] == Label::Answer;
        let answers: Vec<u32> = all.iter().copied().filter(is_answer).collect();
        let some: Vec<u32> = all.iter().copied().filter(|candidate| candidate % 3 != 1).collect();
        let fires: Vec<&[u32]> = vec![&answers, &some, &all];
        let objective = Objective::new(&sample, &fires, Direction::Tail, false);
        let value = |weights: &[f64]| {
            let l2: f64 = weights.iter().map(|weight| weight * weight / 2.0).sum();
            loss(&sample, &scores(all.len(), &fires, weights), Direction::Tail, false) + l2
        };
        let unlimited = Budget::new(&(), None);
        let on = value(&objective.path(&[20.0, 5.0, 1.0], false, &unlimited)[2][0]);
        let from_nothing =
            value(&objective.fit(WeightFit { l2: 1.0, masking: false, signed: false }, None, &unlimited));
        assert!(from_nothing < 0.8 * value(&[0.0; 3]));
        assert!(on < 1.02 * from_nothing, "{on} against {from_nothing}");
    }

    #[test]
    fn a_rule_that_finds_answers_gets_weight_and_one_that_misses_them_none() {
        let sample = small_sample();
        let finds: Vec<u32> = (0..sample.labels.len() as u32)
            .filter(|&candidate| sample.labels[candidate as usize] == Label::Answer)
            .collect();
        let misses: Vec<u32> =
            (0..sample.labels.len() as u32).filter(|candidate| !finds.contains(candidate)).collect();
        let weights =
            &Fits::new(&sample, &[&finds, &misses]).weights(&[0, 1], &[1.0], false, &Budget::new(&(), None))
                [0][0];
        assert!(weights[0].tail > 0.3 && weights[0].head > 0.3, "{weights:?}");
        assert_eq!(weights[1], Weight::from(0.0));
    }
}

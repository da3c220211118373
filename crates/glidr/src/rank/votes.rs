//! Votes fitted to *valid*, so that its answers stand before others; the paper's votes go by each rule's own
//! validation loss.
//!
//! In: a [`SoftModel`] and a [`Dataset`]. Out: the model with other votes. *test* is not looked at, not even to leave out
//! what it says is true.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::{Scorer, Truth, irreflexive, questions};
use crate::error::Result;
use crate::graph::{Background, Dataset, Direction, Entity, Predicate, Split, Triple};
use crate::model::{Ensemble, SoftModel};
use crate::util::projected_adam::ProjectedAdam;

/// So many candidates stand against an answer: those with the highest scores by the votes before.
const NEGATIVES: usize = 30;
/// So many questions of a target are asked at most, evenly over all.
const QUESTIONS: usize = 2000;
/// What scores are multiplied by before the softmax.
const SHARPNESS: f64 = 6.0;
/// How much votes are held to those by loss.
const L2: f64 = 1.0;
/// For so many known answers of a question one more may be missing, and its likeliest rival is none.
const SMOOTHING: usize = 3;
/// Steps of the fit.
const STEPS: i32 = 200;
/// The length of the first step; steps shorten towards the end.
const RATE: f64 = 0.1;

/// The scores of one candidate by each rule.
type Row = Vec<f32>;

/// A question: each of its answers stands against all rivals.
struct Contest {
    answers: Vec<Row>,
    negatives: Vec<Row>,
}

impl SoftModel {
    /// Fits the votes to *valid*; a target of which it has no fact votes by loss. `watch` is told, from any
    /// thread, how many targets are done, of how many.
    pub fn fit_votes(&mut self, data: &Dataset, watch: &(dyn Fn(usize, usize) + Sync)) -> Result<()> {
        let view = self.view(data, Background::Train)?;
        let (held_out, known) = (data.split(Split::Valid), [Split::Facts, Split::Train, Split::Valid]);
        let known: Vec<Triple> = known.into_iter().flat_map(|split| data.split(split)).copied().collect();
        let (direction, truth) = (questions(held_out), questions(&known));
        let refused = irreflexive(data, false);
        let (done, all) = (AtomicUsize::new(0), self.ensembles.len());
        let fitted = |ensemble: &Ensemble| {
            let mut ensemble = ensemble.clone();
            ensemble.vote_by_loss();
            let mut votes: Vec<f64> = ensemble.rules.iter().map(|rule| f64::from(rule.vote)).collect();
            let target = data.names().predicates.find(self.predicates.name(ensemble.target));
            if let Some(target) = target.filter(|_| !votes.is_empty()) {
                let irreflexive = refused[target.0 as usize];
                let (engine, rounds) = (self.training.engine, self.training.rounds);
                let scorer =
                    Scorer::with_engine(engine, &ensemble, self.schema, view.graph.adjacency(), rounds, None);
                votes = fit(&contests(&scorer, target, &direction, &truth, irreflexive), &votes);
            }
            watch(done.fetch_add(1, Ordering::Relaxed) + 1, all);
            votes
        };
        let votes: Vec<Vec<f64>> = self.ensembles.par_iter().map(fitted).collect();
        for (ensemble, votes) in self.ensembles.iter_mut().zip(votes) {
            ensemble.rules.iter_mut().zip(votes).for_each(|(rule, vote)| rule.vote = vote as f32);
        }
        Ok(())
    }
}

/// Every answer that *valid* asks of a target, with its rivals.
fn contests(
    scorer: &Scorer,
    target: Predicate,
    direction: &Truth,
    truth: &Truth,
    irreflexive: bool,
) -> Vec<Contest> {
    let mut keys: Vec<&(Predicate, Direction, Entity)> =
        direction.keys().filter(|key| key.0 == target).collect();
    keys.sort_unstable();
    let every = keys.len().div_ceil(QUESTIONS).max(1);
    let mut contests = Vec::new();
    for key in keys.into_iter().step_by(every) {
        let &(_, end, known) = key;
        let is_negative =
            |entity: Entity| truth[key].binary_search(&entity).is_err() && !(irreflexive && entity == known);
        let missing = truth[key].len().div_ceil(SMOOTHING);
        let mut negatives = scorer.best(end, known, NEGATIVES + missing, is_negative);
        negatives.drain(..missing.min(negatives.len()));
        let candidates =
            direction[key].iter().copied().chain(negatives.iter().map(|negative| negative.entity));
        let pairs: Vec<_> = candidates.map(|candidate| end.pair(known, candidate)).collect();
        let mut answers = scorer.scores_by_rule(&pairs);
        let negatives = answers.split_off(direction[key].len());
        contests.push(Contest { answers, negatives });
    }
    contests
}

/// Votes for which answers stand before their rivals.
///
/// ```text
/// minimise  − Σ ln (e^κs⁺ / (e^κs⁺ + Σ e^κs)) + restraint/2 Σ (v − v₀)²,   s = Σ v · score,   v ≥ 0
/// ```
fn fit(contests: &[Contest], before: &[f64]) -> Vec<f64> {
    let (mut projected_adam, mut votes) = (ProjectedAdam::new(before.len()), before.to_vec());
    for step in 1..=STEPS {
        let d_votes = d_loss(contests, &votes);
        let rate = RATE * f64::from(STEPS - step + 1) / f64::from(STEPS);
        for (number, vote) in votes.iter_mut().enumerate() {
            let d = d_votes[number] + L2 * (*vote - before[number]);
            projected_adam.step(number, vote, d, step, rate);
        }
    }
    votes
}

fn score(row: &Row, votes: &[f64]) -> f64 {
    SHARPNESS * row.iter().zip(votes).map(|(&score, vote)| f64::from(score) * vote).sum::<f64>()
}

/// The derivative of the loss by each vote.
fn d_loss(contests: &[Contest], votes: &[f64]) -> Vec<f64> {
    let mut d_votes = vec![0.0; votes.len()];
    let mut add = |row: &Row, d: f64| {
        d_votes.iter_mut().zip(row).for_each(|(d_vote, &score)| *d_vote += SHARPNESS * d * f64::from(score));
    };
    for Contest { answers, negatives } in contests {
        let scores: Vec<f64> = negatives.iter().map(|negative| score(negative, votes)).collect();
        let goals: Vec<f64> = answers.iter().map(|answer| score(answer, votes)).collect();
        let most = scores.iter().chain(&goals).copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let all: f64 = powers.iter().sum();
        let mut pull = 0.0;
        for (answer, goal) in answers.iter().zip(goals) {
            let own = (goal - most).exp();
            // Far below another answer nothing may be left of either.
            let sum = (own + all).max(f64::MIN_POSITIVE);
            pull += 1.0 / sum;
            add(answer, own / sum - 1.0);
        }
        negatives.iter().zip(powers).for_each(|(negative, power)| add(negative, power * pull));
    }
    d_votes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three rules: one finds the answers, one the rivals, one both.
    fn small() -> Vec<Contest> {
        let answers = vec![vec![0.9, 0.1, 0.5], vec![0.4, 0.0, 0.6]];
        let negatives = vec![vec![0.1, 0.8, 0.5], vec![0.0, 0.3, 0.4]];
        vec![
            Contest { answers, negatives },
            Contest { answers: vec![vec![0.2, 0.1, 0.2]], negatives: vec![vec![0.1, 0.1, 0.3]] },
        ]
    }

    fn loss(contests: &[Contest], votes: &[f64]) -> f64 {
        let of = |Contest { answers, negatives }: &Contest| {
            let all: f64 = negatives.iter().map(|negative| score(negative, votes).exp()).sum();
            let own = answers.iter().map(|answer| score(answer, votes).exp());
            own.map(|own| -(own / (own + all)).ln()).sum::<f64>()
        };
        contests.iter().map(of).sum()
    }

    #[test]
    fn the_derivative_agrees_with_a_finite_difference() {
        let (contests, votes) = (small(), [0.8, 0.5, 1.0]);
        for (number, d) in d_loss(&contests, &votes).into_iter().enumerate() {
            let moved = |by: f64| {
                let mut votes = votes;
                votes[number] += by;
                loss(&contests, &votes)
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((d - difference).abs() < 1e-6, "{number}: {d} against {difference}");
        }
    }

    #[test]
    fn a_rule_that_finds_answers_gains_and_one_that_finds_their_rivals_loses() {
        let votes = fit(&small(), &[1.0, 1.0, 1.0]);
        assert!(votes[0] > 1.2 && votes[1] < 0.8, "{votes:?}");
        assert_eq!(fit(&[], &[0.7, 1.0]), [0.7, 1.0]);
    }

    #[test]
    fn an_answer_far_below_all_others_leaves_a_finite_derivative() {
        let rows = |scores: &[f32]| scores.iter().map(|&score| vec![score]).collect::<Vec<Row>>();
        let contest = Contest { answers: rows(&[1.0, 0.0]), negatives: rows(&[0.0]) };
        assert!(d_loss(&[contest], &[1e4]).iter().all(|d| d.is_finite()));
    }
}

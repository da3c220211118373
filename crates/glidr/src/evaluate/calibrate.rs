//! Calibration: probabilities fitted on *valid*, and how far they hold on held-out facts.
//!
//! In: a predictor and a split whose facts are held out. Out: a [`Calibration`], or a [`Reliability`]. The known ends that
//! are asked are a sample of those of the held-out facts, and of all others of the same kinds, each of which stands for
//! several: a probability must also hold where no answer is held out.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::Serialize;

use super::{Answers, Evaluation};
use crate::error::Result;
use crate::graph::{Background, Dataset, Direction, Entity, Kinds, Predicate, Query, Split};
use crate::model::{Calibration, Coefficients, FEATURES, TargetCalibration, logistic};
use crate::predict::{Answer, Calibrated, Predictor, with_features};
use crate::util::progress::{Progress, Stage};
use crate::util::random::{Purpose, stream};

/// So many known ends with a held-out answer, and as many without, are asked about each target and direction, at most.
const KNOWN_ENDS: usize = 500;
/// The same where soft rules score, which takes longer.
const KNOWN_ENDS_SOFT: usize = 30;
/// So many best answers of a query are looked at.
const ANSWERS: usize = 10;
/// Fisher steps of a fit.
const STEPS: usize = 30;
/// How strongly coefficients of all targets are drawn to 0, and those of one target to these.
const PRIORS: (f64, f64) = (5.0, 5.0);
/// Bins of a reliability diagram.
const BINS: usize = 10;

/// An answer whose truth is known.
#[derive(Clone, Copy)]
struct Labelled {
    features: Coefficients,
    is_held_out: bool,
    /// How many like it there are.
    weight: f64,
}

/// The ranked answers of one query.
struct Ranked {
    query: Query,
    answers: Vec<(Answer, Coefficients)>,
    is_held_out: Vec<bool>,
    weight: f64,
}

/// Answers of about the same probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bin {
    /// How many answers there are.
    pub answers: f64,
    /// Their mean probability.
    pub probability: f64,
    /// The share of them that is true.
    pub share: f64,
}

/// How far probabilities hold on a split: a reliability diagram and its mean error.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reliability {
    /// Expected calibration error: the mean of |probability − share| over bins, weighed by their answers.
    pub calibration_error: f64,
    /// The same over answers of a probability of at least 0.1.
    pub calibration_error_shown: f64,
    /// Bins of equal width, from 0 to 1.
    pub bins: Vec<Bin>,
}

/// Fits probabilities on *valid*; none where it has no facts about the targets. The predictor must not have been fitted
/// to *valid*.
pub fn calibrate(
    predictor: &dyn Predictor,
    data: &Dataset,
    evaluation: Evaluation,
    progress: &dyn Progress,
) -> Result<Option<Calibration>> {
    let evaluation = Evaluation { split: Split::Valid, ..evaluation };
    let ranked = ranked(predictor, data, evaluation, progress)?;
    if ranked.is_empty() {
        return Ok(None);
    }
    let held_out = |split| data.split(split).len() as f64;
    let valid_share = held_out(Split::Valid) / (held_out(Split::Valid) + held_out(Split::Test));
    let of = |keep: &dyn Fn(&Query) -> bool| -> Vec<Labelled> {
        ranked.iter().filter(|ranked| keep(&ranked.query)).flat_map(Ranked::labelled).collect()
    };
    let all = Direction::BOTH.map(|direction| {
        let labelled = of(&|query| query.direction == direction);
        fit(&labelled, valid_share, &[0.0; FEATURES], PRIORS.0)
    });
    let mut targets: Vec<Predicate> = ranked.iter().map(|ranked| ranked.query.predicate).collect();
    targets.dedup();
    let names = &data.names().predicates;
    let targets = targets.into_iter().map(|target| {
        let [tails, heads] = Direction::BOTH.map(|direction| {
            let labelled = of(&|query| query.predicate == target && query.direction == direction);
            fit(&labelled, valid_share, &all[direction as usize], PRIORS.1)
        });
        TargetCalibration { target: names.name(target).to_owned(), tails, heads }
    });
    let facts = data.split(Split::Valid).iter().filter(|fact| predictor.is_target(fact.predicate)).count();
    Ok(Some(Calibration { valid_share, facts, all, targets: targets.collect() }))
}

/// How far probabilities hold on the evaluation's split.
pub fn reliability(
    calibrated: &Calibrated,
    evaluation: Evaluation,
    progress: &dyn Progress,
) -> Result<Reliability> {
    let ranked = ranked(calibrated.predictor, calibrated.data, evaluation, progress)?;
    let mut bins = [Bin::default(); BINS];
    for ranked in &ranked {
        let probabilities = calibrated.probabilities(ranked.query, &ranked.answers);
        for (probability, &is_held_out) in probabilities.into_iter().zip(&ranked.is_held_out) {
            let place = (1..BINS).take_while(|&bin| probability >= bin as f64 / BINS as f64).count();
            let bin = &mut bins[place];
            bin.answers += ranked.weight;
            bin.probability += ranked.weight * probability;
            bin.share += ranked.weight * f64::from(u8::from(is_held_out));
        }
    }
    for bin in bins.iter_mut().filter(|bin| bin.answers > 0.0) {
        bin.probability /= bin.answers;
        bin.share /= bin.answers;
    }
    let error = |bins: &[Bin]| {
        let answers: f64 = bins.iter().map(|bin| bin.answers).sum();
        let sum: f64 = bins.iter().map(|bin| bin.answers * (bin.probability - bin.share).abs()).sum();
        if answers > 0.0 { sum / answers } else { 0.0 }
    };
    Ok(Reliability {
        calibration_error: error(&bins),
        calibration_error_shown: error(&bins[1..]),
        bins: bins.to_vec(),
    })
}

impl Ranked {
    fn labelled(&self) -> impl Iterator<Item = Labelled> {
        let labelled =
            |(&(_, features), &is_held_out)| Labelled { features, is_held_out, weight: self.weight };
        self.answers.iter().zip(&self.is_held_out).map(labelled)
    }
}

/// The best answers of the queries that a split's facts ask, and of a sample of others, by target and direction.
fn ranked(
    predictor: &dyn Predictor,
    data: &Dataset,
    evaluation: Evaluation,
    progress: &dyn Progress,
) -> Result<Vec<Ranked>> {
    let held_out = Answers::of(data.split(evaluation.split).iter().copied());
    // Facts of *valid* are known where *test* is held out.
    let known_splits: &[Split] = match evaluation.split {
        Split::Test => &[Split::Facts, Split::Train, Split::Valid],
        _ => &[Split::Facts, Split::Train],
    };
    let known = Answers::of(known_splits.iter().flat_map(|&split| data.split(split)).copied());
    let kinds = Kinds::of(data.graph(Background::Train).neighbours());
    let irreflexive = evaluation.irreflexive(data);
    let max_ends = if predictor.rounds() > 0 { KNOWN_ENDS_SOFT } else { KNOWN_ENDS };
    let asked: HashSet<Predicate> =
        held_out.iter().map(|(query, _)| query.predicate).filter(|&p| predictor.is_target(p)).collect();
    let mut asked: Vec<Predicate> = asked.into_iter().filter(|&p| predictor.has_rules(p)).collect();
    asked.sort_unstable();
    let done = AtomicUsize::new(0);
    let of_target = |&target: &Predicate| -> Result<Vec<Ranked>> {
        let mut ready = predictor.target(target, irreflexive[target.index()])?;
        let mut found = Vec::new();
        for direction in Direction::BOTH {
            let admitted = kinds.admitted(target, direction);
            for (query, weight) in known_ends(target, direction, &kinds, &held_out, max_ends, evaluation.seed)
            {
                if progress.is_stopped() {
                    return Ok(found);
                }
                let (truth, known) = (held_out.to(query), known.to(query));
                let allowed = |entity: Entity| {
                    admitted[entity.index()]
                        && known.binary_search(&entity).is_err()
                        && !(irreflexive[target.index()] && entity == query.known)
                };
                let mut answers = with_features(ready.as_mut(), query, ANSWERS, &allowed, known.len());
                answers.truncate(ANSWERS);
                let is_held_out =
                    answers.iter().map(|(answer, _)| truth.binary_search(&answer.entity).is_ok()).collect();
                found.push(Ranked { query, answers, is_held_out, weight });
            }
        }
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        progress.report(Stage::Calibrating, done, asked.len());
        Ok(found)
    };
    let found: Vec<Vec<Ranked>> = asked.par_iter().map(of_target).collect::<Result<_>>()?;
    Ok(found.into_iter().flatten().collect())
}

/// The known ends that are asked, each with how many it stands for.
fn known_ends(
    target: Predicate,
    direction: Direction,
    kinds: &Kinds,
    held_out: &Answers,
    max_ends: usize,
    seed: u64,
) -> Vec<(Query, f64)> {
    let query = |entity: usize| Query { predicate: target, direction, known: Entity(entity as u32) };
    let admitted = kinds.admitted(target, direction.other());
    let (asked, others): (Vec<usize>, Vec<usize>) = (0..admitted.len())
        .filter(|&entity| admitted[entity] || !held_out.to(query(entity)).is_empty())
        .partition(|&entity| !held_out.to(query(entity)).is_empty());
    let mut draw = stream(seed, Purpose::Calibration, [u64::from(target.0), direction as u64, 0]);
    let mut drawn = |mut ends: Vec<usize>| {
        let all = ends.len();
        ends.shuffle(&mut draw);
        ends.truncate(max_ends);
        ends.sort_unstable();
        let weight = all as f64 / ends.len().max(1) as f64;
        ends.into_iter().map(move |entity| (query(entity), weight))
    };
    let asked = drawn(asked);
    asked.chain(drawn(others)).collect()
}

/// Coefficients of the highest likelihood, drawn towards `prior`, by Fisher scoring. A held-out fact is in the split that labels
/// come from with chance `share`:
///
/// ```text
/// f = share · σ(θ · x),   likelihood = Σ weight · (label ln f + (1 − label) ln (1 − f)) − strength / 2 · |θ − prior|²
/// ```
fn fit(labelled: &[Labelled], share: f64, prior: &Coefficients, strength: f64) -> Coefficients {
    let mut theta = *prior;
    for _ in 0..STEPS {
        let mut gradient: Coefficients = std::array::from_fn(|n| strength * (prior[n] - theta[n]));
        let mut information = [[0.0; FEATURES]; FEATURES];
        for (n, row) in information.iter_mut().enumerate() {
            row[n] = strength;
        }
        for Labelled { features, is_held_out, weight } in labelled {
            let q = logistic(&theta, features).clamp(1e-9, 1.0 - 1e-9);
            let (f, slope) = (share * q, share * q * (1.0 - q));
            let pull = weight * slope / (f * (1.0 - f));
            let miss = f64::from(u8::from(*is_held_out)) - f;
            for (n, &x) in features.iter().enumerate() {
                gradient[n] += pull * miss * x;
                for (m, &y) in features.iter().enumerate() {
                    information[n][m] += pull * slope * x * y;
                }
            }
        }
        let step = solve(information, gradient);
        let length = step.iter().map(|d| d * d).sum::<f64>().sqrt();
        let scale = if length > 1.0 { 1.0 / length } else { 1.0 };
        theta.iter_mut().zip(step).for_each(|(theta, d)| *theta += scale * d);
    }
    theta
}

/// The solution of a positive definite system, by elimination.
fn solve(mut matrix: [[f64; FEATURES]; FEATURES], mut right: Coefficients) -> Coefficients {
    for n in 0..FEATURES {
        for m in n + 1..FEATURES {
            let factor = matrix[m][n] / matrix[n][n];
            let row = matrix[n];
            matrix[m].iter_mut().zip(row).for_each(|(to, from)| *to -= factor * from);
            right[m] -= factor * right[n];
        }
    }
    for n in (0..FEATURES).rev() {
        let rest: f64 = (n + 1..FEATURES).map(|m| matrix[n][m] * right[m]).sum();
        right[n] = (right[n] - rest) / matrix[n][n];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_solution_solves_its_system() {
        let mut matrix = [[0.5; FEATURES]; FEATURES];
        (0..FEATURES).for_each(|n| matrix[n][n] = 2.0 + n as f64);
        let wanted: Coefficients = std::array::from_fn(|n| n as f64 - 2.0);
        let right = std::array::from_fn(|n| matrix[n].iter().zip(wanted).map(|(a, b)| a * b).sum());
        let found = solve(matrix, right);
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
    }

    #[test]
    fn a_fit_finds_the_share_of_each_group_and_makes_up_for_facts_in_test() {
        // Of 400 answers with evidence 2, 160 are in valid, and as many must be in test; of 400 without, 20.
        let labelled = |evidence: f64, held_out: usize| {
            (0..400).map(move |n| Labelled {
                features: [1.0, evidence, 0.0, 0.0, 0.0, 0.0],
                is_held_out: n < held_out,
                weight: 1.0,
            })
        };
        let all: Vec<Labelled> = labelled(2.0, 160).chain(labelled(0.0, 20)).collect();
        let theta = fit(&all, 0.5, &[0.0; FEATURES], 0.01);
        let q = |evidence| logistic(&theta, &[1.0, evidence, 0.0, 0.0, 0.0, 0.0]);
        assert!((q(2.0) - 0.8).abs() < 0.01 && (q(0.0) - 0.1).abs() < 0.01, "{} {}", q(2.0), q(0.0));
        let calibration = Calibration { valid_share: 0.5, facts: 180, all: [theta; 2], targets: Vec::new() };
        let p = calibration.probability(&theta, &[1.0, 2.0, 0.0, 0.0, 0.0, 0.0]);
        // Of the 240 that are not in valid, 160 are in test.
        assert!((p - 160.0 / 240.0).abs() < 0.01, "{p}");
        let few = Calibration { facts: 1, ..calibration };
        assert!(
            few.probability(&theta, &[1.0, 9.0, 0.0, 0.0, 0.0, 0.0]) <= 2.0 / 3.0,
            "one fact proves little"
        );
    }
}

//! The questions of a sample that ask for one end, as weights are fitted to them.
//!
//! In: a sample's places. Out: weights of rules for that end. Places are numbered anew, so that those of one question
//! lie side by side: answers first, then rivals.

use super::fit::{Descent, STEPS, descend, scores};
use super::lines::{Holds, Lines};
use crate::graph::Direction;
use crate::util::listwise::{ListwiseQuery, listwise_adjoint};

/// So many times doubts are taken anew from the weights that the last ones led to.
const DOUBTS: usize = 3;
/// Rules without weight are looked at every so many steps.
const LOOK: i32 = 5;

/// All questions that weights for one end are fitted to.
pub(super) struct Contests {
    all: Vec<ListwiseQuery>,
    /// Per question, facts that may be missing there.
    missing: Vec<usize>,
    places: usize,
    /// The places that every rule fires on.
    fires: Vec<Vec<u32>>,
}

impl Contests {
    /// The training questions, or these with those of *valid*.
    pub fn new(lines: &Lines, fires: &[&[u32]], direction: Direction, with_valid: bool) -> Self {
        let (mut all, mut missing, mut places) = (Vec::new(), Vec::new(), 0);
        let mut numbers = vec![u32::MAX; lines.holds.len()];
        for line in
            lines.all.iter().filter(|line| line.direction == direction && (with_valid || !line.from_valid))
        {
            let mut number = |counts: &dyn Fn(Holds) -> bool| {
                let first = places;
                for &(_, place) in
                    line.places.iter().filter(|(_, place)| counts(lines.holds[*place as usize]))
                {
                    numbers[place as usize] = places as u32;
                    places += 1;
                }
                first..places
            };
            let answers = number(&|holds| holds == Holds::Answer);
            let negatives =
                number(&|holds| holds == Holds::Rival || (holds == Holds::ValidRival && !with_valid));
            all.push(ListwiseQuery { answers, negatives, uncovered: lines.silent(line) as f64 });
            missing.push(lines.missing(line, with_valid));
        }
        let renumber = |fires: &&[u32]| {
            let mut fires: Vec<u32> = fires.iter().map(|&place| numbers[place as usize]).collect();
            fires.retain(|&place| place != u32::MAX);
            fires.sort_unstable();
            fires
        };
        Contests { all, missing, places, fires: fires.iter().map(renumber).collect() }
    }

    /// Weights for restraints from the strongest to the weakest, each from those before: fitted plainly, and doubting.
    pub fn path(&self, l2s: &[f64]) -> Vec<[Vec<f64>; 2]> {
        let mut path: Vec<[Vec<f64>; 2]> = Vec::new();
        for &l2 in l2s {
            let plain = self.fit(l2, false, path.last().map(|[plain, _]| plain.as_slice()));
            let (mut masking, times) =
                path.last().map_or((plain.clone(), DOUBTS), |[_, last]| (last.clone(), 1));
            for _ in 0..times * usize::from(self.missing.iter().any(|&missing| missing > 0)) {
                masking = self.fit(l2, true, Some(&masking));
            }
            path.push([plain, masking]);
        }
        path
    }

    /// Weights from nothing or on from others; a fit that doubts needs these others.
    pub fn fit(&self, l2: f64, masking: bool, from: Option<&[f64]>) -> Vec<f64> {
        let fires: Vec<&[u32]> = self.fires.iter().map(Vec::as_slice).collect();
        let masked_negatives = match from {
            Some(from) if masking => self.masked_negatives(&scores(self.places, &fires, from)),
            _ => vec![false; self.places],
        };
        let d_scores = |scores: &[f64], d_scores: &mut [f64]| {
            listwise_adjoint(&self.all, &masked_negatives, scores, d_scores);
        };
        let steps = if from.is_some() { STEPS / 3 } else { STEPS };
        descend(self.places, &fires, &d_scores, Descent { l2, from, steps, look: LOOK })
    }

    /// The rivals that may well be true though nothing says so: of each question as many of the likeliest as facts may
    /// be missing there.
    fn masked_negatives(&self, scores: &[f64]) -> Vec<bool> {
        let mut masked_negatives = vec![false; self.places];
        for (query, &missing) in self.all.iter().zip(&self.missing).filter(|(_, missing)| **missing > 0) {
            let mut likely: Vec<usize> =
                query.negatives.clone().filter(|&place| scores[place] > 0.0).collect();
            likely.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
            for place in likely.into_iter().take(missing) {
                masked_negatives[place] = true;
            }
        }
        masked_negatives
    }
}

#[cfg(test)]
mod tests {
    use super::super::sampled::tests::{scored, with_two_answers};
    use super::*;
    use crate::graph::{Entity, Neighbours, Predicate, Sizes, Triple};
    use crate::search::bodies::Walk;

    /// Questions of two facts and of one of *valid*, each with two rivals.
    fn lines() -> Lines {
        let pairs = [(0, 1), (0, 2), (3, 1), (4, 2)];
        let fact = |(head, tail)| Triple { head: Entity(head), predicate: Predicate(0), tail: Entity(tail) };
        let facts =
            Neighbours::new(Sizes { entities: 7, predicates: 1, properties: 0 }, &pairs.map(fact), &[]);
        let mut lines = Lines::new(&Walk::new(&facts), Predicate(0), &pairs[..3], &[(5, 1)], &[(5, 1)]);
        for line in &mut lines.all {
            for entity in [6, 4] {
                if !line.left_out.contains(&entity) {
                    line.places.push((entity, lines.holds.len() as u32));
                    lines.holds.push(Holds::Rival);
                }
            }
            line.places.sort_unstable();
        }
        lines
    }

    /// The loss by the scores of the sample's own places.
    fn loss(lines: &Lines, scores: &[f64], direction: Direction, with_valid: bool) -> f64 {
        let mut loss = 0.0;
        for line in
            lines.all.iter().filter(|line| line.direction == direction && (with_valid || !line.from_valid))
        {
            let negatives: f64 = lines.of(line, Holds::Rival).map(|place| scores[place].exp()).sum();
            for place in lines.of(line, Holds::Answer) {
                let own = scores[place].exp();
                loss -= (own / (own + negatives + lines.silent(line) as f64)).ln();
            }
        }
        loss
    }

    /// Every place of the sample as a rule of its own.
    fn alone(lines: &Lines) -> Vec<[u32; 1]> {
        (0..lines.holds.len() as u32).map(|place| [place]).collect()
    }

    /// Scores of the sample's places by the contests' own numbers.
    fn here(contests: &Contests, scores: &[f64]) -> Vec<f64> {
        let mut here = vec![0.0; contests.places];
        for (fires, &score) in contests.fires.iter().zip(scores) {
            if let Some(&place) = fires.first() {
                here[place as usize] = score;
            }
        }
        here
    }

    #[test]
    fn the_derivative_for_each_end_agrees_with_a_finite_difference() {
        let lines = lines();
        let scores: Vec<f64> = (0..lines.holds.len()).map(|n| (n * 7 % 5) as f64 / 3.0).collect();
        let alone = alone(&lines);
        let fires: Vec<&[u32]> = alone.iter().map(|place| &place[..]).collect();
        for (direction, with_valid) in
            Direction::BOTH.into_iter().flat_map(|direction| [(direction, false), (direction, true)])
        {
            let contests = Contests::new(&lines, &fires, direction, with_valid);
            let (here, mut d_here) = (here(&contests, &scores), vec![f64::NAN; contests.places]);
            listwise_adjoint(&contests.all, &vec![false; contests.places], &here, &mut d_here);
            assert!(!d_here.is_empty() && d_here.iter().all(|d| d.is_finite()));
            for (place, fires) in contests.fires.iter().enumerate() {
                let d = fires.first().map_or(0.0, |&place| d_here[place as usize]);
                let moved = |by: f64| {
                    let mut scores = scores.clone();
                    scores[place] += by;
                    loss(&lines, &scores, direction, with_valid)
                };
                let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((d - difference).abs() < 1e-6, "{place}: {d} against {difference}");
            }
        }
    }

    #[test]
    fn as_many_rivals_are_doubted_as_may_be_missing_the_likeliest_first() {
        let lines = with_two_answers();
        let scores = scored(&lines, &[(1, 9.0), (3, 8.0), (4, 7.0), (6, 6.0)]);
        let alone = alone(&lines);
        let fires: Vec<&[u32]> = alone.iter().map(|place| &place[..]).collect();
        // Known are one fact and two of *valid*, and two may be missing; so of three known tails two.
        let contests = Contests::new(&lines, &fires, Direction::Tail, true);
        let masked_negatives = contests.masked_negatives(&here(&contests, &scores));
        let line =
            lines.all.iter().find(|line| line.from_valid && line.direction == Direction::Tail).expect("one");
        let of = |entity: u32| {
            let place = line.places.iter().find(|(of, _)| *of == entity).expect("a place").1;
            masked_negatives[contests.fires[place as usize][0] as usize]
        };
        assert_eq!([1, 2, 3, 4, 6].map(of), [false, false, true, true, false]);
    }

    #[test]
    fn every_place_is_of_tails_or_of_heads_once() {
        let lines = lines();
        let alone = alone(&lines);
        let fires: Vec<&[u32]> = alone.iter().map(|place| &place[..]).collect();
        let [tails, heads] = Direction::BOTH.map(|direction| Contests::new(&lines, &fires, direction, true));
        for (tail, head) in tails.fires.iter().zip(&heads.fires) {
            assert_eq!(tail.len() + head.len(), 1);
        }
        assert_eq!(tails.places + heads.places, lines.holds.len());
    }

    #[test]
    fn a_fit_on_from_a_stronger_restraint_is_nearly_as_good_as_one_from_nothing() {
        let lines = lines();
        let places: Vec<u32> = (0..lines.holds.len() as u32).collect();
        let answers: Vec<u32> =
            places.iter().copied().filter(|&place| lines.holds[place as usize] == Holds::Answer).collect();
        let some: Vec<u32> = places.iter().copied().filter(|place| place % 3 != 1).collect();
        let fires: Vec<&[u32]> = vec![&answers, &some, &places];
        let contests = Contests::new(&lines, &fires, Direction::Tail, false);
        let objective = |weights: &[f64]| {
            let l2: f64 = weights.iter().map(|weight| weight * weight / 2.0).sum();
            loss(&lines, &scores(lines.holds.len(), &fires, weights), Direction::Tail, false) + l2
        };
        let on = objective(&contests.path(&[20.0, 5.0, 1.0])[2][0]);
        let from_nothing = objective(&contests.fit(1.0, false, None));
        assert!(from_nothing < 0.8 * objective(&[0.0; 3]));
        assert!(on < 1.02 * from_nothing, "{on} against {from_nothing}");
    }
}

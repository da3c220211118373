//! Weights fitted to a sample of questions, and the ways of joining judged by it.

use super::Fit;
use super::fit::{descend, scores};
use super::ground::Ground;
use super::lines::{Holds, Line, Lines};
use crate::rank::Asked;
use crate::rule::Number;

/// So many times doubts are taken anew from the weights that the last ones led to.
const DOUBTS: usize = 3;

impl Ground for Lines {
    fn places(&self) -> usize {
        self.holds.len()
    }

    fn questions(&self) -> usize {
        let asking = self.all.iter().filter(|line| line.from_valid);
        asking.map(|line| line.answers.len()).sum()
    }

    /// Facts that are missing are like those of *valid*: of the rivals above one of these as many are taken to be true as
    /// others of *valid* stand above it; and no answer has more rivals above it than one below it. Ties take their mean.
    fn gain(&self, scores: &[f64], asked: Asked) -> f64 {
        let mut gain = 0.0;
        for line in self.all.iter().filter(|line| line.from_valid && line.asked == asked) {
            let silent = self.silent(line);
            let mut goals: Vec<f64> = self.of(line, Holds::Answer).map(|place| scores[place]).collect();
            goals.sort_by(f64::total_cmp);
            let mut rivals: Vec<f64> = self.of(line, Holds::Rival).map(|place| scores[place]).collect();
            rivals.sort_by(f64::total_cmp);
            let above_in =
                |sorted: &[f64], goal: f64| sorted.len() - sorted.partition_point(|&of| of <= goal);
            let mut least = usize::MAX;
            for &goal in &goals {
                let above = above_in(&rivals, goal);
                let below = rivals.partition_point(|&of| of < goal);
                let equal = rivals.len() - above - below + if goal == 0.0 { silent } else { 0 };
                least = least.min(above.saturating_sub(above_in(&goals, goal)));
                gain += 1.0 / (1.0 + least as f64 + equal as f64 / 2.0);
            }
        }
        gain
    }

    fn is_parted(&self) -> bool {
        true
    }

    fn fits(&self, fires: &[&[u32]], restraint: f64) -> [Vec<Number>; 2] {
        let [[plain_tails, doubting_tails], [plain_heads, doubting_heads]] = Asked::BOTH.map(|asked| {
            let fires = self.only(asked, fires);
            let fires: Vec<&[u32]> = fires.iter().map(Vec::as_slice).collect();
            let plain = self.fit(&fires, asked, false, Fit { restraint, doubting: false }, None);
            let mut doubting = plain.clone();
            for _ in 0..DOUBTS {
                doubting = self.fit(&fires, asked, false, Fit { restraint, doubting: true }, Some(&doubting));
            }
            [plain, doubting]
        });
        [numbers(plain_tails, plain_heads), numbers(doubting_tails, doubting_heads)]
    }

    fn refit(&self, fires: &[&[u32]], fit: Fit, judged: &[(usize, Number)]) -> Vec<Number> {
        let [tails, heads] = Asked::BOTH.map(|asked| {
            let mut from = vec![0.0; fires.len()];
            for (rule, number) in judged {
                from[*rule] = number.of(asked);
            }
            let fires = self.only(asked, fires);
            let fires: Vec<&[u32]> = fires.iter().map(Vec::as_slice).collect();
            self.fit(&fires, asked, true, fit, Some(&from))
        });
        numbers(tails, heads)
    }
}

fn numbers(tails: Vec<f64>, heads: Vec<f64>) -> Vec<Number> {
    tails.into_iter().zip(heads).map(|(tail, head)| Number { tail, head }).collect()
}

impl Lines {
    /// Weights for one end, from nothing or on from others; a fit that doubts needs these others.
    fn fit(
        &self,
        fires: &[&[u32]],
        asked: Asked,
        with_valid: bool,
        fit: Fit,
        from: Option<&[f64]>,
    ) -> Vec<f64> {
        let doubted = match from {
            Some(from) if fit.doubting => {
                self.doubted(&scores(self.holds.len(), fires, from), asked, with_valid)
            }
            _ => vec![false; self.holds.len()],
        };
        if let Some(from) = from.filter(|_| !with_valid && !doubted.contains(&true)) {
            return from.to_vec();
        }
        let contests = self.contests(asked, with_valid, &doubted);
        descend(self.holds.len(), fires, &|scores| d_scores(&contests, scores), fit.restraint, from)
    }

    /// The places of one direction among those that rules fire on.
    fn only(&self, asked: Asked, fires: &[&[u32]]) -> Vec<Vec<u32>> {
        let mut is_of = vec![false; self.holds.len()];
        for line in self.all.iter().filter(|line| line.asked == asked) {
            line.places.iter().for_each(|&(_, place)| is_of[place as usize] = true);
        }
        let of = |fires: &&[u32]| fires.iter().copied().filter(|&place| is_of[place as usize]).collect();
        fires.iter().map(of).collect()
    }

    /// The rivals that may well be true though nothing says so: of each question that weights are fitted to, as many of
    /// the likeliest as facts may be missing there.
    fn doubted(&self, scores: &[f64], asked: Asked, with_valid: bool) -> Vec<bool> {
        let mut doubted = vec![false; self.holds.len()];
        let lines = self.all.iter().filter(|line| line.asked == asked);
        for line in lines.filter(|line| with_valid || !line.from_valid) {
            let most = self.missing(line, with_valid);
            let mut likely: Vec<usize> =
                self.rivals(line, with_valid).filter(|&place| scores[place] > 0.0).collect();
            likely.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
            for place in likely.into_iter().take(most) {
                doubted[place] = true;
            }
        }
        doubted
    }

    /// The places of a question that are not known to be true.
    fn rivals<'l>(&'l self, line: &'l Line, with_valid: bool) -> impl Iterator<Item = usize> + 'l {
        let rival = move |place: &usize| {
            self.holds[*place] == Holds::Rival || (self.holds[*place] == Holds::ValidRival && !with_valid)
        };
        line.places.iter().map(|&(_, place)| place as usize).filter(rival)
    }

    fn of(&self, line: &Line, holds: Holds) -> impl Iterator<Item = usize> {
        let places = line.places.iter().map(|&(_, place)| place as usize);
        places.filter(move |&place| self.holds[place] == holds)
    }

    /// Candidates without a place.
    fn silent(&self, line: &Line) -> usize {
        self.entities - line.places.len() - line.left_out.len()
    }

    /// The training questions of one direction, or with those of *valid*.
    fn contests(&self, asked: Asked, with_valid: bool, doubted: &[bool]) -> Vec<Contest> {
        let lines = self.all.iter().filter(|line| line.asked == asked && (with_valid || !line.from_valid));
        let contest = |line: &Line| Contest {
            answers: self.of(line, Holds::Answer).collect(),
            rivals: self.rivals(line, with_valid).filter(|&place| !doubted[place]).collect(),
            silent: self.silent(line) as f64,
        };
        lines.map(contest).collect()
    }
}

/// A question as weights are fitted to it.
struct Contest {
    answers: Vec<usize>,
    /// Places that are not known to be true, nor doubted.
    rivals: Vec<usize>,
    /// Candidates without a place.
    silent: f64,
}

/// The derivative by each score of − Σ ln (e^s⁺ / (e^s⁺ + Σ e^s over the rivals)).
fn d_scores(contests: &[Contest], scores: &[f64]) -> Vec<f64> {
    let power = |place: usize| if scores[place] == 0.0 { 1.0 } else { scores[place].min(500.0).exp() };
    let (mut d_scores, mut powers) = (vec![0.0; scores.len()], Vec::new());
    for contest in contests {
        powers.clear();
        powers.extend(contest.rivals.iter().map(|&place| power(place)));
        let others = contest.silent + powers.iter().sum::<f64>();
        let mut pull = 0.0;
        for &place in &contest.answers {
            let own = power(place);
            pull += 1.0 / (own + others);
            d_scores[place] += own / (own + others) - 1.0;
        }
        for (&place, power) in contest.rivals.iter().zip(&powers) {
            d_scores[place] += power * pull;
        }
    }
    d_scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Entity, Graph, Predicate, Triple};
    use crate::search::bodies::Walk;
    use crate::solve::Facts;

    /// Questions of two facts and of one of *valid*, each with two rivals.
    fn lines() -> Lines {
        let pairs = [(0, 1), (0, 2), (3, 1), (4, 2)];
        let fact = |(head, tail)| Triple { head: Entity(head), predicate: Predicate(0), tail: Entity(tail) };
        let facts = Facts::from(&Graph::new(7, 1, 0, &pairs.map(fact), &[]));
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

    fn loss(lines: &Lines, scores: &[f64], asked: Asked, with_valid: bool) -> f64 {
        let mut loss = 0.0;
        for line in lines.all.iter().filter(|line| line.asked == asked && (with_valid || !line.from_valid)) {
            let rivals: f64 = lines.of(line, Holds::Rival).map(|place| scores[place].exp()).sum();
            for place in lines.of(line, Holds::Answer) {
                let own = scores[place].exp();
                loss -= (own / (own + rivals + lines.silent(line) as f64)).ln();
            }
        }
        loss
    }

    #[test]
    fn the_derivative_for_each_end_agrees_with_a_finite_difference() {
        let lines = lines();
        let scores: Vec<f64> = (0..lines.holds.len()).map(|n| (n * 7 % 5) as f64 / 3.0).collect();
        for (asked, with_valid) in Asked::BOTH.into_iter().flat_map(|asked| [(asked, false), (asked, true)]) {
            let d = d_scores(&lines.contests(asked, with_valid, &vec![false; scores.len()]), &scores);
            assert!(d.iter().any(|d| *d != 0.0));
            for place in 0..scores.len() {
                let moved = |by: f64| {
                    let mut scores = scores.clone();
                    scores[place] += by;
                    loss(&lines, &scores, asked, with_valid)
                };
                let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((d[place] - difference).abs() < 1e-6, "{place}: {} against {difference}", d[place]);
            }
        }
    }

    /// One question of *valid* for the tails of 5 with two answers, 1 and 2, and three rivals, 3, 4 and 6.
    fn with_two_answers() -> Lines {
        let fact = Triple { head: Entity(5), predicate: Predicate(0), tail: Entity(0) };
        let facts = Facts::from(&Graph::new(7, 1, 0, &[fact], &[]));
        let valid = [(5, 1), (5, 2)];
        let mut lines = Lines::new(&Walk::new(&facts), Predicate(0), &[(5, 0)], &valid, &valid);
        for line in lines.all.iter_mut().filter(|line| line.asked == Asked::Tail) {
            for entity in [3, 4, 6] {
                line.places.push((entity, lines.holds.len() as u32));
                lines.holds.push(Holds::Rival);
            }
        }
        lines
    }

    /// The scores of the places of the tails that *valid* asks for, 0 at all others.
    fn scored(lines: &Lines, by_entity: &[(u32, f64)]) -> Vec<f64> {
        let mut scores = vec![0.0; lines.holds.len()];
        let line = lines.all.iter().find(|line| line.from_valid && line.asked == Asked::Tail).expect("one");
        for &(entity, place) in &line.places {
            let score = by_entity.iter().find(|(of, _)| *of == entity).map_or(0.0, |(_, score)| *score);
            scores[place as usize] = score;
        }
        scores
    }

    #[test]
    fn of_rivals_above_an_answer_as_many_are_spared_as_other_answers_stand_there() {
        let lines = with_two_answers();
        let gain = |by_entity: &[(u32, f64)]| lines.gain(&scored(&lines, by_entity), Asked::Tail);
        // No rival above: both are first.
        assert_eq!(gain(&[(1, 9.0), (2, 8.0), (3, 7.0)]), 2.0);
        // One rival between them: it may be a fact that is missing, as 1 itself was.
        assert_eq!(gain(&[(1, 9.0), (3, 8.5), (2, 8.0)]), 2.0);
        // A second one is not spared.
        assert_eq!(gain(&[(1, 9.0), (3, 8.5), (4, 8.4), (2, 8.0)]), 1.5);
        // One above both: that above 2 is spared, and then it cannot be above 1.
        assert_eq!(gain(&[(3, 9.5), (1, 9.0), (2, 8.0)]), 2.0);
    }

    #[test]
    fn as_many_rivals_are_doubted_as_may_be_missing_the_likeliest_first() {
        let lines = with_two_answers();
        let scores = scored(&lines, &[(1, 9.0), (3, 8.0), (4, 7.0), (6, 6.0)]);
        // Known are one fact and two of *valid*, and two may be missing; so of three known tails two.
        let doubted = lines.doubted(&scores, Asked::Tail, true);
        let line = lines.all.iter().find(|line| line.from_valid && line.asked == Asked::Tail).expect("one");
        let of = |entity: u32| {
            let place = line.places.iter().find(|(of, _)| *of == entity).expect("a place").1;
            doubted[place as usize]
        };
        assert_eq!([1, 2, 3, 4, 6].map(of), [false, false, true, true, false]);
        assert!(!lines.doubted(&scores, Asked::Tail, false).contains(&true), "training asks nothing here");
    }

    #[test]
    fn places_of_tails_and_of_heads_part_what_a_rule_fires_on() {
        let lines = lines();
        let all: Vec<u32> = (0..lines.holds.len() as u32).collect();
        let [tails, heads] = Asked::BOTH.map(|asked| lines.only(asked, &[&all]).remove(0));
        assert!(!tails.is_empty() && !heads.is_empty());
        let mut both = [tails, heads].concat();
        both.sort_unstable();
        assert_eq!(both, all);
    }
}

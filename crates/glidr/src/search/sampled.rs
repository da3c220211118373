//! Weights fitted to a sample of questions, and the ways of joining judged by it.

use super::choose::Ground;
use super::fit::descend;
use super::lines::{Holds, Line, Lines};
use crate::rank::Asked;
use crate::rule::Number;

impl Ground for Lines {
    fn places(&self) -> usize {
        self.holds.len()
    }

    fn questions(&self) -> usize {
        let asking = self.all.iter().filter(|line| line.from_valid);
        asking.map(|line| line.answers.len()).sum()
    }

    fn gain(&self, tails: &[f64], heads: &[f64]) -> f64 {
        self.gain_of(tails, Asked::Tail) + self.gain_of(heads, Asked::Head)
    }

    fn fits(&self, fires: &[&[u32]], restraint: f64, with_valid: bool) -> Vec<Vec<Number>> {
        let [tail, head] = Asked::BOTH.map(|asked| {
            let fires = self.only(asked, fires);
            let fires: Vec<&[u32]> = fires.iter().map(Vec::as_slice).collect();
            descend(self.holds.len(), &fires, &|scores| self.d_scores(scores, asked, with_valid), restraint)
        });
        vec![tail.into_iter().zip(head).map(|(tail, head)| Number { tail, head }).collect()]
    }
}

impl Lines {
    /// The sum of reciprocal ranks of the answers to the questions of *valid* of one direction; ties take their mean.
    fn gain_of(&self, scores: &[f64], asked: Asked) -> f64 {
        let mut gain = 0.0;
        for line in self.all.iter().filter(|line| line.from_valid && line.asked == asked) {
            let silent = self.silent(line);
            for goal in self.of(line, Holds::Answer).map(|place| scores[place]) {
                let (mut above, mut equal) = (0usize, if goal == 0.0 { silent } else { 0 });
                for place in self.of(line, Holds::Rival) {
                    above += usize::from(scores[place] > goal);
                    equal += usize::from(scores[place] == goal);
                }
                gain += 1.0 / (1.0 + above as f64 + equal as f64 / 2.0);
            }
        }
        gain
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

    fn of(&self, line: &Line, holds: Holds) -> impl Iterator<Item = usize> {
        let places = line.places.iter().map(|&(_, place)| place as usize);
        places.filter(move |&place| self.holds[place] == holds)
    }

    /// Candidates without a place.
    fn silent(&self, line: &Line) -> usize {
        self.entities - line.places.len() - line.left_out.len()
    }

    /// The derivative by each score of − Σ ln (e^s⁺ / (e^s⁺ + Σ e^s over the rivals)), over the training
    /// questions of one direction, or with those of *valid*.
    fn d_scores(&self, scores: &[f64], asked: Asked, with_valid: bool) -> Vec<f64> {
        let mut d_scores = vec![0.0; scores.len()];
        let lines = self.all.iter().filter(|line| line.asked == asked);
        for line in lines.filter(|line| with_valid || !line.from_valid) {
            let counts = |place: &usize| {
                self.holds[*place] == Holds::Rival || (self.holds[*place] == Holds::ValidRival && !with_valid)
            };
            let rivals: Vec<usize> =
                line.places.iter().map(|&(_, place)| place as usize).filter(counts).collect();
            let powers: Vec<f64> = rivals.iter().map(|&place| scores[place].min(500.0).exp()).collect();
            let others = self.silent(line) as f64 + powers.iter().sum::<f64>();
            let mut pull = 0.0;
            for place in self.of(line, Holds::Answer) {
                let own = scores[place].min(500.0).exp();
                pull += 1.0 / (own + others);
                d_scores[place] += own / (own + others) - 1.0;
            }
            for (place, power) in rivals.into_iter().zip(powers) {
                d_scores[place] += power * pull;
            }
        }
        d_scores
    }
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
            let d = lines.d_scores(&scores, asked, with_valid);
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

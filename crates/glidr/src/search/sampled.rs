//! Weights fitted to a sample of questions, and the ways of joining judged by it.

use super::Fit;
use super::contests::Contests;
use super::ground::Ground;
use super::lines::{Holds, Line, Lines};
use crate::graph::Direction;
use crate::rule::Weight;

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
    fn gain(&self, scores: &[f64], direction: Direction) -> f64 {
        let mut gain = 0.0;
        for line in self.all.iter().filter(|line| line.from_valid && line.direction == direction) {
            let silent = self.silent(line);
            let mut goals: Vec<f64> = self.of(line, Holds::Answer).map(|place| scores[place]).collect();
            goals.sort_by(f64::total_cmp);
            let mut negatives: Vec<f64> = self.of(line, Holds::Rival).map(|place| scores[place]).collect();
            negatives.sort_by(f64::total_cmp);
            let above_in =
                |sorted: &[f64], goal: f64| sorted.len() - sorted.partition_point(|&of| of <= goal);
            let mut least = usize::MAX;
            for &goal in &goals {
                let above = above_in(&negatives, goal);
                let below = negatives.partition_point(|&of| of < goal);
                let equal = negatives.len() - above - below + if goal == 0.0 { silent } else { 0 };
                least = least.min(above.saturating_sub(above_in(&goals, goal)));
                gain += 1.0 / (1.0 + least as f64 + equal as f64 / 2.0);
            }
        }
        gain
    }

    fn is_parted(&self) -> bool {
        true
    }

    fn fits(&self, fires: &[&[u32]], l2s: &[f64]) -> Vec<[Vec<Weight>; 2]> {
        let [tails, heads] =
            Direction::BOTH.map(|direction| Contests::new(self, fires, direction, false).path(l2s));
        let join = |(tails, heads): ([Vec<f64>; 2], [Vec<f64>; 2])| {
            let [[plain_tails, doubting_tails], [plain_heads, doubting_heads]] = [tails, heads];
            [numbers(plain_tails, plain_heads), numbers(doubting_tails, doubting_heads)]
        };
        tails.into_iter().zip(heads).map(join).collect()
    }

    fn refit(
        &self,
        fires: &[&[u32]],
        fit: Fit,
        judged: &[(usize, Weight)],
        ends: &[Direction],
    ) -> Vec<Weight> {
        let [tails, heads] = Direction::BOTH.map(|direction| {
            let mut from = vec![0.0; fires.len()];
            if ends.contains(&direction) {
                for (rule, number) in judged {
                    from[*rule] = number.of(direction);
                }
                from = Contests::new(self, fires, direction, true).fit(fit.l2, fit.masking, Some(&from));
            }
            from
        });
        numbers(tails, heads)
    }
}

fn numbers(tails: Vec<f64>, heads: Vec<f64>) -> Vec<Weight> {
    tails.into_iter().zip(heads).map(|(tail, head)| Weight { tail, head }).collect()
}

impl Lines {
    /// The places of a question that hold this.
    pub(super) fn of(&self, line: &Line, holds: Holds) -> impl Iterator<Item = usize> {
        let places = line.places.iter().map(|&(_, place)| place as usize);
        places.filter(move |&place| self.holds[place] == holds)
    }

    /// Candidates without a place.
    pub(super) fn silent(&self, line: &Line) -> usize {
        self.entities - line.places.len() - line.left_out.len()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::graph::{Entity, Neighbours, Predicate, Sizes, Triple};
    use crate::search::bodies::Walk;

    /// One question of *valid* for the tails of 5 with two answers, 1 and 2, and three rivals, 3, 4 and 6.
    pub fn with_two_answers() -> Lines {
        let fact = Triple { head: Entity(5), predicate: Predicate(0), tail: Entity(0) };
        let facts = Neighbours::new(Sizes { entities: 7, predicates: 1, properties: 0 }, &[fact], &[]);
        let valid = [(5, 1), (5, 2)];
        let mut lines = Lines::new(&Walk::new(&facts), Predicate(0), &[(5, 0)], &valid, &valid);
        for line in lines.all.iter_mut().filter(|line| line.direction == Direction::Tail) {
            for entity in [3, 4, 6] {
                line.places.push((entity, lines.holds.len() as u32));
                lines.holds.push(Holds::Rival);
            }
        }
        lines
    }

    /// The scores of the places of the tails that *valid* asks for, 0 at all others.
    pub fn scored(lines: &Lines, by_entity: &[(u32, f64)]) -> Vec<f64> {
        let mut scores = vec![0.0; lines.holds.len()];
        let line =
            lines.all.iter().find(|line| line.from_valid && line.direction == Direction::Tail).expect("one");
        for &(entity, place) in &line.places {
            let score = by_entity.iter().find(|(of, _)| *of == entity).map_or(0.0, |(_, score)| *score);
            scores[place as usize] = score;
        }
        scores
    }

    #[test]
    fn of_rivals_above_an_answer_as_many_are_spared_as_other_answers_stand_there() {
        let lines = with_two_answers();
        let gain = |by_entity: &[(u32, f64)]| lines.gain(&scored(&lines, by_entity), Direction::Tail);
        // No rival above: both are first.
        assert_eq!(gain(&[(1, 9.0), (2, 8.0), (3, 7.0)]), 2.0);
        // One rival between them: it may be a fact that is missing, as 1 itself was.
        assert_eq!(gain(&[(1, 9.0), (3, 8.5), (2, 8.0)]), 2.0);
        // A second one is not spared.
        assert_eq!(gain(&[(1, 9.0), (3, 8.5), (4, 8.4), (2, 8.0)]), 1.5);
        // One above both: that above 2 is spared, and then it cannot be above 1.
        assert_eq!(gain(&[(3, 9.5), (1, 9.0), (2, 8.0)]), 2.0);
    }
}

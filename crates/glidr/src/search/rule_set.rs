//! A target's rules with their confidences, and how several that fire are joined into one score.

use std::cmp::Ordering;
use std::fmt;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::graph::{Entity, Predicate};
use crate::rank::Asked;
use crate::rule::{Number, Rule};
use crate::solve::{Ended, Facts, Limits, Solver};

/// No rule is taken to be surer than this, so that a second sure rule still counts.
const SUREST: f64 = 0.9999;

/// How the rules that fire for a pair are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Join {
    /// 1 − Π (1 − confidence), over all rules.
    NoisyOr,
    /// The same over the five best.
    NoisyOr5,
    /// By the best confidence, then by the next best, and so on.
    MaxPlus,
    /// The sum of weights.
    Sum,
}

impl Join {
    /// All ways.
    pub const ALL: [Join; 4] = [Join::NoisyOr, Join::NoisyOr5, Join::MaxPlus, Join::Sum];

    /// The word for it in a text of rules.
    pub fn word(self) -> &'static str {
        ["noisy_or", "noisy_or_5", "max_plus", "sum"][self as usize]
    }

    /// The way with this word.
    pub fn parse(word: &str) -> Result<Self> {
        let words: Vec<&str> = Join::ALL.iter().map(|join| join.word()).collect();
        let found = Join::ALL.into_iter().find(|join| join.word() == word);
        found.ok_or_else(|| {
            Error::Rule(format!(
                "rules must be joined by one of {}, but this says “{word}”",
                words.join(", ")
            ))
        })
    }

    /// The number of two equal rules as one: weights add up, a confidence counts once.
    pub(super) fn merged(self, a: Number, b: Number) -> Number {
        let one = |a: f64, b: f64| if self == Join::Sum { a + b } else { a.max(b) };
        Number { tail: one(a.tail, b.tail), head: one(a.head, b.head) }
    }

    /// What one rule's number adds under this way; max-plus adds nothing but compares.
    pub(super) fn share(self, number: f64) -> f64 {
        if self == Join::Sum { number } else { -(-number.min(SUREST)).ln_1p() }
    }
}

impl fmt::Display for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A rule and its number: a confidence, or a weight where rules are summed.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighed {
    /// The rule.
    pub rule: Rule,
    /// Its confidence or weight.
    pub number: Number,
}

/// The rules of one target, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleSet {
    /// The predicate they define.
    pub target: Predicate,
    /// How they are joined.
    pub join: Join,
    /// The rules; highest number first, of the two that a rule has the greater.
    pub rules: Vec<Weighed>,
}

impl RuleSet {
    /// The rules in their order.
    pub fn new(target: Predicate, join: Join, mut rules: Vec<Weighed>) -> Self {
        rules.sort_by(|a, b| b.number.most().total_cmp(&a.number.most()).then_with(|| a.rule.cmp(&b.rule)));
        RuleSet { target, join, rules }
    }

    /// The rules that count where this is asked, by their places, highest number first.
    pub fn that_count(&self, asked: Asked) -> Vec<usize> {
        let number = |rule: usize| self.rules[rule].number.of(asked);
        let counts = |&rule: &usize| self.join != Join::Sum || number(rule) > 0.0;
        let mut order: Vec<usize> = (0..self.rules.len()).filter(counts).collect();
        order.sort_by(|&a, &b| number(b).total_cmp(&number(a)));
        order
    }

    /// Makes every rule ready on `facts`.
    pub fn solvers<'f>(&self, facts: &'f Facts, limits: Limits) -> Result<Vec<Solver<'f>>> {
        self.rules.iter().map(|weighed| Solver::new(&weighed.rule, facts, limits)).collect()
    }

    /// The scores of all entities as the other end of a known one, by exact evaluation, and how that
    /// ended. No rule means 0. Scores order the candidates of one question; those of max-plus are
    /// places in that order.
    pub fn scores(
        &self,
        solvers: &[Solver],
        asked: Asked,
        known: Entity,
        entities: usize,
    ) -> (Vec<f64>, Ended) {
        let mut board = Board::new(self.join, entities);
        let mut ended = Ended::Complete;
        let numbers: Vec<f64> = self.rules.iter().map(|weighed| weighed.number.of(asked)).collect();
        for rule in self.that_count(asked) {
            let solver = &solvers[rule];
            let found = match asked {
                Asked::Tail => solver.tails(known),
                Asked::Head => solver.heads(known),
            };
            if found.ended != Ended::Complete {
                ended = found.ended;
            }
            for entity in found.value {
                board.fire(entity.index(), rule, numbers[rule]);
            }
        }
        (board.scores(&numbers), ended)
    }
}

/// Joins rules place by place; they must fire in the order of their numbers, highest first.
pub(super) struct Board {
    join: Join,
    sums: Vec<f64>,
    fired: Vec<Vec<u32>>,
}

impl Board {
    pub fn new(join: Join, places: usize) -> Self {
        let fired =
            if matches!(join, Join::Sum | Join::NoisyOr) { Vec::new() } else { vec![Vec::new(); places] };
        Board { join, sums: vec![0.0; places], fired }
    }

    pub fn fire(&mut self, place: usize, rule: usize, number: f64) {
        match self.join {
            Join::NoisyOr | Join::Sum => self.sums[place] += self.join.share(number),
            Join::NoisyOr5 if self.fired[place].len() < 5 => {
                self.sums[place] += self.join.share(number);
                self.fired[place].push(rule as u32);
            }
            Join::NoisyOr5 => {}
            Join::MaxPlus => self.fired[place].push(rule as u32),
        }
    }

    /// The score of every place.
    pub fn scores(self, numbers: &[f64]) -> Vec<f64> {
        if self.join != Join::MaxPlus {
            return self.sums;
        }
        let compare = |a: &usize, b: &usize| -> Ordering {
            let (a, b) = (&self.fired[*a], &self.fired[*b]);
            let first = a.iter().zip(b).find(|(x, y)| numbers[**x as usize] != numbers[**y as usize]);
            first
                .map_or(a.len().cmp(&b.len()), |(x, y)| numbers[*x as usize].total_cmp(&numbers[*y as usize]))
        };
        let mut order: Vec<usize> =
            (0..self.fired.len()).filter(|&place| !self.fired[place].is_empty()).collect();
        order.sort_by(compare);
        let (mut scores, mut level) = (self.sums.clone(), 0.0);
        for equal in order.chunk_by(|a, b| compare(a, b).is_eq()) {
            level += 1.0;
            for &place in equal {
                scores[place] = level;
            }
        }
        scores
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, Triple};
    use crate::rule::{Atom, Literal, Term};

    fn scores(join: Join) -> Vec<f64> {
        let numbers = [0.9, 0.5, 0.5, 0.2];
        let fires = [&[0usize, 3][..], &[1, 3], &[1, 2], &[2]];
        let mut board = Board::new(join, 5);
        for (rule, places) in fires.iter().enumerate() {
            places.iter().for_each(|&place| board.fire(place, rule, numbers[rule]));
        }
        board.scores(&numbers)
    }

    #[test]
    fn max_plus_compares_the_best_first_and_then_the_next() {
        // 3 has .9 and .5, 0 has .9, 1 has .5 twice, 2 has .5 and .2, 4 nothing.
        assert_eq!(scores(Join::MaxPlus), [3.0, 2.0, 1.0, 4.0, 0.0]);
    }

    #[test]
    fn noisy_or_multiplies_doubts_and_a_sum_adds_weights() {
        let noisy = scores(Join::NoisyOr);
        assert!((1.0 - (-noisy[3]).exp() - 0.95).abs() < 1e-12 && noisy[4] == 0.0);
        assert_eq!(scores(Join::Sum), [0.9, 1.0, 0.7, 1.4, 0.0]);
    }

    #[test]
    fn a_rule_counts_for_tails_by_one_number_and_for_heads_by_the_other() {
        let fact = |predicate, head, tail| Triple {
            head: Entity(head),
            predicate: Predicate(predicate),
            tail: Entity(tail),
        };
        let facts = [fact(0, 0, 1), fact(1, 0, 2), fact(1, 3, 1)];
        let facts = Facts::from(&Graph::new(4, 3, 0, &facts, &[]));
        let weighed = |predicate, tail, head| {
            let atom = Atom::Pair(Predicate(predicate), Term::X, Term::Y);
            let rule = Rule::new(Predicate(2), &[Literal::any_of(vec![atom])]);
            Weighed { rule, number: Number { tail, head } }
        };
        let set = RuleSet::new(Predicate(2), Join::Sum, vec![weighed(0, 1.0, 0.0), weighed(1, 0.5, 2.0)]);
        let solvers = set.solvers(&facts, Limits::default()).expect("sound rules");
        let scores = |asked, known| set.scores(&solvers, asked, Entity(known), 4).0;
        assert_eq!(scores(Asked::Tail, 0), [0.0, 1.0, 0.5, 0.0]);
        assert_eq!(scores(Asked::Head, 1), [0.0, 0.0, 0.0, 2.0]);
        // The rule of the greater number stands first; the one that counts nothing for heads is left out there.
        assert_eq!((set.that_count(Asked::Tail), set.that_count(Asked::Head)), (vec![1, 0], vec![0]));
    }

    #[test]
    fn a_way_of_joining_and_its_word_are_one() {
        for join in Join::ALL {
            assert_eq!(Join::parse(join.word()).expect("its own word"), join);
        }
        assert!(Join::parse("best").expect_err("no such way").to_string().contains("max_plus"));
    }
}

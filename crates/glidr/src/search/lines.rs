//! The questions that a target's rules are judged by on a large graph: a sample, each with the rivals that
//! rules bring up.
//!
//! In: facts that ask, and which bodies fire. Out: numbered *places*, a few per question, that rules fire on
//! and weights are fitted to. All other candidates count as places that no rule fires on.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::bodies::{Body, Walk};
use super::ends::Ends;
use crate::graph::Direction;
use crate::graph::{Entity, Predicate};

/// What a place holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// An answer that is asked for.
    Answer,
    /// A candidate that is not known to be true.
    Rival,
    /// A rival that *valid* says is true.
    ValidRival,
}

/// One question and its places.
pub(super) struct Line {
    pub direction: Direction,
    pub known: u32,
    pub from_valid: bool,
    /// Sorted.
    pub answers: Vec<u32>,
    /// True ends that are not asked for, sorted: they do not count.
    pub left_out: Vec<u32>,
    /// (entity, place), sorted.
    pub places: Vec<(u32, u32)>,
}

impl Line {
    /// By how many of the `most` ways that a body fires on an answer it does so without the very fact that asks.
    pub fn leave_one_out_groundings(
        &self,
        walk: &Walk,
        target: Predicate,
        body: Body,
        answer: u32,
        most: u32,
    ) -> u32 {
        let (head, tail) = self.direction.pair(Entity(self.known), Entity(answer));
        walk.leave_one_out_groundings(body, target, head.0, tail.0, most)
    }

    /// (ways, end) of the ends that have no place yet though they are no known truth, those by most ways first.
    fn new_rivals(&self, ends: &Ends, least: u32) -> Vec<(u32, u32)> {
        let is_new = |end: u32| {
            self.left_out.binary_search(&end).is_err()
                && self.places.binary_search_by_key(&end, |&(entity, _)| entity).is_err()
        };
        let all = ends.list().iter().enumerate().map(|(at, &end)| (ends.ways(at), end));
        let mut new: Vec<(u32, u32)> = all.filter(|&(ways, end)| ways >= least && is_new(end)).collect();
        new.sort_by_key(|&(ways, end)| (Reverse(ways), end));
        new
    }
}

/// All questions.
pub(super) struct Lines {
    pub all: Vec<Line>,
    pub entities: usize,
    /// What each place holds.
    pub holds: Vec<Holds>,
    valid: HashSet<(u32, u32)>,
    /// Facts of the target that are known.
    known: usize,
}

impl Lines {
    /// The questions of some training facts and of some facts of *valid*. `known` says which pairs of the
    /// target are facts or training facts.
    pub fn new(
        walk: &Walk,
        target: Predicate,
        train: &[(u32, u32)],
        valid: &[(u32, u32)],
        all_valid: &[(u32, u32)],
    ) -> Self {
        let mut lines = Lines {
            all: Vec::new(),
            entities: walk.entities(),
            holds: Vec::new(),
            valid: all_valid.iter().copied().collect(),
            known: walk.known(target),
        };
        for (pairs, from_valid) in [(train, false), (valid, true)] {
            for direction in [Direction::Tail, Direction::Head] {
                let ends = |&(head, tail): &(u32, u32)| match direction {
                    Direction::Tail => (head, tail),
                    Direction::Head => (tail, head),
                };
                let mut questions: Vec<(u32, u32)> = pairs.iter().map(ends).collect();
                questions.sort_unstable();
                questions.dedup();
                for one in questions.chunk_by(|a, b| a.0 == b.0) {
                    lines.add(walk, target, direction, one, from_valid);
                }
            }
        }
        lines
    }

    fn add(
        &mut self,
        walk: &Walk,
        target: Predicate,
        direction: Direction,
        one: &[(u32, u32)],
        from_valid: bool,
    ) {
        let known = one[0].0;
        let step = if direction == Direction::Tail { target.0 } else { walk.inverse(target.0) };
        let answers: Vec<u32> = one.iter().map(|&(_, answer)| answer).collect();
        let mut left_out = walk.from(step, known).to_vec();
        if from_valid {
            let mut more: Vec<u32> = Vec::new();
            for &(head, tail) in &self.valid {
                let (head, tail) = if direction == Direction::Tail { (head, tail) } else { (tail, head) };
                more.extend((head == known).then_some(tail));
            }
            left_out.extend(more);
            left_out.sort_unstable();
        }
        left_out.retain(|end| answers.binary_search(end).is_err());
        let first = self.holds.len() as u32;
        let places = answers.iter().zip(first..).map(|(&answer, place)| (answer, place)).collect();
        self.holds.extend(answers.iter().map(|_| Holds::Answer));
        self.all.push(Line { direction, known, from_valid, answers, left_out, places });
    }

    /// Leaves out of every question its known end.
    pub fn refuse_own(&mut self) {
        for line in &mut self.all {
            if let Err(place) = line.left_out.binary_search(&line.known)
                && line.answers.binary_search(&line.known).is_err()
            {
                line.left_out.insert(place, line.known);
            }
        }
    }

    /// How many true ends of a question may be missing: for all that are known of the target, as many again as *valid*
    /// has, and its own where they count as unknown.
    pub fn missing(&self, line: &Line, with_valid: bool) -> usize {
        let (here, valid) = (line.answers.len() + line.left_out.len(), self.valid.len());
        if with_valid {
            here * valid / (self.known + valid).max(1)
        } else {
            2 * here * valid / self.known.max(1)
        }
    }

    /// The places of answers to training questions.
    pub fn positives(&self) -> impl Iterator<Item = u32> + '_ {
        let answer = |&&(_, place): &&(u32, u32)| self.holds[place as usize] == Holds::Answer;
        let lines = self.all.iter().filter(|line| !line.from_valid);
        lines.flat_map(move |line| line.places.iter().filter(answer).map(|&(_, place)| place))
    }

    /// The places of training questions.
    pub fn trained(&self) -> impl Iterator<Item = u32> + '_ {
        let lines = self.all.iter().filter(|line| !line.from_valid);
        lines.flat_map(|line| line.places.iter().map(|&(_, place)| place))
    }

    /// The places a body fires on by at least so many ways each. A question gets new rivals while it has fewer than
    /// `most` for each of its answers, those by most ways first.
    pub fn fires(
        &mut self,
        walk: &Walk,
        target: Predicate,
        body: Body,
        leasts: &[u32],
        most: usize,
    ) -> Vec<Vec<u32>> {
        let (mut fires, mut ends) = (vec![Vec::new(); leasts.len()], Ends::new(self.entities));
        let mut fire = |place: u32, ways: u32| {
            let reached = leasts.iter().take_while(|&&least| ways >= least);
            fires.iter_mut().zip(reached).for_each(|(fires, _)| fires.push(place));
        };
        for number in 0..self.all.len() {
            let line = &self.all[number];
            walk.ends(body, line.direction, line.known, usize::MAX, &mut ends);
            let mut meet = |place: u32, end: u32, ways: u32| {
                let asks = self.holds[place as usize] == Holds::Answer && !line.from_valid;
                let most = ways.min(leasts[leasts.len() - 1]);
                fire(
                    place,
                    if asks { line.leave_one_out_groundings(walk, target, body, end, most) } else { ways },
                );
            };
            // By whichever is shorter, the body's answers or the question's places.
            if ends.list().len() < line.places.len() {
                for (at, &end) in ends.list().iter().enumerate() {
                    if let Ok(place) = line.places.binary_search_by_key(&end, |&(entity, _)| entity) {
                        meet(line.places[place].1, end, ends.ways(at));
                    }
                }
            } else {
                for &(end, place) in &line.places {
                    if let Ok(at) = ends.list().binary_search(&end) {
                        meet(place, end, ends.ways(at));
                    }
                }
            }
            let room = (line.answers.len() * (most + 1)).saturating_sub(line.places.len());
            if room == 0 {
                continue;
            }
            for (ways, end) in line.new_rivals(&ends, leasts[0]).into_iter().take(room) {
                let line = &mut self.all[number];
                let (head, tail) = line.direction.pair(Entity(line.known), Entity(end));
                let is_valid = self.valid.contains(&(head.0, tail.0));
                let place = self.holds.len() as u32;
                self.holds.push(if is_valid { Holds::ValidRival } else { Holds::Rival });
                line.places.push((end, place));
                fire(place, ways);
            }
            self.all[number].places.sort_unstable();
        }
        for fires in &mut fires {
            fires.sort_unstable();
        }
        fires
    }
}

//! The questions that a target's rules are judged by on a large graph: a sample, each with the rivals that
//! rules bring up.
//!
//! In: facts that ask, and which bodies fire. Out: numbered *places*, a few per question, that rules fire on
//! and weights are fitted to. All other candidates count as places that no rule fires on.

use std::collections::HashSet;

use super::bodies::{Body, Walk};
use crate::graph::{Entity, Predicate};
use crate::rank::Asked;

/// A body may answer so many questions at once before it counts as too broad.
const FREE_QUESTIONS: usize = 30;

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
    pub asked: Asked,
    known: u32,
    pub from_valid: bool,
    /// Sorted.
    pub answers: Vec<u32>,
    /// True ends that are not asked for, sorted: they do not count.
    pub left_out: Vec<u32>,
    /// (entity, place), sorted.
    pub places: Vec<(u32, u32)>,
}

impl Line {
    /// Whether a body that fires on an answer does so without the very fact that asks.
    fn is_fair(&self, walk: &Walk, target: Predicate, body: Body, answer: u32) -> bool {
        let (head, tail) = self.asked.pair(Entity(self.known), Entity(answer));
        self.from_valid || walk.is_fair(body, target, head.0, tail.0)
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

/// What a body's answers to the questions count. A body that is sure of tails may be broad for heads, so each
/// direction counts apart; one in which it is too broad counts nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    /// For tails, then for heads: answers asked for, and all.
    ways: [(usize, usize); 2],
    /// The same for bodies with the same answers.
    pub sign: u64,
}

impl Counted {
    /// Answers asked for.
    pub fn hits(&self) -> usize {
        self.ways[0].0 + self.ways[1].0
    }

    /// How sure it is in the direction where it is surer.
    pub fn confidence(&self, doubt: f64) -> f64 {
        let of = |(hits, answers): (usize, usize)| hits as f64 / (answers as f64 + doubt);
        of(self.ways[0]).max(of(self.ways[1]))
    }

    /// What it finds times how surely, both directions together.
    pub fn value(&self, doubt: f64) -> f64 {
        let of = |(hits, answers): (usize, usize)| hits as f64 * hits as f64 / (answers as f64 + doubt);
        of(self.ways[0]) + of(self.ways[1])
    }
}

/// A number for an answer to a question, by which sets of answers are compared.
fn sign(line: usize, end: u32) -> u64 {
    let mut x = (line as u64) << 32 | u64::from(end);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
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
            for asked in [Asked::Tail, Asked::Head] {
                let ends = |&(head, tail): &(u32, u32)| match asked {
                    Asked::Tail => (head, tail),
                    Asked::Head => (tail, head),
                };
                let mut questions: Vec<(u32, u32)> = pairs.iter().map(ends).collect();
                questions.sort_unstable();
                questions.dedup();
                for one in questions.chunk_by(|a, b| a.0 == b.0) {
                    lines.add(walk, target, asked, one, from_valid);
                }
            }
        }
        lines
    }

    fn add(&mut self, walk: &Walk, target: Predicate, asked: Asked, one: &[(u32, u32)], from_valid: bool) {
        let known = one[0].0;
        let step = if asked == Asked::Tail { target.0 } else { walk.inverse(target.0) };
        let answers: Vec<u32> = one.iter().map(|&(_, answer)| answer).collect();
        let mut left_out = walk.from(step, known).to_vec();
        if from_valid {
            let mut more: Vec<u32> = Vec::new();
            for &(head, tail) in &self.valid {
                let (head, tail) = if asked == Asked::Tail { (head, tail) } else { (tail, head) };
                more.extend((head == known).then_some(tail));
            }
            left_out.extend(more);
            left_out.sort_unstable();
        }
        left_out.retain(|end| answers.binary_search(end).is_err());
        let first = self.holds.len() as u32;
        let places = answers.iter().zip(first..).map(|(&answer, place)| (answer, place)).collect();
        self.holds.extend(answers.iter().map(|_| Holds::Answer));
        self.all.push(Line { asked, known, from_valid, answers, left_out, places });
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

    /// What a body's answers to the training questions count; none if they are more than `most` on average both
    /// ways, which the first few questions may tell already.
    pub fn count(&self, walk: &Walk, target: Predicate, body: Body, most: usize) -> Option<Counted> {
        let (mut counted, mut ends) = (Counted::default(), Vec::new());
        let (mut left, mut broad) = ([most * FREE_QUESTIONS; 2], [false; 2]);
        for (number, line) in self.all.iter().enumerate().filter(|(_, line)| !line.from_valid) {
            let way = usize::from(line.asked == Asked::Head);
            if broad[way] {
                continue;
            }
            if !walk.ends(body, line.asked, line.known, left[way], &mut ends) {
                broad[way] = true;
                counted.ways[way] = (0, 0);
                if broad == [true; 2] {
                    return None;
                }
                continue;
            }
            left[way] = left[way] - ends.len() + most;
            for &end in &ends {
                if line.answers.binary_search(&end).is_ok() {
                    if line.is_fair(walk, target, body, end) {
                        counted.ways[way].0 += 1;
                        counted.ways[way].1 += 1;
                        counted.sign ^= sign(number, end);
                    }
                } else if line.left_out.binary_search(&end).is_err() {
                    counted.ways[way].1 += 1;
                    counted.sign ^= sign(number, end);
                }
            }
        }
        Some(counted)
    }

    /// The places a body fires on. A question gets new rivals while it has fewer than `most` for each
    /// of its answers.
    pub fn fires(&mut self, walk: &Walk, target: Predicate, body: Body, most: usize) -> Vec<u32> {
        let (mut fires, mut ends) = (Vec::new(), Vec::new());
        for number in 0..self.all.len() {
            let line = &self.all[number];
            let most = line.answers.len() * (most + 1);
            if line.places.len() >= most {
                self.fires_of_full(walk, target, body, line, &mut ends, &mut fires);
                continue;
            }
            walk.ends(body, line.asked, line.known, usize::MAX / 8, &mut ends);
            let mut opened = Vec::new();
            for &end in &ends {
                if let Ok(at) = line.places.binary_search_by_key(&end, |&(entity, _)| entity) {
                    let place = line.places[at].1;
                    if self.holds[place as usize] != Holds::Answer || line.is_fair(walk, target, body, end) {
                        fires.push(place);
                    }
                } else if line.places.len() + opened.len() < most
                    && line.left_out.binary_search(&end).is_err()
                {
                    let (head, tail) = line.asked.pair(Entity(line.known), Entity(end));
                    let valid = self.valid.contains(&(head.0, tail.0));
                    let place = self.holds.len() as u32;
                    self.holds.push(if valid { Holds::ValidRival } else { Holds::Rival });
                    opened.push((end, place));
                    fires.push(place);
                }
            }
            if !opened.is_empty() {
                let line = &mut self.all[number];
                line.places.extend(opened);
                line.places.sort_unstable();
            }
        }
        fires.sort_unstable();
        fires
    }

    /// The places that a body fires on in a question that gets no new rivals: by whichever is shorter, the
    /// body's answers or the question's places.
    fn fires_of_full(
        &self,
        walk: &Walk,
        target: Predicate,
        body: Body,
        line: &Line,
        ends: &mut Vec<u32>,
        fires: &mut Vec<u32>,
    ) {
        let list = walk.ends_of(body, line.asked, line.known, ends);
        let mut fire = |place: u32, end: u32| {
            if self.holds[place as usize] != Holds::Answer || line.is_fair(walk, target, body, end) {
                fires.push(place);
            }
        };
        if list.len() < line.places.len() {
            for &end in list {
                if let Ok(at) = line.places.binary_search_by_key(&end, |&(entity, _)| entity) {
                    fire(line.places[at].1, end);
                }
            }
        } else {
            for &(end, place) in &line.places {
                if list.binary_search(&end).is_ok() {
                    fire(place, end);
                }
            }
        }
    }
}

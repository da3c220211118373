//! What a body's answers to a sample of questions count.

use super::bodies::{Body, Walk};
use super::ends::Ends;
use super::lines::Lines;
use crate::graph::Direction;
use crate::graph::Predicate;

/// A body may answer so many questions at once before it counts as too broad.
const FREE_QUESTIONS: usize = 30;
/// Links that a body follows for one question, on average, at most.
const MOST_LINKS: usize = 100_000;

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
    pub fn confidence(&self, smoothing: f64) -> f64 {
        let of = |(hits, answers): (usize, usize)| hits as f64 / (answers as f64 + smoothing);
        of(self.ways[0]).max(of(self.ways[1]))
    }

    /// What it finds times how surely, both directions together.
    pub fn value(&self, smoothing: f64) -> f64 {
        let of = |(hits, answers): (usize, usize)| hits as f64 * hits as f64 / (answers as f64 + smoothing);
        of(self.ways[0]) + of(self.ways[1])
    }
}

/// A body's answers while they are counted.
#[derive(Clone)]
struct Tally {
    counted: Counted,
    /// How many more answers for tails and for heads are not yet too many; none once they were.
    left: [Option<usize>; 2],
}

impl Tally {
    fn new(free: usize) -> Self {
        Tally { counted: Counted::default(), left: [Some(free); 2] }
    }

    /// What counts; none where it is too broad both ways.
    fn counted(mut self) -> Option<Counted> {
        for (way, _) in self.left.iter().enumerate().filter(|(_, left)| left.is_none()) {
            self.counted.ways[way] = (0, 0);
        }
        (self.left != [None; 2]).then_some(self.counted)
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
    /// What a body's answers to the training questions count, by at least so many ways each; none if they are more than
    /// `most` on average both ways or there are too many links to follow, which the first few questions may tell already,
    /// or once no links are `left` for all bodies.
    pub fn count(
        &self,
        walk: &Walk,
        target: Predicate,
        body: Body,
        leasts: &[u32],
        most: usize,
        left: &mut usize,
    ) -> Vec<Option<Counted>> {
        let mut ends = Ends::new(self.entities);
        let mut tallies = vec![Tally::new(most * FREE_QUESTIONS); leasts.len()];
        let mut links = [MOST_LINKS * FREE_QUESTIONS; 2];
        let reached = |ways: u32| leasts.iter().take_while(|&&least| ways >= least).count();
        for (number, line) in self.all.iter().enumerate().filter(|(_, line)| !line.from_valid) {
            let way = usize::from(line.direction == Direction::Head);
            if tallies.iter().all(|tally| tally.left[way].is_none()) {
                continue;
            }
            let is_short = walk.ends(body, line.direction, line.known, links[way].min(*left), &mut ends);
            *left = left.saturating_sub(ends.links);
            if !is_short && *left == 0 {
                return vec![None; leasts.len()];
            }
            links[way] = (links[way] + MOST_LINKS).saturating_sub(ends.links);
            let mut many = vec![0; leasts.len()];
            for place in 0..ends.list().len() {
                many[..reached(ends.ways(place))].iter_mut().for_each(|many| *many += 1);
            }
            for (tally, many) in tallies.iter_mut().zip(many) {
                let left = tally.left[way].and_then(|left| left.checked_sub(many)).filter(|_| is_short);
                tally.left[way] = left.map(|left| left + most);
            }
            for (place, &end) in ends.list().iter().enumerate() {
                let ways = ends.ways(place).min(leasts[leasts.len() - 1]);
                let (ways, hit) = if line.answers.binary_search(&end).is_ok() {
                    (line.leave_one_out_groundings(walk, target, body, end, ways), 1)
                } else if line.left_out.binary_search(&end).is_err() {
                    (ways, 0)
                } else {
                    continue;
                };
                for tally in &mut tallies[..reached(ways)] {
                    tally.counted.ways[way].0 += hit;
                    tally.counted.ways[way].1 += 1;
                    tally.counted.sign ^= sign(number, end);
                }
            }
        }
        tallies.into_iter().map(Tally::counted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Entity, Neighbours, Sizes, Triple};
    use crate::search::bodies::{IS, Mark};
    use crate::search::lines::Holds;
    use crate::solve::{Limits, Solver};

    #[test]
    fn what_a_body_counts_and_fires_on_is_what_its_rule_says() {
        let triples: Vec<Triple> = (0..50u32).map(|n| Triple::new(n * 7 % 11, n % 3, n * n % 11)).collect();
        let facts = Neighbours::new(Sizes { entities: 11, predicates: 3, properties: 0 }, &triples, &[]);
        let (walk, target, leasts) = (Walk::new(&facts), Predicate(1), [1, 2, 3]);
        let known: Vec<(u32, u32)> = facts.pairs(target).map(|(head, tail)| (head.0, tail.0)).collect();
        let all = (0..11).flat_map(|head| (0..11).map(move |tail| (head, tail)));
        let valid: Vec<(u32, u32)> = all.filter(|pair| !known.contains(pair)).step_by(17).collect();
        let mark = |step, constant| Mark { step, constant };
        let mut bodies: Vec<Body> = (0..216)
            .map(|n| Body::Chain([n / 36, n / 6 % 6, if n % 7 == 0 { IS } else { n % 6 }], 1))
            .collect();
        bodies.extend((0..6).map(|step| Body::Both(mark(step, None), mark(1, Some(4)))));
        let (mut unfair, mut several) = (0, 0);
        for body in bodies {
            let mut lines = Lines::new(&walk, target, &known, &valid, &valid);
            let leasts = if matches!(body, Body::Chain(..)) { &leasts[..] } else { &leasts[..1] };
            let fires = lines.fires(&walk, target, body, leasts, 99);
            let mut left = usize::MAX;
            let counted = lines.count(&walk, target, body, leasts, 99, &mut left);
            for ((&least, fires), counted) in leasts.iter().zip(fires).zip(counted) {
                let rule = walk.rule(body.in_ways(least), target);
                let solver = Solver::new(&rule, &facts, Limits::default()).expect("a sound rule");
                let mut ways = [(0, 0); 2];
                for line in &lines.all {
                    for end in (0..11).filter(|end| line.left_out.binary_search(end).is_err()) {
                        let (head, tail) = line.direction.pair(Entity(line.known), Entity(end));
                        let place = line.places.iter().find(|(entity, _)| *entity == end).map(|of| of.1);
                        let holds = solver.holds(head, tail).value;
                        let is_answer =
                            place.is_some_and(|place| lines.holds[place as usize] == Holds::Answer);
                        let fact = Triple { head, predicate: target, tail };
                        let asks = is_answer && !line.from_valid;
                        let fair = if asks { solver.holds_without(head, tail, fact).value } else { holds };
                        unfair += usize::from(holds && !fair);
                        several += usize::from(fair && least > 1);
                        let fired = place.is_some_and(|place| fires.binary_search(&place).is_ok());
                        assert_eq!(fired, fair, "{rule:?} {fact:?}");
                        if !line.from_valid {
                            let way = &mut ways[usize::from(line.direction == Direction::Head)];
                            way.0 += usize::from(fired && is_answer);
                            way.1 += usize::from(fired);
                        }
                    }
                }
                assert_eq!(counted.expect("not too broad").ways, ways, "{rule:?}");
            }
        }
        assert!(unfair > 50 && several > 500, "{unfair} {several}");
    }

    #[test]
    fn a_body_that_answers_too_much_or_follows_too_many_links_counts_nothing() {
        let triples: Vec<Triple> = (0..200u32).map(|n| Triple::new(n % 40, 0, 40 + n % 37)).collect();
        let facts = Neighbours::new(Sizes { entities: 80, predicates: 1, properties: 0 }, &triples, &[]);
        let known: Vec<(u32, u32)> = facts.pairs(Predicate(0)).map(|(head, tail)| (head.0, tail.0)).collect();
        let walk = Walk::new(&facts);
        let lines = Lines::new(&walk, Predicate(0), &known, &[], &[]);
        let [there, back] = [0, walk.inverse(0)];
        let count = |most, mut left: usize| {
            let found =
                lines.count(&walk, Predicate(0), Body::Chain([there, back, there], 1), &[1], most, &mut left);
            (found[0], left)
        };
        assert!(count(0, usize::MAX).0.is_none());
        let (counted, left) = count(80, 1_000_000);
        assert!(counted.is_some_and(|counted| counted.hits() > 0));
        // Links are used up, and with one less than it takes nothing counts.
        assert!(left < 1_000_000);
        assert!(count(80, 1_000_000 - left).0.is_some());
        assert!(count(80, 1_000_000 - left - 1).0.is_none());
    }
}

//! What a body's answers to the training queries count.

use super::{Prepared, QuerySample};
use crate::rule::Weight;
use crate::search::ends::Ends;

/// A body may answer so many queries at once before it counts as too broad.
const FREE_QUERIES: usize = 30;
/// Links that a body follows for one query, on average, at most.
const MAX_LINKS: usize = 100_000;

/// What a body's answers count. A body that is sure of tails may be broad for heads, so each direction counts
/// apart; one in which it is too broad counts nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::search) struct Counts {
    /// For tails, then for heads: answers asked for, and all.
    pub by_direction: [(usize, usize); 2],
    /// The same for bodies with the same answers.
    pub fingerprint: u64,
}

impl Counts {
    /// Answers asked for.
    pub fn support(&self) -> usize {
        self.by_direction[0].0 + self.by_direction[1].0
    }

    /// The smoothed confidence for tails and for heads.
    pub fn confidence(&self, smoothing: f64) -> Weight {
        let of = |(hits, answers): (usize, usize)| hits as f64 / (answers as f64 + smoothing);
        Weight { tail: of(self.by_direction[0]), head: of(self.by_direction[1]) }
    }

    /// Support times confidence, both directions together.
    pub fn value(&self, smoothing: f64) -> f64 {
        let of = |(hits, answers): (usize, usize)| (hits * hits) as f64 / (answers as f64 + smoothing);
        of(self.by_direction[0]) + of(self.by_direction[1])
    }
}

/// How much counting may take.
pub(in crate::search) struct Effort {
    /// Answers of a body to one query, on average, at most.
    pub max_answers: usize,
    /// Links that all bodies together may yet follow.
    pub links: usize,
}

/// A body's answers while they are counted.
#[derive(Clone)]
struct Tally {
    counts: Counts,
    /// How many more answers for tails and for heads are not yet too many; none once they were.
    left: [Option<usize>; 2],
}

impl Tally {
    fn new(free: usize) -> Self {
        Tally { counts: Counts::default(), left: [Some(free); 2] }
    }

    /// What counts; none where it is too broad in both directions.
    fn counts(mut self) -> Option<Counts> {
        for (direction, _) in self.left.iter().enumerate().filter(|(_, left)| left.is_none()) {
            self.counts.by_direction[direction] = (0, 0);
        }
        (self.left != [None; 2]).then_some(self.counts)
    }
}

/// A number for an answer to a query, by which sets of answers are compared.
fn fingerprint(query: usize, end: u32) -> u64 {
    let mut x = (query as u64) << 32 | u64::from(end);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl QuerySample {
    /// What a body's answers to every `stride`-th training query count, with at least so many groundings each; none
    /// where they are too many on average in both directions or too many links must be followed, which the first few queries
    /// may tell already, or once no links are left for all bodies.
    pub fn count(
        &self,
        prepared: &Prepared,
        min_groundings: &[u32],
        stride: usize,
        effort: &mut Effort,
    ) -> Vec<Option<Counts>> {
        let mut ends = Ends::new(self.entities);
        let mut tallies = vec![Tally::new(effort.max_answers * FREE_QUERIES); min_groundings.len()];
        let mut links = [MAX_LINKS * FREE_QUERIES; 2];
        let reached = |groundings: u32| min_groundings.iter().take_while(|&&min| groundings >= min).count();
        for (number, query) in self.training().step_by(stride) {
            let way = query.direction as usize;
            if tallies.iter().all(|tally| tally.left[way].is_none()) {
                continue;
            }
            let is_short = prepared.ends(query, links[way].min(effort.links), &mut ends);
            effort.links = effort.links.saturating_sub(ends.links);
            if !is_short && effort.links == 0 {
                return vec![None; min_groundings.len()];
            }
            links[way] = (links[way] + MAX_LINKS).saturating_sub(ends.links);
            let mut many = vec![0; min_groundings.len()];
            for place in 0..ends.list().len() {
                many[..reached(ends.groundings(place))].iter_mut().for_each(|many| *many += 1);
            }
            for (tally, many) in tallies.iter_mut().zip(many) {
                let left = tally.left[way].and_then(|left| left.checked_sub(many)).filter(|_| is_short);
                tally.left[way] = left.map(|left| left + effort.max_answers);
            }
            for (place, &end) in ends.list().iter().enumerate() {
                let groundings = ends.groundings(place).min(min_groundings[min_groundings.len() - 1]);
                let (groundings, hit) = if query.answers.binary_search(&end).is_ok() {
                    (prepared.leave_one_out(query, end, groundings), 1)
                } else if !self.is_excluded(query, end) {
                    (groundings, 0)
                } else {
                    continue;
                };
                for tally in &mut tallies[..reached(groundings)] {
                    tally.counts.by_direction[way].0 += hit;
                    tally.counts.by_direction[way].1 += 1;
                    tally.counts.fingerprint ^= fingerprint(number, end);
                }
            }
        }
        tallies.into_iter().map(Tally::counts).collect()
    }
}

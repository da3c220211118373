//! The rules considered for one target, with the pairs each fires on.

use std::collections::HashSet;

use super::chains::both;
use super::universe::Universe;
use crate::graph::Entity;
use crate::rule::Rule;

/// A rule and what was counted of it, fairly.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub rule: Rule,
    pub confidence: f64,
    pub answers: Vec<(Entity, Entity)>,
}

/// What is kept of the pool: rules with the places they fire on.
pub(super) struct Pool {
    /// The rules that are no conjunctions.
    names: Vec<Rule>,
    pub rules: Vec<Pooled>,
}

/// A rule in the pool.
pub(super) struct Pooled {
    /// The base rules it is made of: one, or two joined by X and Y.
    parts: (usize, Option<usize>),
    pub confidence: f64,
    pub fires: Vec<u32>,
}

/// How large a pool may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub base: usize,
    /// So many of them, the surest, are joined in pairs.
    pub joined: usize,
    pub conjunctions: usize,
    pub least_support: usize,
    pub smoothing: f64,
}

/// Bits of a set of pairs.
fn bits(fires: &[u32], words: usize) -> Vec<u64> {
    let mut bits = vec![0u64; words];
    for &pair in fires {
        bits[pair as usize / 64] |= 1 << (pair % 64);
    }
    bits
}

impl Pool {
    /// Keeps the best base rules, each set of answers once by its shortest rule, and the best
    /// conjunctions of two that are more confident than both.
    pub fn new(
        entities: usize,
        mut base: Vec<Candidate>,
        truth: &[(u32, u32)],
        sizes: Sizes,
    ) -> (Self, Universe) {
        base.sort_by(|a, b| {
            let length = |rule: &Rule| (rule.body().len(), rule.variables());
            let confidence = b.confidence.total_cmp(&a.confidence);
            confidence.then_with(|| length(&a.rule).cmp(&length(&b.rule))).then_with(|| a.rule.cmp(&b.rule))
        });
        let mut known: HashSet<Vec<(Entity, Entity)>> = HashSet::new();
        base.retain(|candidate| known.insert(candidate.answers.clone()));
        drop(known);
        base.truncate(sizes.base);
        let pairs = base.iter().flat_map(|c| c.answers.iter().map(|(h, t)| (h.0, t.0))).collect();
        let universe = Universe::new(entities, pairs);
        let positives: Vec<u32> =
            truth.iter().filter_map(|&pair| universe.find(pair)).map(|place| place as u32).collect();
        let base = base.into_iter().map(|c| (c.confidence, universe.numbers(&c.answers), c.rule)).collect();
        let whole: Vec<u32> = (0..universe.len() as u32).collect();
        (Pool::of(base, universe.len(), &positives, &whole, sizes), universe)
    }

    /// A pool of rules with their confidences and places; confidences of conjunctions are counted at
    /// the `counted` places, of which `positives` are true.
    pub fn of(
        base: Vec<(f64, Vec<u32>, Rule)>,
        places: usize,
        positives: &[u32],
        counted: &[u32],
        sizes: Sizes,
    ) -> Self {
        let mut pool = Pool { names: Vec::with_capacity(base.len()), rules: Vec::with_capacity(base.len()) };
        for (number, (confidence, fires, rule)) in base.into_iter().enumerate() {
            pool.rules.push(Pooled { parts: (number, None), confidence, fires });
            pool.names.push(rule);
        }
        pool.conjunctions(places, positives, counted, sizes);
        // Highest confidence first, so that joins that count the best few can stop early.
        pool.rules.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then(a.parts.cmp(&b.parts)));
        pool
    }

    /// The places that every rule fires on.
    pub fn fires(&self) -> Vec<&[u32]> {
        self.rules.iter().map(|rule| rule.fires.as_slice()).collect()
    }

    fn conjunctions(&mut self, places: usize, positives: &[u32], counted: &[u32], sizes: Sizes) {
        if sizes.conjunctions == 0 {
            return;
        }
        let words = places.div_ceil(64);
        let joined = self.rules.iter().take(sizes.joined);
        let sets: Vec<Vec<u64>> = joined.map(|rule| bits(&rule.fires, words)).collect();
        let (positives, counted) = (bits(positives, words), bits(counted, words));
        let mut found: Vec<(f64, usize, usize)> = Vec::new();
        for (i, a) in sets.iter().enumerate() {
            for (j, b) in sets.iter().enumerate().skip(i + 1) {
                let (mut body, mut hits) = (0, 0);
                for (((a, b), positive), counted) in a.iter().zip(b).zip(&positives).zip(&counted) {
                    let both = a & b & counted;
                    body += both.count_ones();
                    hits += (both & positive).count_ones();
                }
                let confidence = f64::from(hits) / (f64::from(body) + sizes.smoothing);
                let parts = self.rules[i].confidence.max(self.rules[j].confidence);
                if hits as usize >= sizes.least_support && confidence > parts + 1e-9 {
                    found.push((confidence, i, j));
                }
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let mut known: HashSet<Vec<u32>> = HashSet::new();
        for (confidence, i, j) in found {
            if known.len() == sizes.conjunctions {
                break;
            }
            let meets = |pair: &&u32| sets[j][**pair as usize / 64] & (1 << (**pair % 64)) != 0;
            let fires: Vec<u32> = self.rules[i].fires.iter().filter(meets).copied().collect();
            if both(&self.names[i], &self.names[j]).is_some() && known.insert(fires.clone()) {
                self.rules.push(Pooled { parts: (i, Some(j)), confidence, fires });
            }
        }
    }

    /// The rule of a number as logic.
    pub fn rule(&self, number: usize) -> Rule {
        let (first, second) = self.rules[number].parts;
        let joined =
            second.and_then(|second| both(&self.names[first], &self.names[second])).map(|rule| rule.folded());
        joined.unwrap_or_else(|| self.names[first].clone())
    }
}

//! Links of one graph from the queries and keys of its entities, and the adjoint.
//!
//! The paper: attention with a sigmoid instead of softmax, zero diagonals, values below 0.5 clipped to zero.

use super::links::Entry;
use super::{Links, Problem};
use crate::links::{Clip, sigmoid};

/// How attention is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Numbers of a query or key.
    pub key: usize,
    /// Which links are none.
    pub clip: Clip,
}

/// What one graph's links are made of, and its properties' values.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    /// How many entities each row describes.
    pub counts: &'a [f32],
    /// `[rows][predicates][key]`, both.
    pub queries: &'a [f32],
    pub keys: &'a [f32],
    pub bias: &'a [f32],
    /// `[rows][properties]`.
    pub values: &'a [f32],
    pub sizes: Sizes,
}

/// Entities whose attention is computed side by side.
const CHUNK: usize = 8;

impl Links {
    /// All links; with `with_clipped`, those too that are clipped but have a derivative.
    ///
    /// ```text
    /// a = q·k / √|k| + bias;  s = 1 / (1 + e^−a);  b = s where s ≥ threshold and off the diagonal; kept, as 0, where s ≥ gradient threshold
    /// ```
    #[inline(always)]
    pub fn make(&mut self, problem: &Problem, given: &Given, with_clipped: bool) {
        let (entities, predicates, key) = (problem.entities, problem.schema.predicates, given.sizes.key);
        let (threshold, gradient_threshold) = given.sizes.clip.logits();
        let least = if with_clipped { gradient_threshold } else { threshold };
        let scale = 1.0 / (key as f32).sqrt();
        let width = entities.next_multiple_of(CHUNK);
        self.clear();
        // One predicate's keys, a row for each of their numbers.
        let mut turned = vec![0.0f32; key * width];
        for predicate in 0..predicates {
            let at = |entity: usize| (entity * predicates + predicate) * key;
            for entity in 0..entities {
                for (n, value) in given.keys[at(entity)..][..key].iter().enumerate() {
                    turned[n * width + entity] = value * scale;
                }
            }
            for entity in 0..entities {
                let query = &given.queries[at(entity)..][..key];
                for first in (0..width).step_by(CHUNK) {
                    let mut attention = [given.bias[predicate]; CHUNK];
                    for (row, &q) in turned.chunks_exact(width).zip(query) {
                        let row = &row[first..first + CHUNK];
                        for n in 0..CHUNK {
                            attention[n] += q * row[n];
                        }
                    }
                    if attention.iter().all(|&a| a < least) {
                        continue;
                    }
                    for (other, &a) in (first..entities).zip(&attention) {
                        // Entities that are alike are linked to each other, none to itself.
                        if a >= least && (other != entity || given.counts[entity] > 1.0) {
                            let s = sigmoid(a);
                            let (value, slope) = (if a >= threshold { s } else { 0.0 }, s * (1.0 - s));
                            let entry = Entry { predicate: predicate as u32, value, slope };
                            self.push(entity * entities + other, entry);
                        }
                    }
                }
            }
        }
        self.settle(given.counts);
    }

    /// The adjoint of [`Links::make`]: sets derivatives by queries and keys, adds to those by the biases.
    ///
    /// ```text
    /// d_a = s (1 − s) d_b
    /// ```
    #[inline(always)]
    pub fn make_adjoint(
        &self,
        problem: &Problem,
        given: &Given,
        d_links: &[f32],
        d_queries: &mut [f32],
        d_keys: &mut [f32],
        d_bias: &mut [f32],
    ) {
        let (predicates, key) = (problem.schema.predicates, given.sizes.key);
        let scale = 1.0 / (key as f32).sqrt();
        for entity in 0..problem.entities {
            for pair in self.pairs(entity) {
                let other = self.other[pair] as usize;
                for (entry, d_link) in
                    self.entries[self.entries(pair)].iter().zip(&d_links[self.entries(pair)])
                {
                    if *d_link == 0.0 {
                        continue;
                    }
                    let predicate = entry.predicate as usize;
                    let d = entry.slope * d_link;
                    d_bias[predicate] += d;
                    let (to, from) =
                        ((entity * predicates + predicate) * key, (other * predicates + predicate) * key);
                    for n in 0..key {
                        d_queries[to + n] += d * scale * given.keys[from + n];
                        d_keys[from + n] += d * scale * given.queries[to + n];
                    }
                }
            }
        }
    }
}

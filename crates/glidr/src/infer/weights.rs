//! Logits and the weights they stand for.
//!
//! In: the logits θ of a rule. Out: probability weights w per slot. Paper: `def:glidr_weights`.

use crate::rule::{Filling, Schema};

/// One number per filler of every slot of one rule: the shape that logits, weights and their
/// derivatives share. Rows stand in slot order, then own slots in variable order.
#[derive(Clone, Debug, PartialEq)]
pub struct Slots {
    /// Pair slots: [`Schema::slots`] rows of [`Schema::fillers`].
    pub pairs: Vec<f32>,
    /// Own slots: a row of [`Schema::own_fillers`] per variable; empty without properties.
    pub owns: Vec<f32>,
}

/// The logits θ of one rule: the only thing trained                       `eq:glidr_weights`
pub type Logits = Slots;
/// The probability weights w of one rule                             `eq:glidr_prob_weights`
pub type Weights = Slots;

impl Slots {
    /// All zero.
    pub fn zero(schema: &Schema) -> Self {
        Slots {
            pairs: vec![0.0; schema.slots() * schema.fillers()],
            owns: vec![0.0; schema.variables * schema.own_fillers()],
        }
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.pairs.len() + self.owns.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All numbers, pair slots first.
    pub fn iter(&self) -> impl Iterator<Item = f32> + '_ {
        self.pairs.iter().chain(&self.owns).copied()
    }

    /// All numbers, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut f32> {
        self.pairs.iter_mut().chain(&mut self.owns)
    }

    /// The rows of all pair slots.
    pub fn pair_rows<'a>(&'a self, schema: &Schema) -> impl Iterator<Item = &'a [f32]> {
        self.pairs.chunks_exact(schema.fillers())
    }

    /// The rows of all own slots.
    pub fn own_rows<'a>(&'a self, schema: &Schema) -> impl Iterator<Item = &'a [f32]> {
        self.owns.chunks_exact(schema.own_fillers().max(1))
    }

    /// Soft weights from logits, slot by slot.
    ///
    /// ```text
    /// w = e^θ / Σ e^θ                                          eq:glidr_prob_weights
    /// ```
    #[must_use]
    pub fn soft(logits: &Logits, schema: &Schema) -> Weights {
        let mut weights = logits.clone();
        weights.pairs.chunks_exact_mut(schema.fillers()).for_each(softmax);
        weights.owns.chunks_exact_mut(schema.own_fillers().max(1)).for_each(softmax);
        weights
    }

    /// The adjoint of [`Slots::soft`]: turns the derivative by weights into that by logits.
    ///
    /// ```text
    /// d_θ = w (d_w − Σ w d_w)
    /// ```
    pub fn soft_adjoint(weights: &Weights, d_weights: &mut Slots, schema: &Schema) {
        let rows = weights.pair_rows(schema).zip(d_weights.pairs.chunks_exact_mut(schema.fillers()));
        rows.for_each(|(w, d)| softmax_adjoint(w, d));
        let own = schema.own_fillers().max(1);
        let rows = weights.own_rows(schema).zip(d_weights.owns.chunks_exact_mut(own));
        rows.for_each(|(w, d)| softmax_adjoint(w, d));
    }

    /// Binary weights: 1 for each chosen filler, or for `P_true` where none is chosen.
    #[must_use]
    pub fn hard(filling: &Filling) -> Weights {
        let schema = filling.schema;
        let mut weights = Slots::zero(&schema);
        for (slot, row) in weights.pairs.chunks_exact_mut(schema.fillers()).enumerate() {
            match filling.slot(slot) {
                [] => row[schema.fillers() - 1] = 1.0,
                chosen => chosen.iter().for_each(|&filler| row[schema.filler_number(filler)] = 1.0),
            }
        }
        for (variable, row) in weights.owns.chunks_exact_mut(schema.own_fillers().max(1)).enumerate() {
            match filling.own_slot(variable) {
                [] => row[schema.properties] = 1.0,
                chosen => chosen.iter().for_each(|property| row[property.index()] = 1.0),
            }
        }
        weights
    }
}

fn softmax(row: &mut [f32]) {
    let most = row.iter().fold(f32::NEG_INFINITY, |most, &logit| most.max(logit));
    let mut sum = 0.0;
    for value in row.iter_mut() {
        *value = (*value - most).exp();
        sum += *value;
    }
    for value in row {
        *value /= sum;
    }
}

fn softmax_adjoint(w: &[f32], d: &mut [f32]) {
    let mean: f32 = w.iter().zip(d.iter()).map(|(w, d)| w * d).sum();
    for (w, d) in w.iter().zip(d) {
        *d = w * (*d - mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Predicate;
    use crate::rule::Filler;

    #[test]
    fn soft_weights_of_a_slot_sum_to_one() {
        let schema = Schema::new(3, 2, 1).expect("in range");
        let mut logits = Slots::zero(&schema);
        logits.iter_mut().enumerate().for_each(|(n, logit)| *logit = (n as f32 * 0.7).sin() * 30.0);
        let weights = Slots::soft(&logits, &schema);
        for row in weights.pair_rows(&schema).chain(weights.own_rows(&schema)) {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn hard_weights_are_binary_and_an_empty_slot_is_true() {
        let schema = Schema::new(3, 2, 0).expect("in range");
        let filling =
            Filling::new(schema).pair(0, 1, &[Filler::Direct(Predicate(1)), Filler::Inverse(Predicate(0))]);
        let weights = Slots::hard(&filling);
        assert_eq!(weights.pairs, [0., 1., 1., 0., 0., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1.]);
        assert!(weights.owns.is_empty());
    }
}

//! A slot's soft adjacency matrix as a table from class to value.
//!
//! In: the [`Weights`] of a rule and a [`ClassMatrix`]. Out: for every slot, what a linked pair of each
//! class is worth. Paper: `eq:soft_adj_mtx`.

use super::{Slots, Weights};
use crate::graph::ClassMatrix;
use crate::rule::Schema;

/// What message passing needs to know of one rule on one graph.
#[derive(Clone, Debug)]
pub struct Tables {
    /// The rule's schema.
    pub schema: Schema,
    classes: usize,
    kinds: usize,
    /// M of a class, per slot: read from i to j.
    pub(crate) forward: Vec<f32>,
    /// M of the inverse class, per slot: read from j to i, that is Mᵀ.
    pub(crate) backward: Vec<f32>,
    /// The weight of `P_true`, per slot.
    pub(crate) sure: Vec<f32>,
    /// The own slot's message per variable and kind of entity; empty without properties.
    pub(crate) own: Vec<f32>,
    /// On a dense graph: M of every slot, row by row, read from i to j, then read from j to i, for
    /// inner senders; empty elsewhere.
    dense: Vec<f32>,
    entities: usize,
}

impl Tables {
    /// Sums the weights of each class's fillers.
    ///
    /// ```text
    /// M = Σ wₖ Bₖ                                                   eq:soft_adj_mtx
    /// ```
    pub fn new(weights: &Weights, schema: Schema, graph: &ClassMatrix) -> Self {
        let mut tables = Tables::without_matrix(weights, schema, graph);
        if graph.is_dense() {
            tables.fill_dense(graph);
        }
        tables
    }

    /// The same without writing any matrix out in full, whatever the graph.
    pub fn without_matrix(weights: &Weights, schema: Schema, graph: &ClassMatrix) -> Self {
        let (classes, kinds) = (graph.classes().len(), graph.kinds().len());
        let mut tables = Tables::zero(schema, graph);
        for (slot, row) in weights.pair_rows(&schema).enumerate() {
            let forward = &mut tables.forward[slot * classes..][..classes];
            for (class, value) in forward.iter_mut().enumerate() {
                *value =
                    graph.classes().members(class).iter().map(|m| m.value * row[m.filler as usize]).sum();
            }
            let backward = &mut tables.backward[slot * classes..][..classes];
            for (class, value) in backward.iter_mut().enumerate() {
                *value = forward[graph.inverse(class as u32) as usize];
            }
            tables.sure[slot] = row[row.len() - 1];
        }
        for (variable, row) in weights.own_rows(&schema).enumerate() {
            for kind in 0..kinds {
                let members = graph.kinds().members(kind);
                let told: f32 = members.iter().map(|m| m.value * row[m.filler as usize]).sum();
                tables.own[variable * kinds + kind] = told + row[row.len() - 1];
            }
        }
        tables
    }

    /// Writes M out in full for the slots whose messages are whole matrix products.
    fn fill_dense(&mut self, graph: &ClassMatrix) {
        let (entities, inner) = (self.entities, 1..self.schema.variables - 1);
        let mut dense = vec![0.0; 2 * self.schema.slots() * entities * entities];
        for (i, j) in self.schema.pairs() {
            for (sender, receiver) in
                [(i, j), (j, i)].into_iter().filter(|(sender, _)| inner.contains(sender))
            {
                let (table, start) = (self.toward(sender, receiver), self.dense_start(sender, receiver));
                for entity in 0..entities {
                    for link in graph.row(entity) {
                        dense[start + entity * entities + link.entity as usize] = table[link.class as usize];
                    }
                }
            }
        }
        self.dense = dense;
    }

    #[inline(always)]
    fn dense_start(&self, sender: usize, receiver: usize) -> usize {
        let turn = usize::from(sender > receiver) * self.schema.slots();
        (turn + self.slot(sender, receiver)) * self.entities * self.entities
    }

    /// The row of M for messages to `entity`, where M is written out in full.
    #[inline(always)]
    pub(crate) fn dense_row(&self, sender: usize, receiver: usize, entity: usize) -> Option<&[f32]> {
        let start = self.dense_start(sender, receiver) + entity * self.entities;
        self.dense.get(start..start + self.entities)
    }

    /// Tables of zeros: where derivatives are gathered.
    pub fn zero(schema: Schema, graph: &ClassMatrix) -> Self {
        let (classes, kinds) = (graph.classes().len(), graph.kinds().len());
        let own = if schema.properties == 0 { 0 } else { schema.variables * kinds };
        Tables {
            schema,
            classes,
            kinds,
            forward: vec![0.0; schema.slots() * classes],
            backward: vec![0.0; schema.slots() * classes],
            sure: vec![0.0; schema.slots()],
            own: vec![0.0; own],
            dense: Vec::new(),
            entities: graph.entities(),
        }
    }

    /// All that is summed up: forward, backward, sure, own.
    pub(crate) fn parts(&self) -> [&Vec<f32>; 4] {
        [&self.forward, &self.backward, &self.sure, &self.own]
    }

    /// Likewise, to be written.
    pub(crate) fn parts_mut(&mut self) -> [&mut Vec<f32>; 4] {
        [&mut self.forward, &mut self.backward, &mut self.sure, &mut self.own]
    }

    /// The adjoint of [`Tables::new`]: derivatives by weights, added to `d_weights`, and, where
    /// `d_values` is given, by the value of every fact of a graph built with [`ClassMatrix::valued`].
    pub fn adjoint(
        mut d_tables: Tables,
        weights: &Weights,
        graph: &ClassMatrix,
        d_weights: &mut Slots,
        mut d_values: Option<&mut [f32]>,
    ) {
        let (schema, classes, kinds) = (d_tables.schema, d_tables.classes, d_tables.kinds);
        let rows = weights.pair_rows(&schema).zip(d_weights.pairs.chunks_exact_mut(schema.fillers()));
        for (slot, (row, d_row)) in rows.enumerate() {
            let d_forward = &mut d_tables.forward[slot * classes..][..classes];
            let d_backward = &d_tables.backward[slot * classes..][..classes];
            for (class, d) in d_backward.iter().enumerate() {
                d_forward[graph.inverse(class as u32) as usize] += d;
            }
            for (class, &d) in d_forward.iter().enumerate() {
                class_adjoint(d, graph.classes().members(class), row, d_row, &mut d_values);
            }
            d_row[row.len() - 1] += d_tables.sure[slot];
        }
        let own = schema.own_fillers().max(1);
        let rows = weights.own_rows(&schema).zip(d_weights.owns.chunks_exact_mut(own));
        for (variable, (row, d_row)) in rows.enumerate() {
            for kind in 0..kinds {
                let d = d_tables.own[variable * kinds + kind];
                class_adjoint(d, graph.kinds().members(kind), row, d_row, &mut d_values);
                d_row[row.len() - 1] += d;
            }
        }
    }

    /// The table of slot (i, j) read from `sender` to `receiver`.
    #[inline(always)]
    pub(crate) fn toward(&self, sender: usize, receiver: usize) -> &[f32] {
        let (table, slot) = if sender < receiver {
            (&self.forward, self.schema.slot(sender, receiver))
        } else {
            (&self.backward, self.schema.slot(receiver, sender))
        };
        &table[slot * self.classes..][..self.classes]
    }

    /// Likewise, to gather derivatives.
    #[inline(always)]
    pub(crate) fn toward_mut(&mut self, sender: usize, receiver: usize) -> &mut [f32] {
        let (table, slot) = if sender < receiver {
            (&mut self.forward, self.schema.slot(sender, receiver))
        } else {
            (&mut self.backward, self.schema.slot(receiver, sender))
        };
        &mut table[slot * self.classes..][..self.classes]
    }

    /// The number of the slot between two variables, in either order.
    #[inline(always)]
    pub(crate) fn slot(&self, a: usize, b: usize) -> usize {
        if a < b { self.schema.slot(a, b) } else { self.schema.slot(b, a) }
    }

    /// The own slot's message to `variable` at entities of `kind`; 1 without properties.
    #[inline(always)]
    pub(crate) fn own(&self, variable: usize, kind: u32) -> f32 {
        if self.own.is_empty() { 1.0 } else { self.own[variable * self.kinds + kind as usize] }
    }

    /// Takes the derivative by the own slot's message.
    #[inline(always)]
    pub(crate) fn own_adjoint(&mut self, variable: usize, kind: u32, d: f32) {
        if !self.own.is_empty() {
            self.own[variable * self.kinds + kind as usize] += d;
        }
    }
}

#[inline]
fn class_adjoint(
    d: f32,
    members: &[crate::graph::Member],
    row: &[f32],
    d_row: &mut [f32],
    d_values: &mut Option<&mut [f32]>,
) {
    if d == 0.0 {
        return;
    }
    for member in members {
        d_row[member.filler as usize] += member.value * d;
        if let Some(d_values) = d_values {
            d_values[member.fact as usize] += row[member.filler as usize] * d;
        }
    }
}

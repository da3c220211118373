//! One message between two variables of a rule on one graph, and its adjoint.
//!
//! In: a slot's soft adjacency matrix and the sender's domain. Out: the message to the receiver.
//! Paper: `def:messages`. A matrix has one row per entity, its entries the lanes of the vector code;
//! rows are filled up with zeros to a whole number of eight lanes. Reading M from i to j adds rows,
//! reading it from j to i takes scalar products with rows, so that neither needs a transposed copy.

use super::product::sum;

/// One slot's M: `entities` rows of `width` numbers.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    pub values: &'a [f32],
    pub entities: usize,
    pub width: usize,
}

impl<'a> Matrix<'a> {
    #[inline(always)]
    fn row(self, entity: usize) -> &'a [f32] {
        &self.values[entity * self.width..][..self.width]
    }
}

/// The message from i to j, i < j.
///
/// ```text
/// ψ = Mᵀ φ + 1·w_true                                       def:messages
/// ```
///
/// M here is stored by its first argument, so its transpose is what the paper writes as M.
#[inline(always)]
pub(super) fn along(message: &mut [f32], matrix: Matrix, sure: f32, domain: &[f32]) {
    message.fill(sure);
    add_rows(message, matrix, domain);
}

/// The adjoint of [`along`].
#[inline(always)]
pub(super) fn along_adjoint(
    d_message: &[f32],
    matrix: Matrix,
    domain: &[f32],
    d_matrix: &mut [f32],
    d_domain: &mut [f32],
) {
    for entity in 0..matrix.entities {
        d_domain[entity] += dot(matrix.row(entity), d_message);
        let from = domain[entity];
        if from != 0.0 {
            add_scaled(&mut d_matrix[entity * matrix.width..][..matrix.width], from, d_message);
        }
    }
}

/// The message from j to i, i < j: the same with M read the other way round.
#[inline(always)]
pub(super) fn against(message: &mut [f32], matrix: Matrix, sure: f32, domain: &[f32]) {
    message.fill(sure);
    for (entity, value) in message.iter_mut().enumerate().take(matrix.entities) {
        *value += dot(matrix.row(entity), domain);
    }
}

/// The adjoint of [`against`].
#[inline(always)]
pub(super) fn against_adjoint(
    d_message: &[f32],
    matrix: Matrix,
    domain: &[f32],
    d_matrix: &mut [f32],
    d_domain: &mut [f32],
) {
    for entity in 0..matrix.entities {
        let d = d_message[entity];
        if d != 0.0 {
            add_scaled(&mut d_matrix[entity * matrix.width..][..matrix.width], d, domain);
        }
    }
    add_rows(d_domain, matrix, d_message);
}

/// Adds every row of the matrix, times its entity's factor, to `out`.
#[inline(always)]
fn add_rows(out: &mut [f32], matrix: Matrix, factors: &[f32]) {
    let mut start = 0;
    while start < matrix.width {
        match (matrix.width - start) / 8 {
            4.. => start += add_columns::<4>(out, matrix, factors, start),
            2..=3 => start += add_columns::<2>(out, matrix, factors, start),
            _ => start += add_columns::<1>(out, matrix, factors, start),
        }
    }
}

/// The same for 8·C columns, whose sums stay in registers; returns how many columns were done.
#[inline(always)]
fn add_columns<const C: usize>(out: &mut [f32], matrix: Matrix, factors: &[f32], start: usize) -> usize {
    let mut sums = [[0.0f32; 8]; C];
    let out = &mut out[start..start + 8 * C];
    for (sum, out) in sums.iter_mut().zip(out.as_chunks::<8>().0) {
        *sum = *out;
    }
    for (entity, &factor) in factors.iter().enumerate().take(matrix.entities) {
        if factor == 0.0 {
            continue;
        }
        let row = matrix.values[entity * matrix.width + start..][..8 * C].as_chunks::<8>().0;
        for c in 0..C {
            for n in 0..8 {
                sums[c][n] += factor * row[c][n];
            }
        }
    }
    for (sum, out) in sums.iter().zip(out.as_chunks_mut::<8>().0) {
        *out = *sum;
    }
    8 * C
}

#[inline(always)]
fn add_scaled(out: &mut [f32], factor: f32, row: &[f32]) {
    for (out, row) in out.as_chunks_mut::<8>().0.iter_mut().zip(row.as_chunks::<8>().0) {
        for n in 0..8 {
            out[n] += factor * row[n];
        }
    }
}

#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut part = [0.0f32; 8];
    for (a, b) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        for n in 0..8 {
            part[n] += a[n] * b[n];
        }
    }
    sum(&part)
}

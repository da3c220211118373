//! One message from one variable to another, at one entity, for all lanes at once.
//!
//! Paper: `def:messages`. States are stored entity-major, so each link is one multiply-add over
//! all lanes. Products are added in the order of the row and never fused, so the sparse and the
//! dense form of the same message agree bit for bit, on any machine.

use crate::graph::Link;

/// The message to one entity over the links of its row.
///
/// ```text
/// ψ = M φ + 1·w_true                                        def:messages
/// ```
#[inline(always)]
pub(crate) fn message<const W: usize>(
    row: &[Link],
    table: &[f32],
    sure: f32,
    domain: &[[f32; W]],
) -> [f32; W] {
    let mut sum = [sure; W];
    for link in row {
        let (value, from) = (table[link.class as usize], &domain[link.entity as usize]);
        for lane in 0..W {
            sum[lane] += value * from[lane];
        }
    }
    sum
}

/// The adjoint of [`message`] and of [`dense_message`].
#[inline(always)]
pub(crate) fn message_adjoint<const W: usize>(
    row: &[Link],
    table: &[f32],
    domain: &[[f32; W]],
    d_message: &[f32; W],
    d_table: &mut [f32],
    d_domain: &mut [[f32; W]],
) {
    for link in row {
        let (class, entity) = (link.class as usize, link.entity as usize);
        d_table[class] += dot(d_message, &domain[entity]);
        let (value, d_from) = (table[class], &mut d_domain[entity]);
        for lane in 0..W {
            d_from[lane] += value * d_message[lane];
        }
    }
}

/// The same message from a dense row of M: for graphs where nearly every pair is linked.
#[inline(always)]
pub(crate) fn dense_message<const W: usize>(row: &[f32], sure: f32, domain: &[[f32; W]]) -> [f32; W] {
    let mut sum = [sure; W];
    for (&value, from) in row.iter().zip(domain) {
        for lane in 0..W {
            sum[lane] += value * from[lane];
        }
    }
    sum
}

/// The message from an end, whose domain is one entry per lane, to one entity.
#[inline(always)]
pub(crate) fn end_message<const W: usize>(
    lanes: &[Link],
    table: &[f32],
    sure: f32,
    end: &[f32; W],
) -> [f32; W] {
    let mut sum = [sure; W];
    for link in lanes {
        let lane = link.entity as usize;
        sum[lane] += table[link.class as usize] * end[lane];
    }
    sum
}

/// The adjoint of [`end_message`].
#[inline(always)]
pub(crate) fn end_message_adjoint<const W: usize>(
    lanes: &[Link],
    table: &[f32],
    end: &[f32; W],
    d_message: &[f32; W],
    d_table: &mut [f32],
    d_end: &mut [f32; W],
) {
    for link in lanes {
        let (lane, class) = (link.entity as usize, link.class as usize);
        d_table[class] += end[lane] * d_message[lane];
        d_end[lane] += table[class] * d_message[lane];
    }
}

/// The message to an end in one lane, from the end's neighbours.
#[inline(always)]
pub(crate) fn message_to_end<const W: usize>(
    near: &[Link],
    table: &[f32],
    sure: f32,
    domain: &[[f32; W]],
    lane: usize,
) -> f32 {
    let mut sum = sure;
    for link in near {
        sum += table[link.class as usize] * domain[link.entity as usize][lane];
    }
    sum
}

/// The adjoint of [`message_to_end`].
#[inline(always)]
pub(crate) fn message_to_end_adjoint<const W: usize>(
    near: &[Link],
    table: &[f32],
    domain: &[[f32; W]],
    lane: usize,
    d_message: f32,
    d_table: &mut [f32],
    d_domain: &mut [[f32; W]],
) {
    for link in near {
        let (class, entity) = (link.class as usize, link.entity as usize);
        d_table[class] += domain[entity][lane] * d_message;
        d_domain[entity][lane] += table[class] * d_message;
    }
}

/// Σ aₗ bₗ over the lanes, in one fixed order: eight partial sums, then those in turn.
#[inline(always)]
pub(crate) fn dot<const W: usize>(a: &[f32; W], b: &[f32; W]) -> f32 {
    let mut part = [0.0f32; 8];
    for chunk in 0..W / 8 {
        for lane in 0..8 {
            part[lane] += a[8 * chunk + lane] * b[8 * chunk + lane];
        }
    }
    ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]))
}

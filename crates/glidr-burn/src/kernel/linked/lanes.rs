//! The weights of eight rules side by side.

use pulp::Simd;

use super::Problem;

/// Rules that are worked on side by side.
pub(super) const LANES: usize = 8;
/// A number for each of eight rules.
pub(super) type Lane = [f32; LANES];

/// The weights of up to eight rules, or derivatives by them.
pub(super) struct Block {
    /// The first rule's number.
    pub first: usize,
    /// How many rules there are; the other lanes are idle.
    pub count: usize,
    /// `[fillers][slots]`: what one link adds to all slots stands together.
    pub pairs: Vec<Lane>,
    /// `[own fillers][variables]`, likewise.
    pub owns: Vec<Lane>,
}

impl Block {
    /// All rules of a problem, eight by eight.
    pub fn all(problem: &Problem) -> Vec<Block> {
        let (rows, own_rows) = (problem.schema.slots(), problem.schema.variables);
        let gather = |weights: &[f32], rows: usize, first: usize, count: usize| -> Vec<Lane> {
            let size = weights.len() / problem.rules;
            let at = |place: usize| turned(place, rows, size / rows);
            let weight = |l: usize, place: usize| weights[(first + l) * size + at(place)];
            let lane = |place| std::array::from_fn(|l| if l < count { weight(l, place) } else { 0.0 });
            (0..size).map(lane).collect()
        };
        let firsts = (0..problem.rules).step_by(LANES);
        firsts
            .map(|first| {
                let count = LANES.min(problem.rules - first);
                let pairs = gather(problem.pairs, rows, first, count);
                Block { first, count, pairs, owns: gather(problem.owns, own_rows, first, count) }
            })
            .collect()
    }

    /// A block of the same shape with nothing in it.
    pub fn zeroed(&self) -> Block {
        let zeros = |like: &[Lane]| vec![[0.0; LANES]; like.len()];
        Block { first: self.first, count: self.count, pairs: zeros(&self.pairs), owns: zeros(&self.owns) }
    }

    /// Adds derivatives `d` by this block's weights to those by all weights.
    pub fn scatter(&self, d: &Block, problem: &Problem, pairs: &mut [f32], owns: &mut [f32]) {
        let scatter = |d: &[Lane], rows: usize, to: &mut [f32]| {
            let size = to.len() / problem.rules;
            for (place, lane) in d.iter().enumerate() {
                for (l, d) in lane.iter().enumerate().take(self.count) {
                    to[(self.first + l) * size + turned(place, rows, size / rows)] += d;
                }
            }
        };
        scatter(&d.pairs, problem.schema.slots(), pairs);
        scatter(&d.owns, problem.schema.variables, owns);
    }
}

/// Where a place of a table `[columns][rows]` is in `[rows][columns]`.
fn turned(place: usize, rows: usize, columns: usize) -> usize {
    place % rows * columns + place / rows
}

/// `to += factor · lane`.
#[inline(always)]
pub(super) fn add_scaled<S: Simd>(simd: S, to: &mut Lane, factor: f32, lane: &Lane) {
    let factors = simd.splat_f32s(factor);
    let ((to, to_rest), (lane, lane_rest)) = (S::as_mut_simd_f32s(to), S::as_simd_f32s(lane));
    for (to, lane) in to.iter_mut().zip(lane) {
        *to = simd.add_f32s(*to, simd.mul_f32s(*lane, factors));
    }
    // Where vectors are wider than eight.
    for (to, lane) in to_rest.iter_mut().zip(lane_rest) {
        *to += lane * factor;
    }
}

/// `to += a · b`, lane by lane.
#[inline(always)]
pub(super) fn add_product<S: Simd>(simd: S, to: &mut Lane, a: &Lane, b: &Lane) {
    add_times(simd, to, a, b, 1.0);
}

/// `to += times · a · b`, lane by lane.
#[inline(always)]
pub(super) fn add_times<S: Simd>(simd: S, to: &mut Lane, a: &Lane, b: &Lane, times: f32) {
    let all = simd.splat_f32s(times);
    let (to, to_rest) = S::as_mut_simd_f32s(to);
    let ((a, a_rest), (b, b_rest)) = (S::as_simd_f32s(a), S::as_simd_f32s(b));
    for ((to, a), b) in to.iter_mut().zip(a).zip(b) {
        *to = simd.add_f32s(*to, simd.mul_f32s(simd.mul_f32s(*a, *b), all));
    }
    for ((to, a), b) in to_rest.iter_mut().zip(a_rest).zip(b_rest) {
        *to += a * b * times;
    }
}

/// Whether any lane is not zero.
#[inline(always)]
pub(super) fn any(lane: &Lane) -> bool {
    let mut bits = 0;
    for value in lane {
        bits |= value.to_bits() << 1; // −0 is zero too
    }
    bits != 0
}

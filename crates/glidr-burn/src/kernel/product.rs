//! The two matrix products of the layer: mixing rows by weights, and how far rows overlap.
//!
//! Rows have a whole number of panels of [`PANEL`] numbers. Products are added in a fixed order and
//! never fused, so that a result has the same bits on any machine and any number of threads.

/// How many numbers of a row are worked on together.
pub(super) const PANEL: usize = 16;
/// How many rows of the result are worked on together.
const TILE: usize = 6;
/// Numbers of a row between two visits to the sums of [`overlap`]: its rows then stay in the cache.
const BLOCK: usize = 256;

/// Workspace of [`mix`]: a panel of all rows, and the weights in the order they are read.
#[derive(Debug, Default)]
pub(super) struct Panels {
    panel: Vec<[f32; PANEL]>,
    tiles: Vec<[f32; TILE]>,
}

/// Weighted sums of rows: `out[r] = Σ_k weight(r, k) · rows[k]`, for `out.len() / length` results.
#[inline(always)]
pub(super) fn mix(
    out: &mut [f32],
    rows: &[f32],
    length: usize,
    panels: &mut Panels,
    weight: impl Fn(usize, usize) -> f32,
) {
    let (results, count) = (out.len() / length, rows.len() / length);
    panels.tiles.clear();
    for first in (0..results).step_by(TILE) {
        for k in 0..count {
            let one = |t| if first + t < results { weight(first + t, k) } else { 0.0 };
            panels.tiles.push(std::array::from_fn(one));
        }
    }
    panels.panel.resize(count, [0.0; PANEL]);
    for start in (0..length).step_by(PANEL) {
        for (k, to) in panels.panel.iter_mut().enumerate() {
            to.copy_from_slice(&rows[k * length + start..][..PANEL]);
        }
        for (tile, weights) in panels.tiles.chunks_exact(count.max(1)).enumerate() {
            let sums = mix_tile(weights, &panels.panel);
            for (t, sum) in sums.iter().enumerate().take(results - tile * TILE) {
                out[(tile * TILE + t) * length + start..][..PANEL].copy_from_slice(sum);
            }
        }
    }
}

#[inline(always)]
fn mix_tile(weights: &[[f32; TILE]], panel: &[[f32; PANEL]]) -> [[f32; PANEL]; TILE] {
    let mut sums = [[0.0f32; PANEL]; TILE];
    for (weight, row) in weights.iter().zip(panel) {
        for t in 0..TILE {
            for n in 0..PANEL {
                sums[t][n] += weight[t] * row[n];
            }
        }
    }
    sums
}

/// Adds to `out[a · b's rows + b]` the scalar product of rows `a` and `b`, for all pairs of rows.
#[inline(always)]
pub(super) fn overlap(out: &mut [f32], left: &[f32], right: &[f32], length: usize) {
    let (lefts, rights) = (left.len() / length, right.len() / length);
    for start in (0..length).step_by(BLOCK) {
        let size = BLOCK.min(length - start);
        let part = |rows, number| part_of(rows, number, length, start, size);
        for a in (0..lefts).step_by(4) {
            for b in (0..rights).step_by(3) {
                // Rows beyond the last repeat it; their products are not kept.
                let x = std::array::from_fn::<_, 4, _>(|t| part(left, (a + t).min(lefts - 1)));
                let y = std::array::from_fn::<_, 3, _>(|t| part(right, (b + t).min(rights - 1)));
                let sums = overlap_tile(x, y);
                for (s, row) in sums.iter().enumerate().take(lefts - a) {
                    for (t, lanes) in row.iter().enumerate().take(rights - b) {
                        out[(a + s) * rights + b + t] += sum(lanes);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn part_of(rows: &[f32], number: usize, length: usize, start: usize, size: usize) -> &[[f32; 8]] {
    rows[number * length + start..][..size].as_chunks().0
}

#[inline(always)]
fn overlap_tile(x: [&[[f32; 8]]; 4], y: [&[[f32; 8]]; 3]) -> [[[f32; 8]; 3]; 4] {
    let mut sums = [[[0.0f32; 8]; 3]; 4];
    let [x0, x1, x2, x3] = x;
    let [y0, y1, y2] = y;
    for ((((((x0, x1), x2), x3), y0), y1), y2) in x0.iter().zip(x1).zip(x2).zip(x3).zip(y0).zip(y1).zip(y2) {
        let (x, y) = ([x0, x1, x2, x3], [y0, y1, y2]);
        for s in 0..4 {
            for t in 0..3 {
                for n in 0..8 {
                    sums[s][t][n] += x[s][n] * y[t][n];
                }
            }
        }
    }
    sums
}

/// The sum of eight lanes, in one fixed order.
#[inline(always)]
pub(super) fn sum(lanes: &[f32; 8]) -> f32 {
    let [a, b, c, d, e, f, g, h] = *lanes;
    ((a + e) + (b + f)) + ((c + g) + (d + h))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, start: f32) -> Vec<f32> {
        (0..count).map(|n| (start + n as f32 * 0.61).sin()).collect()
    }

    #[test]
    fn rows_mixed_by_weights_are_the_plain_sums() {
        for (results, count) in [(1, 1), (6, 4), (7, 5), (13, 2)] {
            let length = 3 * PANEL;
            let (rows, weights) = (numbers(count * length, 0.3), numbers(results * count, 1.0));
            let mut out = vec![9.0; results * length];
            mix(&mut out, &rows, length, &mut Panels::default(), |r, k| weights[r * count + k]);
            for r in 0..results {
                for n in 0..length {
                    let plain: f32 = (0..count).map(|k| weights[r * count + k] * rows[k * length + n]).sum();
                    assert!((out[r * length + n] - plain).abs() < 1e-5);
                }
            }
        }
    }

    #[test]
    fn overlaps_are_the_plain_scalar_products() {
        for (lefts, rights) in [(1, 1), (4, 3), (5, 7), (9, 2)] {
            let length = 35 * PANEL;
            let (left, right) = (numbers(lefts * length, 0.3), numbers(rights * length, 1.0));
            let mut out = vec![1.0; lefts * rights];
            overlap(&mut out, &left, &right, length);
            for a in 0..lefts {
                for b in 0..rights {
                    let plain: f32 = (0..length).map(|n| left[a * length + n] * right[b * length + n]).sum();
                    assert!((out[a * rights + b] - 1.0 - plain).abs() < 1e-3);
                }
            }
        }
    }
}

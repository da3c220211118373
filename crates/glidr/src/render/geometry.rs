//! Points, boxes and curves in the plane.

/// A point; y grows downwards.
pub(super) type Point = (f64, f64);

/// A box: left, top, right, bottom.
pub(super) type Area = [f64; 4];

/// A curve: start, control point, end.
pub(super) type Curve = [Point; 3];

/// Pieces that a curve is taken for.
const PIECES: u32 = 24;

/// The box of this size around a point.
pub(super) fn around((x, y): Point, (wide, high): Point) -> Area {
    [x - wide / 2.0, y - high / 2.0, x + wide / 2.0, y + high / 2.0]
}

/// The box with some space around it.
pub(super) fn grown(area: Area, by: f64) -> Area {
    [area[0] - by, area[1] - by, area[2] + by, area[3] + by]
}

/// Whether two boxes share more than an edge.
pub(super) fn overlap(a: Area, b: Area) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

/// The smallest box around all.
pub(super) fn hull(areas: impl IntoIterator<Item = Area>) -> Area {
    let join = |a: Area, b: Area| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])];
    areas.into_iter().reduce(join).unwrap_or_default()
}

/// The point of a curve at time t.
pub(super) fn at([a, b, c]: Curve, t: f64) -> Point {
    let mix = |a: f64, b: f64, c: f64| (1.0 - t) * (1.0 - t) * a + 2.0 * (1.0 - t) * t * b + t * t * c;
    (mix(a.0, b.0, c.0), mix(a.1, b.1, c.1))
}

/// The direction across a curve at time t, of length 1.
pub(super) fn across([a, b, c]: Curve, t: f64) -> Point {
    let slope = |a: f64, b: f64, c: f64| (1.0 - t) * (b - a) + t * (c - b);
    let (dx, dy) = (slope(a.0, b.0, c.0), slope(a.1, b.1, c.1));
    let long = dx.hypot(dy).max(1e-9);
    (-dy / long, dx / long)
}

/// Half of what a box of this size takes up in a direction.
pub(super) fn reach((wide, high): Point, (x, y): Point) -> f64 {
    f64::midpoint(wide * x.abs(), high * y.abs())
}

/// The points of a curve, from its start to its end.
pub(super) fn points(curve: Curve) -> Vec<Point> {
    (0..=PIECES).map(|piece| at(curve, f64::from(piece) / f64::from(PIECES))).collect()
}

/// Whether a curve, by its points, passes a box.
pub(super) fn passes(points: &[Point], area: Area) -> bool {
    points.windows(2).any(|pair| cuts(pair[0], pair[1], area))
}

/// Whether a part of the line from a to b lies in a box (Liang and Barsky).
fn cuts(a: Point, b: Point, area: Area) -> bool {
    let (mut from, mut to) = (0.0_f64, 1.0_f64);
    for (start, step, low, high) in [(a.0, b.0 - a.0, area[0], area[2]), (a.1, b.1 - a.1, area[1], area[3])] {
        if step.abs() < 1e-12 {
            if start <= low || start >= high {
                return false;
            }
            continue;
        }
        let (one, other) = ((low - start) / step, (high - start) / step);
        from = from.max(one.min(other));
        to = to.min(one.max(other));
    }
    from < to
}

/// Whether two lines cross between their ends.
pub(super) fn cross(a: Point, b: Point, c: Point, d: Point) -> bool {
    let side = |p: Point, q: Point, r: Point| (q.0 - p.0) * (r.1 - p.1) - (q.1 - p.1) * (r.0 - p.0);
    side(a, b, c) * side(a, b, d) < -1e-9 && side(c, d, a) * side(c, d, b) < -1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_passes_a_box_that_it_enters() {
        let area = [0.0, 0.0, 10.0, 10.0];
        assert!(passes(&[(-5.0, 5.0), (15.0, 5.0)], area), "right through");
        assert!(passes(&[(5.0, 5.0), (6.0, 5.0)], area), "within");
        assert!(!passes(&[(-5.0, 5.0), (-1.0, 5.0)], area), "before it");
        assert!(!passes(&[(-5.0, 8.0), (8.0, 25.0)], area), "past its corner");
        assert!(!passes(&[(-5.0, 10.0), (15.0, 10.0)], area), "along its edge");
    }

    #[test]
    fn boxes_overlap_where_they_share_a_point_within() {
        let area = around((5.0, 5.0), (10.0, 10.0));
        assert!(overlap(area, around((14.0, 5.0), (10.0, 2.0))));
        assert!(!overlap(area, around((15.0, 5.0), (10.0, 2.0))), "they touch");
        assert!(overlap(grown(area, 1.0), around((15.0, 5.0), (10.0, 2.0))));
        assert_eq!(hull([area, [-1.0, 3.0, 2.0, 20.0]]), [-1.0, 0.0, 10.0, 20.0]);
    }
}

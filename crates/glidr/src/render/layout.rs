//! Where nodes and labels stand: all nodes on an ellipse, X at its left, Y at its right, the others above
//! and below in the order that crosses fewest arrows; a label where it covers least.

use std::f64::consts::PI;

use super::{Node, Picture};

/// With more nodes than these between the ends, their order is taken as it is.
const TRIED: usize = 6;
/// Radius of a node.
pub(super) const RADIUS: f64 = 22.0;
/// Width of a letter, a little more than fonts have.
const LETTER: f64 = 7.6;

/// A point.
pub(super) type Point = (f64, f64);

/// A box: left, top, right, bottom.
pub(super) type Area = [f64; 4];

/// The place of every node.
pub(super) fn places(picture: &Picture) -> Vec<Point> {
    let inner: Vec<usize> = (2..picture.nodes.len()).collect();
    let mut best = ring(picture, &inner, inner.len().div_ceil(2));
    if inner.len() > TRIED {
        return best;
    }
    let mut cost = crossings(picture, &best);
    let mut order = inner.clone();
    permutations(&mut order, 0, &mut |order| {
        for above in 0..=order.len() {
            let tried = ring(picture, order, above);
            let tried_cost = crossings(picture, &tried);
            if tried_cost < cost {
                (best, cost) = (tried, tried_cost);
            }
        }
    });
    best
}

/// The first `above` nodes of the order stand on the upper half from left to right, the others below.
fn ring(picture: &Picture, order: &[usize], above: usize) -> Vec<Point> {
    let longest = picture.arrows.iter().map(|arrow| arrow.label.chars().count()).max().unwrap_or(0);
    let count = order.len() as f64;
    let (rx, ry) = (150.0 + 25.0 * count + 4.0 * longest as f64, 100.0 + 22.0 * count);
    let mut places = vec![(0.0, 0.0); picture.nodes.len()];
    (places[0], places[1]) = ((-rx, 0.0), (rx, 0.0));
    let (up, down) = order.split_at(above);
    for (half, sign) in [(up, -1.0), (down, 1.0)] {
        for (place, &node) in half.iter().enumerate() {
            let angle = PI * (1.0 - (place as f64 + 1.0) / (half.len() as f64 + 1.0));
            places[node] = (rx * angle.cos(), sign * ry * angle.sin());
        }
    }
    places
}

/// How bad an arrangement is: crossings first, then the length of all arrows, then how uneven the halves are.
fn crossings(picture: &Picture, places: &[Point]) -> f64 {
    let mut cost = places.iter().map(|place| place.1).sum::<f64>().abs() / 1e3;
    for (number, one) in picture.arrows.iter().enumerate() {
        let (a, b) = (places[one.from], places[one.to]);
        cost += (a.0 - b.0).hypot(a.1 - b.1) / 1e3;
        for other in &picture.arrows[..number] {
            let (c, d) = (places[other.from], places[other.to]);
            let side = |p: Point, q: Point, r: Point| (q.0 - p.0) * (r.1 - p.1) - (q.1 - p.1) * (r.0 - p.0);
            if side(a, b, c) * side(a, b, d) < -1e-9 && side(c, d, a) * side(c, d, b) < -1e-9 {
                cost += 100.0;
            }
        }
    }
    cost
}

fn permutations(order: &mut Vec<usize>, from: usize, visit: &mut impl FnMut(&[usize])) {
    if from + 1 >= order.len() {
        return visit(order);
    }
    for other in from..order.len() {
        order.swap(from, other);
        permutations(order, from + 1, visit);
        order.swap(from, other);
    }
}

/// The curve of every arrow: start, bend, end. Arrows between the same nodes bend apart.
pub(super) fn curves(picture: &Picture, places: &[Point]) -> Vec<[Point; 3]> {
    let ends = |number: usize| {
        let arrow = &picture.arrows[number];
        (arrow.from.min(arrow.to), arrow.from.max(arrow.to))
    };
    let mut curves = Vec::new();
    for (number, arrow) in picture.arrows.iter().enumerate() {
        let alike: Vec<usize> =
            (0..picture.arrows.len()).filter(|&other| ends(other) == ends(number)).collect();
        let turn = alike.iter().position(|&other| other == number).unwrap_or(0) as f64;
        let bend = (turn - (alike.len() as f64 - 1.0) / 2.0) * 70.0;
        let (low, high) = (places[ends(number).0], places[ends(number).1]);
        let long = (high.0 - low.0).hypot(high.1 - low.1).max(1.0);
        let middle = (f64::midpoint(low.0, high.0), f64::midpoint(low.1, high.1));
        let control = (middle.0 - (high.1 - low.1) / long * bend, middle.1 + (high.0 - low.0) / long * bend);
        let rim = |node: usize, gap: f64| edge(places[node], control, half_box(&picture.nodes[node]), gap);
        curves.push([rim(arrow.from, 0.0), control, rim(arrow.to, 3.0)]);
    }
    curves
}

/// Half the width and height of a constant's box; none for a variable's circle.
pub(super) fn half_box(node: &Node) -> Option<Point> {
    node.constant.then(|| (area(&node.label, (0.0, 0.0))[2] + 8.0, 15.0))
}

/// The point where the way from `centre` to `other` leaves a circle or a box, and a gap further.
fn edge(centre: Point, other: Point, half: Option<Point>, gap: f64) -> Point {
    let (dx, dy) = (other.0 - centre.0, other.1 - centre.1);
    let long = dx.hypot(dy).max(1.0);
    let rim =
        half.map_or(RADIUS, |(wide, high)| long * (wide / dx.abs().max(1e-9)).min(high / dy.abs().max(1e-9)));
    let distance = rim + gap;
    (centre.0 + (other.0 - centre.0) / long * distance, centre.1 + (other.1 - centre.1) / long * distance)
}

/// The point of a curve at time t.
fn at([a, b, c]: [Point; 3], t: f64) -> Point {
    let mix = |a: f64, b: f64, c: f64| (1.0 - t) * (1.0 - t) * a + 2.0 * (1.0 - t) * t * b + t * t * c;
    (mix(a.0, b.0, c.0), mix(a.1, b.1, c.1))
}

/// The box of a text around its middle.
pub(super) fn area(text: &str, middle: Point) -> Area {
    let half = text.chars().count() as f64 * LETTER / 2.0;
    [middle.0 - half, middle.1 - 9.0, middle.0 + half, middle.1 + 9.0]
}

fn overlap(a: Area, b: Area) -> f64 {
    let (wide, high) = (a[2].min(b[2]) - a[0].max(b[0]), a[3].min(b[3]) - a[1].max(b[1]));
    if wide > 0.0 && high > 0.0 { wide * high } else { 0.0 }
}

/// The middle of every arrow's label: on its curve, where it covers least of what stands already.
pub(super) fn labels(picture: &Picture, curves: &[[Point; 3]], mut taken: Vec<Area>) -> Vec<Point> {
    let mut middles = Vec::new();
    for (arrow, curve) in picture.arrows.iter().zip(curves) {
        let covers = |t: &f64| -> f64 {
            let mine = area(&arrow.label, at(*curve, *t));
            taken.iter().map(|other| overlap(mine, *other)).sum()
        };
        let times = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74];
        let best = times.into_iter().min_by(|a, b| covers(a).total_cmp(&covers(b))).unwrap_or(0.5);
        let middle = at(*curve, best);
        taken.push(area(&arrow.label, middle));
        middles.push(middle);
    }
    middles
}

#[cfg(test)]
mod tests {
    use super::super::tests::hostile;
    use super::*;

    #[test]
    fn no_arrows_cross_that_need_not_and_no_labels_overlap() {
        let picture = hostile();
        let places = places(&picture);
        assert!(crossings(&picture, &places) < 100.0, "this rule can be drawn without a crossing");
        for (number, a) in places.iter().enumerate() {
            for b in &places[..number] {
                assert!((a.0 - b.0).hypot(a.1 - b.1) > 3.0 * RADIUS, "{a:?} is too near to {b:?}");
            }
        }
        let middles = labels(&picture, &curves(&picture, &places), Vec::new());
        let areas: Vec<Area> =
            picture.arrows.iter().zip(&middles).map(|(arrow, &middle)| area(&arrow.label, middle)).collect();
        for (number, a) in areas.iter().enumerate() {
            assert!(areas[..number].iter().all(|b| overlap(*a, *b) == 0.0), "labels overlap: {areas:?}");
        }
    }
}

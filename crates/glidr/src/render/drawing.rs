//! A rule with all its parts in their places. Where labels have no room, everything else is drawn larger.

use super::geometry::{Area, Curve, Point, across, around, at, grown, hull, overlap, passes, points, reach};
use super::layout::arrangements;
use super::text::{LINE, size, wrapped, wrapped_at};
use super::{Node, Picture};

/// Radius of a node.
pub(super) const RADIUS: f64 = 22.0;
/// How much larger each attempt is.
const LARGER: f64 = 1.12;
/// At most so many attempts with the arrangements of equally few crossings, and as many larger ones with all of them where
/// something would be covered still.
const ATTEMPTS: i32 = 14;
/// The cost of covering something; coming too near to it costs 1.
const COVERED: usize = 1000;

/// A text in lines around a point.
pub(super) struct Words {
    pub class: &'static str,
    pub lines: Vec<String>,
    pub middle: Point,
}

impl Words {
    pub fn area(&self) -> Area {
        around(self.middle, size(&self.lines))
    }
}

/// Everything that is drawn.
pub(super) struct Drawing {
    /// Middle and size of every node.
    pub nodes: Vec<(Point, Point)>,
    /// The curve of every arrow.
    pub curves: Vec<Curve>,
    /// The label of every arrow.
    pub labels: Vec<Words>,
    /// What stands in nodes, beside them and below.
    pub texts: Vec<Words>,
    /// All of it, with some space around.
    pub area: Area,
}

impl Drawing {
    /// The smallest attempt in which nothing is covered nor too near, with fewest crossings; else the one that covers
    /// least.
    pub fn of(picture: &Picture) -> Self {
        let mut best: Option<(usize, Drawing)> = None;
        let all = arrangements(picture);
        let groups = all.iter().map(|group| (vec![group], 0..ATTEMPTS));
        let larger = (all.iter().collect(), ATTEMPTS..2 * ATTEMPTS);
        for (groups, steps) in groups.chain([larger]) {
            for step in steps {
                for arrangement in groups.iter().copied().flatten() {
                    let next = attempt(picture, &arrangement.places(LARGER.powi(step)));
                    if next.0 == 0 {
                        return next.1;
                    }
                    if best.as_ref().is_none_or(|best| next.0 < best.0) {
                        best = Some(next);
                    }
                }
            }
            if let Some((0..COVERED, drawing)) = best {
                return drawing;
            }
        }
        best.map_or_else(|| attempt(picture, &[(0.0, 0.0); 2]).1, |best| best.1)
    }
}

/// Space that is taken by a node, or by what stands beside it.
struct Taken {
    node: usize,
    is_beside: bool,
    area: Area,
}

/// A drawing with nodes in these places, and its cost: how often something covers something else, or comes too near.
fn attempt(picture: &Picture, places: &[Point]) -> (usize, Drawing) {
    let sizes = picture.nodes.iter().map(node_size);
    let nodes: Vec<(Point, Point)> = places.iter().copied().zip(sizes).collect();
    let curves = curves(picture, &nodes);
    let lines: Vec<Vec<Point>> = curves.iter().map(|&curve| points(curve)).collect();
    let (mut texts, mut taken) = (Vec::new(), Vec::new());
    for (number, (node, &(middle, size))) in picture.nodes.iter().zip(&nodes).enumerate() {
        texts.push(Words { class: "node", lines: node_lines(node), middle });
        taken.push(Taken { node: number, is_beside: false, area: grown(around(middle, size), 6.0) });
        if let Some(words) = beside(node, nodes[number], outward(places, number)) {
            taken.push(Taken { node: number, is_beside: true, area: grown(words.area(), 2.0) });
            texts.push(words);
        }
    }
    let (labels, hidden) = labels(picture, &curves, &lines, &taken);
    let drawn = taken.iter().map(|taken| taken.area).chain(labels.iter().map(Words::area));
    let curved = lines.iter().flatten().map(|&point| around(point, (2.0, 2.0)));
    let mut area = hull(drawn.chain(curved));
    if let Some(words) = below(picture, area) {
        area = hull([area, words.area()]);
        texts.push(words);
    }
    let cost = hidden + COVERED * covered(picture, &taken, &lines);
    (cost, Drawing { nodes, curves, labels, texts, area: grown(area, 12.0) })
}

fn node_lines(node: &Node) -> Vec<String> {
    if node.constant { wrapped(&node.label) } else { vec![node.label.clone()] }
}

/// The circle of a variable, or the box of a constant.
fn node_size(node: &Node) -> Point {
    let (wide, high) = size(&node_lines(node));
    if node.constant { (wide + 16.0, high + 14.0) } else { (2.0 * RADIUS, 2.0 * RADIUS) }
}

/// The way out of the ellipse at a node; the longer of its two parts is 1.
fn outward(places: &[Point], number: usize) -> Point {
    let highest = places.iter().map(|place| place.1.abs()).fold(1.0, f64::max);
    let (x, y) = (places[number].0 / places[1].0, places[number].1 / highest);
    let most = x.abs().max(y.abs());
    (x / most, y / most)
}

/// What is asked of a node alone, on the side of it that arrows do not come to.
fn beside(node: &Node, (middle, (wide, high)): (Point, Point), outward: Point) -> Option<Words> {
    let lines: Vec<String> = node.properties.iter().flat_map(|property| wrapped(property)).collect();
    let (room, tall) = size(&lines);
    let step = (f64::midpoint(wide, room) + 8.0, f64::midpoint(high, tall) + 5.0);
    let middle = (middle.0 + outward.0 * step.0, middle.1 + outward.1 * step.1);
    (!lines.is_empty()).then_some(Words { class: "own", lines, middle })
}

/// Notes, confidence and support, below everything.
fn below(picture: &Picture, area: Area) -> Option<Words> {
    let texts = picture.notes.iter().chain(&picture.measures);
    let lines: Vec<String> =
        texts.flat_map(|text| wrapped_at(text, ((area[2] - area[0]) / 7.0).max(28.0))).collect();
    let middle = (f64::midpoint(area[0], area[2]), area[3] + 14.0 + LINE * lines.len() as f64 / 2.0);
    (!lines.is_empty()).then_some(Words { class: "below", lines, middle })
}

/// How often nodes and what stands beside them are covered by each other, or by arrows that do not end there.
fn covered(picture: &Picture, all: &[Taken], lines: &[Vec<Point>]) -> usize {
    let mut covered = 0;
    for (number, one) in all.iter().enumerate() {
        let other = |other: &&Taken| other.node != one.node && overlap(one.area, other.area);
        covered += all[..number].iter().filter(other).count();
        let comes = |from: usize, to: usize| from == one.node || to == one.node;
        let arrows = picture.arrows.iter().zip(lines);
        let others = arrows.filter(|(arrow, _)| one.is_beside || !comes(arrow.from, arrow.to));
        covered += others.filter(|(_, points)| passes(points, one.area)).count();
    }
    covered
}

/// The curve of every arrow. Arrows between the same nodes bend apart; the first of them is straight where it is the
/// conclusion.
fn curves(picture: &Picture, nodes: &[(Point, Point)]) -> Vec<Curve> {
    let ends = |number: usize| {
        let arrow = &picture.arrows[number];
        (arrow.from.min(arrow.to), arrow.from.max(arrow.to))
    };
    let sizes: Vec<Point> = picture.arrows.iter().map(|arrow| size(&wrapped(&arrow.label))).collect();
    let mut curves = Vec::new();
    for (number, arrow) in picture.arrows.iter().enumerate() {
        let alike: Vec<usize> =
            (0..picture.arrows.len()).filter(|&other| ends(other) == ends(number)).collect();
        let turn = alike.iter().position(|&other| other == number).unwrap_or(0);
        let turns = if ends(number) == (0, 1) {
            // The conclusion is straight, the others stand on its two sides in turn, first where fewer nodes are.
            let lower = nodes.iter().map(|((_, y), _)| y).sum::<f64>() < -1.0;
            let side = if (turn % 2 == 1) == lower { 1.0 } else { -1.0 };
            side * turn.div_ceil(2) as f64
        } else {
            turn as f64 - (alike.len() as f64 - 1.0) / 2.0
        };
        let (low, high) = (nodes[ends(number).0].0, nodes[ends(number).1].0);
        let long = (high.0 - low.0).hypot(high.1 - low.1).max(1.0);
        let across = ((low.1 - high.1) / long, (high.0 - low.0) / long);
        // In its middle a curve is half as far away as its control point. There is the room for most labels.
        let room = |&other: &usize| 2.0 * reach(sizes[other], across);
        let mut rooms: Vec<f64> = alike.iter().map(room).collect();
        rooms.sort_by(|a, b| b.total_cmp(a));
        let bend = turns * (rooms.iter().take(2).sum::<f64>() + 20.0).clamp(70.0, 150.0);
        let middle = (f64::midpoint(low.0, high.0), f64::midpoint(low.1, high.1));
        let control = (middle.0 + across.0 * bend, middle.1 + across.1 * bend);
        let rim = |node: usize, gap: f64| rim(nodes[node], picture.nodes[node].constant, control, gap);
        curves.push([rim(arrow.from, 0.0), control, rim(arrow.to, 3.0)]);
    }
    curves
}

/// The point where the way from a node to `other` leaves its circle or box, and a gap further.
fn rim((centre, (wide, high)): (Point, Point), is_box: bool, other: Point, gap: f64) -> Point {
    let (dx, dy) = (other.0 - centre.0, other.1 - centre.1);
    let long = dx.hypot(dy).max(1.0);
    let distance = if is_box {
        long * (wide / 2.0 / dx.abs().max(1e-9)).min(high / 2.0 / dy.abs().max(1e-9))
    } else {
        wide / 2.0
    } + gap;
    (centre.0 + dx / long * distance, centre.1 + dy / long * distance)
}

/// The label of every arrow where it covers nothing: no node, no other label, and no other arrow, so no crossing. It
/// stands on its curve, as near to the middle as may be, else close beside it. And the cost of what it does cover.
fn labels(picture: &Picture, curves: &[Curve], lines: &[Vec<Point>], taken: &[Taken]) -> (Vec<Words>, usize) {
    let (mut labels, mut covered): (Vec<Words>, usize) = (Vec::new(), 0);
    for (number, (arrow, &curve)) in picture.arrows.iter().zip(curves).enumerate() {
        let text = wrapped(&arrow.label);
        let covers = |(middle, is_beside): (Point, bool)| -> usize {
            let area = around(middle, size(&text));
            let tight = grown(area, 2.0);
            // On its curve a label leaves some of it to be seen at both ends; beside it, other curves are farther away.
            let (from_nodes, from_curves) = if is_beside { (2.0, 9.0) } else { (14.0, 2.0) };
            let cost = |tight: bool, wide: bool| if tight { COVERED } else { usize::from(wide) };
            let boxes =
                |other: Area, space: f64| cost(overlap(tight, other), overlap(grown(area, space), other));
            let passing = |(other, points): (usize, &Vec<Point>)| {
                if other == number {
                    return cost(is_beside && passes(points, tight), false);
                }
                cost(passes(points, tight), passes(points, grown(area, from_curves)))
            };
            taken.iter().map(|taken| boxes(taken.area, from_nodes)).sum::<usize>()
                + labels.iter().map(|label| boxes(label.area(), 7.0)).sum::<usize>()
                + lines.iter().enumerate().map(passing).sum::<usize>()
        };
        let (mut count, mut middle) = (usize::MAX, (0.0, 0.0));
        for place in spots(curve, size(&text)) {
            let covered = covers(place);
            if covered < count {
                (count, middle) = (covered, place.0);
            }
            if count == 0 {
                break;
            }
        }
        covered += count;
        let conclusion = if picture.is_denial { "never" } else { "conclusion" };
        let class = if arrow.is_conclusion { conclusion } else { "arrow" };
        labels.push(Words { class, lines: text, middle });
    }
    (labels, covered)
}

/// Where a label of this size may have its middle, the best first, and whether that is beside the curve: on it from its
/// middle outwards, to either side in turn, then along both sides of it.
fn spots(curve: Curve, size: Point) -> impl Iterator<Item = (Point, bool)> {
    let times = || {
        (0..=36_i32).map(|step| 0.5 + f64::from((step + 1) / 2 * if step % 2 == 0 { 1 } else { -1 }) / 50.0)
    };
    let beside = times().flat_map(move |t| [-1.0, 1.0].map(|side| (t, side))).map(move |(t, side)| {
        let ((x, y), direction) = (at(curve, t), across(curve, t));
        let far = side * (reach(size, direction) + 5.0);
        ((x + far * direction.0, y + far * direction.1), true)
    });
    times().map(move |t| (at(curve, t), false)).chain(beside)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{drawn_well, hostile, random};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_covers_anything_in_a_rule_of_all_shapes() {
        drawn_well(&hostile()).expect("room for everything");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn no_label_lies_on_a_crossing_or_on_another_label(picture in random()) {
            drawn_well(&picture).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn a_conclusion_is_straight_and_others_bend_around_it() {
        let drawing = Drawing::of(&hostile());
        let [a, b, c] = drawing.curves[0];
        assert!(a.1.abs() + b.1.abs() + c.1.abs() < 1e-9, "from X to Y: {:?}", drawing.curves[0]);
    }

    #[test]
    fn larger_pictures_make_room_for_longer_labels() {
        let wide = |drawing: &Drawing| drawing.area[2] - drawing.area[0];
        let mut picture = hostile();
        let before = wide(&Drawing::of(&picture));
        for arrow in &mut picture.arrows {
            arrow.label = "/award/award_nominee/award_nominations./award/award_nomination/award".into();
        }
        assert!(wide(&Drawing::of(&picture)) > before);
        drawn_well(&picture).expect("room for everything");
    }
}

//! Where nodes stand: all on an ellipse, X at its left, Y at its right, the others above and below in the order that
//! crosses fewest arrows.

use std::f64::consts::PI;

use super::Picture;
use super::geometry::{Point, cross};

/// With more nodes than these between the ends, their order is improved step by step.
const TRIED: usize = 6;
/// At most so many arrangements are kept.
const KEPT: usize = 16;
/// What a crossing costs.
const CROSSING: f64 = 100.0;

/// An arrangement: the order of the nodes between the ends, and how many of them stand above.
#[derive(Clone)]
pub(super) struct Arrangement {
    order: Vec<usize>,
    above: usize,
}

/// The best arrangements, best first: those with fewest crossings, then the next best.
pub(super) fn arrangements(picture: &Picture) -> [Vec<Arrangement>; 2] {
    let order: Vec<usize> = (2..picture.nodes.len()).collect();
    let start = Arrangement { above: order.len(), order };
    let count = start.order.len();
    let found = if count <= TRIED {
        best(picture, start)
    } else {
        // From all above, and from half of them above: the better of the two.
        let halved = improved(picture, Arrangement { above: count / 2, ..start.clone() });
        let other = improved(picture, start);
        if other.first().map(|(cost, _)| cost) <= halved.first().map(|(cost, _)| cost) {
            other
        } else {
            halved
        }
    };
    let fewest = found.first().map_or(0.0, |(cost, _)| *cost);
    let (few, more): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(cost, _)| *cost < fewest + CROSSING / 2.0);
    [few, more].map(|part| part.into_iter().map(|(_, arrangement)| arrangement).collect())
}

impl Arrangement {
    /// The first `above` nodes of the order stand on the upper half from left to right, the others below.
    pub fn places(&self, scale: f64) -> Vec<Point> {
        let count = self.order.len() as f64;
        let (rx, ry) = (scale * (105.0 + 20.0 * count), scale.powf(0.8) * (88.0 + 22.0 * count));
        let mut places = vec![(0.0, 0.0); self.order.len() + 2];
        (places[0], places[1]) = ((-rx, 0.0), (rx, 0.0));
        let (up, down) = self.order.split_at(self.above);
        for (half, sign) in [(up, -1.0), (down, 1.0)] {
            for (place, &node) in half.iter().enumerate() {
                let angle = PI * (1.0 - (place as f64 + 1.0) / (half.len() as f64 + 1.0));
                places[node] = (rx * angle.cos(), sign * ry * angle.sin());
            }
        }
        places
    }

    /// How bad it is: crossings first, then the length of all arrows, then how uneven the halves are.
    fn cost(&self, picture: &Picture) -> f64 {
        let places = self.places(1.0);
        let mut cost = places.iter().map(|place| place.1).sum::<f64>().abs() / 1e4;
        for (number, one) in picture.arrows.iter().enumerate() {
            let (a, b) = (places[one.from], places[one.to]);
            cost += (a.0 - b.0).hypot(a.1 - b.1) / 1e3;
            for other in &picture.arrows[..number] {
                if cross(a, b, places[other.from], places[other.to]) {
                    cost += CROSSING;
                }
            }
        }
        cost
    }
}

/// Keeps an arrangement if it is among the best.
fn keep(kept: &mut Vec<(f64, Arrangement)>, picture: &Picture, tried: Arrangement) {
    let cost = tried.cost(picture);
    let place = kept.partition_point(|(other, _)| *other <= cost);
    if place < KEPT {
        kept.insert(place, (cost, tried));
        kept.truncate(KEPT);
    }
}

/// The best of all arrangements.
fn best(picture: &Picture, start: Arrangement) -> Vec<(f64, Arrangement)> {
    let (mut kept, mut order) = (Vec::new(), start.order);
    permutations(&mut order, 0, &mut |order| {
        for above in (0..=order.len()).rev() {
            keep(&mut kept, picture, Arrangement { order: order.to_vec(), above });
        }
    });
    kept
}

/// One node moves elsewhere in the order, or two change places, perhaps with one more or fewer above, as long as that
/// helps. The best that were met.
fn improved(picture: &Picture, start: Arrangement) -> Vec<(f64, Arrangement)> {
    let mut current = (start.cost(picture), start);
    loop {
        let mut kept = Vec::new();
        let Arrangement { order, above } = &current.1;
        let few = above.saturating_sub(1)..=(above + 1).min(order.len());
        for (one, other) in (0..order.len()).flat_map(|one| (0..order.len()).map(move |other| (one, other))) {
            let mut moved = order.clone();
            let node = moved.remove(one);
            moved.insert(other, node);
            let mut swapped = order.clone();
            swapped.swap(one, other);
            for above in few.clone() {
                keep(&mut kept, picture, Arrangement { order: moved.clone(), above });
                keep(&mut kept, picture, Arrangement { order: swapped.clone(), above });
            }
        }
        match kept.first() {
            Some(better) if better.0 < current.0 => current = better.clone(),
            _ => return kept,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::super::tests::hostile;
    use super::super::{Arrow, Node};
    use super::*;

    #[test]
    fn no_arrows_cross_that_need_not() {
        let picture = hostile();
        let [few, _] = arrangements(&picture);
        assert!(few[0].cost(&picture) < CROSSING, "this rule can be drawn without a crossing");
        let stepwise = improved(&picture, Arrangement { order: vec![4, 2, 3], above: 1 });
        assert!(stepwise[0].0 < CROSSING, "so it can step by step");
    }

    #[test]
    fn a_long_path_is_drawn_without_a_crossing() {
        let arrow = |(from, to)| Arrow { from, to, label: "p".into(), is_conclusion: false };
        let node = |number| Node { label: format!("Z{number}"), constant: false, properties: Vec::new() };
        // From X to Y by seven nodes in an order that is not theirs, and one more arrow within.
        let path = [(0, 5), (5, 3), (3, 8), (8, 2), (2, 6), (6, 4), (4, 7), (7, 1), (3, 2)];
        let picture = Picture {
            text: String::new(),
            nodes: (0..9).map(node).collect(),
            arrows: [(0, 1)].into_iter().chain(path).map(arrow).collect(),
            notes: Vec::new(),
            measures: None,
            is_denial: false,
        };
        let [few, _] = arrangements(&picture);
        assert!(few[0].cost(&picture) < CROSSING, "{:?}", few[0].order);
    }
}

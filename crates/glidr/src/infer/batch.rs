//! A batch of queries laid out for message passing: W pairs side by side, one lane each.
//!
//! In: a graph and up to W pairs. Out: for the head and the tail of every lane their neighbours,
//! listed by lane and by entity. The ends X and Y of a rule never leave the query's own
//! entities, so their domains are one number per lane and only these lists touch them.

use crate::graph::{ClassMatrix, Entity, Link};

/// No class: the pair is not linked.
const UNLINKED: u32 = u32::MAX;

/// The neighbours of one end (all heads, or all tails) of a batch.
#[derive(Clone, Debug)]
struct Near<'g> {
    /// Per lane: the anchor's row; classes are of the pair (neighbour → anchor).
    rows: Vec<&'g [Link]>,
    /// Per entity: where its lanes start in `lanes`.
    start: Vec<u32>,
    /// The lanes whose anchor is a neighbour of the entity, with the same classes.
    lanes: Vec<Link>,
}

/// Up to W queries, ready for message passing on one graph.
#[derive(Clone, Debug)]
pub struct Batch<'g, const W: usize> {
    count: usize,
    ends: [[u32; W]; 2],
    between: [u32; W],
    near: [Near<'g>; 2],
}

impl<'g, const W: usize> Batch<'g, W> {
    /// Lays out 1 to W pairs (head, tail); lanes left over repeat the first pair.
    pub fn new(graph: &'g ClassMatrix, pairs: &[(Entity, Entity)]) -> Self {
        assert!((1..=W).contains(&pairs.len()), "a batch has 1 to {W} pairs");
        let mut ends = [[pairs[0].0.0; W], [pairs[0].1.0; W]];
        for (lane, (head, tail)) in pairs.iter().enumerate() {
            ends[0][lane] = head.0;
            ends[1][lane] = tail.0;
        }
        let between = std::array::from_fn(|lane| {
            graph.class(ends[0][lane] as usize, ends[1][lane] as usize).unwrap_or(UNLINKED)
        });
        let near = ends.map(|anchors| Near::new(graph, &anchors));
        Batch { count: pairs.len(), ends, between, near }
    }

    /// How many lanes hold a query.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The entity at one end (0 = head, 1 = tail) of a lane.
    #[inline(always)]
    pub(crate) fn end(&self, side: usize, lane: usize) -> usize {
        self.ends[side][lane] as usize
    }

    /// The class of (head → tail) in a lane, if the two are linked.
    #[inline(always)]
    pub(crate) fn between(&self, lane: usize) -> Option<u32> {
        (self.between[lane] != UNLINKED).then_some(self.between[lane])
    }

    /// The neighbours of one end of a lane; classes are of (neighbour → end).
    #[inline(always)]
    pub(crate) fn near(&self, side: usize, lane: usize) -> &'g [Link] {
        self.near[side].rows[lane]
    }

    /// The lanes whose end is a neighbour of `entity`: each link's `entity` is a lane.
    #[inline(always)]
    pub(crate) fn lanes_at(&self, side: usize, entity: usize) -> &[Link] {
        let near = &self.near[side];
        &near.lanes[near.start[entity] as usize..near.start[entity + 1] as usize]
    }
}

impl<'g> Near<'g> {
    fn new(graph: &'g ClassMatrix, anchors: &[u32]) -> Self {
        let rows: Vec<&[Link]> = anchors.iter().map(|&anchor| graph.row(anchor as usize)).collect();
        let mut start = vec![0u32; graph.entities() + 2];
        for link in rows.iter().copied().flatten() {
            start[link.entity as usize + 2] += 1;
        }
        for entity in 1..start.len() {
            start[entity] += start[entity - 1];
        }
        let total = start[start.len() - 1] as usize;
        let mut lanes = vec![Link { entity: 0, class: 0 }; total];
        for (lane, row) in rows.iter().enumerate() {
            for link in *row {
                let place = &mut start[link.entity as usize + 1];
                lanes[*place as usize] = Link { entity: lane as u32, class: link.class };
                *place += 1;
            }
        }
        Near { rows, start, lanes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Sizes, Triple};

    #[test]
    fn neighbours_by_lane_and_by_entity_are_the_same_links() {
        let facts = [Triple::new(0, 0, 1), Triple::new(1, 0, 2), Triple::new(3, 1, 1), Triple::new(2, 1, 2)];
        let graph = ClassMatrix::new(Sizes { entities: 4, predicates: 2, properties: 0 }, &facts, &[]);
        let batch = Batch::<8>::new(&graph, &[(Entity(1), Entity(2)), (Entity(2), Entity(0))]);
        for side in 0..2 {
            let mut by_lane: Vec<(u32, u32, u32)> = (0..8)
                .flat_map(|lane| batch.near(side, lane).iter().map(move |l| (l.entity, lane as u32, l.class)))
                .collect();
            by_lane.sort_unstable();
            let by_entity: Vec<(u32, u32, u32)> = (0..4)
                .flat_map(|e| batch.lanes_at(side, e).iter().map(move |l| (e as u32, l.entity, l.class)))
                .collect();
            assert_eq!(by_lane, by_entity);
        }
        assert_eq!(batch.between(0), graph.class(1, 2));
        assert_eq!(batch.between(1), None);
    }
}

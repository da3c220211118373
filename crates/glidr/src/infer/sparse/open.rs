//! Open queries: upper bounds of the scores that every entity would get as the unknown end.
//!
//! The first pass from the known end does not depend on the unknown one, whose entry is narrowed
//! last; so one pass tells that entry for all entities at once, and no score is above it. For an
//! unknown tail this is the first round itself. For an unknown head it is the second, passed as if
//! nothing had been narrowed before; there the first round gives a second bound, by the entry of
//! the known tail:
//!
//! ```text
//! φ_Y(t) ≤ w_true + Σ_e M_vY(e, t) min(φ⁽⁰⁾_v(e), w_true + M_Xv(h, e))      for every v between
//! ```
//!
//! Entities that nothing reaches have the bound of the profile, narrowed to `cap`.

use super::block::{Block, LANES, Lanes, add_product, is_zero, lower};
use super::profile::Profile;
use super::query::{ABSENT, Context, Query, Scope, UNLINKED, Workspace};
use super::rise::above;
use super::stage::Turn;
use crate::graph::ClassMatrix;

/// The bounds of one end, when the other is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Open {
    /// The unknown end's number.
    far: usize,
    /// L of each variable between, at the unknown end; empty if no pass ends there.
    told: Vec<Vec<Lanes>>,
    /// The bound of an entity that nothing reaches.
    base: Vec<Lanes>,
    /// The entities that are reached, and 1 + their places in that list.
    pub reached: Vec<u32>,
    places: Vec<u32>,
    near: Vec<u32>,
    /// What each variable's rise adds, place by place; and the same for the second bound.
    risen: Vec<Vec<Lanes>>,
    column: Vec<Vec<Lanes>>,
    column_base: Vec<Lanes>,
    cap: Lanes,
    bounds: Vec<Lanes>,
}

impl Open {
    /// Works out what all queries share, from a profile of the pass towards `far`, if there is one.
    #[inline(always)]
    pub fn begin(&mut self, graph: &ClassMatrix, block: &Block, profile: &Profile, far: usize) {
        let last = block.schema.variables - 1;
        self.far = far;
        self.told.resize(if profile.rounds == 0 { 0 } else { last - 1 }, Vec::new());
        self.risen.resize(self.told.len(), Vec::new());
        self.column.resize(if far == 0 { last - 1 } else { 0 }, Vec::new());
        self.base = (0..graph.entities()).map(|entity| block.start(far, graph.kind(entity))).collect();
        self.base.iter_mut().for_each(|base| lower(base, block.sure(0, last)));
        for (k, told) in self.told.iter_mut().enumerate() {
            let (table, from) = (block.toward(k + 1, far), &profile.stage(1, k).domain);
            told.clear();
            for entity in 0..graph.entities() {
                let mut sum = *block.sure(k + 1, far);
                for link in graph.row(entity) {
                    add_product(&mut sum, &table[link.class as usize], &from[link.entity as usize]);
                }
                told.push(sum);
                lower(&mut self.base[entity], &sum);
            }
        }
        self.reached.clear();
        self.places.clear();
        self.places.resize(graph.entities(), 0);
    }

    /// Whether what all queries share is worked out.
    pub fn is_begun(&self) -> bool {
        !self.base.is_empty()
    }

    /// The bound of an entity that nothing reaches, for any known end.
    pub fn base(&self, entity: usize) -> &Lanes {
        &self.base[entity]
    }

    /// The bound of an entity for the known end.
    #[inline(always)]
    pub fn bound(&self, entity: usize) -> Lanes {
        match self.places[entity] as usize {
            0 => {
                let mut bound = self.base[entity];
                lower(&mut bound, &self.cap);
                self.column_base.iter().for_each(|column| lower(&mut bound, column));
                bound
            }
            place => self.bounds[place - 1],
        }
    }

    /// Bounds of all tails, from the first round of `query`'s head.
    #[inline(always)]
    pub fn tails(&mut self, context: Context, query: &Query) {
        self.forget();
        self.cap = query.entries[0][0];
        self.reach(context, query);
        // The head's entry is narrowed by what its neighbours were after the first round.
        if context.profile.rounds > 1 {
            let mut sums: Vec<Lanes> = (1..context.last()).map(|v| *context.block.sure(0, v)).collect();
            for (k, sum) in sums.iter_mut().enumerate() {
                let touched = &query.touched[k];
                let table = context.block.toward(k + 1, 0);
                for (place, entry) in touched.rounds[0].domain.iter().enumerate() {
                    if let Some(value) = table.get(touched.near[0][place] as usize) {
                        add_product(sum, value, entry);
                    }
                }
            }
            for sum in &sums {
                lower(&mut self.cap, sum);
            }
        }
        self.conclude(context, &query.entries[0][0]);
    }

    /// Bounds of all heads, by a pass from `tail` alone over a mirrored profile, if there is a
    /// backward round; and by the tail's entry after the first.
    #[inline(always)]
    pub fn heads(&mut self, workspace: &mut Workspace, mirror: Context, query: &mut Query, tail: usize) {
        self.forget();
        query.begin(mirror, ABSENT, tail);
        self.cap = query.entries[0][1];
        if mirror.profile.rounds > 0 {
            (workspace.bracket, workspace.scope) = (false, Scope::Open);
            for step in 1..mirror.last() {
                query.rise(workspace, mirror, Turn::new(mirror, 1, step));
                query.narrow_inner(workspace, mirror, 1, step);
            }
            query.leave(workspace);
        }
        self.reach(mirror, query);
        self.columns(mirror, tail);
        // In a backward round the tail sends its entry; in a forward one a head does, of at most 1.
        let known = if mirror.profile.rounds > 0 { query.entries[0][1] } else { [1.0; LANES] };
        self.conclude(mirror, &known);
    }

    /// Adds what the variables between tell the unknown end above the profile.
    #[inline(always)]
    fn reach(&mut self, context: Context, query: &Query) {
        let Context { graph, block, profile, .. } = context;
        for k in 0..self.told.len() {
            let touched = &query.touched[k];
            let stage = profile.stage(1, k);
            let table = block.toward(self.far, k + 1);
            let mut most = stage.most;
            for (place, entry) in touched.rounds[0].domain.iter().enumerate() {
                let entity = touched.entities[place] as usize;
                for lane in 0..LANES {
                    most[lane] = most[lane].max(entry[lane]);
                }
                let rise = above(entry, &stage.domain[entity]);
                if is_zero(&rise) {
                    continue;
                }
                for link in graph.row(entity) {
                    let at = self.touch(link.entity);
                    add_product(&mut self.risen[k][at], &table[link.class as usize], &rise);
                }
            }
            lower(&mut self.cap, &most);
        }
        let side = usize::from(self.far == 0);
        for link in query.row(graph, side) {
            let at = self.touch(link.entity);
            self.near[at] = link.class;
        }
    }

    /// The second bound, of the known tail's entry after the first round, for all heads.
    #[inline(always)]
    fn columns(&mut self, context: Context, tail: usize) {
        let Context { graph, block, .. } = context;
        let last = context.last();
        for v in 1..last {
            let (toward, from_head, sure) = (block.toward(v, last), block.toward(0, v), block.sure(0, v));
            let mut base = *block.sure(v, last);
            for near in graph.row(tail) {
                let weight = &toward[near.class as usize];
                let start = block.start(v, graph.kind(near.entity as usize));
                let mut least = start;
                lower(&mut least, sure);
                add_product(&mut base, weight, &least);
                if least == start {
                    continue; // already as high as it can be
                }
                for link in graph.row(near.entity as usize) {
                    let mut entry = *sure;
                    for lane in 0..LANES {
                        entry[lane] = (entry[lane] + from_head[link.class as usize][lane]).min(start[lane])
                            - least[lane];
                    }
                    let at = self.touch(link.entity);
                    add_product(&mut self.column[v - 1][at], weight, &entry);
                }
            }
            self.column_base.push(base);
        }
    }

    /// The bounds of all reached entities.
    #[inline(always)]
    fn conclude(&mut self, context: Context, known: &Lanes) {
        let Context { graph, block, .. } = context;
        let last = context.last();
        let table = block.toward(self.far, last - self.far);
        for (place, &entity) in self.reached.iter().enumerate() {
            let mut bound = block.start(self.far, graph.kind(entity as usize));
            let mut direct = *block.sure(0, last);
            if self.near[place] != UNLINKED {
                add_product(&mut direct, &table[self.near[place] as usize], known);
            }
            lower(&mut bound, &direct);
            for (told, risen) in self.told.iter().zip(&self.risen) {
                for lane in 0..LANES {
                    bound[lane] = bound[lane].min(told[entity as usize][lane] + risen[place][lane]);
                }
            }
            lower(&mut bound, &self.cap);
            self.bounds.push(bound);
        }
        for (base, column) in self.column_base.iter().zip(&self.column) {
            for (bound, risen) in self.bounds.iter_mut().zip(column) {
                for lane in 0..LANES {
                    bound[lane] = bound[lane].min(base[lane] + risen[lane]);
                }
            }
        }
    }

    #[inline(always)]
    fn touch(&mut self, entity: u32) -> usize {
        let place = &mut self.places[entity as usize];
        if *place == 0 {
            self.reached.push(entity);
            self.near.push(UNLINKED);
            for sums in self.risen.iter_mut().chain(&mut self.column) {
                sums.push([0.0; LANES]);
            }
            *place = self.reached.len() as u32;
        }
        *place as usize - 1
    }

    fn forget(&mut self) {
        self.reached.drain(..).for_each(|entity| self.places[entity as usize] = 0);
        self.near.clear();
        self.bounds.clear();
        self.column_base.clear();
        self.risen.iter_mut().chain(&mut self.column).for_each(Vec::clear);
    }
}

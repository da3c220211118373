//! The largest entry of a stage far from both ends, which is known only near them: from below by
//! *witnesses*, entities whose entries were large in earlier queries; from above by the tail.
//!
//! ```text
//! φ_v(e) ≤ min(φ⁽⁰⁾_v(e), w_true, Σ_f M_sv(f, e) min(φ⁽⁰⁾_s(f), w_true + M_sY(f, t)))    for every sender s
//! ```

use std::collections::HashMap;

use super::block::{LANES, Lanes, add_product, is_zero, lower};
use super::peaks::Peaks;
use super::query::{Context, Query, UNLINKED, Workspace};
use super::score::raise;
use super::stage::Turn;

/// No witness.
pub(crate) const NOBODY: u32 = u32::MAX;

/// What earlier queries tell, and bounds by the tail.
#[derive(Clone, Debug)]
pub(crate) struct Far {
    /// Witnesses, by rule: of any pair, of the same head, and of the same tail.
    any: [u32; LANES],
    of_head: [u32; LANES],
    of_tail: HashMap<u32, [u32; LANES]>,
    /// What each sender tells at most where no tail is near, by entity; and the largest bounds that follow.
    told: Vec<Vec<Lanes>>,
    without_tail: Peaks,
    /// The largest bounds near each tail.
    near_tail: HashMap<u32, Peaks>,
    /// 1 + each entity's place in the list of those that a tail reaches, or 0.
    places: Vec<u32>,
    reached: Vec<u32>,
    sums: Vec<Vec<Lanes>>,
}

impl Default for Far {
    fn default() -> Self {
        Far {
            any: [NOBODY; LANES],
            of_head: [NOBODY; LANES],
            of_tail: HashMap::new(),
            told: Vec::new(),
            without_tail: Peaks::default(),
            near_tail: HashMap::new(),
            places: Vec::new(),
            reached: Vec::new(),
            sums: Vec::new(),
        }
    }
}

impl Far {
    /// Forgets the head's witnesses.
    pub fn leave_head(&mut self) {
        self.of_head = [NOBODY; LANES];
    }

    /// Those who may be witnesses for `tail` and the head.
    pub fn witnesses(&self, tail: usize) -> [[u32; LANES]; 3] {
        let of_tail = self.of_tail.get(&(tail as u32));
        [of_tail.copied().unwrap_or([NOBODY; LANES]), self.of_head, self.any]
    }

    /// Keeps those who were found.
    pub fn learn(&mut self, tail: usize, found: [u32; LANES]) {
        (self.any, self.of_head) = (found, found);
        self.of_tail.insert(tail as u32, found);
    }

    /// Upper bounds of all entries far from both ends, with any head: of any tail, and near this one.
    #[inline(always)]
    pub fn peaks(&mut self, context: Context, turn: Turn, tail: usize) -> [&Peaks; 2] {
        if !self.near_tail.contains_key(&(tail as u32)) {
            let peaks = self.near(context, turn, tail);
            self.near_tail.insert(tail as u32, peaks);
        }
        [&self.without_tail, &self.near_tail[&(tail as u32)]]
    }

    #[inline(always)]
    fn near(&mut self, context: Context, turn: Turn, tail: usize) -> Peaks {
        if self.places.is_empty() {
            self.begin(context, turn);
        }
        let Context { graph, block, .. } = context;
        let (receiver, (end, _)) = (turn.receiver(), turn.end());
        for number in 0..turn.senders() {
            let sender = turn.sender(number);
            let (near, table) = (block.toward(sender, end), block.toward(receiver, sender));
            for link in graph.row(tail) {
                let start = block.start(sender, graph.kind(link.entity as usize));
                let mut rise = [0.0; LANES];
                for lane in 0..LANES {
                    let sure = block.sure(end, sender)[lane];
                    let most = (sure + near[link.class as usize][lane]).min(start[lane]);
                    rise[lane] = most - sure.min(start[lane]);
                }
                if is_zero(&rise) {
                    continue;
                }
                for link in graph.row(link.entity as usize) {
                    let at = self.touch(link.entity);
                    add_product(&mut self.sums[number][at], &table[link.class as usize], &rise);
                }
            }
        }
        let mut peaks = Peaks::default();
        for (place, &entity) in self.reached.iter().enumerate() {
            let mut value = highest(context, turn, entity as usize);
            for (told, sums) in self.told.iter().zip(&self.sums) {
                for lane in 0..LANES {
                    value[lane] = value[lane].min(told[entity as usize][lane] + sums[place][lane]);
                }
            }
            peaks.add(&value, entity);
        }
        self.reached.drain(..).for_each(|entity| self.places[entity as usize] = 0);
        self.sums.iter_mut().for_each(Vec::clear);
        peaks
    }

    /// Works out what does not depend on a tail.
    #[inline(always)]
    fn begin(&mut self, context: Context, turn: Turn) {
        let Context { graph, block, .. } = context;
        let (receiver, (end, _)) = (turn.receiver(), turn.end());
        self.places.resize(graph.entities(), 0);
        self.told.resize(turn.senders(), Vec::new());
        self.sums.resize(turn.senders(), Vec::new());
        for entity in 0..graph.entities() {
            let mut value = highest(context, turn, entity);
            for number in 0..turn.senders() {
                let sender = turn.sender(number);
                let table = block.toward(sender, receiver);
                let mut message = *block.sure(sender, receiver);
                for link in graph.row(entity) {
                    let mut most = block.start(sender, graph.kind(link.entity as usize));
                    lower(&mut most, block.sure(end, sender));
                    add_product(&mut message, &table[link.class as usize], &most);
                }
                lower(&mut value, &message);
                self.told[number].push(message);
            }
            self.without_tail.add(&value, entity as u32);
        }
    }

    #[inline(always)]
    fn touch(&mut self, entity: u32) -> usize {
        let place = &mut self.places[entity as usize];
        if *place == 0 {
            self.reached.push(entity);
            self.sums.iter_mut().for_each(|sums| sums.push([0.0; LANES]));
            *place = self.reached.len() as u32;
        }
        *place as usize - 1
    }
}

impl Query {
    /// A lower and an upper bound of the score, where the last stage is known only at the head's neighbours:
    /// its largest entry may be far from both ends.
    #[inline(always)]
    pub fn bracket_partial(
        &mut self,
        workspace: &mut Workspace,
        context: Context,
        turn: Turn,
        far: &mut Far,
    ) -> [Lanes; 2] {
        let partial = turn.receiver() - 1;
        let ends = self.entries[context.profile.rounds];
        let mut high = ends[0];
        lower(&mut high, &ends[1]);
        for k in (0..self.touched.len()).filter(|&k| k != partial) {
            lower(&mut high, &self.most(context, k).0);
        }
        let mut most = self.most_of_partial(workspace, context, turn, &high);
        let mut ceiling = context.profile.stage(context.profile.rounds, partial).ceiling;
        let tail = self.ends[1];
        for witnesses in far.witnesses(tail) {
            for lane in 0..LANES {
                if most[lane] < high[lane].min(ceiling[lane]) && witnesses[lane] != NOBODY {
                    let value = self.entry_of_partial(workspace, context, turn, witnesses[lane]);
                    raise(&mut most, &mut [0; LANES], &value, 0);
                }
            }
        }
        let mut open = false;
        for lane in 0..LANES {
            open |= most[lane] < high[lane].min(ceiling[lane]);
        }
        if open {
            let mut rest = [0.0; LANES];
            for peaks in far.peaks(context, turn, tail) {
                for (bounds, entities) in peaks.bounds.iter().zip(&peaks.entities) {
                    for lane in 0..LANES {
                        if most[lane] < high[lane].min(ceiling[lane]).min(bounds[lane]) {
                            let value = self.entry_of_partial(workspace, context, turn, entities[lane]);
                            raise(&mut most, &mut [0; LANES], &value, 0);
                        }
                    }
                }
                raise(&mut rest, &mut [0; LANES], &peaks.rest, 0);
            }
            lower(&mut ceiling, &rest);
        }
        let mut low = high;
        lower(&mut low, &most);
        raise(&mut most, &mut [0; LANES], &ceiling, 0);
        lower(&mut high, &most);
        [low, high]
    }

    /// The largest entry near the ends, as far as it can be below `least`.
    #[inline(always)]
    fn most_of_partial(
        &mut self,
        workspace: &mut Workspace,
        context: Context,
        turn: Turn,
        least: &Lanes,
    ) -> Lanes {
        let k = turn.receiver() - 1;
        let (mut most, _) = self.most(context, k);
        for place in 0..self.touched[k].entities.len() {
            if self.touched[k].near[0][place] != UNLINKED {
                continue; // known in full
            }
            let (value, _) = self.without_inner(&self.touched[k], context, turn, place);
            let mut direction = false;
            for lane in 0..LANES {
                direction |= value[lane] > most[lane] && most[lane] < least[lane];
            }
            if direction {
                let entity = self.touched[k].entities[place];
                let value = self.entry_of_partial(workspace, context, turn, entity);
                raise(&mut most, &mut [0; LANES], &value, 0);
            }
        }
        most
    }

    /// One entry of the last stage, worked out in full from the entity's own row.
    #[inline(always)]
    fn entry_of_partial(&self, workspace: &Workspace, context: Context, turn: Turn, entity: u32) -> Lanes {
        let Context { graph, block, profile, .. } = context;
        let (receiver, (end, _)) = (turn.receiver(), turn.end());
        let mut value = match workspace.places[receiver - 1][entity as usize] as usize {
            0 => {
                let mut value = profile.entry(block, graph, turn.round - 1, receiver - 1, entity as usize);
                lower(&mut value, block.sure(end, receiver));
                value
            }
            place => self.without_inner(&self.touched[receiver - 1], context, turn, place - 1).0,
        };
        for number in 0..turn.senders() {
            let sender = turn.sender(number);
            let mut message = *block.sure(sender, receiver);
            let table = block.toward(sender, receiver);
            for link in graph.row(entity as usize) {
                let (entry, _) = self.entry(workspace, context, turn.round, sender - 1, link.entity as usize);
                add_product(&mut message, &table[link.class as usize], &entry);
            }
            lower(&mut value, &message);
        }
        value
    }
}

/// The highest entry that both ends allow an entity which they are not linked with.
#[inline(always)]
fn highest(context: Context, turn: Turn, entity: usize) -> Lanes {
    let (block, receiver) = (context.block, turn.receiver());
    let mut value = block.start(receiver, context.graph.kind(entity));
    lower(&mut value, block.sure(0, receiver));
    lower(&mut value, block.sure(turn.last, receiver));
    value
}

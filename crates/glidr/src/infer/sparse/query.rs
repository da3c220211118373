//! One query: where, and by how much, its domains rise above the profile.
//!
//! In: a head, a tail, a [`Profile`]. Out: a score per rule, and what the adjoint needs. Each
//! variable between the ends keeps a list of the entities the query *touched*: the ends'
//! neighbours, and the open entities that a raised message reached. Everywhere else its domain is
//! the profile.

use super::block::{Block, LANES, Lanes, Winner, add, add_product, is_zero, narrow, share};
use super::defer::Slack;
use super::profile::{DProfile, Profile};
use super::stage::Turn;
use crate::graph::{Graph, Link};

/// No class: the entity is not a neighbour of the end.
pub(crate) const UNLINKED: u32 = u32::MAX;
/// Marks a place of the score that is an entity of the profile, not one of the list.
const IN_PROFILE: u32 = 1 << 31;

/// An end that is not there: it allows nothing and has no neighbours.
pub(crate) const ABSENT: usize = usize::MAX;

/// What a query reads.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub graph: &'a Graph,
    pub block: &'a Block,
    pub profile: &'a Profile,
    pub slack: &'a Slack,
}

impl Setting<'_> {
    /// The number of the last variable, Y.
    #[inline(always)]
    pub fn last(&self) -> usize {
        self.block.schema.variables - 1
    }
}

/// A variable's touched entities after one round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub domain: Vec<Lanes>,
    pub winner: Vec<Winner>,
}

impl Kept {
    #[inline(always)]
    pub fn push(&mut self, value: Lanes, winner: [u32; LANES]) {
        self.domain.push(value);
        self.winner.push(winner.map(|winner| winner as u8));
    }
}

/// The entities that a query touched at one variable, in the order it met them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    pub entities: Vec<u32>,
    /// The class of (entity → head) and of (entity → tail).
    pub near: [Vec<u32>; 2],
    near_done: [bool; 2],
    /// After every round; entities met later are missing there and had the profile's value.
    pub rounds: Vec<Kept>,
}

/// One query's message passing, kept for the adjoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    pub ends: [usize; 2],
    between: Option<u32>,
    pub touched: Vec<Touched>,
    /// The ends' entries, at the start and after every round, and who narrowed them.
    pub entries: Vec<[Lanes; 2]>,
    pub winners: Vec<Winner>,
    /// The variable and place whose entry the score is.
    pub place: [(u8, u32); LANES],
}

/// How far a sender's rise is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Scope {
    /// To touched entities and to those that it can lift.
    #[default]
    Open,
    /// To all that it reaches.
    All,
    /// To touched entities only.
    Touched,
}

/// A thread's room for work on one query at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Room {
    /// Per inner variable and entity: 1 + its place in the list of touched entities, or 0.
    pub places: Vec<Vec<u32>>,
    /// Per sender between the ends: how far its entries are above the profile, place by place.
    pub risen: Vec<Vec<Lanes>>,
    /// Per sender between the ends: what its rise adds to the receiver's message.
    pub told: Vec<Vec<Lanes>>,
    /// How far a rise is followed.
    pub scope: Scope,
    /// In the last stage: whose entry is worked out.
    pub exact: Vec<bool>,
    /// Whether a stage is put off, so that entries of the last one are lower ends of brackets.
    pub bracket: bool,
    /// The upper ends of those brackets, place by place, and that of the last end.
    pub upper: Vec<Lanes>,
    pub upper_end: Lanes,
    pub d_domain: Vec<Vec<Lanes>>,
    pub active: Vec<Vec<u32>>,
    pub is_active: Vec<Vec<bool>>,
    /// Per sender between the ends: places of the receiver and the derivative of its message there.
    pub d_told: Vec<Vec<(u32, Lanes)>>,
    pub d_part: Vec<Lanes>,
}

impl Room {
    /// Makes room for so many inner variables and entities.
    pub fn fit(&mut self, inner: usize, entities: usize) {
        self.places.resize(inner, Vec::new());
        self.places.iter_mut().for_each(|places| places.resize(entities, 0));
        self.risen.resize(inner, Vec::new());
        self.told.resize(inner, Vec::new());
        self.d_domain.resize(inner, Vec::new());
        self.active.resize(inner, Vec::new());
        self.is_active.resize(inner, Vec::new());
        self.d_told.resize(inner, Vec::new());
    }
}

impl Touched {
    fn clear(&mut self, rounds: usize) {
        self.entities.clear();
        self.near.iter_mut().for_each(Vec::clear);
        self.near_done = [false; 2];
        self.rounds.resize(rounds, Kept::default());
        for kept in &mut self.rounds {
            kept.domain.clear();
            kept.winner.clear();
        }
    }

    /// The place of an entity, which is put at the end of the list when new.
    #[inline(always)]
    pub fn touch(&mut self, entity: u32, places: &mut [u32]) -> usize {
        let place = &mut places[entity as usize];
        if *place == 0 {
            self.entities.push(entity);
            self.near[0].push(UNLINKED);
            self.near[1].push(UNLINKED);
            *place = self.entities.len() as u32;
        }
        *place as usize - 1
    }

    /// Puts the neighbours of an end on the list.
    #[inline(always)]
    pub fn touch_near(&mut self, side: usize, row: &[Link], places: &mut [u32]) {
        if !self.near_done[side] {
            self.near_done[side] = true;
            for link in row {
                let place = self.touch(link.entity, places);
                self.near[side][place] = link.class;
            }
        }
    }
}

impl Query {
    /// Passes all messages; returns a score per rule. The places of its entities stay in `room`
    /// until [`Query::leave`].
    #[inline(always)]
    pub fn infer(&mut self, room: &mut Room, setting: Setting, head: usize, tail: usize) -> Lanes {
        self.begin(setting, head, tail);
        (room.bracket, room.scope) = (false, Scope::Open);
        let (last, rounds) = (setting.last(), setting.profile.rounds);
        for round in 1..=rounds {
            for step in 1..last {
                self.rise(room, setting, Turn::new(setting, round, step));
                if Self::is_lazy(setting, round, step) || self.is_deferred(room, setting, round, step) {
                    self.narrow_last(room, setting, round, step);
                } else {
                    self.narrow_inner(room, setting, round, step);
                }
            }
            self.narrow_end(room, setting, round);
        }
        if room.bracket {
            let (known, open) = self.decide(room, setting);
            if open == 0 {
                return known;
            }
            let places = self.place;
            self.complete(room, setting, open);
            self.work_out_again(room, setting, &places, !open);
            let mut score = self.score(room, setting, open);
            for lane in 0..LANES {
                if open >> lane & 1 == 0 {
                    (score[lane], self.place[lane]) = (known[lane], places[lane]);
                }
            }
            return score;
        }
        self.score(room, setting, u8::MAX)
    }

    /// Whether this stage is worked out only where it is asked for: the last variable of the last
    /// round that others tell anything.
    #[inline(always)]
    pub fn is_lazy(setting: Setting, round: usize, step: usize) -> bool {
        round == setting.profile.rounds && step + 1 == setting.last() && step > 1
    }

    /// The neighbours of an end.
    #[inline(always)]
    pub fn row<'g>(&self, graph: &'g Graph, side: usize) -> &'g [Link] {
        if self.ends[side] == ABSENT { &[] } else { graph.row(self.ends[side]) }
    }

    #[inline(always)]
    pub fn begin(&mut self, setting: Setting, head: usize, tail: usize) {
        let Setting { graph, block, profile, .. } = setting;
        let last = setting.last();
        self.ends = [head, tail];
        self.between = if head == ABSENT || tail == ABSENT { None } else { graph.class(head, tail) };
        self.touched.resize(last - 1, Touched::default());
        self.touched.iter_mut().for_each(|touched| touched.clear(profile.rounds));
        self.entries.clear();
        self.entries.push([0, 1].map(|side| match self.ends[side] {
            ABSENT => [0.0; LANES],
            end => block.start(side * last, graph.kind(end)),
        }));
        self.winners.clear();
    }

    /// The adjoint of [`Query::infer`]: adds the derivative of Σ `d_score`·score.
    #[inline(always)]
    pub fn infer_adjoint(
        &self,
        room: &mut Room,
        setting: Setting,
        d_score: &Lanes,
        d_profile: &mut DProfile,
        d_block: &mut Block,
    ) {
        let last = setting.last();
        for (k, touched) in self.touched.iter().enumerate() {
            room.d_domain[k].clear();
            room.d_domain[k].resize(touched.entities.len(), [0.0; LANES]);
            room.is_active[k].clear();
            room.is_active[k].resize(touched.entities.len(), false);
            room.active[k].clear();
        }
        let mut d_ends = [[0.0; LANES]; 2];
        self.score_adjoint(room, setting, d_score, &mut d_ends, d_profile);
        for round in (1..=setting.profile.rounds).rev() {
            self.narrow_end_adjoint(room, setting, round, &mut d_ends, d_profile, d_block);
            for step in (1..last).rev() {
                self.narrow_inner_adjoint(room, setting, round, step, &mut d_ends, d_profile, d_block);
            }
        }
        for side in 0..2 {
            let kind = setting.graph.kind(self.ends[side]);
            setting.block.start_adjoint(side * last, kind, &d_ends[side], d_block);
        }
    }

    /// Notes the places of the touched entities in `room` again, for the adjoint.
    pub fn enter(&self, room: &mut Room) {
        for (touched, places) in self.touched.iter().zip(&mut room.places) {
            for (place, &entity) in touched.entities.iter().enumerate() {
                places[entity as usize] = place as u32 + 1;
            }
        }
    }

    /// Takes the places of the touched entities out of `room`.
    pub fn leave(&self, room: &mut Room) {
        for (touched, places) in self.touched.iter().zip(&mut room.places) {
            touched.entities.iter().for_each(|&entity| places[entity as usize] = 0);
        }
    }

    /// A variable's entry after `round`, and its place if the query touched it by then.
    #[inline(always)]
    pub fn entry(
        &self,
        room: &Room,
        setting: Setting,
        round: usize,
        k: usize,
        entity: usize,
    ) -> (Lanes, Option<usize>) {
        let place = room.places[k][entity] as usize;
        let domain = &self.touched[k].rounds[round - 1].domain;
        if place != 0 && place <= domain.len() {
            (domain[place - 1], Some(place - 1))
        } else {
            (setting.profile.stage(round, k).domain[entity], None)
        }
    }

    /// Updates the end that comes last in this round                     `eq:state_update`
    #[inline(always)]
    pub fn narrow_end(&mut self, room: &mut Room, setting: Setting, round: usize) {
        let (block, last, pass) = (setting.block, setting.last(), setting.profile.pass(round));
        let receiver = pass.variable(last, last);
        let side = usize::from(receiver > 0);
        let mut entries = self.entries[round - 1];
        let mut winner = [0u32; LANES];
        let mut upper = entries[side];
        let bracketed =
            (room.bracket && round == setting.profile.rounds).then(|| pass.variable(last - 1, last));
        for sender in (0..last).map(|step| pass.variable(step, last)) {
            let mut message = *block.sure(sender, receiver);
            let table = block.toward(sender, receiver);
            if sender == 0 || sender == last {
                if let Some(class) = self.between {
                    add_product(
                        &mut message,
                        &block.toward(0, last)[class as usize],
                        &self.entries[round - 1][1 - side],
                    );
                }
            } else {
                for link in self.row(setting.graph, side) {
                    let (entry, _) = self.entry(room, setting, round, sender - 1, link.entity as usize);
                    add_product(&mut message, &table[link.class as usize], &entry);
                }
            }
            narrow(&mut entries[side], &message, sender, &mut winner);
            if Some(sender) == bracketed {
                message = *block.sure(sender, receiver);
                for link in self.row(setting.graph, side) {
                    let place = room.places[sender - 1][link.entity as usize] as usize - 1;
                    add_product(&mut message, &table[link.class as usize], &room.upper[place]);
                }
            }
            narrow(&mut upper, &message, sender, &mut [0; LANES]);
        }
        room.upper_end = upper;
        self.entries.push(entries);
        self.winners.push(winner.map(|winner| winner as u8));
    }

    /// The adjoint of [`Query::narrow_end`].
    #[inline(always)]
    fn narrow_end_adjoint(
        &self,
        room: &mut Room,
        setting: Setting,
        round: usize,
        d_ends: &mut [Lanes; 2],
        d_profile: &mut DProfile,
        d_block: &mut Block,
    ) {
        let (block, last, pass) = (setting.block, setting.last(), setting.profile.pass(round));
        let receiver = pass.variable(last, last);
        let side = usize::from(receiver > 0);
        let (d, winner) = (d_ends[side], &self.winners[round - 1]);
        d_ends[side] = share(&d, winner, 0);
        for sender in (0..last).map(|step| pass.variable(step, last)) {
            let d_message = share(&d, winner, sender as u8 + 1);
            if is_zero(&d_message) {
                continue;
            }
            add(d_block.sure_mut(sender, receiver), &d_message);
            if sender == 0 || sender == last {
                if let Some(class) = self.between {
                    let other = &self.entries[round - 1][1 - side];
                    add_product(&mut d_block.toward_mut(0, last)[class as usize], &d_message, other);
                    add_product(&mut d_ends[1 - side], &d_message, &block.toward(0, last)[class as usize]);
                }
                continue;
            }
            let (table, d_table) = (block.toward(sender, receiver), d_block.toward_mut(sender, receiver));
            for link in self.row(setting.graph, side) {
                let (class, entity) = (link.class as usize, link.entity as usize);
                let (entry, place) = self.entry(room, setting, round, sender - 1, entity);
                add_product(&mut d_table[class], &d_message, &entry);
                match place {
                    Some(place) => {
                        add_product(room.give(sender - 1, place), &d_message, &table[class]);
                    }
                    None => add_product(
                        &mut d_profile.domain(round, sender - 1)[entity],
                        &d_message,
                        &table[class],
                    ),
                }
            }
        }
    }

    /// The score in the lanes `asked`, as bits.
    ///
    /// ```text
    /// ŷ = min_i max_k φ_i,k                                    eq:rule_entailment
    /// ```
    #[inline(always)]
    pub fn score(&mut self, room: &mut Room, setting: Setting, asked: u8) -> Lanes {
        let (last, rounds) = (setting.last(), setting.profile.rounds);
        let lazy = Self::is_lazy(setting, rounds, last.max(1) - 1)
            .then(|| setting.profile.pass(rounds).variable(last - 1, last));
        let mut score = [f32::INFINITY; LANES];
        let mut place = [(0u8, 0u32); LANES];
        for variable in (0..=last).filter(|&variable| Some(variable) != lazy).chain(lazy) {
            let (most, at) = match variable {
                0 => (self.entries[rounds][0], [0; LANES]),
                v if v == last => (self.entries[rounds][1], [0; LANES]),
                v if Some(v) == lazy => {
                    let mut least = score;
                    for lane in 0..LANES {
                        least[lane] = if asked >> lane & 1 == 1 { least[lane] } else { 0.0 };
                    }
                    self.most_of_last(room, setting, &least)
                }
                v => self.most(setting, v - 1),
            };
            for lane in 0..LANES {
                if most[lane] < score[lane] {
                    score[lane] = most[lane];
                    place[lane] = (variable as u8, at[lane]);
                }
            }
        }
        self.place = place;
        score
    }

    /// The adjoint of [`Query::score`]: all goes to the entry that the score is.
    #[inline(always)]
    fn score_adjoint(
        &self,
        room: &mut Room,
        setting: Setting,
        d_score: &Lanes,
        d_ends: &mut [Lanes; 2],
        d_profile: &mut DProfile,
    ) {
        let (last, rounds) = (setting.last(), setting.profile.rounds);
        for lane in (0..LANES).filter(|&lane| d_score[lane] != 0.0) {
            let (variable, at) = (usize::from(self.place[lane].0), self.place[lane].1);
            let entry = match variable {
                0 => &mut d_ends[0],
                v if v == last => &mut d_ends[1],
                v if Self::is_in_profile(at) => {
                    &mut d_profile.domain(rounds, v - 1)[(at & !IN_PROFILE) as usize]
                }
                v => room.give(v - 1, at as usize),
            };
            entry[lane] += d_score[lane];
        }
    }

    /// The largest entry of a variable's domain after the last round, and where it is.
    #[inline(always)]
    pub fn most(&self, setting: Setting, k: usize) -> (Lanes, [u32; LANES]) {
        let rounds = setting.profile.rounds;
        let (mut most, mut at) = ([-1.0; LANES], [0u32; LANES]);
        for (place, entry) in self.touched[k].rounds[rounds - 1].domain.iter().enumerate() {
            raise(&mut most, &mut at, entry, place as u32);
        }
        // No touched entry is below its profile, so a greater profile is of an untouched entity.
        let stage = setting.profile.stage(rounds, k);
        for lane in 0..LANES {
            if stage.most[lane] > most[lane] {
                most[lane] = stage.most[lane];
                at[lane] = stage.most_at[lane] | IN_PROFILE;
            }
        }
        (most, at)
    }

    /// Whether a place of the score is an entity of the profile.
    #[inline(always)]
    pub fn is_in_profile(place: u32) -> bool {
        place & IN_PROFILE != 0
    }

    /// Where the profile's largest entry lies, as a place of the score.
    #[inline(always)]
    pub fn in_profile(entity: u32) -> u32 {
        entity | IN_PROFILE
    }
}

/// Keeps the greater of `most` and `entry`, and its place.
#[inline(always)]
pub(crate) fn raise(most: &mut Lanes, at: &mut [u32; LANES], entry: &Lanes, place: u32) {
    for lane in 0..LANES {
        let more = entry[lane] > most[lane];
        most[lane] = if more { entry[lane] } else { most[lane] };
        at[lane] = if more { place } else { at[lane] };
    }
}

impl Room {
    /// The derivative by a touched entry, to be added to.
    #[inline(always)]
    pub fn give(&mut self, k: usize, place: usize) -> &mut Lanes {
        if !self.is_active[k][place] {
            self.is_active[k][place] = true;
            self.active[k].push(place as u32);
        }
        &mut self.d_domain[k][place]
    }
}

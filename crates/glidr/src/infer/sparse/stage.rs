//! One variable of a query in one round, and its adjoint.
//!
//! A message to entity e is the profile's, plus what the senders' rise adds:
//!
//! ```text
//! ψ(e) = L(e) + Σ_f M(e, f) (φ(f) − p(f))
//! ```
//!
//! The sum runs over touched senders only. It is either *scattered* from them or *gathered* at the
//! receivers, whichever walks over fewer links.

use super::block::{Block, LANES, Lanes, Winner, add, add_product, filled, is_zero, narrow, share};
use super::profile::DProfile;
use super::query::{Kept, Query, Room, Setting, Touched, raise};
use crate::graph::Graph;
use crate::infer::Pass;

/// A stage: which variable takes messages, in which round.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    pub round: usize,
    step: usize,
    pass: Pass,
    pub last: usize,
}

impl Turn {
    #[inline(always)]
    pub fn new(setting: Setting, round: usize, step: usize) -> Self {
        Turn { round, step, pass: Pass::of(round), last: setting.last() }
    }

    #[inline(always)]
    pub fn receiver(self) -> usize {
        self.pass.variable(self.step, self.last)
    }

    /// The end that sends in this round, as a variable and as a side.
    #[inline(always)]
    pub fn end(self) -> (usize, usize) {
        let end = self.pass.variable(0, self.last);
        (end, usize::from(end > 0))
    }

    /// The `number`-th sender between the ends.
    #[inline(always)]
    fn sender(self, number: usize) -> usize {
        self.pass.variable(number + 1, self.last)
    }

    #[inline(always)]
    fn senders(self) -> usize {
        self.step - 1
    }
}

impl Query {
    /// Updates a variable between the ends                                `eq:state_update`
    #[inline(always)]
    pub fn narrow_inner(&mut self, room: &mut Room, setting: Setting, round: usize, step: usize) {
        let turn = Turn::new(setting, round, step);
        let k = turn.receiver() - 1;
        let (mut touched, mut places) = self.take(room, k);
        let (_, side) = turn.end();
        touched.touch_near(side, setting.graph.row(self.ends[side]), &mut places);
        self.rise(room, setting, turn);
        self.scatter(room, setting, turn, &mut touched, &mut places);
        let mut kept = std::mem::take(&mut touched.rounds[round - 1]);
        for place in 0..touched.entities.len() {
            let (value, winner) = self.with_told(room, &touched, setting, turn, place);
            kept.push(value, winner);
        }
        touched.rounds[round - 1] = kept;
        self.put_back(room, k, touched, places);
    }

    /// A stage worked out only where it is asked for: one that no other waits for but the last
    /// end, at the end's neighbours; one that is put off, at the neighbours of both ends.
    #[inline(always)]
    pub fn narrow_last(&mut self, room: &mut Room, setting: Setting, round: usize, step: usize) {
        let turn = Turn::new(setting, round, step);
        let k = turn.receiver() - 1;
        let (mut touched, mut places) = self.take(room, k);
        for side in 0..2 {
            touched.touch_near(side, setting.graph.row(self.ends[side]), &mut places);
        }
        self.rise(room, setting, turn);
        let mut kept = std::mem::take(&mut touched.rounds[round - 1]);
        for place in 0..touched.entities.len() {
            let (value, winner) = self.without_inner(&touched, setting, turn, place);
            kept.push(value, winner);
        }
        room.exact.clear();
        room.exact.resize(touched.entities.len(), false);
        room.upper.clear();
        if room.bracket {
            room.upper.extend_from_slice(&kept.domain);
        }
        if round < setting.profile.rounds {
            for place in 0..touched.entities.len() {
                gather(room, setting, turn, &touched, &mut kept, place);
            }
        } else {
            let (_, side) = turn.end();
            for link in setting.graph.row(self.ends[1 - side]) {
                let place = places[link.entity as usize] as usize - 1;
                gather(room, setting, turn, &touched, &mut kept, place);
            }
        }
        touched.rounds[round - 1] = kept;
        self.put_back(room, k, touched, places);
    }

    /// The largest entry of the last stage's variable, as far as it can be below `least`; and
    /// where it is. Where it is at least `least`, it may be greater than what is returned.
    #[inline(always)]
    pub fn most_of_last(
        &mut self,
        room: &mut Room,
        setting: Setting,
        least: &Lanes,
    ) -> (Lanes, [u32; LANES]) {
        let turn = Turn::new(setting, setting.profile.rounds, setting.last() - 1);
        let k = turn.receiver() - 1;
        let (mut touched, mut places) = self.take(room, k);
        let mut kept = std::mem::take(&mut touched.rounds[turn.round - 1]);
        let stage = setting.profile.stage(turn.round, k);
        let (mut most, mut at) = ([-1.0; LANES], [0u32; LANES]);
        for place in 0..kept.domain.len() {
            if room.exact[place] {
                raise(&mut most, &mut at, &kept.domain[place], place as u32);
            }
        }
        for lane in 0..LANES {
            if stage.most[lane] > most[lane] {
                match places[stage.most_at[lane] as usize] as usize {
                    0 => {
                        most[lane] = stage.most[lane];
                        at[lane] = Query::in_profile(stage.most_at[lane]);
                    }
                    place => {
                        gather(room, setting, turn, &touched, &mut kept, place - 1);
                        raise(&mut most, &mut at, &kept.domain[place - 1], place as u32 - 1);
                    }
                }
            }
        }
        let mut budget = scatter_cost(room, setting, turn, self);
        let mut full = false;
        for place in 0..kept.domain.len() {
            let bound = &kept.domain[place];
            let mut asked = false;
            for lane in 0..LANES {
                asked |= bound[lane] > most[lane] && most[lane] < least[lane];
            }
            if asked && !room.exact[place] {
                let cost = setting.graph.row(touched.entities[place] as usize).len() * turn.senders();
                if cost > budget {
                    full = true;
                    break;
                }
                budget -= cost;
                gather(room, setting, turn, &touched, &mut kept, place);
                raise(&mut most, &mut at, &kept.domain[place], place as u32);
            }
        }
        for lane in 0..LANES {
            full |= stage.ceiling[lane] > most[lane] && most[lane] < least[lane];
        }
        if full {
            self.scatter(room, setting, turn, &mut touched, &mut places);
            for place in 0..touched.entities.len() {
                if place < kept.domain.len() && room.exact[place] {
                    continue;
                }
                let (value, winner) = self.with_told(room, &touched, setting, turn, place);
                if place == kept.domain.len() {
                    kept.push(value, winner);
                } else {
                    kept.domain[place] = value;
                    kept.winner[place] = winner.map(|winner| winner as u8);
                }
            }
        }
        touched.rounds[turn.round - 1] = kept;
        self.put_back(room, k, touched, places);
        if full { self.most(setting, k) } else { (most, at) }
    }

    /// The adjoint of [`Query::narrow_inner`], [`Query::narrow_last`] and [`Query::most_of_last`].
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "all that a derivative is added to")]
    pub fn narrow_inner_adjoint(
        &self,
        room: &mut Room,
        setting: Setting,
        round: usize,
        step: usize,
        d_ends: &mut [Lanes; 2],
        d_profile: &mut DProfile,
        d_block: &mut Block,
    ) {
        let turn = Turn::new(setting, round, step);
        let (receiver, (end, side)) = (turn.receiver(), turn.end());
        let k = receiver - 1;
        let touched = &self.touched[k];
        let kept = &touched.rounds[round - 1];
        let older = if round == 1 { 0 } else { touched.rounds[round - 2].domain.len() };
        let mut active = std::mem::take(&mut room.active[k]);
        for &place in &active {
            let place = place as usize;
            let entity = touched.entities[place] as usize;
            let (d, winner) = (room.d_domain[k][place], &kept.winner[place]);
            let d_message = share(&d, winner, end as u8 + 1);
            if !is_zero(&d_message) {
                add(d_block.sure_mut(end, receiver), &d_message);
                let class = touched.near[side][place] as usize;
                if let Some(value) = setting.block.toward(receiver, end).get(class) {
                    add_product(
                        &mut d_block.toward_mut(receiver, end)[class],
                        &d_message,
                        &self.entries[round - 1][side],
                    );
                    add_product(&mut d_ends[side], &d_message, value);
                }
            }
            for number in 0..turn.senders() {
                let d_message = share(&d, winner, turn.sender(number) as u8 + 1);
                if !is_zero(&d_message) {
                    room.d_told[number].push((place as u32, d_message));
                    add(&mut d_profile.told(round, k, number)[entity], &d_message);
                }
            }
            let mut rest = share(&d, winner, 0);
            if place >= older {
                add(&mut d_profile.domain(round - 1, k)[entity], &rest);
                rest = [0.0; LANES];
            }
            room.d_domain[k][place] = rest;
            room.is_active[k][place] = !is_zero(&rest);
        }
        active.retain(|&place| room.is_active[k][place as usize]);
        room.active[k] = active;
        for number in 0..turn.senders() {
            self.told_adjoint(room, setting, turn, number, d_profile, d_block);
        }
    }

    /// The adjoint of what the `number`-th sender's rise added, scattered or gathered.
    #[inline(always)]
    fn told_adjoint(
        &self,
        room: &mut Room,
        setting: Setting,
        turn: Turn,
        number: usize,
        d_profile: &mut DProfile,
        d_block: &mut Block,
    ) {
        let Setting { graph, block, profile, .. } = setting;
        let (sender, receiver) = (turn.sender(number), turn.receiver());
        let (s, k) = (sender - 1, receiver - 1);
        let mut d_told = std::mem::take(&mut room.d_told[number]);
        if d_told.is_empty() {
            room.d_told[number] = d_told;
            return;
        }
        let from = &self.touched[s];
        let raised = &from.rounds[turn.round - 1].domain;
        let base = &profile.stage(turn.round, s).domain;
        let degree = |entity: u32| graph.row(entity as usize).len();
        let gathered: usize =
            d_told.iter().map(|&(place, _)| degree(self.touched[k].entities[place as usize])).sum();
        let scattered: usize = from.entities[..raised.len()].iter().map(|&entity| degree(entity)).sum();
        if gathered <= scattered {
            let (table, d_table) = (block.toward(sender, receiver), d_block.toward_mut(sender, receiver));
            for (place, d_message) in &d_told {
                for link in graph.row(self.touched[k].entities[*place as usize] as usize) {
                    let (class, other) = (link.class as usize, link.entity as usize);
                    let at = room.places[s][other] as usize;
                    if at == 0 || at > raised.len() {
                        continue;
                    }
                    let rise = above(&raised[at - 1], &base[other]);
                    if is_zero(&rise) {
                        continue;
                    }
                    add_product(&mut d_table[class], d_message, &rise);
                    let mut d_from = [0.0; LANES];
                    add_product(&mut d_from, d_message, &table[class]);
                    add(room.give(s, at - 1), &d_from);
                    subtract(&mut d_profile.domain(turn.round, s)[other], &d_from);
                }
            }
        } else {
            let (table, d_table) = (block.toward(receiver, sender), d_block.toward_mut(receiver, sender));
            let mut part = std::mem::take(&mut room.d_part);
            part.clear();
            part.resize(self.touched[k].entities.len(), [0.0; LANES]);
            for (place, d_message) in &d_told {
                part[*place as usize] = *d_message;
            }
            for (at, (&other, raised)) in from.entities.iter().zip(raised).enumerate() {
                let rise = above(raised, &base[other as usize]);
                if is_zero(&rise) {
                    continue;
                }
                let mut d_from = [0.0; LANES];
                for link in graph.row(other as usize) {
                    let place = room.places[k][link.entity as usize] as usize;
                    if place == 0 || is_zero(&part[place - 1]) {
                        continue;
                    }
                    let class = link.class as usize;
                    add_product(&mut d_table[class], &part[place - 1], &rise);
                    add_product(&mut d_from, &part[place - 1], &table[class]);
                }
                if !is_zero(&d_from) {
                    add(room.give(s, at), &d_from);
                    subtract(&mut d_profile.domain(turn.round, s)[other as usize], &d_from);
                }
            }
            room.d_part = part;
        }
        d_told.clear();
        room.d_told[number] = d_told;
    }

    /// A touched entry before the messages of other variables between the ends.
    #[inline(always)]
    pub fn without_inner(
        &self,
        touched: &Touched,
        setting: Setting,
        turn: Turn,
        place: usize,
    ) -> (Lanes, [u32; LANES]) {
        let Setting { graph, block, profile, .. } = setting;
        let (receiver, (end, side)) = (turn.receiver(), turn.end());
        let entity = touched.entities[place] as usize;
        let older = turn.round.checked_sub(2).and_then(|round| touched.rounds[round].domain.get(place));
        let mut value = match older {
            Some(value) => *value,
            None => profile.entry(block, graph, turn.round - 1, receiver - 1, entity),
        };
        let mut winner = [0u32; LANES];
        let mut message = *block.sure(end, receiver);
        if let Some(linked) = block.toward(receiver, end).get(touched.near[side][place] as usize) {
            add_product(&mut message, linked, &self.entries[turn.round - 1][side]);
        }
        narrow(&mut value, &message, end, &mut winner);
        (value, winner)
    }

    /// A touched entry after all messages, where every sender's rise has been scattered.
    #[inline(always)]
    pub fn with_told(
        &self,
        room: &Room,
        touched: &Touched,
        setting: Setting,
        turn: Turn,
        place: usize,
    ) -> (Lanes, [u32; LANES]) {
        let stage = setting.profile.stage(turn.round, turn.receiver() - 1);
        let entity = touched.entities[place] as usize;
        let (mut value, mut winner) = self.without_inner(touched, setting, turn, place);
        for number in 0..turn.senders() {
            let mut message = stage.told[number][entity];
            add(&mut message, &room.told[number][place]);
            narrow(&mut value, &message, turn.sender(number), &mut winner);
        }
        (value, winner)
    }

    /// How far each sender's touched entries are above the profile.
    #[inline(always)]
    pub fn rise(&self, room: &mut Room, setting: Setting, turn: Turn) {
        for number in 0..turn.senders() {
            let s = turn.sender(number) - 1;
            let from = &self.touched[s];
            let base = &setting.profile.stage(turn.round, s).domain;
            let risen = &mut room.risen[number];
            risen.clear();
            for (&entity, entry) in from.entities.iter().zip(&from.rounds[turn.round - 1].domain) {
                risen.push(above(entry, &base[entity as usize]));
            }
        }
    }

    /// Adds every sender's rise to the messages of touched and of open entities.
    #[inline(always)]
    pub fn scatter(
        &self,
        room: &mut Room,
        setting: Setting,
        turn: Turn,
        touched: &mut Touched,
        places: &mut [u32],
    ) {
        let Setting { graph, block, profile, .. } = setting;
        let receiver = turn.receiver();
        let stage = profile.stage(turn.round, receiver - 1);
        for number in 0..turn.senders() {
            let sender = turn.sender(number);
            let table = block.toward(receiver, sender);
            let told = &mut room.told[number];
            told.clear();
            told.resize(touched.entities.len(), [0.0; LANES]);
            for (&entity, rise) in self.touched[sender - 1].entities.iter().zip(&room.risen[number]) {
                let lanes = filled(rise);
                if lanes == 0 {
                    continue;
                }
                for link in graph.row(entity as usize) {
                    let mut place = places[link.entity as usize] as usize;
                    if place == 0 {
                        if stage.open[link.entity as usize] & lanes == 0 {
                            continue;
                        }
                        place = touched.touch(link.entity, places) + 1;
                        told.push([0.0; LANES]);
                    }
                    add_product(&mut told[place - 1], &table[link.class as usize], rise);
                }
            }
        }
        for told in &mut room.told[..turn.senders()] {
            told.resize(touched.entities.len(), [0.0; LANES]);
        }
    }

    #[inline(always)]
    pub fn take(&mut self, room: &mut Room, k: usize) -> (Touched, Vec<u32>) {
        (std::mem::take(&mut self.touched[k]), std::mem::take(&mut room.places[k]))
    }

    #[inline(always)]
    pub fn put_back(&mut self, room: &mut Room, k: usize, touched: Touched, places: Vec<u32>) {
        self.touched[k] = touched;
        room.places[k] = places;
    }
}

/// Works out one entry in full, from the entity's own row.
#[inline(always)]
pub(crate) fn gather(
    room: &mut Room,
    setting: Setting,
    turn: Turn,
    touched: &Touched,
    kept: &mut Kept,
    place: usize,
) {
    if room.exact[place] {
        return;
    }
    room.exact[place] = true;
    let Setting { graph, block, profile, .. } = setting;
    let (receiver, entity) = (turn.receiver(), touched.entities[place] as usize);
    let stage = profile.stage(turn.round, receiver - 1);
    let mut value = kept.domain[place];
    let mut winner: [u32; LANES] = kept.winner[place].map(u32::from);
    for number in 0..turn.senders() {
        let mut message = stage.told[number][entity];
        let mut lower = false;
        for lane in 0..LANES {
            lower |= message[lane] < value[lane];
        }
        if !lower {
            continue; // the rise only adds to it
        }
        let sender = turn.sender(number);
        let (table, risen) = (block.toward(sender, receiver), &room.risen[number]);
        let mut sum = [0.0; LANES];
        for link in graph.row(entity) {
            let at = room.places[sender - 1][link.entity as usize] as usize;
            if at != 0 && at <= risen.len() {
                add_product(&mut sum, &table[link.class as usize], &risen[at - 1]);
            }
        }
        add(&mut message, &sum);
        narrow(&mut value, &message, sender, &mut winner);
        if room.bracket && turn.round == profile.rounds {
            add(&mut message, setting.slack_at(entity));
            narrow(&mut room.upper[place], &message, sender, &mut [0; LANES]);
        }
    }
    kept.domain[place] = value;
    let winner: Winner = winner.map(|winner| winner as u8);
    kept.winner[place] = winner;
}

/// How many links a scatter of all senders' rise walks over.
#[inline(always)]
pub(crate) fn scatter_cost(room: &Room, setting: Setting, turn: Turn, query: &Query) -> usize {
    let graph: &Graph = setting.graph;
    let mut cost = 0;
    for number in 0..turn.senders() {
        let entities = &query.touched[turn.sender(number) - 1].entities;
        for (&entity, rise) in entities.iter().zip(&room.risen[number]) {
            if !is_zero(rise) {
                cost += graph.row(entity as usize).len();
            }
        }
    }
    cost
}

#[inline(always)]
fn above(entry: &Lanes, base: &Lanes) -> Lanes {
    let mut rise = [0.0; LANES];
    for lane in 0..LANES {
        rise[lane] = entry[lane] - base[lane];
    }
    rise
}

#[inline(always)]
fn subtract(sum: &mut Lanes, a: &Lanes) {
    for lane in 0..LANES {
        sum[lane] -= a[lane];
    }
}

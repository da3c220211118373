//! One variable of a query in one round, and its adjoint.
//!
//! A message to entity e is the profile's, plus what the senders' rise adds:
//!
//! ```text
//! ψ(e) = L(e) + Σ_f M(e, f) (φ(f) − p(f))
//! ```
//!
//! `rise.rs` has that sum.

use super::block::{Block, LANES, Lanes, add, add_product, is_zero, narrow, share};
use super::profile::DProfile;
use super::query::{Context, Query, Touched, Workspace};
use super::rise::{gather, scatter_cost};
use super::score::raise;
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
    pub fn new(context: Context, round: usize, step: usize) -> Self {
        Turn { round, step, pass: context.profile.pass(round), last: context.last() }
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
    pub fn sender(self, number: usize) -> usize {
        self.pass.variable(number + 1, self.last)
    }

    #[inline(always)]
    pub fn senders(self) -> usize {
        self.step - 1
    }
}

impl Query {
    /// Updates a variable between the ends, after [`Query::rise`]         `eq:state_update`
    #[inline(always)]
    pub fn narrow_inner(&mut self, workspace: &mut Workspace, context: Context, round: usize, step: usize) {
        let turn = Turn::new(context, round, step);
        let k = turn.receiver() - 1;
        let (mut touched, mut places) = self.take(workspace, k);
        let (_, side) = turn.end();
        touched.touch_near(side, self.row(context.graph, side), &mut places);
        self.scatter(workspace, context, turn, &mut touched, &mut places);
        let mut kept = std::mem::take(&mut touched.rounds[round - 1]);
        for place in 0..touched.entities.len() {
            let (value, winner) = self.with_told(workspace, &touched, context, turn, place);
            kept.push(value, winner);
        }
        touched.rounds[round - 1] = kept;
        self.put_back(workspace, k, touched, places);
    }

    /// A stage worked out, after [`Query::rise`], only where it is asked for: one that no other waits for but the last
    /// end, at the end's neighbours; one that is put off, at the neighbours of both ends.
    #[inline(always)]
    pub fn narrow_last(&mut self, workspace: &mut Workspace, context: Context, round: usize, step: usize) {
        let turn = Turn::new(context, round, step);
        let k = turn.receiver() - 1;
        let (mut touched, mut places) = self.take(workspace, k);
        for side in 0..2 {
            touched.touch_near(side, self.row(context.graph, side), &mut places);
        }
        let mut kept = std::mem::take(&mut touched.rounds[round - 1]);
        for place in 0..touched.entities.len() {
            let (value, winner) = self.without_inner(&touched, context, turn, place);
            kept.push(value, winner);
        }
        workspace.exact.clear();
        workspace.exact.resize(touched.entities.len(), false);
        workspace.upper.clear();
        if workspace.bracket {
            workspace.upper.extend_from_slice(&kept.domain);
        }
        if round < context.profile.rounds {
            for place in 0..touched.entities.len() {
                gather(workspace, context, turn, &touched, &mut kept, place);
            }
        } else {
            let (_, side) = turn.end();
            for link in self.row(context.graph, 1 - side) {
                let place = places[link.entity as usize] as usize - 1;
                gather(workspace, context, turn, &touched, &mut kept, place);
            }
        }
        touched.rounds[round - 1] = kept;
        self.put_back(workspace, k, touched, places);
    }

    /// The largest entry of the last stage's variable, as far as it can be below `least`; and
    /// where it is. Where it is at least `least`, it may be greater than what is returned.
    #[inline(always)]
    pub fn most_of_last(
        &mut self,
        workspace: &mut Workspace,
        context: Context,
        least: &Lanes,
    ) -> (Lanes, [u32; LANES]) {
        let turn = Turn::new(context, context.profile.rounds, context.last() - 1);
        let k = turn.receiver() - 1;
        let (mut touched, mut places) = self.take(workspace, k);
        let mut kept = std::mem::take(&mut touched.rounds[turn.round - 1]);
        let stage = context.profile.stage(turn.round, k);
        let (mut most, mut at) = ([-1.0; LANES], [0u32; LANES]);
        for place in 0..kept.domain.len() {
            if workspace.exact[place] {
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
                        gather(workspace, context, turn, &touched, &mut kept, place - 1);
                        raise(&mut most, &mut at, &kept.domain[place - 1], place as u32 - 1);
                    }
                }
            }
        }
        let mut budget = scatter_cost(workspace, context, turn, self);
        let mut full = false;
        for place in 0..kept.domain.len() {
            let bound = &kept.domain[place];
            let mut direction = false;
            for lane in 0..LANES {
                direction |= bound[lane] > most[lane] && most[lane] < least[lane];
            }
            if direction && !workspace.exact[place] {
                let cost = context.graph.row(touched.entities[place] as usize).len() * turn.senders();
                if cost > budget {
                    full = true;
                    break;
                }
                budget -= cost;
                gather(workspace, context, turn, &touched, &mut kept, place);
                raise(&mut most, &mut at, &kept.domain[place], place as u32);
            }
        }
        for lane in 0..LANES {
            full |= stage.ceiling[lane] > most[lane] && most[lane] < least[lane];
        }
        if full {
            self.scatter(workspace, context, turn, &mut touched, &mut places);
            for place in 0..touched.entities.len() {
                if place < kept.domain.len() && workspace.exact[place] {
                    continue;
                }
                let (value, winner) = self.with_told(workspace, &touched, context, turn, place);
                if place == kept.domain.len() {
                    kept.push(value, winner);
                } else {
                    kept.domain[place] = value;
                    kept.winner[place] = winner.map(|winner| winner as u8);
                }
            }
        }
        touched.rounds[turn.round - 1] = kept;
        self.put_back(workspace, k, touched, places);
        if full { self.most(context, k) } else { (most, at) }
    }

    /// The adjoint of [`Query::narrow_inner`], [`Query::narrow_last`] and [`Query::most_of_last`].
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "all that a derivative is added to")]
    pub fn narrow_inner_adjoint(
        &self,
        workspace: &mut Workspace,
        context: Context,
        round: usize,
        step: usize,
        d_ends: &mut [Lanes; 2],
        d_profile: &mut DProfile,
        d_block: &mut Block,
    ) {
        let turn = Turn::new(context, round, step);
        let (receiver, (end, side)) = (turn.receiver(), turn.end());
        let k = receiver - 1;
        let touched = &self.touched[k];
        let kept = &touched.rounds[round - 1];
        let older = if round == 1 { 0 } else { touched.rounds[round - 2].domain.len() };
        let mut active = std::mem::take(&mut workspace.active[k]);
        for &place in &active {
            let place = place as usize;
            let entity = touched.entities[place] as usize;
            let (d, winner) = (workspace.d_domain[k][place], &kept.winner[place]);
            let d_message = share(&d, winner, end as u8 + 1);
            if !is_zero(&d_message) {
                add(d_block.sure_mut(end, receiver), &d_message);
                let class = touched.near[side][place] as usize;
                if let Some(value) = context.block.toward(receiver, end).get(class) {
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
                    workspace.d_told[number].push((place as u32, d_message));
                    add(&mut d_profile.told(round, k, number)[entity], &d_message);
                }
            }
            let mut rest = share(&d, winner, 0);
            if place >= older {
                add(&mut d_profile.domain(round - 1, k)[entity], &rest);
                rest = [0.0; LANES];
            }
            workspace.d_domain[k][place] = rest;
            workspace.is_active[k][place] = !is_zero(&rest);
        }
        active.retain(|&place| workspace.is_active[k][place as usize]);
        workspace.active[k] = active;
        for number in 0..turn.senders() {
            self.told_adjoint(workspace, context, turn, number, d_profile, d_block);
        }
    }

    /// A touched entry before the messages of other variables between the ends.
    #[inline(always)]
    pub fn without_inner(
        &self,
        touched: &Touched,
        context: Context,
        turn: Turn,
        place: usize,
    ) -> (Lanes, [u32; LANES]) {
        let Context { graph, block, profile, .. } = context;
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
        workspace: &Workspace,
        touched: &Touched,
        context: Context,
        turn: Turn,
        place: usize,
    ) -> (Lanes, [u32; LANES]) {
        let stage = context.profile.stage(turn.round, turn.receiver() - 1);
        let entity = touched.entities[place] as usize;
        let (mut value, mut winner) = self.without_inner(touched, context, turn, place);
        for number in 0..turn.senders() {
            let mut message = stage.told[number][entity];
            add(&mut message, &workspace.told[number][place]);
            narrow(&mut value, &message, turn.sender(number), &mut winner);
        }
        (value, winner)
    }

    #[inline(always)]
    pub fn take(&mut self, workspace: &mut Workspace, k: usize) -> (Touched, Vec<u32>) {
        (std::mem::take(&mut self.touched[k]), std::mem::take(&mut workspace.places[k]))
    }

    #[inline(always)]
    pub fn put_back(&mut self, workspace: &mut Workspace, k: usize, touched: Touched, places: Vec<u32>) {
        self.touched[k] = touched;
        workspace.places[k] = places;
    }
}

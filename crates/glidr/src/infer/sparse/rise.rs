//! What the senders' rise above the profile adds to a message, and its adjoint.
//!
//! ```text
//! Σ_f M(e, f) (φ(f) − p(f))
//! ```
//!
//! The sum runs over touched senders only. It is either *scattered* from them or *gathered* at the
//! receivers, whichever walks over fewer links.

use super::block::{Block, LANES, Lanes, add, add_product, filled, is_zero, narrow};
use super::profile::DProfile;
use super::query::{Context, Kept, Query, Scope, Touched, Workspace};
use super::stage::Turn;

impl Query {
    /// How far each sender's touched entries are above the profile.
    #[inline(always)]
    pub fn rise(&self, workspace: &mut Workspace, context: Context, turn: Turn) {
        for number in 0..turn.senders() {
            let s = turn.sender(number) - 1;
            let from = &self.touched[s];
            let base = &context.profile.stage(turn.round, s).domain;
            let risen = &mut workspace.risen[number];
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
        workspace: &mut Workspace,
        context: Context,
        turn: Turn,
        touched: &mut Touched,
        places: &mut [u32],
    ) {
        let Context { graph, block, profile, .. } = context;
        let receiver = turn.receiver();
        let stage = profile.stage(turn.round, receiver - 1);
        for number in 0..turn.senders() {
            let sender = turn.sender(number);
            let table = block.toward(receiver, sender);
            let told = &mut workspace.told[number];
            told.clear();
            told.resize(touched.entities.len(), [0.0; LANES]);
            for (&entity, rise) in self.touched[sender - 1].entities.iter().zip(&workspace.risen[number]) {
                let lanes = filled(rise);
                if lanes == 0 {
                    continue;
                }
                for link in graph.row(entity as usize) {
                    let mut place = places[link.entity as usize] as usize;
                    if place == 0 {
                        let follow = match workspace.scope {
                            Scope::Open => stage.open[link.entity as usize] & lanes != 0,
                            Scope::All => true,
                            Scope::Touched => false,
                        };
                        if !follow {
                            continue;
                        }
                        place = touched.touch(link.entity, places) + 1;
                        told.push([0.0; LANES]);
                    }
                    add_product(&mut told[place - 1], &table[link.class as usize], rise);
                }
            }
        }
        for told in &mut workspace.told[..turn.senders()] {
            told.resize(touched.entities.len(), [0.0; LANES]);
        }
    }

    /// The adjoint of what the `number`-th sender's rise added, scattered or gathered.
    #[inline(always)]
    pub fn told_adjoint(
        &self,
        workspace: &mut Workspace,
        context: Context,
        turn: Turn,
        number: usize,
        d_profile: &mut DProfile,
        d_block: &mut Block,
    ) {
        let Context { graph, block, profile, .. } = context;
        let (sender, receiver) = (turn.sender(number), turn.receiver());
        let (s, k) = (sender - 1, receiver - 1);
        let mut d_told = std::mem::take(&mut workspace.d_told[number]);
        if d_told.is_empty() {
            workspace.d_told[number] = d_told;
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
                    let at = workspace.places[s][other] as usize;
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
                    add(workspace.give(s, at - 1), &d_from);
                    subtract(&mut d_profile.domain(turn.round, s)[other], &d_from);
                }
            }
        } else {
            let (table, d_table) = (block.toward(receiver, sender), d_block.toward_mut(receiver, sender));
            let mut part = std::mem::take(&mut workspace.d_part);
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
                    let place = workspace.places[k][link.entity as usize] as usize;
                    if place == 0 || is_zero(&part[place - 1]) {
                        continue;
                    }
                    let class = link.class as usize;
                    add_product(&mut d_table[class], &part[place - 1], &rise);
                    add_product(&mut d_from, &part[place - 1], &table[class]);
                }
                if !is_zero(&d_from) {
                    add(workspace.give(s, at), &d_from);
                    subtract(&mut d_profile.domain(turn.round, s)[other as usize], &d_from);
                }
            }
            workspace.d_part = part;
        }
        d_told.clear();
        workspace.d_told[number] = d_told;
    }
}

/// Works out one entry in full, from the entity's own row.
#[inline(always)]
pub(crate) fn gather(
    workspace: &mut Workspace,
    context: Context,
    turn: Turn,
    touched: &Touched,
    kept: &mut Kept,
    place: usize,
) {
    if workspace.exact[place] {
        return;
    }
    workspace.exact[place] = true;
    let Context { graph, block, profile, .. } = context;
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
        let (table, risen) = (block.toward(sender, receiver), &workspace.risen[number]);
        let mut sum = [0.0; LANES];
        for link in graph.row(entity) {
            let at = workspace.places[sender - 1][link.entity as usize] as usize;
            if at != 0 && at <= risen.len() {
                add_product(&mut sum, &table[link.class as usize], &risen[at - 1]);
            }
        }
        add(&mut message, &sum);
        narrow(&mut value, &message, sender, &mut winner);
        if workspace.bracket && turn.round == profile.rounds {
            add(&mut message, context.slack_at(entity));
            narrow(&mut workspace.upper[place], &message, sender, &mut [0; LANES]);
        }
    }
    kept.domain[place] = value;
    kept.winner[place] = winner.map(|winner| winner as u8);
}

/// How many links a scatter of all senders' rise walks over.
#[inline(always)]
pub(crate) fn scatter_cost(workspace: &Workspace, context: Context, turn: Turn, query: &Query) -> usize {
    let mut cost = 0;
    for number in 0..turn.senders() {
        let entities = &query.touched[turn.sender(number) - 1].entities;
        for (&entity, rise) in entities.iter().zip(&workspace.risen[number]) {
            if !is_zero(rise) {
                cost += context.graph.row(entity as usize).len();
            }
        }
    }
    cost
}

#[inline(always)]
pub(crate) fn above(entry: &Lanes, base: &Lanes) -> Lanes {
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

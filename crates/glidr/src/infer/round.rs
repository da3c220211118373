//! One round of message passing: every variable in turn takes the messages of those before it.
//!
//! In: the domains before the round. Out: the domains after it and who narrowed each entry; and
//! the same way back. Paper: `fig:message_passing_rounds`, `eq:state_update`.

use super::domain::{narrow, narrow_adjoint};
use super::message::{
    dense_message, end_message, end_message_adjoint, message, message_adjoint, message_to_end,
    message_to_end_adjoint,
};
use super::{Batch, Tables};
use crate::graph::ClassMatrix;

/// The direction of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    Forward,
    Backward,
}

impl Pass {
    /// Rounds are counted from 1 and begin with a forward pass.
    pub fn of(round: usize) -> Self {
        if round % 2 == 1 { Pass::Forward } else { Pass::Backward }
    }

    /// The variable that is updated at time-step `step` of `last + 1`.
    #[inline(always)]
    pub fn variable(self, step: usize, last: usize) -> usize {
        match self {
            Pass::Forward => step,
            Pass::Backward => last - step,
        }
    }
}

/// What one batch's message passing reads.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a, const W: usize> {
    pub graph: &'a ClassMatrix,
    pub tables: &'a Tables,
    pub batch: &'a Batch<'a, W>,
}

impl<const W: usize> Context<'_, W> {
    /// The number of the last variable, Y.
    #[inline(always)]
    pub fn last(&self) -> usize {
        self.tables.schema.variables - 1
    }

    /// Which end a variable is: 0 for X, 1 for Y, none between.
    #[inline(always)]
    pub fn side(&self, variable: usize) -> Option<usize> {
        match variable {
            0 => Some(0),
            v if v == self.last() => Some(1),
            _ => None,
        }
    }
}

/// A domain before a round: the same for all lanes at the start, one row per entity later.
#[derive(Clone, Copy)]
pub(crate) enum Older<'a, const W: usize> {
    Start(&'a [f32]),
    Rows(&'a [[f32; W]]),
}

impl<const W: usize> Older<'_, W> {
    #[inline(always)]
    fn row(&self, entity: usize) -> [f32; W] {
        match self {
            Older::Start(start) => [start[entity]; W],
            Older::Rows(rows) => rows[entity],
        }
    }
}

/// The domains after a round and who narrowed each entry (0 = nobody, else the sender's number + 1).
#[derive(Clone, Debug, Default)]
pub(crate) struct Round<const W: usize> {
    /// Of the variables between the ends: a row per entity.
    pub inner: Vec<Vec<[f32; W]>>,
    pub inner_winner: Vec<Vec<[u8; W]>>,
    /// Of X and Y: the entry of each lane's own head and tail; all others are 0.
    pub ends: Vec<[f32; W]>,
    pub ends_winner: Vec<[u8; W]>,
}

/// Derivatives by all that a round reads.
pub(crate) struct Derivatives<'a, const W: usize> {
    pub tables: &'a mut Tables,
    pub inner: Vec<Vec<[f32; W]>>,
    pub ends: [[f32; W]; 2],
}

impl<const W: usize> Round<W> {
    /// Makes room for so many inner variables and entities.
    #[inline(always)]
    pub fn fit(&mut self, inner: usize, entities: usize) {
        self.inner.resize(inner, Vec::new());
        self.inner_winner.resize(inner, Vec::new());
        self.inner.iter_mut().for_each(|domain| domain.resize(entities, [0.0; W]));
        self.inner_winner.iter_mut().for_each(|winner| winner.resize(entities, [0; W]));
        self.ends.resize(2, [0.0; W]);
        self.ends_winner.resize(2, [0; W]);
    }

    /// Updates a variable between the ends, entity by entity             `eq:state_update`
    #[inline(always)]
    pub fn narrow_inner(&mut self, older: Older<W>, context: Context<W>, pass: Pass, step: usize) {
        let k = pass.variable(step, context.last()) - 1;
        let mut domain = std::mem::take(&mut self.inner[k]);
        let mut winners = std::mem::take(&mut self.inner_winner[k]);
        for (entity, (value, winner)) in domain.iter_mut().zip(&mut winners).enumerate() {
            let found = self.narrow_row(older.row(entity), context, pass, step, entity);
            *value = found.0;
            *winner = found.1.map(|sender| sender as u8);
        }
        self.inner[k] = domain;
        self.inner_winner[k] = winners;
    }

    /// One entity's entry after the messages of all variables before this one, and who narrowed it.
    #[inline(always)]
    pub fn narrow_row(
        &self,
        mut value: [f32; W],
        context: Context<W>,
        pass: Pass,
        step: usize,
        entity: usize,
    ) -> ([f32; W], [u32; W]) {
        let Context { graph, tables, batch } = context;
        let receiver = pass.variable(step, context.last());
        // Of the domains' own width, so that both are compared and chosen as one.
        let mut winner = [0u32; W];
        for sender in (0..step).map(|step| pass.variable(step, context.last())) {
            let sure = tables.sure[tables.slot(sender, receiver)];
            if sure >= 1.0 {
                continue; // P_true alone: such a message narrows nothing
            }
            let message = if let Some(side) = context.side(sender) {
                let table = tables.toward(receiver, sender);
                end_message(batch.lanes_at(side, entity), table, sure, &self.ends[side])
            } else {
                let domain = &self.inner[sender - 1];
                match tables.dense_row(sender, receiver, entity) {
                    Some(row) => dense_message(row, sure, domain),
                    None => message(graph.row(entity), tables.toward(sender, receiver), sure, domain),
                }
            };
            narrow(&mut value, &message, sender as u32 + 1, &mut winner);
        }
        (value, winner)
    }

    /// The adjoint of [`Round::narrow_inner`].
    #[inline(always)]
    pub fn narrow_inner_adjoint(&self, context: Context<W>, pass: Pass, step: usize, d: &mut Derivatives<W>) {
        let Context { graph, tables, batch } = context;
        let receiver = pass.variable(step, context.last());
        let mut d_domain = std::mem::take(&mut d.inner[receiver - 1]);
        for (entity, d_row) in d_domain.iter_mut().enumerate() {
            if d_row.iter().all(|&d| d == 0.0) {
                continue;
            }
            let winner = self.inner_winner[receiver - 1][entity].map(u32::from);
            for sender in (0..step).map(|step| pass.variable(step, context.last())) {
                let d_message = narrow_adjoint(d_row, &winner, sender as u32 + 1);
                if d_message.iter().all(|&d| d == 0.0) {
                    continue;
                }
                d.tables.sure[tables.slot(sender, receiver)] += d_message.iter().sum::<f32>();
                if let Some(side) = context.side(sender) {
                    let (lanes, table) = (batch.lanes_at(side, entity), tables.toward(receiver, sender));
                    let d_table = d.tables.toward_mut(receiver, sender);
                    end_message_adjoint(
                        lanes,
                        table,
                        &self.ends[side],
                        &d_message,
                        d_table,
                        &mut d.ends[side],
                    );
                } else {
                    let (row, table) = (graph.row(entity), tables.toward(sender, receiver));
                    let (domain, d_table) = (&self.inner[sender - 1], d.tables.toward_mut(sender, receiver));
                    message_adjoint(row, table, domain, &d_message, d_table, &mut d.inner[sender - 1]);
                }
            }
            *d_row = narrow_adjoint(d_row, &winner, 0);
        }
        d.inner[receiver - 1] = d_domain;
    }

    /// Updates the end that comes last in this pass, lane by lane         `eq:state_update`
    #[inline(always)]
    pub fn narrow_end(&mut self, context: Context<W>, pass: Pass, side: usize) {
        let Context { tables, batch, .. } = context;
        let last = context.last();
        let receiver = side * last;
        for lane in 0..W {
            for sender in (0..last).map(|step| pass.variable(step, last)) {
                let sure = tables.sure[tables.slot(sender, receiver)];
                let message = if context.side(sender).is_some() {
                    let between =
                        batch.between(lane).map_or(0.0, |class| tables.toward(0, last)[class as usize]);
                    sure + between * self.ends[1 - side][lane]
                } else {
                    let (near, table) = (batch.near(side, lane), tables.toward(sender, receiver));
                    message_to_end(near, table, sure, &self.inner[sender - 1], lane)
                };
                if message < self.ends[side][lane] {
                    self.ends[side][lane] = message;
                    self.ends_winner[side][lane] = sender as u8 + 1;
                }
            }
        }
    }

    /// The adjoint of [`Round::narrow_end`].
    #[inline(always)]
    pub fn narrow_end_adjoint(&self, context: Context<W>, side: usize, d: &mut Derivatives<W>) {
        let Context { tables, batch, .. } = context;
        let last = context.last();
        let receiver = side * last;
        for lane in 0..W {
            let (winner, d_end) = (self.ends_winner[side][lane], d.ends[side][lane]);
            if winner == 0 || d_end == 0.0 {
                continue;
            }
            let sender = usize::from(winner) - 1;
            d.ends[side][lane] = 0.0;
            d.tables.sure[tables.slot(sender, receiver)] += d_end;
            if context.side(sender).is_some() {
                if let Some(class) = batch.between(lane) {
                    d.tables.toward_mut(0, last)[class as usize] += self.ends[1 - side][lane] * d_end;
                    d.ends[1 - side][lane] += tables.toward(0, last)[class as usize] * d_end;
                }
            } else {
                let (near, table) = (batch.near(side, lane), tables.toward(sender, receiver));
                let (domain, d_table) = (&self.inner[sender - 1], d.tables.toward_mut(sender, receiver));
                message_to_end_adjoint(near, table, domain, lane, d_end, d_table, &mut d.inner[sender - 1]);
            }
        }
    }
}

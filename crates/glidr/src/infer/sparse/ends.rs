//! The ends of a query: their entries after a round, and the adjoint.

use super::block::{Block, LANES, Lanes, add, add_product, is_zero, narrow, share};
use super::profile::DProfile;
use super::query::{Context, Query, Workspace};

impl Query {
    /// Updates the end that comes last in this round                     `eq:state_update`
    #[inline(always)]
    pub fn narrow_end(&mut self, workspace: &mut Workspace, context: Context, round: usize) {
        let (block, last, pass) = (context.block, context.last(), context.profile.pass(round));
        let receiver = pass.variable(last, last);
        let side = usize::from(receiver > 0);
        let mut entries = self.entries[round - 1];
        let mut winner = [0u32; LANES];
        let mut upper = entries[side];
        let bracketed =
            (workspace.bracket && round == context.profile.rounds).then(|| pass.variable(last - 1, last));
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
                for link in self.row(context.graph, side) {
                    let (entry, _) = self.entry(workspace, context, round, sender - 1, link.entity as usize);
                    add_product(&mut message, &table[link.class as usize], &entry);
                }
            }
            narrow(&mut entries[side], &message, sender, &mut winner);
            if Some(sender) == bracketed {
                message = *block.sure(sender, receiver);
                for link in self.row(context.graph, side) {
                    let place = workspace.places[sender - 1][link.entity as usize] as usize - 1;
                    add_product(&mut message, &table[link.class as usize], &workspace.upper[place]);
                }
            }
            narrow(&mut upper, &message, sender, &mut [0; LANES]);
        }
        workspace.upper_end = upper;
        self.entries.push(entries);
        self.winners.push(winner.map(|winner| winner as u8));
    }

    /// The adjoint of [`Query::narrow_end`].
    #[inline(always)]
    pub fn narrow_end_adjoint(
        &self,
        workspace: &mut Workspace,
        context: Context,
        round: usize,
        d_ends: &mut [Lanes; 2],
        d_profile: &mut DProfile,
        d_block: &mut Block,
    ) {
        let (block, last, pass) = (context.block, context.last(), context.profile.pass(round));
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
            for link in self.row(context.graph, side) {
                let (class, entity) = (link.class as usize, link.entity as usize);
                let (entry, place) = self.entry(workspace, context, round, sender - 1, entity);
                add_product(&mut d_table[class], &d_message, &entry);
                match place {
                    Some(place) => {
                        add_product(workspace.give(sender - 1, place), &d_message, &table[class]);
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
}

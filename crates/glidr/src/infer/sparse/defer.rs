//! The costliest stage put off: with four variables and three rounds or more, the far entries of
//! the last stage but one are first only bracketed, and mostly the score is known all the same.
//!
//! Let d be the variable that comes last in the round before the last, and w the one that comes
//! last in the last round. Far from both ends, an entry of d lies between the profile and its
//! *ceiling*, so a message from d to w lies between ψ and ψ + G, where
//!
//! ```text
//! G(e) = Σ_f M(e, f) (ceiling(f) − p(f))                           once per profile
//! ```
//!
//! The score is a minimum. Where an entry that is known in full is no greater than the lower end
//! of every bracket, it is the score. Otherwise the far entries are worked out after all.

use super::block::{Block, LANES, Lanes, add_product};
use super::profile::Profile;
use super::query::{Context, Kept, Query, Workspace};
use super::rise::{gather, scatter_cost};
use super::score::raise;
use super::stage::Turn;
use crate::graph::ClassMatrix;

/// What of the profile brackets the far entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slack {
    /// G, per entity.
    told: Vec<Lanes>,
    /// The highest ceiling of an entry that can still be lifted to it.
    ceiling: Lanes,
}

impl Slack {
    /// Works out G, where a stage is put off: only where a single later stage reads it.
    #[inline(always)]
    pub fn fill(&mut self, graph: &ClassMatrix, block: &Block, profile: &Profile) {
        self.told.clear();
        let rounds = profile.rounds;
        if block.schema.variables != 4 || rounds < 3 {
            return;
        }
        let context = Context { graph, block, profile, slack: &Slack::default() };
        let slack = self;
        let (late, last) = (Turn::new(context, rounds - 1, 2), Turn::new(context, rounds, 2));
        let (d, w) = (late.receiver(), last.receiver());
        let mut workspace = vec![[0.0; LANES]; graph.entities()];
        slack.ceiling = [0.0; LANES];
        for (entity, workspace) in workspace.iter_mut().enumerate() {
            let mut ceiling = profile.entry(block, graph, rounds - 2, d - 1, entity);
            let base = &profile.stage(rounds, d - 1).domain[entity];
            for lane in 0..LANES {
                let least = block.sure(late.end().0, d)[lane].min(block.sure(last.end().0, d)[lane]);
                ceiling[lane] = ceiling[lane].min(least);
                workspace[lane] = ceiling[lane] - base[lane];
                let height = if workspace[lane] > 0.0 { ceiling[lane] } else { 0.0 };
                slack.ceiling[lane] = slack.ceiling[lane].max(height);
            }
        }
        let table = block.toward(d, w);
        slack.told.resize(graph.entities(), [0.0; LANES]);
        for (entity, told) in slack.told.iter_mut().enumerate() {
            let mut sum = [0.0; LANES];
            for link in graph.row(entity) {
                add_product(&mut sum, &table[link.class as usize], &workspace[link.entity as usize]);
            }
            *told = sum;
        }
    }
}

impl Context<'_> {
    /// G of an entity.
    #[inline(always)]
    pub fn slack_at(&self, entity: usize) -> &Lanes {
        &self.slack.told[entity]
    }
}

impl Query {
    /// Whether this stage is put off: where it is cheaper to work it out at the neighbours of both
    /// ends than everywhere.
    #[inline(always)]
    pub fn is_deferred(
        &self,
        workspace: &mut Workspace,
        context: Context,
        round: usize,
        step: usize,
    ) -> bool {
        if context.slack.told.is_empty() || round + 1 != context.profile.rounds || step != 2 {
            return false;
        }
        let turn = Turn::new(context, round, step);
        let known = &self.touched[turn.receiver() - 1].entities;
        let near = self.ends.iter().flat_map(|&end| context.graph.row(end)).map(|link| link.entity);
        let links = |entity: u32| context.graph.row(entity as usize).len();
        let gathered: usize = known.iter().copied().chain(near).map(links).sum();
        workspace.bracket = gathered < scatter_cost(workspace, context, turn, self);
        workspace.bracket
    }

    /// The score, as far as the brackets tell it, and the lanes, as bits, where they do not.
    #[inline(always)]
    pub fn decide(&mut self, workspace: &mut Workspace, context: Context) -> (Lanes, u8) {
        let rounds = context.profile.rounds;
        let (d, last) = (Turn::new(context, rounds - 1, 2).receiver(), Turn::new(context, rounds, 2));
        let (near, near_side) = last.end();
        let far = last.last - near;
        let low = self.entries[rounds][1 - near_side];
        let (most, at) = self.most(context, d - 1);
        let mut score = self.entries[rounds][near_side];
        let mut place = [(near as u8, 0u32); LANES];
        for lane in 0..LANES {
            if low[lane] == workspace.upper_end[lane] && low[lane] < score[lane] {
                (score[lane], place[lane]) = (low[lane], (far as u8, 0));
            }
            if context.slack.ceiling[lane] <= most[lane] && most[lane] < score[lane] {
                (score[lane], place[lane]) = (most[lane], (d as u8, at[lane]));
            }
        }
        let mut open = 0;
        let mut least = score;
        for lane in 0..LANES {
            if low[lane].min(most[lane]) < score[lane] {
                open |= 1 << lane;
                least[lane] = 0.0; // nothing is asked of this lane any more
            }
        }
        let (most, at, high) = self.bracket_most_of_last(workspace, context, last, &least);
        for lane in 0..LANES {
            if most[lane] < least[lane] {
                (score[lane], place[lane]) = (most[lane], (last.receiver() as u8, at[lane]));
                open |= u8::from(most[lane] < high[lane]) << lane;
            }
        }
        self.place = place;
        (score, open)
    }

    /// A bracket of w's largest entry, and where its lower end is; narrowed entry by entry until it
    /// is above `least` or only the far entries of d keep it open.
    #[inline(always)]
    fn bracket_most_of_last(
        &mut self,
        workspace: &mut Workspace,
        context: Context,
        turn: Turn,
        least: &Lanes,
    ) -> (Lanes, [u32; LANES], Lanes) {
        let k = turn.receiver() - 1;
        let (mut touched, places) = self.take(workspace, k);
        let mut kept = std::mem::take(&mut touched.rounds[turn.round - 1]);
        let stage = context.profile.stage(turn.round, k);
        let (mut most, mut at) = (stage.most, stage.most_at.map(Query::in_profile));
        for lane in 0..LANES {
            if let Some(place) = (places[stage.most_at[lane] as usize] as usize).checked_sub(1) {
                gather(workspace, context, turn, &touched, &mut kept, place);
                if kept.domain[place][lane] >= most[lane] {
                    (most[lane], at[lane]) = (kept.domain[place][lane], place as u32);
                }
            }
        }
        for place in 0..kept.domain.len() {
            let mut direction = false;
            for lane in 0..LANES {
                direction |= kept.domain[place][lane] > most[lane] && most[lane] < least[lane];
            }
            if direction {
                gather(workspace, context, turn, &touched, &mut kept, place);
                raise(&mut most, &mut at, &kept.domain[place], place as u32);
            }
        }
        let mut high = most;
        raise(&mut high, &mut [0; LANES], &stage.ceiling, 0);
        for upper in &workspace.upper {
            raise(&mut high, &mut [0; LANES], upper, 0);
        }
        touched.rounds[turn.round - 1] = kept;
        self.put_back(workspace, k, touched, places);
        (most, at, high)
    }

    /// Works out the far entries of d in the lanes `open`, and all that follows from them.
    #[inline(always)]
    pub fn complete(&mut self, workspace: &mut Workspace, context: Context, open: u8) {
        let rounds = context.profile.rounds;
        let (late, after) = (Turn::new(context, rounds - 1, 2), Turn::new(context, rounds, 1));
        let k = late.receiver() - 1;
        let (mut touched, mut places) = self.take(workspace, k);
        self.rise(workspace, context, late);
        for rise in &mut workspace.risen[0] {
            for lane in 0..LANES {
                rise[lane] = if open >> lane & 1 == 1 { rise[lane] } else { 0.0 };
            }
        }
        self.scatter(workspace, context, late, &mut touched, &mut places);
        for place in touched.rounds[rounds - 2].domain.len()..touched.entities.len() {
            let (value, winner) = self.with_told(workspace, &touched, context, late, place);
            touched.rounds[rounds - 2].push(value, winner);
            let (value, winner) = self.without_inner(&touched, context, after, place);
            touched.rounds[rounds - 1].push(value, winner);
        }
        self.put_back(workspace, k, touched, places);
        let last = Turn::new(context, rounds, 2);
        self.touched[last.receiver() - 1].rounds[rounds - 1] = Kept::default();
        workspace.bracket = false;
        self.rise(workspace, context, last);
        self.narrow_last(workspace, context, rounds, 2);
        self.entries.pop();
        self.winners.pop();
        self.narrow_end(workspace, context, rounds);
    }

    /// Works out the entries of w that are the score in the lanes `known`, which brackets told.
    #[inline(always)]
    pub fn work_out_again(
        &mut self,
        workspace: &mut Workspace,
        context: Context,
        at: &[(u8, u32); LANES],
        known: u8,
    ) {
        let turn = Turn::new(context, context.profile.rounds, 2);
        let k = turn.receiver() - 1;
        let (mut touched, places) = self.take(workspace, k);
        let mut kept = std::mem::take(&mut touched.rounds[turn.round - 1]);
        for (lane, &(variable, place)) in at.iter().enumerate() {
            if known >> lane & 1 == 1
                && usize::from(variable) == turn.receiver()
                && !Query::is_in_profile(place)
            {
                gather(workspace, context, turn, &touched, &mut kept, place as usize);
            }
        }
        touched.rounds[turn.round - 1] = kept;
        self.put_back(workspace, k, touched, places);
    }
}

//! A head worked out once for all tails.
//!
//! In: a head. Out: the profile of every query that has it: message passing from the head alone,
//! with the tail absent. No domain of a query is below it, and it differs from it only around the
//! tail; so a [`Query`] of another tail starts from there, not from the profile of no ends at all.
//! The first round does not depend on the tail and is not passed again.

use super::block::{LANES, Lanes, add_product};
use super::defer::Slack;
use super::far::Far;
use super::profile::Profile;
use super::query::{ABSENT, Context, Query, Scope, Touched, UNLINKED, Workspace};
use super::rise::scatter_cost;
use super::score::raise;
use super::stage::Turn;

/// The profile of one head.
#[derive(Clone, Debug, Default)]
pub(crate) struct Anchor {
    /// With the head's entries laid in.
    pub profile: Profile,
    /// The head alone.
    pub query: Query,
    /// How many links its neighbours have.
    links: usize,
    far: Far,
}

/// Whether a stage is known only at the head's neighbours: the last one, if the head narrows last.
/// Nobody else waits for it but its largest entry.
#[inline(always)]
fn is_partial(context: Context, turn: Turn) -> bool {
    Query::is_lazy(context, turn.round, turn.senders() + 1) && turn.round.is_multiple_of(2)
}

impl Anchor {
    /// Starts from the profile of no ends.
    pub fn begin(&mut self, profile: &Profile) {
        self.profile.clone_from(profile);
        self.query = Query::default();
    }

    /// Works out the first round of the head alone and lays its entries into the profile.
    #[inline(always)]
    pub fn set(&mut self, workspace: &mut Workspace, context: Context, head: usize) {
        self.lift(context.profile);
        self.far.leave_head();
        self.query.begin(context, head, ABSENT);
        self.links =
            context.graph.row(head).iter().map(|link| context.graph.row(link.entity as usize).len()).sum();
        workspace.bracket = false;
        self.round(workspace, context, 1);
        self.query.leave(workspace);
    }

    /// Works out the other rounds, if that is not done yet: scores need them, bounds do not.
    #[inline(always)]
    pub fn complete(&mut self, workspace: &mut Workspace, context: Context) {
        let done = self.query.winners.len();
        if done < context.profile.rounds {
            self.query.enter(workspace);
            for round in done + 1..=context.profile.rounds {
                self.round(workspace, context, round);
            }
            self.query.leave(workspace);
        }
    }

    #[inline(always)]
    fn round(&mut self, workspace: &mut Workspace, context: Context, round: usize) {
        // A tail's neighbours ask for messages that lift nothing without it.
        workspace.scope = if round == 1 { Scope::Open } else { Scope::All };
        for step in 1..context.last() {
            let turn = Turn::new(context, round, step);
            self.query.rise(workspace, context, turn);
            if is_partial(context, turn) {
                self.query.narrow_near(workspace, context, turn, usize::MAX);
            } else {
                self.query.narrow_inner(workspace, context, round, step);
            }
            self.lay(workspace, context, turn);
        }
        self.query.narrow_end(workspace, context, round);
    }

    /// Lays one stage of the head into the profile.
    #[inline(always)]
    fn lay(&mut self, workspace: &Workspace, context: Context, turn: Turn) {
        let k = turn.receiver() - 1;
        let partial = is_partial(context, turn);
        let touched = &self.query.touched[k];
        let base = context.profile.stage(turn.round, k);
        let stage = self.profile.stage_mut(turn.round, k);
        for (place, value) in touched.rounds[turn.round - 1].domain.iter().enumerate() {
            let entity = touched.entities[place];
            stage.domain[entity as usize] = *value;
            raise(&mut stage.most, &mut stage.most_at, value, entity);
            if turn.round == 1 || turn.senders() == 0 {
                continue; // never passed again, or told by the ends alone
            }
            for number in 0..turn.senders() {
                for lane in 0..LANES {
                    stage.told[number][entity as usize][lane] =
                        base.told[number][entity as usize][lane] + workspace.told[number][place][lane];
                }
            }
            let (ceiling, _) = self.query.without_inner(touched, context, turn, place);
            let mut open = 0;
            let always = partial && touched.near[0][place] != UNLINKED; // known in full for any tail
            for lane in 0..LANES {
                let lifts = value[lane] < ceiling[lane] && !always;
                open |= u8::from(lifts) << lane;
                stage.ceiling[lane] = stage.ceiling[lane].max(if lifts { ceiling[lane] } else { 0.0 });
            }
            stage.open[entity as usize] = open;
        }
    }

    /// Takes the head's entries out again.
    fn lift(&mut self, base: &Profile) {
        for (k, touched) in self.query.touched.iter().enumerate() {
            for round in 1..=base.rounds {
                let (from, to) = (base.stage(round, k), self.profile.stage_mut(round, k));
                (to.most, to.most_at, to.ceiling) = (from.most, from.most_at, from.ceiling);
                for &entity in &touched.entities[..touched.rounds[round - 1].domain.len()] {
                    let entity = entity as usize;
                    to.domain[entity] = from.domain[entity];
                    to.open[entity] = from.open[entity];
                    for (from, to) in from.told.iter().zip(&mut to.told) {
                        to[entity] = from[entity];
                    }
                }
            }
        }
    }

    /// A lower and an upper bound of the score of the head with `tail` by every rule. They are the score itself,
    /// but in an even number of rounds: there the largest entry of the last stage may be far from both ends.
    /// Mostly it is not the score, and an entity that was found in another query shows it.
    #[inline(always)]
    pub fn bracket(
        &mut self,
        query: &mut Query,
        workspace: &mut Workspace,
        context: Context,
        tail: usize,
    ) -> [Lanes; 2] {
        let slack = Slack::default();
        let context = Context { profile: &self.profile, slack: &slack, ..context };
        let bracket = match self.pass(query, workspace, context, tail) {
            None => [query.score(workspace, context, u8::MAX); 2],
            Some(turn) => {
                query.narrow_near(workspace, context, turn, self.links);
                query.narrow_end(workspace, context, turn.round);
                query.bracket_partial(workspace, context, turn, &mut self.far)
            }
        };
        query.leave(workspace);
        bracket
    }

    /// The score: from the beginning, where it is not known otherwise.
    #[inline(always)]
    pub fn score(
        &mut self,
        query: &mut Query,
        workspace: &mut Workspace,
        context: Context,
        tail: usize,
    ) -> Lanes {
        let [low, high] = self.bracket(query, workspace, context, tail);
        if low == high {
            return low;
        }
        let score = query.infer(workspace, context, self.query.ends[0], tail);
        query.leave(workspace);
        self.far.learn(tail, query.witness);
        score
    }

    /// Passes all messages of a tail but for a last stage that is known only in part.
    #[inline(always)]
    fn pass(
        &self,
        query: &mut Query,
        workspace: &mut Workspace,
        context: Context,
        tail: usize,
    ) -> Option<Turn> {
        query.begin(context, self.query.ends[0], tail);
        (workspace.bracket, workspace.scope) = (false, Scope::Open);
        query.narrow_end(workspace, context, 1);
        for round in 2..=context.profile.rounds {
            for step in 1..context.last() {
                let turn = Turn::new(context, round, step);
                query.rise(workspace, context, turn);
                if is_partial(context, turn) {
                    return Some(turn);
                }
                if Query::is_lazy(context, round, step) {
                    query.narrow_last(workspace, context, round, step);
                } else {
                    query.narrow_inner(workspace, context, round, step);
                }
            }
            query.narrow_end(workspace, context, round);
        }
        None
    }
}

impl Query {
    /// The last stage, worked out in full at the head's neighbours, who have `links` links: either
    /// their rows are walked over or those of the senders that rose. Elsewhere its entries are no
    /// more than lower bounds.
    #[inline(always)]
    fn narrow_near(&mut self, workspace: &mut Workspace, context: Context, turn: Turn, links: usize) {
        let k = turn.receiver() - 1;
        let (mut touched, mut places) = self.take(workspace, k);
        for side in 0..2 {
            touched.touch_near(side, self.row(context.graph, side), &mut places);
        }
        if links.saturating_mul(turn.senders()) < scatter_cost(workspace, context, turn, self)
            || links == usize::MAX
        {
            gather_near(workspace, context, turn, &touched);
        } else {
            workspace.scope = Scope::Touched;
            self.scatter(workspace, context, turn, &mut touched, &mut places);
            workspace.scope = Scope::Open;
        }
        let mut kept = std::mem::take(&mut touched.rounds[turn.round - 1]);
        for place in 0..touched.entities.len() {
            let (value, winner) = self.with_told(workspace, &touched, context, turn, place);
            kept.push(value, winner);
        }
        touched.rounds[turn.round - 1] = kept;
        self.put_back(workspace, k, touched, places);
    }
}

/// What the senders' rise adds at the head's neighbours.
#[inline(always)]
fn gather_near(workspace: &mut Workspace, context: Context, turn: Turn, touched: &Touched) {
    for number in 0..turn.senders() {
        let sender = turn.sender(number);
        let table = context.block.toward(sender, turn.receiver());
        let mut told = std::mem::take(&mut workspace.told[number]);
        told.clear();
        told.resize(touched.entities.len(), [0.0; LANES]);
        let (places, risen) = (&workspace.places[sender - 1], &workspace.risen[number]);
        for (place, told) in told.iter_mut().enumerate() {
            if touched.near[0][place] == UNLINKED {
                continue;
            }
            for link in context.graph.row(touched.entities[place] as usize) {
                let at = places[link.entity as usize] as usize;
                if at != 0 && at <= risen.len() {
                    add_product(told, &table[link.class as usize], &risen[at - 1]);
                }
            }
        }
        workspace.told[number] = told;
    }
}

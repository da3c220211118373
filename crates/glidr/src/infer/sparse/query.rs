//! One query: where, and by how much, its domains rise above the profile.
//!
//! In: a head, a tail, a [`Profile`]. Out: a score per rule, and what the adjoint needs. Each
//! variable between the ends keeps a list of the entities the query *touched*: the ends'
//! neighbours, and the open entities that a raised message reached. Everywhere else its domain is
//! the profile.

use super::block::{Block, LANES, Lanes, Winner};
use super::defer::Slack;
use super::profile::{DProfile, Profile};
use super::stage::Turn;
use crate::graph::{ClassMatrix, Link};

/// No class: the entity is not a neighbour of the end.
pub(crate) const UNLINKED: u32 = u32::MAX;

/// An end that is not there: it allows nothing and has no neighbours.
pub(crate) const ABSENT: usize = usize::MAX;

/// What a query reads.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub graph: &'a ClassMatrix,
    pub block: &'a Block,
    pub profile: &'a Profile,
    pub slack: &'a Slack,
}

impl Context<'_> {
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
    pub between: Option<u32>,
    pub touched: Vec<Touched>,
    /// The ends' entries, at the start and after every round, and who narrowed them.
    pub entries: Vec<[Lanes; 2]>,
    pub winners: Vec<Winner>,
    /// The variable and place whose entry the score is.
    pub place: [(u8, u32); LANES],
    /// The entity with the largest entry that was found in a stage worked out only where asked for.
    pub witness: [u32; LANES],
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
pub(crate) struct Workspace {
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

impl Workspace {
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
    pub fn infer(&mut self, workspace: &mut Workspace, context: Context, head: usize, tail: usize) -> Lanes {
        self.begin(context, head, tail);
        (workspace.bracket, workspace.scope) = (false, Scope::Open);
        let (last, rounds) = (context.last(), context.profile.rounds);
        for round in 1..=rounds {
            for step in 1..last {
                self.rise(workspace, context, Turn::new(context, round, step));
                if Self::is_lazy(context, round, step) || self.is_deferred(workspace, context, round, step) {
                    self.narrow_last(workspace, context, round, step);
                } else {
                    self.narrow_inner(workspace, context, round, step);
                }
            }
            self.narrow_end(workspace, context, round);
        }
        if workspace.bracket {
            let (known, open) = self.decide(workspace, context);
            if open == 0 {
                return known;
            }
            let places = self.place;
            self.complete(workspace, context, open);
            self.work_out_again(workspace, context, &places, !open);
            let mut score = self.score(workspace, context, open);
            for lane in 0..LANES {
                if open >> lane & 1 == 0 {
                    (score[lane], self.place[lane]) = (known[lane], places[lane]);
                }
            }
            return score;
        }
        self.score(workspace, context, u8::MAX)
    }

    /// Whether this stage is worked out only where it is asked for: the last variable of the last
    /// round that others tell anything.
    #[inline(always)]
    pub fn is_lazy(context: Context, round: usize, step: usize) -> bool {
        round == context.profile.rounds && step + 1 == context.last() && step > 1
    }

    /// The neighbours of an end.
    #[inline(always)]
    pub fn row<'g>(&self, graph: &'g ClassMatrix, side: usize) -> &'g [Link] {
        if self.ends[side] == ABSENT { &[] } else { graph.row(self.ends[side]) }
    }

    #[inline(always)]
    pub fn begin(&mut self, context: Context, head: usize, tail: usize) {
        let Context { graph, block, profile, .. } = context;
        let last = context.last();
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
        workspace: &mut Workspace,
        context: Context,
        d_score: &Lanes,
        d_profile: &mut DProfile,
        d_block: &mut Block,
    ) {
        let last = context.last();
        for (k, touched) in self.touched.iter().enumerate() {
            workspace.d_domain[k].clear();
            workspace.d_domain[k].resize(touched.entities.len(), [0.0; LANES]);
            workspace.is_active[k].clear();
            workspace.is_active[k].resize(touched.entities.len(), false);
            workspace.active[k].clear();
        }
        let mut d_ends = [[0.0; LANES]; 2];
        self.score_adjoint(workspace, context, d_score, &mut d_ends, d_profile);
        for round in (1..=context.profile.rounds).rev() {
            self.narrow_end_adjoint(workspace, context, round, &mut d_ends, d_profile, d_block);
            for step in (1..last).rev() {
                self.narrow_inner_adjoint(workspace, context, round, step, &mut d_ends, d_profile, d_block);
            }
        }
        for side in 0..2 {
            let kind = context.graph.kind(self.ends[side]);
            context.block.start_adjoint(side * last, kind, &d_ends[side], d_block);
        }
    }

    /// Notes the places of the touched entities in `room` again, for the adjoint.
    pub fn enter(&self, workspace: &mut Workspace) {
        for (touched, places) in self.touched.iter().zip(&mut workspace.places) {
            for (place, &entity) in touched.entities.iter().enumerate() {
                places[entity as usize] = place as u32 + 1;
            }
        }
    }

    /// Takes the places of the touched entities out of `room`.
    pub fn leave(&self, workspace: &mut Workspace) {
        for (touched, places) in self.touched.iter().zip(&mut workspace.places) {
            touched.entities.iter().for_each(|&entity| places[entity as usize] = 0);
        }
    }

    /// A variable's entry after `round`, and its place if the query touched it by then.
    #[inline(always)]
    pub fn entry(
        &self,
        workspace: &Workspace,
        context: Context,
        round: usize,
        k: usize,
        entity: usize,
    ) -> (Lanes, Option<usize>) {
        let place = workspace.places[k][entity] as usize;
        let domain = &self.touched[k].rounds[round - 1].domain;
        if place != 0 && place <= domain.len() {
            (domain[place - 1], Some(place - 1))
        } else {
            (context.profile.stage(round, k).domain[entity], None)
        }
    }
}

impl Workspace {
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

//! Message passing on large, sparse graphs: the same scores and derivatives as
//! [`Tape`](super::Tape), up to the order of summation, for up to eight rules at once.
//!
//! In: a [`Graph`], the [`Tables`] of up to eight rules, pairs. Out: a score per pair and rule,
//! and their derivative by the tables. Most entities are far from a query's head and tail, and
//! there its domains are those of the *profile*, which is worked out once for all queries.
//! `docs/engine.md` tells how and why.

mod anchor;
mod block;
mod defer;
mod open;
mod profile;
mod query;
mod rise;
mod stage;

use anchor::Anchor;
use block::{Block, LANES, Lanes};
use defer::Slack;
use open::Open;
use profile::{DProfile, Profile};
use query::{Query, Room, Setting};

use super::Tables;
use crate::graph::{Entity, Graph};
use crate::rule::Schema;

/// Up to eight rules on one graph, and room for a batch of queries.
#[derive(Clone, Debug, Default)]
pub struct Sparse {
    rules: usize,
    block: Option<Block>,
    profile: Profile,
    slack: Slack,
    d_profile: DProfile,
    room: Room,
    queries: Vec<Query>,
    open: Option<Box<OpenRoom>>,
}

/// What questions with an unknown end need besides.
#[derive(Clone, Debug, Default)]
struct OpenRoom {
    anchor: Anchor,
    mirror: Profile,
    from_tail: Query,
    /// Bounds of tails, and of heads.
    bounds: [Open; 2],
}

impl Sparse {
    /// Rules that are worked on side by side.
    pub const RULES: usize = LANES;

    /// Bytes that a batch of `pairs` may ask for at most: checked before they are. The profile and
    /// its derivatives take a number per entity, round and sender; a query's lists no more than
    /// that, and mostly far less.
    pub fn bytes(schema: &Schema, rounds: usize, pairs: usize, graph: &Graph) -> usize {
        let inner = schema.variables - 2;
        let lanes = size_of::<Lanes>() + size_of::<[u8; LANES]>();
        let profile = rounds * (inner + inner * inner.saturating_sub(1) / 2) * 2 * lanes;
        let nearby = (0..graph.entities()).map(|entity| graph.row(entity).len().pow(2)).sum::<usize>();
        let nearby = (nearby / graph.entities().max(1)).min(graph.entities());
        let lists = pairs * nearby * inner * (rounds * lanes + 12);
        graph.entities().saturating_mul(profile).saturating_add(lists)
    }

    /// Takes the tables of up to eight rules and works out their profile.
    pub fn prepare(&mut self, graph: &Graph, rules: &[&Tables], rounds: usize) {
        let block = Block::new(rules, graph);
        self.rules = rules.len();
        self.room.fit(block.schema.variables - 2, graph.entities());
        pulp::Arch::new().dispatch(Prepare {
            profile: &mut self.profile,
            slack: &mut self.slack,
            block: &block,
            graph,
            rounds,
        });
        self.block = Some(block);
        self.open = None;
    }

    /// The score of every pair by every rule.
    pub fn scores(&mut self, graph: &Graph, pairs: &[(Entity, Entity)]) -> Vec<[f32; LANES]> {
        let block = self.block.as_ref().expect("rules are prepared before pairs are scored");
        if self.queries.len() < pairs.len() {
            self.queries.resize(pairs.len(), Query::default());
        }
        let setting = Setting { graph, block, profile: &self.profile, slack: &self.slack };
        let (room, queries) = (&mut self.room, &mut self.queries);
        pulp::Arch::new().dispatch(There { setting, room, queries, pairs })
    }

    /// The same, keeping nothing for an adjoint: for any number of pairs.
    pub fn scores_only(&mut self, graph: &Graph, pairs: &[(Entity, Entity)]) -> Vec<[f32; LANES]> {
        pairs.iter().map(|&pair| self.scores(graph, &[pair])[0]).collect()
    }

    /// Makes ready for questions with an unknown end, after [`Sparse::prepare`].
    pub fn prepare_open(&mut self, graph: &Graph) {
        let block = self.block.as_ref().expect("rules are prepared before questions are");
        let mut open = Box::<OpenRoom>::default();
        open.anchor.begin(&self.profile);
        open.mirror.mirrored = true;
        pulp::Arch::new().dispatch(PrepareOpen { open: &mut open, profile: &self.profile, block, graph });
        self.open = Some(open);
    }

    /// Whether questions can be asked.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Takes `head` as the head of the questions that follow.
    pub fn anchor(&mut self, graph: &Graph, head: Entity) {
        let (setting, open, room, _) = self.open_parts(graph);
        pulp::Arch::new().dispatch(SetAnchor { setting, open, room, head: head.index() });
    }

    /// The scores of the anchored head with each of `tails`: those of [`Sparse::scores`] up to the
    /// order of summation.
    pub fn scores_of_tails(&mut self, graph: &Graph, tails: &[Entity]) -> Vec<[f32; LANES]> {
        let (setting, open, room, queries) = self.open_parts(graph);
        pulp::Arch::new().dispatch(FromAnchor { setting, open, room, query: &mut queries[0], tails })
    }

    /// Lower and upper bounds of those scores, found much faster.
    pub fn brackets_of_tails(&mut self, graph: &Graph, tails: &[Entity]) -> Vec<[[f32; LANES]; 2]> {
        let (setting, open, room, queries) = self.open_parts(graph);
        pulp::Arch::new().dispatch(Bracket { setting, open, room, query: &mut queries[0], tails })
    }

    /// Finds upper bounds of all tails of the anchored head.
    pub fn bound_tails(&mut self, graph: &Graph) {
        let (setting, open, room, _) = self.open_parts(graph);
        pulp::Arch::new().dispatch(Bound { setting, open, room, tail: None });
    }

    /// Finds upper bounds of all heads of `tail`.
    pub fn bound_heads(&mut self, graph: &Graph, tail: Entity) {
        let (setting, open, room, _) = self.open_parts(graph);
        pulp::Arch::new().dispatch(Bound { setting, open, room, tail: Some(tail.index()) });
    }

    /// The entities whose bound differs from [`Sparse::base_bound`] by more than a common cap.
    pub fn reached(&self, heads: bool) -> &[u32] {
        &self.bounds(heads).reached
    }

    /// The bound of one entity, for each rule.
    pub fn bound(&self, heads: bool, entity: Entity) -> [f32; LANES] {
        self.bounds(heads).bound(entity.index())
    }

    /// An upper bound of an entity that is not reached, whatever the known end is.
    pub fn base_bound(&self, heads: bool, entity: Entity) -> &[f32; LANES] {
        self.bounds(heads).base(entity.index())
    }

    fn bounds(&self, heads: bool) -> &Open {
        &self.open.as_ref().expect("questions are prepared before they are asked").bounds[usize::from(heads)]
    }

    fn open_parts<'s>(
        &'s mut self,
        graph: &'s Graph,
    ) -> (Setting<'s>, &'s mut OpenRoom, &'s mut Room, &'s mut Vec<Query>) {
        let block = self.block.as_ref().expect("rules are prepared before questions are asked");
        let open = self.open.as_mut().expect("questions are prepared before they are asked");
        if self.queries.is_empty() {
            self.queries.push(Query::default());
        }
        let setting = Setting { graph, block, profile: &self.profile, slack: &self.slack };
        (setting, open, &mut self.room, &mut self.queries)
    }

    /// The adjoint of [`Sparse::scores`], to be called right after it: for each rule, the
    /// derivative of Σ `d_score`·score by its tables.
    pub fn adjoint(&mut self, graph: &Graph, d_scores: &[[f32; LANES]]) -> Vec<Tables> {
        let block = self.block.as_ref().expect("scores come before their adjoint");
        let setting = Setting { graph, block, profile: &self.profile, slack: &self.slack };
        let mut d_block = Block::zero(block.schema, graph);
        self.d_profile.clear(&self.profile, graph.entities());
        let (room, d_profile, queries) =
            (&mut self.room, &mut self.d_profile, &self.queries[..d_scores.len()]);
        pulp::Arch::new().dispatch(Back {
            setting,
            room,
            queries,
            d_scores,
            d_profile,
            d_block: &mut d_block,
        });
        (0..self.rules).map(|lane| d_block.rule(lane, graph)).collect()
    }
}

/// The profile, compiled once for every set of vector instructions.
struct Prepare<'a> {
    profile: &'a mut Profile,
    slack: &'a mut Slack,
    block: &'a Block,
    graph: &'a Graph,
    rounds: usize,
}

impl pulp::WithSimd for Prepare<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.profile.fill(self.block, self.graph, self.rounds);
        self.slack.fill(self.graph, self.block, self.profile);
    }
}

/// The way there, likewise.
struct There<'a> {
    setting: Setting<'a>,
    room: &'a mut Room,
    queries: &'a mut [Query],
    pairs: &'a [(Entity, Entity)],
}

impl pulp::WithSimd for There<'_> {
    type Output = Vec<Lanes>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Vec<Lanes> {
        let mut scores = Vec::with_capacity(self.pairs.len());
        for (query, (head, tail)) in self.queries.iter_mut().zip(self.pairs) {
            scores.push(query.infer(self.room, self.setting, head.index(), tail.index()));
            query.leave(self.room);
        }
        scores
    }
}

/// The way back, likewise.
struct Back<'a> {
    setting: Setting<'a>,
    room: &'a mut Room,
    queries: &'a [Query],
    d_scores: &'a [Lanes],
    d_profile: &'a mut DProfile,
    d_block: &'a mut Block,
}

impl pulp::WithSimd for Back<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        for (query, d_score) in self.queries.iter().zip(self.d_scores) {
            query.enter(self.room);
            query.infer_adjoint(self.room, self.setting, d_score, self.d_profile, self.d_block);
            query.leave(self.room);
        }
        self.setting.profile.fill_adjoint(
            self.setting.block,
            self.setting.graph,
            self.d_profile,
            self.d_block,
        );
    }
}

/// What questions share, likewise.
struct PrepareOpen<'a> {
    open: &'a mut OpenRoom,
    profile: &'a Profile,
    block: &'a Block,
    graph: &'a Graph,
}

impl pulp::WithSimd for PrepareOpen<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let PrepareOpen { open, profile, block, graph } = self;
        open.mirror.fill(block, graph, usize::from(profile.rounds > 1));
        let [tails, heads] = &mut open.bounds;
        tails.begin(graph, block, profile, block.schema.variables - 1);
        heads.begin(graph, block, &open.mirror, 0);
    }
}

/// One head worked out, likewise.
struct SetAnchor<'a> {
    setting: Setting<'a>,
    open: &'a mut OpenRoom,
    room: &'a mut Room,
    head: usize,
}

impl pulp::WithSimd for SetAnchor<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.open.anchor.set(self.room, self.setting, self.head);
    }
}

/// Tails of one head, likewise.
struct FromAnchor<'a> {
    setting: Setting<'a>,
    open: &'a mut OpenRoom,
    room: &'a mut Room,
    query: &'a mut Query,
    tails: &'a [Entity],
}

impl pulp::WithSimd for FromAnchor<'_> {
    type Output = Vec<Lanes>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Vec<Lanes> {
        let FromAnchor { setting, open, room, query, tails } = self;
        open.anchor.complete(room, setting);
        let anchor = &open.anchor;
        let mut scores = Vec::with_capacity(tails.len());
        for tail in tails {
            scores.push(anchor.score(query, room, setting, tail.index()).unwrap_or_else(|| {
                let score = query.infer(room, setting, anchor.query.ends[0], tail.index());
                query.leave(room);
                score
            }));
        }
        scores
    }
}

/// Brackets of their scores, likewise.
struct Bracket<'a> {
    setting: Setting<'a>,
    open: &'a mut OpenRoom,
    room: &'a mut Room,
    query: &'a mut Query,
    tails: &'a [Entity],
}

impl pulp::WithSimd for Bracket<'_> {
    type Output = Vec<[Lanes; 2]>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Vec<[Lanes; 2]> {
        let Bracket { setting, open, room, query, tails } = self;
        open.anchor.complete(room, setting);
        tails.iter().map(|tail| open.anchor.bracket(query, room, setting, tail.index())).collect()
    }
}

/// Bounds of all candidates, likewise.
struct Bound<'a> {
    setting: Setting<'a>,
    open: &'a mut OpenRoom,
    room: &'a mut Room,
    tail: Option<usize>,
}

impl pulp::WithSimd for Bound<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Bound { setting, open, room, tail } = self;
        let OpenRoom { anchor, mirror, from_tail, bounds: [tails, heads] } = open;
        match tail {
            None => tails.tails(setting, &anchor.query),
            Some(tail) => heads.heads(room, Setting { profile: mirror, ..setting }, from_tail, tail),
        }
    }
}

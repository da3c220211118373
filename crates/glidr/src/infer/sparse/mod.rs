//! Message passing on large, sparse graphs: the same scores and derivatives as
//! [`Tape`](super::Tape), up to the order of summation, for up to eight rules at once.
//!
//! In: a [`ClassMatrix`], the [`Tables`] of up to eight rules, pairs. Out: a score per pair and rule,
//! and their derivative by the tables. Most entities are far from a query's head and tail, and
//! there its domains are those of the *profile*, which is worked out once for all queries.
//! `docs/engine.md` tells how and why.

mod anchor;
mod ask;
mod block;
mod defer;
mod ends;
mod far;
mod near;
mod open;
mod peaks;
mod profile;
mod query;
mod rise;
mod score;
mod stage;

use ask::OpenRoom;
use block::{Block, LANES, Lanes};
use defer::Slack;
use near::Nearby;
use profile::{DProfile, Profile};
use query::{Context, Query, Workspace};

use super::Tables;
use crate::graph::{ClassMatrix, Entity};
use crate::rule::Schema;

/// Up to eight rules on one graph, and room for a batch of queries.
#[derive(Clone, Debug, Default)]
pub struct Sparse {
    rules: usize,
    block: Option<Block>,
    profile: Profile,
    slack: Slack,
    d_profile: DProfile,
    workspace: Workspace,
    queries: Vec<Query>,
    nearby: Nearby,
    open: Option<Box<OpenRoom>>,
}

impl Sparse {
    /// Rules that are worked on side by side.
    pub const RULES: usize = LANES;

    /// Bytes that a batch of `pairs` may ask for at most: checked before they are. The profile and
    /// its derivatives take a number per entity, round and sender; a query's lists no more than
    /// that, and mostly far less.
    pub fn bytes(schema: &Schema, rounds: usize, pairs: usize, graph: &ClassMatrix) -> usize {
        let inner = schema.variables - 2;
        let lanes = size_of::<Lanes>() + size_of::<[u8; LANES]>();
        let profile = rounds * (inner + inner * inner.saturating_sub(1) / 2) * 2 * lanes;
        let nearby = (0..graph.entities()).map(|entity| graph.row(entity).len().pow(2)).sum::<usize>();
        let nearby = (nearby / graph.entities().max(1)).min(graph.entities());
        let lists = pairs * nearby * inner * (rounds * lanes + 12);
        graph.entities().saturating_mul(profile).saturating_add(lists)
    }

    /// Takes the tables of up to eight rules and works out their profile.
    pub fn prepare(&mut self, graph: &ClassMatrix, rules: &[&Tables], rounds: usize) {
        let block = Block::new(rules, graph);
        self.rules = rules.len();
        self.workspace.fit(block.schema.variables - 2, graph.entities());
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

    /// How many rules are prepared.
    pub fn rules(&self) -> usize {
        self.rules
    }

    /// The score of every pair by every rule.
    pub fn scores(&mut self, graph: &ClassMatrix, pairs: &[(Entity, Entity)]) -> Vec<[f32; LANES]> {
        let block = self.block.as_ref().expect("rules are prepared before pairs are scored");
        if self.queries.len() < pairs.len() {
            self.queries.resize(pairs.len(), Query::default());
        }
        let context = Context { graph, block, profile: &self.profile, slack: &self.slack };
        let (workspace, queries) = (&mut self.workspace, &mut self.queries);
        pulp::Arch::new().dispatch(There { context, workspace, queries, pairs })
    }

    /// The same, keeping nothing for an adjoint: for any number of pairs.
    pub fn scores_only(&mut self, graph: &ClassMatrix, pairs: &[(Entity, Entity)]) -> Vec<[f32; LANES]> {
        pairs.iter().map(|&pair| self.scores(graph, &[pair])[0]).collect()
    }

    /// A lower and an upper bound of the score of every pair by every rule, found much faster; exact
    /// sums in another order may be beside them by a few 10⁻⁶.
    pub fn brackets(&mut self, graph: &ClassMatrix, pairs: &[(Entity, Entity)]) -> Vec<[[f32; LANES]; 2]> {
        let block = self.block.as_ref().expect("rules are prepared before pairs are bracketed");
        let context = Context { graph, block, profile: &self.profile, slack: &self.slack };
        pulp::Arch::new().dispatch(Beside { context, nearby: &mut self.nearby, pairs })
    }

    /// The adjoint of [`Sparse::scores`], to be called right after it: for each rule, the
    /// derivative of Σ `d_score`·score by its tables.
    pub fn adjoint(&mut self, graph: &ClassMatrix, d_scores: &[[f32; LANES]]) -> Vec<Tables> {
        let block = self.block.as_ref().expect("scores come before their adjoint");
        let context = Context { graph, block, profile: &self.profile, slack: &self.slack };
        let mut d_block = Block::zero(block.schema, graph);
        self.d_profile.clear(&self.profile, graph.entities());
        let (workspace, d_profile, queries) =
            (&mut self.workspace, &mut self.d_profile, &self.queries[..d_scores.len()]);
        pulp::Arch::new().dispatch(Back {
            context,
            workspace,
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
    graph: &'a ClassMatrix,
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
    context: Context<'a>,
    workspace: &'a mut Workspace,
    queries: &'a mut [Query],
    pairs: &'a [(Entity, Entity)],
}

impl pulp::WithSimd for There<'_> {
    type Output = Vec<Lanes>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Vec<Lanes> {
        let mut scores = Vec::with_capacity(self.pairs.len());
        for (query, (head, tail)) in self.queries.iter_mut().zip(self.pairs) {
            scores.push(query.infer(self.workspace, self.context, head.index(), tail.index()));
            query.leave(self.workspace);
        }
        scores
    }
}

/// Brackets, likewise.
struct Beside<'a> {
    context: Context<'a>,
    nearby: &'a mut Nearby,
    pairs: &'a [(Entity, Entity)],
}

impl pulp::WithSimd for Beside<'_> {
    type Output = Vec<[Lanes; 2]>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Vec<[Lanes; 2]> {
        let Beside { context, nearby, pairs } = self;
        let mut brackets = Vec::with_capacity(pairs.len());
        for (head, tail) in pairs {
            brackets.push(nearby.bracket(context, head.index(), tail.index()));
        }
        brackets
    }
}

/// The way back, likewise.
struct Back<'a> {
    context: Context<'a>,
    workspace: &'a mut Workspace,
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
            query.enter(self.workspace);
            query.infer_adjoint(self.workspace, self.context, d_score, self.d_profile, self.d_block);
            query.leave(self.workspace);
        }
        self.context.profile.fill_adjoint(
            self.context.block,
            self.context.graph,
            self.d_profile,
            self.d_block,
        );
    }
}

//! The same work where most pairs of entities have no link: only linked pairs are visited, and eight
//! rules are worked on side by side.
//!
//! In: queries and keys, from which links are made ([`attention`]), values, weights. Out: one score per query
//! and rule, and the derivatives of the scores by all of these. Entities that are alike are described once
//! and counted ([`GraphRows`]): their domains stay alike, so one stands for all. The slow twin makes all links of
//! all entities first ([`crate::links`]) and goes on with [`Problem::scores`] and [`Problem::adjoint`]; what
//! is clipped, and which of it has a derivative, is the same in both.

mod attention;
mod lanes;
mod links;
mod walk;

use std::sync::{Mutex, MutexGuard, PoisonError};

use attention::Given;
pub(crate) use attention::Sizes;
use lanes::Block;
use links::Links;
use rayon::prelude::*;
use walk::Walk;

use super::{Ends, GraphQueries, Problem, add};

/// The rows that describe one graph's entities.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GraphRows {
    /// The first row's number; the others follow.
    pub first: usize,
    /// How many entities each row describes: they are alike.
    pub counts: Vec<f32>,
}

/// What links are made of, and the values of properties, for a batch of graphs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchAttention<'a> {
    /// The rows of every graph, one graph after another.
    pub rows: &'a [GraphRows],
    /// `[rows][predicates][key]`, both.
    pub queries: &'a [f32],
    pub keys: &'a [f32],
    /// One per predicate.
    pub bias: &'a [f32],
    /// `[rows][properties]`.
    pub values: &'a [f32],
    pub sizes: Sizes,
}

/// Derivatives by all inputs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AttentionDerivatives {
    pub queries: Vec<f32>,
    pub keys: Vec<f32>,
    pub bias: Vec<f32>,
    pub values: Vec<f32>,
    pub pairs: Vec<f32>,
    pub owns: Vec<f32>,
}

/// Workspace for one graph, and what scoring leaves for the adjoint.
#[derive(Debug, Default)]
struct Workspace {
    links: Links,
    /// One per block of rules.
    walks: Vec<Walk>,
    d_links: Vec<f32>,
}

/// What scoring leaves for the adjoint, graph by graph.
#[derive(Debug)]
pub(crate) struct Tape(Vec<Workspace>);

/// Workspaces that are free: the next batch uses them again.
static FREE: Mutex<Vec<Workspace>> = Mutex::new(Vec::new());

fn free() -> MutexGuard<'static, Vec<Workspace>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> BatchAttention<'a> {
    fn graph(&self, problem: &Problem, graph: usize) -> Given<'a> {
        let GraphRows { first, counts } = &self.rows[graph];
        let of = |list: &'a [f32], width: usize| &list[first * width..][..counts.len() * width];
        let width = problem.schema.predicates * self.sizes.key;
        Given {
            counts,
            queries: of(self.queries, width),
            keys: of(self.keys, width),
            bias: self.bias,
            values: of(self.values, problem.schema.properties),
            sizes: self.sizes,
        }
    }

    /// Derivatives by numbers of every row, `width` of them, cut into those of each graph.
    fn cut<'d>(&self, mut list: &'d mut [f32], width: usize) -> Vec<&'d mut [f32]> {
        let of = |rows: &GraphRows| list.split_off_mut(..rows.counts.len() * width).unwrap_or_default();
        self.rows.iter().map(of).collect()
    }
}

impl Problem<'_> {
    /// One score per query and rule; `queries` has a list for every graph.
    pub fn linked_scores(&self, batch: BatchAttention, queries: &[GraphQueries]) -> Vec<f32> {
        let (scores, workspaces) = self.linked_work(batch, queries, false);
        free().extend(workspaces);
        scores
    }

    /// The same, with what [`Problem::linked_adjoint`] needs.
    pub fn linked_tape(&self, batch: BatchAttention, queries: &[GraphQueries]) -> (Vec<f32>, Tape) {
        let (scores, workspaces) = self.linked_work(batch, queries, true);
        (scores, Tape(workspaces))
    }

    fn linked_work(
        &self,
        batch: BatchAttention,
        queries: &[GraphQueries],
        with_clipped: bool,
    ) -> (Vec<f32>, Vec<Workspace>) {
        let blocks = Block::all(self);
        let (found, workspaces): (Vec<Vec<f32>>, Vec<Workspace>) = queries
            .par_iter()
            .enumerate()
            .map(|(graph, list)| {
                let mut scores = vec![0.0; list.len() * self.rules];
                let given = batch.graph(self, graph);
                let problem = &self.with_entities(given.counts.len());
                let mut workspace = free().pop().unwrap_or_default();
                workspace.walks.resize_with(blocks.len(), Walk::default);
                let (to, blocks) = (&mut scores, &blocks);
                let task = ScoreTask {
                    workspace: &mut workspace,
                    problem,
                    blocks,
                    given,
                    with_clipped,
                    list,
                    scores: to,
                };
                pulp::Arch::new().dispatch(task);
                (scores, workspace)
            })
            .unzip();
        (self.in_rows(queries.iter().map(Vec::as_slice).zip(&found)), workspaces)
    }

    /// The adjoint of [`Problem::linked_scores`], after [`Problem::linked_tape`] with the same numbers.
    pub fn linked_adjoint(
        &self,
        batch: BatchAttention,
        queries: &[GraphQueries],
        tape: Tape,
        d_scores: &[f32],
    ) -> AttentionDerivatives {
        let blocks = Block::all(self);
        let width = self.schema.predicates * batch.sizes.key;
        let mut d_queries = vec![0.0; batch.queries.len()];
        let mut d_keys = vec![0.0; batch.keys.len()];
        let mut d_values = vec![0.0; batch.values.len()];
        let shared: Vec<Shared> = batch
            .cut(&mut d_queries, width)
            .into_par_iter()
            .zip(batch.cut(&mut d_keys, width))
            .zip(batch.cut(&mut d_values, self.schema.properties))
            .zip(queries.par_iter().zip(tape.0).enumerate())
            .map(|(((d_queries, d_keys), d_values), (graph, (list, mut workspace_of)))| {
                let mut shared_of = Shared::new(self, &blocks);
                let given = batch.graph(self, graph);
                let problem = &self.with_entities(given.counts.len());
                let d = Own { queries: d_queries, keys: d_keys, values: d_values };
                let (workspace, shared) = (&mut workspace_of, &mut shared_of);
                let task =
                    AdjointTask { workspace, problem, blocks: &blocks, given, list, d_scores, d, shared };
                pulp::Arch::new().dispatch(task);
                free().push(workspace_of);
                shared_of
            })
            .collect();
        let mut bias = vec![0.0; batch.bias.len()];
        let (mut pairs, mut owns) = (vec![0.0; self.pairs.len()], vec![0.0; self.owns.len()]);
        for more in &shared {
            add(&mut bias, &more.bias);
            for (block, d) in blocks.iter().zip(&more.blocks) {
                block.scatter(d, self, &mut pairs, &mut owns);
            }
        }
        AttentionDerivatives { queries: d_queries, keys: d_keys, bias, values: d_values, pairs, owns }
    }
}

/// Derivatives by what all graphs share.
struct Shared {
    bias: Vec<f32>,
    /// By the weights, laid out as they are.
    blocks: Vec<Block>,
}

impl Shared {
    fn new(problem: &Problem, blocks: &[Block]) -> Self {
        let blocks = blocks.iter().map(Block::zeroed).collect();
        Shared { bias: vec![0.0; problem.schema.predicates], blocks }
    }
}

/// Where derivatives by what one graph has for itself go.
struct Own<'a> {
    queries: &'a mut [f32],
    keys: &'a mut [f32],
    values: &'a mut [f32],
}

/// Scores on one graph, compiled once for every set of vector instructions.
struct ScoreTask<'a> {
    workspace: &'a mut Workspace,
    problem: &'a Problem<'a>,
    blocks: &'a [Block],
    given: Given<'a>,
    /// Whether links are wanted that are clipped but have a derivative.
    with_clipped: bool,
    list: &'a [(usize, Option<Ends>)],
    scores: &'a mut [f32],
}

impl pulp::WithSimd for ScoreTask<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let (problem, rules) = (self.problem, self.problem.rules);
        let Workspace { links, walks, .. } = self.workspace;
        links.make(problem, &self.given, self.with_clipped);
        for (block, walk) in self.blocks.iter().zip(walks) {
            walk.prepare(simd, problem, block, links, self.given.values);
            for ((_, query), scores) in self.list.iter().zip(self.scores.chunks_exact_mut(rules)) {
                let found = walk.infer(simd, problem, block, links, *query);
                scores[block.first..][..block.count].copy_from_slice(&found[..block.count]);
            }
        }
    }
}

/// The adjoint, likewise.
struct AdjointTask<'a> {
    workspace: &'a mut Workspace,
    problem: &'a Problem<'a>,
    blocks: &'a [Block],
    given: Given<'a>,
    list: &'a [(usize, Option<Ends>)],
    d_scores: &'a [f32],
    d: Own<'a>,
    shared: &'a mut Shared,
}

impl pulp::WithSimd for AdjointTask<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let (problem, rules) = (self.problem, self.problem.rules);
        let Workspace { links, walks, d_links } = self.workspace;
        d_links.clear();
        d_links.resize(links.entries.len(), 0.0);
        for ((block, d_block), walk) in self.blocks.iter().zip(&mut self.shared.blocks).zip(walks) {
            walk.forget();
            for (row, query) in self.list {
                let mut d = [0.0; lanes::LANES];
                d[..block.count].copy_from_slice(&self.d_scores[row * rules + block.first..][..block.count]);
                if self.list.len() > 1 {
                    // The walk knows the last query only.
                    walk.infer(simd, problem, block, links, *query);
                }
                walk.adjoint(simd, problem, links, *query, d, d_block);
            }
            walk.prepare_adjoint(
                simd,
                problem,
                block,
                links,
                self.given.values,
                d_block,
                d_links,
                self.d.values,
            );
        }
        let bias = &mut self.shared.bias;
        links.make_adjoint(problem, &self.given, d_links, self.d.queries, self.d.keys, bias);
    }
}

//! The work of the layer on plain numbers: batches of graphs, each with its own soft facts.
//!
//! In: facts, values and weights as slices. Out: one score per query and rule, and the derivatives of
//! the scores by facts, values and weights. Graphs are shared out among threads; what they have in
//! common, the weights' derivative, is added up in the order of the graphs, so results do not depend
//! on the number of threads.

mod graph;
mod linked;
mod message;
mod passing;
mod product;

use std::cell::RefCell;

use glidr::Schema;
use rayon::prelude::*;

use graph::{GraphDerivatives, GraphFacts, Workspace};
pub(crate) use linked::{BatchAttention, GraphRows, Sizes, Tape};

/// Queries on one graph that one task works on; more are shared out among threads.
const CHUNK: usize = 64;

/// The two entities of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    pub head: usize,
    pub tail: usize,
}

/// The rules and the sizes of all graphs of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Problem<'a> {
    pub schema: Schema,
    pub rules: usize,
    pub entities: usize,
    pub rounds: usize,
    /// `[rules][slots][fillers]`.
    pub pairs: &'a [f32],
    /// `[rules][variables][own fillers]`; empty without properties.
    pub owns: &'a [f32],
    /// The weight of `P_true`: `[rules][slots]`.
    pub sure: Vec<f32>,
}

/// The facts of a batch: `[graphs][predicates][entities][entities]`, `[graphs][properties][entities]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchFacts<'a> {
    pub facts: &'a [f32],
    pub values: &'a [f32],
    pub graphs: usize,
}

/// Derivatives by all inputs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BatchDerivatives {
    pub facts: Vec<f32>,
    pub values: Vec<f32>,
    pub pairs: Vec<f32>,
    pub owns: Vec<f32>,
}

/// The queries on one graph: each with its row in the result.
pub(crate) type GraphQueries = Vec<(usize, Option<Ends>)>;

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

impl<'a> Problem<'a> {
    pub fn new(
        schema: Schema,
        rules: usize,
        entities: usize,
        rounds: usize,
        pairs: &'a [f32],
        owns: &'a [f32],
    ) -> Self {
        assert!(schema.predicates > 0 && entities > 0 && rules > 0, "sizes are checked by the layer");
        assert_eq!(pairs.len(), rules * schema.slots() * schema.fillers());
        assert_eq!(owns.len(), rules * schema.variables * schema.own_fillers());
        let sure = pairs.chunks_exact(schema.fillers()).map(|row| row[row.len() - 1]).collect();
        Problem { schema, rules, entities, rounds, pairs, owns, sure }
    }

    /// The same rules on graphs of another size.
    fn with_entities(&self, entities: usize) -> Self {
        Problem { entities, ..self.clone() }
    }

    fn facts_of(&self, batch: BatchFacts<'a>, graph: usize) -> GraphFacts<'a> {
        let size = self.schema.predicates * self.entities * self.entities;
        let values = self.schema.properties * self.entities;
        GraphFacts {
            facts: &batch.facts[graph * size..][..size],
            values: &batch.values[graph * values..][..values],
        }
    }

    /// One score per query and rule; `queries` has a list for every graph.
    pub fn scores(&self, batch: BatchFacts, queries: &[GraphQueries]) -> Vec<f32> {
        let parts: Vec<_> = queries
            .iter()
            .enumerate()
            .flat_map(|(g, list)| list.chunks(CHUNK).map(move |q| (g, q)))
            .collect();
        let found: Vec<Vec<f32>> = parts
            .par_iter()
            .map(|&(graph, part)| {
                let asked: Vec<_> = part.iter().map(|(_, ends)| *ends).collect();
                let mut scores = vec![0.0; asked.len() * self.rules];
                let given = self.facts_of(batch, graph);
                with_workspace(|workspace| {
                    let task =
                        ScoreTask { workspace, problem: self, given, queries: &asked, scores: &mut scores };
                    pulp::Arch::new().dispatch(task);
                });
                scores
            })
            .collect();
        self.in_rows(parts.iter().map(|(_, part)| *part).zip(&found))
    }

    /// The scores of parts of the queries, each in its row of the result.
    fn in_rows<'q>(
        &self,
        parts: impl Iterator<Item = (&'q [(usize, Option<Ends>)], &'q Vec<f32>)> + Clone,
    ) -> Vec<f32> {
        let mut scores = vec![0.0; parts.clone().map(|(_, found)| found.len()).sum()];
        for (part, found) in parts {
            for ((row, _), found) in part.iter().zip(found.chunks_exact(self.rules)) {
                scores[row * self.rules..][..self.rules].copy_from_slice(found);
            }
        }
        scores
    }

    /// The adjoint of [`Problem::scores`].
    pub fn adjoint(&self, batch: BatchFacts, queries: &[GraphQueries], d_scores: &[f32]) -> BatchDerivatives {
        let mut facts = vec![0.0; batch.facts.len()];
        let mut values = vec![0.0; batch.values.len()];
        let size = self.schema.predicates * self.entities * self.entities;
        let value_size = self.schema.properties * self.entities;
        let mut value_rows: Vec<&mut [f32]> = split(&mut values, value_size, batch.graphs);
        let shared: Vec<(Vec<f32>, Vec<f32>)> = facts
            .par_chunks_mut(size)
            .zip(value_rows.par_iter_mut())
            .zip(queries.par_iter().enumerate())
            .map(|((facts, values), (graph, list))| {
                let given = self.facts_of(batch, graph);
                self.graph_adjoint(given, list, d_scores, facts, values)
            })
            .collect();
        let (mut pairs, mut owns) = (vec![0.0; self.pairs.len()], vec![0.0; self.owns.len()]);
        for (more_pairs, more_owns) in &shared {
            add(&mut pairs, more_pairs);
            add(&mut owns, more_owns);
        }
        BatchDerivatives { facts, values, pairs, owns }
    }

    /// Sets one graph's derivatives by facts and values; returns those by weights.
    fn graph_adjoint(
        &self,
        given: GraphFacts,
        queries: &[(usize, Option<Ends>)],
        d_scores: &[f32],
        facts: &mut [f32],
        values: &mut [f32],
    ) -> (Vec<f32>, Vec<f32>) {
        let (mut pairs, mut owns) = (vec![0.0; self.pairs.len()], vec![0.0; self.owns.len()]);
        if queries.len() > CHUNK {
            let parts: Vec<BatchDerivatives> = queries
                .par_chunks(CHUNK)
                .map(|part| {
                    let (mut facts, mut values) = (vec![0.0; facts.len()], vec![0.0; values.len()]);
                    let (pairs, owns) = self.graph_adjoint(given, part, d_scores, &mut facts, &mut values);
                    BatchDerivatives { facts, values, pairs, owns }
                })
                .collect();
            for part in &parts {
                add(facts, &part.facts);
                add(values, &part.values);
                add(&mut pairs, &part.pairs);
                add(&mut owns, &part.owns);
            }
        } else if !queries.is_empty() {
            let asked: Vec<_> = queries.iter().map(|(_, ends)| *ends).collect();
            let d_rows: Vec<f32> = queries
                .iter()
                .flat_map(|(row, _)| &d_scores[row * self.rules..][..self.rules])
                .copied()
                .collect();
            let d = GraphDerivatives { facts, values, pairs: &mut pairs, owns: &mut owns };
            with_workspace(|workspace| {
                let task =
                    AdjointTask { workspace, problem: self, given, queries: &asked, d_scores: &d_rows, d };
                pulp::Arch::new().dispatch(task);
            });
        }
        (pairs, owns)
    }

    /// Every variable's domain at the end of message passing, for one rule and one query on one graph.
    pub fn domains(
        &self,
        batch: BatchFacts,
        graph: usize,
        rule: usize,
        query: Option<Ends>,
    ) -> Vec<Vec<f32>> {
        with_workspace(|workspace| {
            workspace.prepare(self, self.facts_of(batch, graph));
            workspace.score(self, rule, query);
            (0..self.schema.variables).map(|variable| workspace.domain(self, variable).to_vec()).collect()
        })
    }
}

fn with_workspace<T>(work: impl FnOnce(&mut Workspace) -> T) -> T {
    WORKSPACE.with(|workspace| work(&mut workspace.borrow_mut()))
}

/// Cuts a list into `count` rows of `size` numbers, which may be none.
fn split(list: &mut [f32], size: usize, count: usize) -> Vec<&mut [f32]> {
    if size == 0 {
        return (0..count).map(|_| <&mut [f32]>::default()).collect();
    }
    list.chunks_exact_mut(size).collect()
}

fn add(to: &mut [f32], more: &[f32]) {
    to.iter_mut().zip(more).for_each(|(to, more)| *to += more);
}

/// Scores on one graph, compiled once for every set of vector instructions.
struct ScoreTask<'a> {
    workspace: &'a mut Workspace,
    problem: &'a Problem<'a>,
    given: GraphFacts<'a>,
    queries: &'a [Option<Ends>],
    scores: &'a mut [f32],
}

impl pulp::WithSimd for ScoreTask<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.workspace.infer(self.problem, self.given, self.queries, self.scores);
    }
}

/// The adjoint, likewise.
struct AdjointTask<'a> {
    workspace: &'a mut Workspace,
    problem: &'a Problem<'a>,
    given: GraphFacts<'a>,
    queries: &'a [Option<Ends>],
    d_scores: &'a [f32],
    d: GraphDerivatives<'a>,
}

impl pulp::WithSimd for AdjointTask<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, _: S) {
        self.workspace.adjoint(self.problem, self.given, self.queries, self.d_scores, &mut self.d);
    }
}

//! All rules on one graph: its facts as matrices of the slots, message passing, and its adjoint.
//!
//! In: the soft facts of one graph, the weights of all rules, the graph's queries. Out: a score per
//! query and rule; and derivatives by facts, values and weights. Paper: `eq:soft_adj_mtx`.

use super::passing::{Derivatives, RuleOnGraph, Tape};
use super::product::{PANEL, Panels, mix, overlap};
use super::{Ends, Problem};

/// Soft facts of one graph, or derivatives by them.
#[derive(Clone, Copy)]
pub(super) struct GraphFacts<'a> {
    /// `[predicates][entities][entities]`: the first argument's entity, then the second's.
    pub facts: &'a [f32],
    /// `[properties][entities]`.
    pub values: &'a [f32],
}

/// Where the derivatives of one graph go.
pub(super) struct GraphDerivatives<'a> {
    pub facts: &'a mut [f32],
    pub values: &'a mut [f32],
    pub pairs: &'a mut [f32],
    pub owns: &'a mut [f32],
}

/// Workspace for one graph; reused from graph to graph.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    /// Facts as rows of `length` numbers: predicates, then inverses.
    stack: Vec<f32>,
    /// M of every rule and slot.
    matrices: Vec<f32>,
    /// The own slots' messages of every rule and variable.
    told: Vec<f32>,
    start: Vec<f32>,
    tape: Tape,
    panels: Panels,
    d_matrices: Vec<f32>,
    d_stack: Vec<f32>,
    d_told: Vec<f32>,
    d_start: Vec<f32>,
    d_sure: Vec<f32>,
    d_weights: Vec<f32>,
}

impl Workspace {
    /// Scores of all rules for each query, query by query.
    #[inline(always)]
    pub fn infer(
        &mut self,
        problem: &Problem,
        given: GraphFacts,
        queries: &[Option<Ends>],
        scores: &mut [f32],
    ) {
        self.prepare(problem, given);
        for (&query, scores) in queries.iter().zip(scores.chunks_exact_mut(problem.rules)) {
            for (rule, score) in scores.iter_mut().enumerate() {
                *score = self.score(problem, rule, query);
            }
        }
    }

    /// The adjoint of [`Workspace::infer`]: passes messages again, then walks back. Adds to the
    /// derivatives by weights, and sets those by facts and values.
    #[inline(always)]
    pub fn adjoint(
        &mut self,
        problem: &Problem,
        given: GraphFacts,
        queries: &[Option<Ends>],
        d_scores: &[f32],
        d: &mut GraphDerivatives,
    ) {
        self.prepare(problem, given);
        let (slots, length) = (problem.schema.slots(), problem.length());
        zero(&mut self.d_matrices, self.matrices.len());
        zero(&mut self.d_told, self.told.len());
        zero(&mut self.d_sure, problem.sure.len());
        for (&query, d_scores) in queries.iter().zip(d_scores.chunks_exact(problem.rules)) {
            for (rule, &d_score) in d_scores.iter().enumerate() {
                if d_score == 0.0 {
                    continue;
                }
                self.score(problem, rule, query);
                zero(&mut self.d_start, self.start.len());
                let view = problem.rule_on_graph(rule, &self.matrices);
                let mut d = Derivatives {
                    matrices: &mut self.d_matrices[rule * slots * length..][..slots * length],
                    sure: &mut self.d_sure[rule * slots..][..slots],
                    start: &mut self.d_start,
                };
                self.tape.adjoint(&view, problem.rounds, d_score, &mut d);
                self.begin_adjoint(problem, rule, query);
            }
        }
        self.matrices_adjoint(problem, d);
        self.told_adjoint(problem, given, d);
    }

    /// A variable's domain at the end of the last query's message passing.
    pub fn domain(&self, problem: &Problem, variable: usize) -> &[f32] {
        let domain = self.tape.domain(variable, problem.schema.variables, problem.width(), problem.rounds);
        &domain[..problem.entities]
    }

    /// Lays out the facts and computes M of every slot and what the own slots tell.
    ///
    /// ```text
    /// M = Σ wₖ Bₖ                                                   eq:soft_adj_mtx
    /// ```
    #[inline(always)]
    pub fn prepare(&mut self, problem: &Problem, given: GraphFacts) {
        let (schema, entities) = (problem.schema, problem.entities);
        let (width, length, predicates) = (problem.width(), problem.length(), schema.predicates);
        zero(&mut self.stack, 2 * predicates * length);
        for (number, facts) in given.facts.chunks_exact(entities * entities).enumerate() {
            let (direct, inverse) = self.stack.split_at_mut(predicates * length);
            let direct = &mut direct[number * length..][..length];
            for (row, facts) in direct.chunks_exact_mut(width).zip(facts.chunks_exact(entities)) {
                row[..entities].copy_from_slice(facts);
            }
            transpose(&mut inverse[number * length..][..length], width, facts, entities, entities);
        }
        let fillers = schema.fillers();
        self.matrices.resize(problem.rules * schema.slots() * length, 0.0);
        mix(&mut self.matrices, &self.stack, length, &mut self.panels, |row, k| {
            problem.pairs[row * fillers + k]
        });
        self.tell(problem, given);
    }

    /// The adjoint of the matrices in [`Workspace::prepare`].
    #[inline(always)]
    fn matrices_adjoint(&mut self, problem: &Problem, d: &mut GraphDerivatives) {
        let (schema, entities) = (problem.schema, problem.entities);
        let (width, length, fillers) = (problem.width(), problem.length(), schema.fillers());
        let both = 2 * schema.predicates;
        let rows = problem.rules * schema.slots();
        zero(&mut self.d_weights, rows * both);
        overlap(&mut self.d_weights, &self.d_matrices, &self.stack, length);
        for row in 0..rows {
            let d_row = &mut d.pairs[row * fillers..][..fillers];
            for (d, more) in d_row.iter_mut().zip(&self.d_weights[row * both..][..both]) {
                *d += more;
            }
            d_row[both] += self.d_sure[row];
        }
        self.d_stack.resize(both * length, 0.0);
        let weight = |k: usize, row: usize| problem.pairs[row * fillers + k];
        mix(&mut self.d_stack, &self.d_matrices, length, &mut self.panels, weight);
        let (direct, inverse) = self.d_stack.split_at(schema.predicates * length);
        for (number, d_facts) in d.facts.chunks_exact_mut(entities * entities).enumerate() {
            let (direct, inverse) = (&direct[number * length..], &inverse[number * length..]);
            transpose(d_facts, entities, inverse, width, entities);
            for (d_row, row) in d_facts.chunks_exact_mut(entities).zip(direct.chunks_exact(width)) {
                d_row.iter_mut().zip(row).for_each(|(d, more)| *d += more);
            }
        }
    }

    /// The own slots' messages: `ψ[e] = Σ wₖ vₖ[e] + w_true`, 1 without properties.
    #[inline(always)]
    fn tell(&mut self, problem: &Problem, given: GraphFacts) {
        let (schema, entities, width) = (problem.schema, problem.entities, problem.width());
        self.told.resize(problem.rules * schema.variables * width, 1.0);
        if schema.properties == 0 {
            self.told.fill(1.0);
            return;
        }
        let rows = problem.owns.chunks_exact(schema.own_fillers());
        for (told, weights) in self.told.chunks_exact_mut(width).zip(rows) {
            told.fill(weights[schema.properties]);
            for (values, &weight) in given.values.chunks_exact(entities).zip(weights) {
                told.iter_mut().zip(values).for_each(|(told, value)| *told += weight * value);
            }
        }
    }

    /// The adjoint of [`Workspace::tell`].
    #[inline(always)]
    fn told_adjoint(&mut self, problem: &Problem, given: GraphFacts, d: &mut GraphDerivatives) {
        let (schema, entities, width) = (problem.schema, problem.entities, problem.width());
        d.values.fill(0.0);
        if schema.properties == 0 {
            return;
        }
        let own = schema.own_fillers();
        let rows = problem.owns.chunks_exact(own).zip(d.owns.chunks_exact_mut(own));
        for (d_told, (weights, d_weights)) in self.d_told.chunks_exact(width).zip(rows) {
            let d_told = &d_told[..entities];
            d_weights[schema.properties] += d_told.iter().sum::<f32>();
            for (k, values) in given.values.chunks_exact(entities).enumerate() {
                let d_values = &mut d.values[k * entities..][..entities];
                let mut sum = 0.0;
                for ((d_value, value), d) in d_values.iter_mut().zip(values).zip(d_told) {
                    *d_value += weights[k] * d;
                    sum += value * d;
                }
                d_weights[k] += sum;
            }
        }
    }

    /// One rule's score for one query.
    #[inline(always)]
    pub fn score(&mut self, problem: &Problem, rule: usize, query: Option<Ends>) -> f32 {
        self.begin(problem, rule, query);
        self.tape.infer(&problem.rule_on_graph(rule, &self.matrices), &self.start, problem.rounds)
    }

    /// φ⁽⁰⁾: all entities, or the query's own at the ends, narrowed by the own slots' messages.
    #[inline(always)]
    fn begin(&mut self, problem: &Problem, rule: usize, query: Option<Ends>) {
        let (variables, width) = (problem.schema.variables, problem.width());
        let told = &self.told[rule * variables * width..][..variables * width];
        zero(&mut self.start, variables * width);
        for variable in 0..variables {
            let lanes = problem.lanes(variable, query);
            let at = variable * width;
            for (start, told) in self.start[at..][lanes.clone()].iter_mut().zip(&told[at..][lanes]) {
                *start = told.min(1.0);
            }
        }
    }

    /// The adjoint of [`Workspace::begin`]: at a tie the older value, 1, stays.
    #[inline(always)]
    fn begin_adjoint(&mut self, problem: &Problem, rule: usize, query: Option<Ends>) {
        let (variables, width) = (problem.schema.variables, problem.width());
        let d_told = &mut self.d_told[rule * variables * width..][..variables * width];
        for variable in 0..variables {
            for lane in problem.lanes(variable, query).map(|lane| variable * width + lane) {
                d_told[lane] += if self.start[lane] < 1.0 { self.d_start[lane] } else { 0.0 };
            }
        }
    }
}

impl Problem<'_> {
    /// Lanes of a domain: the entities, filled up to a multiple of eight.
    #[inline(always)]
    pub(super) fn width(&self) -> usize {
        self.entities.next_multiple_of(8)
    }

    /// Numbers of one matrix, filled up to whole panels.
    #[inline(always)]
    pub(super) fn length(&self) -> usize {
        (self.entities * self.width()).next_multiple_of(PANEL)
    }

    /// The entities that a variable may start as.
    #[inline(always)]
    pub(super) fn lanes(&self, variable: usize, query: Option<Ends>) -> std::ops::Range<usize> {
        match query {
            Some(ends) if variable == 0 => ends.head..ends.head + 1,
            Some(ends) if variable + 1 == self.schema.variables => ends.tail..ends.tail + 1,
            _ => 0..self.entities,
        }
    }

    #[inline(always)]
    fn rule_on_graph<'a>(&'a self, rule: usize, matrices: &'a [f32]) -> RuleOnGraph<'a> {
        let (slots, length) = (self.schema.slots(), self.length());
        RuleOnGraph {
            schema: self.schema,
            entities: self.entities,
            width: self.width(),
            length,
            matrices: &matrices[rule * slots * length..][..slots * length],
            sure: &self.sure[rule * slots..][..slots],
        }
    }
}

#[inline(always)]
fn zero(list: &mut Vec<f32>, size: usize) {
    list.resize(size, 0.0);
    list.fill(0.0);
}

/// Writes the transpose of a square of `side`, whose rows are `from_width` apart, in blocks that stay
/// in the cache.
#[inline(always)]
fn transpose(to: &mut [f32], to_width: usize, from: &[f32], from_width: usize, side: usize) {
    for first_row in (0..side).step_by(8) {
        for first_column in (0..side).step_by(8) {
            for row in first_row..(first_row + 8).min(side) {
                for column in first_column..(first_column + 8).min(side) {
                    to[column * to_width + row] = from[row * from_width + column];
                }
            }
        }
    }
}

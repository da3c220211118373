//! Both engines behind one door: losses and gradients of some rules on one batch.

use super::Pair;
use super::loss::Objective;
use crate::graph::ClassMatrix;
use crate::infer::{Batch, Engine, Slots, Sparse, Tables, Tape, Weights, lane_width};
use crate::rule::Schema;

/// A thread's room for message passing, by either engine.
#[derive(Default)]
pub(crate) struct Workspace {
    narrow: Vec<Tape<8>>,
    middle: Vec<Tape<16>>,
    wide: Vec<Tape<64>>,
    sparse: Sparse,
}

/// A batch of pairs on a graph.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub schema: Schema,
    pub rounds: usize,
    pub graph: &'a ClassMatrix,
    pub pairs: &'a [Pair],
}

/// Message passing over a batch of any size, for some rules.
pub(crate) trait Passes {
    /// The scores of all pairs, rule by rule.
    fn scores(&mut self, rules: &[Weights]) -> Vec<Vec<f32>>;

    /// Each rule's loss, and the derivative of the whole by its weights.
    fn losses(&mut self, rules: &[Weights], objective: &dyn Objective) -> Vec<(f32, Slots)>;
}

impl Workspace {
    /// Lays out the batch for the engine and does `work` on it. The dense one has lanes as wide as
    /// the batch needs and as one variable's domains still fit a core's cache.
    pub fn with<T>(&mut self, engine: Engine, task: Task, work: impl FnOnce(&mut dyn Passes) -> T) -> T {
        if engine == Engine::Sparse {
            return work(&mut BySparse { task, sparse: &mut self.sparse });
        }
        match task.pairs.len().min(lane_width(task.graph)) {
            ..=8 => work(&mut ByLanes::new(task, &mut self.narrow)),
            9..=16 => work(&mut ByLanes::new(task, &mut self.middle)),
            _ => work(&mut ByLanes::new(task, &mut self.wide)),
        }
    }
}

/// A batch divided into groups of W queries side by side, with a tape for each.
struct ByLanes<'a, const W: usize> {
    task: Task<'a>,
    groups: Vec<Batch<'a, W>>,
    tapes: &'a mut [Tape<W>],
}

impl<'a, const W: usize> ByLanes<'a, W> {
    fn new(task: Task<'a>, tapes: &'a mut Vec<Tape<W>>) -> Self {
        let groups: Vec<_> = task.pairs.chunks(W).map(|pairs| Batch::new(task.graph, pairs)).collect();
        if tapes.len() < groups.len() {
            tapes.resize_with(groups.len(), Tape::default);
        }
        ByLanes { task, groups, tapes }
    }

    fn scores_of(&mut self, tables: &Tables) -> Vec<f32> {
        let groups = self.groups.iter().zip(self.tapes.iter_mut());
        groups
            .flat_map(|(batch, tape)| {
                let scores = tape.infer(self.task.graph, tables, batch, self.task.rounds);
                scores.into_iter().take(batch.count())
            })
            .collect()
    }

    /// The adjoint of [`ByLanes::scores_of`], to be called right after it.
    fn adjoint_of(&mut self, tables: &Tables, weights: &Weights, d_scores: &[f32]) -> Slots {
        let Task { schema, graph, .. } = self.task;
        let mut d_tables = Tables::zero(schema, graph);
        for ((batch, tape), d) in self.groups.iter().zip(self.tapes.iter_mut()).zip(d_scores.chunks(W)) {
            let mut lanes = [0.0; W];
            lanes.iter_mut().zip(d).for_each(|(lane, d)| *lane = *d);
            tape.adjoint(graph, tables, batch, &lanes, &mut d_tables);
        }
        let mut d_weights = Slots::zero(&schema);
        Tables::adjoint(d_tables, weights, graph, &mut d_weights, None);
        d_weights
    }
}

impl<const W: usize> Passes for ByLanes<'_, W> {
    fn scores(&mut self, rules: &[Weights]) -> Vec<Vec<f32>> {
        let Task { schema, graph, .. } = self.task;
        rules.iter().map(|weights| self.scores_of(&Tables::new(weights, schema, graph))).collect()
    }

    fn losses(&mut self, rules: &[Weights], objective: &dyn Objective) -> Vec<(f32, Slots)> {
        let Task { schema, graph, .. } = self.task;
        // A rule's loss waits for the others' scores only where it is taken of their sum too.
        let known = objective.is_joint().then(|| objective.losses(&self.scores(rules)));
        let mut losses = Vec::with_capacity(rules.len());
        for (number, weights) in rules.iter().enumerate() {
            let tables = Tables::new(weights, schema, graph);
            let scores = self.scores_of(&tables);
            let (loss, d_scores) = match &known {
                Some(known) => known[number].clone(),
                None => objective.losses(&[scores]).remove(0),
            };
            let d_weights = self.adjoint_of(&tables, weights, &d_scores);
            losses.push((loss, d_weights));
        }
        losses
    }
}

/// The rules side by side, one query after the other.
struct BySparse<'a> {
    task: Task<'a>,
    sparse: &'a mut Sparse,
}

impl BySparse<'_> {
    /// The scores of up to eight rules.
    fn scores_of(&mut self, rules: &[Weights]) -> Vec<Vec<f32>> {
        let Task { schema, rounds, graph, pairs } = self.task;
        let tables: Vec<Tables> =
            rules.iter().map(|weights| Tables::without_matrix(weights, schema, graph)).collect();
        self.sparse.prepare(graph, &tables.iter().collect::<Vec<_>>(), rounds);
        let scores = self.sparse.scores(graph, pairs);
        (0..rules.len()).map(|rule| scores.iter().map(|lanes| lanes[rule]).collect()).collect()
    }

    /// The adjoint of [`BySparse::scores_of`], to be called right after it.
    fn adjoint_of(&mut self, rules: &[Weights], losses: &[(f32, Vec<f32>)]) -> Vec<Slots> {
        let Task { schema, graph, pairs, .. } = self.task;
        let mut d_scores = vec![[0.0; Sparse::RULES]; pairs.len()];
        for (rule, (_, d)) in losses.iter().enumerate() {
            d_scores.iter_mut().zip(d).for_each(|(lanes, d)| lanes[rule] = *d);
        }
        let d_tables = self.sparse.adjoint(graph, &d_scores);
        let of_rule = |(d_tables, weights): (Tables, &Weights)| {
            let mut d_weights = Slots::zero(&schema);
            Tables::adjoint(d_tables, weights, graph, &mut d_weights, None);
            d_weights
        };
        d_tables.into_iter().zip(rules).map(of_rule).collect()
    }
}

impl Passes for BySparse<'_> {
    fn scores(&mut self, rules: &[Weights]) -> Vec<Vec<f32>> {
        rules.chunks(Sparse::RULES).flat_map(|rules| self.scores_of(rules)).collect()
    }

    fn losses(&mut self, rules: &[Weights], objective: &dyn Objective) -> Vec<(f32, Slots)> {
        let losses = objective.losses(&self.scores(rules));
        let mut d_weights = Vec::with_capacity(rules.len());
        let is_one_block = rules.len() <= Sparse::RULES;
        for (rules, losses) in rules.chunks(Sparse::RULES).zip(losses.chunks(Sparse::RULES)) {
            // What the way back needs is kept of the last eight rules alone.
            if !is_one_block {
                self.scores_of(rules);
            }
            d_weights.extend(self.adjoint_of(rules, losses));
        }
        losses.into_iter().map(|(loss, _)| loss).zip(d_weights).collect()
    }
}

//! Queries on a sparse graph: which candidates could reach a score, and what they reach.

use crate::graph::{ClassMatrix, Direction, Entity, Query};
use crate::infer::{Sparse, Tables};
use crate::predict::TIE;

/// How far a score of the sparse engine may be above its bound, relative to it: sums in another
/// order differ by a little.
pub(super) const ORDER: f32 = 2e-5;

/// How far from an answer's score a bracket must end, relative to it, to tell on which side of it a score is.
const MARGIN: f32 = TIE + ORDER;

/// Fewer tails than this are scored one by one, beyond two rounds.
const FEW: usize = 16;

/// An ensemble's rules in blocks of eight, ready for queries.
#[derive(Debug)]
pub(super) struct SparseQueries {
    blocks: Vec<Sparse>,
    weights: Vec<[f32; Sparse::RULES]>,
    /// Per direction: every entity with the bound it has when nothing reaches it,
    /// highest first.
    unreached: [Vec<(f32, Entity)>; 2],
    rounds: usize,
    /// The head that is worked out.
    anchored: Option<Entity>,
}

impl SparseQueries {
    /// Prepares rules with their weights.
    pub fn new(graph: &ClassMatrix, rules: &[(Tables, f32)], rounds: usize) -> Self {
        let prepare = |rules: &[(Tables, f32)]| {
            let tables: Vec<&Tables> = rules.iter().map(|(tables, _)| tables).collect();
            let mut sparse = Sparse::default();
            sparse.prepare(graph, &tables, rounds);
            sparse
        };
        let weights = |rules: &[(Tables, f32)]| {
            let mut weights = [0.0; Sparse::RULES];
            weights.iter_mut().zip(rules).for_each(|(weight, (_, given))| *weight = *given);
            weights
        };
        SparseQueries {
            blocks: rules.chunks(Sparse::RULES).map(prepare).collect(),
            weights: rules.chunks(Sparse::RULES).map(weights).collect(),
            unreached: Default::default(),
            rounds,
            anchored: None,
        }
    }

    /// The scores of any pairs, each on its own.
    pub fn scores(&mut self, graph: &ClassMatrix, pairs: &[(Entity, Entity)]) -> Vec<f32> {
        let mut sums = vec![0.0; pairs.len()];
        for (block, weights) in self.blocks.iter_mut().zip(&self.weights) {
            for (sum, lanes) in sums.iter_mut().zip(block.scores_only(graph, pairs)) {
                add_weights(sum, weights, &lanes);
            }
        }
        sums
    }

    /// The scores of any pairs by each rule, without weights.
    pub fn scores_by_rule(&mut self, graph: &ClassMatrix, pairs: &[(Entity, Entity)]) -> Vec<Vec<f32>> {
        let mut rows = vec![Vec::new(); pairs.len()];
        for block in &mut self.blocks {
            let rules = block.rules();
            for (row, lanes) in rows.iter_mut().zip(block.scores_only(graph, pairs)) {
                row.extend_from_slice(&lanes[..rules]);
            }
        }
        rows
    }

    /// The scores of one head with many tails.
    pub fn scores_of_tails(&mut self, graph: &ClassMatrix, head: Entity, tails: &[Entity]) -> Vec<f32> {
        if self.is_few(tails) {
            return self.scores(graph, &tails.iter().map(|&tail| (head, tail)).collect::<Vec<_>>());
        }
        self.anchor(graph, head);
        let mut sums = vec![0.0; tails.len()];
        for (block, weights) in self.blocks.iter_mut().zip(&self.weights) {
            for (sum, lanes) in sums.iter_mut().zip(block.scores_of_tails(graph, tails)) {
                add_weights(sum, weights, &lanes);
            }
        }
        sums
    }

    /// Like [`SparseQueries::scores_of_tails`], but a score is worked out only as far as is needed to tell on
    /// which side of each of its `answers` it is: where a bracket tells, its lower end is returned.
    pub fn sides_of_tails(
        &mut self,
        graph: &ClassMatrix,
        head: Entity,
        tails: &[Entity],
        answers: &[&[f32]],
    ) -> Vec<f32> {
        let pairs: Vec<_> = tails.iter().map(|&tail| (head, tail)).collect();
        let brackets = self.brackets(tails.len(), |block| block.brackets(graph, &pairs));
        settle(&brackets, is_beside, tails, answers, |tails, answers| {
            self.sides_of_anchored(graph, head, tails, answers)
        })
    }

    /// The same by brackets that know the head: most of them are scores.
    fn sides_of_anchored(
        &mut self,
        graph: &ClassMatrix,
        head: Entity,
        tails: &[Entity],
        answers: &[&[f32]],
    ) -> Vec<f32> {
        // With an odd number of rounds such a bracket would be the score itself.
        if self.rounds % 2 == 1 || self.is_few(tails) {
            return self.scores_of_tails(graph, head, tails);
        }
        self.anchor(graph, head);
        let brackets = self.brackets(tails.len(), |block| block.brackets_of_tails(graph, tails));
        let is_enough =
            |bracket: [f32; 2], answers: &[f32]| bracket[0] == bracket[1] || is_beside(bracket, answers);
        settle(&brackets, is_enough, tails, answers, |tails, _| self.scores_of_tails(graph, head, tails))
    }

    /// Brackets of the ensemble's scores, from those that `of` each block has of its rules'.
    fn brackets(
        &mut self,
        count: usize,
        mut of: impl FnMut(&mut Sparse) -> Vec<[[f32; Sparse::RULES]; 2]>,
    ) -> Vec<[f32; 2]> {
        let mut brackets = vec![[0.0f32; 2]; count];
        for (block, weights) in self.blocks.iter_mut().zip(&self.weights) {
            for (sums, lanes) in brackets.iter_mut().zip(of(block)) {
                sums.iter_mut().zip(&lanes).for_each(|(sum, lanes)| add_weights(sum, weights, lanes));
            }
        }
        brackets
    }

    /// Whether so few tails are faster to score one by one: beyond two rounds, their head's profile
    /// takes long.
    fn is_few(&self, tails: &[Entity]) -> bool {
        self.rounds > 2 && tails.len() < FEW
    }

    /// Every candidate whose bound is at least `least`, in the order of their numbers.
    pub fn candidates(&mut self, graph: &ClassMatrix, query: Query, least: f32) -> Vec<Entity> {
        self.bound(graph, query);
        let direction = query.direction;
        let mut reached: Vec<u32> = self.reached(direction).collect();
        reached.sort_unstable();
        reached.dedup();
        let reaches = |entity: &Entity| self.bound_of(direction, *entity) >= least;
        let mut candidates: Vec<Entity> = reached.iter().copied().map(Entity).filter(reaches).collect();
        let unreached = self.unreached[direction as usize].iter().take_while(|(base, _)| *base >= least);
        let unreached = unreached.map(|&(_, entity)| entity);
        candidates
            .extend(unreached.filter(|entity| reached.binary_search(&entity.0).is_err()).filter(reaches));
        candidates.sort_unstable();
        candidates
    }

    /// An upper bound of every entity's score.
    pub fn bounds(&mut self, graph: &ClassMatrix, query: Query) -> Vec<f32> {
        self.bound(graph, query);
        let bound = |entity| self.bound_of(query.direction, Entity(entity)) * (1.0 + ORDER);
        (0..graph.entities() as u32).map(bound).collect()
    }

    /// The entities that messages reach, some of them several times.
    fn reached(&self, direction: Direction) -> impl Iterator<Item = u32> + '_ {
        self.blocks.iter().flat_map(move |block| block.reached(direction == Direction::Head)).copied()
    }

    /// Works out the bounds of a query.
    fn bound(&mut self, graph: &ClassMatrix, query: Query) {
        match query.direction {
            Direction::Tail => {
                self.anchor(graph, query.known);
                self.blocks.iter_mut().for_each(|block| block.bound_tails(graph));
            }
            Direction::Head => self.blocks.iter_mut().for_each(|block| block.bound_heads(graph, query.known)),
        }
        let heads = query.direction == Direction::Head;
        if self.unreached[query.direction as usize].is_empty() {
            let base = |entity| {
                let mut sum = 0.0;
                for (block, weights) in self.blocks.iter().zip(&self.weights) {
                    add_weights(&mut sum, weights, block.base_bound(heads, entity));
                }
                (sum, entity)
            };
            let mut list: Vec<(f32, Entity)> = (0..graph.entities() as u32).map(Entity).map(base).collect();
            list.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            self.unreached[query.direction as usize] = list;
        }
    }

    fn bound_of(&self, direction: Direction, entity: Entity) -> f32 {
        let (mut sum, heads) = (0.0, direction == Direction::Head);
        for (block, weights) in self.blocks.iter().zip(&self.weights) {
            add_weights(&mut sum, weights, &block.bound(heads, entity));
        }
        sum
    }

    fn anchor(&mut self, graph: &ClassMatrix, head: Entity) {
        if self.anchored != Some(head) {
            self.anchored = Some(head);
            self.blocks.iter_mut().for_each(|block| block.anchor(graph, head));
        }
    }
}

/// Whether a bracket tells on which side of each answer the score is.
fn is_beside([low, high]: [f32; 2], answers: &[f32]) -> bool {
    answers.iter().all(|answer| low > answer * (1.0 + MARGIN) || high < answer * (1.0 - MARGIN))
}

/// The lower ends of brackets that are enough to know of a score and its answers; for all others what `rest`
/// says of these tails and their answers.
fn settle(
    brackets: &[[f32; 2]],
    is_enough: impl Fn([f32; 2], &[f32]) -> bool,
    tails: &[Entity],
    answers: &[&[f32]],
    rest: impl FnOnce(&[Entity], &[&[f32]]) -> Vec<f32>,
) -> Vec<f32> {
    let is_open = |&place: &usize| !is_enough(brackets[place], answers[place]);
    let open: Vec<usize> = (0..brackets.len()).filter(is_open).collect();
    let (tails, answers): (Vec<Entity>, Vec<&[f32]>) =
        open.iter().map(|&place| (tails[place], answers[place])).unzip();
    let mut scores: Vec<f32> = brackets.iter().map(|bracket| bracket[0]).collect();
    open.into_iter().zip(rest(&tails, &answers)).for_each(|(place, score)| scores[place] = score);
    scores
}

/// `sum += weight · score`, rule by rule.
fn add_weights(sum: &mut f32, weights: &[f32], scores: &[f32]) {
    weights.iter().zip(scores).for_each(|(weight, score)| *sum += weight * score);
}

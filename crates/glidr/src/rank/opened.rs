//! Questions with an unknown end on a sparse graph: who could reach a score, and what they reach.

use super::TIE;
use super::scorer::ORDER;
use crate::graph::{ClassMatrix, Direction, Entity};
use crate::infer::{Sparse, Tables};

/// How far from a goal a bracket must end, relative to it, to tell on which side of it a score is.
const MARGIN: f32 = TIE + ORDER;

/// Fewer tails than this are scored one by one, beyond two rounds.
const FEW: usize = 16;

/// An ensemble's rules in blocks of eight, ready for questions.
#[derive(Debug)]
pub(crate) struct Opened {
    blocks: Vec<Sparse>,
    votes: Vec<[f32; Sparse::RULES]>,
    /// Per end that can be asked for: every entity with the bound it has when nothing reaches it,
    /// highest first.
    unreached: [Vec<(f32, Entity)>; 2],
    rounds: usize,
    /// The head that is worked out.
    anchored: Option<Entity>,
}

impl Opened {
    /// Prepares rules with their votes.
    pub fn new(graph: &ClassMatrix, rules: &[(Tables, f32)], rounds: usize) -> Self {
        let prepare = |rules: &[(Tables, f32)]| {
            let tables: Vec<&Tables> = rules.iter().map(|(tables, _)| tables).collect();
            let mut sparse = Sparse::default();
            sparse.prepare(graph, &tables, rounds);
            sparse
        };
        let votes = |rules: &[(Tables, f32)]| {
            let mut votes = [0.0; Sparse::RULES];
            votes.iter_mut().zip(rules).for_each(|(vote, (_, given))| *vote = *given);
            votes
        };
        Opened {
            blocks: rules.chunks(Sparse::RULES).map(prepare).collect(),
            votes: rules.chunks(Sparse::RULES).map(votes).collect(),
            unreached: Default::default(),
            rounds,
            anchored: None,
        }
    }

    /// The scores of any pairs, each on its own.
    pub fn scores(&mut self, graph: &ClassMatrix, pairs: &[(Entity, Entity)]) -> Vec<f32> {
        let mut sums = vec![0.0; pairs.len()];
        for (block, votes) in self.blocks.iter_mut().zip(&self.votes) {
            for (sum, lanes) in sums.iter_mut().zip(block.scores_only(graph, pairs)) {
                add_votes(sum, votes, &lanes);
            }
        }
        sums
    }

    /// The scores of any pairs by each rule, without votes.
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
        for (block, votes) in self.blocks.iter_mut().zip(&self.votes) {
            for (sum, lanes) in sums.iter_mut().zip(block.scores_of_tails(graph, tails)) {
                add_votes(sum, votes, &lanes);
            }
        }
        sums
    }

    /// Like [`Opened::scores_of_tails`], but a score is worked out only as far as is needed to tell on
    /// which side of each of its `goals` it is: where a bracket tells, its lower end is returned.
    pub fn sides_of_tails(
        &mut self,
        graph: &ClassMatrix,
        head: Entity,
        tails: &[Entity],
        goals: &[&[f32]],
    ) -> Vec<f32> {
        let pairs: Vec<_> = tails.iter().map(|&tail| (head, tail)).collect();
        let brackets = self.brackets(tails.len(), |block| block.brackets(graph, &pairs));
        settle(&brackets, is_beside, tails, goals, |tails, goals| {
            self.sides_of_anchored(graph, head, tails, goals)
        })
    }

    /// The same by brackets that know the head: most of them are scores.
    fn sides_of_anchored(
        &mut self,
        graph: &ClassMatrix,
        head: Entity,
        tails: &[Entity],
        goals: &[&[f32]],
    ) -> Vec<f32> {
        // With an odd number of rounds such a bracket would be the score itself.
        if self.rounds % 2 == 1 || self.is_few(tails) {
            return self.scores_of_tails(graph, head, tails);
        }
        self.anchor(graph, head);
        let brackets = self.brackets(tails.len(), |block| block.brackets_of_tails(graph, tails));
        let is_enough =
            |bracket: [f32; 2], goals: &[f32]| bracket[0] == bracket[1] || is_beside(bracket, goals);
        settle(&brackets, is_enough, tails, goals, |tails, _| self.scores_of_tails(graph, head, tails))
    }

    /// Brackets of the ensemble's scores, from those that `of` each block has of its rules'.
    fn brackets(
        &mut self,
        count: usize,
        mut of: impl FnMut(&mut Sparse) -> Vec<[[f32; Sparse::RULES]; 2]>,
    ) -> Vec<[f32; 2]> {
        let mut brackets = vec![[0.0f32; 2]; count];
        for (block, votes) in self.blocks.iter_mut().zip(&self.votes) {
            for (sums, lanes) in brackets.iter_mut().zip(of(block)) {
                sums.iter_mut().zip(&lanes).for_each(|(sum, lanes)| add_votes(sum, votes, lanes));
            }
        }
        brackets
    }

    /// Whether so few tails are faster to score one by one: beyond two rounds, their head's profile
    /// takes long.
    fn is_few(&self, tails: &[Entity]) -> bool {
        self.rounds > 2 && tails.len() < FEW
    }

    /// Every candidate whose bound is at least `least`, with its bound, in the order of their numbers.
    pub fn negatives(
        &mut self,
        graph: &ClassMatrix,
        direction: Direction,
        known: Entity,
        least: f32,
    ) -> Vec<(Entity, f32)> {
        self.bound(graph, direction, known);
        let heads = direction == Direction::Head;
        let mut negatives: Vec<(Entity, f32)> = Vec::new();
        let mut reached: Vec<u32> =
            self.blocks.iter().flat_map(|block| block.reached(heads)).copied().collect();
        reached.sort_unstable();
        reached.dedup();
        for &entity in &reached {
            let bound = self.bound_of(heads, Entity(entity));
            if bound >= least {
                negatives.push((Entity(entity), bound));
            }
        }
        for &(base, entity) in &self.unreached[usize::from(heads)] {
            if base < least {
                break;
            }
            if reached.binary_search(&entity.0).is_err() {
                let bound = self.bound_of(heads, entity);
                if bound >= least {
                    negatives.push((entity, bound));
                }
            }
        }
        negatives.sort_unstable_by_key(|&(entity, _)| entity);
        negatives
    }

    fn bound(&mut self, graph: &ClassMatrix, direction: Direction, known: Entity) {
        match direction {
            Direction::Tail => {
                self.anchor(graph, known);
                self.blocks.iter_mut().for_each(|block| block.bound_tails(graph));
            }
            Direction::Head => self.blocks.iter_mut().for_each(|block| block.bound_heads(graph, known)),
        }
        let heads = direction == Direction::Head;
        if self.unreached[usize::from(heads)].is_empty() {
            let base = |entity| {
                let mut sum = 0.0;
                for (block, votes) in self.blocks.iter().zip(&self.votes) {
                    add_votes(&mut sum, votes, block.base_bound(heads, entity));
                }
                (sum, entity)
            };
            let mut list: Vec<(f32, Entity)> = (0..graph.entities() as u32).map(Entity).map(base).collect();
            list.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            self.unreached[usize::from(heads)] = list;
        }
    }

    fn bound_of(&self, heads: bool, entity: Entity) -> f32 {
        let mut sum = 0.0;
        for (block, votes) in self.blocks.iter().zip(&self.votes) {
            add_votes(&mut sum, votes, &block.bound(heads, entity));
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

/// Whether a bracket tells on which side of each goal the score is.
fn is_beside([low, high]: [f32; 2], goals: &[f32]) -> bool {
    goals.iter().all(|goal| low > goal * (1.0 + MARGIN) || high < goal * (1.0 - MARGIN))
}

/// The lower ends of brackets that are enough to know of a score and its goals; for all others what `rest`
/// says of these tails and their goals.
fn settle(
    brackets: &[[f32; 2]],
    is_enough: impl Fn([f32; 2], &[f32]) -> bool,
    tails: &[Entity],
    goals: &[&[f32]],
    rest: impl FnOnce(&[Entity], &[&[f32]]) -> Vec<f32>,
) -> Vec<f32> {
    let is_open = |&place: &usize| !is_enough(brackets[place], goals[place]);
    let open: Vec<usize> = (0..brackets.len()).filter(is_open).collect();
    let (tails, goals): (Vec<Entity>, Vec<&[f32]>) =
        open.iter().map(|&place| (tails[place], goals[place])).unzip();
    let mut scores: Vec<f32> = brackets.iter().map(|bracket| bracket[0]).collect();
    open.into_iter().zip(rest(&tails, &goals)).for_each(|(place, score)| scores[place] = score);
    scores
}

/// `sum += vote · score`, rule by rule.
fn add_votes(sum: &mut f32, votes: &[f32], scores: &[f32]) {
    votes.iter().zip(scores).for_each(|(vote, score)| *sum += vote * score);
}

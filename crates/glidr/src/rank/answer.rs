//! The ranks of one task's answers: among every candidate, or among those that bounds leave.

use super::opened::Opened;
use super::scorer::ORDER;
use super::{Bounds, REFUSED, Rank, Ranking, Scorer, TIE, Task, Truth};
use crate::graph::{ClassMatrix, Direction, Entity, Triple};

/// So many pairs wait at most to be scored head by head.
const MOST_WAITING: usize = 4_000_000;

/// The answers that the split asks for, and all that are true.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub questions: &'a Truth,
    pub truth: &'a Truth,
}

impl<'a> Known<'a> {
    fn of(self, task: &Task, known: Entity) -> (&'a Vec<Entity>, &'a Vec<Entity>) {
        let key = (task.predicate, task.direction, known);
        (&self.questions[&key], &self.truth[&key])
    }
}

impl Task<'_> {
    fn is_refused(&self, known: Entity, candidate: Entity) -> bool {
        self.irreflexive && known == candidate
    }

    /// Lowers the score of a target that is refused.
    fn refuse(&self, known: Entity, targets: &[Entity], goals: &mut [f32]) {
        for (&target, goal) in targets.iter().zip(goals) {
            if self.is_refused(known, target) {
                *goal = REFUSED;
            }
        }
    }
}

impl Ranking {
    pub(super) fn answer(
        &self,
        task: &Task,
        scorer: Option<&Scorer>,
        given: Known,
        entities: usize,
        by_bounds: bool,
    ) -> Vec<Rank> {
        let bounds: Vec<Option<Bounds>> = match scorer {
            Some(scorer) if by_bounds => {
                scorer.bounds(task.direction, &task.known).into_iter().map(Some).collect()
            }
            _ => vec![None; task.known.len()],
        };
        let mut ranks = Vec::new();
        for (&known, bounds) in task.known.iter().zip(bounds) {
            let (targets, true_answers) = given.of(task, known);
            let pairs: Vec<_> = targets.iter().map(|&target| task.direction.pair(known, target)).collect();
            let mut goals = scorer.map_or(vec![0.0; pairs.len()], |scorer| scorer.scores(&pairs));
            task.refuse(known, targets, &mut goals);
            // Only a candidate that reaches the lowest goal can be at or above one.
            let floor = goals.iter().copied().fold(f32::INFINITY, f32::min) * (1.0 - TIE);
            let negatives: Vec<Entity> = (0..entities as u32)
                .map(Entity)
                .filter(|negative| !task.is_refused(known, *negative))
                .filter(|negative| bounds.as_ref().is_none_or(|bounds| bounds.of(*negative) >= floor))
                .filter(|negative| true_answers.binary_search(negative).is_err())
                .collect();
            let pairs = || -> Vec<_> {
                negatives.iter().map(|&negative| task.direction.pair(known, negative)).collect()
            };
            let scores = match (scorer, &bounds) {
                (Some(scorer), Some(bounds)) => {
                    scorer.scores_reaching(task.direction, known, &negatives, bounds, floor)
                }
                (Some(scorer), None) => scorer.scores(&pairs()),
                (None, _) => vec![0.0; negatives.len()],
            };
            self.place(task, known, targets, &goals, &scores, &mut ranks);
        }
        ranks
    }

    /// The same with the sparse engine: scores are asked for head by head.
    pub(super) fn answer_openly(
        &self,
        task: &Task,
        opened: &mut Opened,
        graph: &ClassMatrix,
        given: Known,
    ) -> Vec<Rank> {
        let mut ranks = Vec::new();
        let floor = |goals: &[f32]| goals.iter().copied().fold(f32::INFINITY, f32::min) * (1.0 - TIE);
        let rivals_of = |opened: &mut Opened, known, goals: &[f32]| -> Vec<Entity> {
            let (_, true_answers) = given.of(task, known);
            let negatives = opened.negatives(graph, task.direction, known, floor(goals) * (1.0 - ORDER));
            let negatives = negatives.into_iter().map(|(negative, _)| negative);
            let counts = |negative: &Entity| {
                !task.is_refused(known, *negative) && true_answers.binary_search(negative).is_err()
            };
            negatives.filter(counts).collect()
        };
        if task.direction == Direction::Tail {
            for &head in &task.known {
                let (targets, _) = given.of(task, head);
                let mut goals = opened.scores_of_tails(graph, head, targets);
                task.refuse(head, targets, &mut goals);
                let negatives = rivals_of(opened, head, &goals);
                let scores =
                    opened.sides_of_tails(graph, head, &negatives, &vec![&goals[..]; negatives.len()]);
                self.place(task, head, targets, &goals, &scores, &mut ranks);
            }
            return ranks;
        }
        let wanted =
            task.known.iter().map(|&tail| (tail, given.of(task, tail).0.clone())).collect::<Vec<_>>();
        let goals = scores_by_head(opened, graph, &wanted, None);
        let mut waiting: Vec<(Entity, Vec<Entity>)> = Vec::new();
        let mut waiting_goals = Vec::new();
        let mut pairs = 0;
        for (number, (&tail, mut goals)) in task.known.iter().zip(goals).enumerate() {
            task.refuse(tail, given.of(task, tail).0, &mut goals);
            waiting.push((tail, rivals_of(opened, tail, &goals)));
            waiting_goals.push(goals);
            pairs += waiting[waiting.len() - 1].1.len();
            if pairs > MOST_WAITING || number + 1 == task.known.len() {
                let scores = scores_by_head(opened, graph, &waiting, Some(&waiting_goals));
                for (((tail, _), goals), scores) in waiting.drain(..).zip(waiting_goals.drain(..)).zip(scores)
                {
                    self.place(task, tail, given.of(task, tail).0, &goals, &scores, &mut ranks);
                }
                pairs = 0;
            }
        }
        ranks
    }

    /// Ranks each target among the scores of its rivals.
    fn place(
        &self,
        task: &Task,
        known: Entity,
        targets: &[Entity],
        goals: &[f32],
        scores: &[f32],
        ranks: &mut Vec<Rank>,
    ) {
        for (&target, goal) in targets.iter().zip(goals) {
            let above = scores.iter().filter(|&&score| score > goal * (1.0 + TIE)).count();
            let ties = scores.iter().filter(|&&score| score >= goal * (1.0 - TIE)).count() - above;
            let (head, tail) = task.direction.pair(known, target);
            let fact = Triple { head, predicate: task.predicate, tail };
            let rank = 1.0 + above as f64 + self.share_of(ties, fact, task.direction);
            ranks.push(Rank { fact, direction: task.direction, rank });
        }
    }
}

/// The scores of each tail with its heads, worked out head by head; in full, or as far as is needed
/// to tell on which side of the tail's goals they are.
fn scores_by_head(
    opened: &mut Opened,
    graph: &ClassMatrix,
    direction: &[(Entity, Vec<Entity>)],
    goals: Option<&[Vec<f32>]>,
) -> Vec<Vec<f32>> {
    let mut scores: Vec<Vec<f32>> = direction.iter().map(|(_, heads)| vec![0.0; heads.len()]).collect();
    let mut pairs: Vec<(Entity, u32, u32)> = Vec::new();
    for (question, (_, heads)) in direction.iter().enumerate() {
        pairs.extend(heads.iter().enumerate().map(|(at, &head)| (head, question as u32, at as u32)));
    }
    pairs.sort_unstable();
    for pairs in pairs.chunk_by(|a, b| a.0 == b.0) {
        let tails: Vec<Entity> =
            pairs.iter().map(|&(_, question, _)| direction[question as usize].0).collect();
        let head = pairs[0].0;
        let found = match goals {
            None => opened.scores_of_tails(graph, head, &tails),
            Some(goals) => {
                let goals: Vec<&[f32]> =
                    pairs.iter().map(|&(_, question, _)| &goals[question as usize][..]).collect();
                opened.sides_of_tails(graph, head, &tails, &goals)
            }
        };
        for (score, &(_, question, at)) in found.iter().zip(pairs) {
            scores[question as usize][at as usize] = *score;
        }
    }
    scores
}

//! Questions answered by soft and searched rules at once, ranked under several shares of the two.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::error::Result;
use crate::graph::Direction;
use crate::graph::{Background, ClassMatrix, Dataset, Entity, Neighbours, Predicate, Triple};
use crate::infer::lane_width;
use crate::model::SoftModel;
use crate::rank::{Bounds, REFUSED, Ranking, Scorer, TIE, Truth, irreflexive, questions, truth};
use crate::rule::TargetRules;
use crate::solve::{Ended, Limits, Solver};

/// How far, relative to it, a score may be above its bound: sums in another order differ by a little.
const SLACK: f64 = 1e-4;

/// One question's answer with its rank under each share.
pub(super) struct Answer {
    pub fact: Triple,
    pub direction: Direction,
    /// One for each share.
    pub ranks: Vec<f64>,
}

/// What is ranked by both.
pub(super) struct Both<'a> {
    pub ranking: Ranking,
    pub model: &'a SoftModel,
    pub sets: &'a [TargetRules],
    pub data: &'a Dataset,
    pub limits: Limits,
    /// The slow twin: score every candidate.
    pub plainly: bool,
}

/// What all questions have in common.
struct Room<'a> {
    both: &'a Both<'a>,
    graph: &'a ClassMatrix,
    facts: &'a Neighbours,
    questions: &'a Truth,
    truth: &'a Truth,
    irreflexive: Vec<bool>,
}

impl Both<'_> {
    /// Answers every question of the split under each of its target's shares.
    pub fn answer(
        &self,
        shares: &(dyn Fn(Predicate) -> Vec<f64> + Sync),
        watch: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<(Vec<Answer>, Ended)> {
        let (ranking, model, data) = (&self.ranking, self.model, self.data);
        let held_out =
            ranking.held_out(data, |predicate| model.ranks(data.names().predicates.name(predicate)))?;
        let facts = data.graph(Background::Train).neighbours();
        let view = model.view(data, Background::Train)?;
        let (truth, questions) = (truth(data), questions(&held_out));
        let mut tasks: BTreeMap<(Predicate, Direction), Vec<Entity>> = BTreeMap::new();
        for &(predicate, direction, known) in questions.keys() {
            tasks.entry((predicate, direction)).or_default().push(known);
        }
        for known in tasks.values_mut() {
            known.sort_unstable();
        }
        let room = Room {
            both: self,
            graph: view.graph.adjacency(),
            facts,
            questions: &questions,
            truth: &truth,
            irreflexive: irreflexive(data, ranking.self_answers),
        };
        let (done, all) = (AtomicUsize::new(0), 2 * held_out.len());
        let answered: Vec<(Vec<Answer>, Ended)> = tasks
            .par_iter()
            .map(|(&(predicate, direction), known)| {
                let found = room.task(predicate, direction, known, &shares(predicate))?;
                let now = done.fetch_add(found.0.len(), Ordering::Relaxed) + found.0.len();
                watch(now, all);
                Ok(found)
            })
            .collect::<Result<_>>()?;
        let ended = answered.iter().map(|(_, ended)| *ended).find(|ended| *ended != Ended::Complete);
        let answers = answered.into_iter().flat_map(|(answers, _)| answers).collect();
        Ok((answers, ended.unwrap_or(Ended::Complete)))
    }
}

impl Room<'_> {
    /// Answers the questions of one target that ask for the same end.
    fn task(
        &self,
        predicate: Predicate,
        direction: Direction,
        known: &[Entity],
        shares: &[f64],
    ) -> Result<(Vec<Answer>, Ended)> {
        let set = self.both.sets.iter().find(|set| set.target == predicate);
        let solvers =
            set.map(|set| set.solvers(self.facts, self.both.limits)).transpose()?.unwrap_or_default();
        let name = self.both.data.names().predicates.name(predicate);
        // Where no share is soft, nobody asks for soft scores.
        let asks = shares.iter().any(|&share| share > 0.0);
        let ensemble =
            self.both.model.target(name).ok().filter(|ensemble| asks && !ensemble.rules.is_empty());
        let rounds = self.both.ranking.rounds.unwrap_or(self.both.model.training.rounds);
        let scorer = ensemble
            .map(|e| Scorer::new(e, self.both.model.schema, self.graph, rounds, self.both.ranking.hard));
        let (mut answers, mut ended) = (Vec::new(), Ended::Complete);
        for known in known.chunks(lane_width(self.graph)) {
            let bounds: Vec<Option<Bounds>> = match &scorer {
                Some(scorer) if !self.both.plainly => {
                    scorer.bounds(direction, known).into_iter().map(Some).collect()
                }
                _ => vec![None; known.len()],
            };
            for (&known, bounds) in known.iter().zip(&bounds) {
                let (hard, how) = self.searched(set, &solvers, direction, known);
                if how != Ended::Complete {
                    ended = how;
                }
                let key = (predicate, direction, known);
                self.question(key, &hard, scorer.as_ref(), bounds.as_ref(), shares, &mut answers);
            }
        }
        Ok((answers, ended))
    }

    /// Every candidate's searched score but for a refused one's, divided by the most of them.
    fn searched(
        &self,
        set: Option<&TargetRules>,
        solvers: &[Solver],
        direction: Direction,
        known: Entity,
    ) -> (Vec<f64>, Ended) {
        let entities = self.graph.entities();
        let Some(set) = set else { return (vec![0.0; entities], Ended::Complete) };
        let (mut scores, ended) = set.scores(solvers, direction, known, entities);
        if self.irreflexive[set.target.index()] {
            scores[known.index()] = 0.0;
        }
        let most = scores.iter().copied().fold(0.0, f64::max);
        if most > 0.0 {
            for score in &mut scores {
                *score /= most;
            }
        }
        (scores, ended)
    }

    fn question(
        &self,
        key: (Predicate, Direction, Entity),
        hard: &[f64],
        scorer: Option<&Scorer>,
        bounds: Option<&Bounds>,
        shares: &[f64],
        answers: &mut Vec<Answer>,
    ) {
        let (predicate, direction, known) = key;
        let (targets, true_answers) = (&self.questions[&key], &self.truth[&key]);
        let pairs = |of: &[Entity]| -> Vec<_> { of.iter().map(|&e| direction.pair(known, e)).collect() };
        let scores = |of: &[Entity]| -> Vec<f64> {
            let found = scorer.map_or(vec![0.0; of.len()], |scorer| scorer.scores(&pairs(of)));
            found.into_iter().map(f64::from).collect()
        };
        let is_refused = |entity: Entity| self.irreflexive[predicate.0 as usize] && entity == known;
        let everyone: Vec<Entity> =
            (0..hard.len() as u32).map(Entity).filter(|&entity| !is_refused(entity)).collect();
        // The most that any candidate has; without bounds all are scored anyway.
        let most = match (scorer, bounds) {
            (None, _) => 0.0,
            (Some(scorer), Some(_)) => scorer
                .best(direction, known, 1, |entity| !is_refused(entity))
                .first()
                .map_or(0.0, |best| f64::from(best.score)),
            (Some(_), None) => scores(&everyone).into_iter().fold(0.0, f64::max),
        };
        let soft = |score: f64| if most > 0.0 { score / most } else { 0.0 };
        let joined =
            |share: f64, entity: Entity, soft: f64| (1.0 - share) * hard[entity.index()] + share * soft;
        let goals: Vec<Vec<f64>> = targets
            .iter()
            .zip(scores(targets))
            .map(|(&target, score)| {
                let goal = |&share: &f64| joined(share, target, soft(score));
                let refused = vec![f64::from(REFUSED); shares.len()];
                if is_refused(target) { refused } else { shares.iter().map(goal).collect() }
            })
            .collect();
        let tie = f64::from(TIE);
        let lowest = |place: usize| goals.iter().map(|goal| goal[place]).fold(f64::INFINITY, f64::min);
        let floors: Vec<f64> = (0..shares.len()).map(|place| lowest(place) * (1.0 - 2.0 * tie)).collect();
        // A rival counts only where it could reach the lowest goal under some share.
        let counts = |negative: &Entity| {
            let Some(bounds) = bounds else { return true };
            let most = soft(f64::from(bounds.of(*negative)) * (1.0 + SLACK));
            shares.iter().zip(&floors).any(|(&share, &floor)| joined(share, *negative, most) >= floor)
        };
        let mut negatives = everyone;
        negatives.retain(|negative| true_answers.binary_search(negative).is_err() && counts(negative));
        let rival_scores = scores(&negatives);
        for (&target, goals) in targets.iter().zip(&goals) {
            let (head, tail) = direction.pair(known, target);
            let fact = Triple { head, predicate, tail };
            let rank = |(&share, &goal): (&f64, &f64)| {
                let (least, most) = (goal * (1.0 - tie), goal * (1.0 + tie));
                let (mut above, mut ties) = (0usize, 0usize);
                for (&negative, &score) in negatives.iter().zip(&rival_scores) {
                    let score = joined(share, negative, soft(score));
                    above += usize::from(score > most);
                    ties += usize::from(score >= least && score <= most);
                }
                1.0 + above as f64 + self.both.ranking.share_of(ties, fact, direction)
            };
            answers.push(Answer { fact, direction, ranks: shares.iter().zip(goals).map(rank).collect() });
        }
    }
}

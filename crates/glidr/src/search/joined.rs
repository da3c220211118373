//! Soft and searched rules joined: a candidate's score is a part soft, a part searched.
//!
//! ```text
//! score = (1 − share) · searched / most searched + share · soft / most soft
//! ```
//!
//! Both are divided by the most that any candidate of the same question has, so that they can be added
//! though one is a sum of weights and the other a sum of votes. The share is chosen for each target on
//! *valid*; 0 is the searched rules alone, 1 the soft ones alone. Nothing of this looks at which
//! candidates are true, nor at *test*.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use serde::Serialize;

use super::RuleSet;
use super::choose::SHARED_QUESTIONS;
use crate::error::{Error, Result};
use crate::graph::{Dataset, Entity, Graph, Predicate, Split, Triple};
use crate::infer::lane_width;
use crate::model::{Background, Model};
use crate::rank::{
    Asked, Bounds, REFUSED, Rank, Ranked, Ranking, Scorer, TIE, Ties, Truth, count, irreflexive, questions,
    truth,
};
use crate::solve::{Ended, Facts, Limits, Solver};

/// The shares that are tried.
const SHARES: [f64; 10] = [0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0];
/// How far, relative to it, a score may be above its bound: sums in another order differ by a little.
const SLACK: f64 = 1e-4;

/// How much of one target's score is soft.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The target's name.
    pub target: String,
    /// The part of the score that is soft, from 0 to 1.
    pub share: f64,
    /// Mean reciprocal rank on *valid* with this share; 0 where *valid* has no fact of the target.
    pub valid_mrr: f64,
}

/// For every target how its soft and its searched rules are joined.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Joined {
    /// The shares; a target that is not here has share 0.
    pub shares: Vec<Share>,
}

/// One question's answer with its rank under each share.
struct Answer {
    fact: Triple,
    asked: Asked,
    ranks: Vec<f64>,
}

/// All that the questions have in common.
struct Room<'a> {
    ranking: &'a Ranking,
    model: &'a Model,
    sets: &'a [RuleSet],
    data: &'a Dataset,
    graph: &'a Graph,
    facts: &'a Facts,
    limits: Limits,
    /// The slow twin: score every candidate.
    plainly: bool,
    questions: &'a Truth,
    truth: &'a Truth,
    irreflexive: Vec<bool>,
}

impl Joined {
    /// Chooses the shares on *valid*. The rules of `sets` must not have been fitted to *valid*
    /// ([`Searched::judged`](super::Searched::judged)); they have the data's numbers.
    pub fn choose(
        model: &Model,
        sets: &[RuleSet],
        data: &Dataset,
        ranking: Ranking,
        limits: Limits,
        watch: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Self> {
        if data.split(Split::Valid).is_empty() {
            return Ok(Joined { shares: Vec::new() });
        }
        // Without test, whose facts would otherwise be filtered out as true.
        let seen =
            Split::ALL.map(|split| if split == Split::Test { &[] } else { data.split(split) }.to_vec());
        let blind = Dataset::of(&data.source, data.names().clone(), seen, data.traits().to_vec())?;
        let ranking = Ranking { split: Split::Valid, ties: Ties::Mean, ..ranking };
        let (answers, _) = answer(&ranking, model, sets, &blind, limits, false, &|_| SHARES.to_vec(), watch)?;
        let mut gains: BTreeMap<Predicate, ([f64; SHARES.len()], usize)> = BTreeMap::new();
        for answer in &answers {
            let (gain, asked) = gains.entry(answer.fact.predicate).or_insert(([0.0; SHARES.len()], 0));
            gain.iter_mut().zip(&answer.ranks).for_each(|(gain, rank)| *gain += 1.0 / rank);
            *asked += 1;
        }
        let mean = |place: usize| {
            gains.values().map(|(gain, _)| gain[place]).sum::<f64>() / answers.len().max(1) as f64
        };
        let best = |own: &[f64]| {
            // The first of equals is the one that leans most on searched rules.
            let value = |place: usize| own[place] + SHARED_QUESTIONS * mean(place);
            (0..SHARES.len()).max_by(|&a, &b| value(a).total_cmp(&value(b)).then(b.cmp(&a))).unwrap_or(0)
        };
        let mut targets: Vec<Predicate> =
            sets.iter().map(|set| set.target).chain(gains.keys().copied()).collect();
        targets.sort_unstable();
        targets.dedup();
        let shares = targets.iter().map(|target| {
            let (own, asked) = gains.get(target).copied().unwrap_or(([0.0; SHARES.len()], 0));
            let place = best(&own);
            Share {
                target: data.names().predicates.name(target.0).to_owned(),
                share: SHARES[place],
                valid_mrr: own[place] / asked.max(1) as f64,
            }
        });
        Ok(Joined { shares: shares.collect() })
    }

    /// Ranks every answer of the split by both, exactly: a candidate's soft score is worked out only where
    /// its bound could matter, which changes no rank.
    pub fn rank(
        &self,
        model: &Model,
        sets: &[RuleSet],
        data: &Dataset,
        ranking: Ranking,
        limits: Limits,
        watch: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<(Ranked, Ended)> {
        self.rank_by(model, sets, data, ranking, limits, watch, false)
    }

    /// The slow twin of [`Joined::rank`]: scores every candidate, and must give the same ranks.
    pub fn rank_plainly(
        &self,
        model: &Model,
        sets: &[RuleSet],
        data: &Dataset,
        ranking: Ranking,
        limits: Limits,
    ) -> Result<(Ranked, Ended)> {
        self.rank_by(model, sets, data, ranking, limits, &|_, _| {}, true)
    }

    #[expect(clippy::too_many_arguments, reason = "one door for both twins")]
    fn rank_by(
        &self,
        model: &Model,
        sets: &[RuleSet],
        data: &Dataset,
        ranking: Ranking,
        limits: Limits,
        watch: &(dyn Fn(usize, usize) + Sync),
        plainly: bool,
    ) -> Result<(Ranked, Ended)> {
        let names = data.names();
        let share = |predicate: Predicate| {
            let name = names.predicates.name(predicate.0);
            vec![self.shares.iter().find(|share| share.target == name).map_or(0.0, |share| share.share)]
        };
        let (answers, ended) = answer(&ranking, model, sets, data, limits, plainly, &share, watch)?;
        let rank = |answer: &Answer| Rank { fact: answer.fact, asked: answer.asked, rank: answer.ranks[0] };
        let mut ranks: Vec<Rank> = answers.iter().map(rank).collect();
        ranks.sort_by_key(|rank| (rank.fact, rank.asked));
        let left_out = data.split(ranking.split).len() - ranks.len() / 2;
        let rounds = ranking.rounds.unwrap_or(model.training.rounds);
        let convention = ranking.convention(data, rounds, "soft and searched rules joined".into());
        let mut without: Vec<Predicate> = ranks.iter().map(|rank| rank.fact.predicate).collect();
        without.sort_unstable();
        without.dedup();
        without.retain(|&predicate| {
            let soft = model.target(names.predicates.name(predicate.0)).is_ok_and(|e| !e.rules.is_empty());
            !soft && sets.iter().all(|set| set.target != predicate)
        });
        let mut ranked = count(ranks, &[], data, convention, left_out);
        ranked.without_rules = without.iter().map(|p| names.predicates.name(p.0).to_owned()).collect();
        Ok((ranked, ended))
    }
}

/// Answers every question of the split under each of its target's shares.
#[expect(clippy::too_many_arguments, reason = "what a ranking needs, twice")]
fn answer(
    ranking: &Ranking,
    model: &Model,
    sets: &[RuleSet],
    data: &Dataset,
    limits: Limits,
    plainly: bool,
    shares: &(dyn Fn(Predicate) -> Vec<f64> + Sync),
    watch: &(dyn Fn(usize, usize) + Sync),
) -> Result<(Vec<Answer>, Ended)> {
    let names = data.names();
    let chosen = |fact: &&Triple| {
        model.training.targets.is_empty() || model.target(names.predicates.name(fact.predicate.0)).is_ok()
    };
    let held_out: Vec<Triple> = data.split(ranking.split).iter().filter(chosen).copied().collect();
    if held_out.is_empty() {
        return Err(Error::Mismatch(format!(
            "{} must hold a fact about one of the targets to rank, but {} has none there",
            ranking.split.name(),
            data.source
        )));
    }
    let background: Vec<Triple> =
        Background::Train.splits().iter().flat_map(|&split| data.split(split)).copied().collect();
    let sizes = (names.entities.len(), names.predicates.len(), names.properties.len());
    let facts = Facts::from(&Graph::new(sizes.0, sizes.1, sizes.2, &background, data.traits()));
    let view = model.view(data, Background::Train)?;
    let (truth, questions) = (truth(data), questions(&held_out));
    let mut tasks: BTreeMap<(Predicate, Asked), Vec<Entity>> = BTreeMap::new();
    for &(predicate, asked, known) in questions.keys() {
        tasks.entry((predicate, asked)).or_default().push(known);
    }
    for known in tasks.values_mut() {
        known.sort_unstable();
    }
    let room = Room {
        ranking,
        model,
        sets,
        data,
        graph: &view.graph,
        facts: &facts,
        limits,
        plainly,
        questions: &questions,
        truth: &truth,
        irreflexive: irreflexive(data, ranking.self_answers),
    };
    let (done, all) = (AtomicUsize::new(0), 2 * held_out.len());
    let answered: Vec<(Vec<Answer>, Ended)> = tasks
        .par_iter()
        .map(|(&(predicate, asked), known)| {
            let found = room.task(predicate, asked, known, &shares(predicate))?;
            let now = done.fetch_add(found.0.len(), Ordering::Relaxed) + found.0.len();
            watch(now, all);
            Ok(found)
        })
        .collect::<Result<_>>()?;
    let ended = answered.iter().map(|(_, ended)| *ended).find(|ended| *ended != Ended::Complete);
    let answers = answered.into_iter().flat_map(|(answers, _)| answers).collect();
    Ok((answers, ended.unwrap_or(Ended::Complete)))
}

impl Room<'_> {
    /// Answers the questions of one target that ask for the same end.
    fn task(
        &self,
        predicate: Predicate,
        asked: Asked,
        known: &[Entity],
        shares: &[f64],
    ) -> Result<(Vec<Answer>, Ended)> {
        let set = self.sets.iter().find(|set| set.target == predicate);
        let solvers = set.map(|set| set.solvers(self.facts, self.limits)).transpose()?.unwrap_or_default();
        let name = self.data.names().predicates.name(predicate.0);
        let ensemble = self.model.target(name).ok().filter(|ensemble| !ensemble.rules.is_empty());
        let rounds = self.ranking.rounds.unwrap_or(self.model.training.rounds);
        let scorer =
            ensemble.map(|e| Scorer::new(e, self.model.schema, self.graph, rounds, self.ranking.hard));
        let (mut answers, mut ended) = (Vec::new(), Ended::Complete);
        for known in known.chunks(lane_width(self.graph)) {
            let bounds: Vec<Option<Bounds>> = match &scorer {
                Some(scorer) if !self.plainly => scorer.bounds(asked, known).into_iter().map(Some).collect(),
                _ => vec![None; known.len()],
            };
            for (&known, bounds) in known.iter().zip(&bounds) {
                let (hard, how) = self.searched(set, &solvers, asked, known);
                if how != Ended::Complete {
                    ended = how;
                }
                let key = (predicate, asked, known);
                self.question(key, &hard, scorer.as_ref(), bounds.as_ref(), shares, &mut answers);
            }
        }
        Ok((answers, ended))
    }

    /// Every candidate's searched score but for a refused one's, divided by the most of them.
    fn searched(
        &self,
        set: Option<&RuleSet>,
        solvers: &[Solver],
        asked: Asked,
        known: Entity,
    ) -> (Vec<f64>, Ended) {
        let entities = self.graph.entities();
        let Some(set) = set else { return (vec![0.0; entities], Ended::Complete) };
        let (mut scores, ended) = set.scores(solvers, asked, known, entities);
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
        key: (Predicate, Asked, Entity),
        hard: &[f64],
        scorer: Option<&Scorer>,
        bounds: Option<&Bounds>,
        shares: &[f64],
        answers: &mut Vec<Answer>,
    ) {
        let (predicate, asked, known) = key;
        let (targets, true_answers) = (&self.questions[&key], &self.truth[&key]);
        let pairs = |of: &[Entity]| -> Vec<_> { of.iter().map(|&e| asked.pair(known, e)).collect() };
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
                .best(asked, known, 1, |entity| !is_refused(entity))
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
        let counts = |rival: &Entity| {
            let Some(bounds) = bounds else { return true };
            let most = soft(f64::from(bounds.of(*rival)) * (1.0 + SLACK));
            shares.iter().zip(&floors).any(|(&share, &floor)| joined(share, *rival, most) >= floor)
        };
        let mut rivals = everyone;
        rivals.retain(|rival| true_answers.binary_search(rival).is_err() && counts(rival));
        let rival_scores = scores(&rivals);
        for (&target, goals) in targets.iter().zip(&goals) {
            let (head, tail) = asked.pair(known, target);
            let fact = Triple { head, predicate, tail };
            let rank = |(&share, &goal): (&f64, &f64)| {
                let (least, most) = (goal * (1.0 - tie), goal * (1.0 + tie));
                let (mut above, mut ties) = (0usize, 0usize);
                for (&rival, &score) in rivals.iter().zip(&rival_scores) {
                    let score = joined(share, rival, soft(score));
                    above += usize::from(score > most);
                    ties += usize::from(score >= least && score <= most);
                }
                1.0 + above as f64 + self.ranking.share_of(ties, fact, asked)
            };
            answers.push(Answer { fact, asked, ranks: shares.iter().zip(goals).map(rank).collect() });
        }
    }
}

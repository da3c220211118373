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

use serde::Serialize;

use super::both::{Answer, Both};
use super::choose::SHARED_QUERIES;
use crate::error::Result;
use crate::graph::{Dataset, Predicate, Split};
use crate::model::{Ensemble, SoftModel};
use crate::rank::{Rank, Ranked, Ranking, Ties, count};
use crate::rule::TargetRules;
use crate::solve::{Ended, Limits};

/// The shares that are tried.
const SHARES: [f64; 10] = [0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0];

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

impl Joined {
    /// Chooses the shares on *valid*. The rules of `sets` must not have been fitted to *valid*
    /// ([`Searched::judged`](super::Searched::judged)); they have the data's numbers.
    pub fn choose(
        model: &SoftModel,
        sets: &[TargetRules],
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
        let blind = Dataset::of(&data.source, data.names().clone(), seen, data.property_facts().to_vec())?;
        let ranking = Ranking { split: Split::Valid, ties: Ties::Mean, ..ranking };
        // Votes that were fitted have seen *valid*; those by loss hardly have.
        let mut unfitted = model.clone();
        unfitted.ensembles.iter_mut().for_each(Ensemble::vote_by_loss);
        let both = Both { ranking, model: &unfitted, sets, data: &blind, limits, plainly: false };
        let (answers, _) = both.answer(&|_| SHARES.to_vec(), watch)?;
        let mut gains: BTreeMap<Predicate, ([f64; SHARES.len()], usize)> = BTreeMap::new();
        for answer in &answers {
            let (gain, direction) = gains.entry(answer.fact.predicate).or_insert(([0.0; SHARES.len()], 0));
            gain.iter_mut().zip(&answer.ranks).for_each(|(gain, rank)| *gain += 1.0 / rank);
            *direction += 1;
        }
        let mean = |place: usize| {
            gains.values().map(|(gain, _)| gain[place]).sum::<f64>() / answers.len().max(1) as f64
        };
        let best = |own: &[f64]| {
            // The first of equals is the one that leans most on searched rules.
            let value = |place: usize| own[place] + SHARED_QUERIES * mean(place);
            (0..SHARES.len()).max_by(|&a, &b| value(a).total_cmp(&value(b)).then(b.cmp(&a))).unwrap_or(0)
        };
        let mut targets: Vec<Predicate> =
            sets.iter().map(|set| set.target).chain(gains.keys().copied()).collect();
        targets.sort_unstable();
        targets.dedup();
        let shares = targets.iter().map(|target| {
            let (own, direction) = gains.get(target).copied().unwrap_or(([0.0; SHARES.len()], 0));
            let place = best(&own);
            Share {
                target: data.names().predicates.name(*target).to_owned(),
                share: SHARES[place],
                valid_mrr: own[place] / direction.max(1) as f64,
            }
        });
        Ok(Joined { shares: shares.collect() })
    }

    /// Ranks every answer of the split by both, exactly: a candidate's soft score is worked out only where
    /// its bound could matter, which changes no rank.
    pub fn rank(
        &self,
        model: &SoftModel,
        sets: &[TargetRules],
        data: &Dataset,
        ranking: Ranking,
        limits: Limits,
        watch: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<(Ranked, Ended)> {
        self.rank_by(&Both { ranking, model, sets, data, limits, plainly: false }, watch)
    }

    /// The slow twin of [`Joined::rank`]: scores every candidate, and must give the same ranks.
    pub fn rank_exhaustive(
        &self,
        model: &SoftModel,
        sets: &[TargetRules],
        data: &Dataset,
        ranking: Ranking,
        limits: Limits,
    ) -> Result<(Ranked, Ended)> {
        self.rank_by(&Both { ranking, model, sets, data, limits, plainly: true }, &|_, _| {})
    }

    fn rank_by(&self, both: &Both, watch: &(dyn Fn(usize, usize) + Sync)) -> Result<(Ranked, Ended)> {
        let (ranking, model, data) = (both.ranking, both.model, both.data);
        let names = data.names();
        let share = |predicate: Predicate| {
            let name = names.predicates.name(predicate);
            vec![self.shares.iter().find(|share| share.target == name).map_or(0.0, |share| share.share)]
        };
        let (answers, ended) = both.answer(&share, watch)?;
        let rank =
            |answer: &Answer| Rank { fact: answer.fact, direction: answer.direction, rank: answer.ranks[0] };
        let mut ranks: Vec<Rank> = answers.iter().map(rank).collect();
        ranks.sort_by_key(|rank| (rank.fact, rank.direction));
        let left_out = data.split(ranking.split).len() - ranks.len() / 2;
        let rounds = ranking.rounds.unwrap_or(model.training.rounds);
        let protocol = ranking.protocol(data, rounds, "soft and searched rules joined".into());
        let mut without: Vec<Predicate> = ranks.iter().map(|rank| rank.fact.predicate).collect();
        without.sort_unstable();
        without.dedup();
        without.retain(|&predicate| {
            let soft = model.target(names.predicates.name(predicate)).is_ok_and(|e| !e.rules.is_empty());
            !soft && both.sets.iter().all(|set| set.target != predicate)
        });
        let mut ranked = count(ranks, &[], data, protocol, left_out);
        ranked.without_rules = without.iter().map(|p| names.predicates.name(*p).to_owned()).collect();
        Ok((ranked, ended))
    }
}

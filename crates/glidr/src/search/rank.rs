//! Ranking with sets of hard rules, evaluated exactly.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::error::Result;
use crate::graph::Direction;
use crate::graph::{Background, Dataset, Entity, Predicate, Triple};
use crate::rank::{REFUSED, Rank, Ranked, Ranking, TIE, count, irreflexive, questions, truth};
use crate::rule::TargetRules;
use crate::solve::{Ended, Limits};

impl Ranking {
    /// Ranks every answer of the split that is about one of `targets` (none means all predicates) by
    /// these rules, evaluated exactly on *facts* and *train*. Rules have the data's numbers.
    pub fn run_rules(
        &self,
        sets: &[TargetRules],
        targets: &[Predicate],
        data: &Dataset,
        limits: Limits,
        watch: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<(Ranked, Ended)> {
        let names = data.names();
        let entities = names.entities.len();
        let facts = data.graph(Background::Train).neighbours();
        let held_out = self.held_out(data, |predicate| targets.is_empty() || targets.contains(&predicate))?;
        let (truth, questions, irreflexive) =
            (truth(data), questions(&held_out), irreflexive(data, self.self_answers));
        let mut tasks: BTreeMap<(Predicate, Direction), Vec<Entity>> = BTreeMap::new();
        for &(predicate, direction, known) in questions.keys() {
            tasks.entry((predicate, direction)).or_default().push(known);
        }
        let (done, all) = (AtomicUsize::new(0), 2 * held_out.len());
        let answered: Vec<(Vec<Rank>, Ended)> = tasks
            .par_iter()
            .map(|(&(predicate, direction), known)| {
                let set = sets.iter().find(|set| set.target == predicate);
                let solvers = set.map(|set| set.solvers(facts, limits)).transpose()?.unwrap_or_default();
                let (mut ranks, mut how) = (Vec::new(), Ended::Complete);
                for &known in known {
                    let key = (predicate, direction, known);
                    let (mut scores, ended) = match set {
                        Some(set) => set.scores(&solvers, direction, known, entities),
                        None => (vec![0.0; entities], Ended::Complete),
                    };
                    if ended != Ended::Complete {
                        how = ended;
                    }
                    if irreflexive[predicate.0 as usize] {
                        scores[known.index()] = f64::from(REFUSED);
                    }
                    for &target in &questions[&key] {
                        let goal = scores[target.index()];
                        let (least, most) = (goal * (1.0 - f64::from(TIE)), goal * (1.0 + f64::from(TIE)));
                        let negatives =
                            (0..entities).filter(|&e| truth[&key].binary_search(&Entity(e as u32)).is_err());
                        let (mut above, mut ties) = (0usize, 0usize);
                        for negative in negatives {
                            above += usize::from(scores[negative] > most);
                            ties += usize::from(scores[negative] >= least && scores[negative] <= most);
                        }
                        let (head, tail) = direction.pair(known, target);
                        let fact = Triple { head, predicate, tail };
                        let rank = 1.0 + above as f64 + self.share_of(ties, fact, direction);
                        ranks.push(Rank { fact, direction, rank });
                    }
                }
                let now = done.fetch_add(ranks.len(), Ordering::Relaxed) + ranks.len();
                watch(now, all);
                Ok((ranks, how))
            })
            .collect::<Result<_>>()?;
        let ended = answered.iter().map(|(_, ended)| *ended).find(|ended| *ended != Ended::Complete);
        let mut ranks: Vec<Rank> = answered.into_iter().flat_map(|(ranks, _)| ranks).collect();
        ranks.sort_by_key(|rank| (rank.fact, rank.direction));
        let protocol = self.protocol(data, 0, "rules, evaluated exactly".into());
        let left_out = data.split(self.split).len() - held_out.len();
        let mut without: Vec<Predicate> = tasks.keys().map(|(predicate, _)| *predicate).collect();
        without.dedup();
        without.retain(|predicate| sets.iter().all(|set| set.target != *predicate));
        let mut ranked = count(ranks, &[], data, protocol, left_out);
        ranked.without_rules = without.iter().map(|p| names.predicates.name(*p).to_owned()).collect();
        Ok((ranked, ended.unwrap_or(Ended::Complete)))
    }
}

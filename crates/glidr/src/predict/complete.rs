//! Completion: all new facts that the rules give over a whole graph, most probable first.
//!
//! In: a [`Reasoner`]. Out: a [`NewFact`] for every pair that something speaks for and no known fact holds. Every entity
//! of a fitting kind is asked for its tails, target by target; then the tails that are found are asked for their heads. A
//! fact is as probable as the less probable of both answers.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering as Memory};

use rayon::prelude::*;

use super::consistent::consistent;
use super::{Reasoner, with_features};
use crate::error::Result;
use crate::graph::{Direction, Entity, Predicate, Query, Split, Triple};
use crate::solve::{Limits, Solver};
use crate::util::progress::{Progress, Stage};

/// New tails of one head, at most, and new heads of one tail.
const MAX_ENDS: usize = 100;
/// So many facts of a target that are probable as tails are asked from the other end too, at most.
const MAX_ASKED_TWICE: usize = 200_000;

/// Which new facts are wanted.
#[derive(Clone, Debug)]
pub struct Completion {
    /// Only facts of at least this probability.
    pub min_probability: f64,
    /// At most so many, the most probable.
    pub limit: usize,
    /// Only facts about these predicates; about all where there are none.
    pub targets: Vec<Predicate>,
}

impl Default for Completion {
    fn default() -> Self {
        Completion { min_probability: 0.5, limit: 100_000, targets: Vec::new() }
    }
}

/// The ends that splits hold for a known one.
type HeldEnds = HashMap<Entity, Vec<(Entity, Split)>>;

/// A fact that the data lacks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewFact {
    /// The fact.
    pub fact: Triple,
    /// The probability that it is true.
    pub probability: f64,
    /// The place of the best rule that fires, among the rules of its target; none where none links both ends.
    pub rule: Option<usize>,
    /// Whether *test*, held out, has it.
    pub is_held_out: bool,
}

impl Eq for NewFact {}

impl Ord for NewFact {
    /// The more probable is greater; of equals the one that comes first.
    fn cmp(&self, other: &Self) -> Ordering {
        self.probability.total_cmp(&other.probability).then(other.fact.cmp(&self.fact))
    }
}

impl PartialOrd for NewFact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Reasoner<'_> {
    /// All new facts, most probable first; none contradicts a constraint that is used, or another new fact. `progress` is
    /// told how many targets are done, and may stop it: then the facts of those that are not done are missing.
    ///
    /// ```
    /// use glidr::internals::predict::Completion;
    /// use glidr::{Dataset, Learner, Method};
    /// let families = Dataset::families(0);
    /// let model = Learner { method: Method::Search, ..Learner::default() }.fit(&families)?;
    /// let new = model.on(&families)?.complete(&Completion::default(), &())?;
    /// assert!(new.iter().filter(|new| new.is_held_out).count() * 2 > new.len());
    /// # Ok::<(), glidr::Error>(())
    /// ```
    pub fn complete(&self, completion: &Completion, progress: &dyn Progress) -> Result<Vec<NewFact>> {
        let data = self.data();
        let mut targets: Vec<Predicate> = (0..data.names().predicates.len() as u32).map(Predicate).collect();
        targets.retain(|target| {
            let is_asked = completion.targets.is_empty() || completion.targets.contains(target);
            is_asked && self.predictor().is_target(*target) && self.predictor().has_rules(*target)
        });
        let done = AtomicUsize::new(0);
        let of_target = |&target: &Predicate| -> Result<Vec<NewFact>> {
            let new =
                if progress.is_stopped() { Vec::new() } else { self.complete_target(target, completion)? };
            progress.report(Stage::Completing, done.fetch_add(1, Memory::Relaxed) + 1, targets.len());
            Ok(new)
        };
        let found: Vec<Vec<NewFact>> = targets.par_iter().map(of_target).collect::<Result<_>>()?;
        let mut all: Vec<NewFact> = found.into_iter().flatten().collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        let mut all = consistent(all, self.constraints(), data.graph(self.reasoning().background))?;
        all.truncate(completion.limit);
        self.name_rules(&mut all)?;
        Ok(all)
    }

    fn complete_target(&self, target: Predicate, completion: &Completion) -> Result<Vec<NewFact>> {
        let Some(calibrated) = self.calibrated() else { return Ok(Vec::new()) };
        let (data, guard) = (self.data(), self.guard(target)?);
        let [mut tails_of, mut heads_of] = [HeldEnds::new(), HeldEnds::new()];
        for split in Split::ALL {
            for fact in data.split(split).iter().filter(|fact| fact.predicate == target) {
                tails_of.entry(fact.head).or_default().push((fact.tail, split));
                heads_of.entry(fact.tail).or_default().push((fact.head, split));
            }
        }
        let mut ready = self.predictor().target(target, guard.irreflexive())?;
        let mut probable = |direction: Direction, known: Entity, held: &HeldEnds| -> Vec<(Entity, f64)> {
            let query = Query { predicate: target, direction, known };
            if guard.is_full(query) {
                return Vec::new();
            }
            let held = held.get(&known).map_or(&[][..], Vec::as_slice);
            let known: Vec<Entity> =
                held.iter().filter(|(_, split)| guard.is_known(*split)).map(|(end, _)| *end).collect();
            let allowed = |end: Entity| guard.admits(query, end) && !known.contains(&end);
            let ranked = with_features(ready.as_mut(), query, MAX_ENDS, &allowed, known.len());
            let probabilities = calibrated.probabilities(query, &ranked);
            let answers = ranked.into_iter().zip(probabilities).map(|((answer, _), p)| (answer.entity, p));
            answers.take_while(|(_, probability)| *probability >= completion.min_probability).collect()
        };
        let mut best: BinaryHeap<Reverse<NewFact>> = BinaryHeap::new();
        let heads = (0..data.names().entities.len() as u32).map(Entity);
        for head in heads.filter(|&head| guard.is_of_kind(Direction::Head, head)) {
            for (tail, probability) in probable(Direction::Tail, head, &tails_of) {
                let held = tails_of.get(&head).map_or(&[][..], Vec::as_slice);
                let is_held_out = held.iter().any(|(end, _)| *end == tail);
                let fact = Triple { head, predicate: target, tail };
                best.push(Reverse(NewFact { fact, probability, rule: None, is_held_out }));
                if best.len() > MAX_ASKED_TWICE {
                    best.pop();
                }
            }
        }
        let mut found: Vec<NewFact> = best.into_iter().map(|Reverse(new)| new).collect();
        found.sort_unstable_by_key(|new| (new.fact.tail, new.fact.head));
        for of_tail in found.chunk_by_mut(|a, b| a.fact.tail == b.fact.tail) {
            let heads: HashMap<Entity, f64> =
                probable(Direction::Head, of_tail[0].fact.tail, &heads_of).into_iter().collect();
            for new in of_tail {
                new.probability = new.probability.min(heads.get(&new.fact.head).copied().unwrap_or(0.0));
            }
        }
        found.retain(|new| new.probability >= completion.min_probability);
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.truncate(completion.limit);
        Ok(found)
    }

    /// Names the best rule of every fact: of those that link both ends and fire, the most confident.
    fn name_rules(&self, facts: &mut [NewFact]) -> Result<()> {
        let Some(rules) = self.searched_rules() else { return Ok(()) };
        let neighbours = self.data().graph(self.reasoning().background).neighbours();
        let mut by_target: HashMap<Predicate, Vec<&mut NewFact>> = HashMap::new();
        for new in facts {
            by_target.entry(new.fact.predicate).or_default().push(new);
        }
        by_target.into_par_iter().try_for_each(|(target, facts)| {
            let Some(of_target) = rules.target(target) else { return Ok(()) };
            let solvers: Vec<(usize, Solver)> = of_target
                .linked_by_confidence()
                .into_iter()
                .map(|place| {
                    let rule = &of_target.rules[place].rule;
                    Ok((place, Solver::new(rule, neighbours, Limits::default())?))
                })
                .collect::<Result<_>>()?;
            for new in facts {
                let fires = |(_, solver): &&(usize, Solver)| solver.holds(new.fact.head, new.fact.tail).value;
                new.rule = solvers.iter().find(fires).map(|(place, _)| *place);
            }
            Ok(())
        })
    }
}

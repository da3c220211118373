//! Which target is searched when, and how long it may take.
//!
//! In: targets, and the time that is left. Out: what was tried for each. The costly ones come first, so that no thread is
//! left alone with one at the end; where time is limited the cheap ones do, which leave time over.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Context;
use super::choose::Tried;
use crate::graph::Predicate;
use crate::util::progress::{Budget, Progress, SearchStep, Stage};

/// Part of the time that is kept for what follows on the search of all targets.
const KEPT: f64 = 0.05;
/// A target costs as much as so many facts, whatever it has.
const BASE_COST: usize = 500;

/// How far the search of all targets has come.
pub(super) struct Told<'a> {
    progress: &'a dyn Progress,
    target: u32,
    done: &'a AtomicUsize,
    all: usize,
    ranks: &'a Mutex<(f64, usize)>,
}

impl Told<'_> {
    /// Tells what is done now.
    pub fn step(&self, step: SearchStep) {
        let (sum, queries) = *self.ranks.lock().unwrap_or_else(PoisonError::into_inner);
        let valid_mrr = (queries > 0).then(|| sum / queries as f64);
        let stage = Stage::Searching { target: self.target, step, valid_mrr };
        self.progress.report(stage, self.done.load(Ordering::Relaxed), self.all);
    }
}

impl Context<'_> {
    /// Searches targets on all threads; those that a stopped search did not begin are told apart. Of limited time every
    /// target gets a part by its cost; what one leaves over goes to those that follow.
    pub(super) fn search_all(&self, targets: &[Predicate]) -> (Vec<Tried>, Vec<Predicate>) {
        let budget = Budget::new(self.progress, self.progress.time_left());
        let costs: Vec<usize> = targets.iter().map(|&target| self.cost(target)).collect();
        let mut order: Vec<usize> = (0..targets.len()).collect();
        order.sort_by_key(|&place| (std::cmp::Reverse(costs[place]), place));
        if budget.time_left().is_some() {
            order.reverse();
        }
        // What all targets from one on in this order cost.
        let mut waiting: Vec<usize> = order.iter().map(|&place| costs[place]).collect();
        (1..waiting.len()).rev().for_each(|next| waiting[next - 1] += waiting[next]);
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let ranks = Mutex::new((0.0, 0));
        let found = rayon::broadcast(|broadcast| {
            let mut found = Vec::new();
            loop {
                let turn = next.fetch_add(1, Ordering::Relaxed);
                let Some(&place) = order.get(turn).filter(|_| !budget.is_stopped()) else { return found };
                let part = broadcast.num_threads() as f64 * costs[place] as f64 / waiting[turn] as f64;
                let time = budget.until(1.0 - KEPT).time_left().map(|left| left.mul_f64(part.min(1.0)));
                let target = targets[place];
                let told = Told {
                    progress: &budget,
                    target: target.0,
                    done: &done,
                    all: targets.len(),
                    ranks: &ranks,
                };
                let tried = self.search_target(target, Budget::new(&budget, time), &told);
                let (sum, queries) = tried.valid_ranks(self.search.aggregation);
                {
                    let mut ranks = ranks.lock().unwrap_or_else(PoisonError::into_inner);
                    *ranks = (ranks.0 + sum, ranks.1 + queries);
                }
                done.fetch_add(1, Ordering::Relaxed);
                told.step(SearchStep::Done);
                found.push((place, tried));
            }
        });
        let mut found: Vec<(usize, Tried)> = found.into_iter().flatten().collect();
        found.sort_by_key(|(place, _)| *place);
        let is_left_out = |place: &usize| found.binary_search_by_key(place, |(place, _)| *place).is_err();
        let left_out = (0..targets.len()).filter(is_left_out).map(|place| targets[place]).collect();
        (found.into_iter().map(|(_, tried)| tried).collect(), left_out)
    }

    /// What a target costs, about, beside others.
    fn cost(&self, target: Predicate) -> usize {
        self.steps.facts.count(target).min(self.search.max_facts) + BASE_COST
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::*;
    use crate::graph::Dataset;
    use crate::search::{Search, Searched};

    fn searched(progress: &dyn Progress) -> Searched {
        let families = Dataset::families(0);
        let targets: Vec<Predicate> = (0..12).map(Predicate).collect();
        Search::default().run(&families, None, &[], &targets, &[], progress).expect("a sound search")
    }

    #[test]
    fn a_search_that_is_stopped_before_it_begins_leaves_all_targets_out() {
        let found = searched(&AtomicBool::new(true));
        assert_eq!((found.rules.len(), found.left_out.len()), (0, 12));
    }

    #[test]
    fn with_time_enough_a_limit_changes_nothing() {
        let limited = searched(&Budget::new(&(), Some(Duration::from_hours(9))));
        let unlimited = searched(&());
        assert_eq!((limited.rules, limited.train_rules), (unlimited.rules, unlimited.train_rules));
    }

    #[test]
    fn with_little_time_every_target_is_searched_all_the_same() {
        let found = searched(&Budget::new(&(), Some(Duration::from_millis(600))));
        assert!(found.left_out.is_empty(), "{:?}", found.left_out);
        assert!(found.rules.len() > 6, "{}", found.rules.len());
    }
}

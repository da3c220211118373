//! One protocol for all that takes long: how far it has come, and whether it should stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What long work is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stage {
    /// Soft rules are trained, step by step.
    Training {
        /// Targets all of whose rules are trained.
        targets: usize,
        /// Targets there are.
        all_targets: usize,
        /// Mean loss of the latest steps.
        loss: f32,
    },
    /// Weights of soft rules are learned, target by target.
    RuleWeights,
    /// Rules are searched, target by target.
    Searching {
        /// The number of the predicate that was worked on last.
        target: u32,
        /// What is done with it.
        step: SearchStep,
        /// Mean reciprocal rank on *valid* of the targets that are done, where *valid* asks about them.
        valid_mrr: Option<f64>,
    },
    /// Support and confidence of rules are counted, rule by rule.
    Measuring,
    /// Mixing weights are chosen, query by query.
    Mixing,
    /// Probabilities are fitted or checked, target by target.
    Calibrating,
    /// New facts are looked for, target by target.
    Completing,
    /// Held-out facts are ranked, query by query.
    Ranking,
}

/// A part of the search for one target's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStep {
    /// So many bodies are counted.
    Counting(usize),
    /// The best bodies are selected, and some are joined.
    Selecting,
    /// Weights are fitted.
    Fitting,
    /// The target is done.
    Done,
}

/// Is told how far long work has come, and asked whether the work should stop.
///
/// `()` hears nothing and never stops the work; an [`AtomicBool`] stops it once it is set; a function is told and never
/// stops it.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use glidr::internals::predict::Rules;
/// use glidr::{Dataset, Evaluation, RuleSet, Stage};
/// let families = Dataset::families(0);
/// let rules = RuleSet::parse("own rules", "1.0 :: wife(X, Y) :- husband(Y, X).", families.names())?;
/// let last = AtomicUsize::new(0);
/// let told = |_: Stage, done: usize, _: usize| { last.fetch_max(done, Ordering::Relaxed); };
/// let report = Evaluation::default().run(&Rules::new(rules.targets(), &families), &families, &told)?;
/// assert_eq!(last.into_inner(), report.ranks.len());
/// # Ok::<(), glidr::Error>(())
/// ```
pub trait Progress: Sync {
    /// So many are done, of all. Told from any thread, not always in order.
    fn report(&self, stage: Stage, done: usize, all: usize);

    /// Whether the work should stop at the next place where it can.
    fn is_stopped(&self) -> bool {
        false
    }

    /// How much time the work may still take; none where there is no limit. Work that has less than it needs does less.
    fn time_left(&self) -> Option<Duration> {
        None
    }
}

/// A limited time for some work, told to the same [`Progress`].
///
/// ```
/// use std::time::Duration;
/// use glidr::Progress;
/// use glidr::internals::util::progress::Budget;
/// let all = Budget::new(&(), Some(Duration::from_secs(60)));
/// assert!(!all.is_stopped() && all.until(0.0).is_stopped());
/// assert!(all.until(0.5).time_left().expect("a limit") <= Duration::from_secs(30));
/// assert_eq!(Budget::new(&(), None).until(0.5).time_left(), None);
/// ```
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    progress: &'a dyn Progress,
    started: Instant,
    time: Option<Duration>,
}

impl<'a> Budget<'a> {
    /// A time that begins now; without a limit the work ends when it is done or stopped.
    pub fn new(progress: &'a dyn Progress, time: Option<Duration>) -> Self {
        Budget { progress, started: Instant::now(), time }
    }

    /// The same up to a share of its time.
    #[must_use]
    pub fn until(&self, share: f64) -> Self {
        Budget { time: self.time.map(|time| time.mul_f64(share.clamp(0.0, 1.0))), ..*self }
    }
}

impl Progress for Budget<'_> {
    fn report(&self, stage: Stage, done: usize, all: usize) {
        self.progress.report(stage, done, all);
    }

    fn is_stopped(&self) -> bool {
        self.progress.is_stopped() || self.time.is_some_and(|time| self.started.elapsed() >= time)
    }

    fn time_left(&self) -> Option<Duration> {
        let own = self.time.map(|time| time.saturating_sub(self.started.elapsed()));
        let outer = self.progress.time_left();
        own.map_or(outer, |own| Some(outer.map_or(own, |outer| outer.min(own))))
    }
}

impl Progress for () {
    fn report(&self, _: Stage, _: usize, _: usize) {}
}

impl Progress for AtomicBool {
    fn report(&self, _: Stage, _: usize, _: usize) {}

    fn is_stopped(&self) -> bool {
        self.load(Ordering::Relaxed)
    }
}

impl<F: Fn(Stage, usize, usize) + Sync> Progress for F {
    fn report(&self, stage: Stage, done: usize, all: usize) {
        self(stage, done, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_inside_another_ends_with_the_shorter_of_both() {
        let (long, short) = (Duration::from_hours(9), Duration::from_mins(1));
        let outer = Budget::new(&(), Some(short));
        assert!(Budget::new(&outer, Some(long)).time_left().expect("a limit") <= short);
        let outer = Budget::new(&(), Some(Duration::MAX));
        assert!(Budget::new(&outer, Some(short)).time_left().expect("a limit") <= short);
        assert!(!outer.is_stopped(), "the longest time is no overflow");
    }

    #[test]
    fn a_budget_is_stopped_with_the_work_it_is_a_part_of() {
        let stop = AtomicBool::new(false);
        let budget = Budget::new(&stop, None);
        assert!(!budget.is_stopped());
        stop.store(true, Ordering::Relaxed);
        assert!(budget.until(0.5).is_stopped());
    }
}

//! One protocol for all that takes long: how far it has come, and whether it should stop.

use std::sync::atomic::{AtomicBool, Ordering};

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
    Searching,
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

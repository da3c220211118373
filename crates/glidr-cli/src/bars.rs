//! Progress bars: one for each stage of long work, and the wish to stop it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use glidr::internals::graph::{Names, Predicate};
use glidr::{Progress, SearchStep, Stage};
use indicatif::ProgressBar;

use crate::output::{Output, counted, visible};

/// Shows how far long work has come.
pub struct Bars<'a> {
    output: &'a Output,
    stop: Arc<AtomicBool>,
    /// The names of the predicates.
    predicates: Option<&'a Names<Predicate>>,
    /// The bar of the present stage, by the stage's kind.
    shown: Mutex<Option<(std::mem::Discriminant<Stage>, ProgressBar)>>,
}

impl<'a> Bars<'a> {
    /// Bars of work that nothing stops.
    pub fn new(output: &'a Output) -> Self {
        Bars::stopped_by(output, Arc::default())
    }

    /// Bars of work that stops once `stop` is set.
    pub fn stopped_by(output: &'a Output, stop: Arc<AtomicBool>) -> Self {
        Bars { output, stop, predicates: None, shown: Mutex::new(None) }
    }

    /// The same with names for predicates.
    pub fn naming(self, predicates: &'a Names<Predicate>) -> Self {
        Bars { predicates: Some(predicates), ..self }
    }

    /// Takes the last bar away.
    pub fn finish(&self) {
        if let Some((_, bar)) = self.shown.lock().unwrap_or_else(PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Bars<'_> {
    fn report(&self, stage: Stage, done: usize, all: usize) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = std::mem::discriminant(&stage);
        if shown.as_ref().is_some_and(|(known, _)| *known != kind) {
            shown.take().into_iter().for_each(|(_, bar)| bar.finish_and_clear());
        }
        let (_, bar) = shown.get_or_insert_with(|| (kind, self.output.bar(all as u64, template(stage))));
        bar.set_length(all as u64);
        bar.set_position(bar.position().max(done as u64));
        match stage {
            Stage::Training { targets, all_targets, loss } => {
                bar.set_message(format!("{targets} of {}, loss {loss:.1}", counted(all_targets, "target")));
            }
            Stage::Searching { target, step, valid_mrr } => {
                let name = self.predicates.and_then(|names| names.get(Predicate(target))).unwrap_or_default();
                bar.set_message(searching(name, step, valid_mrr));
            }
            _ => {}
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// What is going on in a target, and how well those before do.
fn searching(name: &str, step: SearchStep, valid_mrr: Option<f64>) -> String {
    let name: String = visible(name).chars().take(30).collect();
    let doing = match step {
        SearchStep::Counting(bodies) => format!("{name}: {} counted", counted(bodies, "body")),
        SearchStep::Selecting => format!("{name}: rules are selected"),
        SearchStep::Fitting => format!("{name}: weights are fitted"),
        SearchStep::Done => format!("{name} is done"),
    };
    valid_mrr.map_or(doing.clone(), |mrr| format!("{doing}; MRR {mrr:.3} on valid so far"))
}

fn template(stage: Stage) -> &'static str {
    match stage {
        Stage::Training { .. } => "{bar:30} {msg}  {elapsed} gone, {eta} left",
        Stage::RuleWeights => "{bar:30} rule weights of {pos} of {len} targets  {elapsed} gone",
        Stage::Searching { .. } => {
            "{bar:30} {pos} of {len} targets searched  {elapsed} gone, {eta} left  {msg}"
        }
        Stage::Measuring => "{bar:30} {pos} of {len} rules counted  {elapsed} gone, {eta} left",
        Stage::Calibrating => "{bar:30} probabilities of {pos} of {len} targets  {elapsed} gone, {eta} left",
        Stage::Completing => "{bar:30} {pos} of {len} targets completed  {elapsed} gone, {eta} left",
        Stage::Mixing => "{bar:30} mixing weights: {pos} of {len} queries  {elapsed} gone, {eta} left",
        _ => "{bar:30} {pos} of {len} queries  {elapsed} gone, {eta} left",
    }
}

//! What one thread of a run does: it takes a unit in turn, and trains it for some steps.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use rayon::prelude::*;

use super::passes::Workspace;
use super::unit::{Context, MAX_VALIDATION, MIN_VALIDATION, Unit};
use super::{Run, Sampler, lock};
use crate::graph::{MaskedGraph, Predicate};
use crate::model::Positives;

/// Steps that every unit gets before any gets more.
const FIRST_TURN: usize = 64;

/// How the work of one thread on one unit ended.
pub(super) enum UnitEnd {
    Done,
    Stopped,
    Diverged,
}

impl Run<'_> {
    /// The unit of a turn, and the step it is trained to. All units are trained for a few steps, then all for as many
    /// more as they had: so rules of a run that is stopped have learned about as much as one another.
    pub(super) fn turn(&self, turn: usize) -> Option<(&Mutex<Unit>, usize)> {
        let (round, place) = (turn / self.units.len().max(1), turn % self.units.len().max(1));
        let before = FIRST_TURN.checked_shl(round as u32).map_or(usize::MAX, |last| last / 2);
        let is_open = round == 0 || before < self.training.steps;
        let last = before.saturating_mul(2).max(1).min(self.training.steps);
        self.units.get(place).filter(|_| is_open).map(|unit| (unit, last))
    }

    /// Trains one unit to a step, and validates it after its last; unless stopped before.
    pub(super) fn train_unit(
        &self,
        unit: &Mutex<Unit>,
        last: usize,
        workspace: &mut Workspace,
        stopped: &dyn Fn() -> bool,
    ) -> UnitEnd {
        let target = lock(unit).target;
        let sampler = Sampler::new(self.data, target, &self.training);
        let (context, mut masked) = (self.context(&sampler), self.masked(target));
        loop {
            if stopped() {
                return UnitEnd::Stopped;
            }
            // Locked for one step: a checkpoint always sees whole steps.
            let mut unit = lock(unit);
            if unit.is_done() || (unit.step >= last && last < self.training.steps) {
                return UnitEnd::Done;
            }
            if unit.step < self.training.steps {
                unit.train(&context, &mut masked, workspace);
                if !unit.is_sound() {
                    return UnitEnd::Diverged;
                }
                self.steps.fetch_add(1, Ordering::Relaxed);
            } else {
                unit.validate(&context, &mut masked, workspace, MAX_VALIDATION);
            }
        }
    }

    /// Validates, in short, what was trained before the run was stopped, so that it makes a model too.
    pub fn validate_stopped(&self) {
        let open: Vec<&Mutex<Unit>> = self.units.iter().filter(|unit| lock(unit).is_open()).collect();
        open.into_par_iter().for_each_init(Workspace::default, |workspace, unit| {
            let target = lock(unit).target;
            let sampler = Sampler::new(self.data, target, &self.training);
            let (context, mut masked) = (self.context(&sampler), self.masked(target));
            lock(unit).validate(&context, &mut masked, workspace, MIN_VALIDATION);
        });
    }

    /// What a target's units read.
    fn context<'a>(&'a self, sampler: &'a Sampler<'a>) -> Context<'a> {
        Context {
            training: &self.training,
            schema: self.schema,
            engine: self.engine,
            training_graph: self.graphs[0].adjacency(),
            validation_graph: self.graphs[1].adjacency(),
            sampler,
        }
    }

    /// The background without a batch's own facts, where these stand in it.
    fn masked(&self, target: Predicate) -> Option<MaskedGraph> {
        let all = self.training.positives == Positives::All;
        all.then(|| MaskedGraph::new(self.graphs[0].adjacency(), target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Dataset;
    use crate::model::Training;

    #[test]
    fn all_units_get_some_steps_before_any_gets_as_many_more() {
        let families = Dataset::families(0);
        let targets = vec!["uncle".into(), "wife".into(), "aunt".into()];
        let training = Training { targets, steps: 200, joint_loss: 1.0, ..Training::default() };
        let run = Run::new(training, &families).expect("a sound training");
        assert_eq!(run.units.len(), 3);
        let turns: Vec<usize> = (0..).map_while(|turn| run.turn(turn)).map(|(_, last)| last).collect();
        assert_eq!(turns, [64, 64, 64, 128, 128, 128, 200, 200, 200]);
    }

    #[test]
    fn a_run_that_is_stopped_is_validated_and_makes_a_model() {
        let families = Dataset::families(0);
        let training = Training { targets: vec!["wife".into()], ..Training::default() };
        let run = Run::new(training, &families).expect("a sound training");
        let (mut workspace, unit) = (Workspace::default(), &run.units[0]);
        run.train_unit(unit, 3, &mut workspace, &|| false);
        assert!(lock(unit).is_open());
        run.validate_stopped();
        assert!(run.into_model(&()).count() > 0);
    }
}

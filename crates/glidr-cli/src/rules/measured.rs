//! Rules with what is counted of them: filtered, sorted, and compared with the soft rules they were taken from.

use std::sync::Arc;
use std::time::Duration;

use glidr::internals::evaluate::fidelity;
use glidr::internals::graph::{Entity, KnowledgeGraph};
use glidr::internals::model::{Ensemble, Extraction, SoftModel};
use glidr::internals::rule::RuleNames;
use glidr::internals::solve::{Limits, Solver};
use glidr::{Dataset, Split};

use super::{HeldOutSplit, Rules, Sort};
use crate::listing::Shown;

/// What rules are measured on.
pub struct Ground<'d> {
    pub graph: Arc<KnowledgeGraph>,
    pub data: &'d Dataset,
}

impl Rules {
    /// Counts a rule; none where a filter leaves it out.
    pub(super) fn measured(
        &self,
        mut shown: Shown,
        ground: Option<&Ground>,
        names: RuleNames,
    ) -> anyhow::Result<Option<Shown>> {
        let Some(ground) = ground else { return Ok(Some(shown)) };
        let limits = Limits { time: Some(Duration::from_secs(self.time)), answers: None };
        let solver = Solver::new(&shown.rule, ground.graph.neighbours(), limits)?;
        let counted = solver.measure();
        let measures = counted.value;
        let too_low = self.min_confidence.is_some_and(|least| measures.confidence() < least)
            || self.min_support.is_some_and(|least| measures.support < least);
        if too_low {
            return Ok(None);
        }
        shown.measures = Some(counted);
        if let Some(split) = self.split {
            let split = if split == HeldOutSplit::Valid { Split::Valid } else { Split::Test };
            let target = ground.data.names().predicates.find(names.predicates.name(shown.rule.target));
            let of_target = ground.data.split(split).iter().filter(|fact| Some(fact.predicate) == target);
            let held_out: Vec<(Entity, Entity)> = of_target.map(|fact| (fact.head, fact.tail)).collect();
            shown.held_out = Some(solver.measure_on(&held_out));
        }
        Ok(Some(shown))
    }

    /// Sorts the rules of one target, and keeps as many as asked.
    pub(super) fn sort(&self, rules: &mut Vec<Shown>) {
        let by = |shown: &Shown| -> f64 {
            let counted = shown.measures.as_ref().map_or([0.0; 4], |counted| {
                let m = counted.value;
                [m.confidence(), m.pca_confidence(), m.support as f64, m.head_coverage()]
            });
            match self.sort {
                Sort::Weight => shown.standing(),
                Sort::Confidence => counted[0],
                Sort::Pca => counted[1],
                Sort::Support => counted[2],
                Sort::Coverage => counted[3],
                Sort::F1 => shown.held_out.map_or(0.0, |held_out| held_out.f1),
            }
        };
        rules.sort_by(|a, b| by(b).total_cmp(&by(a)));
        rules.truncate(self.limit.unwrap_or(usize::MAX));
    }
}

/// How far a rule agrees with the soft rule of most weight that it stands for.
pub fn agreement(
    model: &SoftModel,
    ensemble: &Ensemble,
    extraction: Extraction,
    shown: &Shown,
    ground: &Ground,
) -> anyhow::Result<Option<f64>> {
    let same = |alone: &&glidr::internals::model::SoftRule| {
        let alone = Ensemble { target: ensemble.target, rules: vec![(**alone).clone()] };
        alone.extract(&model.schema, extraction)[0].0 == shown.rule
    };
    let soft = ensemble.rules.iter().filter(same).max_by(|a, b| a.weight.total_cmp(&b.weight));
    let Some(soft) = soft else { return Ok(None) };
    let rounds = model.training.rounds;
    Ok(fidelity(soft, &shown.rule, model.schema, &ground.graph, rounds)?)
}

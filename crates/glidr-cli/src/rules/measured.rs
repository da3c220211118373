//! Rules with what is counted of them: filtered, sorted, and compared with the soft rules they were taken from.

use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use glidr::internals::evaluate::fidelity;
use glidr::internals::graph::{Entity, KnowledgeGraph};
use glidr::internals::model::{Ensemble, Extraction, SoftModel};
use glidr::internals::rule::{RuleNames, WeightedRule};
use glidr::internals::solve::{Limits, Solver};
use glidr::{Dataset, Split};

use super::{HeldOutSplit, Rules};
use crate::listing::{Format, Shown};
use crate::output::Output;

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(super) enum Sort {
    /// Support / (answers + 5): confidence where little evidence counts little
    Best,
    /// Weight: of the soft rules, or in a text or a search
    Weight,
    /// Confidence
    Confidence,
    /// Confidence where the head has a known tail
    Pca,
    /// Support
    Support,
    /// Share of the target's facts
    Coverage,
    /// F1 on the split given
    F1,
}

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
        let limits = Limits { time: Some(Duration::from_secs(self.time)), answers: None };
        let solver =
            ground.map(|ground| Solver::new(&shown.rule, ground.graph.neighbours(), limits)).transpose()?;
        if let Some(solver) = &solver {
            shown.measures = Some(solver.measure());
        }
        let measures = shown.measures.map(|counted| counted.value);
        let is_low = |least: f64| measures.is_none_or(|measures| measures.confidence() < least);
        let is_rare = |least: usize| measures.is_none_or(|measures| measures.support < least);
        if self.min_confidence.is_some_and(is_low) || self.min_support.is_some_and(is_rare) {
            return Ok(None);
        }
        if let (Some(split), Some(solver), Some(ground)) = (self.split, &solver, ground) {
            let split = if split == HeldOutSplit::Valid { Split::Valid } else { Split::Test };
            let target = ground.data.names().predicates.find(names.predicates.name(shown.rule.target));
            let of_target = ground.data.split(split).iter().filter(|fact| Some(fact.predicate) == target);
            let held_out: Vec<(Entity, Entity)> = of_target.map(|fact| (fact.head, fact.tail)).collect();
            shown.held_out = Some(solver.measure_on(&held_out));
        }
        Ok(Some(shown))
    }

    /// The rules of all targets, best first, or target by target: as many as asked for, and how many there are.
    pub(super) fn sorted(&self, mut by_target: Vec<Vec<Shown>>, output: &Output) -> (Vec<Shown>, usize) {
        let all = by_target.iter().map(Vec::len).sum();
        if !self.per_target {
            by_target = vec![by_target.into_iter().flatten().collect()];
        }
        let in_table = self.format == Format::Table && !output.json;
        let limit = match self.limit {
            Some(0) => usize::MAX,
            Some(limit) => limit,
            None if in_table && !self.per_target => 20,
            None => usize::MAX,
        };
        let as_they_stand = self.format.dialect().is_some() || self.format == Format::Text;
        for rules in &mut by_target {
            if as_they_stand && !output.json && self.sort.is_none() && limit == usize::MAX {
                continue;
            }
            rules.sort_by(|a, b| self.worth(b).total_cmp(&self.worth(a)));
            rules.truncate(limit);
        }
        (by_target.into_iter().flatten().collect(), all)
    }

    fn worth(&self, shown: &Shown) -> f64 {
        let Some(m) = shown.measures.as_ref().map(|counted| counted.value) else {
            return if matches!(self.sort, None | Some(Sort::Best | Sort::Weight)) {
                shown.standing()
            } else {
                0.0
            };
        };
        match self.sort.unwrap_or(Sort::Best) {
            Sort::Best => WeightedRule::counted(shown.rule.clone(), m).rating(),
            Sort::Weight => shown.standing(),
            Sort::Confidence => m.confidence(),
            Sort::Pca => m.pca_confidence(),
            Sort::Support => m.support as f64,
            Sort::Coverage => m.head_coverage(),
            Sort::F1 => shown.held_out.map_or(0.0, |held_out| held_out.f1),
        }
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

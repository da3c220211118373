//! Soft rules as a predictor: scores by message passing.
//!
//! In: a [`SoftModel`] and a [`Dataset`]. Out: sums of the rules' scores by their weights. Upper bounds leave few
//! candidates to be scored, which changes no comparison. Paper: `sec:message-passing`.

mod by_head;
mod dense;
mod sparse;
mod target;

pub use target::SoftTarget;

use super::{Predictor, TargetPredictor};
use crate::error::{Error, Result};
use crate::explain::{Detail, Explainer, Explanation, NamedTrace, SoftEvidence, trace};
use crate::graph::{Background, ClassMatrix, Dataset, Entity, Predicate, Query, Triple};
use crate::infer::{Engine, lane_width};
use crate::model::{Ensemble, Extraction, SoftModel, View};
use crate::rule::WeightedRule;

/// So many queries are compared at once with the sparse engine, so that heads are shared.
const SPARSE_BATCH: usize = 256;

/// How rules are scored by message passing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessagePassing {
    /// Rounds, at least 1.
    pub rounds: usize,
    /// The engine: none changes a rank.
    pub engine: Engine,
    /// Hard rules by this extraction; soft rules where none is given.
    pub extraction: Option<Extraction>,
}

impl MessagePassing {
    /// Soft rules in as many rounds as a model was trained with.
    pub fn of(model: &SoftModel) -> Self {
        MessagePassing { rounds: model.training.rounds, engine: Engine::Auto, extraction: None }
    }
}

/// A model's soft rules on some data.
pub struct Soft<'a> {
    model: &'a SoftModel,
    data: &'a Dataset,
    background: Background,
    view: View,
    passing: MessagePassing,
}

impl<'a> Soft<'a> {
    /// Soft rules that look up *facts* and *train*, scored as they were trained.
    pub fn new(model: &'a SoftModel, data: &'a Dataset) -> Result<Self> {
        Soft::with(model, data, Background::Train, MessagePassing::of(model))
    }

    /// The same on another background, or scored in another way.
    pub fn with(
        model: &'a SoftModel,
        data: &'a Dataset,
        background: Background,
        passing: MessagePassing,
    ) -> Result<Self> {
        if passing.rounds == 0 {
            return Err(Error::Setting("rounds must be at least 1, but is 0".into()));
        }
        let view = model.view(data, background)?;
        Ok(Soft { model, data, background, view, passing })
    }

    /// Predicates and properties of the model that the data lacks: they hold nowhere there.
    pub fn lacking(&self) -> &[String] {
        &self.view.lacking
    }

    /// The number of a model's target: the data's, or one after all of these where the data lacks the predicate.
    pub fn number(model: &SoftModel, data: &Dataset, target: &str) -> Result<Predicate> {
        let (of_model, names) = (model.target(target)?.target, &data.names().predicates);
        Ok(names.find(target).unwrap_or(Predicate(names.len() as u32 + of_model.0)))
    }

    fn name(&self, predicate: Predicate) -> &str {
        let names = &self.data.names().predicates;
        match names.get(predicate) {
            Some(name) => name,
            None => self.model.predicates.name(Predicate(predicate.0 - names.len() as u32)),
        }
    }

    fn graph(&self) -> &ClassMatrix {
        self.view.graph.adjacency()
    }

    fn ensemble(&self, predicate: Predicate) -> Option<&Ensemble> {
        self.model.target(self.name(predicate)).ok()
    }
}

impl Predictor for Soft<'_> {
    fn scoring(&self) -> String {
        self.passing.extraction.map_or("soft".into(), |extraction| extraction.to_string())
    }

    fn rounds(&self) -> usize {
        self.passing.rounds
    }

    fn is_target(&self, predicate: Predicate) -> bool {
        self.model.ranks(self.name(predicate))
    }

    fn has_rules(&self, predicate: Predicate) -> bool {
        self.ensemble(predicate).is_some_and(|ensemble| !ensemble.rules.is_empty())
    }

    fn batch_size(&self) -> usize {
        let graph = self.graph();
        if self.passing.engine.chosen(graph) == Engine::Sparse { SPARSE_BATCH } else { lane_width(graph) }
    }

    fn target(&self, target: Predicate, _irreflexive: bool) -> Result<Box<dyn TargetPredictor + '_>> {
        let none = Ensemble { target, rules: Vec::new() };
        let ensemble = self.ensemble(target).unwrap_or(&none);
        Ok(Box::new(SoftTarget::new(ensemble, self.model.schema, self.graph(), self.passing)))
    }

    fn without(&self, fact: Triple) -> Result<Option<Box<dyn Predictor + '_>>> {
        if !self.data.graph(self.background).holds(fact) {
            return Ok(None);
        }
        let view = self.model.view_without(self.data, self.background, Some(fact))?;
        Ok(Some(Box::new(Soft { view, ..*self })))
    }

    fn evidence(&self, query: Query, candidate: Entity, detail: &Detail) -> Result<Explanation> {
        let score = self.target(query.predicate, false)?.scores(query, &[candidate])[0];
        let mut explanation = Explanation::of(score);
        if let Some(ensemble) = self.ensemble(query.predicate) {
            let pair = query.direction.pair(query.known, candidate);
            self.explain_rules(ensemble, pair, detail, &mut explanation)?;
            explanation.soft = self.soft_evidence(ensemble, pair, detail);
        }
        Ok(explanation)
    }
}

impl Soft<'_> {
    /// What hard rules taken from the soft ones say of a pair, most confident first.
    fn explain_rules(
        &self,
        ensemble: &Ensemble,
        pair: (Entity, Entity),
        detail: &Detail,
        explanation: &mut Explanation,
    ) -> Result<()> {
        if detail.max_firing + detail.max_failing == 0 {
            return Ok(());
        }
        let explainer = Explainer {
            neighbours: self.view.graph.neighbours(),
            rule_names: self.model.names(),
            entities: &self.data.names().entities,
            limits: detail.limits,
        };
        let extraction = self.passing.extraction.unwrap_or(Extraction::TopP(0.25));
        let mut rules = Vec::new();
        for (rule, weight) in ensemble.extract(&self.model.schema, extraction) {
            let weighted = WeightedRule::new(rule, f64::from(weight));
            rules.push(explainer.rule(&weighted, f64::from(weight), pair)?);
        }
        rules.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then(b.support.cmp(&a.support)));
        for rule in rules {
            explanation.add_rule(rule, detail);
        }
        Ok(())
    }

    /// How the score of a pair comes together, largest contribution first.
    fn soft_evidence(
        &self,
        ensemble: &Ensemble,
        pair: (Entity, Entity),
        detail: &Detail,
    ) -> Vec<SoftEvidence> {
        let schema = self.model.schema;
        let mut soft = Vec::new();
        if detail.max_traces == 0 {
            return soft;
        }
        let weights = ensemble.weights(&schema, self.passing.extraction);
        for (number, (weights, rule)) in weights.iter().zip(&ensemble.rules).enumerate() {
            let trace =
                trace(weights, schema, self.graph(), pair, self.passing.rounds, detail.domain_entities);
            let trace = NamedTrace::new(&trace, self.model.names(), &self.data.names().entities);
            soft.push(SoftEvidence::new(number + 1, rule.weight, trace));
        }
        soft.sort_by(|a, b| b.contribution.total_cmp(&a.contribution).then(b.weight.total_cmp(&a.weight)));
        soft.iter_mut().skip(detail.max_traces).for_each(|evidence| evidence.trace = None);
        soft
    }
}

//! Soft rules: logits over a schema, the ensemble of one target, and all targets with the names they go by.
//!
//! In: logits that training found. Out: weights for message passing, and rules as logic. Paper: `sec:graph-like-syntax`.

use std::sync::Arc;

use super::{Extraction, Loss, Training};
use crate::error::{Error, Result};
use crate::graph::{
    Background, Dataset, KnowledgeGraph, Names, Predicate, Property, PropertyFact, Sizes, Triple, Vocabulary,
};
use crate::infer::{Logits, Slots, Weights};
use crate::rule::{Rule, RuleNames, RuleSet, Schema};

/// One learned rule definition: logits over a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct SoftRule {
    /// The logits θ.
    pub logits: Logits,
    /// Mean validation loss.
    pub loss: f32,
    /// Its part in the score of its target: l_min / l, or 1 with the listwise loss, or learned.
    pub weight: f32,
}

/// The rule definitions of one target, whose score is the sum of theirs by weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Ensemble {
    /// The predicate they define, by the model's numbers.
    pub target: Predicate,
    /// The definitions; none where training had no positives.
    pub rules: Vec<SoftRule>,
}

/// The soft rules of all targets, and how they were trained.
#[derive(Clone, Debug, PartialEq)]
pub struct SoftModel {
    /// The schema that all rules share.
    pub schema: Schema,
    /// Names of the predicates, by the model's numbers.
    pub predicates: Names<Predicate>,
    /// Names of the properties.
    pub properties: Names<Property>,
    /// How it was trained.
    pub training: Training,
    /// The ensembles, by target.
    pub ensembles: Vec<Ensemble>,
}

/// A data set seen through a model: its facts under the model's numbers.
#[derive(Clone, Debug)]
pub struct View {
    /// The background graph; entities have the data set's numbers, predicates the model's.
    pub graph: Arc<KnowledgeGraph>,
    /// Predicates and properties of the model that the data lacks.
    pub lacking: Vec<String>,
}

impl SoftModel {
    /// The ensemble for the target called `name`, or an error with the nearest names.
    pub fn target(&self, name: &str) -> Result<&Ensemble> {
        let named = |ensemble: &Ensemble| self.predicates.name(ensemble.target);
        if let Some(found) = self.ensembles.iter().find(|ensemble| named(ensemble) == name) {
            return Ok(found);
        }
        let known = Names::<Predicate>::new(self.ensembles.iter().map(named));
        Err(Error::UnknownName { kind: "target", name: name.to_owned(), near: known.near(name) })
    }

    /// How many soft rules there are.
    pub fn count(&self) -> usize {
        self.ensembles.iter().map(|ensemble| ensemble.rules.len()).sum()
    }

    /// Whether facts about the predicate called `name` are ranked: all are, unless it was told what to learn.
    pub fn ranks(&self, name: &str) -> bool {
        self.training.targets.is_empty() || self.target(name).is_ok()
    }

    /// The same with the rule weights that the loss of training gives, where they were learned: those have seen more of
    /// *valid*.
    #[must_use]
    pub fn with_loss_weights(&self) -> Self {
        let mut model = self.clone();
        model.ensembles.iter_mut().for_each(|ensemble| ensemble.weigh(self.training.loss));
        model
    }

    /// The names that its rules are printed with.
    pub fn names(&self) -> RuleNames<'_> {
        RuleNames { predicates: &self.predicates, properties: &self.properties, entities: None }
    }

    /// The names of its predicates and properties; its rules have no constants.
    pub fn vocabulary(&self) -> Vocabulary {
        let (predicates, properties) = (self.predicates.clone(), self.properties.clone());
        Vocabulary { predicates, properties, ..Vocabulary::default() }
    }

    /// The hard rules that an extraction takes from all ensembles, by the model's numbers and without weights.
    pub fn rule_set(&self, extraction: Extraction) -> RuleSet {
        let rules = self.ensembles.iter().flat_map(|ensemble| ensemble.extract(&self.schema, extraction));
        rules.map(|(rule, _)| rule).collect()
    }

    /// Looks at `data` through this model: rules travel to other entities by predicate names.
    ///
    /// What the data lacks is told in [`View::lacking`] and holds nowhere; data that has none of
    /// the model's predicates is refused.
    pub fn view(&self, data: &Dataset, background: Background) -> Result<View> {
        self.view_without(data, background, None)
    }

    /// The same without one fact: a rule that is asked about a fact must not look it up.
    pub fn view_without(
        &self,
        data: &Dataset,
        background: Background,
        without: Option<Triple>,
    ) -> Result<View> {
        let names = data.names();
        if self.predicates.iter().all(|name| names.predicates.find(name).is_none()) {
            return Err(Error::Mismatch(format!(
                "the model's predicates must occur in the data, but {} has none of them: {}",
                data.source,
                self.predicates.iter().collect::<Vec<_>>().join(", ")
            )));
        }
        let graph = data.graph(background);
        let without = without.filter(|&fact| graph.holds(fact)).map(|fact| Arc::new(graph.without(fact)));
        let graph = without.as_ref().unwrap_or(graph);
        let graph = if (&self.predicates, &self.properties) == (&names.predicates, &names.properties) {
            Arc::clone(graph)
        } else {
            Arc::new(self.renumbered(graph, names))
        };
        Ok(View { graph, lacking: self.lacking(data) })
    }

    /// The facts of a graph under the model's numbers; facts about what the model does not know are dropped.
    fn renumbered(&self, graph: &KnowledgeGraph, names: &Vocabulary) -> KnowledgeGraph {
        let predicates: Vec<Option<Predicate>> =
            names.predicates.iter().map(|name| self.predicates.find(name)).collect();
        let properties: Vec<Option<Property>> =
            names.properties.iter().map(|name| self.properties.find(name)).collect();
        let facts = graph
            .facts()
            .iter()
            .filter_map(|fact| Some(Triple { predicate: predicates[fact.predicate.index()]?, ..*fact }));
        let property_facts = graph
            .property_facts()
            .iter()
            .filter_map(|fact| Some(PropertyFact { property: properties[fact.property.index()]?, ..*fact }));
        let sizes = Sizes {
            entities: graph.entities(),
            predicates: self.predicates.len(),
            properties: self.properties.len(),
        };
        KnowledgeGraph::new(sizes, facts.collect(), property_facts.collect())
    }

    /// The model's predicates and properties that `data` lacks.
    pub fn lacking(&self, data: &Dataset) -> Vec<String> {
        let names = data.names();
        let predicates = self.predicates.iter().filter(|name| names.predicates.find(name).is_none());
        let properties = self.properties.iter().filter(|name| names.properties.find(name).is_none());
        predicates.chain(properties).map(String::from).collect()
    }
}

impl Ensemble {
    /// The weights of its rules: soft, or hard by an extraction; rule weights stay as they are.
    pub fn weights(&self, schema: &Schema, hard: Option<Extraction>) -> Vec<Weights> {
        let weigh = |rule: &SoftRule| match hard {
            None => Slots::soft(&rule.logits, schema),
            Some(extraction) => Slots::hard(&extraction.filling(&Slots::soft(&rule.logits, schema), schema)),
        };
        self.rules.iter().map(weigh).collect()
    }

    /// Gives each rule the weight that the loss of training earns it: by its own validation loss, as in the paper; or all
    /// the same where their plain sum was trained.
    ///
    /// ```text
    /// weight = l_min / l
    /// ```
    pub fn weigh(&mut self, by: Loss) {
        let least = self.rules.iter().map(|rule| rule.loss).fold(f32::INFINITY, f32::min);
        for rule in &mut self.rules {
            rule.weight = match by {
                Loss::Pairwise if rule.loss > 0.0 => least / rule.loss,
                _ => 1.0,
            };
        }
    }

    /// Its rules as logic, highest weight first; equal rules are one, with their weights summed.
    pub fn extract(&self, schema: &Schema, extraction: Extraction) -> Vec<(Rule, f32)> {
        let mut found: Vec<(Rule, f32)> = Vec::new();
        for soft in &self.rules {
            let rule = extraction.filling(&Slots::soft(&soft.logits, schema), schema).rule(self.target);
            match found.iter_mut().find(|(known, _)| *known == rule) {
                Some((_, weight)) => *weight += soft.weight,
                None => found.push((rule, soft.weight)),
            }
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        found
    }
}

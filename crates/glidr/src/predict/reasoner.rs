//! A model on some data: what answers queries by name.
//!
//! In: a [`Model`] and a [`Dataset`]. Out: a [`Reasoner`], which predicts and explains.

use std::sync::{Arc, OnceLock};

use super::{
    Blend, Calibrated, Constrained, Guard, MessagePassing, Predictor, Rules, Soft, features_of, refusals,
    with_features,
};
use crate::constraint::KeptConstraint;
use crate::error::{Error, Result};
use crate::explain::{Denied, Detail, Explanation};
use crate::graph::{Background, Dataset, Direction, Entity, Kinds, Predicate, Query, Split, Triple};
use crate::infer::Engine;
use crate::model::{Extraction, Model};
use crate::rule::RuleSet;
use crate::solve::{Ended, Limits};

/// How candidates are scored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scoring {
    /// Soft rules, by message passing.
    Soft,
    /// Hard rules taken from the soft ones.
    Extracted(Extraction),
    /// The searched rules, evaluated exactly.
    Rules,
    /// Both, by the mixing weights of the model.
    Blend,
}

/// How a model is used.
#[derive(Clone, Copy, Debug)]
pub struct Reasoning {
    /// How candidates are scored; the best that the model holds where not given.
    pub scoring: Option<Scoring>,
    /// The facts that rules look up.
    pub background: Background,
    /// Rounds of message passing; as in training where not given.
    pub rounds: Option<usize>,
    /// The engine that passes messages: none changes a rank.
    pub engine: Engine,
    /// Limits on any one query to a hard rule.
    pub limits: Limits,
    /// Whether searched rules are taken as fitted on *train* alone: what ranks *valid* must not have seen it.
    pub train_only: bool,
    /// Whether an entity may be its own answer where no training fact of the predicate says so of any.
    pub allow_reflexive: bool,
    /// Whether constraints refuse candidates.
    pub constraints: bool,
}

impl Default for Reasoning {
    fn default() -> Self {
        Reasoning {
            scoring: None,
            background: Background::Train,
            rounds: None,
            engine: Engine::Auto,
            limits: Limits::default(),
            train_only: false,
            allow_reflexive: false,
            constraints: true,
        }
    }
}

/// An answer to a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The name of the entity.
    pub entity: String,
    /// Its score, which orders the candidates of one query.
    pub score: f64,
    /// The probability that it is true; none where the model has no calibration for this scoring. True facts that are
    /// missing from the data count as false, so it errs low.
    pub probability: Option<f64>,
    /// The split that holds it already, if one does.
    pub split: Option<Split>,
}

/// A model on some data.
pub struct Reasoner<'a> {
    model: &'a Model,
    data: &'a Dataset,
    reasoning: Reasoning,
    /// How candidates are scored.
    pub scoring: Scoring,
    /// How many searched rules name something that the data lacks, and are left out.
    pub rules_left_out: usize,
    searched: Option<RuleSet>,
    kinds: OnceLock<Kinds>,
    lacking: Vec<String>,
    /// By the data's numbers.
    constraints: Arc<[KeptConstraint]>,
    predictor: Arc<dyn Predictor + 'a>,
}

impl Model {
    /// The best scoring that it holds: a blend, searched rules, or soft ones.
    pub fn scoring(&self) -> Scoring {
        match (&self.soft, &self.rules) {
            (Some(_), Some(_)) if !self.mixing_weights.is_empty() => Scoring::Blend,
            (_, Some(_)) => Scoring::Rules,
            _ => Scoring::Soft,
        }
    }

    /// The model on some data, ready to answer.
    ///
    /// ```
    /// use glidr::{Dataset, Learner, Method};
    /// let families = Dataset::families(0);
    /// let model = Learner { method: Method::Search, ..Learner::default() }.fit(&families)?;
    /// let reasoner = model.on(&families)?;
    /// let answers = reasoner.predict("wife", Some("Christine"), None, 3)?;
    /// assert_eq!(answers[0].entity, "Andrew");
    /// let why = reasoner.explain("wife", "Christine", "Andrew")?;
    /// assert!(why.best_rule().is_some());
    /// # Ok::<(), glidr::Error>(())
    /// ```
    pub fn on<'a>(&'a self, data: &'a Dataset) -> Result<Reasoner<'a>> {
        self.on_with(data, Reasoning::default())
    }

    /// The same, used in another way.
    pub fn on_with<'a>(&'a self, data: &'a Dataset, reasoning: Reasoning) -> Result<Reasoner<'a>> {
        let scoring = reasoning.scoring.unwrap_or(self.scoring());
        let kept = self.constraints.as_ref().filter(|_| reasoning.constraints);
        let mut reasoner = Reasoner {
            model: self,
            data,
            reasoning,
            scoring,
            rules_left_out: 0,
            searched: None,
            kinds: OnceLock::new(),
            lacking: Vec::new(),
            constraints: Arc::from(kept.map_or(Vec::new(), |kept| kept.on(data.names()))),
            predictor: Arc::new(Rules::new(&[], data)),
        };
        reasoner.predictor = match scoring {
            Scoring::Soft => Arc::new(reasoner.soft(None)?),
            Scoring::Extracted(extraction) => Arc::new(reasoner.soft(Some(extraction))?),
            Scoring::Rules => Arc::new(reasoner.searched()?),
            Scoring::Blend => {
                let (rules, soft) = (reasoner.searched()?, reasoner.soft(None)?);
                let blend = Blend::new(Arc::new(rules), Arc::new(soft));
                Arc::new(blend.weighted(&self.mixing_weights, &data.names().predicates))
            }
        };
        if !reasoner.constraints.is_empty() {
            let graph = Arc::clone(data.graph(reasoning.background));
            let inner = Arc::clone(&reasoner.predictor);
            reasoner.predictor = Arc::new(Constrained::new(inner, graph, Arc::clone(&reasoner.constraints)));
        }
        Ok(reasoner)
    }
}

impl<'a> Reasoner<'a> {
    fn soft(&mut self, extraction: Option<Extraction>) -> Result<Soft<'a>> {
        let model = self.model.soft.as_ref().ok_or_else(|| {
            Error::Mismatch("this scoring needs soft rules, but the model holds none: learn some with the method full or soft".into())
        })?;
        let rounds = self.reasoning.rounds.unwrap_or(model.training.rounds);
        let passing = MessagePassing { rounds, engine: self.reasoning.engine, extraction };
        let soft = Soft::with(model, self.data, self.reasoning.background, passing)?;
        self.lacking = soft.lacking().to_vec();
        Ok(soft)
    }

    fn searched(&mut self) -> Result<Rules<'a>> {
        let kept = self.model.rules.as_ref().ok_or_else(|| {
            Error::Mismatch("this scoring needs searched rules, but the model holds none: learn some with the method full or search".into())
        })?;
        let names = self.data.names();
        let fitted_on_train = if self.reasoning.train_only { kept.train_rules_on(names) } else { None };
        let found = fitted_on_train.unwrap_or_else(|| kept.on(names));
        if found.rules.is_empty() && found.left_out > 0 {
            return Err(Error::Mismatch(format!(
                "the data must have names of the rules, but {} has none of them",
                self.data.source
            )));
        }
        self.rules_left_out = found.left_out;
        let Reasoning { background, limits, .. } = self.reasoning;
        let rules = Rules::with(found.rules.targets(), self.data, background, limits);
        self.searched = Some(found.rules);
        if self.model.targets.is_empty() {
            return Ok(rules);
        }
        let targets: Vec<Predicate> =
            self.model.targets.iter().filter_map(|target| names.predicates.find(target)).collect();
        Ok(rules.only(&targets))
    }

    /// The data it answers on.
    pub fn data(&self) -> &'a Dataset {
        self.data
    }

    /// How the model is used.
    pub fn reasoning(&self) -> Reasoning {
        self.reasoning
    }

    /// The searched rules that it answers by, under the data's numbers.
    pub fn searched_rules(&self) -> Option<&RuleSet> {
        self.searched.as_ref()
    }

    /// What scores candidates.
    pub fn predictor(&self) -> &dyn Predictor {
        self.predictor.as_ref()
    }

    /// How many searched rules link X and Y, on average over the targets that have some.
    pub fn rules_per_target(&self) -> f64 {
        let Some(rules) = &self.searched else { return 0.0 };
        rules.bare().filter(|rule| rule.links_ends()).count() as f64 / rules.targets().len().max(1) as f64
    }

    /// What reads probabilities; none where the model has no calibration, or was calibrated for another scoring.
    pub fn calibrated(&self) -> Option<Calibrated<'_>> {
        let calibration = self.model.calibration.as_ref().filter(|_| self.scoring == self.model.scoring())?;
        Some(Calibrated { predictor: self.predictor.as_ref(), calibration, data: self.data })
    }

    /// Predicates and properties of the soft rules that the data lacks: they hold nowhere there.
    pub fn lacking(&self) -> &[String] {
        &self.lacking
    }

    /// The number of a target: of soft rules, the data may lack the predicate.
    pub fn target(&self, name: &str) -> Result<Predicate> {
        self.model.check_target(name)?;
        match (&self.model.soft, self.scoring) {
            (Some(soft), Scoring::Soft | Scoring::Extracted(_)) => Soft::number(soft, self.data, name),
            _ => self.data.names().predicate(name),
        }
    }

    /// The query for the tails of `head`, or for the heads of `tail`.
    pub fn query(&self, target: &str, head: Option<&str>, tail: Option<&str>) -> Result<Query> {
        let (predicate, names) = (self.target(target)?, self.data.names());
        match (head, tail) {
            (Some(head), None) => {
                Ok(Query { predicate, direction: Direction::Tail, known: names.entity(head)? })
            }
            (None, Some(tail)) => {
                Ok(Query { predicate, direction: Direction::Head, known: names.entity(tail)? })
            }
            _ => Err(Error::Setting("either head or tail must be given, and the other is asked for".into())),
        }
    }

    /// The `k` best answers that something speaks for and no split but *test* holds, best first. An entity that has
    /// other roles in the graph than the predicate's answers is none.
    pub fn predict(
        &self,
        target: &str,
        head: Option<&str>,
        tail: Option<&str>,
        k: usize,
    ) -> Result<Vec<Prediction>> {
        Ok(self.answers(self.query(target, head, tail)?, k, false)?.0)
    }

    /// The `k` best answers to a query, facts of the background too where these are wanted; and how evaluation ended.
    pub fn answers(&self, query: Query, k: usize, known_too: bool) -> Result<(Vec<Prediction>, Ended)> {
        let guard = self.guard(query.predicate)?;
        let asked = guard.ask(query);
        let allowed = |entity: Entity| asked.admits(entity, known_too);
        let mut target = self.predictor.target(query.predicate, guard.irreflexive())?;
        let mut ranked = with_features(target.as_mut(), query, k, &allowed, asked.known_answers(None));
        let probabilities = self.calibrated().map(|calibrated| calibrated.probabilities(query, &ranked));
        ranked.truncate(k);
        let names = &self.data.names().entities;
        let mut named = Vec::new();
        for (place, (answer, _)) in ranked.into_iter().enumerate() {
            let probability = match &probabilities {
                Some(probabilities) if asked.is_known(answer.entity) => Some(probabilities[place]),
                _ => self.fact_probability(query, answer.entity)?,
            };
            let split = asked.split(answer.entity);
            let entity = names.name(answer.entity).to_owned();
            named.push(Prediction { entity, score: answer.score, probability, split });
        }
        Ok((named, target.ended()))
    }

    /// Why a pair has its score. A fact of the background is explained without that fact.
    pub fn explain(&self, target: &str, head: &str, tail: &str) -> Result<Explanation> {
        self.explain_with(target, head, tail, &Detail::default())
    }

    /// The same in as much detail as is wanted.
    pub fn explain_with(&self, target: &str, head: &str, tail: &str, detail: &Detail) -> Result<Explanation> {
        let query = self.query(target, Some(head), None)?;
        let candidate = self.data.names().entity(tail)?;
        let explanation = self.predictor.explain(query, candidate, detail)?;
        let denied_by = self.denied_by(query.fact(candidate))?;
        Ok(Explanation { probability: self.fact_probability(query, candidate)?, denied_by, ..explanation })
    }

    /// The constraints that are used, by the data's numbers.
    pub(super) fn constraints(&self) -> &[KeptConstraint] {
        &self.constraints
    }

    /// The constraints used for its predicate that deny a fact, as if it were new.
    fn denied_by(&self, fact: Triple) -> Result<Vec<Denied>> {
        let (names, graph) = (self.data.names(), self.data.graph(self.reasoning.background));
        let facts = graph.neighbours();
        let mut denied_by = Vec::new();
        for kept in self.constraints.iter().filter(|kept| kept.used_for.contains(&fact.predicate)) {
            let Some(against) = kept.constraint.denial.against(facts, fact)? else { continue };
            let named = |fact: &Triple| {
                let entity = |entity| names.entities.name(entity).to_owned();
                [names.predicates.name(fact.predicate).to_owned(), entity(fact.head), entity(fact.tail)]
            };
            denied_by.push(Denied {
                constraint: kept.constraint.show(names),
                confidence: kept.constraint.confidence,
                why: kept.constraint.denial.sentence(fact, &against, names),
                facts: against.iter().map(named).collect(),
            });
        }
        denied_by.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        Ok(denied_by)
    }

    /// The probability of the fact that a candidate makes: the lower of what its two queries say.
    fn fact_probability(&self, query: Query, candidate: Entity) -> Result<Option<f64>> {
        let back = Query { direction: query.direction.other(), known: candidate, ..query };
        let both = [self.probability(query, candidate)?, self.probability(back, query.known)?];
        Ok(both[0].zip(both[1]).map(|(one, other)| one.min(other)))
    }

    /// The probability that a candidate is true; where it makes a fact of the background, without that fact.
    fn probability(&self, query: Query, candidate: Entity) -> Result<Option<f64>> {
        let Some(calibrated) = self.calibrated() else { return Ok(None) };
        let without = self.predictor.without(query.fact(candidate))?;
        let guard = self.guard(query.predicate)?;
        if without.is_none() && guard.is_full(query) {
            return Ok(Some(0.0));
        }
        let predictor = without.as_deref().unwrap_or(self.predictor.as_ref());
        let asked = guard.ask(query);
        let allowed = |entity: Entity| asked.admits(entity, false);
        let others = asked.known_answers(Some(candidate));
        let mut target = predictor.target(query.predicate, guard.irreflexive())?;
        let features = features_of(target.as_mut(), query, candidate, &allowed, others);
        let coefficients = calibrated.coefficients(query.predicate, query.direction);
        let read = |features| calibrated.calibration.probability(coefficients, &features);
        Ok(Some(features.map_or(0.0, read)))
    }

    /// The kinds of the background's entities.
    fn kinds(&self) -> &Kinds {
        let graph = self.data.graph(self.reasoning.background);
        self.kinds.get_or_init(|| Kinds::of(graph.neighbours()))
    }

    /// What may be a new answer about a target.
    pub(super) fn guard(&self, target: Predicate) -> Result<Guard<'a>> {
        let Reasoning { background, allow_reflexive, .. } = self.reasoning;
        let guard = Guard::new(self.data, background, self.kinds(), target, allow_reflexive);
        if self.constraints.is_empty() || target.index() >= self.data.names().predicates.len() {
            return Ok(guard);
        }
        Ok(guard.refusing(refusals(&self.constraints, target, self.data.graph(background))?))
    }
}

//! A model on some data: what answers queries by name.
//!
//! In: a [`Model`] and a [`Dataset`]. Out: a [`Reasoner`], which predicts and explains.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Blend, MessagePassing, Predictor, Rules, Soft, top_k};
use crate::error::{Error, Result};
use crate::explain::{Detail, Explanation};
use crate::graph::{Background, Dataset, Direction, Entity, Predicate, Query, Split};
use crate::infer::Engine;
use crate::model::{Extraction, Model};
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
    /// Searched rules that count.
    pub rules: usize,
    lacking: Vec<String>,
    predictor: Box<dyn Predictor + 'a>,
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
        let mut reasoner = Reasoner {
            model: self,
            data,
            reasoning,
            scoring,
            rules_left_out: 0,
            rules: 0,
            lacking: Vec::new(),
            predictor: Box::new(Rules::new(&[], data)),
        };
        reasoner.predictor = match scoring {
            Scoring::Soft => Box::new(reasoner.soft(None)?),
            Scoring::Extracted(extraction) => Box::new(reasoner.soft(Some(extraction))?),
            Scoring::Rules => Box::new(reasoner.searched()?),
            Scoring::Blend => {
                let (rules, soft) = (reasoner.searched()?, reasoner.soft(None)?);
                let blend = Blend::new(Arc::new(rules), Arc::new(soft));
                Box::new(blend.weighted(&self.mixing_weights, &data.names().predicates))
            }
        };
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
        self.rules = found.rules.len();
        let Reasoning { background, limits, .. } = self.reasoning;
        let rules = Rules::with(found.rules.targets(), self.data, background, limits);
        if self.model.targets.is_empty() {
            return Ok(rules);
        }
        let targets: Vec<Predicate> =
            self.model.targets.iter().filter_map(|target| names.predicates.find(target)).collect();
        Ok(rules.only(&targets))
    }

    /// What scores candidates.
    pub fn predictor(&self) -> &dyn Predictor {
        self.predictor.as_ref()
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

    /// The `k` best answers that something speaks for and the background does not hold, best first.
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
        let known = known_answers(query, self.data);
        let irreflexive = !self.reasoning.allow_reflexive
            && self.data.irreflexive().get(query.predicate.index()).copied().unwrap_or(false);
        let splits = self.reasoning.background.splits();
        let is_known = |entity| known.get(&entity).is_some_and(|split| splits.contains(split));
        let allowed = |entity| !(irreflexive && entity == query.known) && (known_too || !is_known(entity));
        let mut target = self.predictor.target(query.predicate, irreflexive)?;
        let answers = top_k(target.as_mut(), query, k, &allowed);
        let names = &self.data.names().entities;
        let named = answers.into_iter().filter(|answer| answer.score > 0.0).map(|answer| Prediction {
            entity: names.name(answer.entity).to_owned(),
            score: answer.score,
            split: known.get(&answer.entity).copied(),
        });
        Ok((named.collect(), target.ended()))
    }

    /// Why a pair has its score. A fact of the background is explained without that fact.
    pub fn explain(&self, target: &str, head: &str, tail: &str) -> Result<Explanation> {
        self.explain_with(target, head, tail, &Detail::default())
    }

    /// The same in as much detail as is wanted.
    pub fn explain_with(&self, target: &str, head: &str, tail: &str, detail: &Detail) -> Result<Explanation> {
        let query = self.query(target, Some(head), None)?;
        self.predictor.explain(query, self.data.names().entity(tail)?, detail)
    }
}

/// The known answers of a query, with the first split that each is in.
fn known_answers(query: Query, data: &Dataset) -> BTreeMap<Entity, Split> {
    let mut known = BTreeMap::new();
    for split in Split::ALL {
        for &fact in data.split(split) {
            let (asked, answer) = Query::of(fact, query.direction);
            if asked == query {
                known.entry(answer).or_insert(split);
            }
        }
    }
    known
}

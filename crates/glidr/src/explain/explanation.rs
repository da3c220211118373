//! An explanation by name, ready to be shown.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::{NamedTrace, Verdict, prove};
use crate::error::Result;
use crate::graph::{Background, Dataset, Entity, Names, Neighbours};
use crate::rule::{Atom, Rule, RuleNames, Term, WeightedRule};
use crate::solve::{Limits, Solver};

/// How much an explanation tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detail {
    /// Hard rules that fire, at most.
    pub max_firing: usize,
    /// Hard rules that do not, at most.
    pub max_failing: usize,
    /// Soft rules that are traced, at most; with 0 nothing is said of soft rules.
    pub max_traces: usize,
    /// Entities shown of each domain.
    pub domain_entities: usize,
    /// Limits on deciding or counting one rule.
    pub limits: Limits,
}

impl Default for Detail {
    fn default() -> Self {
        let limits = Limits { time: Some(Duration::from_secs(10)), answers: None };
        Detail { max_firing: 3, max_failing: 3, max_traces: 3, domain_entities: 3, limits }
    }
}

impl Detail {
    /// Only the best rule that fires.
    pub fn best_rule() -> Self {
        Detail { max_firing: 1, max_failing: 0, max_traces: 0, ..Detail::default() }
    }
}

/// Why a candidate has its score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The score.
    pub score: f64,
    /// The probability that it is true; none where the model has no calibration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// How much of the score is soft, where soft and hard rules are blended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixing_weight: Option<f64>,
    /// Priors that fire: they are part of the score, but do not link both ends and are no reason.
    pub priors: usize,
    /// Rules that link both ends and were decided: all, unless only some that fire are asked for.
    pub decided: usize,
    /// How many of these fire.
    pub firing: usize,
    /// What they say: those that fire first, in the predictor's order.
    pub rules: Vec<RuleEvidence>,
    /// How the soft score comes together, largest contribution first.
    pub soft: Vec<SoftEvidence>,
}

impl Explanation {
    /// A score that nothing is said about yet.
    pub(crate) fn of(score: f64) -> Self {
        Explanation {
            score,
            probability: None,
            mixing_weight: None,
            priors: 0,
            decided: 0,
            firing: 0,
            rules: Vec::new(),
            soft: Vec::new(),
        }
    }

    /// The first rule that fires.
    pub fn best_rule(&self) -> Option<&RuleEvidence> {
        self.rules.first().filter(|rule| rule.is_firing())
    }

    /// Whether as much is told of rules that fire, and of those that do not.
    pub(crate) fn wants(&self, fires: bool, detail: &Detail) -> bool {
        let told = self.rules.iter().filter(|rule| rule.is_firing() == fires).count();
        told < if fires { detail.max_firing } else { detail.max_failing }
    }

    /// Counts a rule, and tells it where that is wanted.
    pub(crate) fn add_rule(&mut self, rule: RuleEvidence, detail: &Detail) {
        self.count(rule.is_firing());
        if self.wants(rule.is_firing(), detail) {
            let firing = self.rules.partition_point(RuleEvidence::is_firing);
            let at = if rule.is_firing() { firing } else { self.rules.len() };
            self.rules.insert(at, rule);
        }
    }

    /// Counts a rule that is not told.
    pub(crate) fn count(&mut self, fires: bool) {
        self.decided += 1;
        self.firing += usize::from(fires);
    }
}

/// What one hard rule says of a pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleEvidence {
    /// The rule as text.
    pub rule: String,
    /// Its weight: a confidence or weight of a rule set, or the sum of the soft rules' weights that it stands for.
    pub weight: f64,
    /// Its confidence: support / answers.
    pub confidence: f64,
    /// Its answers that are facts.
    pub support: usize,
    /// Whether it fires; none where the time was over before that was known.
    pub fires: Option<bool>,
    /// Why, or why not.
    #[serde(flatten)]
    pub verdict: NamedVerdict,
}

/// A [`Verdict`] by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum NamedVerdict {
    /// The rule fires.
    Holds {
        /// An entity for every variable.
        grounding: BTreeMap<String, String>,
        /// A fact for every literal: a predicate or property, and its arguments.
        facts: Vec<Vec<String>>,
        /// How many groundings the rule needs.
        min_groundings: u32,
    },
    /// It does not: the literals before this one can hold together, but not with this one.
    FailsAt {
        /// The literal's number, from 1.
        fails_at: usize,
        /// The literal.
        failing_literal: String,
    },
    /// It does not: its body holds, but has too few groundings.
    TooFew {
        /// How many groundings it has.
        groundings: u64,
        /// How many the rule needs.
        min_groundings: u32,
    },
    /// The time was over before it was known.
    Unknown {},
}

impl RuleEvidence {
    /// Whether the rule is known to fire.
    pub fn is_firing(&self) -> bool {
        self.fires == Some(true)
    }
}

/// What one soft rule adds to a score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SoftEvidence {
    /// The rule's number, from 1.
    pub rule: usize,
    /// Its weight.
    pub weight: f32,
    /// Its score.
    pub score: f32,
    /// weight · score.
    pub contribution: f32,
    /// How message passing came to its score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<NamedTrace>,
}

impl SoftEvidence {
    /// What a traced rule of this weight adds.
    pub(crate) fn new(rule: usize, weight: f32, trace: NamedTrace) -> Self {
        SoftEvidence {
            rule,
            weight,
            score: trace.score,
            contribution: weight * trace.score,
            trace: Some(trace),
        }
    }
}

/// Decides and counts hard rules, and says what they say by name.
#[derive(Clone, Copy)]
pub struct Explainer<'a> {
    /// The facts.
    pub neighbours: &'a Neighbours,
    /// The names of the rules' predicates.
    pub rule_names: RuleNames<'a>,
    /// The names of the entities.
    pub entities: &'a Names<Entity>,
    /// Limits on deciding or counting one rule.
    pub limits: Limits,
}

impl<'a> Explainer<'a> {
    /// Of rules under the data's names, without limits.
    pub fn on(data: &'a Dataset, background: Background) -> Self {
        let names = data.names();
        Explainer {
            neighbours: data.graph(background).neighbours(),
            rule_names: names.into(),
            entities: &names.entities,
            limits: Limits::default(),
        }
    }

    /// A fact for every literal of a rule, where it fires for a pair.
    pub fn proof(&self, rule: &Rule, pair: (Entity, Entity)) -> Result<Option<Vec<Vec<String>>>> {
        let verdict = prove(rule, self.neighbours, pair.0, pair.1, self.limits)?;
        Ok(match self.named(rule, verdict) {
            NamedVerdict::Holds { facts, .. } => Some(facts),
            _ => None,
        })
    }

    /// What a rule says of one pair, with its confidence and support: as counted before, or else on these facts.
    pub fn rule(&self, weighted: &WeightedRule, weight: f64, pair: (Entity, Entity)) -> Result<RuleEvidence> {
        let rule = &weighted.rule;
        let measures = match weighted.measures {
            Some(measures) => measures,
            None => Solver::new(rule, self.neighbours, self.limits)?.measure().value,
        };
        let verdict = prove(rule, self.neighbours, pair.0, pair.1, self.limits)?;
        Ok(RuleEvidence {
            rule: rule.show(self.rule_names),
            weight,
            confidence: measures.confidence(),
            support: measures.support,
            fires: match verdict {
                Verdict::Holds(_) => Some(true),
                Verdict::FailsAt(_) | Verdict::TooFew(_) => Some(false),
                Verdict::Unknown => None,
            },
            verdict: self.named(rule, verdict),
        })
    }

    fn named(&self, rule: &Rule, verdict: Verdict) -> NamedVerdict {
        let entity = |entity: Entity| self.entities.name(entity).to_owned();
        match verdict {
            Verdict::Holds(proof) => {
                let inner = (1..proof.grounding.entities.len() - 1).map(|z| Term::Z(z as u8));
                let terms = [Term::X, Term::Y].into_iter().chain(inner);
                let bind = |term: Term| (term.show(self.rule_names), entity(proof.grounding.entity(term)));
                let fact = |&(atom, a, b): &(Atom, Entity, Entity)| match atom {
                    Atom::Pair(predicate, ..) => {
                        vec![self.rule_names.predicates.name(predicate).to_owned(), entity(a), entity(b)]
                    }
                    Atom::Own(property, _) => {
                        vec![self.rule_names.properties.name(property).to_owned(), entity(a)]
                    }
                    Atom::Is(..) => unreachable!("a proof names no fact for what a variable is"),
                };
                NamedVerdict::Holds {
                    grounding: terms.map(bind).collect(),
                    facts: proof.facts.iter().map(fact).collect(),
                    min_groundings: rule.min_groundings(),
                }
            }
            Verdict::FailsAt(at) => NamedVerdict::FailsAt {
                fails_at: at + 1,
                failing_literal: rule.body()[at].show(self.rule_names),
            },
            Verdict::TooFew(groundings) => {
                NamedVerdict::TooFew { groundings, min_groundings: rule.min_groundings() }
            }
            Verdict::Unknown => NamedVerdict::Unknown {},
        }
    }
}

//! What hard rules say of a pair, by name.

use super::{NamedVerdict, RuleEvidence, Verdict, prove};
use crate::error::Result;
use crate::graph::{Background, Dataset, Entity, Names, Neighbours};
use crate::rule::{Atom, Rule, RuleNames, Term, WeightedRule};
use crate::solve::{Limits, Solver};

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
            nearness: match verdict {
                Verdict::FailsAt(at) => at as f64 / rule.body().len() as f64,
                Verdict::Holds(_) | Verdict::TooFew(_) | Verdict::Unknown => 1.0,
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

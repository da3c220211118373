//! An explanation by name, ready to be shown.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::NamedTrace;
use crate::solve::Limits;

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
    /// The constraints that deny it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied_by: Vec<Denied>,
    /// Where predicates compete for a pair, the likeliest others, with their probabilities.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub competing: Vec<(String, f64)>,
    /// Rules that fire and speak against it, the strongest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<RuleEvidence>,
    /// Priors that fire: they are part of the score, but do not link both ends and are no reason.
    pub priors: usize,
    /// Rules that link both ends and were decided: all, unless only some that fire are asked for.
    pub decided: usize,
    /// How many of these fire.
    pub firing: usize,
    /// What they say: those that fire first, in the predictor's order; then the others, those that come nearest first.
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
            denied_by: Vec::new(),
            competing: Vec::new(),
            against: Vec::new(),
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

    /// Whether a rule may be told: of those that do not fire, a later one may come nearer.
    pub(crate) fn wants(&self, fires: bool, detail: &Detail) -> bool {
        if fires { self.told_firing() < detail.max_firing } else { detail.max_failing > 0 }
    }

    fn told_firing(&self) -> usize {
        self.rules.partition_point(RuleEvidence::is_firing)
    }

    /// Counts a rule, and tells it where that is wanted.
    pub(crate) fn add_rule(&mut self, rule: RuleEvidence, detail: &Detail) {
        self.count(rule.is_firing());
        if self.wants(rule.is_firing(), detail) {
            let before = |told: &RuleEvidence| told.is_firing() || told.nearness >= rule.nearness;
            let at = if rule.is_firing() { self.told_firing() } else { self.rules.partition_point(before) };
            self.rules.insert(at, rule);
            self.rules.truncate(self.told_firing().saturating_add(detail.max_failing));
        }
    }

    /// Counts a rule that is not told.
    pub(crate) fn count(&mut self, fires: bool) {
        self.decided += 1;
        self.firing += usize::from(fires);
    }
}

/// A constraint that denies a pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Denied {
    /// The constraint as text.
    pub constraint: String,
    /// How sure it is.
    pub confidence: f64,
    /// Why the pair cannot be, in one sentence.
    pub why: String,
    /// The facts that it cannot be true beside: a predicate and its ends. None where it contradicts the constraint alone.
    pub facts: Vec<[String; 3]>,
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
    /// How near it comes to firing: the share of its literals that hold together, read from the left; 1 where it fires
    /// or may fire.
    #[serde(skip)]
    pub nearness: f64,
    /// Why, or why not.
    #[serde(flatten)]
    pub verdict: NamedVerdict,
}

/// A verdict by name.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(rule: &str, fires: bool, nearness: f64) -> RuleEvidence {
        let verdict = NamedVerdict::Unknown {};
        let rule = rule.to_owned();
        RuleEvidence { rule, weight: 1.0, confidence: 1.0, support: 1, fires: Some(fires), nearness, verdict }
    }

    #[test]
    fn rules_that_fire_stand_first_and_of_the_others_those_that_come_nearest() {
        let detail = Detail { max_firing: 2, max_failing: 2, ..Detail::default() };
        let mut explanation = Explanation::of(1.0);
        let half = [("a", false, 0.0), ("b", false, 0.5), ("c", true, 1.0), ("d", false, 0.5)];
        for (name, fires, nearness) in half.into_iter().chain([("e", true, 1.0), ("f", true, 1.0)]) {
            explanation.add_rule(evidence(name, fires, nearness), &detail);
        }
        let told: String = explanation.rules.iter().map(|rule| rule.rule.as_str()).collect();
        assert_eq!(told, "cebd");
        assert_eq!((explanation.firing, explanation.decided), (3, 6));
    }
}

//! Checking data: facts that are probably wrong, worst first, each with what speaks against it.
//!
//! In: a [`Dataset`](crate::graph::Dataset), constraints, and rules that are counted. Out: [`Suspect`]s. All splits are
//! checked, and all are looked up. Evidence adds as logarithms of odds: what else links the two ends of a fact says how
//! likely another predicate is there ([`context`]), and each constraint that it breaks counts by its confidence and by how
//! sure the facts are that it is in conflict with. The paper does not check data.

mod context;

use std::collections::HashMap;

use context::PairContext;
pub use context::Reason;
use rayon::prelude::*;

use crate::constraint::{Constraint, Denial};
use crate::error::Result;
use crate::graph::{Background, Dataset, Predicate, Triple};
use crate::rule::{RuleSet, WeightedRule};

/// The share of facts that are taken to be wrong before anything is known of them.
const WRONG: f64 = 0.05;

/// What is checked.
#[derive(Clone, Debug, PartialEq)]
pub struct DataCheck {
    /// Constraints that are less sure are left out.
    pub min_confidence: f64,
    /// Facts that are less suspicious are not told.
    pub min_suspicion: f64,
    /// Only facts of these predicates are told; of all where there are none.
    pub targets: Vec<Predicate>,
}

impl Default for DataCheck {
    fn default() -> Self {
        DataCheck { min_confidence: 0.9, min_suspicion: 0.5, targets: Vec::new() }
    }
}

/// A fact that is probably wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    /// The fact.
    pub fact: Triple,
    /// How likely it is wrong, from 0 to 1, if one fact in twenty is.
    pub suspicion: f64,
    /// The constraints that it breaks.
    pub breaks: Vec<Broken>,
    /// The predicate that the pair has more likely, and how likely. It may have it already, beside the fact; or none.
    pub rather: Option<(Option<Predicate>, f64)>,
    /// What speaks most for that predicate.
    pub reason: Option<Proven>,
    /// What speaks most for the fact.
    pub support: Option<Proven>,
}

/// A constraint that a fact breaks.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    /// Its place among the given ones.
    pub constraint: usize,
    /// The facts in conflict with this one; none where it breaks the constraint alone.
    pub facts: Vec<Triple>,
}

/// A rule that fires for the pair, and the facts that prove it.
#[derive(Clone, Debug, PartialEq)]
pub struct Proven {
    /// The rule, with its measures.
    pub reason: Reason,
    /// The facts of its body.
    pub facts: Vec<Triple>,
}

impl DataCheck {
    /// The suspicious facts of some data, worst first.
    ///
    /// ```text
    /// ln odds of being wrong = ln (w / (1 − w)) + ln (Σ_q P(q) / P(p)) + Σ_constraints −ln(1 − confidence) · Π (1 − suspicion)
    /// ```
    ///
    /// where w is one in twenty, spread over all q ≠ p, P(q) is what [`context`] says, and the product is over the facts in
    /// conflict, by what their pairs say. As expected / exceptions is 1 / (1 − confidence), a constraint counts by how much
    /// rarer it is broken than chance would have it.
    ///
    /// ```
    /// use glidr::Dataset;
    /// use glidr::internals::check::DataCheck;
    /// use glidr::internals::constraint::learn_constraints;
    /// let families = Dataset::families(0);
    /// let found = DataCheck::default().run(&families, &learn_constraints(&families), None)?;
    /// assert!(found.len() < 10, "the built-in families are sound");
    /// # Ok::<(), glidr::Error>(())
    /// ```
    pub fn run(
        &self,
        data: &Dataset,
        constraints: &[Constraint],
        rules: Option<&RuleSet>,
    ) -> Result<Vec<Suspect>> {
        let graph = data.graph(Background::All);
        let rules: Vec<&WeightedRule> = rules.into_iter().flat_map(RuleSet::rules).collect();
        let context = PairContext::new(graph, &rules)?;
        let facts = graph.facts();
        let others = graph.sizes().predicates.saturating_sub(1).max(1) as f64;
        let prior = (WRONG / (1.0 - WRONG) / others).ln();
        let told = facts.par_iter().map(|&fact| Ok(prior + context.log_odds(fact)?));
        let told: Vec<f64> = told.collect::<Result<_>>()?;
        let broken = self.broken(constraints, graph.neighbours())?;
        let suspicion =
            |fact: &Triple| facts.binary_search(fact).map_or(0.0, |place| probability(told[place]));
        let mut worst: Vec<(f64, Triple)> = Vec::new();
        for (&fact, &told) in facts.iter().zip(&told) {
            let is_asked = self.targets.is_empty() || self.targets.contains(&fact.predicate);
            let counted = |broken: &Broken| {
                let left = (1.0 - constraints[broken.constraint].confidence).max(1e-6);
                let sure: f64 = broken.facts.iter().map(|other| 1.0 - suspicion(other)).product();
                -left.ln() * sure
            };
            let against: f64 = broken.get(&fact).into_iter().flatten().map(counted).sum();
            let suspicion = probability(told + against);
            if is_asked && suspicion >= self.min_suspicion {
                worst.push((suspicion, fact));
            }
        }
        worst.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let suspects = worst.into_par_iter().map(|(suspicion, fact)| {
            let told = context.told(fact)?;
            let mut breaks = broken.get(&fact).cloned().unwrap_or_default();
            let confidence = |broken: &Broken| constraints[broken.constraint].confidence;
            breaks.sort_by(|a, b| confidence(b).total_cmp(&confidence(a)));
            let proven = |reason: Option<Reason>| -> Result<Option<Proven>> {
                let Some(reason) = reason else { return Ok(None) };
                let facts = context::proof(&reason.rule, graph, fact)?;
                Ok(Some(Proven { reason, facts }))
            };
            let (reason, support) = (proven(told.reason)?, proven(told.support)?);
            Ok(Suspect { fact, suspicion, breaks, rather: told.rather, reason, support })
        });
        suspects.collect()
    }

    /// The constraints that each fact breaks. Whether a pair that is linked gets no other fact is about what is held out,
    /// not about what is true.
    fn broken(
        &self,
        constraints: &[Constraint],
        facts: &crate::graph::Neighbours,
    ) -> Result<HashMap<Triple, Vec<Broken>>> {
        let is_used = |constraint: &Constraint| {
            let is_held_out = matches!(constraint.denial, Denial::Linked { denied: true, .. });
            constraint.confidence >= self.min_confidence && !(is_held_out && constraint.counts.is_some())
        };
        let conflicts = constraints.par_iter().map(|constraint| {
            if is_used(constraint) { constraint.denial.conflicts(facts) } else { Ok(Vec::new()) }
        });
        let mut broken: HashMap<Triple, Vec<Broken>> = HashMap::new();
        for (number, conflicts) in conflicts.collect::<Result<Vec<_>>>()?.into_iter().enumerate() {
            for conflict in conflicts {
                let mut all = conflict.others;
                all.push(conflict.fact);
                for &fact in &all {
                    let facts = all.iter().copied().filter(|&other| other != fact).collect();
                    broken.entry(fact).or_default().push(Broken { constraint: number, facts });
                }
            }
        }
        Ok(broken)
    }
}

/// The probability of some odds, by their logarithm.
fn probability(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

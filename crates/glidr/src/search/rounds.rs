//! Better rules with more time: where a limited time is left over, the search is done again with twice the effort, and of
//! each target what ranks *valid* better is kept.

use std::collections::BTreeMap;
use std::time::Instant;

use super::{Search, SearchReport, Searched};
use crate::constraint::KeptConstraint;
use crate::error::Result;
use crate::graph::{Dataset, Names, Predicate};
use crate::model::SoftModel;
use crate::rule::{Rule, TargetRules};
use crate::solve::Ended;
use crate::util::progress::Progress;

/// Rounds with more effort, at most.
const MAX_ROUNDS: usize = 5;
/// So many rules are refined in the first of them.
const FIRST_REFINED: usize = 20;
/// A round is begun with at least this share of the time that the one before took.
const MIN_SHARE: f64 = 0.5;

impl Search {
    /// Searches once; and where time is limited, again with twice the effort while enough is left.
    pub fn run_in_rounds(
        &self,
        data: &Dataset,
        model: Option<&SoftModel>,
        extra: &[Rule],
        targets: &[Predicate],
        constraints: &[KeptConstraint],
        progress: &dyn Progress,
    ) -> Result<Searched> {
        let (mut search, mut best): (Search, Option<Searched>) = (*self, None);
        for _ in 0..=MAX_ROUNDS {
            let began = Instant::now();
            let found = search.run(data, model, extra, targets, constraints, progress)?;
            let is_whole = found.left_out.is_empty();
            let found = match best {
                None => found,
                Some(best) => best.bettered_by(found, &data.names().predicates),
            };
            let has_time = progress.time_left().is_some_and(|left| left > began.elapsed().mul_f64(MIN_SHARE));
            if !has_time || !is_whole || progress.is_stopped() {
                return Ok(found);
            }
            (search, best) = (search.doubled(), Some(found));
        }
        Ok(best.expect("the first round is done"))
    }

    /// The same with twice the effort; as many rules are kept.
    fn doubled(&self) -> Self {
        Search {
            max_pool: 2 * self.max_pool,
            max_conjunctions: 2 * self.max_conjunctions,
            max_paths: 2 * self.max_paths,
            max_patterns: 2 * self.max_patterns,
            local_search: 2 * self.local_search,
            max_refined: (2 * self.max_refined).max(FIRST_REFINED),
            max_facts: 2 * self.max_facts,
            max_negatives: 2 * self.max_negatives,
            ..*self
        }
    }
}

/// What a search found for one target.
type OfTarget = (SearchReport, Option<TargetRules>, Option<TargetRules>);

impl Searched {
    /// Of each target what ranks *valid* better, else what is there. What predicates compete with is of the round
    /// that has it last.
    fn bettered_by(self, other: Self, predicates: &Names<Predicate>) -> Self {
        let brought_up =
            if other.brought_up.is_empty() { self.brought_up.clone() } else { other.brought_up.clone() };
        let mut better = Searched { brought_up, left_out: self.left_out.clone(), ..Searched::default() };
        let mut others: BTreeMap<String, OfTarget> =
            other.by_target(predicates).map(|of| (of.0.target.clone(), of)).collect();
        for own in self.by_target(predicates) {
            let other = others.remove(&own.0.target).filter(|other| other.0.valid_mrr > own.0.valid_mrr);
            // A target that was whole before is, though a later round was cut.
            let (mut report, rules, train_rules) = other.unwrap_or_else(|| own.clone());
            if own.0.ended == Ended::Complete {
                report.ended = Ended::Complete;
            }
            better.reports.push(report);
            better.rules.extend(rules);
            better.train_rules.extend(train_rules);
        }
        better
    }

    fn by_target(self, predicates: &Names<Predicate>) -> impl Iterator<Item = OfTarget> {
        let numbered = |rules: Vec<TargetRules>| -> BTreeMap<Predicate, TargetRules> {
            rules.into_iter().map(|rules| (rules.target, rules)).collect()
        };
        let (mut rules, mut train_rules) = (numbered(self.rules), numbered(self.train_rules));
        self.reports.into_iter().map(move |report| {
            let target = predicates.find(&report.target).expect("a target of the data");
            (report, rules.remove(&target), train_rules.remove(&target))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::synthetic::Generator;
    use crate::util::progress::Budget;

    #[test]
    fn with_time_left_over_no_target_gets_worse_on_valid_and_some_search_goes_on() {
        let made = Generator { entities: 300, facts: 3000, instances: 60, ..Generator::default() };
        let made = made.run().expect("sound settings");
        let targets: Vec<Predicate> = made.rules.iter().map(|rule| rule.target).collect();
        // With so little effort a loop is not found.
        let little =
            Search { max_pool: 2, max_paths: 1, max_patterns: 0, max_conjunctions: 1, ..Search::default() };
        let run = |time: Option<Duration>| {
            let budget = Budget::new(&(), time);
            little.run_in_rounds(&made.data, None, &[], &targets, &[], &budget).expect("a sound search")
        };
        let once = run(None);
        let plain = little.run(&made.data, None, &[], &targets, &[], &()).expect("a sound search");
        assert_eq!(once.rules, plain.rules, "without a limit there is one round");
        let longer = run(Some(Duration::from_mins(5)));
        assert_eq!(once.reports.len(), longer.reports.len());
        for (once, longer) in once.reports.iter().zip(&longer.reports) {
            assert_eq!(once.target, longer.target);
            assert!(longer.valid_mrr >= once.valid_mrr, "{}", once.target);
        }
        let sum = |found: &Searched| found.reports.iter().map(|report| report.valid_mrr).sum::<f64>();
        assert!(sum(&longer) > sum(&once), "{} and {}", sum(&longer), sum(&once));
    }
}

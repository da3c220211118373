//! Hard rules as a predictor: evaluated exactly, and aggregated.
//!
//! In: a [`TargetRules`] for every target, and a [`Dataset`]. Out: the aggregate of the rules that fire for a
//! candidate; without one the score is 0. Scores of max-plus are places in the order of one query's candidates.

use std::sync::Arc;

use super::{Predictor, TargetPredictor};
use crate::error::Result;
use crate::explain::{Detail, Explainer, Explanation};
use crate::graph::{Background, Dataset, Direction, Entity, KnowledgeGraph, Predicate, Query, Triple};
use crate::model::Evidence;
use crate::rule::{Aggregator, TargetRules};
use crate::solve::{Ended, Limits, Solver};

/// Hard rules on some data. They have the data's numbers.
#[derive(Clone)]
pub struct Rules<'a> {
    by_target: Arc<[TargetRules]>,
    data: &'a Dataset,
    graph: Arc<KnowledgeGraph>,
    limits: Limits,
    targets: Option<Arc<[Predicate]>>,
}

impl<'a> Rules<'a> {
    /// Rules that look up *facts* and *train*, evaluated without limits.
    pub fn new(rules: &[TargetRules], data: &'a Dataset) -> Self {
        Rules::with(rules, data, Background::Train, Limits::default())
    }

    /// The same on another background, or within limits on any one query to a rule.
    pub fn with(rules: &[TargetRules], data: &'a Dataset, background: Background, limits: Limits) -> Self {
        let graph = Arc::clone(data.graph(background));
        Rules { by_target: rules.into(), data, graph, limits, targets: None }
    }

    /// The same for queries about these targets only.
    #[must_use]
    pub fn only(self, targets: &[Predicate]) -> Self {
        Rules { targets: Some(targets.into()), ..self }
    }

    fn of(&self, target: Predicate) -> Option<&TargetRules> {
        self.by_target.iter().find(|rules| rules.target == target)
    }

    fn solver(&self, rules: &TargetRules, number: usize, limits: Limits) -> Result<Solver<'_>> {
        Solver::new(&rules.rules[number].rule, self.graph.neighbours(), limits)
    }
}

impl Predictor for Rules<'_> {
    fn scoring(&self) -> String {
        "rules".into()
    }

    fn is_target(&self, predicate: Predicate) -> bool {
        self.targets.as_ref().is_none_or(|targets| targets.contains(&predicate))
    }

    fn has_rules(&self, predicate: Predicate) -> bool {
        self.of(predicate).is_some_and(|rules| !rules.rules.is_empty())
    }

    fn target(&self, target: Predicate, _irreflexive: bool) -> Result<Box<dyn TargetPredictor + '_>> {
        let rules = self.of(target);
        let count = rules.map_or(0, |rules| rules.rules.len());
        let solvers = rules.map(|rules| (0..count).map(|number| self.solver(rules, number, self.limits)));
        Ok(Box::new(RulesTarget {
            rules,
            solvers: solvers.into_iter().flatten().collect::<Result<_>>()?,
            entities: self.graph.entities(),
            ended: Ended::Complete,
            latest: None,
        }))
    }

    fn without(&self, fact: Triple) -> Result<Option<Box<dyn Predictor + '_>>> {
        Ok(self.graph.holds(fact).then(|| {
            let graph = Arc::new(self.graph.without(fact));
            Box::new(Rules { graph, ..self.clone() }) as Box<dyn Predictor>
        }))
    }

    fn evidence(&self, query: Query, candidate: Entity, detail: &Detail) -> Result<Explanation> {
        let score = self.target(query.predicate, false)?.scores(query, &[candidate])[0];
        let mut explanation = Explanation::of(score);
        let Some(rules) = self.of(query.predicate) else { return Ok(explanation) };
        let names = self.data.names();
        let explainer = Explainer {
            neighbours: self.graph.neighbours(),
            rule_names: names.into(),
            entities: &names.entities,
            limits: detail.limits,
        };
        let (head, tail) = query.direction.pair(query.known, candidate);
        let counts: Vec<usize> = rules.that_count(query.direction);
        for &number in counts.iter().filter(|&&number| !rules.rules[number].rule.links_ends()) {
            let fires = self.solver(rules, number, detail.limits)?.holds(head, tail).value;
            explanation.priors += usize::from(fires);
        }
        // The most confident first; only what is told is counted.
        for number in rules.linked_by_confidence().into_iter().filter(|number| counts.contains(number)) {
            if detail.max_failing == 0 && !explanation.wants(true, detail) {
                break;
            }
            let fires = self.solver(rules, number, detail.limits)?.holds(head, tail).value;
            if explanation.wants(fires, detail) {
                let weighted = &rules.rules[number];
                let weight = weighted.weight.of(query.direction);
                explanation.add_rule(explainer.rule(weighted, weight, (head, tail))?, detail);
            } else {
                explanation.count(fires);
            }
        }
        Ok(explanation)
    }
}

/// One target's rules, ready to be evaluated.
struct RulesTarget<'a> {
    rules: Option<&'a TargetRules>,
    solvers: Vec<Solver<'a>>,
    entities: usize,
    ended: Ended,
    /// What the latest query found: it is asked for scores, and then for evidence.
    latest: Option<(Query, Fired)>,
}

/// What fires for a query, by entity.
struct Fired {
    scores: Vec<f64>,
    evidence: Vec<Evidence>,
}

impl RulesTarget<'_> {
    fn fired(&mut self, query: Query) -> &Fired {
        if self.latest.as_ref().is_none_or(|(asked, _)| *asked != query) {
            let fired = self.fire(query);
            self.latest = Some((query, fired));
        }
        &self.latest.as_ref().expect("just asked").1
    }

    fn fire(&mut self, query: Query) -> Fired {
        let mut evidence = vec![Evidence::default(); self.entities];
        let Some(rules) = self.rules else { return Fired { scores: vec![0.0; self.entities], evidence } };
        let mut aggregator = Aggregator::new(rules.aggregation, self.entities);
        let weights: Vec<f64> = rules.rules.iter().map(|rule| rule.weight.of(query.direction)).collect();
        for rule in rules.that_count(query.direction) {
            let found = match query.direction {
                Direction::Tail => self.solvers[rule].tails(query.known),
                Direction::Head => self.solvers[rule].heads(query.known),
            };
            if found.ended != Ended::Complete {
                self.ended = found.ended;
            }
            let contribution = rules.aggregation.contribution(weights[rule]);
            for entity in found.value {
                aggregator.fire(entity.index(), rule, weights[rule]);
                let Evidence { sum, best, .. } = &mut evidence[entity.index()];
                (*sum, *best) = (*sum + contribution, best.max(contribution));
            }
        }
        Fired { scores: aggregator.scores(&weights), evidence }
    }
}

impl TargetPredictor for RulesTarget<'_> {
    fn entities(&self) -> usize {
        self.entities
    }

    fn scores(&mut self, query: Query, candidates: &[Entity]) -> Vec<f64> {
        let fired = self.fired(query);
        candidates.iter().map(|candidate| fired.scores[candidate.index()]).collect()
    }

    fn evidence(&mut self, query: Query, candidates: &[Entity]) -> Vec<Evidence> {
        let fired = self.fired(query);
        candidates.iter().map(|candidate| fired.evidence[candidate.index()]).collect()
    }

    fn ended(&self) -> Ended {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Names, Vocabulary};
    use crate::rule::{Aggregation, Atom, Literal, Rule, Term, Weight, WeightedRule};

    #[test]
    fn a_rule_counts_for_tails_by_one_number_and_for_heads_by_the_other() {
        let vocabulary = Vocabulary {
            entities: Names::new(["a", "b", "c", "d"]),
            predicates: Names::new(["p", "q", "r"]),
            properties: Names::default(),
        };
        let facts = vec![Triple::new(0, 0, 1), Triple::new(0, 1, 2), Triple::new(3, 1, 1)];
        let splits = [facts, vec![], vec![], vec![]];
        let data = Dataset::of("three facts", vocabulary, splits, vec![]).expect("sound facts");
        let weighted = |predicate, tail, head| {
            let atom = Atom::Pair(Predicate(predicate), Term::X, Term::Y);
            let rule = Rule::new(Predicate(2), &[Literal::any_of(vec![atom])]);
            WeightedRule::new(rule, Weight { tail, head })
        };
        let set = TargetRules::new(
            Predicate(2),
            Aggregation::Sum,
            vec![weighted(0, 1.0, 0.0), weighted(1, 0.5, 2.0)],
        );
        // The rule of the greater number comes first; the one that counts nothing for heads is left out there.
        assert_eq!((set.that_count(Direction::Tail), set.that_count(Direction::Head)), (vec![1, 0], vec![0]));
        let sets = [set];
        let rules = Rules::new(&sets, &data);
        let mut target = rules.target(Predicate(2), false).expect("sound rules");
        let mut scores = |direction, known| {
            let query = Query { predicate: Predicate(2), direction, known: Entity(known) };
            target.scores(query, &[0, 1, 2, 3].map(Entity))
        };
        assert_eq!(scores(Direction::Tail, 0), [0.0, 1.0, 0.5, 0.0]);
        assert_eq!(scores(Direction::Head, 1), [0.0, 0.0, 0.0, 2.0]);
    }
}

//! Hard rules as a predictor: evaluated exactly, and aggregated.
//!
//! In: a [`TargetRules`] for every target, and a [`Dataset`]. Out: the aggregate of the rules that fire for a
//! candidate; without one the score is 0. Scores of max-plus are places in the order of one query's candidates, those of a
//! softmax probabilities.

use std::sync::Arc;

use super::competing::{Competition, share};
use super::{Predictor, TargetPredictor};
use crate::error::Result;
use crate::explain::{Detail, Explainer, Explanation};
use crate::graph::{Background, Dataset, Direction, Entity, KnowledgeGraph, Predicate, Query, Triple};
use crate::model::Evidence;
use crate::rule::{Aggregation, Aggregator, TargetRules};
use crate::solve::{Ended, Limits, Solver};

/// So many competing predicates are told.
const COMPETING: usize = 3;

/// Hard rules on some data. They have the data's numbers.
#[derive(Clone)]
pub struct Rules<'a> {
    by_target: Arc<[TargetRules]>,
    data: &'a Dataset,
    graph: Arc<KnowledgeGraph>,
    limits: Limits,
    targets: Option<Arc<[Predicate]>>,
    /// What predicates that compete have in common, on this graph.
    competition: Arc<Competition>,
}

impl<'a> Rules<'a> {
    /// Rules that look up *facts* and *train*, evaluated without limits.
    pub fn new(rules: &[TargetRules], data: &'a Dataset) -> Self {
        Rules::with(rules, data, Background::Train, Limits::default())
    }

    /// The same on another background, or within limits on any one query to a rule.
    pub fn with(rules: &[TargetRules], data: &'a Dataset, background: Background, limits: Limits) -> Self {
        let graph = Arc::clone(data.graph(background));
        let competition = Arc::default();
        Rules { by_target: rules.into(), data, graph, limits, targets: None, competition }
    }

    /// The same for queries about these targets only.
    #[must_use]
    pub fn only(self, targets: &[Predicate]) -> Self {
        Rules { targets: Some(targets.into()), ..self }
    }

    fn of(&self, target: Predicate) -> Option<&TargetRules> {
        self.by_target.iter().find(|rules| rules.target == target)
    }

    /// The likeliest other predicates of a pair that predicates compete for.
    fn competing(&self, query: Query, candidate: Entity) -> Result<Vec<(String, f64)>> {
        let mut likely = Vec::new();
        for rules in self.by_target.iter().filter(|rules| rules.target != query.predicate) {
            let query = Query { predicate: rules.target, ..query };
            let p = self.target(rules.target, false)?.scores(query, &[candidate])[0];
            likely.push((self.data.names().predicates.name(rules.target).to_owned(), p));
        }
        likely.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        likely.truncate(COMPETING);
        Ok(likely)
    }

    /// One target's rules, ready to fire.
    fn firing<'r>(&'r self, rules: Option<&'r TargetRules>) -> Result<Firing<'r>> {
        let count = rules.map_or(0, |rules| rules.rules.len());
        let solvers = rules.map(|rules| (0..count).map(|number| self.solver(rules, number, self.limits)));
        let solvers = solvers.into_iter().flatten().collect::<Result<_>>()?;
        Ok(Firing { rules, solvers, entities: self.graph.entities(), ended: Ended::Complete })
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
        let own = self.firing(self.of(target))?;
        let competes = |rules: &&TargetRules| rules.aggregation == Aggregation::Softmax;
        let competing = if own.rules.is_some_and(|own| competes(&own)) {
            self.by_target
                .iter()
                .filter(competes)
                .map(|rules| self.firing(Some(rules)))
                .collect::<Result<_>>()?
        } else {
            Vec::new()
        };
        Ok(Box::new(RulesTarget { own, competing, competition: &self.competition, latest: None }))
    }

    fn without(&self, fact: Triple) -> Result<Option<Box<dyn Predictor + '_>>> {
        Ok(self.graph.holds(fact).then(|| {
            let graph = Arc::new(self.graph.without(fact));
            Box::new(Rules { graph, competition: Arc::default(), ..self.clone() }) as Box<dyn Predictor>
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
        // The strongest first.
        let weight = |number: usize| rules.rules[number].weight.of(query.direction);
        for &number in counts.iter().rev().take_while(|&&number| weight(number) < 0.0) {
            let weighted = &rules.rules[number];
            if explanation.against.len() < detail.max_firing
                && weighted.rule.links_ends()
                && self.solver(rules, number, detail.limits)?.holds(head, tail).value
            {
                explanation.against.push(explainer.rule(weighted, weight(number), (head, tail))?);
            }
        }
        if rules.aggregation == Aggregation::Softmax && detail.max_failing > 0 {
            explanation.competing = self.competing(query, candidate)?;
        }
        // The most confident first; only what is told is counted.
        let speaks_for = |number: &usize| {
            counts.contains(number) && (weight(*number) > 0.0 || !rules.aggregation.is_sum())
        };
        for number in rules.linked_by_confidence().into_iter().filter(speaks_for) {
            if detail.max_failing == 0 && !explanation.wants(true, detail) {
                break;
            }
            let fires = self.solver(rules, number, detail.limits)?.holds(head, tail).value;
            if explanation.wants(fires, detail) {
                let evidence = explainer.rule(&rules.rules[number], weight(number), (head, tail))?;
                explanation.add_rule(evidence, detail);
            } else {
                explanation.count(fires);
            }
        }
        Ok(explanation)
    }
}

/// One target's rules, ready to fire.
struct Firing<'a> {
    rules: Option<&'a TargetRules>,
    solvers: Vec<Solver<'a>>,
    entities: usize,
    ended: Ended,
}

/// One target's rules, ready to be evaluated.
struct RulesTarget<'a> {
    own: Firing<'a>,
    /// Where predicates compete, the rules of all of them.
    competing: Vec<Firing<'a>>,
    competition: &'a Competition,
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
            let mut fired = self.own.fire(query);
            if !self.competing.is_empty() {
                self.compete(query, &mut fired);
            }
            self.latest = Some((query, fired));
        }
        &self.latest.as_ref().expect("just asked").1
    }

    /// Makes sums of weights the probabilities that pairs are this predicate's.
    fn compete(&mut self, query: Query, fired: &mut Fired) {
        let competing = &mut self.competing;
        let sums = || competing.iter_mut().map(|other| other.fire(query).scores).collect();
        let totals = self.competition.totals(query.direction, query.known, sums);
        for ((score, evidence), &total) in fired.scores.iter_mut().zip(&mut fired.evidence).zip(&*totals) {
            (*score, evidence.sum) = share(*score, total);
        }
    }
}

impl Firing<'_> {
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
        self.own.entities
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
        let mut all = std::iter::once(&self.own).chain(&self.competing).map(|firing| firing.ended);
        all.find(|ended| *ended != Ended::Complete).unwrap_or(Ended::Complete)
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

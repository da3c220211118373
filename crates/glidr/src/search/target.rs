//! One target's search: bodies are proposed, counted, selected, fired, and their weights fitted.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use rand::seq::SliceRandom;

use super::body::Body;
use super::choose::Tried;
use super::evaluate::{Counts, Effort, Evaluator, Exact, Facts, Label, QuerySample, Sampled};
use super::propose::{MaxPatterns, Parent, local_search, long_paths, paths, patterns, similarity_paths};
use super::schedule::Told;
use super::select::{Conjunctions, Counted, Counting, Pool, Single, best};
use super::{Context, Evaluated};
use crate::constraint::{Denial, Refusals};
use crate::graph::{Direction, Entity, Predicate, Split};
use crate::rule::Rule;
use crate::solve::{Ended, Limits};
use crate::util::progress::{Budget, Progress, SearchStep};
use crate::util::random::{Purpose, stream};

/// Facts that paths and patterns are proposed from.
const PROPOSING_FACTS: usize = 1000;
/// Answers of a body to one query, on average, at most.
const MAX_ANSWERS: usize = 120;
/// Links that all bodies follow when they are counted, at most: about a minute's work.
const MAX_LINKS: usize = 20_000_000_000;
/// Rules that are kept of a target where nothing is said, at least and at most: one more for every so many facts beyond
/// some thousand.
pub(super) const MAX_RULES: (usize, usize) = (30, 300);
const MANY_FACTS: usize = 3000;
const FACTS_PER_RULE: usize = 40;
/// Single rules that conjunctions are made of, the most confident.
const CONJOINED: usize = 800;
/// The groundings that a path of several steps is counted with, at least.
const MIN_GROUNDINGS: [u32; 8] = [1, 2, 3, 5, 9, 20, 50, 150];
/// Of long paths so many are tried for each that is counted.
const LONG_TRIED: usize = 4;
/// A rule of local search is first counted on about so many queries.
const LOCAL_QUERIES: usize = 400;
/// Of a target's time counting ends after the first of these parts, firing after the second, conjunctions and the choice
/// of few rules after the third and fourth; weights are fitted in the rest.
const PARTS: [f64; 4] = [0.5, 0.65, 0.75, 0.85];
/// So many bodies are fired whatever the time.
const MIN_FIRED: usize = 20;
/// Progress is told after so many bodies.
const TOLD: usize = 64;

/// The search for one target's rules, while it goes on.
struct TargetSearch<'c, 'e> {
    context: &'c Context<'c>,
    target: Predicate,
    evaluator: &'e mut dyn Evaluator,
    sample: QuerySample,
    /// Whether linked pairs are refused: then a body that links both ends directly says nothing of the others.
    refuses_linked: bool,
    /// The target's known pairs, in a random order.
    pairs: Vec<(u32, u32)>,
    budget: Budget<'c>,
    told: &'c Told<'c>,
    effort: Effort,
    /// Fingerprints of the answers that a body was counted with.
    answered: HashSet<u64>,
    counted: Vec<Counted>,
    bodies: usize,
    ended: Ended,
}

impl Context<'_> {
    /// Searches one target's rules.
    pub(super) fn search_target(&self, target: Predicate, budget: Budget, told: &Told) -> Tried {
        let mut evaluator = self.evaluator(target, budget.until(PARTS[0]).time_left());
        let (sample, pairs) = self.sample(target);
        let used = self.constraints.iter().filter(|kept| kept.used_for.contains(&target));
        let denials: Vec<&Denial> = used.map(|kept| &kept.constraint.denial).collect();
        let refusals = Refusals::new(denials, target, self.steps.facts).expect("learned or checked before");
        let mut search = TargetSearch {
            context: self,
            target,
            evaluator: evaluator.as_mut(),
            sample: if refusals.is_empty() { sample } else { sample.refusing(&refusals) },
            refuses_linked: refusals.refuses_linked(),
            pairs,
            budget,
            told,
            effort: Effort { max_answers: MAX_ANSWERS, links: MAX_LINKS },
            answered: HashSet::new(),
            counted: Vec::new(),
            bodies: 0,
            ended: Ended::Complete,
        };
        search.propose();
        search.select()
    }

    /// What answers a target's bodies, each question within some time.
    pub(super) fn evaluator(&self, target: Predicate, time: Option<Duration>) -> Box<dyn Evaluator + '_> {
        let limits = Limits { time, answers: None };
        if self.is_small() {
            Box::new(Exact::new(&self.steps, target, self.irreflexive[target.index()], limits))
        } else {
            Box::new(Sampled::new(&self.steps, target, limits))
        }
    }

    /// The queries that the target's bodies are evaluated on, and its known pairs: all of them where that is asked for
    /// or they are not too many, else a part drawn by the seed.
    fn sample(&self, target: Predicate) -> (QuerySample, Vec<(u32, u32)>) {
        let facts = self.steps.facts;
        let mut pairs: Vec<(u32, u32)> = facts.pairs(target).map(|(head, tail)| (head.0, tail.0)).collect();
        let is_known =
            |&(head, tail): &(u32, u32)| facts.tails(target, Entity(head)).binary_search(&tail).is_ok();
        let of_target = self.data.split(Split::Valid).iter().filter(|fact| fact.predicate == target);
        let mut valid: Vec<(u32, u32)> = of_target.map(|fact| (fact.head.0, fact.tail.0)).collect();
        valid.retain(|pair| !is_known(pair));
        let all_valid = valid.clone();
        let mut draw = stream(self.search.seed, Purpose::Questions, [u64::from(target.0), 0, 0]);
        pairs.shuffle(&mut draw);
        valid.shuffle(&mut draw);
        let (mut train, mut max_negatives) = (&pairs[..], usize::MAX);
        if self.search.evaluated != Evaluated::Exact {
            train = &pairs[..pairs.len().min(self.search.max_facts)];
            valid.truncate(self.search.max_facts * 3 / 5);
            max_negatives = self.search.max_negatives;
        }
        let asking = Facts { train, valid: &valid, all_valid: &all_valid };
        let sample =
            QuerySample::new(&self.steps, target, &asking, max_negatives, self.irreflexive[target.index()]);
        (sample, pairs)
    }
}

impl TargetSearch<'_, '_> {
    /// Proposes bodies of every kind and counts them; a new kind of body is called from here.
    fn propose(&mut self) {
        let (context, target) = (self.context, self.target);
        let search = context.search;
        let proposing = self.pairs[..self.pairs.len().min(PROPOSING_FACTS)].to_vec();
        let bodies = paths(context.graph, target, &proposing, search.min_support, search.max_paths);
        self.count_all(bodies);
        if search.similarity_paths {
            self.count_all(similarity_paths(&context.steps, target));
        }
        self.count_long_paths(&proposing);
        let most = MaxPatterns {
            single: search.max_patterns,
            paired: search.max_patterns * 25 / 2,
            constants: search.max_patterns,
        };
        if search.max_patterns > 0 {
            let facts = self.pairs.len();
            self.count_all(patterns(&context.steps, &proposing, facts, search.min_support, most));
        }
        for rule in context.extra.iter().filter(|rule| rule.target == target) {
            self.count_rule(rule);
        }
        self.search_locally();
        self.refine();
    }

    /// Whether the time for counting is over.
    fn is_late(&mut self) -> bool {
        if self.bodies.is_multiple_of(TOLD) {
            self.told.step(SearchStep::Counting(self.bodies));
        }
        let late = self.budget.until(PARTS[0]).is_stopped();
        if late {
            self.ended = Ended::TimeLimit;
        }
        late
    }

    fn count_all(&mut self, bodies: Vec<Body>) {
        for body in bodies {
            if self.is_late() {
                return;
            }
            self.count(body);
        }
    }

    /// Counts paths of three steps and more: each on a part of the sample first, and the best of them on all of it.
    fn count_long_paths(&mut self, proposing: &[(u32, u32)]) {
        let (context, search) = (self.context, self.context.search);
        let (min_support, max_steps) = (search.min_support, search.max_steps);
        let found = long_paths(context.graph, &context.steps, proposing, min_support, max_steps, &mut || {
            self.is_late()
        });
        let stride = self.sample.training().count().div_ceil(LOCAL_QUERIES).max(1);
        // With more paths than facts some would fit by chance.
        let most = search.max_paths.min(self.pairs.len());
        let mut tried: Vec<(f64, Body)> = Vec::new();
        for body in found.into_iter().take(LONG_TRIED * most).map(|walk| Body::Path(walk, 1)) {
            if self.is_late() {
                return;
            }
            let prepared = self.evaluator.prepare(body);
            let counts = self.sample.count(&prepared, &[1], stride, &mut self.effort)[0];
            let value = counts.map_or(0.0, |counts| counts.value(search.smoothing));
            tried.extend((value > 0.0).then_some((value, body)));
        }
        tried.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        tried.truncate(most);
        self.count_all(tried.into_iter().map(|(_, body)| body).collect());
    }

    /// Counts a body under each of the groundings it may be asked for; its confidence with one.
    fn count(&mut self, body: Body) -> Option<f64> {
        if self.refuses_linked && self.evaluator.rule(body).links_directly() {
            return None;
        }
        let all = self.context.search.min_groundings && body.is_long_path();
        let min_groundings = if all { &MIN_GROUNDINGS[..] } else { &MIN_GROUNDINGS[..1] };
        self.bodies += min_groundings.len();
        let prepared = self.evaluator.prepare(body);
        let found = self.sample.count(&prepared, min_groundings, 1, &mut self.effort);
        let smoothing = self.context.search.smoothing;
        let confidence = self.supported(found[0]).map(|counts| counts.confidence(smoothing).max());
        for (&min, counts) in min_groundings.iter().zip(found) {
            let Some(counts) = self.supported(counts) else { continue };
            if self.answered.insert(counts.fingerprint) {
                let (confidence, value) = (counts.confidence(smoothing), counts.value(smoothing));
                self.counted.push(Counted { confidence, value, body: body.with_min_groundings(min) });
            }
        }
        confidence
    }

    fn supported(&self, counts: Option<Counts>) -> Option<Counts> {
        counts.filter(|counts| counts.support() >= self.context.search.min_support)
    }

    fn count_rule(&mut self, rule: &Rule) -> Option<f64> {
        let body = self.evaluator.admit(rule)?;
        self.count(body)
    }

    /// Counts hard rules around the target's soft rules. Where the sample is large, a rule is counted on a part of it
    /// first, and on all of it only where that promises something.
    fn search_locally(&mut self) {
        let max_rules = self.context.search.local_search;
        let training = self.sample.training().count();
        let stride = training.div_ceil(LOCAL_QUERIES).max(1);
        let smoothing = self.context.search.smoothing;
        let mut known: HashMap<Rule, Option<f64>> = HashMap::new();
        for (soft, schema, number) in self.context.soft_rules(self.target) {
            local_search(soft, &schema, number, max_rules, &mut |rule| {
                let rule = self.context.translated(&rule)?;
                if let Some(&known) = known.get(&rule) {
                    return known;
                }
                if self.is_late() {
                    return None;
                }
                let confidence = if stride == 1 {
                    self.count_rule(&rule)
                } else {
                    let body = self.evaluator.admit(&rule)?;
                    let prepared = self.evaluator.prepare(body);
                    let found = self.sample.count(&prepared, &[1], stride, &mut self.effort)[0];
                    let promising = found.filter(|counts| counts.support() > 0);
                    drop(prepared);
                    promising.map(|counts| {
                        self.count(body);
                        counts.confidence(smoothing).max()
                    })
                };
                known.insert(rule, confidence);
                confidence
            });
        }
    }

    /// Counts the best rules so far with one literal more.
    fn refine(&mut self) {
        let search = self.context.search;
        let Some(branches) = self.context.branches.as_ref().filter(|_| search.max_refined > 0) else {
            return;
        };
        let mut parents = self.counted.clone();
        parents.retain(|counted| counted.body.min_groundings() == 1);
        parents.sort_by(|a, b| {
            let worth = |counted: &Counted| counted.value;
            worth(b).total_cmp(&worth(a)).then(a.body.cmp(&b.body))
        });
        parents.truncate(search.max_refined);
        for counted in parents {
            if self.is_late() {
                return;
            }
            let rule = self.evaluator.rule(counted.body);
            let answers = self.sample.answers(&self.evaluator.prepare(counted.body));
            let parent = Parent { rule: &rule, confidence: counted.confidence.max(), answers: &answers };
            let facts = self.context.steps.facts;
            for longer in branches.promising(&parent, facts, search.min_support, search.smoothing) {
                let before = self.counted.len();
                if self.count_rule(&longer).is_some_and(|confidence| confidence <= counted.confidence.max()) {
                    self.counted.truncate(before);
                }
            }
        }
    }

    /// Selects the best bodies, fires them, adds conjunctions and tries all aggregations of them.
    fn select(mut self) -> Tried {
        let search = self.context.search;
        self.told.step(SearchStep::Selecting);
        let kept = best(&self.counted, search.max_pool);
        let mut fires = self.fires(&kept);
        let single = kept
            .into_iter()
            .filter_map(|Counted { confidence, body, .. }| {
                let (kind, fires) = (body.kind(), fires.remove(&body)?);
                Some(Single { kind, confidence, fires, rule: self.evaluator.rule(body), body })
            })
            .collect();
        let counting = self.sample.counting();
        let conjunctions = Conjunctions {
            max: search.max_conjunctions,
            of: CONJOINED,
            min_support: search.min_support,
            smoothing: search.smoothing,
        };
        let mut pool = Pool::new(single, &counting, conjunctions, &self.budget.until(PARTS[2]));
        let pooled = pool.rules.len();
        let brought_up = self.context.is_exclusive.then(|| pool.brought_up(self.evaluator));
        let many = MAX_RULES.0 + self.pairs.len().saturating_sub(MANY_FACTS) / FACTS_PER_RULE;
        let max_rules = search.max_rules.unwrap_or(many.min(MAX_RULES.1));
        if max_rules > 0 {
            pool.keep_best(&self.sample, max_rules, search.signed, &self.budget.until(PARTS[3]));
        }
        self.told.step(SearchStep::Fitting);
        let mut tried =
            Tried::new(self.target, pool, &self.sample, (search.aggregation, search.signed), &self.budget);
        (tried.counted, tried.pooled, tried.ended) = (self.bodies, pooled, self.ended);
        tried.brought_up = brought_up.unwrap_or_default();
        tried
    }

    /// The candidates that every body fires on. A path is walked once for all groundings it is asked for, when the
    /// most confident of these comes; those that the time does not reach are not among the candidates.
    fn fires(&mut self, bodies: &[Counted]) -> HashMap<Body, Vec<u32>> {
        let mut asked: HashMap<Body, Vec<u32>> = HashMap::new();
        for counted in bodies {
            let body = counted.body;
            asked.entry(body.with_min_groundings(1)).or_default().push(body.min_groundings());
        }
        let mut fires = HashMap::new();
        for counted in bodies {
            let body = counted.body.with_min_groundings(1);
            if fires.len() >= MIN_FIRED && self.budget.until(PARTS[1]).is_stopped() {
                self.ended = Ended::TimeLimit;
                break;
            }
            if let Some(mut min_groundings) = asked.remove(&body) {
                min_groundings.sort_unstable();
                let found = self.sample.fires(&self.evaluator.prepare(body), &min_groundings);
                let bodies = min_groundings.into_iter().map(|min| body.with_min_groundings(min));
                fires.extend(bodies.zip(found));
            }
        }
        fires
    }
}

impl QuerySample {
    /// The candidates of training queries, parted by direction into answers and others.
    fn counting(&self) -> Counting {
        let training = Direction::BOTH.map(|direction| {
            let queries = self.training().filter(|(_, query)| query.direction == direction);
            let candidates =
                queries.flat_map(|(_, query)| query.candidates.iter().map(|&(_, number)| number));
            candidates.partition(|&candidate| self.labels[candidate as usize] == Label::Answer)
        });
        Counting { candidates: self.labels.len(), training }
    }

    /// The pairs that a body gives to the training queries for tails, without those that hold by themselves alone.
    fn answers(&self, prepared: &super::evaluate::Prepared) -> Vec<(Entity, Entity)> {
        let mut ends = super::ends::Ends::new(self.entities);
        let mut pairs = Vec::new();
        for (_, query) in self.training().filter(|(_, query)| query.direction == Direction::Tail) {
            prepared.ends(query, usize::MAX, &mut ends);
            for &end in ends.list() {
                let asks = query.answers.binary_search(&end).is_ok();
                if !asks || prepared.leave_one_out(query, end, 1) > 0 {
                    pairs.push((Entity(query.known), Entity(end)));
                }
            }
        }
        pairs
    }
}

//! Which predicate a pair has, told by all else that links its two ends.
//!
//! In: the facts of a graph, and rules that are counted already. Out: for a fact, the probability of its predicate beside
//! those of the others, and the rules that say so. No fact tells of itself.

use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;

use crate::constraint::{PathNumber, ShortPaths};
use crate::error::Result;
use crate::graph::{KnowledgeGraph, Predicate, Triple};
use crate::rule::{Measures, Rule, WeightedRule};
use crate::solve::{Limits, Solver};

/// All that links a pair counts as so many pieces of evidence that are independent, at most: paths overlap.
const MAX_PIECES: f64 = 5.0;
/// Rules that are given tell something from this confidence on.
const MIN_RULE_CONFIDENCE: f64 = 0.5;
/// How much less likely a fact is wrong that stands beside another of its pair, than one that stands in another's place.
const BESIDE: f64 = 0.1;
/// No evidence is stronger, on the scale of logarithms.
const MAX_LOG_ODDS: f64 = 30.0;
/// What links a pair that nothing else links.
const NOTHING: PathNumber = PathNumber::MAX;

/// What the pairs of a graph have in common.
pub(super) struct PairContext<'a> {
    graph: &'a KnowledgeGraph,
    paths: ShortPaths<'a>,
    /// By path, how many of the pairs that it links each predicate has, by predicate; after these, how many have none.
    counts: HashMap<PathNumber, Vec<(u32, u32)>>,
    /// By predicate, its share of all that linked pairs have; after these, that of the pairs linked from tail to head alone.
    shares: Vec<f64>,
    rules: Vec<&'a WeightedRule>,
    /// By pair, the rules that fire there.
    firing: HashMap<(u32, u32), Vec<u32>>,
}

/// What speaks for a predicate of one pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// A rule that concludes the predicate.
    pub rule: Rule,
    /// Its share of those linked pairs that its body holds of; of a rule that was given, its confidence.
    pub confidence: f64,
    /// How many these are: answers of the rule that are facts.
    pub support: usize,
}

impl Reason {
    /// Little evidence gives little confidence.
    fn smoothed(&self) -> f64 {
        let body = self.support as f64 / self.confidence.max(f64::MIN_POSITIVE);
        self.support as f64 / (body + Measures::SMOOTHING)
    }
}

/// What all else says of the predicate of a fact.
pub(super) struct Told {
    /// The logarithm of the odds that the pair has another predicate, and not this one.
    pub log_odds: f64,
    /// The likeliest other, where it is likelier than that of the fact, with its probability; it may be none.
    pub rather: Option<(Option<Predicate>, f64)>,
    /// The most confident rule that speaks for the other one.
    pub reason: Option<Reason>,
    /// The most confident rule that speaks for the fact itself.
    pub support: Option<Reason>,
}

impl<'a> PairContext<'a> {
    /// Counts what links the pairs of a graph, and where rules fire.
    pub fn new(graph: &'a KnowledgeGraph, rules: &[&'a WeightedRule]) -> Result<Self> {
        let paths = ShortPaths(graph.adjacency());
        let pairs = by_pair(graph.facts());
        let mut context = PairContext {
            graph,
            paths,
            counts: HashMap::new(),
            shares: vec![0.0; graph.sizes().predicates + 1],
            rules: confident(rules),
            firing: HashMap::new(),
        };
        context.count(&pairs);
        context.fire(&pairs)?;
        Ok(context)
    }

    /// The number of what a pair has that is linked from tail to head alone.
    fn none(&self) -> Predicate {
        Predicate(self.graph.sizes().predicates as u32)
    }

    /// Counts what links each pair, read from head to tail.
    fn count(&mut self, pairs: &BTreeMap<(u32, u32), Vec<Triple>>) {
        let (paths, none) = (self.paths, self.none());
        let mut all = 0.0;
        for (&(head, tail), of_pair) in pairs {
            let found = paths.between(head as usize, tail as usize);
            for fact in of_pair {
                let own = |path: &&PathNumber| is_itself(paths, **path, *fact);
                let mut linking = found.iter().filter(|path| !own(path)).peekable();
                let first = linking.peek().is_none().then_some(&NOTHING);
                for &path in first.into_iter().chain(linking) {
                    count(self.counts.entry(path).or_default(), fact.predicate);
                }
                self.shares[fact.predicate.index()] += 1.0;
                all += 1.0;
            }
            if !pairs.contains_key(&(tail, head)) {
                for path in paths.between(tail as usize, head as usize) {
                    count(self.counts.entry(path).or_default(), none);
                }
                self.shares[none.index()] += 1.0;
                all += 1.0;
            }
        }
        self.shares.iter_mut().for_each(|share| *share /= all);
    }

    /// Finds the pairs that rules fire for.
    fn fire(&mut self, pairs: &BTreeMap<(u32, u32), Vec<Triple>>) -> Result<()> {
        let facts = self.graph.neighbours();
        let answers = self.rules.par_iter().map(|weighted| {
            let solver = Solver::new(&weighted.rule, facts, Limits::default())?;
            let answers = solver.answers().value.into_iter().map(|(head, tail)| (head.0, tail.0));
            Ok(answers.filter(|pair| pairs.contains_key(pair)).collect::<Vec<_>>())
        });
        for (number, answers) in answers.collect::<Result<Vec<_>>>()?.into_iter().enumerate() {
            for pair in answers {
                self.firing.entry(pair).or_default().push(number as u32);
            }
        }
        Ok(())
    }

    /// The logarithm of the odds that the pair of a fact has another predicate instead.
    pub fn log_odds(&self, fact: Triple) -> Result<f64> {
        Ok(self.told(fact)?.log_odds)
    }

    /// What all else says of the predicate of a fact.
    ///
    /// ```text
    /// P(q | pair) ∝ share(q) · exp( min(1, 5 / n) · Σ_paths ln(1 + pairs with q and the path / (5 · share(q))) )
    /// ```
    ///
    /// The sum is over the n paths and rules that link the pair without the fact. A logarithm is that of what the path makes
    /// of the share of q, with five pairs added that are as all are.
    pub fn told(&self, fact: Triple) -> Result<Told> {
        let of_pair = self.of_pair(fact);
        let found = self.paths.between(fact.head.index(), fact.tail.index());
        let mut linking: Vec<PathNumber> =
            found.into_iter().filter(|&path| !is_itself(self.paths, path, fact)).collect();
        if linking.is_empty() {
            linking.push(NOTHING);
        }
        let mut evidence: Vec<(f64, Predicate, Piece)> = Vec::new();
        for &path in &linking {
            for &(predicate, count) in self.counts.get(&path).into_iter().flatten() {
                let predicate = Predicate(predicate);
                // Pairs are counted without this one.
                let count = count - u32::from(of_pair.contains(&predicate));
                evidence.push((self.lift(predicate, f64::from(count)), predicate, Piece::Path(path)));
            }
        }
        let mut pieces = linking.len();
        for &number in self.firing.get(&(fact.head.0, fact.tail.0)).into_iter().flatten() {
            let weighted = self.rules[number as usize];
            let target = weighted.rule.target;
            if let Some(support) = self.support(weighted, fact, &of_pair)? {
                evidence.push((self.lift(target, support), target, Piece::Rule(number)));
                pieces += 1;
            }
        }
        let weight = (MAX_PIECES / pieces as f64).min(1.0);
        let mut scores: Vec<f64> = self.shares.iter().map(|share| share.ln()).collect();
        for &(lift, predicate, _) in &evidence {
            scores[predicate.index()] += weight * lift;
        }
        // Where the pair has another predicate, no other is the same as that one alone.
        let has_other = of_pair.len() > 1;
        let is_other = |p: &Predicate| {
            *p != fact.predicate && self.shares[p.index()] > 0.0 && !(has_other && *p == self.none())
        };
        let others: Vec<Predicate> = (0..scores.len() as u32).map(Predicate).filter(is_other).collect();
        // What the pair has beside the fact may be all that it has; most pairs that have two have both.
        for of in of_pair.iter().filter(|of| **of != fact.predicate) {
            scores[of.index()] += BESIDE.ln();
        }
        let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = others.iter().map(|p| (scores[p.index()] - highest).exp()).sum();
        let own = (scores[fact.predicate.index()] - highest).exp();
        let best = others.iter().copied().max_by(|a, b| scores[a.index()].total_cmp(&scores[b.index()]));
        let best = best.filter(|best| scores[best.index()] > scores[fact.predicate.index()]);
        let strongest = |of: Predicate| {
            let about = evidence.iter().filter(|(lift, predicate, _)| *predicate == of && *lift > 0.0);
            let reasons = about.filter_map(|(_, _, piece)| self.reason(of, *piece, &of_pair));
            reasons.max_by(|a, b| a.smoothed().total_cmp(&b.smoothed()))
        };
        let share = |p: Predicate| (scores[p.index()] - highest).exp() / (sum + own);
        Ok(Told {
            log_odds: (sum.ln() - own.ln()).clamp(-MAX_LOG_ODDS, MAX_LOG_ODDS),
            rather: best.map(|best| (Some(best).filter(|&best| best != self.none()), share(best))),
            reason: best.filter(|&best| best != self.none()).and_then(strongest),
            support: strongest(fact.predicate),
        })
    }

    /// How much likelier a predicate is where so many pairs have it.
    fn lift(&self, predicate: Predicate, count: f64) -> f64 {
        (count / (Measures::SMOOTHING * self.shares[predicate.index()])).ln_1p()
    }

    /// The support of a rule that fires for the pair of a fact, without that fact; none where it fires by it alone.
    fn support(&self, weighted: &WeightedRule, fact: Triple, of_pair: &[Predicate]) -> Result<Option<f64>> {
        let (rule, facts) = (&weighted.rule, self.graph.neighbours());
        if rule.uses(fact.predicate)
            && !Solver::new(rule, facts, Limits::default())?.holds_without(fact.head, fact.tail, fact).value
        {
            return Ok(None);
        }
        let is_answer = of_pair.contains(&rule.target);
        let support = weighted.measures.map_or(0, |measures| measures.support);
        Ok(Some(support.saturating_sub(usize::from(is_answer)) as f64))
    }

    /// The predicates that a pair has.
    fn of_pair(&self, fact: Triple) -> Vec<Predicate> {
        let facts = self.graph.neighbours();
        let all = (0..facts.predicates() as u32).map(Predicate);
        all.filter(|&predicate| facts.holds(Triple { predicate, ..fact })).collect()
    }

    fn reason(&self, predicate: Predicate, piece: Piece, of_pair: &[Predicate]) -> Option<Reason> {
        let path = match piece {
            Piece::Rule(number) => {
                let weighted = self.rules[number as usize];
                return Some(Reason {
                    rule: weighted.rule.clone(),
                    confidence: weighted.confidence(),
                    support: weighted.measures.map_or(0, |measures| measures.support),
                });
            }
            Piece::Path(NOTHING) => return None,
            Piece::Path(path) => path,
        };
        let counted = self.counts.get(&path)?;
        let support =
            counted.iter().find(|(of, _)| *of == predicate.0)?.1 - u32::from(of_pair.contains(&predicate));
        let all: u32 =
            counted.iter().map(|(_, count)| count).sum::<u32>().saturating_sub(of_pair.len() as u32);
        let confidence = f64::from(support) / f64::from(all.max(1));
        Some(Reason { rule: self.paths.rule(predicate, path), confidence, support: support as usize })
    }
}

/// What a piece of evidence is.
#[derive(Clone, Copy)]
enum Piece {
    Path(PathNumber),
    Rule(u32),
}

/// Whether a path is the fact itself, read from head to tail.
fn is_itself(paths: ShortPaths, path: PathNumber, fact: Triple) -> bool {
    let reads = |forward| paths.is_step(path, fact.predicate, forward);
    reads(true) || (fact.head == fact.tail && reads(false))
}

/// Those rules that tell something: confident, and about both ends.
fn confident<'a>(rules: &[&'a WeightedRule]) -> Vec<&'a WeightedRule> {
    let is_confident = |weighted: &&&WeightedRule| {
        weighted.rule.links_ends() && weighted.measures.is_some_and(|m| m.confidence() >= MIN_RULE_CONFIDENCE)
    };
    rules.iter().filter(is_confident).copied().collect()
}

fn count(counts: &mut Vec<(u32, u32)>, predicate: Predicate) {
    match counts.binary_search_by_key(&predicate.0, |(of, _)| *of) {
        Ok(place) => counts[place].1 += 1,
        Err(place) => counts.insert(place, (predicate.0, 1)),
    }
}

/// Facts by their pair.
fn by_pair(facts: &[Triple]) -> BTreeMap<(u32, u32), Vec<Triple>> {
    let mut pairs: BTreeMap<(u32, u32), Vec<Triple>> = BTreeMap::new();
    for &fact in facts {
        pairs.entry((fact.head.0, fact.tail.0)).or_default().push(fact);
    }
    pairs
}

/// A grounding's facts of a rule that holds for a pair without one fact.
pub(super) fn proof(rule: &Rule, graph: &KnowledgeGraph, fact: Triple) -> Result<Vec<Triple>> {
    let facts = graph.neighbours();
    let grounding = Solver::new(rule, facts, Limits::default())?.grounding(fact.head, fact.tail).value;
    let held = grounding.map_or_else(Vec::new, |grounding| grounding.facts(rule, facts));
    let pair = |(atom, head, tail)| match atom {
        crate::rule::Atom::Pair(predicate, ..) => Some(Triple { head, predicate, tail }),
        _ => None,
    };
    Ok(held.into_iter().filter_map(pair).collect())
}

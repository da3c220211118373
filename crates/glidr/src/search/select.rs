//! Selection: the best bodies of one target, and conjunctions of two of them, with the candidates each fires on.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::Range;

use super::body::{Body, Kind};
use super::compete::{AnyBody, BroughtUp};
use super::evaluate::{Evaluator, QuerySample};
use super::weigh::{Offer, take_greedily};
use crate::rule::{MAX_VARIABLES, Rule, Term, Weight};
use crate::util::progress::{Budget, Progress};

/// A body with what was counted of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    /// For tails and for heads: a body that is sure of one may be broad for the other.
    pub confidence: Weight,
    /// Support times confidence.
    pub value: f64,
    pub body: Body,
}

impl Counted {
    /// Most confident first.
    fn order(&self, other: &Self) -> Ordering {
        let confidence = other.confidence.max().total_cmp(&self.confidence.max());
        confidence.then(other.value.total_cmp(&self.value)).then(self.body.cmp(&other.body))
    }
}

/// The best bodies, most confident first: at most `max_pool` that are plain, and half as many of every other kind, so
/// that none takes the place of a plain one.
pub(super) fn best(counted: &[Counted], max_pool: usize) -> Vec<Counted> {
    let mut kept = Vec::new();
    for kind in Kind::ALL {
        let of_kind = counted.iter().filter(|counted| counted.body.kind() == kind).copied().collect();
        kept.extend(best_of_kind(of_kind, if kind == Kind::Plain { max_pool } else { max_pool / 2 }));
    }
    kept.sort_by(Counted::order);
    kept
}

/// A fifth by confidence, the others by value.
fn best_of_kind(mut counted: Vec<Counted>, max_rules: usize) -> Vec<Counted> {
    counted.sort_by(Counted::order);
    let surest = max_rules / 5;
    let mut rest = counted.split_off(counted.len().min(surest));
    rest.sort_by(|a, b| b.value.total_cmp(&a.value).then_with(|| a.order(b)));
    counted.extend(rest.into_iter().take(max_rules - surest));
    counted
}

/// The rules that weights are fitted for.
pub(super) struct Pool {
    /// The rules that are no conjunctions.
    single: Vec<(Rule, Body)>,
    pub rules: Vec<Pooled>,
}

/// A rule that is no conjunction.
pub(super) struct Single {
    pub kind: Kind,
    pub confidence: Weight,
    /// The candidates it fires on.
    pub fires: Vec<u32>,
    pub rule: Rule,
    pub body: Body,
}

/// A rule in the pool.
pub(super) struct Pooled {
    /// The single rules it is made of: one, or two joined by X and Y.
    parts: (usize, Option<usize>),
    pub confidence: Weight,
    /// Its kind; of a conjunction the less simple of both.
    kind: Kind,
    /// The candidates it fires on.
    pub fires: Vec<u32>,
    /// Whether it is among the few that are kept: for weights of at least 0, and for those of either sign.
    kept: [bool; 2],
}

impl Pooled {
    fn is_of(&self, kind: Kind, signed: bool) -> bool {
        self.kind <= kind && self.kept[usize::from(signed)]
    }
}

/// Some rules of a pool.
pub(super) struct Part<'a> {
    /// The least simple kind of theirs.
    pub kind: Kind,
    /// Their places in the pool.
    pub places: Vec<usize>,
    pub confidences: Vec<Weight>,
    /// The candidates that every one fires on.
    pub fires: Vec<&'a [u32]>,
}

/// How conjunctions are made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Conjunctions {
    /// At most so many.
    pub max: usize,
    /// Of so many single rules, the most confident.
    pub of: usize,
    pub min_support: usize,
    pub smoothing: f64,
}

/// The candidates that confidences of conjunctions are counted on.
#[derive(Default)]
pub(super) struct Counting {
    /// How many candidates there are.
    pub candidates: usize,
    /// Answers of training queries for tails and for heads, each time with all other candidates of these.
    pub training: [(Vec<u32>, Vec<u32>); 2],
}

/// Sets of training candidates as bits: of every direction answers first, then negatives, each in words of their own.
struct TrainingBits {
    /// The bit of every candidate; none where no training query asks for it.
    place: Vec<u32>,
    /// Where the words of answers and of negatives end, for tails and for heads.
    ends: [(usize, usize); 2],
}

impl TrainingBits {
    fn new(counting: &Counting) -> Self {
        let mut place = vec![u32::MAX; counting.candidates];
        let mut words = 0;
        let mut lay = |candidates: &[u32]| {
            for (&candidate, bit) in candidates.iter().zip(64 * words as u32..) {
                place[candidate as usize] = bit;
            }
            words += candidates.len().div_ceil(64);
            words
        };
        let ends = [0, 1].map(|end: usize| {
            let (answers, negatives) = &counting.training[end];
            (lay(answers), lay(negatives))
        });
        TrainingBits { place, ends }
    }

    fn of(&self, fires: &[u32]) -> Vec<u64> {
        let mut bits = vec![0u64; self.ends[1].1];
        let places = fires.iter().map(|&candidate| self.place[candidate as usize]);
        for place in places.filter(|&place| place != u32::MAX) {
            bits[place as usize / 64] |= 1 << (place % 64);
        }
        bits
    }

    /// The confidence of two sets' intersection, both directions together; and for tails and for heads. None where it
    /// is not above `least` or finds too little, which may be told before all negatives are counted.
    fn confidence(&self, [a, b]: [&[u64]; 2], least: f64, of: Conjunctions) -> Option<(f64, Weight)> {
        let common = |words: Range<usize>| -> u32 {
            a[words.clone()].iter().zip(&b[words]).map(|(a, b)| (a & b).count_ones()).sum()
        };
        let first = [0, self.ends[0].1];
        let hits = [0, 1].map(|end| common(first[end]..self.ends[end].0));
        let confidence =
            |hits: u32, negatives: u32| f64::from(hits) / (f64::from(hits + negatives) + of.smoothing);
        let all = hits[0] + hits[1];
        let is_above = |negatives: u32| confidence(all, negatives) > least;
        if (all as usize) < of.min_support || !is_above(0) {
            return None;
        }
        let mut negatives = [0; 2];
        for end in [0, 1] {
            let (mut at, last) = self.ends[end];
            while at < last {
                let next = (at + COUNTED_WORDS).min(last);
                negatives[end] += common(at..next);
                at = next;
                if !is_above(negatives[0] + negatives[1]) {
                    return None;
                }
            }
        }
        let [tail, head] = [0, 1].map(|end| confidence(hits[end], negatives[end]));
        Some((confidence(all, negatives[0] + negatives[1]), Weight { tail, head }))
    }
}

/// So many words of negatives are counted at a time.
const COUNTED_WORDS: usize = 64;

/// What two sorted lists have in common.
fn common(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut rest = b.iter().peekable();
    let is_in_both = |of: &&u32| {
        while rest.next_if(|other| other < of).is_some() {}
        rest.peek() == Some(of)
    };
    a.iter().filter(is_in_both).copied().collect()
}

impl Pool {
    /// The single rules, most confident first, and the best conjunctions of two that are
    /// more confident than both.
    pub fn new(
        single: Vec<Single>,
        counting: &Counting,
        conjunctions: Conjunctions,
        budget: &Budget,
    ) -> Self {
        let mut pool = Pool { single: Vec::new(), rules: Vec::new() };
        for (number, Single { kind, confidence, fires, rule, body }) in single.into_iter().enumerate() {
            pool.rules.push(Pooled { parts: (number, None), confidence, kind, fires, kept: [true; 2] });
            pool.single.push((rule, body));
        }
        pool.conjoin(counting, conjunctions, budget);
        // Most confident first, so that aggregations that count the best few can stop early.
        pool.rules
            .sort_by(|a, b| b.confidence.max().total_cmp(&a.confidence.max()).then(a.parts.cmp(&b.parts)));
        pool
    }

    /// The candidates that every rule fires on.
    pub fn fires(&self) -> Vec<&[u32]> {
        self.rules.iter().map(|rule| rule.fires.as_slice()).collect()
    }

    /// The rules of this kind and of simpler ones, for weights of at least 0 or of either sign.
    pub fn part(&self, kind: Kind, signed: bool) -> Part<'_> {
        let places: Vec<usize> =
            (0..self.rules.len()).filter(|&rule| self.rules[rule].is_of(kind, signed)).collect();
        Part {
            kind,
            confidences: places.iter().map(|&rule| self.rules[rule].confidence).collect(),
            fires: places.iter().map(|&rule| self.rules[rule].fires.as_slice()).collect(),
            places,
        }
    }

    /// Adds the best conjunctions of two rules, among those that the time reaches.
    fn conjoin(&mut self, counting: &Counting, conjunctions: Conjunctions, budget: &Budget) {
        if conjunctions.max == 0 {
            return;
        }
        let bits = TrainingBits::new(counting);
        let joined = self.rules.iter().take(conjunctions.of);
        let sets: Vec<Vec<u64>> = joined.map(|rule| bits.of(&rule.fires)).collect();
        let mut found: Vec<(f64, Weight, usize, usize)> = Vec::new();
        for (i, a) in sets.iter().enumerate().take_while(|_| !budget.is_stopped()) {
            for (j, b) in sets.iter().enumerate().skip(i + 1) {
                let least = self.rules[i].confidence.max().max(self.rules[j].confidence.max()) + 1e-9;
                let counted = bits.confidence([a, b], least, conjunctions);
                found.extend(counted.map(|(both, confidence)| (both, confidence, i, j)));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.2, a.3).cmp(&(b.2, b.3))));
        let mut known: HashSet<Vec<u32>> = HashSet::new();
        for (_, confidence, i, j) in found {
            if known.len() == conjunctions.max {
                break;
            }
            let fires = common(&self.rules[i].fires, &self.rules[j].fires);
            if conjunction(&self.single[i].0, &self.single[j].0).is_some() && known.insert(fires.clone()) {
                let kind = self.rules[i].kind.max(self.rules[j].kind);
                self.rules.push(Pooled { parts: (i, Some(j)), confidence, kind, fires, kept: [true; 2] });
            }
        }
    }

    /// Keeps at most `max_rules` rules that link X and Y and as many priors: those that together rank the training
    /// queries best. As many again where weights may also be below 0, of which they may be others.
    pub fn keep_best(&mut self, sample: &QuerySample, max_rules: usize, signed: bool, budget: &Budget) {
        let rules: Vec<Rule> = (0..self.rules.len()).map(|number| self.rule(number)).collect();
        let offers: Vec<Offer> = rules
            .iter()
            .zip(&self.rules)
            .map(|(rule, Pooled { fires, .. })| Offer {
                fires,
                is_linked: rule.links_ends(),
                literals: rule.body().len(),
            })
            .collect();
        let mut kept = vec![[false; 2]; rules.len()];
        for signed in [false, true].into_iter().take(1 + usize::from(signed)) {
            for taken in take_greedily(&offers, sample, max_rules, signed, budget) {
                kept[taken][usize::from(signed)] = true;
            }
        }
        self.rules.iter_mut().zip(kept).for_each(|(rule, kept)| rule.kept = kept);
        self.rules.retain(|rule| rule.kept.contains(&true));
    }

    /// All that it has, for predicates to compete with.
    pub fn brought_up(&self, evaluator: &dyn Evaluator) -> BroughtUp {
        let bodies = self.single.iter().map(|(_, body)| AnyBody::of(*body, evaluator)).collect();
        let joined = |rule: &Pooled| rule.parts.1.map(|second| (rule.parts.0, second));
        BroughtUp { bodies, conjunctions: self.rules.iter().filter_map(joined).collect() }
    }

    /// The rule of a number as logic.
    pub fn rule(&self, number: usize) -> Rule {
        let (first, second) = self.rules[number].parts;
        let joined = second.and_then(|second| conjunction(&self.single[first].0, &self.single[second].0));
        joined.map_or_else(|| self.single[first].0.clone(), |rule| rule.folded())
    }
}

/// Both bodies at once, joined by X and Y alone; none where that has too many variables, or one of them asks for
/// several groundings.
pub(super) fn conjunction(a: &Rule, b: &Rule) -> Option<Rule> {
    let inner = a.variables() - 2;
    if inner + b.variables() > MAX_VARIABLES || a.min_groundings() > 1 || b.min_groundings() > 1 {
        return None;
    }
    let moved = b.renamed(|term| match term {
        Term::Z(number) => Term::Z(number + inner as u8),
        other => other,
    });
    Some(Rule::new(a.target, &[a.body(), &moved].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{ClassMatrix, Neighbours, Predicate, Sizes, Triple};
    use crate::rule::{Atom, Literal};
    use crate::search::body::Steps;
    use crate::search::propose::paths;
    use crate::solve::{Limits, Solver};

    fn pair(predicate: u32, a: Term, b: Term) -> Literal {
        Literal::any_of(vec![Atom::Pair(Predicate(predicate), a, b)])
    }

    #[test]
    fn folding_a_conjunction_drops_variables_and_changes_no_answer() {
        let facts: Vec<Triple> = (0..60u32).map(|n| Triple::new(n * 7 % 11, n % 3, n * n % 11)).collect();
        let graph = ClassMatrix::new(Sizes { entities: 11, predicates: 3, properties: 0 }, &facts, &[]);
        let index = Neighbours::new(Sizes { entities: 11, predicates: 3, properties: 0 }, &facts, &[]);
        let steps = Steps::new(&index);
        let answers =
            |rule: &Rule| Solver::new(rule, &index, Limits::default()).expect("a sound rule").answers().value;
        let pairs: Vec<(u32, u32)> = index.pairs(Predicate(0)).map(|(head, tail)| (head.0, tail.0)).collect();
        let found: Vec<Rule> = paths(&graph, Predicate(0), &pairs, 1, usize::MAX)
            .into_iter()
            .map(|body| steps.rule(body, Predicate(0)))
            .collect();
        let mut shorter = 0;
        for a in found.iter().step_by(3) {
            for b in found.iter().step_by(4) {
                let joined = conjunction(a, b).expect("few variables");
                let folded = joined.folded();
                assert_eq!(answers(&joined), answers(&folded), "{joined:?} and {folded:?}");
                shorter += usize::from(folded.variables() < joined.variables());
            }
        }
        assert!(shorter > 0, "a body joined with itself at least");
        let loose =
            [pair(1, Term::Z(1), Term::X), pair(1, Term::Z(2), Term::X), pair(2, Term::Z(1), Term::Y)];
        let tight = [pair(1, Term::Z(1), Term::X), pair(2, Term::Z(1), Term::Y)];
        assert_eq!(Rule::new(Predicate(0), &loose).folded(), Rule::new(Predicate(0), &tight));
    }

    #[test]
    fn two_bodies_are_joined_by_the_ends_alone() {
        let one = Rule::new(Predicate(0), &[pair(1, Term::X, Term::Z(1)), pair(2, Term::Z(1), Term::Y)]);
        let two = conjunction(&one, &one).expect("few variables");
        assert_eq!((two.variables(), two.body().len()), (4, 4));
    }

    #[test]
    fn a_fifth_of_the_best_bodies_is_chosen_by_confidence_and_the_rest_by_value() {
        let counted = |number: u32, confidence: f64, value: f64| Counted {
            confidence: confidence.into(),
            value,
            body: Body::General(number),
        };
        let all =
            vec![counted(0, 0.9, 1.0), counted(1, 0.8, 2.0), counted(2, 0.1, 9.0), counted(3, 0.2, 5.0)];
        let chosen: Vec<Body> = best(&all, 3).iter().map(|counted| counted.body).collect();
        // None of three by confidence alone, as a fifth of three is none.
        assert_eq!(chosen, [Body::General(1), Body::General(3), Body::General(2)]);
    }

    #[test]
    fn a_conjunction_counts_the_candidates_of_both_rules_one_by_one() {
        // Every third candidate is of no training query, every second of tails, every fifth an answer.
        let of = |head: bool, answer: bool| {
            let is_so = |n: &u32| {
                !n.is_multiple_of(3) && n.is_multiple_of(2) == head && n.is_multiple_of(5) == answer
            };
            (0..30_000).filter(is_so).collect::<Vec<u32>>()
        };
        let counting = Counting {
            candidates: 30_000,
            training: [false, true].map(|head| (of(head, true), of(head, false))),
        };
        let bits = TrainingBits::new(&counting);
        let conjunctions = Conjunctions { min_support: 2, smoothing: 5.0, ..Conjunctions::default() };
        let fires = |by: u32| (0..30_000).filter(|n| n * n % 97 % by == 0).collect::<Vec<u32>>();
        for (a, b) in [(2, 3), (5, 7), (1, 11), (13, 17)] {
            let both = common(&fires(a), &fires(b));
            let count = |of: &[u32]| common(&both, of).len() as f64;
            let [(tail, tails), (head, heads)] = [false, true].map(|head| {
                let (hits, negatives) = (count(&of(head, true)), count(&of(head, false)));
                (hits, hits + negatives)
            });
            let expected = (tail + head) / (tails + heads + 5.0);
            let counted =
                |least: f64| bits.confidence([&bits.of(&fires(a)), &bits.of(&fires(b))], least, conjunctions);
            let by_direction = Weight { tail: tail / (tails + 5.0), head: head / (heads + 5.0) };
            assert_eq!(counted(expected - 1e-9), Some((expected, by_direction)));
            assert_eq!(counted(expected), None);
        }
    }
}

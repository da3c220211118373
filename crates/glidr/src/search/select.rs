//! Selection: the best bodies of one target, and conjunctions of two of them, with the candidates each fires on.

use std::collections::HashSet;

use super::body::Body;
use crate::rule::{MAX_VARIABLES, Rule, Term};

/// A body with what was counted of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    pub confidence: f64,
    /// Support times confidence.
    pub value: f64,
    pub body: Body,
}

/// The best bodies: a fifth by confidence, the others by value; most confident first.
pub(super) fn best(mut counted: Vec<Counted>, max_rules: usize) -> Vec<Counted> {
    let order = |a: &Counted, b: &Counted| {
        let confidence = b.confidence.total_cmp(&a.confidence);
        confidence.then(b.value.total_cmp(&a.value)).then(a.body.cmp(&b.body))
    };
    counted.sort_by(order);
    let surest = max_rules / 5;
    let mut rest = counted.split_off(counted.len().min(surest));
    rest.sort_by(|a, b| b.value.total_cmp(&a.value).then_with(|| order(a, b)));
    counted.extend(rest.into_iter().take(max_rules - surest));
    counted.sort_by(order);
    counted
}

/// The rules that weights are fitted for.
pub(super) struct Pool {
    /// The rules that are no conjunctions.
    single: Vec<Rule>,
    pub rules: Vec<Pooled>,
}

/// A rule in the pool.
pub(super) struct Pooled {
    /// The single rules it is made of: one, or two joined by X and Y.
    parts: (usize, Option<usize>),
    pub confidence: f64,
    /// The candidates it fires on.
    pub fires: Vec<u32>,
}

/// How conjunctions are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conjunctions {
    /// At most so many.
    pub max: usize,
    /// Of so many single rules, the most confident.
    pub of: usize,
    pub min_support: usize,
    pub smoothing: f64,
}

/// The candidates that confidences of conjunctions are counted on.
pub(super) struct Counting<'a> {
    /// How many candidates there are.
    pub candidates: usize,
    /// Answers of training queries.
    pub answers: &'a [u32],
    /// All candidates of training queries.
    pub training: &'a [u32],
}

/// Sets of training candidates as bits.
struct TrainingBits {
    /// The bit of every candidate; none where no training query asks for it.
    place: Vec<u32>,
    words: usize,
}

impl TrainingBits {
    fn new(counting: &Counting) -> Self {
        let mut place = vec![u32::MAX; counting.candidates];
        for (bit, &candidate) in counting.training.iter().enumerate() {
            place[candidate as usize] = bit as u32;
        }
        TrainingBits { place, words: counting.training.len().div_ceil(64) }
    }

    fn of(&self, fires: &[u32]) -> Vec<u64> {
        let mut bits = vec![0u64; self.words];
        let places = fires.iter().map(|&candidate| self.place[candidate as usize]);
        for place in places.filter(|&place| place != u32::MAX) {
            bits[place as usize / 64] |= 1 << (place % 64);
        }
        bits
    }
}

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
    /// The single rules (confidence, candidates, rule), most confident first, and the best conjunctions of two that are
    /// more confident than both.
    pub fn new(single: Vec<(f64, Vec<u32>, Rule)>, counting: &Counting, conjunctions: Conjunctions) -> Self {
        let mut pool = Pool { single: Vec::new(), rules: Vec::new() };
        for (number, (confidence, fires, rule)) in single.into_iter().enumerate() {
            pool.rules.push(Pooled { parts: (number, None), confidence, fires });
            pool.single.push(rule);
        }
        pool.conjoin(counting, conjunctions);
        // Most confident first, so that aggregations that count the best few can stop early.
        pool.rules.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then(a.parts.cmp(&b.parts)));
        pool
    }

    /// The candidates that every rule fires on.
    pub fn fires(&self) -> Vec<&[u32]> {
        self.rules.iter().map(|rule| rule.fires.as_slice()).collect()
    }

    fn conjoin(&mut self, counting: &Counting, conjunctions: Conjunctions) {
        if conjunctions.max == 0 {
            return;
        }
        let bits = TrainingBits::new(counting);
        let joined = self.rules.iter().take(conjunctions.of);
        let sets: Vec<Vec<u64>> = joined.map(|rule| bits.of(&rule.fires)).collect();
        let answers = bits.of(counting.answers);
        let mut found: Vec<(f64, usize, usize)> = Vec::new();
        for (i, a) in sets.iter().enumerate() {
            for (j, b) in sets.iter().enumerate().skip(i + 1) {
                let (mut body, mut hits) = (0, 0);
                for ((a, b), answers) in a.iter().zip(b).zip(&answers) {
                    body += (a & b).count_ones();
                    hits += (a & b & answers).count_ones();
                }
                let confidence = f64::from(hits) / (f64::from(body) + conjunctions.smoothing);
                let parts = self.rules[i].confidence.max(self.rules[j].confidence);
                if hits as usize >= conjunctions.min_support && confidence > parts + 1e-9 {
                    found.push((confidence, i, j));
                }
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let mut known: HashSet<Vec<u32>> = HashSet::new();
        for (confidence, i, j) in found {
            if known.len() == conjunctions.max {
                break;
            }
            let fires = common(&self.rules[i].fires, &self.rules[j].fires);
            if conjunction(&self.single[i], &self.single[j]).is_some() && known.insert(fires.clone()) {
                self.rules.push(Pooled { parts: (i, Some(j)), confidence, fires });
            }
        }
    }

    /// The rule of a number as logic.
    pub fn rule(&self, number: usize) -> Rule {
        let (first, second) = self.rules[number].parts;
        let joined = second.and_then(|second| conjunction(&self.single[first], &self.single[second]));
        joined.map_or_else(|| self.single[first].clone(), |rule| rule.folded())
    }
}

/// Both bodies at once, joined by X and Y alone; none where that has too many variables, or one of them asks for
/// several groundings.
fn conjunction(a: &Rule, b: &Rule) -> Option<Rule> {
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
            confidence,
            value,
            body: Body::General(number),
        };
        let all =
            vec![counted(0, 0.9, 1.0), counted(1, 0.8, 2.0), counted(2, 0.1, 9.0), counted(3, 0.2, 5.0)];
        let chosen: Vec<Body> = best(all, 3).iter().map(|counted| counted.body).collect();
        // None of three by confidence alone, as a fifth of three is none.
        assert_eq!(chosen, [Body::General(1), Body::General(3), Body::General(2)]);
    }
}

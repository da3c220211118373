//! A plain sampler of rules, as that of `AnyBURL` (Meilicke et al. 2019): random walks around random facts, each
//! generalised to a rule, whose confidence is estimated on sampled groundings.
//!
//! In: a [`Dataset`] and a time. Out: rules with their confidences, to be aggregated by the best confidence. Walks visit
//! no entity twice. Paths grow by a step when nearly all that are drawn are known already.

use std::collections::HashMap;

use glidr::internals::graph::{Background, Entity, Neighbours, Predicate, Triple};
use glidr::internals::rule::{Atom, Literal, TargetRules, Term, WeightedRule};
use glidr::{Aggregation, Dataset, Rule, RuleSet};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::watch::Stopwatch;

/// Pairs that a rule predicts are sampled up to so many.
const SAMPLED: usize = 1000;
/// Walks from one entity, at most, while they are.
const WALKS: usize = 1000;
/// Added to what a rule predicts.
const SMOOTHING: f64 = 5.0;
/// Facts that a rule must predict at least.
const MIN_SUPPORT: usize = 2;
/// So many walks are drawn before it is asked whether paths shall grow.
const BATCH: usize = 1000;
/// They do when more of those that made a rule made a known one.
const SATURATION: f64 = 0.99;

/// A step by its predicate, and whether it leads from tail to head.
type Step = (Predicate, bool);

/// What a walk is generalised to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Walked {
    /// A path from X to Y.
    Path(Vec<Step>),
    /// One end is a constant; the other has a step to a constant, or to anything.
    Constant { end_is_tail: bool, constant: Entity, step: Step, to: Option<Entity> },
}

/// Draws walks.
struct Sampler<'a> {
    facts: &'a Neighbours,
    all: Vec<Triple>,
    /// The steps from every entity.
    steps: Vec<Vec<(Step, Entity)>>,
    random: ChaCha8Rng,
}

/// Samples for so many processor seconds.
pub fn sample(data: &Dataset, max_steps: usize, seconds: f64, seed: u64) -> RuleSet {
    let facts = data.graph(Background::Train).neighbours();
    let mut steps = vec![Vec::new(); facts.entities()];
    let mut all = Vec::new();
    for predicate in (0..facts.predicates() as u32).map(Predicate) {
        for (head, tail) in facts.pairs(predicate) {
            all.push(Triple { head, predicate, tail });
            steps[head.index()].push(((predicate, false), tail));
            steps[tail.index()].push(((predicate, true), head));
        }
    }
    let mut sampler = Sampler { facts, all, steps, random: ChaCha8Rng::seed_from_u64(seed) };
    let mut found: HashMap<(Predicate, Walked), Option<f64>> = HashMap::new();
    let (time, mut length, mut turn) = (Stopwatch::start(), 1, 0);
    while time.seconds() < seconds {
        let (mut drawn, mut known) = (0, 0);
        for _ in 0..BATCH {
            turn += 1;
            let walked = if turn % 2 == 0 { sampler.constant() } else { sampler.path(length) };
            let Some((target, walked)) = walked else { continue };
            drawn += usize::from(turn % 2 == 1);
            let key = (target, walked);
            if found.contains_key(&key) {
                known += usize::from(turn % 2 == 1);
                continue;
            }
            let confidence = sampler.confidence(target, &key.1);
            found.insert(key, confidence);
        }
        // Where nothing of this length is drawn, longer ones may be.
        if length < max_steps && known as f64 >= SATURATION * f64::from(drawn as u32) {
            length += 1;
        }
    }
    let mut kept: Vec<(Predicate, Walked, f64)> = found
        .into_iter()
        .filter_map(|((target, walked), confidence)| Some((target, walked, confidence?)))
        .collect();
    kept.sort_by(|a, b| a.0.cmp(&b.0).then(b.2.total_cmp(&a.2)).then(a.1.cmp(&b.1)));
    RuleSet::new(kept.chunk_by(|a, b| a.0 == b.0).map(|of_target| {
        let rule = |(target, walked, confidence): &(Predicate, Walked, f64)| {
            WeightedRule::new(walked.rule(*target), *confidence)
        };
        TargetRules::new(of_target[0].0, Aggregation::MaxPlus, of_target.iter().map(rule).collect())
    }))
}

impl Sampler<'_> {
    fn fact(&mut self) -> Triple {
        self.all[self.random.random_range(0..self.all.len())]
    }

    /// A random walk from the head of a fact, which ends in its tail and goes by no entity twice.
    fn path(&mut self, length: usize) -> Option<(Predicate, Walked)> {
        let fact = self.fact();
        let (mut at, mut visited, mut path) = (fact.head, vec![fact.head], Vec::new());
        for place in 1..=length {
            let steps = &self.steps[at.index()];
            // The last step is drawn among those that end there.
            let fits: Vec<(Step, Entity)> = if place == length {
                let is_fact = |step: &(Step, Entity)| {
                    at == fact.head && step.0 == (fact.predicate, false) && step.1 == fact.tail
                };
                steps.iter().filter(|step| step.1 == fact.tail && !is_fact(step)).copied().collect()
            } else {
                let (step, to) = steps[self.random.random_range(0..steps.len())];
                if to == fact.tail || visited.contains(&to) { Vec::new() } else { vec![(step, to)] }
            };
            let (step, to) = *fits.get(self.random.random_range(0..fits.len().max(1)))?;
            path.push(step);
            visited.push(to);
            at = to;
        }
        Some((fact.predicate, Walked::Path(path)))
    }

    /// What a step of one end says of the other as a constant.
    fn constant(&mut self) -> Option<(Predicate, Walked)> {
        let fact = self.fact();
        let end_is_tail = self.random.random_bool(0.5);
        let (open, constant) = if end_is_tail { (fact.head, fact.tail) } else { (fact.tail, fact.head) };
        let steps = &self.steps[open.index()];
        let (step, to) = steps[self.random.random_range(0..steps.len())];
        let to = self.random.random_bool(0.5).then_some(to);
        if step == (fact.predicate, !end_is_tail) && to.is_none_or(|to| to == constant) {
            return None;
        }
        Some((fact.predicate, Walked::Constant { end_is_tail, constant, step, to }))
    }

    /// Correct predictions by all, on sampled ones; none with too few.
    fn confidence(&mut self, target: Predicate, walked: &Walked) -> Option<f64> {
        let mut pairs: Vec<(Entity, Entity)> = Vec::new();
        match walked {
            Walked::Path(path) => {
                let starts: Vec<(Entity, Entity)> = self.facts.pairs(path[0].0).collect();
                for _ in 0..SAMPLED {
                    let (head, tail) = starts[self.random.random_range(0..starts.len())];
                    let start = if path[0].1 { tail } else { head };
                    let mut walks = WALKS;
                    let mut visited = vec![start];
                    self.walk(path, &mut visited, &mut walks, &mut pairs);
                    if pairs.len() >= SAMPLED {
                        break;
                    }
                }
            }
            Walked::Constant { end_is_tail, constant, step, to } => {
                let holders: Vec<Entity> = match (to, step.1) {
                    (Some(to), false) => self.facts.heads(step.0, *to).iter().map(|&e| Entity(e)).collect(),
                    (Some(to), true) => self.facts.tails(step.0, *to).iter().map(|&e| Entity(e)).collect(),
                    (None, false) => self.facts.pairs(step.0).map(|pair| pair.0).collect(),
                    (None, true) => self.facts.pairs(step.0).map(|pair| pair.1).collect(),
                };
                let stride = holders.len().div_ceil(SAMPLED).max(1);
                let pair = |open: Entity| if *end_is_tail { (open, *constant) } else { (*constant, open) };
                pairs.extend(holders.into_iter().step_by(stride).map(pair));
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let holds =
            |&&(head, tail): &&(Entity, Entity)| self.facts.holds(Triple { head, predicate: target, tail });
        let support = pairs.iter().filter(holds).count();
        (support >= MIN_SUPPORT).then(|| support as f64 / (pairs.len() as f64 + SMOOTHING))
    }

    /// Follows a path, and adds the pairs of its ends.
    fn walk(
        &self,
        path: &[Step],
        visited: &mut Vec<Entity>,
        walks: &mut usize,
        pairs: &mut Vec<(Entity, Entity)>,
    ) {
        let at = visited[visited.len() - 1];
        let Some((&(predicate, inverse), rest)) = path.split_first() else {
            pairs.push((visited[0], at));
            *walks -= 1;
            return;
        };
        let led = if inverse { self.facts.heads(predicate, at) } else { self.facts.tails(predicate, at) };
        for to in led.iter().map(|&to| Entity(to)) {
            if *walks == 0 || pairs.len() >= SAMPLED {
                return;
            }
            if !visited.contains(&to) {
                visited.push(to);
                self.walk(rest, visited, walks, pairs);
                visited.pop();
            }
        }
    }
}

impl Walked {
    fn rule(&self, target: Predicate) -> Rule {
        let one = |(predicate, inverse): Step, a: Term, b: Term| {
            let (a, b) = if inverse { (b, a) } else { (a, b) };
            Literal::any_of(vec![Atom::Pair(predicate, a, b)])
        };
        let body = match self {
            Walked::Path(path) => {
                let term = |place: usize| match place {
                    0 => Term::X,
                    place if place == path.len() => Term::Y,
                    place => Term::Z(place as u8),
                };
                path.iter().enumerate().map(|(at, &step)| one(step, term(at), term(at + 1))).collect()
            }
            Walked::Constant { end_is_tail, constant, step, to } => {
                let (open, end) = if *end_is_tail { (Term::X, Term::Y) } else { (Term::Y, Term::X) };
                let to = to.map_or(Term::Z(1), Term::Constant);
                vec![one(*step, open, to), Literal::any_of(vec![Atom::Is(end, *constant)])]
            }
        };
        Rule::new(target, &body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sampled_long_enough_has_the_best_rules_of_the_families() {
        let families = Dataset::families(0);
        let rules = sample(&families, 2, 2.0, 0);
        let predicates = &families.names().predicates;
        let father = predicates.find("father").expect("a name");
        let husband = predicates.find("husband").expect("a name");
        let mother = predicates.find("mother").expect("a name");
        let body = [
            Literal::any_of(vec![Atom::Pair(husband, Term::X, Term::Z(1))]),
            Literal::any_of(vec![Atom::Pair(mother, Term::Z(1), Term::Y)]),
        ];
        let of_father = rules.targets().iter().find(|of| of.target == father).expect("rules of fathers");
        let found = of_father.rules.iter().find(|weighted| weighted.rule == Rule::new(father, &body));
        assert!(found.expect("the husband of the mother").weight.max() > 0.3);
    }
}

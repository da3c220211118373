//! A target of a large graph: rules are measured, chosen and weighed on a sample of its questions.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use rand::seq::SliceRandom;

use super::Setting;
use super::bodies::{Body, IS, Walk};
use super::choose::Tried;
use super::lines::Lines;
use super::listing::{Most, bodies};
use super::pool::{Pool, Sizes};
use crate::graph::{Entity, Predicate, Split};
use crate::solve::Ended;
use crate::util::random::{Purpose, stream};

/// Graphs with more pairs of entities are large.
pub(super) const MOST_PAIRS: usize = 1 << 25;
/// Facts that bodies are listed from.
const LISTED: usize = 1000;
/// Answers of a body to one question, on average, at most.
const MOST_ANSWERS: usize = 120;
/// Links that all bodies follow when they are measured, at most: about a minute's work.
const ALL_LINKS: usize = 20_000_000_000;
/// Bodies of a mark of each end that are measured, at most.
const PAIRED: usize = 2500;
/// Bodies that are kept for each rule that a search of the whole graph would keep.
const KEPT: usize = 3;
/// Rivals of one question for each of its answers, at most.
const NEGATIVES: usize = 250;
/// The restraints that are tried.
const L2S: [f64; 4] = [100.0, 20.0, 5.0, 1.0];
/// The ways that a chain of several steps is measured with, at least.
const WAYS: [u32; 8] = [1, 2, 3, 5, 9, 20, 50, 150];

/// A body with what was counted of it.
type Measured = (f64, f64, Body);

impl Setting<'_> {
    /// Searches one target's rules by a sample of its questions.
    pub(super) fn large_target(&self, walk: &Walk, target: Predicate) -> Tried {
        let search = self.search;
        let started = Instant::now();
        let mut facts: Vec<(u32, u32)> = self.facts.pairs(target).map(|(h, t)| (h.0, t.0)).collect();
        let is_known =
            |&(head, tail): &(u32, u32)| self.facts.tails(target, Entity(head)).binary_search(&tail).is_ok();
        let of_target = self.data.split(Split::Valid).iter().filter(|fact| fact.predicate == target);
        let mut valid: Vec<(u32, u32)> = of_target.map(|fact| (fact.head.0, fact.tail.0)).collect();
        valid.retain(|pair| !is_known(pair));
        let all_valid = valid.clone();
        let mut draw = stream(0, Purpose::Questions, [u64::from(target.0), 0, 0]);
        facts.shuffle(&mut draw);
        valid.shuffle(&mut draw);
        valid.truncate(search.questions * 3 / 5);
        let listed = &facts[..facts.len().min(LISTED)];
        let asking = &facts[..facts.len().min(search.questions)];
        let mut lines = Lines::new(walk, target, asking, &valid, &all_valid);
        if self.irreflexive[target.0 as usize] {
            lines.refuse_own();
        }
        let most = Most {
            chains: search.chains / 4,
            marks: search.base / 4,
            both: PAIRED,
            constants: search.base / 4,
        };
        let listed = bodies(walk, self.graph, target, listed, facts.len(), search.least_support, most);
        let mut answered: HashSet<u64> = HashSet::new();
        let (mut measured, mut counted, mut ended) = (Vec::<Measured>::new(), 0, Ended::Complete);
        let mut links = ALL_LINKS;
        for body in listed {
            // Half of the time for measuring, the rest for what follows.
            if search.time.is_some_and(|time| started.elapsed() >= time / 2) {
                ended = Ended::TimeLimit;
                break;
            }
            let leasts = leasts(body);
            counted += leasts.len();
            let found = lines.count(walk, target, body, leasts, MOST_ANSWERS, &mut links);
            for (&least, found) in leasts.iter().zip(found) {
                let Some(found) = found.filter(|found| found.hits() >= search.least_support) else {
                    continue;
                };
                if answered.insert(found.sign) {
                    let body = body.in_ways(least);
                    measured.push((found.confidence(search.smoothing), found.value(search.smoothing), body));
                }
            }
        }
        let kept = kept(measured, search.base * KEPT);
        let mut fires = fires(&mut lines, walk, target, &kept);
        let base = kept
            .into_iter()
            .map(|(confidence, _, body)| {
                (confidence, fires.remove(&body).unwrap_or_default(), walk.rule(body, target))
            })
            .collect();
        let (positives, trained): (Vec<u32>, Vec<u32>) =
            (lines.positives().collect(), lines.trained().collect());
        let sizes = Sizes {
            base: search.base,
            joined: search.base,
            conjunctions: search.conjunctions / 3,
            least_support: search.least_support,
            smoothing: search.smoothing,
        };
        let pool = Pool::of(base, lines.holds.len(), &positives, &trained, sizes);
        let mut tried = Tried::new(target, pool, &lines, &L2S);
        tried.fit_at_once(&lines, search.aggregation);
        (tried.measured, tried.ended) = (counted, ended);
        tried
    }
}

/// The ways that a body is measured with, at least.
fn leasts(body: Body) -> &'static [u32] {
    match body {
        Body::Chain([_, second, _], _) if second != IS => &WAYS,
        _ => &WAYS[..1],
    }
}

/// The places that every body fires on. A chain is walked once for all of its ways, when the surest of these comes.
fn fires(lines: &mut Lines, walk: &Walk, target: Predicate, bodies: &[Measured]) -> HashMap<Body, Vec<u32>> {
    let mut leasts: HashMap<Body, Vec<u32>> = HashMap::new();
    for (.., body) in bodies {
        leasts.entry(body.in_ways(1)).or_default().push(body.min_groundings());
    }
    let mut fires = HashMap::new();
    for (.., body) in bodies {
        let body = body.in_ways(1);
        if let Some(mut leasts) = leasts.remove(&body) {
            leasts.sort_unstable();
            let found = lines.fires(walk, target, body, &leasts, NEGATIVES);
            fires.extend(leasts.into_iter().map(|least| body.in_ways(least)).zip(found));
        }
    }
    fires
}

/// The best bodies: a fifth by confidence, the others by what they find and how surely; surest first.
fn kept(mut measured: Vec<Measured>, most: usize) -> Vec<Measured> {
    let order =
        |a: &Measured, b: &Measured| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2));
    measured.sort_by(order);
    let surest = most / 5;
    let mut rest = measured.split_off(measured.len().min(surest));
    rest.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| order(a, b)));
    measured.extend(rest.into_iter().take(most - surest));
    measured.sort_by(order);
    measured
}

//! Which way of joining serves a target best, judged on *valid*.

use super::fit::{Truth, fit, scores};
use super::pool::Pool;
use super::rule_set::{Board, Join, RuleSet, Weighed};
use super::universe::Universe;
use super::{Ended, Report};
use crate::graph::{Predicate, Vocabulary};
use crate::rule::Rule;

/// The restraints that are tried when weights are fitted.
const RESTRAINTS: [f64; 4] = [1.0, 3.0, 10.0, 30.0];
/// A target's own questions are joined by so many that count as all targets' mean: few questions of
/// its own must not decide alone.
pub(super) const SHARED_QUESTIONS: f64 = 30.0;
/// Weights below this are dropped.
const LEAST_WEIGHT: f64 = 1e-3;
/// Under max-plus and noisy-or of five, a rule counts only where it is among so many best.
const BEST: usize = 10;

/// One way of joining a target's rules.
struct Way {
    join: Join,
    restraint: Option<f64>,
    /// Sum of reciprocal ranks on *valid*.
    gain: f64,
    set: Vec<Weighed>,
}

/// What was tried for one target.
pub(super) struct Tried {
    target: Predicate,
    pool: usize,
    questions: usize,
    ways: Vec<Way>,
    /// Rules measured.
    pub measured: usize,
    /// How the proposals ended.
    pub ended: Ended,
}

impl Tried {
    pub fn new(
        target: Predicate,
        pool: &Pool,
        names: &[Rule],
        known: &[(u32, u32)],
        valid: &[(u32, u32)],
        fit_valid: bool,
    ) -> Self {
        let universe = &pool.universe;
        let fires: Vec<Vec<u32>> = pool.rules.iter().map(|rule| rule.fires.clone()).collect();
        let numbers: Vec<f64> = pool.rules.iter().map(|rule| rule.confidence).collect();
        let truth = Truth::new(universe, known.iter().copied());
        let all = Truth::new(universe, known.iter().chain(valid).copied());
        let judge = |scores: &[f64]| -> f64 {
            valid.iter().map(|&pair| reciprocal_ranks(universe, &all, scores, pair)).sum()
        };
        let mut ways = Vec::new();
        for join in [Join::NoisyOr, Join::NoisyOr5, Join::MaxPlus] {
            let mut board = Board::new(join, universe.len());
            let mut best = vec![0usize; universe.len()];
            let mut kept = Vec::new();
            for (rule, fires) in fires.iter().enumerate() {
                let mut counts = join == Join::NoisyOr;
                for &pair in fires {
                    board.fire(pair as usize, rule, numbers[rule]);
                    best[pair as usize] += 1;
                    counts |= best[pair as usize] <= BEST;
                }
                if counts {
                    kept.push((rule, numbers[rule]));
                }
            }
            ways.push(Way {
                join,
                restraint: None,
                gain: judge(&board.scores(&numbers)),
                set: weigh(pool, names, &kept),
            });
        }
        for restraint in RESTRAINTS {
            let weights = fit(universe, &fires, &truth, restraint);
            let gain = judge(&scores(universe, &fires, &weights));
            // Judged without valid, then fitted with it: its facts are true, and count as such.
            let weights =
                if valid.is_empty() || !fit_valid { weights } else { fit(universe, &fires, &all, restraint) };
            let kept: Vec<(usize, f64)> =
                weights.into_iter().enumerate().filter(|(_, weight)| *weight >= LEAST_WEIGHT).collect();
            ways.push(Way {
                join: Join::Sum,
                restraint: Some(restraint),
                gain,
                set: weigh(pool, names, &kept),
            });
        }
        let (measured, ended) = (0, Ended::Complete);
        Tried { target, pool: pool.rules.len(), questions: 2 * valid.len(), ways, measured, ended }
    }
}

fn weigh(pool: &Pool, names: &[Rule], kept: &[(usize, f64)]) -> Vec<Weighed> {
    kept.iter().map(|&(place, number)| Weighed { rule: pool.rule(place, names), number }).collect()
}

/// The reciprocal ranks of one true pair among its row and its column, added; ties take their mean.
fn reciprocal_ranks(universe: &Universe, truth: &Truth, scores: &[f64], (head, tail): (u32, u32)) -> f64 {
    let goal = universe.find((head, tail)).map_or(0.0, |place| scores[place]);
    let one = |places: &mut dyn Iterator<Item = u32>, outside: usize| {
        let (mut above, mut equal, mut inside) = (0usize, 0usize, 0usize);
        for place in places.map(|place| place as usize) {
            inside += 1;
            if !truth.inside[place] {
                above += usize::from(scores[place] > goal);
                equal += usize::from(scores[place] == goal);
            }
        }
        // Pairs that no rule fires on have score 0; the true ones among them do not count.
        let silent = universe.entities - inside - outside;
        equal += if goal == 0.0 { silent } else { 0 };
        1.0 / (1.0 + above as f64 + equal as f64 / 2.0)
    };
    let outside = |same: &dyn Fn(&(u32, u32)) -> bool| truth.outside.iter().filter(|pair| same(pair)).count();
    one(&mut universe.row(head), outside(&|pair| pair.0 == head))
        + one(&mut universe.column(tail).iter().copied(), outside(&|pair| pair.1 == tail))
}

/// Chooses a way for every target, among all or among those that join as asked.
pub(super) fn choose(tried: Vec<Tried>, join: Option<Join>, names: &Vocabulary) -> Vec<(RuleSet, Report)> {
    let questions: usize = tried.iter().map(|tried| tried.questions).sum();
    let ways = tried.first().map_or(0, |tried| tried.ways.len());
    let mean: Vec<f64> = (0..ways)
        .map(|way| tried.iter().map(|tried| tried.ways[way].gain).sum::<f64>() / questions.max(1) as f64)
        .collect();
    tried
        .into_iter()
        .map(|mut tried| {
            let value = |way: usize| tried.ways[way].gain + SHARED_QUESTIONS * mean[way];
            let allowed = |way: &usize| join.is_none_or(|join| tried.ways[*way].join == join);
            let best = (0..ways)
                .filter(allowed)
                .max_by(|&a, &b| value(a).total_cmp(&value(b)).then(b.cmp(&a)))
                .unwrap_or(0);
            let way = tried.ways.swap_remove(best);
            let report = Report {
                target: names.predicates.name(tried.target.0).to_owned(),
                measured: tried.measured,
                pool: tried.pool,
                rules: way.set.len(),
                join: way.join,
                restraint: way.restraint,
                valid_mrr: way.gain / tried.questions.max(1) as f64,
                ended: tried.ended,
            };
            (RuleSet::new(tried.target, way.join, way.set), report)
        })
        .collect()
}

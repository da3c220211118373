//! Which way of joining serves a target best, judged on *valid*.

use super::fit::{Truth, fit, scores};
use super::pool::Pool;
use super::rule_set::{Board, Join, RuleSet, Weighed};
use super::universe::Universe;
use super::{Ended, Report};
use crate::graph::{Predicate, Vocabulary};

/// The restraints that are tried when weights are fitted.
pub(super) const RESTRAINTS: [f64; 5] = [0.3, 1.0, 3.0, 10.0, 30.0];
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
    /// Whether the likeliest of the pairs not known to be true were no rivals.
    doubting: bool,
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

/// What rules are judged by and fitted to.
pub(super) trait Ground {
    /// How many places rules may fire on.
    fn places(&self) -> usize;
    /// Questions of *valid*.
    fn questions(&self) -> usize;
    /// The sum of reciprocal ranks over the questions of *valid*.
    fn gain(&self, scores: &[f64]) -> f64;
    /// Weights fitted to the training facts, or to those of *valid* too: plainly, and where the ground
    /// has it then by a fit that doubts.
    fn fits(&self, fires: &[Vec<u32>], restraint: f64, with_valid: bool) -> Vec<Vec<f64>>;
}

/// All pairs that any rule fires on.
pub(super) struct Whole {
    pub universe: Universe,
    truth: Truth,
    all: Truth,
    valid: Vec<(u32, u32)>,
}

impl Whole {
    pub fn new(universe: Universe, known: &[(u32, u32)], valid: Vec<(u32, u32)>) -> Self {
        let truth = Truth::new(&universe, known.iter().copied());
        let all = Truth::new(&universe, known.iter().chain(&valid).copied());
        Whole { universe, truth, all, valid }
    }
}

impl Ground for Whole {
    fn places(&self) -> usize {
        self.universe.len()
    }

    fn questions(&self) -> usize {
        2 * self.valid.len()
    }

    fn gain(&self, scores: &[f64]) -> f64 {
        let gain = |&pair: &(u32, u32)| reciprocal_ranks(&self.universe, &self.all, scores, pair);
        self.valid.iter().map(gain).sum()
    }

    fn fits(&self, fires: &[Vec<u32>], restraint: f64, with_valid: bool) -> Vec<Vec<f64>> {
        let truth = if with_valid { &self.all } else { &self.truth };
        let plain = fit(&self.universe, fires, truth, restraint);
        // As many facts again as valid has may be missing.
        let missing = if with_valid { self.valid.len() } else { 2 * self.valid.len() };
        let truth = truth.doubting(&scores(self.universe.len(), fires, &plain), missing);
        let doubting = fit(&self.universe, fires, &truth, restraint);
        vec![plain, doubting]
    }
}

impl Tried {
    /// Tries all ways of joining, and for sums these restraints.
    pub fn new(
        target: Predicate,
        pool: &Pool,
        ground: &dyn Ground,
        restraints: &[f64],
        fit_valid: bool,
    ) -> Self {
        let fires: Vec<Vec<u32>> = pool.rules.iter().map(|rule| rule.fires.clone()).collect();
        let numbers: Vec<f64> = pool.rules.iter().map(|rule| rule.confidence).collect();
        let mut ways = Vec::new();
        for join in [Join::NoisyOr, Join::NoisyOr5, Join::MaxPlus] {
            let mut board = Board::new(join, ground.places());
            let mut best = vec![0usize; ground.places()];
            let mut kept = Vec::new();
            for (rule, fires) in fires.iter().enumerate() {
                let mut counts = join == Join::NoisyOr;
                for &place in fires {
                    board.fire(place as usize, rule, numbers[rule]);
                    best[place as usize] += 1;
                    counts |= best[place as usize] <= BEST;
                }
                if counts {
                    kept.push((rule, numbers[rule]));
                }
            }
            let gain = ground.gain(&board.scores(&numbers));
            ways.push(Way { join, restraint: None, doubting: false, gain, set: weigh(pool, &kept) });
        }
        for &restraint in restraints {
            let judged = ground.fits(&fires, restraint, false);
            let gains: Vec<f64> =
                judged.iter().map(|weights| ground.gain(&scores(ground.places(), &fires, weights))).collect();
            // Judged without valid, then fitted with it: its facts are true, and count as such.
            let again = fit_valid && ground.questions() > 0;
            let fitted = if again { ground.fits(&fires, restraint, true) } else { judged };
            for (number, (weights, gain)) in fitted.into_iter().zip(gains).enumerate() {
                let kept: Vec<(usize, f64)> =
                    weights.into_iter().enumerate().filter(|(_, weight)| *weight >= LEAST_WEIGHT).collect();
                let (set, doubting) = (weigh(pool, &kept), number > 0);
                ways.push(Way { join: Join::Sum, restraint: Some(restraint), doubting, gain, set });
            }
        }
        let (measured, ended) = (0, Ended::Complete);
        Tried { target, pool: pool.rules.len(), questions: ground.questions(), ways, measured, ended }
    }
}

fn weigh(pool: &Pool, kept: &[(usize, f64)]) -> Vec<Weighed> {
    kept.iter().map(|&(number, weight)| Weighed { rule: pool.rule(number), number: weight }).collect()
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
                doubting: way.doubting,
                valid_mrr: way.gain / tried.questions.max(1) as f64,
                ended: tried.ended,
            };
            (RuleSet::new(tried.target, way.join, way.set), report)
        })
        .collect()
}

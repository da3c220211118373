//! Which way of joining serves a target best, judged on *valid*.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::fit::scores;
use super::ground::{Ground, Whole};
use super::pool::Pool;
use super::{Ended, Fit, Report};
use crate::graph::Direction;
use crate::graph::{Predicate, Vocabulary};
use crate::rule::Weight;
use crate::rule::{Aggregation, Aggregator, TargetRules, WeightedRule};

/// The restraints that are tried when weights are fitted.
pub(super) const L2S: [f64; 6] = [0.3, 1.0, 3.0, 10.0, 30.0, 100.0];
/// A target's own questions are joined by so many that count as all targets' mean: few questions of
/// its own must not decide alone.
pub(super) const SHARED_QUESTIONS: f64 = 100.0;
/// A target with so many questions of its own chooses alone, on a large graph.
const ENOUGH: usize = 400;
/// Weights below this are dropped.
const LEAST_WEIGHT: f64 = 1e-3;
/// Under max-plus and noisy-or of five, a rule counts only where it is among so many best.
const BEST: usize = 10;

/// One way of joining a target's rules.
struct Way {
    join: Aggregation,
    /// How weights were fitted.
    fit: Option<Fit>,
    /// Sums of reciprocal ranks on *valid*, where tails are asked for and where heads are.
    gain: [f64; 2],
    /// The pool's rules that count and their numbers, as they were judged.
    judged: Vec<(usize, Weight)>,
    /// Weights fitted to *valid* too, where that was done at once.
    fitted: Option<Vec<(usize, Weight)>>,
}

/// What was tried for one target.
pub(super) struct Tried {
    target: Predicate,
    pool: Pool,
    questions: usize,
    ways: Vec<Way>,
    /// Whether the weights for tails are chosen apart from those for heads.
    is_parted: bool,
    /// What the weights of the chosen way are fitted to; none where those of all ways were fitted at once.
    pub ground: Option<Whole>,
    /// Rules measured.
    pub measured: usize,
    /// How the proposals ended.
    pub ended: Ended,
}

impl Tried {
    /// Tries all ways of joining, and for sums these restraints.
    pub fn new(target: Predicate, pool: Pool, ground: &dyn Ground, l2s: &[f64]) -> Self {
        let fires = pool.fires();
        let numbers: Vec<f64> = pool.rules.iter().map(|rule| rule.confidence).collect();
        let mut ways = Vec::new();
        for join in [Aggregation::NoisyOr, Aggregation::NoisyOr5, Aggregation::MaxPlus] {
            let mut board = Aggregator::new(join, ground.places());
            let mut best = vec![0usize; ground.places()];
            let mut judged = Vec::new();
            for (rule, fires) in fires.iter().enumerate() {
                let mut counts = join == Aggregation::NoisyOr;
                for &place in *fires {
                    board.fire(place as usize, rule, numbers[rule]);
                    best[place as usize] += 1;
                    counts |= best[place as usize] <= BEST;
                }
                if counts {
                    judged.push((rule, numbers[rule].into()));
                }
            }
            let scores = board.scores(&numbers);
            let gain = Direction::BOTH.map(|direction| ground.gain(&scores, direction));
            ways.push(Way { join, fit: None, gain, judged, fitted: None });
        }
        for (&l2, fits) in l2s.iter().zip(ground.fits(&fires, l2s)) {
            for (weights, masking) in fits.into_iter().zip([false, true]) {
                let gain = Direction::BOTH.map(|direction| {
                    let weights: Vec<f64> = weights.iter().map(|weight| weight.of(direction)).collect();
                    ground.gain(&scores(ground.places(), &fires, &weights), direction)
                });
                let (fit, judged) = (Some(Fit { l2, masking }), that_count(weights));
                ways.push(Way { join: Aggregation::Sum, fit, gain, judged, fitted: None });
            }
        }
        let (questions, measured, ended) = (ground.questions(), 0, Ended::Complete);
        Tried { target, pool, questions, ways, is_parted: ground.is_parted(), ground: None, measured, ended }
    }

    /// Fits weights to *valid* too, so that the places that rules fire on need not be kept: those of all ways that may
    /// yet be chosen.
    pub fn fit_at_once(&mut self, ground: &dyn Ground, join: Option<Aggregation>) {
        let best = self.has_enough().then(|| self.best(&[], join));
        if self.questions > 0 {
            let fires = self.pool.fires();
            for (number, way) in self.ways.iter_mut().enumerate() {
                let chosen =
                    |direction: &Direction| best.is_none_or(|best| best[*direction as usize] == number);
                let ends: Vec<Direction> = Direction::BOTH.into_iter().filter(chosen).collect();
                if let Some(fit) = way.fit.filter(|_| !ends.is_empty()) {
                    way.fitted = Some(that_count(ground.refit(&fires, fit, &way.judged, &ends)));
                }
            }
        }
        self.pool.rules.iter_mut().for_each(|rule| rule.fires = Vec::new());
    }

    /// The rules joined as judged; and fitted to *valid* too: its facts are true, and count as such. Numbers for tails
    /// are those of the first way, numbers for heads those of the second.
    fn sets(&self, ways: [&Way; 2]) -> [TargetRules; 2] {
        let fit = |way: &Way| match (way.fit, &self.ground) {
            (Some(fit), Some(ground)) if self.questions > 0 => {
                that_count(ground.refit(&self.pool.fires(), fit, &way.judged, &Direction::BOTH))
            }
            _ => way.fitted.clone().unwrap_or_else(|| way.judged.clone()),
        };
        let tails = fit(ways[0]);
        let heads = if std::ptr::eq(ways[0], ways[1]) { tails.clone() } else { fit(ways[1]) };
        let weigh = |[tails, heads]: [&[(usize, Weight)]; 2]| {
            let mut numbers: BTreeMap<usize, Weight> = BTreeMap::new();
            for &(rule, number) in tails {
                numbers.entry(rule).or_insert(0.0.into()).tail = number.tail;
            }
            for &(rule, number) in heads {
                numbers.entry(rule).or_insert(0.0.into()).head = number.head;
            }
            let counts = numbers.into_iter().filter(|(_, number)| number.most() > 0.0);
            let weighed = counts.map(|(rule, number)| WeightedRule::new(self.pool.rule(rule), number));
            TargetRules::new(self.target, ways[0].join, weighed.collect())
        };
        [weigh(ways.map(|way| &way.judged[..])), weigh([&tails, &heads])]
    }

    /// Whether its own questions suffice to choose by. On small graphs, where it costs nothing, all targets' always help.
    fn has_enough(&self) -> bool {
        self.is_parted && self.questions >= ENOUGH
    }

    /// The best ways for tails and for heads, which join alike.
    fn best(&self, mean: &[[f64; 2]], join: Option<Aggregation>) -> [usize; 2] {
        let shared = if self.has_enough() { 0.0 } else { SHARED_QUESTIONS / 2.0 };
        let value = |way: usize, end: usize| {
            self.ways[way].gain[end] + shared * mean.get(way).map_or(0.0, |mean| mean[end])
        };
        let both = |ways: [usize; 2]| value(ways[0], 0) + value(ways[1], 1);
        let alone = (0..self.ways.len()).map(|way| [way; 2]);
        let mut choices: Vec<[usize; 2]> =
            alone.filter(|[way, _]| join.is_none_or(|join| self.ways[*way].join == join)).collect();
        let sums = || (0..self.ways.len()).filter(|&way| self.ways[way].join == Aggregation::Sum);
        if self.is_parted && join.is_none_or(|join| join == Aggregation::Sum) {
            choices.extend(sums().flat_map(|tails| sums().map(move |heads| [tails, heads])));
        }
        let best = choices.into_iter().max_by(|&a, &b| both(a).total_cmp(&both(b)).then(b.cmp(&a)));
        best.unwrap_or([0; 2])
    }
}

/// The rules whose weights are not next to nothing; what is next to nothing is 0.
fn that_count(weights: Vec<Weight>) -> Vec<(usize, Weight)> {
    let cut = |weight: f64| if weight >= LEAST_WEIGHT { weight } else { 0.0 };
    let weights = weights.into_iter().map(|weight| weight.map(cut)).enumerate();
    weights.filter(|(_, weight)| weight.most() > 0.0).collect()
}

/// Chooses a way for every target, among all or among those that join as asked: its rules as they were judged, and
/// fitted to *valid* too.
pub(super) fn choose(
    tried: Vec<Tried>,
    join: Option<Aggregation>,
    names: &Vocabulary,
) -> Vec<([TargetRules; 2], Report)> {
    let questions: usize = tried.iter().map(|tried| tried.questions).sum();
    let ways = tried.first().map_or(0, |tried| tried.ways.len());
    let half = (questions.max(1) as f64) / 2.0;
    let mean: Vec<[f64; 2]> = (0..ways)
        .map(|way| [0, 1].map(|end| tried.iter().map(|tried| tried.ways[way].gain[end]).sum::<f64>() / half))
        .collect();
    let chosen = tried.into_par_iter().map(|tried| {
        let ways = tried.best(&mean, join).map(|way| &tried.ways[way]);
        let sets = tried.sets(ways);
        let report = Report {
            target: names.predicates.name(tried.target.0).to_owned(),
            measured: tried.measured,
            pool: tried.pool.rules.len(),
            rules: sets[1].rules.len(),
            aggregation: ways[0].join,
            tails: ways[0].fit,
            heads: ways[1].fit,
            valid_mrr: (ways[0].gain[0] + ways[1].gain[1]) / tried.questions.max(1) as f64,
            ended: tried.ended,
        };
        (sets, report)
    });
    chosen.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Names;
    use crate::rule::{Atom, Literal, Rule, Term};
    use crate::search::pool::Sizes;
    use crate::search::universe::Universe;

    /// Two rules that fire on a fact of training each, one of them on a fact of *valid* too.
    fn tried() -> (Tried, Whole) {
        let universe = Universe::new(4, vec![(0, 1), (0, 2), (1, 1), (2, 3), (3, 3), (3, 0)]);
        let rule =
            |p| Rule::new(Predicate(9), &[Literal::any_of(vec![Atom::Pair(Predicate(p), Term::X, Term::Y)])]);
        let base = vec![(0.5, vec![0, 3, 4], rule(0)), (0.4, vec![1, 2, 5], rule(1))];
        let sizes = Sizes { base: 9, joined: 9, conjunctions: 0, least_support: 1, smoothing: 1.0 };
        let pool = Pool::of(base, 6, &[0, 2], &[0, 1, 2, 3, 4, 5], sizes);
        let whole = Whole::new(universe, &[(0, 1), (1, 1)], vec![(2, 3)]);
        (Tried::new(Predicate(9), pool, &whole, &[1.0]), whole)
    }

    #[test]
    fn weights_fitted_at_once_are_those_fitted_once_chosen_and_only_they_have_seen_valid() {
        let predicates = Names::new((0..10).map(|n| format!("p{n}")));
        let names = Vocabulary { predicates, ..Vocabulary::default() };
        let (mut at_once, ground) = tried();
        at_once.fit_at_once(&ground, Some(Aggregation::Sum));
        let (mut later, ground) = tried();
        later.ground = Some(ground);
        let chosen =
            [at_once, later].map(|tried| choose(vec![tried], Some(Aggregation::Sum), &names).remove(0));
        let numbers = |set: &TargetRules| set.rules.iter().map(|rule| rule.weight.most()).collect::<Vec<_>>();
        let [judged, fitted] = chosen[0].0.each_ref().map(numbers);
        assert_eq!(chosen[1].0.each_ref().map(numbers), [judged.clone(), fitted.clone()]);
        assert!(fitted[0] > judged[0], "{fitted:?} against {judged:?}");
    }
}

//! Which way of joining serves a target best, judged on *valid*.

use rayon::prelude::*;

use super::fit::{Truth, fit, scores};
use super::pool::Pool;
use super::rule_set::{Board, Join, RuleSet, Weighed};
use super::universe::Universe;
use super::{Ended, Report};
use crate::graph::{Predicate, Vocabulary};
use crate::rank::Asked;
use crate::rule::Number;

/// The restraints that are tried when weights are fitted.
pub(super) const RESTRAINTS: [f64; 6] = [0.3, 1.0, 3.0, 10.0, 30.0, 100.0];
/// A target's own questions are joined by so many that count as all targets' mean: few questions of
/// its own must not decide alone.
pub(super) const SHARED_QUESTIONS: f64 = 100.0;
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
    /// The pool's rules that count and their numbers, as they were judged.
    judged: Vec<(usize, Number)>,
    /// Weights fitted to *valid* too, where that was done at once.
    fitted: Option<Vec<(usize, Number)>>,
}

/// What was tried for one target.
pub(super) struct Tried {
    target: Predicate,
    pool: Pool,
    questions: usize,
    ways: Vec<Way>,
    /// What the weights of the chosen way are fitted to; none where those of all ways were fitted at once.
    pub ground: Option<Whole>,
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
    /// The sum of reciprocal ranks over the questions of *valid*, given the scores of their candidates where tails are
    /// asked for and where heads are.
    fn gain(&self, tails: &[f64], heads: &[f64]) -> f64;
    /// Weights fitted to the training facts, or to those of *valid* too: plainly, and where the ground
    /// has it then by a fit that doubts. Small graphs have one for both ends, which serves as well there.
    fn fits(&self, fires: &[&[u32]], restraint: f64, with_valid: bool) -> Vec<Vec<Number>>;
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

    fn gain(&self, tails: &[f64], heads: &[f64]) -> f64 {
        let gain = |&pair: &(u32, u32)| reciprocal_ranks(&self.universe, &self.all, [tails, heads], pair);
        self.valid.iter().map(gain).sum()
    }

    fn fits(&self, fires: &[&[u32]], restraint: f64, with_valid: bool) -> Vec<Vec<Number>> {
        let truth = if with_valid { &self.all } else { &self.truth };
        let plain = fit(&self.universe, fires, truth, restraint);
        // As many facts again as valid has may be missing.
        let missing = if with_valid { self.valid.len() } else { 2 * self.valid.len() };
        let truth = truth.doubting(&scores(self.universe.len(), fires, &plain), missing);
        let doubting = fit(&self.universe, fires, &truth, restraint);
        let shared = |weights: Vec<f64>| weights.into_iter().map(Number::from).collect();
        vec![shared(plain), shared(doubting)]
    }
}

impl Tried {
    /// Tries all ways of joining, and for sums these restraints.
    pub fn new(target: Predicate, pool: Pool, ground: &dyn Ground, restraints: &[f64]) -> Self {
        let fires = pool.fires();
        let numbers: Vec<f64> = pool.rules.iter().map(|rule| rule.confidence).collect();
        let mut ways = Vec::new();
        for join in [Join::NoisyOr, Join::NoisyOr5, Join::MaxPlus] {
            let mut board = Board::new(join, ground.places());
            let mut best = vec![0usize; ground.places()];
            let mut judged = Vec::new();
            for (rule, fires) in fires.iter().enumerate() {
                let mut counts = join == Join::NoisyOr;
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
            let gain = ground.gain(&scores, &scores);
            ways.push(Way { join, restraint: None, doubting: false, gain, judged, fitted: None });
        }
        for &restraint in restraints {
            for (number, weights) in ground.fits(&fires, restraint, false).into_iter().enumerate() {
                let [tails, heads] = Asked::BOTH.map(|asked| {
                    let weights: Vec<f64> = weights.iter().map(|weight| weight.of(asked)).collect();
                    scores(ground.places(), &fires, &weights)
                });
                let gain = ground.gain(&tails, &heads);
                let (restraint, doubting, judged) = (Some(restraint), number > 0, that_count(weights));
                ways.push(Way { join: Join::Sum, restraint, doubting, gain, judged, fitted: None });
            }
        }
        let (questions, measured, ended) = (ground.questions(), 0, Ended::Complete);
        Tried { target, pool, questions, ways, ground: None, measured, ended }
    }

    /// Fits the weights of all ways to *valid* too, so that the places that rules fire on need not be kept.
    pub fn fit_at_once(&mut self, ground: &dyn Ground) {
        if self.questions > 0 {
            let (fires, mut again) = (self.pool.fires(), Vec::new().into_iter());
            for way in self.ways.iter_mut().filter(|way| way.join == Join::Sum) {
                if let (Some(restraint), false) = (way.restraint, way.doubting) {
                    again = ground.fits(&fires, restraint, true).into_iter();
                }
                way.fitted = again.next().map(that_count);
            }
        }
        self.pool.rules.iter_mut().for_each(|rule| rule.fires = Vec::new());
    }

    /// The rules joined as judged; and fitted to *valid* too: its facts are true, and count as such.
    fn sets(&self, way: &Way) -> [RuleSet; 2] {
        let fitted = match (way.restraint, &self.ground) {
            (Some(restraint), Some(ground)) if self.questions > 0 => {
                let mut fits = ground.fits(&self.pool.fires(), restraint, true);
                Some(that_count(fits.swap_remove(usize::from(way.doubting))))
            }
            _ => way.fitted.clone(),
        };
        let weigh = |kept: &[(usize, Number)]| {
            let weighed = |&(number, weight)| Weighed { rule: self.pool.rule(number), number: weight };
            RuleSet::new(self.target, way.join, kept.iter().map(weighed).collect())
        };
        [weigh(&way.judged), weigh(fitted.as_ref().unwrap_or(&way.judged))]
    }
}

/// The rules whose weights are not next to nothing; what is next to nothing is 0.
fn that_count(weights: Vec<Number>) -> Vec<(usize, Number)> {
    let cut = |weight: f64| if weight >= LEAST_WEIGHT { weight } else { 0.0 };
    let weights = weights.into_iter().map(|weight| weight.map(cut)).enumerate();
    weights.filter(|(_, weight)| weight.most() > 0.0).collect()
}

/// The reciprocal ranks of one true pair among its row and its column, added; ties take their mean.
fn reciprocal_ranks(
    universe: &Universe,
    truth: &Truth,
    [tails, heads]: [&[f64]; 2],
    (head, tail): (u32, u32),
) -> f64 {
    let one = |scores: &[f64], places: &mut dyn Iterator<Item = u32>, outside: usize| {
        let goal = universe.find((head, tail)).map_or(0.0, |place| scores[place]);
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
    one(tails, &mut universe.row(head), outside(&|pair| pair.0 == head))
        + one(heads, &mut universe.column(tail).iter().copied(), outside(&|pair| pair.1 == tail))
}

/// Chooses a way for every target, among all or among those that join as asked: its rules as they were judged, and
/// fitted to *valid* too.
pub(super) fn choose(
    tried: Vec<Tried>,
    join: Option<Join>,
    names: &Vocabulary,
) -> Vec<([RuleSet; 2], Report)> {
    let questions: usize = tried.iter().map(|tried| tried.questions).sum();
    let ways = tried.first().map_or(0, |tried| tried.ways.len());
    let mean: Vec<f64> = (0..ways)
        .map(|way| tried.iter().map(|tried| tried.ways[way].gain).sum::<f64>() / questions.max(1) as f64)
        .collect();
    let chosen = tried.into_par_iter().map(|tried| {
        let value = |way: usize| tried.ways[way].gain + SHARED_QUESTIONS * mean[way];
        let allowed = |way: &usize| join.is_none_or(|join| tried.ways[*way].join == join);
        let best = (0..ways)
            .filter(allowed)
            .max_by(|&a, &b| value(a).total_cmp(&value(b)).then(b.cmp(&a)))
            .unwrap_or(0);
        let way = &tried.ways[best];
        let sets = tried.sets(way);
        let report = Report {
            target: names.predicates.name(tried.target.0).to_owned(),
            measured: tried.measured,
            pool: tried.pool.rules.len(),
            rules: sets[1].rules.len(),
            join: way.join,
            restraint: way.restraint,
            doubting: way.doubting,
            valid_mrr: way.gain / tried.questions.max(1) as f64,
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

    /// Two rules that fire on a fact of training each, one of them on a fact of *valid* too.
    fn tried() -> (Tried, Whole) {
        let universe = Universe::new(4, vec![(0, 1), (0, 2), (1, 1), (2, 3), (3, 3), (3, 0)]);
        let rule =
            |p| Rule::new(Predicate(9), &[Literal::any_of(vec![Atom::Pair(Predicate(p), Term::X, Term::Y)])]);
        let base = vec![(0.5, vec![0, 3, 4], rule(0)), (0.4, vec![1, 2, 5], rule(1))];
        let sizes = Sizes { base: 9, joined: 9, conjunctions: 0, least_support: 1, doubt: 1.0 };
        let pool = Pool::of(base, 6, &[0, 2], &[0, 1, 2, 3, 4, 5], sizes);
        let whole = Whole::new(universe, &[(0, 1), (1, 1)], vec![(2, 3)]);
        (Tried::new(Predicate(9), pool, &whole, &[1.0]), whole)
    }

    #[test]
    fn weights_fitted_at_once_are_those_fitted_once_chosen_and_only_they_have_seen_valid() {
        let predicates = Names::new((0..10).map(|n| format!("p{n}")));
        let names = Vocabulary { predicates, ..Vocabulary::default() };
        let (mut at_once, ground) = tried();
        at_once.fit_at_once(&ground);
        let (mut later, ground) = tried();
        later.ground = Some(ground);
        let chosen = [at_once, later].map(|tried| choose(vec![tried], Some(Join::Sum), &names).remove(0));
        let numbers = |set: &RuleSet| set.rules.iter().map(|rule| rule.number.most()).collect::<Vec<_>>();
        let [judged, fitted] = chosen[0].0.each_ref().map(numbers);
        assert_eq!(chosen[1].0.each_ref().map(numbers), [judged.clone(), fitted.clone()]);
        assert!(fitted[0] > judged[0], "{fitted:?} against {judged:?}");
    }
}

//! Which aggregation and fit serves a target best, chosen on *valid*.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::body::Kind;
use super::compete::BroughtUp;
use super::evaluate::QuerySample;
use super::select::{Part, Pool};
use super::trial::{Trial, Weights, that_count};
use super::weigh::{Fits, Refit};
use super::{SearchReport, WeightFit};
use crate::graph::{Direction, Predicate, Vocabulary};
use crate::rule::{Aggregation, TargetRules, Weight, WeightedRule};
use crate::solve::Ended;
use crate::util::progress::Budget;

/// The L2 strengths that are tried, strongest first: each fit goes on from the one before.
const L2S: [f64; 3] = [20.0, 5.0, 1.0];
/// A target's own queries are joined by so many that count as the mean of all targets: few queries of its own must
/// not decide alone.
pub(super) const SHARED_QUERIES: f64 = 100.0;
/// In the mean of all targets no fit is taken to be better than another by more.
const MAX_MEAN_GAIN: f64 = 0.05;
/// A target with so many queries of its own chooses alone.
const ENOUGH: usize = 400;
/// What was tried for one target.
pub(super) struct Tried {
    target: Predicate,
    pool: Pool,
    valid_queries: usize,
    trials: Vec<Trial>,
    /// Bodies that were counted.
    pub counted: usize,
    /// Rules that those that are tried were taken from.
    pub pooled: usize,
    /// How the proposals ended.
    pub ended: Ended,
    /// What predicates may compete with.
    pub brought_up: BroughtUp,
}

/// The rules of one target, as fitted on *train*, and on *train* and *valid*.
pub(super) struct Chosen {
    pub train: TargetRules,
    pub train_and_valid: TargetRules,
    pub report: SearchReport,
}

impl Tried {
    /// Tries all aggregations, and for sums all L2 strengths, without and with false-negative masking: for plain bodies,
    /// with derived ones, and with endpoint patterns.
    pub fn new(
        target: Predicate,
        pool: Pool,
        sample: &QuerySample,
        (aggregation, signed): (Option<Aggregation>, bool),
        budget: &Budget,
    ) -> Self {
        let mut trials: Vec<Trial> = Vec::new();
        let mut fits = Fits::new(sample, &pool.fires());
        for signed in [false, true].into_iter().take(1 + usize::from(signed)) {
            let mut last: Option<(usize, Vec<Trial>)> = None;
            for part in Kind::ALL.map(|kind| pool.part(kind, signed)) {
                // A kind that the pool has no rules of changes nothing.
                let found = match last.take() {
                    Some((rules, found)) if rules == part.places.len() => found,
                    _ => trials_of(&part, signed, &mut fits, sample, budget),
                };
                let first = trials.len();
                trials.extend(found.iter().cloned());
                trials[first..].iter_mut().for_each(|trial| trial.kind = part.kind);
                last = Some((part.places.len(), found));
            }
        }
        let valid_queries = sample.valid_queries();
        let (ended, brought_up) = (Ended::Complete, BroughtUp::default());
        let mut tried =
            Tried { target, pool, valid_queries, trials, counted: 0, pooled: 0, ended, brought_up };
        tried.fit_to_valid(sample, aggregation, budget);
        tried
    }

    /// The sum of its reciprocal ranks on *valid*, and of how many queries.
    pub fn valid_ranks(&self, aggregation: Option<Aggregation>) -> (f64, usize) {
        let [tails, heads] = self.best(&[], aggregation);
        (self.trials[tails].gain(0) + self.trials[heads].gain(1), self.valid_queries)
    }

    /// Fits weights to *valid* too, so that the candidates that rules fire on need not be kept: those of all trials that
    /// may yet be chosen.
    fn fit_to_valid(&mut self, sample: &QuerySample, aggregation: Option<Aggregation>, budget: &Budget) {
        let best = self.has_enough().then(|| self.best(&[], aggregation));
        self.rule_out();
        if self.valid_queries > 0 {
            let fires = self.pool.fires();
            let mut refit = Refit::new(sample, &fires, budget);
            for (number, trial) in self.trials.iter_mut().enumerate() {
                let is_open = trial.is_open;
                let chosen = |direction: &Direction| {
                    let end = *direction as usize;
                    best.map_or(is_open[end], |best| best[end] == number)
                };
                let directions: Vec<Direction> = Direction::BOTH.into_iter().filter(chosen).collect();
                if let Some(fit) = trial.fit.filter(|_| !directions.is_empty()) {
                    let weights = refit.weights(fit, &trial.train, &directions);
                    trial.train_and_valid = Some(that_count(weights));
                }
            }
        }
        self.pool.rules.iter_mut().for_each(|rule| rule.fires = Vec::new());
    }

    /// Rules out fitted weights that are so much worse on the target's own queries that the mean of all targets will
    /// not change it.
    fn rule_out(&mut self) {
        for end in [0, 1] {
            let fitted = self.trials.iter().filter(|trial| trial.fit.is_some());
            let best = fitted.map(|trial| trial.gain(end)).fold(0.0, f64::max);
            for trial in &mut self.trials {
                trial.is_open[end] = trial.gain(end) >= best - MAX_MEAN_GAIN * SHARED_QUERIES / 2.0;
            }
        }
    }

    /// Whether its own queries suffice to choose by.
    fn has_enough(&self) -> bool {
        self.valid_queries >= ENOUGH
    }

    /// The trials for tails and for heads, which aggregate alike: the simplest that is as good as the best, but for one
    /// standard error. Confidences are simpler than fitted weights, and those simpler than weights of either sign.
    fn best(&self, mean: &[[f64; 2]], aggregation: Option<Aggregation>) -> [usize; 2] {
        let shared = if self.has_enough() { 0.0 } else { SHARED_QUERIES / 2.0 };
        let value = |trial: usize, end: usize| {
            self.trials[trial].gain(end) + shared * mean.get(trial).map_or(0.0, |mean| mean[end])
        };
        let both = |trials: [usize; 2]| value(trials[0], 0) + value(trials[1], 1);
        let is_asked =
            |trial: &usize| aggregation.is_none_or(|asked| self.trials[*trial].aggregation == asked);
        // Where *valid* tells nothing, bodies of all kinds count.
        let is_told = (0..self.trials.len()).any(|trial| value(trial, 0) + value(trial, 1) > 0.0);
        let counts = |trial: &usize| is_told || self.trials[*trial].kind == Kind::Pattern;
        let allowed: Vec<usize> =
            (0..self.trials.len()).filter(|trial| is_asked(trial) && counts(trial)).collect();
        let (sums, confidences): (Vec<usize>, Vec<usize>) =
            allowed.into_iter().partition(|&trial| self.trials[trial].aggregation == Aggregation::Sum);
        // The few rules that are kept for weights of either sign may be others, so both directions take the same ones.
        let best_sum = |end: usize, signed: bool| {
            let may_be = |trial: &Trial| trial.fit.is_some_and(|fit| fit.signed == signed);
            let open = sums
                .iter()
                .copied()
                .filter(|&sum| self.trials[sum].is_open[end] && may_be(&self.trials[sum]));
            open.max_by(|&a, &b| value(a, end).total_cmp(&value(b, end)).then(b.cmp(&a)))
        };
        let summed = [false, true].into_iter().filter_map(|signed| {
            best_sum(0, signed).zip(best_sum(1, signed)).map(|(tails, heads)| [tails, heads])
        });
        let choices: Vec<[usize; 2]> =
            confidences.into_iter().map(|trial| [trial; 2]).chain(summed).collect();
        let best = choices.iter().copied().max_by(|&a, &b| both(a).total_cmp(&both(b)).then(b.cmp(&a)));
        let Some(best) = best else { return [0; 2] };
        let is_as_good = |trials: &[usize; 2]| {
            let noise = |end: usize| self.trials[best[end]].noise(&self.trials[trials[end]], end);
            both(best) - both(*trials) <= (noise(0) + noise(1)).sqrt()
        };
        choices.into_iter().find(is_as_good).unwrap_or(best)
    }

    /// The rules of two trials: weights for tails of the first, for heads of the second.
    fn rules(&self, trials: [&Trial; 2], weights: impl Fn(&Trial) -> &Weights) -> TargetRules {
        let mut joined: BTreeMap<usize, Weight> = BTreeMap::new();
        for &(rule, weight) in weights(trials[0]) {
            joined.entry(rule).or_insert(0.0.into()).tail = weight.tail;
        }
        for &(rule, weight) in weights(trials[1]) {
            joined.entry(rule).or_insert(0.0.into()).head = weight.head;
        }
        let counts = joined.into_iter().filter(|(_, weight)| weight.tail != 0.0 || weight.head != 0.0);
        let rules = counts.map(|(rule, weight)| WeightedRule::new(self.pool.rule(rule), weight)).collect();
        TargetRules::new(self.target, trials[0].aggregation, rules)
    }
}

/// Trials of all aggregations of some rules, and for sums of all fits. Confidences have no sign.
fn trials_of(
    part: &Part,
    signed: bool,
    fits: &mut Fits,
    sample: &QuerySample,
    budget: &Budget,
) -> Vec<Trial> {
    let confidences = [Aggregation::MaxPlus, Aggregation::NoisyOr5, Aggregation::NoisyOr];
    let mut trials: Vec<Trial> = confidences
        .into_iter()
        .filter(|_| !signed)
        .map(|aggregation| Trial::by_confidence(aggregation, part, sample))
        .collect();
    // Of trials that are equally good the first is taken: the one whose weights are shrunk least.
    for (&l2, fits) in L2S.iter().zip(fits.weights(&part.places, &L2S, signed, budget)).rev() {
        for (weights, masking) in fits.into_iter().zip([false, true]) {
            trials.push(Trial::by_weights(WeightFit { l2, masking, signed }, weights, part, sample));
        }
    }
    trials
}

/// Chooses a trial for every target, among all or among those that aggregate as asked.
pub(super) fn choose(tried: Vec<Tried>, aggregation: Option<Aggregation>, names: &Vocabulary) -> Vec<Chosen> {
    let queries: usize = tried.iter().map(|tried| tried.valid_queries).sum();
    let trials = tried.first().map_or(0, |tried| tried.trials.len());
    let half = (queries.max(1) as f64) / 2.0;
    let mean: Vec<[f64; 2]> = (0..trials)
        .map(|trial| {
            [0, 1].map(|end| tried.iter().map(|tried| tried.trials[trial].gain(end)).sum::<f64>() / half)
        })
        .collect();
    let choose = |tried: Tried| {
        let trials = tried.best(&mean, aggregation).map(|trial| &tried.trials[trial]);
        let train = tried.rules(trials, |trial| &trial.train);
        let train_and_valid =
            tried.rules(trials, |trial| trial.train_and_valid.as_ref().unwrap_or(&trial.train));
        let report = SearchReport {
            target: names.predicates.name(tried.target).to_owned(),
            counted: tried.counted,
            pool: tried.pooled,
            rules: train_and_valid.rules.len(),
            aggregation: trials[0].aggregation,
            kinds: trials.map(|trial| trial.kind),
            tails: trials[0].fit,
            heads: trials[1].fit,
            valid_mrr: (trials[0].gain(0) + trials[1].gain(1)) / tried.valid_queries.max(1) as f64,
            ended: tried.ended,
        };
        Chosen { train, train_and_valid, report }
    };
    tried.into_par_iter().map(choose).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Names;
    use crate::rule::{Atom, Literal, Rule, Term};
    use crate::search::body::Body;
    use crate::search::evaluate::Label;
    use crate::search::evaluate::test_samples::small_sample;
    use crate::search::select::{Conjunctions, Counting, Single};
    use crate::search::trial::tests::ranked;

    #[test]
    fn only_weights_fitted_on_train_and_valid_have_seen_valid() {
        let sample = small_sample();
        let rule =
            |p| Rule::new(Predicate(9), &[Literal::any_of(vec![Atom::Pair(Predicate(p), Term::X, Term::Y)])]);
        let is_answer = |candidate: &u32| sample.labels[*candidate as usize] == Label::Answer;
        let answers: Vec<u32> = (0..sample.labels.len() as u32).filter(is_answer).collect();
        let kind = Kind::Plain;
        let body = Body::path(&[0]);
        let single = vec![Single { kind, confidence: 0.5.into(), fires: answers, rule: rule(0), body }];
        let counting = Counting { candidates: sample.labels.len(), training: Default::default() };
        let none = Conjunctions { max: 0, of: 0, min_support: 1, smoothing: 1.0 };
        let unlimited = Budget::new(&(), None);
        let pool = Pool::new(single, &counting, none, &unlimited);
        let tried = Tried::new(Predicate(9), pool, &sample, (Some(Aggregation::Sum), false), &unlimited);
        let predicates = Names::new((0..10).map(|n| format!("p{n}")));
        let names = Vocabulary { predicates, ..Vocabulary::default() };
        let chosen = choose(vec![tried], Some(Aggregation::Sum), &names).remove(0);
        let weight = |rules: &TargetRules| rules.rules[0].weight.max();
        assert!(weight(&chosen.train_and_valid) > weight(&chosen.train));
    }

    #[test]
    fn a_sum_is_chosen_only_where_it_is_better_by_more_than_noise() {
        let trials = |sum: Vec<f64>| Tried {
            target: Predicate(0),
            pool: Pool::new(
                Vec::new(),
                &Counting::default(),
                Conjunctions::default(),
                &Budget::new(&(), None),
            ),
            valid_queries: 8,
            trials: vec![
                ranked(Aggregation::MaxPlus, [vec![0.5; 8], Vec::new()]),
                ranked(Aggregation::Sum, [sum, Vec::new()]),
            ],
            counted: 0,
            pooled: 0,
            ended: Ended::Complete,
            brought_up: BroughtUp::default(),
        };
        let by_luck = vec![1.0, 0.25, 0.25, 0.5, 0.5, 0.5, 0.5, 1.0];
        let by_merit = vec![1.0, 0.5, 1.0, 0.5, 1.0, 0.5, 1.0, 1.0];
        assert_eq!(trials(by_luck.clone()).best(&[], None), [0, 0]);
        assert_eq!(trials(by_merit).best(&[], None), [1, 1]);
        assert_eq!(trials(by_luck).best(&[], Some(Aggregation::Sum)), [1, 1]);
    }
}

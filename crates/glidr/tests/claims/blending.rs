//! Soft and searched rules blended.

use std::sync::Arc;

use glidr::internals::evaluate::{EvaluationReport, Ties, choose_mixing_weights};
use glidr::internals::explain::{Detail, NamedVerdict};
use glidr::internals::graph::{Direction, Predicate, Query, Triple};
use glidr::internals::model::{MixingWeight, SoftModel};
use glidr::internals::predict::{Blend, Exhaustive, Rules, Soft, top_k};
use glidr::internals::rule::TargetRules;
use glidr::{Dataset, Evaluation, Generator, Predictor, Search, Split, Training};

use crate::ranking::evaluate;

struct Learned {
    data: Dataset,
    model: SoftModel,
    rules: Vec<TargetRules>,
}

/// Two graphs: one that the dense engine ranks on, one for the sparse engine.
fn learned() -> [Learned; 2] {
    let made = Generator { entities: 300, facts: 3000, instances: 40, ..Generator::default() };
    [Dataset::families(0), made.run().expect("sound settings").data].map(|data| {
        let training = Training { steps: 40, rules: 3, ..Training::default() };
        let model = training.run(&data).expect("sound settings");
        let targets: Vec<Predicate> = (0..data.names().predicates.len() as u32).map(Predicate).collect();
        let search = Search { max_pool: 30, max_conjunctions: 30, ..Search::default() };
        let rules =
            search.run(&data, Some(&model), &[], &targets, &[], &()).expect("a sound search").train_rules;
        Learned { data, model, rules }
    })
}

impl Learned {
    fn weights(&self, weight: f64) -> Vec<MixingWeight> {
        let named = |target: &str| MixingWeight { target: target.to_owned(), weight, valid_mrr: 0.0 };
        self.data.names().predicates.iter().map(named).collect()
    }

    fn soft(&self) -> Soft<'_> {
        Soft::new(&self.model, &self.data).expect("its own data")
    }

    fn blend(&self, weights: &[MixingWeight]) -> Blend<'_> {
        let rules = Arc::new(Rules::new(&self.rules, &self.data));
        Blend::new(rules, Arc::new(self.soft())).weighted(weights, &self.data.names().predicates)
    }

    fn rank(&self, predictor: &dyn Predictor) -> EvaluationReport {
        evaluate(Evaluation::default(), predictor, &self.data)
    }

    fn choose(&self, data: &Dataset) -> Vec<MixingWeight> {
        let rules = Arc::new(Rules::new(&self.rules, data));
        let soft = Arc::new(Soft::new(&self.model, data).expect("its predicates"));
        choose_mixing_weights(&Blend::new(rules, soft), &[], data, Evaluation::default(), &()).expect("sound")
    }
}

#[test]
fn a_mixing_weight_of_0_is_the_hard_rules_alone_and_1_the_soft_ones() {
    for learned in learned() {
        let searched = learned.rank(&Rules::new(&learned.rules, &learned.data));
        assert_eq!(learned.rank(&learned.blend(&learned.weights(0.0))).ranks, searched.ranks);
        let soft = learned.rank(&learned.soft());
        assert_eq!(learned.rank(&learned.blend(&learned.weights(1.0))).ranks, soft.ranks);
    }
}

#[test]
fn bounds_change_no_rank_of_a_blend() {
    for learned in learned() {
        let soft = learned.soft();
        for weight in [0.02, 0.3, 0.9] {
            let weights = learned.weights(weight);
            let blend = learned.blend(&weights);
            let rules = Arc::new(Rules::new(&learned.rules, &learned.data));
            let without_bounds = Blend::new(rules, Arc::new(Exhaustive(&soft)))
                .weighted(&weights, &learned.data.names().predicates);
            let fast = learned.rank(&blend).ranks;
            assert_eq!(fast, learned.rank(&Exhaustive(&blend)).ranks, "{weight}");
            assert_eq!(fast, learned.rank(&Exhaustive(&without_bounds)).ranks, "{weight}");
        }
    }
}

#[test]
fn the_best_answers_of_rules_and_of_a_blend_are_those_of_scoring_every_candidate() {
    let [families, _] = learned();
    let (rules, weights) = (Rules::new(&families.rules, &families.data), families.weights(0.3));
    let blend = families.blend(&weights);
    let predictors: [&dyn Predictor; 2] = [&rules, &blend];
    for predictor in predictors {
        for fact in families.data.split(Split::Test) {
            let (query, _) = Query::of(*fact, Direction::Head);
            let best = |predictor: &dyn Predictor| {
                let mut target = predictor.target(query.predicate, true).expect("sound rules");
                top_k(target.as_mut(), query, 4, &|entity| entity != query.known)
            };
            assert_eq!(best(predictor), best(&Exhaustive(predictor)));
        }
    }
}

#[test]
fn an_explanation_has_the_score_that_is_predicted_and_forgets_a_known_fact() {
    let [families, _] = learned();
    let (data, weights) = (&families.data, families.weights(0.3));
    let (rules, soft, blend) = (Rules::new(&families.rules, data), families.soft(), families.blend(&weights));
    let predictors: [&dyn Predictor; 3] = [&rules, &soft, &blend];
    for predictor in predictors {
        for (split, is_known) in [(Split::Test, false), (Split::Train, true)] {
            for fact in data.split(split).iter().step_by(4) {
                let (query, answer) = Query::of(*fact, Direction::Tail);
                let score = |predictor: &dyn Predictor| {
                    predictor.target(query.predicate, false).expect("sound rules").scores(query, &[answer])[0]
                };
                let told = predictor.explain(query, answer, &Detail::default()).expect("sound rules");
                let without = predictor.without(*fact).expect("a sound graph");
                assert_eq!(without.is_some(), is_known);
                assert_eq!(
                    told.score,
                    without.map_or_else(|| score(predictor), |without| score(without.as_ref()))
                );
                assert!(told.rules.is_sorted_by_key(|rule| !rule.is_firing()) && told.firing <= told.decided);
                let own = |fact: &Vec<String>| fact[0] == data.names().predicates.name(query.predicate);
                let pair = [query.known, answer].map(|entity| data.names().entities.name(entity));
                for rule in &told.rules {
                    if let NamedVerdict::Holds { facts, .. } = &rule.verdict {
                        assert!(facts.iter().all(|fact| !own(fact) || fact[1..] != pair), "{rule:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn mixing_weights_are_chosen_on_valid_alone_and_the_same_on_any_number_of_threads() {
    let [families, _] = learned();
    let chosen = families.choose(&families.data);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| families.choose(&families.data))
    };
    assert_eq!((with(1), with(3)), (chosen.clone(), chosen.clone()));
    let splits = Split::ALL.map(|split| families.data.split(split).to_vec());
    let [facts, train, valid, test] = splits;
    let changed = test.iter().map(|fact| Triple { tail: fact.head, head: fact.tail, ..*fact }).collect();
    let names = families.data.names().clone();
    let other =
        Dataset::of("other test facts", names, [facts, train, valid, changed], vec![]).expect("sound");
    assert_eq!(families.choose(&other), chosen);
}

#[test]
fn on_valid_the_chosen_weights_do_at_least_as_well_as_either_alone() {
    for learned in learned() {
        let chosen = learned.choose(&learned.data);
        let valid = |weights: &[MixingWeight]| {
            let evaluation = Evaluation { split: Split::Valid, ties: Ties::Mean, ..Evaluation::default() };
            evaluate(evaluation, &learned.blend(weights), &learned.data).all.mrr
        };
        let (both, hard, soft) = (valid(&chosen), valid(&learned.weights(0.0)), valid(&learned.weights(1.0)));
        assert!(both >= hard.max(soft) - 1e-9, "{both} {hard} {soft}");
    }
}

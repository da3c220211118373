//! Learned rule weights: fitted to *valid*, and to nothing else.

use glidr::internals::infer::Engine;
use glidr::internals::model::{RuleWeights, SoftModel};
use glidr::{Dataset, Split, Training};

fn learned(engine: Engine, rule_weights: RuleWeights) -> SoftModel {
    let targets = vec!["uncle".into(), "sister".into()];
    let training =
        Training { steps: 30, rules: 11, batch: 20, targets, engine, rule_weights, ..Training::default() };
    training.run(&Dataset::families(0)).expect("sound settings")
}

fn weights(model: &SoftModel) -> Vec<f32> {
    model.ensembles.iter().flat_map(|ensemble| ensemble.rules.iter().map(|rule| rule.weight)).collect()
}

/// The families with nothing in one of the splits.
fn without(split: Split) -> Dataset {
    let data = Dataset::families(0);
    let splits = Split::ALL.map(|of| if of == split { &[] } else { data.split(of) }.to_vec());
    Dataset::of(&data.source, data.names().clone(), splits, data.property_facts().to_vec())
        .expect("sound facts")
}

fn fitted(model: &SoftModel, data: &Dataset) -> Vec<f32> {
    let mut model = model.clone();
    model.learn_rule_weights(data, &()).expect("the data has its predicates");
    weights(&model)
}

#[test]
fn learned_rule_weights_do_not_look_at_test() {
    let model = learned(Engine::Auto, RuleWeights::Loss);
    let fit = fitted(&model, &Dataset::families(0));
    assert_ne!(fit, weights(&model));
    assert_eq!(fit, fitted(&model, &without(Split::Test)));
    assert_eq!(weights(&model), fitted(&model, &without(Split::Valid)), "nothing to fit to: weights by loss");
}

#[test]
fn a_model_that_learns_its_rule_weights_has_those_that_are_learned_later_once_or_again() {
    let (by_loss, at_once) =
        (learned(Engine::Auto, RuleWeights::Loss), learned(Engine::Auto, RuleWeights::Learned));
    assert_eq!(weights(&at_once), fitted(&by_loss, &Dataset::families(0)));
    assert_eq!(weights(&at_once), fitted(&at_once, &Dataset::families(0)));
}

#[test]
fn learned_rule_weights_are_equal_on_any_number_of_threads_and_nearly_so_by_either_engine() {
    let by_dense = learned(Engine::Dense, RuleWeights::Learned);
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        assert_eq!(by_dense, pool.install(|| learned(Engine::Dense, RuleWeights::Learned)));
    }
    let by_sparse = learned(Engine::Sparse, RuleWeights::Learned);
    for (dense, sparse) in weights(&by_dense).into_iter().zip(weights(&by_sparse)) {
        assert!((dense - sparse).abs() < 0.05, "{dense} and {sparse}");
    }
}

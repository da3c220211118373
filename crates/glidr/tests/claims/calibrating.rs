//! Probabilities hold on facts that were held out, and few rules rank nearly as well as all.

use std::sync::OnceLock;

use glidr::internals::evaluate::{Reliability, reliability};
use glidr::{Dataset, Evaluation, Learner, Method, Model, Search, Training};

/// UMLS and a model of it by search alone; none where the data is absent.
fn umls() -> Option<&'static (Dataset, Model)> {
    static UMLS: OnceLock<Option<(Dataset, Model)>> = OnceLock::new();
    let open = || {
        let data = Dataset::open(crate::beside("data/umls")?, 0).expect("sound data");
        let model = learner(None).fit(&data).expect("a sound search");
        Some((data, model))
    };
    UMLS.get_or_init(open).as_ref()
}

fn learner(max_rules: Option<usize>) -> Learner {
    Learner {
        method: Method::Search,
        search: Search { max_rules, ..Search::default() },
        ..Learner::default()
    }
}

#[test]
fn answers_are_true_as_often_as_their_probabilities_say() {
    let Some((data, model)) = umls() else { return };
    let reasoner = model.on(data).expect("the same data");
    let calibrated = reasoner.calibrated().expect("valid has facts");
    let Reliability { calibration_error, calibration_error_shown, bins } =
        reliability(&calibrated, Evaluation::default(), &()).expect("test has facts");
    assert!(calibration_error < 0.05, "{bins:?}");
    assert!(calibration_error_shown < 0.1, "{bins:?}");
    // It commits itself: many answers are nearly certain, and these are true.
    let last = bins.last().expect("ten bins");
    assert!(last.answers > 300.0 && last.share > 0.9, "{last:?}");
}

#[test]
fn every_rule_that_is_read_links_both_ends_was_counted_and_answers_like_no_other() {
    let Some((_, model)) = umls() else { return };
    let kept = model.rules.as_ref().expect("searched rules");
    for of_target in kept.rules.targets() {
        let linked: Vec<_> = of_target.rules.iter().filter(|weighted| weighted.rule.links_ends()).collect();
        assert!(linked.len() <= 30 && of_target.rules.len() - linked.len() <= 30);
        assert!(linked.iter().all(|weighted| weighted.measures.is_some_and(|m| m.support <= m.body)));
    }
    for target in model.learned_targets() {
        let rules: Vec<_> = model.rules(target).expect("a target").collect();
        assert!(rules.windows(2).all(|pair| pair[0].rating >= pair[1].rating), "{target}");
    }
}

#[test]
fn fewer_rules_are_kept_where_fewer_are_asked_for_and_the_best_stay() {
    let families = Dataset::families(0);
    let kept = |max_rules| {
        let training = Training { targets: vec!["uncle".into()], ..Training::default() };
        let model = Learner { training, ..learner(max_rules) }.fit(&families).expect("a sound search");
        model.rules("uncle").expect("a target").map(|rule| rule.text).collect::<Vec<_>>()
    };
    let (one, some, all) = (kept(Some(1)), kept(None), kept(Some(0)));
    assert_eq!(one.len(), 1);
    assert!(some.len() > 1 && some.len() < all.len(), "{} of {}", some.len(), all.len());
}

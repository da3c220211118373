//! Rules that were planted in a generated graph are found again.

use std::collections::BTreeSet;

use glidr::internals::graph::Entity;
use glidr::internals::model::Extraction;
use glidr::internals::rule::Rule;
use glidr::internals::solve::{Limits, Solver};
use glidr::{Background, Generator, Search, Training};

type Pairs = BTreeSet<(Entity, Entity)>;

/// How well a planted rule was found, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Lost,
    /// Several rules, none of which says too much, have its answers together.
    Together,
    /// A rule has exactly its answers.
    Equal,
    /// It is there, word for word.
    Itself,
}

#[test]
fn a_planted_chain_branch_loop_property_and_disjunction_are_found_again() {
    let made = Generator { entities: 500, facts: 5000, instances: 80, ..Generator::default() };
    let made = made.run().expect("sound settings");
    let training = Training { steps: 200, rules: 6, ..Training::default() };
    let model = training.run(&made.data).expect("sound settings");
    let view = model.view(&made.data, Background::Train).expect("the same names");
    let facts = view.graph.neighbours();
    let answers = |rule: &Rule| -> Pairs {
        let solver = Solver::new(rule, facts, Limits::default()).expect("a sound rule");
        solver.answers().value.into_iter().collect()
    };
    let search = Search { max_pool: 60, max_conjunctions: 60, max_refined: 20, ..Search::default() };
    let targets: Vec<_> = made.rules.iter().map(|rule| rule.target).collect();
    let searched = search.run(&made.data, Some(&model), &[], &targets, &[], &()).expect("a sound search");
    let found = made.rules.iter().map(|planted| {
        let ensemble = model.target(made.data.names().predicates.name(planted.target)).expect("a target");
        let read = ensemble.extract(&model.schema, Extraction::TopP(0.25)).into_iter().map(|(rule, _)| rule);
        let set = searched.rules.iter().find(|set| set.target == planted.target).expect("some rules");
        let rules: Vec<Rule> = read.chain(set.rules.iter().map(|weighed| weighed.rule.clone())).collect();
        let truth = answers(planted);
        let sound: Vec<Pairs> =
            rules.iter().map(&answers).filter(|answers| answers.is_subset(&truth)).collect();
        if rules.contains(planted) {
            Found::Itself
        } else if sound.contains(&truth) {
            Found::Equal
        } else if sound.iter().flatten().copied().collect::<Pairs>() == truth {
            Found::Together
        } else {
            Found::Lost
        }
    });
    let found: Vec<Found> = found.collect();
    // Chain, branch, loop, property, disjunction. A soft rule settles on one side of a disjunction, so
    // that two rules stand for it. The branch is found by the search, which lets chains branch.
    let least = [Found::Itself, Found::Equal, Found::Equal, Found::Itself, Found::Together];
    assert!(found.iter().zip(least).all(|(found, least)| *found >= least), "{found:?}");
}

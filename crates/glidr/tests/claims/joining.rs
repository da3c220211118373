//! Soft and searched rules joined.

use glidr::TargetRules;
use glidr::graph::Triple;
use glidr::rank::{Ranked, Ties};
use glidr::search::{Joined, Share};
use glidr::solve::Limits;
use glidr::{Dataset, Generator, Predicate, Ranking, Search, SoftModel, Split, Training};

struct Setting {
    data: Dataset,
    model: SoftModel,
    sets: Vec<TargetRules>,
}

/// Two graphs: one that the dense engine ranks on, one for the sparse engine.
fn settings() -> [Setting; 2] {
    let made = Generator { entities: 300, facts: 3000, instances: 40, ..Generator::default() };
    [Dataset::families(0), made.run().expect("sound settings").data].map(|data| {
        let training = Training { steps: 40, rules: 3, ..Training::default() };
        let model = training.run(&data).expect("sound settings");
        let targets: Vec<Predicate> = (0..data.names().predicates.len() as u32).map(Predicate).collect();
        let search = Search { max_rules: 30, max_conjunctions: 30, ..Search::default() };
        let sets =
            search.run(&data, Some(&model), &[], &targets, &|_| {}).expect("a sound search").train_rules;
        Setting { data, model, sets }
    })
}

impl Setting {
    fn with(&self, share: f64) -> Joined {
        let named = |target: &str| Share { target: target.to_owned(), share, valid_mrr: 0.0 };
        Joined { shares: self.data.names().predicates.iter().map(named).collect() }
    }

    fn rank(&self, joined: &Joined) -> Ranked {
        let ranking = Ranking::default();
        let found = joined.rank(&self.model, &self.sets, &self.data, ranking, Limits::default(), &|_, _| {});
        found.expect("there are test facts").0
    }

    fn choose(&self, data: &Dataset) -> Joined {
        let ranking = Ranking::default();
        Joined::choose(&self.model, &self.sets, data, ranking, Limits::default(), &|_, _| {}).expect("sound")
    }
}

#[test]
fn a_share_of_0_is_the_searched_rules_alone_and_1_the_soft_ones() {
    for setting in settings() {
        let searched = Ranking::default()
            .run_rules(&setting.sets, &[], &setting.data, Limits::default(), &|_, _| {})
            .expect("there are test facts");
        assert_eq!(setting.rank(&setting.with(0.0)).ranks, searched.0.ranks);
        let soft = Ranking::default().run(&setting.model, &setting.data, &|_, _| {}).expect("test facts");
        assert_eq!(setting.rank(&setting.with(1.0)).ranks, soft.ranks);
    }
}

#[test]
fn bounds_change_no_joined_rank() {
    for setting in settings() {
        let (ranking, limits) = (Ranking::default(), Limits::default());
        for share in [0.02, 0.3, 0.9] {
            let joined = setting.with(share);
            let slow = joined.rank_exhaustive(&setting.model, &setting.sets, &setting.data, ranking, limits);
            assert_eq!(setting.rank(&joined).ranks, slow.expect("test facts").0.ranks, "{share}");
        }
    }
}

#[test]
fn shares_are_chosen_on_valid_alone_and_the_same_on_any_number_of_threads() {
    let [families, _] = settings();
    let joined = families.choose(&families.data);
    let with = |threads: usize| {
        let pool = rayon_pool(threads);
        pool.install(|| families.choose(&families.data))
    };
    assert_eq!((with(1), with(3)), (joined.clone(), joined.clone()));
    let splits = Split::ALL.map(|split| families.data.split(split).to_vec());
    let [facts, train, valid, test] = splits;
    let changed = test.iter().map(|fact| Triple { tail: fact.head, head: fact.tail, ..*fact }).collect();
    let names = families.data.names().clone();
    let other =
        Dataset::of("other test facts", names, [facts, train, valid, changed], vec![]).expect("sound");
    assert_eq!(families.choose(&other), joined);
}

fn rayon_pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool")
}

#[test]
fn on_valid_the_chosen_shares_do_at_least_as_well_as_either_alone() {
    for setting in settings() {
        let chosen = setting.choose(&setting.data);
        let valid = |joined: &Joined| {
            let ranking = Ranking { split: Split::Valid, ties: Ties::Mean, ..Ranking::default() };
            let found = joined.rank(
                &setting.model,
                &setting.sets,
                &setting.data,
                ranking,
                Limits::default(),
                &|_, _| {},
            );
            found.expect("valid facts").0.all.mrr
        };
        let (both, searched, soft) = (valid(&chosen), valid(&setting.with(0.0)), valid(&setting.with(1.0)));
        assert!(both >= searched.max(soft) - 1e-9, "{both} {searched} {soft}");
    }
}

//! Learning: equal seeds, resumed runs, model files, and rules that travel.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use glidr::internals::infer::{Engine, Slots};
use glidr::internals::model::{Extraction, Loss, Positives, Provenance, SoftModel};
use glidr::internals::predict::Soft;
use glidr::internals::train::{Checkpoints, Run, TrainingEnd};
use glidr::{Dataset, Evaluation, Model, Progress, Stage, Training};

fn quick() -> Training {
    Training {
        steps: 40,
        rules: 3,
        batch: 20,
        seed: 3,
        targets: vec!["uncle".into(), "wife".into()],
        ..Training::default()
    }
}

/// The same with the listwise loss: four queries of a batch, more rules than are worked on side by side.
fn listwise() -> Training {
    Training { loss: Loss::Listwise, candidates: 5, rules: 11, positives: Positives::All, ..quick() }
}

/// Wants the work to stop when it was asked thirty times.
#[derive(Default)]
struct StopsSoon(AtomicUsize);

impl Progress for StopsSoon {
    fn report(&self, _: Stage, _: usize, _: usize) {}

    fn is_stopped(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) >= 30
    }
}

/// The model that a user keeps.
fn kept(soft: &SoftModel) -> Model {
    let data = Dataset::families(soft.training.seed);
    Model::new(Provenance::of(&data, soft.training.seed)).with_soft(soft.clone())
}

fn bytes(model: &SoftModel) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder for a model");
    let path = folder.path().join("model");
    kept(model).save(&path).expect("a place for a model");
    std::fs::read(path).expect("the model just written")
}

fn learn(training: &Training, threads: usize) -> SoftModel {
    let data = Dataset::families(training.seed);
    let run = Run::new(training.clone(), &data).expect("sound settings");
    assert_eq!(run.train(threads, &(), None).expect("finite logits"), TrainingEnd::Finished);
    run.into_model(&())
}

#[test]
fn equal_seeds_give_byte_equal_files_on_any_number_of_threads() {
    let one = bytes(&learn(&quick(), 1));
    assert_eq!(one, bytes(&learn(&quick(), 2)));
    assert_eq!(one, bytes(&learn(&quick(), 5)));
    assert_ne!(one, bytes(&learn(&Training { seed: 4, ..quick() }, 1)));
}

#[test]
fn the_sparse_engine_and_all_positives_give_byte_equal_files_on_any_number_of_threads_too() {
    for positives in [Positives::Train, Positives::All] {
        let training = Training { engine: Engine::Sparse, rules: 11, positives, ..quick() };
        let one = bytes(&learn(&training, 1));
        assert_eq!(one, bytes(&learn(&training, 3)));
        assert_ne!(one, bytes(&learn(&Training { engine: Engine::Dense, ..training }, 1)), "another header");
    }
}

#[test]
fn rules_that_learn_together_give_byte_equal_files_on_any_number_of_threads_too() {
    for engine in [Engine::Dense, Engine::Sparse] {
        let training = Training { engine, rules: 11, joint_loss: 0.8, ..quick() };
        let one = bytes(&learn(&training, 1));
        assert_eq!(one, bytes(&learn(&training, 3)));
        assert_ne!(one, bytes(&learn(&Training { joint_loss: 0.0, ..training }, 1)));
    }
}

#[test]
fn the_listwise_loss_gives_byte_equal_files_on_any_number_of_threads_too() {
    for engine in [Engine::Dense, Engine::Sparse] {
        let training = Training { engine, ..listwise() };
        let one = bytes(&learn(&training, 1));
        assert_eq!(one, bytes(&learn(&training, 3)));
        assert_ne!(one, bytes(&learn(&Training { loss: Loss::Pairwise, ..training }, 1)));
    }
}

#[test]
fn rules_of_the_listwise_loss_have_equal_weights_as_their_plain_sum_was_trained() {
    let model = learn(&listwise(), 1);
    let rules = model.ensembles.iter().flat_map(|ensemble| &ensemble.rules);
    assert!(rules.clone().count() == 22 && rules.clone().all(|rule| rule.weight == 1.0));
}

#[test]
fn both_engines_learn_the_same_but_for_the_order_of_summation() {
    let trainings = [
        quick(),
        Training { joint_loss: 1.0, ..quick() },
        Training { positives: Positives::All, ..quick() },
        // The engines' bounds differ, so only where all candidates compete are their batches the same.
        Training { candidates: 200, batch: 400, ..listwise() },
    ];
    for training in trainings {
        for variables in [2, 3, 4, 5] {
            let training = Training { variables, steps: 12, ..training.clone() };
            let losses = |engine| -> Vec<f32> {
                let model = learn(&Training { engine, ..training.clone() }, 1);
                model.ensembles.iter().flat_map(|ensemble| &ensemble.rules).map(|rule| rule.loss).collect()
            };
            let (dense, sparse) = (losses(Engine::Dense), losses(Engine::Sparse));
            for (dense, sparse) in dense.iter().zip(&sparse) {
                assert!((dense - sparse).abs() < 1e-3 * dense, "N = {variables}: {dense} is not {sparse}");
            }
        }
    }
}

#[test]
fn with_all_positives_no_rule_proves_a_fact_by_itself() {
    // Nothing but knows(X, Y) itself tells who knows whom.
    let folder = tempfile::tempdir().expect("a folder for a small graph");
    let [mut facts, mut train] = [const { String::new() }; 2];
    for n in 0u32..150 {
        let line = format!("e{}\tknows\te{}\n", n * 7 % 40, (n * n * 3 + n / 2) % 40);
        *(if n % 3 == 0 { &mut train } else { &mut facts }) += &line;
    }
    std::fs::write(folder.path().join("facts.txt"), facts).expect("a small file");
    std::fs::write(folder.path().join("train.txt"), train).expect("a small file");
    let data = Dataset::open(folder.path(), 0).expect("a sound folder");
    for engine in [Engine::Dense, Engine::Sparse] {
        let training =
            Training { variables: 2, steps: 200, rules: 4, engine, positives: Positives::All, ..quick() };
        let model = Training { targets: Vec::new(), ..training }.run(&data).expect("sound settings");
        for rule in &model.ensembles[0].rules {
            let itself = Slots::soft(&rule.logits, &model.schema).pairs[0];
            assert!(itself < 0.95, "knows(X, Y) has the weight {itself}");
        }
    }
}

#[test]
fn a_target_learns_the_same_rules_alone_or_among_others() {
    let both = learn(&quick(), 2);
    let alone = learn(&Training { targets: vec!["wife".into()], ..quick() }, 2);
    assert_eq!(both.target("wife").expect("a target"), alone.target("wife").expect("a target"));
}

#[test]
fn a_run_that_is_stopped_and_resumed_again_and_again_reaches_the_very_same_model() {
    let data = Dataset::families(3);
    for training in [quick(), listwise()] {
        let folder = tempfile::tempdir().expect("a folder for a checkpoint");
        let path = folder.path().join("checkpoint");
        let mut rests = 0;
        let model = loop {
            let run = Run::new(training.clone(), &data).expect("sound settings");
            if rests > 0 {
                run.load_checkpoint(&path).expect("a sound checkpoint");
            }
            let checkpoints = Checkpoints { path: &path, every: Duration::from_mins(1) };
            let ended = run.train(2, &StopsSoon::default(), Some(checkpoints)).expect("finite logits");
            if ended == TrainingEnd::Finished {
                break run.into_model(&());
            }
            rests += 1;
        };
        assert!(rests > 0, "the run must have been stopped at least once");
        assert_eq!(bytes(&model), bytes(&learn(&training, 1)));
    }
}

#[test]
fn a_checkpoint_of_other_settings_or_other_data_is_refused() {
    let folder = tempfile::tempdir().expect("a folder for a checkpoint");
    let path = folder.path().join("checkpoint");
    let (data, other) = (Dataset::families(3), Dataset::families(4));
    Run::new(quick(), &data).expect("sound settings").save_checkpoint(&path).expect("a place for it");
    let refused = |training, data| {
        let run = Run::new(training, data).expect("sound settings");
        run.load_checkpoint(&path).expect_err("it does not fit").to_string()
    };
    assert!(refused(Training { rules: 4, ..quick() }, &data).contains("other settings"));
    assert!(refused(quick(), &other).contains("other data"));
    let said = Model::open(&path).expect_err("no model").to_string();
    assert!(said.contains("this is a checkpoint: glidr learn DATA -o MODEL --resume"), "{said}");
}

#[test]
fn a_model_file_gives_back_the_model() {
    let model = kept(&learn(&quick(), 2));
    let folder = tempfile::tempdir().expect("a folder for a model");
    let path = folder.path().join("model");
    model.save(&path).expect("a place for a model");
    assert_eq!(Model::open(&path).expect("the model just written"), model);
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("the folder").count(),
        1,
        "nothing else is left behind"
    );
}

#[test]
fn a_truncated_altered_or_foreign_model_is_refused_and_never_panics() {
    let whole = bytes(&learn(&Training { steps: 2, ..quick() }, 1));
    let folder = tempfile::tempdir().expect("a folder for bad models");
    let path = folder.path().join("bad");
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("a small file");
        Model::open(&path).expect_err("a bad model").to_string()
    };
    for length in [0, 1, 7, 8, 9, 100, whole.len() / 2, whole.len() - 1] {
        assert!(refused(&whole[..length]).contains("must be whole safetensors"), "cut at {length}");
    }
    let mut altered = whole.clone();
    *altered.last_mut().expect("a byte") ^= 1;
    assert!(refused(&altered).contains("the file was altered"));
    for place in (0..whole.len()).step_by(97) {
        let mut altered = whole.clone();
        altered[place] ^= 0x55;
        refused(&altered);
    }
    assert!(refused(b"a\tp\tb\n").contains("but this is a text of facts"));
    assert!(refused(&[b"\x02\0\0\0\0\0\0\0{}".as_slice()].concat()).contains("“glidr” header"));
}

#[test]
fn rules_travel_to_a_graph_of_other_entities() {
    // Two families of the same shape and no common member: learn on one, ask about the other.
    let folder = tempfile::tempdir().expect("a folder for two graphs");
    for (name, count, offset) in [("here", 40, 0), ("there", 12, 1000)] {
        let home = folder.path().join(name);
        std::fs::create_dir(&home).expect("a folder");
        let [mut facts, mut held_out] = [String::new(), String::new()];
        for family in 0..count {
            let person = |role: u32| format!("person{}", offset + 4 * family + role);
            let (grandparent, parent, child, other) = (person(0), person(1), person(2), person(3));
            facts += &format!(
                "{grandparent}\tparent\t{parent}\n{parent}\tparent\t{child}\n{parent}\tparent\t{other}\n"
            );
            held_out +=
                &format!("{grandparent}\tgrandparent\t{child}\n{grandparent}\tgrandparent\t{other}\n");
        }
        std::fs::write(home.join("facts.txt"), facts).expect("a small file");
        let split = if name == "here" { "train.txt" } else { "test.txt" };
        std::fs::write(home.join(split), held_out).expect("a small file");
    }
    let here = Dataset::open(folder.path().join("here"), 0).expect("a sound folder");
    let there = Dataset::open(folder.path().join("there"), 0).expect("a sound folder");
    let training =
        Training { steps: 300, rules: 4, targets: vec!["grandparent".into()], ..Training::default() };
    let model = training.run(&here).expect("sound settings");
    let soft = Soft::new(&model, &there).expect("common predicates");
    let ranked = Evaluation::default().run(&soft, &there, &()).expect("there are test facts");
    assert_eq!(ranked.all.queries, 48);
    assert!(ranked.all.mrr > 0.95, "MRR on the other graph is {}", ranked.all.mrr);
    let mixed = Dataset::families(0);
    let error = Soft::new(&model, &mixed).err().expect("no common predicate").to_string();
    assert!(error.contains("has none of them: grandparent, parent"), "{error}");
}

#[test]
fn a_property_can_decide_a_rule() {
    // likes(X, Y) holds for friends that are musical: nothing but the property tells them apart.
    let folder = tempfile::tempdir().expect("a folder for a small graph");
    let [mut facts, mut train, mut test] = [const { String::new() }; 3];
    for n in 0..120 {
        facts += &format!("a{n}\tfriend\tb{n}\n");
        if n % 2 == 0 {
            facts += &format!("b{n}\tmusical\n");
            *(if n % 6 == 0 { &mut test } else { &mut train }) += &format!("a{n}\tlikes\tb{n}\n");
        }
    }
    for (name, text) in [("facts", facts), ("train", train), ("test", test)] {
        std::fs::write(folder.path().join(format!("{name}.txt")), text).expect("a small file");
    }
    let data = Dataset::open(folder.path(), 0).expect("a sound folder");
    let training =
        Training { variables: 2, steps: 400, rules: 2, targets: vec!["likes".into()], ..Training::default() };
    let model = training.run(&data).expect("sound settings");
    let likes = model.target("likes").expect("a target");
    let rules = likes.extract(&model.schema, glidr::internals::model::Extraction::Argmax);
    assert_eq!(rules[0].0.show(model.names()), "likes(X, Y) :- friend(X, Y), musical(Y).");
    let soft = Soft::new(&model, &data).expect("its own data");
    let ranked = Evaluation::default().run(&soft, &data, &()).expect("there are test facts");
    assert_eq!(ranked.all.hits1, 1.0);
}

#[test]
fn learning_can_start_from_a_known_rule_and_refuses_one_that_does_not_fit() {
    let data = Dataset::families(0);
    let known = "uncle(X, Y) :- brother(X, Z1), (father(Z1, Y) ; mother(Z1, Y)).";
    let with = |start: &str| {
        let targets = vec!["uncle".into()];
        Training { steps: 1, rules: 2, start: vec![start.to_owned()], targets, ..Training::default() }
            .run(&data)
    };
    let model = with(known).expect("a rule that fits");
    let uncle = model.target("uncle").expect("a target");
    let rules = uncle.extract(&model.schema, Extraction::TopP(0.8));
    assert!(rules.iter().any(|(rule, _)| rule.show(model.names()) == known), "{rules:?}");
    assert!(with("uncle(X, Y) :- fother(X, Y).").is_err());
    assert!(with("uncle(X, Y) :- father(A, B), father(B, C), father(C, D), father(D, X).").is_err());
}

//! The study of digits on a small, made-up set: it learns, can be stopped and resumed, and repeats itself.

use std::sync::atomic::{AtomicBool, Ordering};

use glidr_experiments::digits::{Confusion, Digits, DigitsEnd, DigitsRun, Settings};

/// Images of ten kinds: kind d has d + 2 bright squares of patch size, at places that move.
fn digits(count: usize) -> Digits {
    let mut digits = Digits { pixels: vec![0; count * 28 * 28], labels: Vec::new() };
    for number in 0..count {
        let kind = number % 10;
        digits.labels.push(kind as u8);
        for square in 0..kind + 2 {
            let place = (number * 7 + square * 4 + square * square) % 49;
            for pixel in 0..16 {
                let (row, column) = (place / 7 * 4 + pixel / 4, place % 7 * 4 + pixel % 4);
                digits.pixels[number * 784 + row * 28 + column] = 200;
            }
        }
    }
    digits
}

fn settings() -> Settings {
    Settings {
        predicates: 2,
        properties: 2,
        hidden: 8,
        embedding: 8,
        key: 4,
        batch: 10,
        epochs: 2,
        ..Settings::default()
    }
}

fn finish(mut run: DigitsRun, digits: &Digits) -> DigitsRun {
    let ended = run.train(digits, &AtomicBool::new(false), |_, _| Ok(())).expect("no divergence");
    assert_eq!(ended, DigitsEnd::Finished);
    run
}

#[test]
fn equal_seeds_give_equal_parameters_on_any_number_of_threads_and_others_do_not() {
    let digits = digits(40);
    let with = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let run = DigitsRun::new(Settings { seed, ..settings() }, &digits).expect("in range");
        pool.install(|| finish(run, &digits)).parameters
    };
    assert_eq!(with(1, 0), with(2, 0));
    assert_ne!(with(1, 0), with(1, 1));
}

#[test]
fn a_run_that_is_stopped_and_resumed_ends_as_an_unbroken_one() {
    let digits = digits(40);
    let whole = finish(DigitsRun::new(settings(), &digits).expect("in range"), &digits);
    let mut broken = DigitsRun::new(settings(), &digits).expect("in range");
    let stop = AtomicBool::new(false);
    let ended = broken.train(&digits, &stop, |run, _| {
        stop.store(run.step == 3, Ordering::Relaxed);
        Ok(())
    });
    assert_eq!(ended.expect("no divergence"), DigitsEnd::Stopped);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run");
    broken.save(&path).expect("written");
    let resumed = finish(DigitsRun::open(&path).expect("whole"), &digits);
    assert_eq!(resumed.parameters, whole.parameters);
    assert_eq!(resumed.losses, whole.losses);
    resumed.save(&path).expect("written");
    let opened = DigitsRun::open(&path).expect("whole");
    assert!(opened.is_finished());
    let evaluated =
        |run: &DigitsRun| Confusion::of(&run.network, &run.parameters, &digits).expect("same shapes");
    assert_eq!(evaluated(&opened), evaluated(&whole));
    let mut bytes = std::fs::read(&path).expect("there");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).expect("written");
    let error = DigitsRun::open(&path).expect_err("altered").to_string();
    assert!(error.contains("the file was altered"), "{error}");
}

#[test]
fn a_run_restarts_above_the_restart_loss_and_if_stopped_after_that_ends_as_an_unbroken_one() {
    let digits = digits(40);
    let begin =
        |restart_loss| DigitsRun::new(Settings { restart_loss, ..settings() }, &digits).expect("in range");
    let kept = finish(begin(None), &digits);
    let first = kept.losses[0];
    let content = finish(begin(Some(first + 0.01)), &digits);
    assert_eq!((content.restarts, &content.parameters), (0, &kept.parameters));
    let choosy = finish(begin(Some(first - 1e-4)), &digits);
    assert!(choosy.restarts > 0 && choosy.losses.len() == 2 && choosy.parameters != kept.parameters);
    let never_content = finish(begin(Some(0.1)), &digits);
    assert_eq!(never_content.restarts, 9, "some initialisation is kept in the end");
    let (mut broken, stop) = (begin(Some(0.1)), AtomicBool::new(false));
    let watch = |run: &DigitsRun, _| {
        stop.store(run.restarts == 2 && run.step == 3, Ordering::Relaxed);
        Ok(())
    };
    assert_eq!(broken.train(&digits, &stop, watch).expect("no divergence"), DigitsEnd::Stopped);
    let folder = tempfile::tempdir().expect("a temporary folder");
    broken.save(&folder.path().join("run")).expect("written");
    let resumed = finish(DigitsRun::open(&folder.path().join("run")).expect("whole"), &digits);
    assert_eq!(resumed.parameters, never_content.parameters);
}

#[test]
fn training_on_other_images_than_the_run_began_with_is_refused() {
    let mut run = DigitsRun::new(settings(), &digits(40)).expect("in range");
    let error = run.advance(&digits(30)).expect_err("fewer images").to_string();
    assert_eq!(error, "the run has 40 training images, but 30 are given");
    let error = DigitsRun::new(settings(), &digits(9)).expect_err("too few").to_string();
    assert_eq!(error, "a batch has 10 images, but there are only 9 to train on");
}

#[test]
fn the_loss_falls_on_images_that_differ_in_the_number_of_bright_patches() {
    let digits = digits(200);
    // Patches are of two kinds only, so rules must differ from the start.
    let many = Settings { predicates: 4, properties: 4, init_std: 2.0, epochs: 30, batch: 20, ..settings() };
    let run = finish(DigitsRun::new(many, &digits).expect("in range"), &digits);
    let (first, last) = (run.losses[0], run.losses[run.losses.len() - 1]);
    assert!(last < 0.95 * first && last < 2.2, "the loss went from {first} to {last}");
}

//! Trains the digits study for a few epochs on some images and prints how well it does on held-out ones.
//!
//! `cargo run --release -p glidr-burn --example mnist -- MNIST_FOLDER [IMAGES] [EPOCHS]`
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::path::Path;

use glidr_burn::mnist::{Confusion, Digits, Run, Settings};

fn main() -> glidr::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |place: usize, default: usize| arguments.get(place).and_then(|n| n.parse().ok()).unwrap_or(default);
    let folder = arguments.first().map_or("../shared/data/mnist", String::as_str);
    let (rest, valid) = Digits::train(Path::new(folder))?.split(55_000);
    let train = rest.split(number(1, 10_000)).0;
    let mut run = Run::new(Settings { epochs: number(2, 5), ..Settings::default() }, &train)?;
    while !run.is_finished() {
        run.advance(&train)?;
        if run.step.is_multiple_of(run.steps_per_epoch()) {
            let judged = Confusion::of(&run.network, &run.parameters, &valid)?;
            let (epoch, loss) = (run.losses.len(), run.losses[run.losses.len() - 1]);
            println!("epoch {epoch}: loss {loss:.3}, macro F1 {:.3} on validation", judged.macro_f1());
        }
    }
    Ok(())
}

//! Logits of equal seeds, bit for bit: digests that were taken before the rooms were rebuilt.

use std::hash::Hasher;

use glidr::internals::infer::Engine;
use glidr::internals::model::{Positives, SoftModel};
use glidr::{Dataset, Training};

use crate::beside;

/// The paper's data, and a target of each.
const DATA: [(&str, &str); 4] =
    [("family", "daughter"), ("kinships", "Term5"), ("umls", "Causes"), ("fb15k-237", "/film/director/film")];

/// FNV-1a: plain, and the same on every machine and with every compiler.
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// One number for all logits and rule weights of a model.
fn digest(model: &SoftModel) -> u64 {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for rule in model.ensembles.iter().flat_map(|ensemble| &ensemble.rules) {
        let numbers = rule.logits.pairs.iter().chain(&rule.logits.owns).chain([&rule.loss, &rule.weight]);
        numbers.for_each(|number| hash.write(&number.to_bits().to_le_bytes()));
    }
    hash.finish()
}

fn learned(data: &Dataset, training: &Training) -> String {
    format!("{:016x}", digest(&training.run(data).expect("sound settings")))
}

#[test]
fn the_papers_settings_give_the_logits_they_always_gave() {
    let paper = Training { steps: 60, seed: 5, ..Training::default() };
    let data = Dataset::families(5);
    let ours = Training { positives: Positives::All, joint_loss: 1.0, ..paper.clone() };
    let found = [paper.clone(), Training { engine: Engine::Sparse, ..paper }, ours];
    assert_eq!(
        found.map(|training| learned(&data, &training)),
        ["d116bb3e59a0ceca", "6b9233adf74add34", "7b98e1314d3d1534"]
    );
}

#[test]
fn the_papers_settings_give_the_logits_they_always_gave_on_the_papers_data() {
    let mut found = Vec::new();
    for (name, target) in DATA {
        let Some(folder) = beside(&format!("data/{name}")) else { return };
        let data = Dataset::open(folder, 0).expect("a sound folder");
        let training = Training { steps: 12, targets: vec![target.into()], ..Training::default() };
        found.push(learned(&data, &training));
    }
    assert_eq!(found, ["d2e01620f6ea0e31", "2cba23846b53cf21", "2528c1f923165a64", "126eb9b3741a15b6"]);
}

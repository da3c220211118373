//! Randomness by address: a stream for every seed, purpose and place, as in learning rules.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// What a stream is drawn for.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// First numbers of a parameter: its place in the model.
    Start = 1,
    /// The order of images in an epoch.
    Order = 2,
    /// Data that is generated.
    Data = 3,
}

/// The stream for `purpose` at `place` under `seed`.
pub fn stream(seed: u64, purpose: Purpose, place: u64) -> ChaCha8Rng {
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..12].copy_from_slice(&(purpose as u32).to_le_bytes());
    key[12..20].copy_from_slice(&place.to_le_bytes());
    key[20..26].copy_from_slice(b"neural");
    ChaCha8Rng::from_seed(key)
}

/// So many draws from a normal distribution.
pub fn normal(random: &mut ChaCha8Rng, count: usize, mean: f32, std: f32) -> Vec<f32> {
    (0..count)
        .map(|_| {
            let draw: f32 = StandardNormal.sample(random);
            mean + std * draw
        })
        .collect()
}

/// Fisher and Yates' shuffle.
pub fn shuffle<T>(list: &mut [T], random: &mut ChaCha8Rng) {
    for last in (1..list.len()).rev() {
        list.swap(last, random.random_range(0..=last));
    }
}

//! Randomness by address: every draw has a stream named by seed, purpose and place.
//!
//! No stream belongs to a thread or to the order of work, so equal seeds give equal results on
//! any number of threads, and a resumed run draws what an unbroken one would.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// What a stream is drawn for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Dividing data into splits.
    Divide = 1,
    /// First logits of a rule: (target, rule).
    Start = 2,
    /// A training batch: (target, step).
    Batch = 3,
    /// A validation batch: (target, number).
    Validation = 4,
    /// Ties in a ranking: (query, direction).
    Tie = 5,
    /// A generated graph: (part, rule).
    Generate = 6,
    /// Other predicates for some facts: (split).
    Mislabel = 7,
    /// A part of a graph.
    Part = 8,
    /// The questions that a search on a large graph looks at: (target).
    Questions = 9,
    /// Known ends without a held-out answer: (target, direction).
    Calibration = 10,
    /// Facts of *valid* that constraints are chosen by.
    Constraints = 11,
    /// Facts of *valid* that an MRR is estimated on.
    Estimate = 12,
}

/// The stream for `purpose` at `place` under `seed`.
pub(crate) fn stream(seed: u64, purpose: Purpose, place: [u64; 3]) -> ChaCha8Rng {
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..12].copy_from_slice(&(purpose as u32).to_le_bytes());
    // Places are counts far below 2^56; seven bytes of each are enough to tell them apart.
    key[12..18].copy_from_slice(&place[0].to_le_bytes()[..6]);
    key[18..25].copy_from_slice(&place[1].to_le_bytes()[..7]);
    key[25..32].copy_from_slice(&place[2].to_le_bytes()[..7]);
    ChaCha8Rng::from_seed(key)
}

/// Fisher and Yates' shuffle.
pub(crate) fn shuffle<T>(list: &mut [T], random: &mut ChaCha8Rng) {
    for last in (1..list.len()).rev() {
        list.swap(last, random.random_range(0..=last));
    }
}

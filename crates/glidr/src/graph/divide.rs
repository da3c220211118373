//! Divides facts by a seed. In: sorted facts. Out: splits, each sorted.

use super::Triple;
use crate::util::random::{Purpose, shuffle, stream};

/// Train, valid and test, 80:10:10.
pub(super) fn hold_out(mut facts: Vec<Triple>, seed: u64) -> [Vec<Triple>; 3] {
    shuffle(&mut facts, &mut stream(seed, Purpose::Divide, [0; 3]));
    let tenth = facts.len() / 10;
    let test = facts.split_off(facts.len() - tenth);
    let valid = facts.split_off(facts.len() - tenth);
    [facts, valid, test].map(sorted)
}

/// Background and positives, 3:1.
pub(super) fn three_to_one(mut facts: Vec<Triple>, seed: u64) -> [Vec<Triple>; 2] {
    shuffle(&mut facts, &mut stream(seed, Purpose::Divide, [1, 0, 0]));
    let positives = facts.split_off(facts.len() - facts.len() / 4);
    [facts, positives].map(sorted)
}

fn sorted(mut facts: Vec<Triple>) -> Vec<Triple> {
    facts.sort_unstable();
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_of_the_size_they_should_be_and_hold_every_fact_once() {
        let facts: Vec<Triple> = (0..101).map(|n| Triple::new(n, 0, n)).collect();
        let [train, valid, test] = hold_out(facts.clone(), 3);
        assert_eq!((train.len(), valid.len(), test.len()), (81, 10, 10));
        let [background, positives] = three_to_one(train, 3);
        assert_eq!((background.len(), positives.len()), (61, 20));
        assert_eq!(sorted([background, positives, valid, test].concat()), facts);
    }
}

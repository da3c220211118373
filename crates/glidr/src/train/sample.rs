//! Batches of positives and negatives for one target.
//!
//! In: a [`Dataset`] and a target. Out: for every step the same batch, whatever ran before.
//! Positives come from *train*; negatives are pairs that no fact of *facts* or *train* states
//! (the closed world), half a batch of each.

use std::collections::HashSet;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use crate::graph::{Dataset, Entity, Predicate, Split, Triple};
use crate::model::{Negative, Positives, Training};
use crate::util::random::{Purpose, stream};

/// A pair of entities asked about.
pub type Pair = (Entity, Entity);

impl Positives {
    /// The positives of a target.
    pub(crate) fn of(self, data: &Dataset, target: Predicate) -> Vec<Pair> {
        match self {
            Positives::Train => data.positives(target),
            Positives::All => data.known(target),
        }
    }
}

/// After so many vain draws a negative is searched for instead.
const VAIN_DRAWS: usize = 200;

/// Draws the batches of one target.
#[derive(Debug)]
pub(crate) struct Sampler<'d> {
    pub(super) seed: u64,
    pub(super) target: Predicate,
    pub(super) positives: Vec<Pair>,
    held_out: Vec<Pair>,
    /// What no negative of training may be: the target's facts in *facts* and *train*.
    pub(super) known: HashSet<Pair>,
    /// What no negative of validation may be: these and the held-out facts.
    known_with_held_out: HashSet<Pair>,
    background: [&'d [Triple]; 2],
    entities: u32,
    /// Whether no known fact of the target is about an entity and itself.
    pub(super) irreflexive: bool,
    ways: &'d [Negative],
}

impl<'d> Sampler<'d> {
    pub fn new(data: &'d Dataset, target: Predicate, training: &'d Training) -> Self {
        let background = [data.split(Split::Facts), data.split(Split::Train)];
        let of_target = |facts: &'d [Triple]| {
            facts.iter().filter(move |fact| fact.predicate == target).map(|fact| (fact.head, fact.tail))
        };
        let known: HashSet<Pair> = background.into_iter().flat_map(of_target).collect();
        let held_out: Vec<Pair> = of_target(data.split(Split::Valid)).collect();
        Sampler {
            seed: training.seed,
            target,
            positives: training.positives.of(data, target),
            known_with_held_out: known.iter().chain(&held_out).copied().collect(),
            held_out,
            irreflexive: known.iter().all(|(head, tail)| head != tail),
            known,
            background,
            entities: data.names().entities.len() as u32,
            ways: &training.negatives,
        }
    }

    /// How many facts validation draws from.
    pub fn held_out(&self) -> usize {
        self.held_out.len()
    }

    /// The batch of one training step: positives, then negatives.
    pub fn training(&self, step: usize, size: usize) -> (Vec<Pair>, usize) {
        let mut random = stream(self.seed, Purpose::Batch, [self.target.0 as u64, step as u64, 0]);
        let count = size / 2;
        let mut pairs: Vec<Pair> =
            (0..count).map(|_| self.positives[random.random_range(0..self.positives.len())]).collect();
        self.add_negatives(&mut pairs, size - count, &self.positives, &self.known, &mut random);
        (pairs, count)
    }

    /// A validation batch: the `number`-th run of held-out facts, or of training positives where
    /// none are held out, and as many negatives.
    pub fn validation(&self, number: usize, size: usize) -> (Vec<Pair>, usize) {
        let mut random = stream(self.seed, Purpose::Validation, [self.target.0 as u64, number as u64, 0]);
        let from = if self.held_out.is_empty() { &self.positives } else { &self.held_out };
        let count = (size / 2).min(from.len());
        let mut pairs: Vec<Pair> = (0..count).map(|n| from[(number * count + n) % from.len()]).collect();
        self.add_negatives(&mut pairs, count, from, &self.known_with_held_out, &mut random);
        (pairs, count)
    }

    fn add_negatives(
        &self,
        pairs: &mut Vec<Pair>,
        count: usize,
        from: &[Pair],
        known: &HashSet<Pair>,
        random: &mut ChaCha8Rng,
    ) {
        for _ in 0..count {
            let drawn = (0..VAIN_DRAWS).map(|_| self.draw(from, random)).find(|pair| !known.contains(pair));
            if let Some(negative) = drawn.or_else(|| self.search(known, random)) {
                pairs.push(negative);
            }
        }
    }

    fn draw(&self, from: &[Pair], random: &mut ChaCha8Rng) -> Pair {
        let any = |random: &mut ChaCha8Rng| Entity(random.random_range(0..self.entities));
        match self.ways[random.random_range(0..self.ways.len())] {
            Negative::Head => (any(random), from[random.random_range(0..from.len())].1),
            Negative::Tail => (from[random.random_range(0..from.len())].0, any(random)),
            Negative::Any => (any(random), any(random)),
            Negative::Other => {
                let [facts, train] = self.background;
                let place = random.random_range(0..facts.len() + train.len());
                let fact = facts.get(place).unwrap_or_else(|| &train[place - facts.len()]);
                (fact.head, fact.tail)
            }
        }
    }

    /// The first pair after a random one that is not known; `None` where every pair is.
    fn search(&self, known: &HashSet<Pair>, random: &mut ChaCha8Rng) -> Option<Pair> {
        let entities = u64::from(self.entities);
        let first = random.random_range(0..entities * entities);
        // Among one more pair than there are known ones, one is unknown.
        (0..=known.len() as u64)
            .map(|step| (first + step) % (entities * entities))
            .map(|code| (Entity((code / entities) as u32), Entity((code % entities) as u32)))
            .find(|pair| !known.contains(pair))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negatives_are_never_known_positives_and_positives_never_stand_in_the_background() {
        let (data, training) = (Dataset::families(1), Training::default());
        for target in 0..12 {
            let sampler = Sampler::new(&data, Predicate(target), &training);
            if sampler.positives.is_empty() {
                continue;
            }
            for step in 0..20 {
                let (pairs, count) = sampler.training(step, 64);
                assert_eq!((pairs.len(), count), (64, 32));
                let facts = data.split(Split::Facts);
                let in_facts = |&(head, tail): &Pair| {
                    facts.contains(&Triple { head, predicate: Predicate(target), tail })
                };
                assert!(!pairs[..count].iter().any(in_facts));
                assert!(pairs[count..].iter().all(|pair| !sampler.known.contains(pair)));
            }
        }
    }

    #[test]
    fn a_step_draws_the_same_batch_whenever_it_is_asked_for() {
        let (data, training) = (Dataset::families(1), Training::default());
        let sampler = Sampler::new(&data, Predicate(0), &training);
        assert_eq!(sampler.training(7, 16), sampler.training(7, 16));
        assert_ne!(sampler.training(7, 16), sampler.training(8, 16));
    }

    #[test]
    fn a_target_that_holds_for_every_pair_has_no_negatives_and_does_not_hang() {
        let folder = tempfile::tempdir().expect("a folder for small files");
        std::fs::write(folder.path().join("facts.txt"), "a\tp\ta\na\tp\tb\n").expect("a small file");
        std::fs::write(folder.path().join("train.txt"), "b\tp\ta\nb\tp\tb\n").expect("a small file");
        let data = Dataset::open(folder.path(), 0).expect("a sound folder");
        let training = Training::default();
        let sampler = Sampler::new(&data, Predicate(0), &training);
        assert_eq!(sampler.training(0, 8).0.len(), 4);
    }

    #[test]
    fn ways_to_draw_are_read_and_a_wrong_word_is_named() {
        assert_eq!(Negative::parse_list("mix").expect("known"), Negative::ALL);
        assert_eq!(Negative::parse_list("head, any").expect("known"), [Negative::Head, Negative::Any]);
        assert!(Negative::parse_list("heads").is_err_and(|error| error.to_string().contains("“heads”")));
    }
}

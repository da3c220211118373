//! Batches of the listwise loss: queries of one target, each with one answer and its negatives.
//!
//! In: a target's known facts, and its rules as they are. Out: for every step known facts with one end missing. The negatives
//! of each are those that the rules rank highest, found by bounds, and some at random. They are looked for anew at
//! every step, so a resumed run needs nothing else to find the same.

use std::cmp::Ordering;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::{Pair, Sampler};
use crate::graph::{Direction, Entity, Query, Triple};
use crate::predict::TargetPredictor;
use crate::util::listwise::ListwiseQuery;
use crate::util::random::{Purpose, stream};

/// A query of a batch, and one of its known answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AnsweredQuery {
    pub query: Query,
    pub answer: Entity,
}

impl AnsweredQuery {
    /// The pair that the answer makes with the known end.
    pub fn pair(&self) -> Pair {
        self.query.direction.pair(self.query.known, self.answer)
    }
}

/// The pairs of a batch: for each query its answer, then its negatives.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Lists {
    pub pairs: Vec<Pair>,
    pub queries: Vec<ListwiseQuery>,
}

impl Lists {
    /// Adds a query with its negatives.
    pub fn add(&mut self, answered: AnsweredQuery, negatives: impl IntoIterator<Item = Entity>) {
        let AnsweredQuery { query, answer } = answered;
        let pair = |candidate| query.direction.pair(query.known, candidate);
        let first = self.pairs.len();
        self.pairs.push(pair(answer));
        self.pairs.extend(negatives.into_iter().map(pair));
        let negatives = first + 1..self.pairs.len();
        self.queries.push(ListwiseQuery { answers: first..first + 1, negatives, uncovered: 0.0 });
    }
}

/// The negatives of one query: the `hard` ones of highest bound, and `random` others. `allowed` tells which entities are
/// negatives; of equal bounds the lowest number is first.
pub(crate) fn negatives(
    bounds: &[f32],
    [hard, random]: [usize; 2],
    allowed: impl Fn(Entity) -> bool,
    source: &mut ChaCha8Rng,
) -> Vec<Entity> {
    let mut all: Vec<Entity> =
        (0..bounds.len() as u32).map(Entity).filter(|&entity| allowed(entity)).collect();
    let count = (hard + random).min(all.len());
    if count == all.len() {
        return all;
    }
    let hard = hard.min(count);
    let higher = |a: &Entity, b: &Entity| -> Ordering {
        bounds[b.index()].total_cmp(&bounds[a.index()]).then(a.cmp(b))
    };
    if (1..all.len()).contains(&hard) {
        all.select_nth_unstable_by(hard - 1, higher);
    }
    all[..hard].sort_unstable_by(higher);
    // The rest in an order that does not depend on how the highest were found.
    all[hard..].sort_unstable();
    for place in hard..count {
        let other = source.random_range(place..all.len());
        all.swap(place, other);
    }
    all.truncate(count);
    all
}

impl Sampler<'_> {
    /// The queries of one training step with the listwise loss, those that ask for tails first: each a positive with one
    /// end missing.
    pub fn queries(&self, step: usize, count: usize) -> Vec<AnsweredQuery> {
        let mut random = stream(self.seed, Purpose::Batch, [self.target.0 as u64, step as u64, 0]);
        let mut answered = |direction: Direction, count: usize| -> Vec<AnsweredQuery> {
            let mut one = || {
                let (head, tail) = self.positives[random.random_range(0..self.positives.len())];
                let (query, answer) = Query::of(Triple { head, predicate: self.target, tail }, direction);
                AnsweredQuery { query, answer }
            };
            (0..count).map(|_| one()).collect()
        };
        let mut both = answered(Direction::Tail, count.div_ceil(2));
        both.extend(answered(Direction::Head, count / 2));
        both
    }

    /// The pairs of these queries, each with so many candidates, its answer among them: half of its negatives are those of
    /// the rules' highest bounds.
    pub fn lists(
        &self,
        step: usize,
        answered: &[AnsweredQuery],
        candidates: usize,
        rules: &mut dyn TargetPredictor,
    ) -> Lists {
        let hard = (candidates - 1) / 2;
        let counts = [hard, candidates - 1 - hard];
        let mut lists = Lists::default();
        for answered in answered.chunk_by(|a, b| a.query.direction == b.query.direction) {
            let queries: Vec<Query> = answered.iter().map(|answered| answered.query).collect();
            let bounds = rules.bounds(&queries).expect("soft rules have bounds");
            for (number, (answered, bounds)) in answered.iter().zip(&bounds).enumerate() {
                let place = 1 + 2 * number as u64 + answered.query.direction as u64;
                let mut random =
                    stream(self.seed, Purpose::Batch, [self.target.0 as u64, step as u64, place]);
                let is_negative = |entity| self.is_negative(answered.query, entity);
                lists.add(*answered, negatives(bounds, counts, is_negative, &mut random));
            }
        }
        lists
    }

    /// Whether a candidate is a negative of a query.
    fn is_negative(&self, query: Query, candidate: Entity) -> bool {
        let is_itself = self.irreflexive && candidate == query.known;
        !is_itself && !self.known.contains(&query.direction.pair(query.known, candidate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Dataset, Predicate};
    use crate::model::Training;

    /// All candidates of so many entities have the same score.
    struct Level(usize);

    impl TargetPredictor for Level {
        fn entities(&self) -> usize {
            self.0
        }

        fn scores(&mut self, _: Query, candidates: &[Entity]) -> Vec<f64> {
            vec![0.5; candidates.len()]
        }

        fn bounds(&mut self, queries: &[Query]) -> Option<Vec<Vec<f32>>> {
            Some(vec![vec![0.5; self.0]; queries.len()])
        }
    }

    #[test]
    fn a_list_holds_the_answer_then_the_negatives_as_pairs_of_head_and_tail() {
        let mut lists = Lists::default();
        for (direction, known, negatives) in
            [(Direction::Tail, 0, &[2u32, 3][..]), (Direction::Head, 4, &[5, 6, 7][..])]
        {
            let query = Query { predicate: Predicate(0), direction, known: Entity(known) };
            lists.add(AnsweredQuery { query, answer: Entity(1) }, negatives.iter().copied().map(Entity));
        }
        let pairs: Vec<(u32, u32)> = lists.pairs.iter().map(|(head, tail)| (head.0, tail.0)).collect();
        assert_eq!(pairs, [(0, 1), (0, 2), (0, 3), (1, 4), (5, 4), (6, 4), (7, 4)]);
        assert_eq!((&lists.queries[1].answers, &lists.queries[1].negatives), (&(3..4), &(4..7)));
    }

    #[test]
    fn negatives_are_the_highest_bounds_then_others_and_only_allowed_ones() {
        let bounds = [0.9, 0.1, 0.8, 0.3, 0.7, 0.2, 0.7, 0.0];
        let mut random = stream(3, Purpose::Batch, [0; 3]);
        let found = negatives(&bounds, [3, 2], |entity| entity != Entity(0), &mut random);
        assert_eq!(found[..3], [2, 4, 6].map(Entity));
        assert!(found.len() == 5 && found[3..].iter().all(|entity| [1, 3, 5, 7].contains(&entity.0)));
        assert_ne!(found[3], found[4]);
        let all = negatives(&bounds, [5, 5], |entity| entity != Entity(0), &mut random);
        assert_eq!(all, [1, 2, 3, 4, 5, 6, 7].map(Entity));
        assert!(negatives(&bounds, [3, 2], |_| false, &mut random).is_empty());
    }

    #[test]
    fn queries_ask_for_either_end_of_a_positive_and_their_negatives_are_no_known_facts() {
        let (data, training) = (Dataset::families(1), Training::for_blend());
        let sampler = Sampler::new(&data, Predicate(0), &training);
        let answered = sampler.queries(3, 8);
        assert_eq!(answered, sampler.queries(3, 8));
        assert_ne!(answered, sampler.queries(4, 8));
        let tails = answered.iter().filter(|answered| answered.query.direction == Direction::Tail).count();
        assert_eq!((answered.len(), tails), (8, 4));
        let lists = sampler.lists(3, &answered, 6, &mut Level(data.names().entities.len()));
        assert_eq!((lists.queries.len(), lists.pairs.len()), (8, 8 * 6));
        for query in &lists.queries {
            assert!(sampler.known.contains(&lists.pairs[query.answers.start]));
            let negatives = &lists.pairs[query.negatives.clone()];
            assert!(negatives.iter().all(|pair| !sampler.known.contains(pair) && pair.0 != pair.1));
        }
    }
}

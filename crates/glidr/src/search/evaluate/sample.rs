//! The queries that a target's bodies are evaluated on, each with the candidates that bodies fire on.
//!
//! In: facts of the target, and which ends bodies find. Out: numbered *candidates*, some per query, that rules fire
//! on and weights are fitted to. All other entities are uncovered: no rule fires on them.

use std::collections::HashMap;

use crate::constraint::Refusals;
use crate::graph::{Direction, Entity, Predicate};
use crate::search::body::Steps;

/// What is known of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::search) enum Label {
    /// An answer that is asked for.
    Answer,
    /// Not known to be true.
    Negative,
    /// Not known to be true but to *valid*.
    ValidAnswer,
}

/// One query and its candidates.
pub(in crate::search) struct SampledQuery {
    pub direction: Direction,
    pub known: u32,
    pub from_valid: bool,
    /// Sorted.
    pub answers: Vec<u32>,
    /// True ends that are not asked for, and ends that a constraint refuses, sorted: they do not count.
    pub excluded: Vec<u32>,
    /// How many true ends are not asked for.
    pub other_answers: usize,
    /// How many ends do not count.
    pub not_counted: usize,
    /// (entity, number of the candidate), sorted.
    pub candidates: Vec<(u32, u32)>,
}

/// Facts of one target, as (head, tail).
pub(in crate::search) struct Facts<'a> {
    /// Training facts that ask.
    pub train: &'a [(u32, u32)],
    /// Facts of *valid* that ask.
    pub valid: &'a [(u32, u32)],
    /// All facts of *valid*, whether they ask or not.
    pub all_valid: &'a [(u32, u32)],
}

/// All queries of one target.
pub(in crate::search) struct QuerySample {
    pub queries: Vec<SampledQuery>,
    pub entities: usize,
    /// What is known of each candidate.
    pub labels: Vec<Label>,
    /// Negatives of one query for each of its answers, at most.
    pub max_negatives: usize,
    /// The answers of *valid*, by direction and known end.
    valid: HashMap<(Direction, u32), Vec<u32>>,
    valid_facts: usize,
    /// Facts of the target that are known.
    known_facts: usize,
    /// Per direction, the ends that a constraint refuses for every query; empty where it refuses none.
    never: [Vec<bool>; 2],
}

impl QuerySample {
    /// The queries of some training facts and of some facts of *valid*; no entity is its own answer where the target
    /// is irreflexive.
    pub fn new(
        steps: &Steps,
        target: Predicate,
        facts: &Facts,
        max_negatives: usize,
        irreflexive: bool,
    ) -> Self {
        let mut valid: HashMap<(Direction, u32), Vec<u32>> = HashMap::new();
        for &(head, tail) in facts.all_valid {
            valid.entry((Direction::Tail, head)).or_default().push(tail);
            valid.entry((Direction::Head, tail)).or_default().push(head);
        }
        let mut sample = QuerySample {
            queries: Vec::new(),
            entities: steps.entities(),
            labels: Vec::new(),
            max_negatives,
            valid,
            valid_facts: facts.all_valid.len(),
            known_facts: steps.facts.count(target),
            never: [Vec::new(), Vec::new()],
        };
        for (pairs, from_valid) in [(facts.train, false), (facts.valid, true)] {
            for direction in Direction::BOTH {
                let ends = |&(head, tail): &(u32, u32)| match direction {
                    Direction::Tail => (head, tail),
                    Direction::Head => (tail, head),
                };
                let mut queries: Vec<(u32, u32)> = pairs.iter().map(ends).collect();
                queries.sort_unstable();
                queries.dedup();
                for one in queries.chunk_by(|a, b| a.0 == b.0) {
                    sample.add(steps, target, direction, one, from_valid);
                }
            }
        }
        if irreflexive {
            sample.exclude_known_ends();
        }
        sample
    }

    fn add(
        &mut self,
        steps: &Steps,
        target: Predicate,
        direction: Direction,
        one: &[(u32, u32)],
        from_valid: bool,
    ) {
        let known = one[0].0;
        let step = if direction == Direction::Tail { target.0 } else { steps.inverse(target.0) };
        let answers: Vec<u32> = one.iter().map(|&(_, answer)| answer).collect();
        let mut excluded = steps.from(step, known).to_vec();
        if from_valid {
            excluded.extend(self.valid.get(&(direction, known)).into_iter().flatten());
            excluded.sort_unstable();
            excluded.dedup();
        }
        excluded.retain(|end| answers.binary_search(end).is_err());
        let first = self.labels.len() as u32;
        let candidates = answers.iter().zip(first..).map(|(&answer, number)| (answer, number)).collect();
        self.labels.extend(answers.iter().map(|_| Label::Answer));
        let other_answers = excluded.len();
        self.queries.push(SampledQuery {
            direction,
            known,
            from_valid,
            answers,
            excluded,
            other_answers,
            not_counted: other_answers,
            candidates,
        });
    }

    fn exclude_known_ends(&mut self) {
        for query in &mut self.queries {
            if let Err(place) = query.excluded.binary_search(&query.known)
                && query.answers.binary_search(&query.known).is_err()
            {
                query.excluded.insert(place, query.known);
                query.not_counted += 1;
            }
        }
    }

    /// Leaves out the ends that constraints refuse: they come last whatever rules say. What a query asks for stays.
    #[must_use]
    pub fn refusing(mut self, refusals: &Refusals) -> Self {
        self.never = Direction::BOTH.map(|direction| refusals.never(direction).to_vec());
        for query in &mut self.queries {
            query.excluded.extend(refusals.of_query(query.direction, Entity(query.known)));
            query.excluded.sort_unstable();
            query.excluded.dedup();
            query.excluded.retain(|end| query.answers.binary_search(end).is_err());
            let never = &self.never[query.direction as usize];
            let counts =
                |list: &[u32]| list.iter().filter(|&&end| never.get(end as usize) == Some(&true)).count();
            let more = never.iter().filter(|&&never| never).count() - counts(&query.answers);
            query.not_counted = query.excluded.len() + more - counts(&query.excluded);
        }
        self
    }

    /// Whether an end that is no answer does not count.
    pub fn is_excluded(&self, query: &SampledQuery, end: u32) -> bool {
        self.never[query.direction as usize].get(end as usize) == Some(&true)
            || query.excluded.binary_search(&end).is_ok()
    }

    /// The queries of training facts.
    pub fn training(&self) -> impl Iterator<Item = (usize, &SampledQuery)> {
        self.queries.iter().enumerate().filter(|(_, query)| !query.from_valid)
    }

    /// Whether *valid* says that an end answers a query.
    pub fn is_valid_answer(&self, query: &SampledQuery, end: u32) -> bool {
        self.valid.get(&(query.direction, query.known)).is_some_and(|ends| ends.contains(&end))
    }

    /// How many facts *valid* asks about, each once for its tail and once for its head.
    pub fn valid_queries(&self) -> usize {
        self.queries.iter().filter(|query| query.from_valid).map(|query| query.answers.len()).sum()
    }

    /// How many answers of a query may be missing from the data: for all that are known of the target, as many again
    /// as *valid* has, and its own where they count as unknown.
    pub fn missing(&self, query: &SampledQuery, with_valid: bool) -> usize {
        let (here, valid) = (query.answers.len() + query.other_answers, self.valid_facts);
        if with_valid {
            here * valid / (self.known_facts + valid).max(1)
        } else {
            2 * here * valid / self.known_facts.max(1)
        }
    }

    /// The candidates of a query that have a label.
    pub fn labelled(&self, query: &SampledQuery, label: Label) -> impl Iterator<Item = usize> {
        let numbers = query.candidates.iter().map(|&(_, number)| number as usize);
        numbers.filter(move |&number| self.labels[number] == label)
    }

    /// For every candidate whether a query of this direction has it.
    pub fn asked(&self, direction: Direction) -> Vec<bool> {
        let mut asked = vec![false; self.labels.len()];
        let queries = self.queries.iter().filter(|query| query.direction == direction);
        queries.flat_map(|query| &query.candidates).for_each(|&(_, number)| asked[number as usize] = true);
        asked
    }

    /// Entities that no rule fires on and that count.
    pub fn uncovered(&self, query: &SampledQuery) -> usize {
        self.entities - query.candidates.len() - query.not_counted
    }
}

#[cfg(test)]
pub(in crate::search) mod tests {
    use super::*;
    use crate::graph::Neighbours as Index;
    use crate::graph::{Sizes, Triple};

    impl QuerySample {
        /// The same with more negatives, query by query, where they are not excluded.
        pub fn with_negatives(mut self, entities: &[u32], counts: impl Fn(&SampledQuery) -> bool) -> Self {
            for query in self.queries.iter_mut().filter(|query| counts(query)) {
                for &entity in entities {
                    if !query.excluded.contains(&entity) {
                        query.candidates.push((entity, self.labels.len() as u32));
                        self.labels.push(Label::Negative);
                    }
                }
                query.candidates.sort_unstable();
            }
            self
        }
    }

    /// The queries of two facts and of one of *valid*, each with two negatives.
    pub fn small_sample() -> QuerySample {
        let pairs = [(0, 1), (0, 2), (3, 1), (4, 2)];
        let index = Index::new(
            Sizes { entities: 7, predicates: 1, properties: 0 },
            &pairs.map(|(head, tail)| Triple::new(head, 0, tail)),
            &[],
        );
        let facts = Facts { train: &pairs[..3], valid: &[(5, 1)], all_valid: &[(5, 1)] };
        let sample = QuerySample::new(&Steps::new(&index), Predicate(0), &facts, 9, false);
        sample.with_negatives(&[6, 4], |_| true)
    }

    /// One query of *valid* for the tails of 5 with two answers, 1 and 2, and three negatives, 3, 4 and 6.
    pub fn two_answers() -> QuerySample {
        let index =
            Index::new(Sizes { entities: 7, predicates: 1, properties: 0 }, &[Triple::new(5, 0, 0)], &[]);
        let valid = [(5, 1), (5, 2)];
        let facts = Facts { train: &[(5, 0)], valid: &valid, all_valid: &valid };
        let sample = QuerySample::new(&Steps::new(&index), Predicate(0), &facts, 9, false);
        sample.with_negatives(&[3, 4, 6], |query| query.direction == Direction::Tail)
    }

    #[test]
    fn every_fact_asks_for_its_tail_and_its_head_and_known_facts_do_not_count() {
        let sample = small_sample();
        let tails =
            sample.queries.iter().find(|query| query.direction == Direction::Tail && query.known == 0);
        let tails = tails.expect("a query for the tails of 0");
        assert_eq!((&tails.answers[..], &tails.excluded[..]), (&[1, 2][..], &[][..]));
        let valid = |query: &&SampledQuery| query.from_valid && query.direction == Direction::Head;
        let heads = sample.queries.iter().find(valid).expect("a query of valid");
        assert_eq!((heads.known, &heads.answers[..], &heads.excluded[..]), (1, &[5][..], &[0, 3][..]));
        assert_eq!(sample.uncovered(heads), 7 - 3 - 2);
        assert_eq!(sample.valid_queries(), 2);
    }
}

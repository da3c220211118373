//! Facts grouped by the queries that they answer.

use std::ops::Range;

use crate::graph::{Direction, Entity, Query, Triple};

/// For every query that some facts answer, its answers. Queries and answers are sorted.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    queries: Vec<(Query, Range<usize>)>,
    answers: Vec<Entity>,
}

impl Answers {
    /// The answers that `facts` give, each fact to a query in both directions.
    ///
    /// ```
    /// use glidr::internals::evaluate::Answers;
    /// use glidr::internals::graph::{Direction, Entity, Query, Triple};
    /// let facts = [Triple::new(0, 0, 2), Triple::new(0, 0, 1), Triple::new(3, 0, 1)];
    /// let (query, _) = Query::of(facts[0], Direction::Tail);
    /// let answers = Answers::of(facts);
    /// assert_eq!(answers.to(query), [Entity(1), Entity(2)]);
    /// assert_eq!(answers.iter().count(), 4);
    /// ```
    pub fn of(facts: impl IntoIterator<Item = Triple>) -> Self {
        let both = |fact| Direction::BOTH.map(|direction| Query::of(fact, direction));
        let mut pairs: Vec<(Query, Entity)> = facts.into_iter().flat_map(both).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut answers = Answers::default();
        for of_query in pairs.chunk_by(|a, b| a.0 == b.0) {
            let first = answers.answers.len();
            answers.answers.extend(of_query.iter().map(|&(_, answer)| answer));
            answers.queries.push((of_query[0].0, first..answers.answers.len()));
        }
        answers
    }

    /// The answers to a query; none where no fact answers it.
    pub fn to(&self, query: Query) -> &[Entity] {
        match self.queries.binary_search_by_key(&query, |(query, _)| *query) {
            Ok(number) => &self.answers[self.queries[number].1.clone()],
            Err(_) => &[],
        }
    }

    /// Every query with its answers: by predicate, then by direction, then by the known end.
    pub fn iter(&self) -> impl Iterator<Item = (Query, &[Entity])> {
        self.queries.iter().map(|(query, range)| (*query, &self.answers[range.clone()]))
    }
}

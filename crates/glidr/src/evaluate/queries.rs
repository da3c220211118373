//! The queries of a split in the filtered setting, answered batch by batch on all threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Answers, Evaluation};
use crate::constraint::KeptConstraint;
use crate::error::{Error, Result};
use crate::graph::{Background, Dataset, Direction, Predicate, Split, Triple};
use crate::predict::{Comparison, FilteredQuery, Predictor, refusals};
use crate::solve::Ended;

/// Every query that the facts of a split ask.
pub(crate) struct Queries {
    all: Vec<FilteredQuery>,
    /// Queries of one target and direction that are compared at once.
    batches: Vec<Range<usize>>,
    /// Answers that are the known entity itself where that is refused: below all candidates.
    refused: Vec<(Triple, Direction, Comparison)>,
    /// Per predicate whether no entity is its own answer.
    irreflexive: Vec<bool>,
    /// Facts that are not asked about, since their predicates are no targets.
    pub left_out: usize,
}

/// One answer compared with its competing candidates, in one or several ways.
pub(crate) struct Compared {
    pub fact: Triple,
    pub direction: Direction,
    pub comparisons: Vec<Comparison>,
}

impl Queries {
    /// The queries of the evaluation's split about the predictor's targets. True answers of the `filtered` splits
    /// compete with none. A batch has at most so many queries.
    pub fn new(
        evaluation: &Evaluation,
        predictor: &dyn Predictor,
        data: &Dataset,
        filtered: &[Split],
        max_batch: usize,
    ) -> Result<Self> {
        let split = data.split(evaluation.split);
        let asked: Vec<Triple> =
            split.iter().filter(|fact| predictor.is_target(fact.predicate)).copied().collect();
        if asked.is_empty() {
            return Err(Error::Mismatch(format!(
                "{} must hold a fact about one of the targets to rank, but {} has none there",
                evaluation.split.name(),
                data.source
            )));
        }
        let left_out = split.len() - asked.len();
        Ok(Queries { left_out, ..Self::about(asked, evaluation, predictor, data, filtered, max_batch) })
    }

    /// The queries of some facts.
    pub fn about(
        asked: Vec<Triple>,
        evaluation: &Evaluation,
        predictor: &dyn Predictor,
        data: &Dataset,
        filtered: &[Split],
        max_batch: usize,
    ) -> Self {
        let truth = Answers::of(filtered.iter().flat_map(|&split| data.split(split)).copied());
        let irreflexive = evaluation.irreflexive(data);
        let (mut queries, mut refused) = (Vec::new(), Vec::new());
        for (query, answers) in Answers::of(asked).iter() {
            let (mut answers, mut filtered) = (answers.to_vec(), truth.to(query).to_vec());
            if irreflexive[query.predicate.index()] {
                if let Err(place) = filtered.binary_search(&query.known) {
                    filtered.insert(place, query.known);
                }
                if let Ok(place) = answers.binary_search(&query.known) {
                    let last = Comparison { above: data.names().entities.len() - filtered.len(), tied: 0 };
                    refused.push((query.fact(answers.remove(place)), query.direction, last));
                }
            }
            queries.push(FilteredQuery { query, answers, filtered });
        }
        let batches = batches(&queries, predictor.batch_size().min(max_batch));
        Queries { all: queries, batches, refused, irreflexive, left_out: 0 }
    }

    /// Lets no candidate compete that constraints refuse on *facts* and *train*.
    pub fn refuse(&mut self, constraints: &[KeptConstraint], data: &Dataset) -> Result<()> {
        let graph = data.graph(Background::Train);
        for batch in self.batches.clone() {
            let refusals = refusals(constraints, self.all[batch.start].query.predicate, graph)?;
            for FilteredQuery { query, filtered, .. } in &mut self.all[batch] {
                filtered.extend(refusals.all(*query));
                filtered.sort_unstable();
                filtered.dedup();
            }
        }
        Ok(())
    }

    /// Compares every answer. A thread that meets a target calls `prepare` with it and whether it is irreflexive, then
    /// `compare` for batch after batch, which compares each answer in `ways` ways. `told` hears how many answers are
    /// compared, of how many, and whether it wants no more.
    pub fn compare<T>(
        &self,
        ways: usize,
        prepare: impl Fn(Predicate, bool) -> Result<T> + Sync,
        compare: impl Fn(&mut T, &[FilteredQuery]) -> (Vec<Vec<Vec<Comparison>>>, Ended) + Sync,
        told: &(dyn Fn(usize, usize) -> bool + Sync),
    ) -> Result<(Vec<Compared>, Ended)> {
        let answers = self.refused.len() + self.all.iter().map(|query| query.answers.len()).sum::<usize>();
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(self.refused.len()));
        // Every thread takes the next batch. Those of one target follow each other, so that each thread prepares its
        // rules once at most.
        let work = || -> Result<(Vec<Compared>, Ended)> {
            let (mut compared, mut ended, mut ready) = (Vec::new(), Ended::Complete, None::<(Predicate, T)>);
            while let Some(batch) = self.batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                let queries = &self.all[batch.clone()];
                let target = queries[0].query.predicate;
                if ready.as_ref().is_some_and(|(prepared, _)| *prepared != target) {
                    ready = None; // its memory first
                }
                let (_, prepared) = match &mut ready {
                    Some(ready) => ready,
                    None => ready.insert((target, prepare(target, self.irreflexive[target.index()])?)),
                };
                let (comparisons, how) = compare(prepared, queries);
                if how != Ended::Complete {
                    ended = how;
                }
                let before = compared.len();
                for (query, comparisons) in queries.iter().zip(comparisons) {
                    for (&answer, comparisons) in query.answers.iter().zip(comparisons) {
                        let (fact, direction) = (query.query.fact(answer), query.query.direction);
                        compared.push(Compared { fact, direction, comparisons });
                    }
                }
                let here = compared.len() - before;
                if told(done.fetch_add(here, Ordering::Relaxed) + here, answers) {
                    break;
                }
            }
            Ok((compared, ended))
        };
        let (mut compared, mut ended) = (Vec::with_capacity(answers), Ended::Complete);
        for worked in rayon::broadcast(|_| work()) {
            let (of_thread, how) = worked?;
            compared.extend(of_thread);
            if how != Ended::Complete {
                ended = how;
            }
        }
        compared.extend(self.refused.iter().map(|&(fact, direction, comparison)| Compared {
            fact,
            direction,
            comparisons: vec![comparison; ways],
        }));
        compared.sort_unstable_by_key(|compared| (compared.fact, compared.direction));
        Ok((compared, ended))
    }
}

/// Ranges of queries that share target and direction, at most `size` long.
fn batches(queries: &[FilteredQuery], size: usize) -> Vec<Range<usize>> {
    let (mut batches, mut first) = (Vec::new(), 0);
    let is_alike = |a: &FilteredQuery, b: &FilteredQuery| {
        (a.query.predicate, a.query.direction) == (b.query.predicate, b.query.direction)
    };
    for alike in queries.chunk_by(is_alike) {
        for batch in alike.chunks(size) {
            batches.push(first..first + batch.len());
            first += batch.len();
        }
    }
    batches
}

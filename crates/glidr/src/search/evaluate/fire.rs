//! The candidates that a body fires on.

use std::cmp::Reverse;

use super::{Label, Prepared, QuerySample, SampledQuery};
use crate::search::ends::Ends;

/// The candidates that one body fires on, for each of the groundings that are asked for at least.
struct Fires<'a> {
    min_groundings: &'a [u32],
    lists: Vec<Vec<u32>>,
}

impl Fires<'_> {
    fn fire(&mut self, candidate: u32, groundings: u32) {
        let reached = self.min_groundings.iter().take_while(|&&min| groundings >= min);
        self.lists.iter_mut().zip(reached).for_each(|(list, _)| list.push(candidate));
    }
}

impl QuerySample {
    /// (groundings, end) of the ends that are no candidates yet though they are not known to be true, those with most
    /// groundings first.
    fn new_negatives(&self, query: &SampledQuery, ends: &Ends, min_groundings: u32) -> Vec<(u32, u32)> {
        let is_new = |end: u32| {
            !self.is_excluded(query, end)
                && query.candidates.binary_search_by_key(&end, |&(entity, _)| entity).is_err()
        };
        let all = ends.list().iter().enumerate().map(|(at, &end)| (ends.groundings(at), end));
        let mut new: Vec<(u32, u32)> =
            all.filter(|&(groundings, end)| groundings >= min_groundings && is_new(end)).collect();
        new.sort_by_key(|&(groundings, end)| (Reverse(groundings), end));
        new
    }

    /// The candidates a body fires on with at least so many groundings each. A query gets new negatives while it has
    /// fewer than `max_negatives` for each of its answers, those with most groundings first.
    pub fn fires(&mut self, prepared: &Prepared, min_groundings: &[u32]) -> Vec<Vec<u32>> {
        let mut fires = Fires { min_groundings, lists: vec![Vec::new(); min_groundings.len()] };
        let mut ends = Ends::new(self.entities);
        for number in 0..self.queries.len() {
            prepared.ends(&self.queries[number], usize::MAX, &mut ends);
            self.fire_known(number, prepared, &ends, &mut fires);
            self.fire_new(number, &ends, &mut fires);
        }
        fires.lists.iter_mut().for_each(|list| list.sort_unstable());
        fires.lists
    }

    /// Fires on the candidates that a query has.
    fn fire_known(&self, number: usize, prepared: &Prepared, ends: &Ends, fires: &mut Fires) {
        let query = &self.queries[number];
        let cap = fires.min_groundings[fires.min_groundings.len() - 1];
        let mut meet = |candidate: u32, end: u32, groundings: u32| {
            let asks = self.labels[candidate as usize] == Label::Answer && !query.from_valid;
            let found =
                if asks { prepared.leave_one_out(query, end, groundings.min(cap)) } else { groundings };
            fires.fire(candidate, found);
        };
        // By whichever is shorter, the body's ends or the query's candidates.
        if ends.list().len() < query.candidates.len() {
            for (at, &end) in ends.list().iter().enumerate() {
                if let Ok(place) = query.candidates.binary_search_by_key(&end, |&(entity, _)| entity) {
                    meet(query.candidates[place].1, end, ends.groundings(at));
                }
            }
        } else {
            for &(end, candidate) in &query.candidates {
                if let Ok(at) = ends.list().binary_search(&end) {
                    meet(candidate, end, ends.groundings(at));
                }
            }
        }
    }

    /// Adds negatives that the body brings up, and fires on them.
    fn fire_new(&mut self, number: usize, ends: &Ends, fires: &mut Fires) {
        let query = &self.queries[number];
        let most = query.answers.len().saturating_mul(self.max_negatives.saturating_add(1));
        let room = most.saturating_sub(query.candidates.len());
        if room == 0 {
            return;
        }
        let new = self.new_negatives(query, ends, fires.min_groundings[0]);
        let labels = new.iter().take(room).map(|&(_, end)| {
            if self.is_valid_answer(query, end) { Label::ValidAnswer } else { Label::Negative }
        });
        let (first, labels) = (self.labels.len() as u32, labels.collect::<Vec<Label>>());
        self.labels.extend(labels);
        let query = &mut self.queries[number];
        for (&(groundings, end), candidate) in new.iter().take(room).zip(first..) {
            query.candidates.push((end, candidate));
            fires.fire(candidate, groundings);
        }
        query.candidates.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Effort, Evaluator, Exact, Facts, Sampled};
    use super::*;
    use crate::graph::Neighbours as Index;
    use crate::graph::{Direction, Entity, Predicate, Sizes, Triple};
    use crate::search::body::{Body, Pattern, Steps};
    use crate::solve::{Limits, Solver};

    const TARGET: Predicate = Predicate(1);

    fn index() -> Index {
        let triples: Vec<Triple> = (0..50u32).map(|n| Triple::new(n * 7 % 11, n % 3, n * n % 11)).collect();
        Index::new(Sizes { entities: 11, predicates: 3, properties: 0 }, &triples, &[])
    }

    /// The target's facts, and some pairs that take the part of *valid*.
    fn pairs(index: &Index) -> [Vec<(u32, u32)>; 2] {
        let known: Vec<(u32, u32)> = index.pairs(TARGET).map(|(head, tail)| (head.0, tail.0)).collect();
        let all = (0..11).flat_map(|head| (0..11).map(move |tail| (head, tail)));
        let valid = all.filter(|pair| !known.contains(pair)).step_by(17).collect();
        [known, valid]
    }

    fn sample(steps: &Steps, [known, valid]: &[Vec<(u32, u32)>; 2]) -> QuerySample {
        let facts = Facts { train: known, valid, all_valid: valid };
        QuerySample::new(steps, TARGET, &facts, 99, false)
    }

    fn bodies() -> Vec<Body> {
        let pattern = |step, constant| Pattern { step, constant };
        let mut bodies: Vec<Body> = (0..216)
            .map(|n| Body::path(&[n / 36, n / 6 % 6, n % 6][..if n % 7 == 0 { 2 } else { 3 }]))
            .collect();
        bodies.extend((0..6).map(|step| Body::Both(pattern(step, None), pattern(1, Some(4)))));
        bodies
    }

    fn effort() -> Effort {
        Effort { max_answers: 99, links: usize::MAX }
    }

    #[test]
    fn what_a_body_counts_and_fires_on_is_what_its_rule_says() {
        let index = index();
        let (steps, pairs) = (Steps::new(&index), pairs(&index));
        let evaluator = Sampled::new(&steps, TARGET, Limits::default());
        let (mut not_left_out, mut several) = (0, 0);
        for body in bodies() {
            let mut sample = sample(&steps, &pairs);
            let all = [1, 2, 3];
            let min_groundings = if matches!(body, Body::Path(..)) { &all[..] } else { &all[..1] };
            let prepared = evaluator.prepare(body);
            let fires = sample.fires(&prepared, min_groundings);
            let counts = sample.count(&prepared, min_groundings, 1, &mut effort());
            for ((&min, fires), counts) in min_groundings.iter().zip(fires).zip(counts) {
                let rule = steps.rule(body.with_min_groundings(min), TARGET);
                let solver = Solver::new(&rule, &index, Limits::default()).expect("a sound rule");
                let mut expected = [(0, 0); 2];
                for query in &sample.queries {
                    for end in (0..11).filter(|end| query.excluded.binary_search(end).is_err()) {
                        let (head, tail) = query.direction.pair(Entity(query.known), Entity(end));
                        let found = query.candidates.iter().find(|(entity, _)| *entity == end);
                        let candidate = found.map(|of| of.1);
                        let holds = solver.holds(head, tail).value;
                        let is_answer =
                            candidate.is_some_and(|number| sample.labels[number as usize] == Label::Answer);
                        let fact = Triple { head, predicate: TARGET, tail };
                        let asks = is_answer && !query.from_valid;
                        let left_out =
                            if asks { solver.holds_without(head, tail, fact).value } else { holds };
                        not_left_out += usize::from(holds && !left_out);
                        several += usize::from(left_out && min > 1);
                        let fired = candidate.is_some_and(|number| fires.binary_search(&number).is_ok());
                        assert_eq!(fired, left_out, "{rule:?} {fact:?}");
                        if !query.from_valid {
                            let count = &mut expected[usize::from(query.direction == Direction::Head)];
                            count.0 += usize::from(fired && is_answer);
                            count.1 += usize::from(fired);
                        }
                    }
                }
                assert_eq!(counts.expect("not too broad").by_direction, expected, "{rule:?}");
            }
        }
        assert!(not_left_out > 50 && several > 500, "{not_left_out} {several}");
    }

    #[test]
    fn a_rule_of_any_shape_counts_and_fires_as_its_path_does_exactly_and_by_sample() {
        let index = index();
        let (steps, pairs) = (Steps::new(&index), pairs(&index));
        let mut exact = Exact::new(&steps, TARGET, false, Limits::default());
        let mut sampled = Sampled::new(&steps, TARGET, Limits::default());
        for body in bodies() {
            let rule = steps.rule(body, TARGET);
            let Some(general) = exact.admit(&rule) else { panic!("few answers: {rule:?}") };
            let by_query = sampled.admit(&rule).expect("any rule");
            let found =
                [exact.prepare(body), exact.prepare(general), sampled.prepare(by_query)].map(|prepared| {
                    let mut sample = sample(&steps, &pairs);
                    let counts = sample.count(&prepared, &[1], 1, &mut effort());
                    let counts = counts[0].expect("not too broad");
                    let fires = sample.fires(&prepared, &[1]);
                    (counts.by_direction, counts.fingerprint, fires)
                });
            assert_eq!(found[0], found[1], "{rule:?}");
            assert_eq!(found[0], found[2], "{rule:?}");
        }
    }

    #[test]
    fn a_body_that_answers_too_much_or_follows_too_many_links_counts_nothing() {
        let triples: Vec<Triple> = (0..200u32).map(|n| Triple::new(n % 40, 0, 40 + n % 37)).collect();
        let index = Index::new(Sizes { entities: 80, predicates: 1, properties: 0 }, &triples, &[]);
        let known: Vec<(u32, u32)> = index.pairs(Predicate(0)).map(|(head, tail)| (head.0, tail.0)).collect();
        let steps = Steps::new(&index);
        let facts = Facts { train: &known, valid: &[], all_valid: &[] };
        let sample = QuerySample::new(&steps, Predicate(0), &facts, 99, false);
        let evaluator = Sampled::new(&steps, Predicate(0), Limits::default());
        let [there, back] = [0, steps.inverse(0)];
        let prepared = evaluator.prepare(Body::path(&[there, back, there]));
        let count = |max_answers, links| {
            let mut effort = Effort { max_answers, links };
            (sample.count(&prepared, &[1], 1, &mut effort)[0], effort.links)
        };
        assert!(count(0, usize::MAX).0.is_none());
        let (counts, left) = count(80, 1_000_000);
        assert!(counts.is_some_and(|counts| counts.support() > 0));
        // Links are used up, and with one less than it takes nothing counts.
        assert!(left < 1_000_000);
        assert!(count(80, 1_000_000 - left).0.is_some());
        assert!(count(80, 1_000_000 - left - 1).0.is_none());
    }
}

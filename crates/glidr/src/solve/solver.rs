//! Answers of one rule on given facts. In: a [`Rule`] and [`Neighbours`]. Out: answers, counts and a first
//! [`Grounding`].

use super::constraints::{Constraints, X, Y};
use super::join::{Join, State};
use super::{Ended, Found, Grounding, Limits};
use crate::error::Result;
use crate::graph::{Entity, Neighbours, Triple};
use crate::rule::Rule;

/// A rule ready to be evaluated on facts.
pub struct Solver<'f> {
    pub(super) rule: Rule,
    pub(super) facts: &'f Neighbours,
    constraints: Constraints,
    limits: Limits,
    /// The body with all that hangs on it as trees eliminated: what is asked for each pair.
    reduced: State,
}

impl<'f> Solver<'f> {
    /// Makes `rule` ready; refuses numbers that the facts lack, and what is no rule of the language.
    ///
    /// ```
    /// use glidr::internals::graph::{Entity, Neighbours, Predicate, Sizes, Triple};
    /// use glidr::internals::rule::{Atom, Literal, Rule, Term};
    /// use glidr::internals::solve::{Limits, Solver};
    ///
    /// // 0 is a parent of 1, and 1 of 2: who is a grandparent of whom?
    /// let sizes = Sizes { entities: 3, predicates: 2, properties: 0 };
    /// let facts = Neighbours::new(sizes, &[Triple::new(0, 0, 1), Triple::new(1, 0, 2)], &[]);
    /// let parent = |a, b| Literal::any_of(vec![Atom::Pair(Predicate(0), a, b)]);
    /// let rule = Rule::new(Predicate(1), &[parent(Term::X, Term::Z(1)), parent(Term::Z(1), Term::Y)]);
    /// let solver = Solver::new(&rule, &facts, Limits::default())?;
    /// assert_eq!(solver.answers().value, [(Entity(0), Entity(2))]);
    /// assert_eq!(solver.grounding(Entity(0), Entity(2)).value.expect("it holds").entities[2], Entity(1));
    /// # Ok::<(), glidr::Error>(())
    /// ```
    pub fn new(rule: &Rule, facts: &'f Neighbours, limits: Limits) -> Result<Self> {
        let constraints = Constraints::new(rule, facts)?;
        let cap = u64::from(rule.min_groundings());
        let mut join = Join::new(&constraints, facts, None, cap, limits.deadline());
        let mut reduced = join.start();
        if !join.eliminate(&mut reduced, [X, Y]) {
            if join.out_of_time {
                reduced = join.start();
            } else {
                reduced.groundings = 0;
            }
        }
        Ok(Solver { rule: rule.clone(), facts, constraints, limits, reduced })
    }

    /// The rule that is evaluated.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    fn join(&self, without: Option<Triple>, cap: u64) -> Join<'_> {
        Join::new(&self.constraints, self.facts, without, cap, self.limits.deadline())
    }

    /// All pairs that the body holds for, sorted.
    pub fn answers(&self) -> Found<Vec<(Entity, Entity)>> {
        let mut pairs = Vec::new();
        let mut ended = self.each_head(&mut |head, tails| {
            pairs.extend(tails.iter().map(|&tail| (head, Entity(tail))));
        });
        if let Some(max) = self.limits.answers
            && pairs.len() > max
        {
            pairs.truncate(max);
            ended = Ended::AnswerLimit;
        }
        Found { value: pairs, ended }
    }

    /// Tells every head that the body may hold for with all its tails, which are sorted; until more answers are found
    /// than asked for, or the time is over.
    pub(super) fn each_head(&self, tell: &mut dyn FnMut(Entity, &[u32])) -> Ended {
        if self.reduced.groundings == 0 {
            return Ended::Complete;
        }
        let mut join = self.join(None, self.min_groundings());
        let heads = &self.reduced.domains[X].values;
        let mut found = 0;
        for head in heads.clone().unwrap_or_else(|| (0..self.facts.entities() as u32).collect()) {
            let tails = self.ends(&mut join, X, head);
            if join.out_of_time {
                return Ended::TimeLimit;
            }
            tell(Entity(head), &tails);
            found += tails.len();
            if self.limits.answers.is_some_and(|max| found > max) {
                return Ended::AnswerLimit;
            }
        }
        Ended::Complete
    }

    /// All tails that go with `head`, sorted.
    pub fn tails(&self, head: Entity) -> Found<Vec<Entity>> {
        self.known(X, head)
    }

    /// All heads that go with `tail`, sorted.
    pub fn heads(&self, tail: Entity) -> Found<Vec<Entity>> {
        self.known(Y, tail)
    }

    fn known(&self, end: usize, entity: Entity) -> Found<Vec<Entity>> {
        let mut join = self.join(None, self.min_groundings());
        let mut found = self.ends(&mut join, end, entity.0);
        let mut ended = if join.out_of_time { Ended::TimeLimit } else { Ended::Complete };
        if let Some(max) = self.limits.answers
            && found.len() > max
        {
            found.truncate(max);
            ended = Ended::AnswerLimit;
        }
        Found { value: found.into_iter().map(Entity).collect(), ended }
    }

    /// The other ends that go with a known end.
    fn ends(&self, join: &mut Join, end: usize, entity: u32) -> Vec<u32> {
        let possible = &self.reduced.domains[end].values;
        if possible.as_ref().is_some_and(|values| values.binary_search(&entity).is_err()) {
            return Vec::new();
        }
        let mut state = self.reduced.clone();
        if entity as usize >= self.facts.entities() || !join.bind(&mut state, end, entity) {
            return Vec::new();
        }
        let found = join.project(state, Some(X + Y - end)).0;
        let mut places = 0..;
        let mut enough =
            |_: &u32| places.next().is_some_and(|place| found.groundings(place) >= self.min_groundings());
        found.values.iter().flatten().copied().filter(|value| enough(value)).collect()
    }

    /// How many groundings a pair must have.
    fn min_groundings(&self) -> u64 {
        u64::from(self.rule.min_groundings())
    }

    /// Whether the body holds for one pair.
    pub fn holds(&self, head: Entity, tail: Entity) -> Found<bool> {
        let mut join = self.join(None, self.min_groundings());
        let value = self.count(&mut join, self.reduced.clone(), head, tail) >= self.min_groundings();
        Found { value, ended: if join.out_of_time { Ended::TimeLimit } else { Ended::Complete } }
    }

    /// Whether the body holds for one pair without the help of one fact: a rule that is asked about
    /// a fact must not look it up.
    pub fn holds_without(&self, head: Entity, tail: Entity, fact: Triple) -> Found<bool> {
        let mut join = self.join(Some(fact), self.min_groundings());
        let start = join.start();
        let value = self.count(&mut join, start, head, tail) >= self.min_groundings();
        Found { value, ended: if join.out_of_time { Ended::TimeLimit } else { Ended::Complete } }
    }

    /// How many groundings one pair has, counted up to `max`; a grounding is an entity for every
    /// variable, whatever atom of a disjunction it makes true.
    pub fn groundings(&self, head: Entity, tail: Entity, max: u64) -> Found<u64> {
        let mut join = self.join(None, max.max(1));
        let start = join.start();
        let value = self.count(&mut join, start, head, tail).min(max);
        Found { value, ended: ended(join.out_of_time, value == max) }
    }

    /// How many groundings the whole body has, counted up to `max`.
    pub fn all_groundings(&self, max: u64) -> Found<u64> {
        let mut join = self.join(None, max.max(1));
        let start = join.start();
        let value = join.count(start).min(max);
        Found { value, ended: ended(join.out_of_time, value == max) }
    }

    fn count(&self, join: &mut Join, mut state: State, head: Entity, tail: Entity) -> u64 {
        if self.bind_ends(join, &mut state, head, tail) { join.count(state) } else { 0 }
    }

    fn bind_ends(&self, join: &mut Join, state: &mut State, head: Entity, tail: Entity) -> bool {
        let inside = |entity: Entity| entity.index() < self.facts.entities();
        inside(head) && inside(tail) && join.bind(state, X, head.0) && join.bind(state, Y, tail.0)
    }

    /// A grounding of one pair: the first in the order of Z1, Z2, … by the entities' numbers.
    pub fn grounding(&self, head: Entity, tail: Entity) -> Found<Option<Grounding>> {
        let mut join = self.join(None, 1);
        let mut state = join.start();
        let none = |join: &Join| Found {
            value: None,
            ended: if join.out_of_time { Ended::TimeLimit } else { Ended::Complete },
        };
        if !self.bind_ends(&mut join, &mut state, head, tail) {
            return none(&join);
        }
        if self.min_groundings() > 1 {
            let held = self.holds(head, tail);
            if !held.value {
                return Found { value: None, ended: held.ended };
            }
        }
        let mut entities = vec![head, tail];
        for variable in 2..self.constraints.variables {
            let values = join.project(state.clone(), Some(variable)).0.values.unwrap_or_default();
            let Some(&first) = values.first() else { return none(&join) };
            join.bind(&mut state, variable, first);
            entities.push(Entity(first));
        }
        if self.constraints.variables == 2 && join.count(state) == 0 {
            return none(&join);
        }
        Found { value: Some(Grounding { entities }), ended: Ended::Complete }
    }
}

fn ended(out_of_time: bool, reached: bool) -> Ended {
    match (out_of_time, reached) {
        (true, _) => Ended::TimeLimit,
        (false, true) => Ended::AnswerLimit,
        (false, false) => Ended::Complete,
    }
}

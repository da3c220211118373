//! Exact evaluation: which pairs a rule's body holds for, and why.
//!
//! In: a [`Rule`] and [`Neighbours`]. Out: answers, groundings and counts, each with how the search
//! [`Ended`]. Where `infer` passes messages and may be fooled by a loop (`fig:counterexample`), this
//! joins facts and is never wrong; neither uses the other, so each checks the other.
//!
//! What builds on it: `measure` counts answers against the truth; an explanation is
//! [`Solver::grounding`] with [`Grounding::facts`], which names one fact for every literal.

mod domain;
mod join;
mod measure;
mod query;
mod sets;

use std::time::{Duration, Instant};

use join::{Join, State};
pub use measure::HeldOut;
use query::{Query, X, Y};
use serde::Serialize;

use crate::error::Result;
use crate::graph::{Entity, Neighbours, Triple};
use crate::rule::{Atom, Rule, Term};

/// How much a search may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The most time; none means as long as it takes.
    pub time: Option<Duration>,
    /// The most answers; none means all.
    pub answers: Option<usize>,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Everything was found.
    Complete,
    /// The time ran out: what was found is true, but there may be more.
    TimeLimit,
    /// As many answers as asked for were found: there may be more.
    AnswerLimit,
}

/// What a search found, and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<T> {
    /// What was found.
    pub value: T,
    /// How the search ended.
    pub ended: Ended,
}

impl<T> Found<T> {
    /// What was found, if it is all there is.
    pub fn complete(self) -> Option<T> {
        (self.ended == Ended::Complete).then_some(self.value)
    }
}

/// A rule ready to be evaluated on facts.
pub struct Solver<'f> {
    rule: Rule,
    facts: &'f Neighbours,
    query: Query,
    limits: Limits,
    /// The body with all that hangs on it as trees eliminated: what is asked for each pair.
    reduced: State,
}

/// An entity for every variable, under which the body holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grounding {
    /// The entity of X, Y, Z1, Z2, …, in this order.
    pub entities: Vec<Entity>,
}

impl Grounding {
    /// The entity that a term stands for.
    pub fn entity(&self, term: Term) -> Entity {
        match term {
            Term::X => self.entities[X],
            Term::Y => self.entities[Y],
            Term::Z(number) => self.entities[number as usize + 1],
            Term::Constant(entity) => entity,
        }
    }

    /// For every literal of the body the first of its atoms that holds, with its arguments; a literal that holds by
    /// what a variable is has no fact to name.
    pub fn facts(&self, rule: &Rule, facts: &Neighbours) -> Vec<(Atom, Entity, Entity)> {
        let holds = |atom: &Atom| {
            let (a, b) = atom.terms();
            let (a, b) = (self.entity(a), self.entity(b));
            let found = match *atom {
                Atom::Pair(predicate, ..) => facts.holds(Triple { head: a, predicate, tail: b }),
                Atom::Own(property, _) => facts.owners(property).binary_search(&a.0).is_ok(),
                Atom::Is(_, entity) => a == entity,
            };
            found.then_some((*atom, a, b))
        };
        let held = rule.body().iter().filter_map(|literal| literal.atoms().iter().find_map(holds));
        held.filter(|(atom, ..)| !matches!(atom, Atom::Is(..))).collect()
    }
}

impl<'f> Solver<'f> {
    /// Makes `rule` ready; refuses numbers that the facts lack, and what is no rule of the language.
    ///
    /// ```
    /// use glidr::graph::{Neighbours, Predicate, Triple};
    /// use glidr::rule::{Atom, Literal, Rule, Term};
    /// use glidr::solve::{Limits, Solver};
    /// use glidr::Entity;
    ///
    /// // 0 is a parent of 1, and 1 of 2: who is a grandparent of whom?
    /// let facts = Neighbours::new(Sizes { entities: 3, predicates: 2, properties: 0 }, &[Triple::new(0, 0, 1), Triple::new(1, 0, 2)], &[]);
    /// let parent = |a, b| Literal::any_of(vec![Atom::Pair(Predicate(0), a, b)]);
    /// let rule = Rule::new(Predicate(1), &[parent(Term::X, Term::Z(1)), parent(Term::Z(1), Term::Y)]);
    /// let solver = Solver::new(&rule, &facts, Limits::default())?;
    /// assert_eq!(solver.answers().value, [(Entity(0), Entity(2))]);
    /// assert_eq!(solver.grounding(Entity(0), Entity(2)).value.expect("it holds").entities[2], Entity(1));
    /// # Ok::<(), glidr::Error>(())
    /// ```
    pub fn new(rule: &Rule, facts: &'f Neighbours, limits: Limits) -> Result<Self> {
        let query = Query::new(rule, facts)?;
        let cap = u64::from(rule.min_groundings());
        let mut join = Join::new(&query, facts, None, cap, limits.time.map(|time| Instant::now() + time));
        let mut reduced = join.start();
        if !join.eliminate(&mut reduced, [X, Y]) {
            if join.out_of_time {
                reduced = join.start();
            } else {
                reduced.ways = 0;
            }
        }
        Ok(Solver { rule: rule.clone(), facts, query, limits, reduced })
    }

    /// The rule that is evaluated.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    fn join(&self, without: Option<Triple>, cap: u64) -> Join<'_> {
        let deadline = self.limits.time.map(|time| Instant::now() + time);
        Join::new(&self.query, self.facts, without, cap, deadline)
    }

    /// All pairs that the body holds for, sorted.
    pub fn answers(&self) -> Found<Vec<(Entity, Entity)>> {
        let mut join = self.join(None, self.min_groundings());
        let mut pairs = Vec::new();
        if self.reduced.ways == 0 {
            return Found { value: pairs, ended: Ended::Complete };
        }
        let heads = &self.reduced.domains[X].values;
        for head in heads.clone().unwrap_or_else(|| (0..self.facts.entities() as u32).collect()) {
            let tails = self.ends(&mut join, X, head);
            if join.out_of_time {
                return Found { value: pairs, ended: Ended::TimeLimit };
            }
            pairs.extend(tails.into_iter().map(|tail| (Entity(head), Entity(tail))));
            if let Some(most) = self.limits.answers
                && pairs.len() > most
            {
                pairs.truncate(most);
                return Found { value: pairs, ended: Ended::AnswerLimit };
            }
        }
        Found { value: pairs, ended: Ended::Complete }
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
        if let Some(most) = self.limits.answers
            && found.len() > most
        {
            found.truncate(most);
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
            |_: &u32| places.next().is_some_and(|place| found.ways(place) >= self.min_groundings());
        found.values.iter().flatten().copied().filter(|value| enough(value)).collect()
    }

    /// How many groundings a pair must have.
    fn min_groundings(&self) -> u64 {
        u64::from(self.rule.min_groundings())
    }

    /// Whether the body holds for one pair.
    pub fn holds(&self, head: Entity, tail: Entity) -> Found<bool> {
        let mut join = self.join(None, self.min_groundings());
        let value = self.ways(&mut join, self.reduced.clone(), head, tail) >= self.min_groundings();
        Found { value, ended: if join.out_of_time { Ended::TimeLimit } else { Ended::Complete } }
    }

    /// Whether the body holds for one pair without the help of one fact: a rule that is asked about
    /// a fact must not look it up.
    pub fn holds_without(&self, head: Entity, tail: Entity, fact: Triple) -> Found<bool> {
        let mut join = self.join(Some(fact), self.min_groundings());
        let start = join.start();
        let value = self.ways(&mut join, start, head, tail) >= self.min_groundings();
        Found { value, ended: if join.out_of_time { Ended::TimeLimit } else { Ended::Complete } }
    }

    /// How many groundings one pair has, counted up to `most`; a grounding is an entity for every
    /// variable, whatever atom of a disjunction it makes true.
    pub fn groundings(&self, head: Entity, tail: Entity, most: u64) -> Found<u64> {
        let mut join = self.join(None, most.max(1));
        let start = join.start();
        let value = self.ways(&mut join, start, head, tail).min(most);
        Found { value, ended: ended(join.out_of_time, value == most) }
    }

    /// How many groundings the whole body has, counted up to `most`.
    pub fn all_groundings(&self, most: u64) -> Found<u64> {
        let mut join = self.join(None, most.max(1));
        let start = join.start();
        let value = join.count(start).min(most);
        Found { value, ended: ended(join.out_of_time, value == most) }
    }

    fn ways(&self, join: &mut Join, mut state: State, head: Entity, tail: Entity) -> u64 {
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
        for variable in 2..self.query.variables {
            let values = join.project(state.clone(), Some(variable)).0.values.unwrap_or_default();
            let Some(&first) = values.first() else { return none(&join) };
            join.bind(&mut state, variable, first);
            entities.push(Entity(first));
        }
        if self.query.variables == 2 && join.count(state) == 0 {
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

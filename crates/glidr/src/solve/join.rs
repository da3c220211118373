//! The join: which values a variable can take, and how many groundings the rest has.
//!
//! A variable with one open neighbour is *eliminated*: its domain is sent across its link and
//! narrows the neighbour's, which is exact and costs no more than the facts it walks. Where only
//! loops are left, the join *branches* on the variable with the most links: each of its values narrows
//! all its neighbours by intersecting sorted lists, until the loop is cut. So trees cost what their
//! facts cost, and a clique is joined variable by variable, as worst-case-optimal joins do.

use std::time::Instant;

use super::constraints::Constraints;
use super::domain::{Adder, Domain};
use super::sets::each_common;
use crate::graph::{Neighbours, Triple};

/// Facts walked between two looks at the clock.
const BETWEEN_LOOKS: usize = 1 << 14;

/// A partly grounded body: the domains of its open variables.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub domains: Vec<Domain>,
    /// Which variables are neither bound nor eliminated.
    pub open: u16,
    /// How many groundings the parts have that are gone and hang on nothing.
    pub groundings: u64,
}

/// One walk of the join over facts.
pub(super) struct Join<'a> {
    constraints: &'a Constraints,
    facts: &'a Neighbours,
    without: Option<Triple>,
    /// Groundings are counted up to this; 1 asks only for existence.
    cap: u64,
    deadline: Option<Instant>,
    work: usize,
    /// Whether the time ran out: what is returned from then on means nothing.
    pub out_of_time: bool,
    adder: Adder,
}

impl<'a> Join<'a> {
    pub fn new(
        constraints: &'a Constraints,
        facts: &'a Neighbours,
        without: Option<Triple>,
        cap: u64,
        deadline: Option<Instant>,
    ) -> Self {
        let adder = Adder::new(facts.entities());
        Join { constraints, facts, without, cap, deadline, work: 0, out_of_time: false, adder }
    }

    /// The body before anything is bound.
    pub fn start(&self) -> State {
        let own = self.constraints.own_domains(self.facts, self.without);
        let domain = |values: Option<Vec<u32>>| Domain { values, groundings: None };
        let holds = self.constraints.ground_holds(self.facts, self.without);
        State {
            domains: own.into_iter().map(domain).collect(),
            open: (1 << self.constraints.variables) - 1,
            groundings: u64::from(holds),
        }
    }

    /// Binds a variable; false if its domain lacks the value or a neighbour's becomes empty.
    pub fn bind(&mut self, state: &mut State, variable: usize, value: u32) -> bool {
        let domain = &state.domains[variable];
        if let Some(values) = &domain.values {
            let Ok(place) = values.binary_search(&value) else { return false };
            state.groundings = state.groundings.saturating_mul(domain.groundings(place)).min(self.cap);
        }
        state.open &= !(1 << variable);
        for &(other, link) in self.constraints.beside(variable) {
            if state.open & (1 << other) == 0 {
                continue;
            }
            let list = self.constraints.across(link, variable, value, self.facts, self.without);
            self.work += list.len() + 1;
            state.domains[other].narrow_to(&list);
            if state.domains[other].is_empty(self.facts.entities()) {
                return false;
            }
        }
        state.groundings > 0
    }

    /// How many groundings, up to the cap, the open variables have.
    pub fn count(&mut self, state: State) -> u64 {
        self.project(state, None).1
    }

    /// The values that `target` can take, each with its groundings; without a target, their count alone.
    pub fn project(&mut self, mut state: State, target: Option<usize>) -> (Domain, u64) {
        if state.groundings == 0 || !self.eliminate(&mut state, target) || self.is_late() {
            return (Domain::EMPTY, 0);
        }
        let wanted = target.map_or(0, |variable| 1 << variable);
        if state.open == wanted {
            return self.finished(state, target);
        }
        let Some(branch) = self.branch(&state) else { return (Domain::EMPTY, 0) };
        let (mut total, values) = (0u64, self.values(&state.domains[branch]));
        let mut sums = Adder::new(if target.is_some() { self.facts.entities() } else { 0 });
        for value in values {
            let mut inner = state.clone();
            if !self.bind(&mut inner, branch, value) {
                continue;
            }
            if target == Some(branch) {
                let groundings = self.count(inner);
                if groundings > 0 {
                    sums.add(&[value], groundings, self.cap);
                }
                continue;
            }
            let (found, groundings) = self.project(inner, target);
            if self.out_of_time {
                return (Domain::EMPTY, 0);
            }
            total = total.saturating_add(groundings).min(self.cap);
            if let (Some(target), Some(values)) = (target, &found.values) {
                for (place, value) in values.iter().enumerate() {
                    sums.add(&[*value], found.groundings(place), self.cap);
                }
                if self.cap == 1 {
                    state.domains[target].drop_values(values); // proved once is enough
                }
            } else if total == self.cap {
                break;
            }
        }
        match target {
            None => (Domain::EMPTY, total),
            Some(_) => (sums.take(self.cap), total),
        }
    }

    /// The result once only the target is open.
    fn finished(&self, mut state: State, target: Option<usize>) -> (Domain, u64) {
        let Some(target) = target else { return (Domain::EMPTY, state.groundings) };
        let mut domain = std::mem::replace(&mut state.domains[target], Domain::EMPTY);
        domain.values.get_or_insert_with(|| (0..self.facts.entities() as u32).collect());
        if self.cap > 1 {
            let groundings: Vec<u64> = (0..domain.len(self.facts.entities()))
                .map(|place| domain.groundings(place).saturating_mul(state.groundings).min(self.cap))
                .collect();
            domain.groundings = Some(groundings);
        }
        let total = domain.total(self.facts.entities(), self.cap);
        (domain, total)
    }

    /// Eliminates variables with at most one open neighbour, never one of `keep`'s; false if a
    /// domain becomes empty.
    pub fn eliminate(&mut self, state: &mut State, keep: impl IntoIterator<Item = usize> + Clone) -> bool {
        let kept = keep.into_iter().fold(0u16, |mask, variable| mask | 1 << variable);
        while !self.out_of_time {
            let open = |state: &State, v: usize| state.open & (1 << v) != 0;
            let degree = |state: &State, v: usize| {
                self.constraints.beside(v).iter().filter(|(other, _)| open(state, *other)).count()
            };
            let next = (0..self.constraints.variables)
                .filter(|&v| open(state, v) && kept & (1 << v) == 0)
                .find(|&v| degree(state, v) <= 1);
            let Some(variable) = next else { return true };
            let neighbour =
                self.constraints.beside(variable).iter().find(|(other, _)| open(state, *other)).copied();
            state.open &= !(1 << variable);
            let domain = std::mem::replace(&mut state.domains[variable], Domain::EMPTY);
            match neighbour {
                None => {
                    let groundings = domain.total(self.facts.entities(), self.cap);
                    state.groundings = state.groundings.saturating_mul(groundings).min(self.cap);
                    if groundings == 0 {
                        return false;
                    }
                }
                Some((other, link)) => {
                    self.send(&domain, variable, link, other, &mut state.domains[other]);
                    if state.domains[other].is_empty(self.facts.entities()) {
                        return false;
                    }
                }
            }
        }
        false
    }

    /// Sends a whole domain across a link; what arrives narrows `far`.
    fn send(&mut self, near: &Domain, variable: usize, link: usize, other: usize, far: &mut Domain) {
        let entities = self.facts.entities();
        let asks_back = far.values.is_some() && far.len(entities) <= near.len(entities);
        if asks_back {
            // Few values there: each asks how many of its neighbours are here.
            let values = far.values.clone().unwrap_or_default();
            let (mut kept, mut groundings) = (Vec::new(), Vec::new());
            for value in values {
                let list = self.constraints.across(link, other, value, self.facts, self.without);
                self.work += list.len() + 1;
                let mut sum = 0u64;
                match &near.values {
                    None => sum = list.len() as u64,
                    Some(near_values) => each_common(near_values, &list, |place, _| {
                        sum = sum.saturating_add(near.groundings(place)).min(self.cap);
                    }),
                }
                if sum > 0 {
                    kept.push(value);
                    groundings.push(sum.min(self.cap));
                }
                if self.is_late() {
                    return;
                }
            }
            far.narrow(
                &Domain { values: Some(kept), groundings: (self.cap > 1).then_some(groundings) },
                self.cap,
            );
            return;
        }
        for (place, value) in self.values(near).into_iter().enumerate() {
            let list = self.constraints.across(link, variable, value, self.facts, self.without);
            self.work += list.len() + 1;
            self.adder.add(&list, near.groundings(place), self.cap);
            if self.is_late() {
                break;
            }
        }
        let message = self.adder.take(self.cap);
        far.narrow(&message, self.cap);
    }

    /// The open variable with the most open neighbours; of equal ones the one with the fewest values.
    fn branch(&self, state: &State) -> Option<usize> {
        let open = |v: usize| state.open & (1 << v) != 0;
        (0..self.constraints.variables).filter(|&v| open(v)).min_by_key(|&v| {
            let degree = self.constraints.beside(v).iter().filter(|(other, _)| open(*other)).count();
            (std::cmp::Reverse(degree), state.domains[v].len(self.facts.entities()))
        })
    }

    fn values(&self, domain: &Domain) -> Vec<u32> {
        domain.values.clone().unwrap_or_else(|| (0..self.facts.entities() as u32).collect())
    }

    /// Looks at the clock now and then.
    fn is_late(&mut self) -> bool {
        if self.work >= BETWEEN_LOOKS {
            self.work = 0;
            self.out_of_time |= self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        }
        self.out_of_time
    }
}

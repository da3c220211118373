//! Constraints about one end of a predicate: how many there are, and what roles they have.
//!
//! In: the ends of a predicate's facts. Out: functional predicates, and the kinds of their ends.

use std::collections::BTreeMap;

use super::super::links::{degree, has_role};
use super::super::{ConstraintCounts, Denial, Role};
use super::{ConstraintLearner, MIN_END_CONFIDENCE, is_kept, keep};
use crate::graph::{Direction, Neighbours, Predicate, Property};

/// Ends of one entity, at most, that are many still.
const MAX_FUNCTIONAL: u32 = 3;
/// Roles of one end of a predicate, at most; each must refuse this share of all entities that those before it admit.
const ROLES: (usize, f64) = (2, 0.1);

/// The roles of all entities.
pub(super) struct Roles {
    pub all: Vec<Role>,
    /// For every entity the numbers of its roles, sorted.
    pub of: Vec<Vec<u32>>,
    /// For every role how many entities have it.
    pub counts: Vec<usize>,
}

impl Roles {
    pub fn new(facts: &Neighbours) -> Self {
        let predicates = (0..facts.predicates() as u32).map(Predicate);
        let roles = predicates.flat_map(|p| [Role::Head(p), Role::Tail(p)]);
        let properties = (0..facts.properties() as u32).map(|p| Role::Own(Property(p)));
        let all: Vec<Role> = roles.chain(properties).collect();
        let mut of = vec![Vec::new(); facts.entities()];
        let mut counts = vec![0; all.len()];
        for (number, &role) in all.iter().enumerate() {
            for (entity, roles) in (0..).zip(&mut of) {
                if has_role(facts, role, entity) {
                    roles.push(number as u32);
                    counts[number] += 1;
                }
            }
        }
        Roles { all, of, counts }
    }

    /// By predicate and end, the roles that at least half of its entities have.
    pub fn usual(&self, facts: &Neighbours) -> Vec<[Vec<u32>; 2]> {
        let of = |predicate: Predicate, end: Direction| {
            let mut having = vec![0usize; self.all.len()];
            let mut ends = 0;
            for entity in 0..facts.entities() {
                if degree(facts, predicate, end.other(), entity as u32) > 0 {
                    ends += 1;
                    self.of[entity].iter().for_each(|&role| having[role as usize] += 1);
                }
            }
            let is_usual = |&role: &u32| ends > 0 && 2 * having[role as usize] >= ends;
            (0..self.all.len() as u32).filter(is_usual).collect::<Vec<u32>>()
        };
        let all = (0..facts.predicates() as u32).map(Predicate);
        all.map(|predicate| Direction::BOTH.map(|end| of(predicate, end))).collect()
    }
}

impl ConstraintLearner<'_> {
    /// At most one end, or two or three: what more entities would have if facts fell on them by chance.
    ///
    /// ```text
    /// expected = m · P(Poisson(n / m) > k),   n facts of m entities
    /// ```
    pub(super) fn functional(
        &self,
        target: Predicate,
        counted: Direction,
        found: &mut BTreeMap<Denial, ConstraintCounts>,
    ) {
        let entities = 0..self.facts.entities() as u32;
        let ends: Vec<usize> = entities
            .map(|entity| degree(self.facts, target, counted, entity))
            .filter(|&ends| ends > 0)
            .collect();
        let mean = self.facts.count(target) as f64 / ends.len().max(1) as f64;
        let (mut term, mut at_most) = ((-mean).exp(), (-mean).exp());
        for most in 1..=MAX_FUNCTIONAL {
            term *= mean / f64::from(most);
            at_most += term;
            let expected = ends.len() as f64 * (1.0 - at_most).max(0.0);
            let exceptions = ends.iter().filter(|&&ends| ends > most as usize).count();
            let counts = ConstraintCounts { facts: ends.len(), exceptions, expected };
            let denial = Denial::AtLeast { predicate: target, counted, count: most + 1 };
            if keep(found, denial, counts, MIN_END_CONFIDENCE) {
                return;
            }
        }
    }

    /// The roles that all entities at one end have: those that fewest others have.
    pub(super) fn end_kinds(
        &self,
        target: Predicate,
        end: Direction,
        found: &mut BTreeMap<Denial, ConstraintCounts>,
    ) {
        let entities = self.facts.entities();
        let ends: Vec<u32> = (0..entities as u32)
            .filter(|&entity| degree(self.facts, target, end.other(), entity) > 0)
            .collect();
        let own = if end == Direction::Head { Role::Head(target) } else { Role::Tail(target) };
        let mut having = vec![0; self.roles.all.len()];
        for &entity in &ends {
            self.roles.of[entity as usize].iter().for_each(|&role| having[role as usize] += 1);
        }
        let mut candidates: Vec<(usize, ConstraintCounts)> = Vec::new();
        for (role, &having) in having.iter().enumerate().filter(|(role, _)| self.roles.all[*role] != own) {
            let share = 1.0 - self.roles.counts[role] as f64 / entities.max(1) as f64;
            let expected = ends.len() as f64 * share;
            let counts = ConstraintCounts { facts: ends.len(), exceptions: ends.len() - having, expected };
            if is_kept(counts, MIN_END_CONFIDENCE) {
                candidates.push((role, counts));
            }
        }
        candidates.sort_by(|a, b| b.1.expected.total_cmp(&a.1.expected));
        let mut admitted: Vec<u32> = (0..entities as u32).collect();
        let mut kept = 0;
        for (role, counts) in candidates {
            let has_role =
                |entity: &u32| self.roles.of[*entity as usize].binary_search(&(role as u32)).is_ok();
            let narrower: Vec<u32> = admitted.iter().copied().filter(has_role).collect();
            let refused = admitted.len() - narrower.len();
            if kept < ROLES.0 && refused as f64 >= ROLES.1 * admitted.len() as f64 {
                found.insert(Denial::End { predicate: target, end, role: self.roles.all[role] }, counts);
                (kept, admitted) = (kept + 1, narrower);
            }
        }
    }
}

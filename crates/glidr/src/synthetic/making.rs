//! Facts that make planted rules true, and random ones around them.

use crate::graph::Sizes;
use std::collections::HashSet;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::Generator;
use super::plant::{self, Plant};
use crate::error::{Error, Result};
use crate::graph::{Entity, Neighbours, Predicate, Property, PropertyFact, Triple};
use crate::rule::Atom;
use crate::solve::{Ended, Limits, Solver};

/// A graph while it is made.
pub(super) struct Making<'g> {
    wanted: &'g Generator,
    pub facts: HashSet<Triple>,
    pub property_facts: Vec<PropertyFact>,
}

impl<'g> Making<'g> {
    pub fn new(wanted: &'g Generator) -> Self {
        Making { wanted, facts: HashSet::new(), property_facts: Vec::new() }
    }

    /// Makes a rule's body true of random entities, and as often all of it but one literal.
    pub fn grow(&mut self, plant: &Plant, random: &mut ChaCha8Rng) {
        let body = plant.rule.body();
        for instance in 0..2 * self.wanted.instances {
            let entities: Vec<Entity> =
                (0..plant.rule.variables()).map(|_| self.wanted.anyone(random)).collect();
            let left_out = (instance % 2 == 1).then(|| random.random_range(0..body.len()));
            for (_, literal) in body.iter().enumerate().filter(|(place, _)| Some(*place) != left_out) {
                let atom = literal.atoms()[random.random_range(0..literal.atoms().len())];
                let (a, b) = atom.terms();
                let (head, tail) = (entities[plant::place(a)], entities[plant::place(b)]);
                match atom {
                    Atom::Pair(predicate, ..) => {
                        self.facts.insert(Triple { head, predicate, tail });
                    }
                    Atom::Own(property, _) => {
                        self.property_facts.push(PropertyFact { entity: head, property });
                    }
                    Atom::Is(..) => unreachable!("planted rules have no constants"),
                }
            }
        }
    }

    /// Gives every property to a quarter of all entities.
    pub fn scatter_properties(&mut self, random: &mut ChaCha8Rng) {
        for property in (0..self.wanted.properties as u32).map(Property) {
            for _ in 0..self.wanted.entities / 4 {
                self.property_facts.push(PropertyFact { entity: self.wanted.anyone(random), property });
            }
        }
        self.property_facts.sort_unstable();
        self.property_facts.dedup();
    }

    /// Adds `count` new random facts of the predicates from `first` on; every entity has its turn.
    #[expect(clippy::cast_sign_loss, reason = "a share is at least 0")]
    pub fn scatter(&mut self, first: usize, count: usize, random: &mut ChaCha8Rng) {
        let entities = self.wanted.entities;
        let all = self.facts.len() + count;
        let mut turn = 0;
        while self.facts.len() < all {
            let skewed = |random: &mut ChaCha8Rng| {
                let share = random.random::<f64>().powf(self.wanted.skew);
                Entity(((share * entities as f64) as usize).min(entities - 1) as u32)
            };
            let head = if turn < entities { Entity(turn as u32) } else { skewed(random) };
            turn += 1;
            let predicate = Predicate(random.random_range(first as u32..self.wanted.predicates as u32));
            self.facts.insert(Triple { head, predicate, tail: skewed(random) });
        }
    }

    pub fn sorted(&self) -> Vec<Triple> {
        let mut facts: Vec<Triple> = self.facts.iter().copied().collect();
        facts.sort_unstable();
        facts
    }

    /// What each planted rule says of the facts so far, exactly.
    pub fn answers(&self, plants: &[Plant]) -> Result<Vec<Vec<Triple>>> {
        let wanted = self.wanted;
        let facts = Neighbours::new(
            Sizes { entities: wanted.entities, predicates: wanted.predicates, properties: wanted.properties },
            &self.sorted(),
            &self.property_facts,
        );
        let limits = Limits { answers: Some(wanted.facts), time: None };
        let answers = plants.iter().map(|plant| {
            let found = Solver::new(&plant.rule, &facts, limits)?.answers();
            if found.ended != Ended::Complete {
                return Err(Error::Setting(format!(
                    "facts must leave room for the planted rules, but one has more than all {} answers: \
                     fewer facts, more entities or more predicates give fewer answers",
                    wanted.facts
                )));
            }
            let fact = |(head, tail)| Triple { head, predicate: plant.target, tail };
            Ok(found.value.into_iter().map(fact).collect())
        });
        answers.collect()
    }
}

//! Synthetic graphs with planted rules: what is to be found is known beforehand.
//!
//! In: a [`Generator`] with sizes, noise and a seed. Out: a [`Generated`] with its [`Dataset`] and the
//! [`Rule`]s that are true in it. Up to noise, the facts of a planted target are exactly the answers of
//! its rule on the other facts, found by exact evaluation.

mod hierarchy;
mod making;
mod plant;
mod write;

use std::collections::HashSet;

use making::Making;
use plant::plants;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};
pub use write::check_folder;

use crate::error::{Error, Result};
use crate::graph::{Dataset, Entity, Names, Predicate, PropertyFact, Split, Triple, Vocabulary};
use crate::rule::{Rule, RuleNames};
use crate::util::random::{Purpose, shuffle, stream};

/// What graph to make. The defaults are a small one in which rules are learned within a minute.
///
/// ```
/// use glidr::Generator;
/// let made = Generator { entities: 300, facts: 3000, instances: 60, ..Generator::default() }.run()?;
/// assert_eq!(made.facts(), 3000);
/// assert_eq!(made.show(&made.rules[0]), "chain(X, Y) :- p01(X, Z1), p02(Z1, Y).");
/// # Ok::<(), glidr::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Generator {
    /// Entities.
    pub entities: usize,
    /// Binary predicates, those of planted rules included.
    pub predicates: usize,
    /// Properties.
    pub properties: usize,
    /// Triples in all four splits together.
    pub facts: usize,
    /// Planted rules: a chain, a branch, a loop, one with a property, one with a disjunction, and again.
    pub rules: usize,
    /// For each planted rule, so often its body is made true of entities drawn at random; and as often
    /// made true but for one literal, so that every literal counts.
    pub instances: usize,
    /// The chance that a fact of a planted target is put at a random pair instead; held-out facts stay clean.
    pub noise: f64,
    /// How unevenly entities take part in random facts: 1 is evenly, 2 and more makes hubs.
    pub skew: f64,
    /// The share of a planted target's facts that goes to *valid*, and again to *test*.
    pub held_out: f64,
    /// Whether the graph is a hierarchy of classes, parts and instances, which goes by `entities`, `noise`, `held_out`
    /// and `seed` alone.
    pub hierarchy: bool,
    /// Seed of every random choice.
    pub seed: u64,
}

impl Default for Generator {
    fn default() -> Self {
        Generator {
            entities: 1000,
            predicates: 24,
            properties: 2,
            facts: 8000,
            rules: 5,
            instances: 150,
            noise: 0.0,
            skew: 1.0,
            held_out: 0.1,
            hierarchy: false,
            seed: 0,
        }
    }
}

/// A graph that was made, and the rules that are true in it.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The graph; inference needs its *facts* and properties alone.
    pub data: Dataset,
    /// The planted rules, by the data's numbers.
    pub rules: Vec<Rule>,
    /// What it was made from.
    pub generator: Generator,
}

/// The most of each: beyond, a slip of the hand is likelier.
const MOST: usize = 100_000_000;
/// The fewest entities of a hierarchy.
const MIN_HIERARCHY: usize = 300;

impl Generator {
    /// The sizes of YAGO3-10, by the paper's count: 123,182 entities and 1.08 million facts.
    pub fn yago() -> Self {
        Generator {
            entities: 123_182,
            predicates: 37,
            facts: 1_080_000,
            instances: 4000,
            ..Generator::default()
        }
    }

    /// Refuses settings that no graph can meet, by name and value.
    pub fn check(&self) -> Result<()> {
        if self.hierarchy && !(MIN_HIERARCHY..=MOST).contains(&self.entities) {
            return Err(Error::Setting(format!(
                "entities of a hierarchy must be from {MIN_HIERARCHY} to {MOST}, but is {}",
                self.entities
            )));
        }
        let bases = if self.rules == 0 { 1 } else { self.rules + plant::MIN_BASES + 1 };
        let counts = [
            ("entities", self.entities, 10),
            ("predicates", self.predicates, bases),
            ("properties", self.properties, usize::from(self.rules > 3)),
            ("facts", self.facts, 10),
            ("rules", self.rules, 0),
            ("instances", self.instances, usize::from(self.rules > 0)),
        ];
        for (name, found, least) in counts {
            if !(least..=MOST).contains(&found) {
                return Err(Error::Setting(format!("{name} must be from {least} to {MOST}, but is {found}")));
            }
        }
        let shares = [
            ("noise", self.noise, 0.0, 1.0),
            ("skew", self.skew, 1.0, 10.0),
            ("held-out", self.held_out, 0.0, 0.4),
        ];
        for (name, found, least, most) in shares {
            if !(found >= least && found <= most) {
                return Err(Error::Setting(format!("{name} must be from {least} to {most}, but is {found}")));
            }
        }
        if self.hierarchy {
            return Ok(());
        }
        let pairs = self.entities as f64 * self.entities as f64 * (self.predicates - self.rules) as f64;
        if self.facts as f64 > pairs / 4.0 {
            return Err(Error::Setting(format!(
                "facts must be at most a quarter of the {pairs:.0} that these entities and predicates allow, but is {}",
                self.facts
            )));
        }
        Ok(())
    }

    /// Makes the graph.
    pub fn run(&self) -> Result<Generated> {
        self.check()?;
        if self.hierarchy {
            return self.hierarchies();
        }
        let plants = plants(self.rules, self.predicates);
        let random = |part: u64, rule: usize| stream(self.seed, Purpose::Generate, [part, rule as u64, 0]);
        let mut making = Making::new(self);
        for (number, plant) in plants.iter().enumerate() {
            making.grow(plant, &mut random(0, number));
        }
        making.scatter_properties(&mut random(1, 0));
        let room = self.facts.saturating_sub(making.facts.len());
        let mut splits: [Vec<Triple>; 4] = Default::default();
        if plants.is_empty() {
            making.scatter(0, room, &mut random(2, 0));
            self.divide(making.sorted(), &mut splits, &mut random(4, 0), |fact, _| fact);
        } else {
            // Half of the room goes to all bases, as distraction; then predicates of no rule take the rest.
            making.scatter(self.rules, room / 2, &mut random(2, 0));
            let targets = making.answers(&plants)?;
            let needed = making.facts.len() + targets.iter().map(Vec::len).sum::<usize>();
            let Some(rest) = self.facts.checked_sub(needed) else {
                return Err(Error::Setting(format!(
                    "facts must leave room for the planted rules, whose bodies and answers take {needed} here, \
                     but is {}: fewer instances, more entities or more predicates need less",
                    self.facts
                )));
            };
            making.scatter(plant::first_idle(&plants), rest, &mut random(3, 0));
            splits[0] = making.sorted();
            for (number, answers) in targets.into_iter().enumerate() {
                self.divide_noisily(answers, &mut splits, &mut random(4, number));
            }
        }
        let targets = (0..self.rules).map(plant::name);
        let words: Vec<String> = targets.chain(numbered('p', 1, self.predicates - self.rules)).collect();
        let rules: Vec<Rule> = plants.into_iter().map(|plant| plant.rule).collect();
        self.finished(splits, &making.property_facts, &words, &rules)
    }

    /// Makes a hierarchy; every predicate is a target.
    fn hierarchies(&self) -> Result<Generated> {
        let random =
            |part: u64, number: usize| stream(self.seed, Purpose::Generate, [part, number as u64, 0]);
        let mut facts = hierarchy::grow(self.entities as u32, &mut random(5, 0));
        facts.sort_by_key(|fact| fact.predicate);
        let mut splits: [Vec<Triple>; 4] = Default::default();
        for facts in facts.chunk_by(|a, b| a.predicate == b.predicate) {
            let number = facts[0].predicate.index();
            self.divide_noisily(facts.to_vec(), &mut splits, &mut random(4, number));
        }
        let words = hierarchy::NAMES.map(str::to_owned).to_vec();
        self.finished(splits, &[], &words, &hierarchy::rules())
    }

    /// Divides the facts of one target, some of those that are trained on put at random pairs.
    fn divide_noisily(&self, facts: Vec<Triple>, splits: &mut [Vec<Triple>; 4], random: &mut ChaCha8Rng) {
        let true_pairs: HashSet<Triple> = facts.iter().copied().collect();
        let mut strayed = HashSet::new();
        self.divide(facts, splits, random, |fact, random| {
            if !random.random_bool(self.noise) {
                return fact;
            }
            loop {
                let stray = Triple { head: self.anyone(random), tail: self.anyone(random), ..fact };
                if !true_pairs.contains(&stray) && strayed.insert(stray) {
                    return stray;
                }
            }
        });
    }

    /// Divides facts by the shares: *test*, *valid*, and of the others three to *facts* for one to
    /// *train*, each of these as `kept` has it.
    #[expect(clippy::cast_sign_loss, reason = "a share is at least 0")]
    fn divide(
        &self,
        mut facts: Vec<Triple>,
        splits: &mut [Vec<Triple>; 4],
        random: &mut ChaCha8Rng,
        mut kept: impl FnMut(Triple, &mut ChaCha8Rng) -> Triple,
    ) {
        shuffle(&mut facts, random);
        let held_out = (facts.len() as f64 * self.held_out) as usize;
        for (place, fact) in facts.into_iter().enumerate() {
            match place {
                place if place < held_out => splits[3].push(fact),
                place if place < 2 * held_out => splits[2].push(fact),
                place => splits[usize::from(place % 4 == 3)].push(kept(fact, random)),
            }
        }
    }

    fn anyone(&self, random: &mut ChaCha8Rng) -> Entity {
        Entity(random.random_range(0..self.entities as u32))
    }

    /// Numbers everything in the order of names, without entities that take part in nothing: as the
    /// graph is numbered when it is read from files.
    fn finished(
        &self,
        splits: [Vec<Triple>; 4],
        property_facts: &[PropertyFact],
        words: &[String],
        rules: &[Rule],
    ) -> Result<Generated> {
        let mut takes_part = vec![false; self.entities];
        let ends = splits.iter().flatten().flat_map(|fact| [fact.head, fact.tail]);
        ends.chain(property_facts.iter().map(|fact| fact.entity))
            .for_each(|entity| takes_part[entity.index()] = true);
        let mut entity = vec![0; self.entities];
        let mut entities = Vec::new();
        for (number, name) in numbered('e', 0, self.entities).into_iter().enumerate() {
            entity[number] = entities.len() as u32;
            entities.extend(takes_part[number].then_some(name));
        }
        let mut order: Vec<usize> = (0..words.len()).collect();
        order.sort_by(|&a, &b| words[a].cmp(&words[b]));
        let mut predicate = vec![0; words.len()];
        order.iter().enumerate().for_each(|(new, &old)| predicate[old] = new as u32);
        let names = Vocabulary {
            entities: Names::new(entities),
            predicates: Names::new(order.iter().map(|&old| words[old].clone())),
            properties: Names::new(if self.hierarchy {
                Vec::new()
            } else {
                numbered('q', 1, self.properties)
            }),
        };
        let splits = splits.map(|facts| {
            let renumber = |fact: Triple| {
                Triple::new(
                    entity[fact.head.index()],
                    predicate[fact.predicate.index()],
                    entity[fact.tail.index()],
                )
            };
            facts.into_iter().map(renumber).collect()
        });
        let property_facts = property_facts
            .iter()
            .map(|fact| PropertyFact { entity: Entity(entity[fact.entity.index()]), ..*fact });
        let renumbered = |rule: &Rule| {
            rule.renumbered(|old| Some(Predicate(predicate[old.index()])), Some, Some)
                .expect("all have a number")
        };
        Ok(Generated {
            data: Dataset::of(
                format!("generated (seed {})", self.seed),
                names,
                splits,
                property_facts.collect(),
            )?,
            rules: rules.iter().map(renumbered).collect(),
            generator: self.clone(),
        })
    }
}

/// Names of a letter and a number, all of one length.
fn numbered(letter: char, from: usize, count: usize) -> Vec<String> {
    let digits = (from + count).to_string().len().max(2);
    (from..from + count).map(|number| format!("{letter}{number:0digits$}")).collect()
}

impl Generated {
    /// Triples in all splits.
    pub fn facts(&self) -> usize {
        Split::ALL.iter().map(|&split| self.data.split(split).len()).sum()
    }

    /// A planted rule as text.
    pub fn show(&self, rule: &Rule) -> String {
        let names = self.data.names();
        rule.show(RuleNames { predicates: &names.predicates, properties: &names.properties, entities: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Background;
    use crate::solve::{Limits, Solver};

    fn small() -> Generator {
        Generator { entities: 300, facts: 3000, instances: 60, ..Generator::default() }
    }

    #[test]
    fn without_noise_the_facts_of_a_planted_target_are_the_answers_of_its_rule() {
        let made = small().run().expect("sound settings");
        let facts = made.data.graph(Background::Facts).neighbours();
        for rule in &made.rules {
            let answers = Solver::new(rule, facts, Limits::default()).expect("a sound rule").answers().value;
            let mut known: Vec<(Entity, Entity)> = Split::ALL
                .iter()
                .flat_map(|&split| made.data.split(split))
                .filter(|fact| fact.predicate == rule.target)
                .map(|fact| (fact.head, fact.tail))
                .collect();
            known.sort_unstable();
            assert_eq!(known, answers, "{}", made.show(rule));
            assert!(answers.len() >= 60);
        }
    }

    #[test]
    fn sizes_are_met_and_noise_strays_from_training_facts_alone() {
        let clean = small().run().expect("sound settings");
        let noisy = Generator { noise: 0.5, ..small() }.run().expect("sound settings");
        assert_eq!((clean.facts(), noisy.facts()), (3000, 3000));
        assert_eq!(clean.data.names().entities.len(), 300);
        for split in [Split::Valid, Split::Test] {
            assert_eq!(clean.data.split(split), noisy.data.split(split));
        }
        let train = |made: &Generated| made.data.split(Split::Train).to_vec();
        let same = train(&clean).iter().filter(|fact| train(&noisy).contains(fact)).count();
        let share = same as f64 / train(&clean).len() as f64;
        assert!((0.3..0.7).contains(&share), "{share}");
    }

    #[test]
    fn every_literal_of_a_planted_rule_counts() {
        let made = small().run().expect("sound settings");
        let facts = made.data.graph(Background::Facts).neighbours();
        for rule in &made.rules {
            let count = |rule: &Rule| {
                Solver::new(rule, facts, Limits::default()).expect("a sound rule").answers().value.len()
            };
            for place in 0..rule.body().len() {
                assert!(count(&rule.without(place)) > count(rule), "{}", made.show(rule));
            }
        }
    }

    #[test]
    fn equal_seeds_give_equal_graphs_and_other_seeds_others() {
        let made = |seed| Generator { seed, ..small() }.run().expect("sound settings").data.hash();
        assert_eq!(made(3), made(3));
        assert_ne!(made(3), made(4));
    }

    #[test]
    fn settings_that_no_graph_can_meet_are_refused_by_name() {
        let refused = |generator: Generator| generator.run().expect_err("not to be met").to_string();
        assert_eq!(
            refused(Generator { predicates: 9, ..small() }),
            "predicates must be from 10 to 100000000, but is 9"
        );
        assert!(refused(Generator { facts: 500, ..small() }).starts_with("facts must leave room"));
        assert!(refused(Generator { noise: f64::NAN, ..small() }).starts_with("noise must be from 0 to 1"));
        assert!(refused(Generator { entities: 10, ..small() }).starts_with("facts must"));
    }

    #[test]
    #[ignore = "takes a minute: cargo test -p glidr --release --lib yago -- --ignored"]
    fn a_graph_of_yagos_size_is_made() {
        let made = Generator::yago().run().expect("sound settings");
        assert_eq!((made.facts(), made.data.names().entities.len()), (1_080_000, 123_182));
    }

    #[test]
    fn without_planted_rules_all_facts_are_random_and_divided() {
        let made = Generator { rules: 0, ..small() }.run().expect("sound settings");
        assert_eq!(Split::ALL.map(|split| made.data.split(split).len()), [1800, 600, 300, 300]);
    }
}

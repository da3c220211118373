//! Data sets made from others: with some facts mislabelled, or of some entities only.

use rand::RngExt;

use super::{Dataset, Entity, Names, Predicate, PropertyFact, Split, Triple, Vocabulary};
use crate::error::{Error, Result};
use crate::util::random::{Purpose, shuffle, stream};

impl Dataset {
    /// The same data where, with probability `p`, a fact of *facts* and *train* has another predicate,
    /// drawn evenly; *valid* and *test* stay as they are.                      `fig:mislabeling`
    pub fn mislabelled(&self, p: f64, seed: u64) -> Result<Dataset> {
        let predicates = self.names().predicates.len() as u32;
        if !(0.0..=1.0).contains(&p) {
            return Err(Error::Setting(format!(
                "the chance of another predicate must be from 0 to 1, but is {p}"
            )));
        }
        if predicates < 2 {
            return Err(Error::data(
                &self.source,
                "there must be two predicates to mix up, but there is one",
            ));
        }
        let splits = Split::ALL.map(|split| {
            let mut random = stream(seed, Purpose::Mislabel, [split as u64, 0, 0]);
            let mislabel = |fact: &Triple| {
                // Both draws are made for every fact, so that a larger p only adds to a smaller one's noise.
                let (strays, by) = (random.random::<f64>() < p, random.random_range(1..predicates));
                if !strays || split >= Split::Valid {
                    return *fact;
                }
                Triple { predicate: Predicate((fact.predicate.0 + by) % predicates), ..*fact }
            };
            self.split(split).iter().map(mislabel).collect()
        });
        Dataset::of(
            format!("{}, mislabelled {p}", self.source),
            self.names().clone(),
            splits,
            self.property_facts().to_vec(),
        )
    }

    /// Two parts without a common entity: the first grows from random entities along their links until
    /// it has the share `share` of all, the second is the rest. Facts between the two are dropped.
    #[expect(clippy::cast_sign_loss, reason = "a share is at least 0")]
    pub fn parts(&self, share: f64, seed: u64) -> Result<[Dataset; 2]> {
        if !(share > 0.0 && share < 1.0) {
            return Err(Error::Setting(format!(
                "the share of a part must be between 0 and 1, but is {share}"
            )));
        }
        let entities = self.names().entities.len();
        let mut links: Vec<Vec<u32>> = vec![Vec::new(); entities];
        for fact in Split::ALL[..2].iter().flat_map(|&split| self.split(split)) {
            links[fact.head.index()].push(fact.tail.0);
            links[fact.tail.index()].push(fact.head.0);
        }
        let mut random = stream(seed, Purpose::Part, [0; 3]);
        let mut starts: Vec<u32> = (0..entities as u32).collect();
        shuffle(&mut starts, &mut random);
        let wanted = ((entities as f64 * share) as usize).clamp(1, entities.saturating_sub(1).max(1));
        let (mut inside, mut taken) = (vec![false; entities], 0);
        let mut queue = std::collections::VecDeque::new();
        while taken < wanted {
            let Some(next) = queue.pop_front().or_else(|| starts.pop()) else { break };
            if std::mem::replace(&mut inside[next as usize], true) {
                continue;
            }
            taken += 1;
            let mut near: Vec<u32> =
                links[next as usize].iter().copied().filter(|&e| !inside[e as usize]).collect();
            near.sort_unstable();
            near.dedup();
            shuffle(&mut near, &mut random);
            queue.extend(near);
        }
        Ok([self.part(&inside, true)?, self.part(&inside, false)?])
    }

    /// The entities that are inside, or those that are not, with the facts among them.
    fn part(&self, inside: &[bool], wanted: bool) -> Result<Dataset> {
        let keep = |entity: Entity| inside[entity.index()] == wanted;
        let names = self.names();
        let kept: Vec<u32> = (0..inside.len() as u32).filter(|&entity| keep(Entity(entity))).collect();
        let number = |entity: Entity| kept.binary_search(&entity.0).map_or(0, |place| place as u32);
        let splits = Split::ALL.map(|split| {
            let among = self.split(split).iter().filter(|fact| keep(fact.head) && keep(fact.tail));
            among.map(|fact| Triple::new(number(fact.head), fact.predicate.0, number(fact.tail))).collect()
        });
        let property_facts = self.property_facts().iter().filter(|fact| keep(fact.entity));
        let property_facts = property_facts
            .map(|fact| PropertyFact { entity: Entity(number(fact.entity)), ..*fact })
            .collect();
        let vocabulary = Vocabulary {
            entities: Names::new(kept.iter().map(|&entity| names.entities.name(Entity(entity)))),
            predicates: names.predicates.clone(),
            properties: names.properties.clone(),
        };
        let which = if wanted { "first" } else { "second" };
        Dataset::of(format!("{}, {which} part", self.source), vocabulary, splits, property_facts)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn mislabelling_changes_the_predicate_of_so_many_training_facts_and_nothing_else() {
        let data = crate::Generator { entities: 300, facts: 3000, instances: 60, ..Default::default() };
        let data = data.run().expect("sound settings").data;
        let same = |noisy: &Dataset, split: Split| {
            let known: HashSet<&Triple> = data.split(split).iter().collect();
            let facts = noisy.split(split);
            facts.iter().filter(|fact| known.contains(fact)).count() as f64 / known.len() as f64
        };
        let none = data.mislabelled(0.0, 1).expect("a share");
        assert_eq!(none.hash(), data.hash());
        let half = data.mislabelled(0.5, 1).expect("a share");
        assert!((0.45..0.57).contains(&same(&half, Split::Facts)), "{}", same(&half, Split::Facts));
        assert!((same(&half, Split::Valid), same(&half, Split::Test)) == (1.0, 1.0));
        let all = data.mislabelled(1.0, 1).expect("a share");
        assert!(same(&all, Split::Facts) < 0.1, "some wrong facts are other true ones");
        let pairs = |data: &Dataset| -> HashSet<(Entity, Entity)> {
            data.split(Split::Facts).iter().map(|fact| (fact.head, fact.tail)).collect()
        };
        assert_eq!(pairs(&all), pairs(&data));
        assert!(data.mislabelled(1.5, 1).is_err());
    }

    #[test]
    fn parts_have_no_entity_in_common_and_keep_the_facts_within() {
        let data = Dataset::families(0);
        let [first, second] = data.parts(0.5, 0).expect("a share");
        let names =
            |part: &Dataset| -> HashSet<String> { part.names().entities.iter().map(String::from).collect() };
        assert!(names(&first).is_disjoint(&names(&second)));
        assert_eq!((names(&first).len(), names(&second).len()), (12, 12));
        // The two families are not linked, so that nothing is lost.
        let facts = |data: &Dataset| Split::ALL.map(|split| data.split(split).len());
        let (all, a, b) = (facts(&data), facts(&first), facts(&second));
        assert!((0..4).all(|split| all[split] == a[split] + b[split]), "{all:?} {a:?} {b:?}");
        assert!(data.parts(0.0, 0).is_err() && data.parts(f64::NAN, 0).is_err());
    }
}

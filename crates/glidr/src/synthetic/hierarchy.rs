//! Hierarchies: a sparse graph of classes, parts, groups, instances and topics, about two facts for each entity, as
//! dictionaries and taxonomies have.
//!
//! Its rules are regularities, not laws: each holds for most of what it says, and a part of every predicate follows
//! from nothing. What is inherited takes paths of three to five steps; some entities far up are hubs.

use std::collections::HashSet;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use crate::graph::{Predicate, Triple};
use crate::rule::Term::{X, Y, Z};
use crate::rule::{Atom, Literal, Rule, Term};

/// The predicates, by number.
pub(super) const NAMES: [&str; 6] = ["domain", "instance_of", "is_a", "member_of", "part_of", "related"];
const DOMAIN: u32 = 0;
const INSTANCE_OF: u32 = 1;
const IS_A: u32 = 2;
const MEMBER_OF: u32 = 3;
const PART_OF: u32 = 4;
const RELATED: u32 = 5;

/// Topics, each the domain of some classes.
const TOPICS: u32 = 40;
/// Of the entities that remain, so many in ten are classes of things with their parts, then actions, then instances.
const SHARES: [u32; 3] = [5, 2, 3];

/// The regularities.
pub(super) fn rules() -> Vec<Rule> {
    let rule = |target: u32, body: &[(u32, Term, Term)]| {
        let body = body.iter().map(|&(p, a, b)| Literal::any_of(vec![Atom::Pair(Predicate(p), a, b)]));
        Rule::new(Predicate(target), &body.collect::<Vec<_>>())
    };
    let [a, b, c, d] = [1, 2, 3, 4].map(Z);
    vec![
        rule(RELATED, &[(RELATED, Y, X)]),
        rule(DOMAIN, &[(IS_A, X, a), (DOMAIN, a, Y)]),
        rule(DOMAIN, &[(RELATED, X, a), (DOMAIN, a, Y)]),
        // An action is below another as the things are that it is done with.
        rule(IS_A, &[(RELATED, X, a), (IS_A, a, b), (RELATED, b, Y)]),
        // The members of a group are of one class; so are the parts of a place.
        rule(IS_A, &[(MEMBER_OF, X, a), (MEMBER_OF, b, a), (IS_A, b, Y)]),
        rule(INSTANCE_OF, &[(PART_OF, X, a), (PART_OF, b, a), (INSTANCE_OF, b, Y)]),
        // A class has the parts of the class above it, each of its own kind.
        rule(PART_OF, &[(IS_A, X, a), (PART_OF, a, b), (IS_A, Y, b)]),
        rule(IS_A, &[(PART_OF, X, a), (IS_A, a, b), (PART_OF, Y, b)]),
        // So the parts of two classes below one are alike.
        rule(IS_A, &[(PART_OF, X, a), (IS_A, a, b), (IS_A, c, b), (PART_OF, d, c), (IS_A, d, Y)]),
        rule(PART_OF, &[(IS_A, X, a), (IS_A, b, a), (PART_OF, b, c), (IS_A, c, d), (IS_A, Y, d)]),
    ]
}

/// A graph while it grows.
struct Growing<'r> {
    random: &'r mut ChaCha8Rng,
    facts: HashSet<Triple>,
    /// Of every entity the one above it.
    above: Vec<u32>,
    next: u32,
}

impl Growing<'_> {
    fn chance(&mut self, p: f64) -> bool {
        self.random.random_bool(p)
    }

    fn one_of(&mut self, list: &[u32]) -> u32 {
        list[self.random.random_range(0..list.len())]
    }

    fn add(&mut self, head: u32, predicate: u32, tail: u32) {
        if head != tail {
            self.facts.insert(Triple::new(head, predicate, tail));
        }
    }

    fn related(&mut self, a: u32, b: u32) {
        self.add(a, RELATED, b);
        if self.chance(0.9) {
            self.add(b, RELATED, a);
        }
    }

    /// A new entity below another.
    fn below(&mut self, above: u32, predicate: u32) -> u32 {
        let new = self.next;
        self.next += 1;
        self.above.push(above);
        self.add(new, predicate, above);
        new
    }

    /// Something below which a new entity may be: as often what another is below already, so that there are hubs.
    fn any_above(&mut self, list: &[u32]) -> u32 {
        let one = self.one_of(list);
        if self.chance(0.5) { self.above[one as usize] } else { one }
    }
}

/// The facts, sorted, of a graph of so many entities. Topics are the first of them, then the root of all classes.
pub(super) fn grow(entities: u32, random: &mut ChaCha8Rng) -> Vec<Triple> {
    let facts = HashSet::new();
    let above = (0..=TOPICS).collect();
    let mut growing = Growing { random, facts, above, next: TOPICS + 1 };
    let [things, actions, _] = SHARES.map(|share| (entities - growing.next) * share / 10);
    let classes = growing.things(growing.next + things);
    growing.groups(&classes);
    growing.actions(&classes, growing.next + actions);
    growing.instances(&classes, entities);
    let mut facts: Vec<Triple> = growing.facts.into_iter().collect();
    facts.sort_unstable();
    facts
}

impl Growing<'_> {
    /// Classes of things, one below the other, with their parts and topics.
    fn things(&mut self, end: u32) -> Vec<u32> {
        let mut classes = vec![TOPICS];
        let mut parts: Vec<Vec<u32>> = vec![Vec::new(); end as usize + 64];
        let mut domain: Vec<Option<u32>> = vec![None; end as usize + 64];
        while self.next < end {
            let above = self.any_above(&classes);
            let class = self.below(above, IS_A);
            if self.chance(0.03) {
                let other = self.one_of(&classes);
                self.add(class, IS_A, other);
            }
            let topic = domain[above as usize].filter(|_| self.chance(0.8));
            let topic = topic.or_else(|| self.chance(0.05).then(|| self.random.random_range(0..TOPICS)));
            domain[class as usize] = topic;
            if let Some(topic) = topic.filter(|_| self.chance(0.6)) {
                self.add(class, DOMAIN, topic);
            }
            for place in 0..parts[above as usize].len().min(12) {
                if self.chance(0.35) && self.next < end {
                    let own = self.below(parts[above as usize][place], IS_A);
                    self.add(own, PART_OF, class);
                    parts[class as usize].push(own);
                }
            }
            while self.chance(0.25) && self.next < end {
                let above = self.any_above(&classes);
                let own = self.below(above, IS_A);
                self.add(own, PART_OF, class);
                parts[class as usize].push(own);
            }
            if self.chance(0.1) {
                let sibling = self.one_of(&classes);
                self.related(class, sibling);
            }
            classes.push(class);
        }
        classes
    }

    /// Groups, whose members are mostly of one class.
    fn groups(&mut self, classes: &[u32]) {
        let mut by_class: Vec<(u32, u32)> =
            classes.iter().map(|&class| (self.above[class as usize], class)).collect();
        by_class.sort_unstable();
        for alike in by_class.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 3) {
            for members in alike.chunks(8) {
                if self.chance(0.3) {
                    let group = self.one_of(classes);
                    for &(_, member) in members {
                        self.add(member, MEMBER_OF, group);
                    }
                    let other = self.one_of(classes);
                    self.add(other, MEMBER_OF, group);
                }
            }
        }
    }

    /// Actions, which are below each other mostly as the classes are that they are done with.
    fn actions(&mut self, classes: &[u32], end: u32) {
        let mut of_class: Vec<Option<u32>> = vec![None; end as usize];
        let mut actions = Vec::new();
        let count = (end - self.next) as usize;
        for &class in classes.iter().cycle().take(20 * classes.len()) {
            if actions.len() == count {
                break;
            }
            let above = of_class[self.above[class as usize] as usize];
            let wanted = self.chance(if above.is_some() { 0.5 } else { 0.05 });
            if of_class[class as usize].is_some() || !wanted {
                continue;
            }
            let by_thing = above.filter(|_| self.chance(0.75));
            let above = match by_thing {
                Some(above) => above,
                None if actions.is_empty() => TOPICS,
                None => self.any_above(&actions),
            };
            let action = self.below(above, IS_A);
            self.related(action, class);
            of_class[class as usize] = Some(action);
            actions.push(action);
        }
    }

    /// Instances of classes: places that are parts of others, and what stands alone.
    fn instances(&mut self, classes: &[u32], end: u32) {
        let mut places = Vec::new();
        // Few classes have most of the instances.
        let common: Vec<u32> = (0..60).map(|_| self.one_of(classes)).collect();
        while self.next < end {
            let class = if self.chance(0.7) { self.one_of(&common) } else { self.one_of(classes) };
            let place = self.below(class, INSTANCE_OF);
            if self.chance(0.3) {
                let kind = self.one_of(&common);
                for _ in 0..self.random.random_range(2..12) {
                    if self.next < end {
                        let kind = if self.chance(0.8) { kind } else { self.one_of(&common) };
                        let inner = self.below(kind, INSTANCE_OF);
                        self.add(inner, PART_OF, place);
                    }
                }
            }
            if !places.is_empty() && self.chance(0.3) {
                let outer = self.one_of(&places);
                self.add(place, PART_OF, outer);
            }
            places.push(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Generator;
    use crate::graph::{Background, Split};
    use crate::solve::Limits;

    #[test]
    fn hierarchies_are_sparse_and_their_regularities_hold_more_often_than_chance() {
        let made = Generator { hierarchy: true, entities: 3000, ..Generator::default() };
        let made = made.run().expect("sound settings");
        let entities = made.data.names().entities.len();
        assert!((2900..=3000).contains(&entities), "{entities}");
        assert!((1.4..2.6).contains(&(made.facts() as f64 / entities as f64)), "{}", made.facts());
        let facts = made.data.graph(Background::All).neighbours();
        for rule in &made.rules {
            let of_target = facts.count(rule.target) as f64;
            let measures = rule.measure(facts, Limits::default()).expect("a sound rule").value;
            let confidence = measures.support as f64 / measures.body as f64;
            let text = made.show(rule);
            assert!(measures.support as f64 > 0.02 * of_target, "{text} {measures:?} of {of_target}");
            assert!(confidence > 5.0 * of_target / (entities * entities) as f64, "{text} {confidence}");
        }
        assert!(made.data.split(Split::Test).len() > 100);
    }
}

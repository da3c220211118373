//! Sets of fillers that hold between two entities, each held once.

use std::collections::HashMap;

use super::PropertyFact;

/// One entry of a row: a neighbour and the class of the ordered pair (neighbour → row's entity).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The neighbour.
    pub entity: u32,
    /// Which fillers hold from the neighbour to the row's entity.
    pub class: u32,
}

/// One filler of a class and its value, 1 when symbolic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// Number of the filler: predicates, then inverses; or the property.
    pub filler: u32,
    /// The fact's value.
    pub value: f32,
    /// The fact it came from, in a graph built with [`ClassMatrix::valued`](super::ClassMatrix::valued).
    pub fact: u32,
}

/// Sets of fillers, each held once.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    start: Vec<u32>,
    members: Vec<Member>,
}

impl Classes {
    /// How many classes there are.
    pub fn len(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The fillers of one class.
    pub fn members(&self, class: usize) -> &[Member] {
        &self.members[self.start[class] as usize..self.start[class + 1] as usize]
    }

    pub(super) fn push(&mut self, members: &[Member]) -> u32 {
        if self.start.is_empty() {
            self.start.push(0);
        }
        self.members.extend_from_slice(members);
        self.start.push(self.members.len() as u32);
        self.start.len() as u32 - 2
    }
}

/// Finds the class of a set of fillers, adding it when new; never shares one in a valued graph.
pub(super) struct ClassFinder {
    pub classes: Classes,
    shared: bool,
    found: HashMap<Vec<(u32, u32)>, u32>,
}

impl ClassFinder {
    pub fn new(shared: bool) -> Self {
        ClassFinder { classes: Classes::default(), shared, found: HashMap::new() }
    }

    pub fn class(&mut self, members: &[Member]) -> u32 {
        if !self.shared {
            return self.classes.push(members);
        }
        let key: Vec<(u32, u32)> = members.iter().map(|m| (m.filler, m.value.to_bits())).collect();
        if let Some(&class) = self.found.get(&key) {
            return class;
        }
        let class = self.classes.push(members);
        self.found.insert(key, class);
        class
    }
}

/// Each entity's set of properties, and how many property facts there are.
pub(super) struct Properties {
    pub kind: Vec<u32>,
    pub kinds: Classes,
    pub count: usize,
}

impl Properties {
    /// Property facts are numbered from `first`.
    pub fn new(
        entities: usize,
        first: usize,
        property_facts: impl Iterator<Item = (PropertyFact, f32)>,
        shared: bool,
    ) -> Self {
        let mut of: Vec<Vec<Member>> = vec![Vec::new(); entities];
        for (number, (fact, value)) in property_facts.enumerate() {
            let fact_number = if shared { u32::MAX } else { (first + number) as u32 };
            of[fact.entity.index()].push(Member { filler: fact.property.0, value, fact: fact_number });
        }
        let (mut finder, mut count) = (ClassFinder::new(shared), 0);
        let mut kind = Vec::with_capacity(entities);
        for mut members in of {
            members.sort_unstable_by_key(|member| member.filler);
            if shared {
                members.dedup_by_key(|member| member.filler);
            }
            count += members.len();
            kind.push(finder.class(&members));
        }
        Properties { kind, kinds: finder.classes, count }
    }
}

//! Brackets of a score from the ends' neighbours alone.
//!
//! In: a pair. Out: a lower and an upper bound of its score, by every rule. Messages from the ends are
//! passed as they are, but those between the other variables are not followed: from below they are
//! taken from the profile, above which every query is; from above they are left out. So no link is
//! walked over but the ends' own.

use super::block::{LANES, Lanes, add_product, lower};
use super::query::{Context, UNLINKED};

/// A neighbour of one end: its place in the list of both ends' neighbours, and its class.
type Near = (u32, u32);

/// Workspace for one pair after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nearby {
    entities: Vec<u32>,
    ends: [Vec<Near>; 2],
    /// The class of each entity's link with either end.
    classes: Vec<[u32; 2]>,
    /// Bounds of each variable's entries there: `[low, high]`.
    domains: Vec<Vec<[Lanes; 2]>>,
}

impl Nearby {
    /// Puts both ends' neighbours on one list. Rows are sorted by entity.
    #[inline(always)]
    fn begin(&mut self, context: Context, pair: [usize; 2]) {
        let rows = pair.map(|end| context.graph.row(end));
        self.entities.clear();
        self.classes.clear();
        self.ends.iter_mut().for_each(Vec::clear);
        let mut at = [0, 0];
        loop {
            let next = [0, 1].map(|side| rows[side].get(at[side]).map_or(u32::MAX, |link| link.entity));
            let entity = next[0].min(next[1]);
            if entity == u32::MAX {
                break;
            }
            let mut classes = [UNLINKED; 2];
            for side in 0..2 {
                if next[side] == entity {
                    classes[side] = rows[side][at[side]].class;
                    self.ends[side].push((self.entities.len() as u32, classes[side]));
                    at[side] += 1;
                }
            }
            self.entities.push(entity);
            self.classes.push(classes);
        }
        self.domains.resize(context.last() - 1, Vec::new());
        for (k, domain) in self.domains.iter_mut().enumerate() {
            domain.clear();
            for &entity in &self.entities {
                domain.push([context.block.start(k + 1, context.graph.kind(entity as usize)); 2]);
            }
        }
    }

    /// A lower and an upper bound of the pair's score.
    #[inline(always)]
    pub fn bracket(&mut self, context: Context, head: usize, tail: usize) -> [Lanes; 2] {
        let (block, profile, last) = (context.block, context.profile, context.last());
        let pair = [head, tail];
        let between = context.graph.class(head, tail);
        self.begin(context, pair);
        // Of each end, [low, high].
        let mut entries = [0, 1].map(|side| [block.start(side * last, context.graph.kind(pair[side])); 2]);
        for round in 1..=profile.rounds {
            let pass = profile.pass(round);
            let (sender, receiver) = (pass.variable(0, last), pass.variable(last, last));
            let (from, to) = (usize::from(sender > 0), usize::from(receiver > 0));
            for step in 1..last {
                let variable = pass.variable(step, last);
                let (sure, table) = (block.sure(sender, variable), block.toward(variable, sender));
                let stage = profile.stage(round, variable - 1);
                let domain = &mut self.domains[variable - 1];
                for ((&entity, classes), [low, high]) in
                    self.entities.iter().zip(&self.classes).zip(domain.iter_mut())
                {
                    let mut messages = [*sure; 2];
                    if let Some(value) = table.get(classes[from] as usize) {
                        for (message, entry) in messages.iter_mut().zip(&entries[from]) {
                            add_product(message, value, entry);
                        }
                    }
                    lower(low, &messages[0]);
                    lower(high, &messages[1]);
                    for told in &stage.told {
                        lower(low, &told[entity as usize]);
                    }
                }
            }
            let mut told = entries[to];
            for variable in 1..last {
                let mut messages = [*block.sure(variable, receiver); 2];
                let (table, domain) = (block.toward(variable, receiver), &self.domains[variable - 1]);
                for &(place, class) in &self.ends[to] {
                    let value = &table[class as usize];
                    for (message, entry) in messages.iter_mut().zip(&domain[place as usize]) {
                        add_product(message, value, entry);
                    }
                }
                told.iter_mut().zip(&messages).for_each(|(told, message)| lower(told, message));
            }
            let mut messages = [*block.sure(0, last); 2];
            if let Some(class) = between {
                for (message, entry) in messages.iter_mut().zip(&entries[from]) {
                    add_product(message, &block.toward(0, last)[class as usize], entry);
                }
            }
            told.iter_mut().zip(&messages).for_each(|(told, message)| lower(told, message));
            entries[to] = told;
        }
        let [mut low, mut high] = entries[0];
        lower(&mut low, &entries[1][0]);
        lower(&mut high, &entries[1][1]);
        for (k, domain) in self.domains.iter().enumerate() {
            let mut most = profile.stage(profile.rounds, k).most;
            for [entry, _] in domain {
                for lane in 0..LANES {
                    most[lane] = most[lane].max(entry[lane]);
                }
            }
            lower(&mut low, &most);
        }
        [low, high]
    }
}

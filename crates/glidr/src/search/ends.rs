//! The ends that a body goes to from a known one, each with its ways.

use super::bodies::{IS, Step, Walk};

/// The ends that go with a known one.
pub(super) struct Ends<'w> {
    /// A list that is kept anyway, where there is one.
    kept: &'w [u32],
    /// Else those walked to, sorted.
    walked: Vec<u32>,
    /// For each of these in how many ways.
    ways: Vec<u32>,
    /// Links followed.
    pub links: usize,
    /// Where a chain has led so far, and in how many ways.
    near: Vec<(u32, u32)>,
    /// The ways of every entity while they are added up, else 0.
    sums: Vec<u32>,
}

impl<'w> Ends<'w> {
    pub fn new(entities: usize) -> Self {
        let (walked, ways, near) = (Vec::new(), Vec::new(), Vec::new());
        Ends { kept: &[], walked, ways, links: 0, near, sums: vec![0; entities] }
    }

    /// The ends, sorted.
    pub fn list(&self) -> &[u32] {
        if self.kept.is_empty() { &self.walked } else { self.kept }
    }

    /// In how many ways the end at `place` of the list goes with the known one.
    pub fn ways(&self, place: usize) -> u32 {
        self.ways.get(place).copied().unwrap_or(1)
    }

    /// Takes a list that is kept anyway.
    pub fn keep(&mut self, kept: &'w [u32]) {
        self.kept = kept;
        self.links = 0;
        self.walked.clear();
        self.ways.clear();
    }

    /// Follows steps from an entity; false if they have more than `most` links.
    pub fn follow(&mut self, walk: &'w Walk, steps: [Step; 3], known: u32, most: usize) -> bool {
        self.keep(&[]);
        self.near.clear();
        self.near.push((known, 1));
        for step in steps.into_iter().filter(|&step| step != IS) {
            for &(entity, ways) in &self.near {
                let led = walk.from(step, entity);
                self.links += led.len();
                if self.links > most {
                    break;
                }
                for &to in led {
                    let sum = &mut self.sums[to as usize];
                    if *sum == 0 {
                        self.walked.push(to);
                    }
                    *sum = sum.saturating_add(ways);
                }
            }
            let sums = &mut self.sums;
            self.near.clear();
            self.near.extend(self.walked.drain(..).map(|to| (to, std::mem::take(&mut sums[to as usize]))));
            if self.links > most {
                return false;
            }
        }
        self.near.sort_unstable();
        self.walked.extend(self.near.iter().map(|&(to, _)| to));
        self.ways.extend(self.near.iter().map(|&(_, ways)| ways));
        true
    }
}

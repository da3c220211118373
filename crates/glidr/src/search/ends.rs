//! The ends that a body goes to from a known one, each with its groundings.

use super::body::{IDENTITY, Steps, Walk};

/// The ends that go with a known one.
pub(super) struct Ends<'w> {
    /// A list that is kept anyway, where there is one.
    kept: &'w [u32],
    /// Else those walked to, sorted.
    walked: Vec<u32>,
    /// For each of these its groundings.
    groundings: Vec<u32>,
    /// Links followed.
    pub links: usize,
    /// Where a chain has led so far, and with how many groundings.
    near: Vec<(u32, u32)>,
    /// The groundings of every entity while they are added up, else 0.
    sums: Vec<u32>,
}

impl<'w> Ends<'w> {
    pub fn new(entities: usize) -> Self {
        let (walked, groundings, near) = (Vec::new(), Vec::new(), Vec::new());
        Ends { kept: &[], walked, groundings, links: 0, near, sums: vec![0; entities] }
    }

    /// The ends, sorted.
    pub fn list(&self) -> &[u32] {
        if self.kept.is_empty() { &self.walked } else { self.kept }
    }

    /// How many groundings the end at `place` of the list has.
    pub fn groundings(&self, place: usize) -> u32 {
        self.groundings.get(place).copied().unwrap_or(1)
    }

    /// Takes a list that is kept anyway.
    pub fn keep(&mut self, kept: &'w [u32]) {
        self.kept = kept;
        self.links = 0;
        self.walked.clear();
        self.groundings.clear();
    }

    /// Takes ends that were found elsewhere, sorted, each with one grounding.
    pub fn fill(&mut self, found: impl Iterator<Item = u32>) {
        self.keep(&[]);
        self.walked.extend(found);
    }

    /// Follows steps from an entity; false if they have more than `max_links` links.
    pub fn follow(&mut self, steps: &'w Steps, path: Walk, known: u32, max_links: usize) -> bool {
        self.keep(&[]);
        self.near.clear();
        self.near.push((known, 1));
        for step in path.into_iter().filter(|&step| step != IDENTITY) {
            for &(entity, groundings) in &self.near {
                let led = steps.from(step, entity);
                self.links += led.len();
                if self.links > max_links {
                    break;
                }
                for &to in led {
                    let sum = &mut self.sums[to as usize];
                    if *sum == 0 {
                        self.walked.push(to);
                    }
                    *sum = sum.saturating_add(groundings);
                }
            }
            let sums = &mut self.sums;
            self.near.clear();
            self.near.extend(self.walked.drain(..).map(|to| (to, std::mem::take(&mut sums[to as usize]))));
            if self.links > max_links {
                return false;
            }
        }
        self.near.sort_unstable();
        self.walked.extend(self.near.iter().map(|&(to, _)| to));
        self.groundings.extend(self.near.iter().map(|&(_, groundings)| groundings));
        true
    }
}

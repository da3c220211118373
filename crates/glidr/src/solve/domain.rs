//! What a variable may still be, and with how many groundings.

use super::sets::{each_common, minus};

/// The values that a variable may still take; each may stand for several groundings of variables
/// that are already gone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Domain {
    /// Sorted values; `None` means all entities.
    pub values: Option<Vec<u32>>,
    /// For each value how many groundings it stands for; `None` means one each.
    pub groundings: Option<Vec<u64>>,
}

impl Domain {
    /// Nothing.
    pub const EMPTY: Domain = Domain { values: Some(Vec::new()), groundings: None };

    /// Just these values, one way each.
    pub fn of(values: Vec<u32>) -> Self {
        Domain { values: Some(values), groundings: None }
    }

    /// How many values there are, of so many entities.
    pub fn len(&self, entities: usize) -> usize {
        self.values.as_ref().map_or(entities, Vec::len)
    }

    /// Whether nothing is left.
    pub fn is_empty(&self, entities: usize) -> bool {
        self.len(entities) == 0
    }

    /// How many groundings the value at `place` stands for.
    pub fn groundings(&self, place: usize) -> u64 {
        self.groundings.as_ref().map_or(1, |groundings| groundings[place])
    }

    /// The sum of all groundings, up to `cap`.
    pub fn total(&self, entities: usize, cap: u64) -> u64 {
        match &self.groundings {
            None => (self.len(entities) as u64).min(cap),
            Some(groundings) => {
                groundings.iter().fold(0, |sum: u64, &groundings| sum.saturating_add(groundings).min(cap))
            }
        }
    }

    /// Keeps the values that `other` has too, and multiplies their groundings, up to `cap`.
    pub fn narrow(&mut self, other: &Domain, cap: u64) {
        let Some(theirs) = &other.values else { return };
        let Some(ours) = &self.values else {
            *self = other.clone();
            return;
        };
        let mut values = Vec::with_capacity(ours.len().min(theirs.len()));
        let mut groundings = (self.groundings.is_some() || other.groundings.is_some()).then(Vec::new);
        each_common(ours, theirs, |a, b| {
            values.push(ours[a]);
            if let Some(groundings) = &mut groundings {
                groundings.push(self.groundings(a).saturating_mul(other.groundings(b)).min(cap));
            }
        });
        *self = Domain { values: Some(values), groundings };
    }

    /// Keeps the values of a sorted list.
    pub fn narrow_to(&mut self, list: &[u32]) {
        match (&mut self.values, &self.groundings) {
            (None, _) => self.values = Some(list.to_vec()),
            (Some(_), Some(_)) => self.narrow(&Domain::of(list.to_vec()), u64::MAX),
            (Some(values), None) => *values = super::sets::intersect(values, list),
        }
    }

    /// Takes these values out of a domain without counts.
    pub fn drop_values(&mut self, gone: &[u32]) {
        if let (Some(values), None) = (&mut self.values, &self.groundings) {
            *values = minus(values, gone);
        }
    }
}

/// Adds up groundings value by value, without asking for memory anew.
#[derive(Debug)]
pub(super) struct Adder {
    entities: usize,
    /// Empty until something is added.
    groundings: Vec<u64>,
    touched: Vec<u32>,
}

impl Adder {
    pub fn new(entities: usize) -> Self {
        Adder { entities, groundings: Vec::new(), touched: Vec::new() }
    }

    /// So many more groundings for every value of `values`, up to `cap`.
    pub fn add(&mut self, values: &[u32], groundings: u64, cap: u64) {
        if self.groundings.is_empty() {
            self.groundings = vec![0; self.entities];
        }
        for &value in values {
            let sum = &mut self.groundings[value as usize];
            if *sum == 0 {
                self.touched.push(value);
            }
            *sum = sum.saturating_add(groundings).min(cap);
        }
    }

    /// What was added up; counts are left out where only existence is asked (`cap` 1).
    pub fn take(&mut self, cap: u64) -> Domain {
        self.touched.sort_unstable();
        let groundings =
            (cap > 1).then(|| self.touched.iter().map(|&value| self.groundings[value as usize]).collect());
        self.touched.iter().for_each(|&value| self.groundings[value as usize] = 0);
        Domain { values: Some(std::mem::take(&mut self.touched)), groundings }
    }
}

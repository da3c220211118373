//! The largest bounds of a stage's entries, and a bound of all others.

use super::block::{LANES, Lanes};

/// So many are kept for each rule.
pub(crate) const KEPT: usize = 8;

/// Whose bounds are largest, by rule: largest first.
#[derive(Clone, Debug)]
pub(crate) struct Peaks {
    pub bounds: [Lanes; KEPT],
    pub entities: [[u32; LANES]; KEPT],
    /// No other bound is above this.
    pub rest: Lanes,
}

impl Default for Peaks {
    fn default() -> Self {
        Peaks { bounds: [[-1.0; LANES]; KEPT], entities: [[0; LANES]; KEPT], rest: [0.0; LANES] }
    }
}

impl Peaks {
    #[inline(always)]
    pub fn add(&mut self, bound: &Lanes, entity: u32) {
        for lane in 0..LANES {
            let bound = bound[lane];
            if bound <= self.bounds[KEPT - 1][lane] {
                self.rest[lane] = self.rest[lane].max(bound);
                continue;
            }
            self.rest[lane] = self.rest[lane].max(self.bounds[KEPT - 1][lane]);
            let mut place = KEPT - 1;
            while place > 0 && self.bounds[place - 1][lane] < bound {
                self.bounds[place][lane] = self.bounds[place - 1][lane];
                self.entities[place][lane] = self.entities[place - 1][lane];
                place -= 1;
            }
            self.bounds[place][lane] = bound;
            self.entities[place][lane] = entity;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_kept_in_order_and_the_rest_is_the_next() {
        let bounds: Vec<f32> = (0..40u16).map(|number| f32::from(number * 17 % 41) / 41.0).collect();
        let mut peaks = Peaks::default();
        for (entity, bound) in bounds.iter().enumerate() {
            peaks.add(&[*bound; LANES], entity as u32);
        }
        let mut sorted = bounds.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        for place in 0..KEPT {
            assert_eq!(peaks.bounds[place][3], sorted[place]);
            assert_eq!(bounds[peaks.entities[place][3] as usize], sorted[place]);
        }
        assert_eq!(peaks.rest[3], sorted[KEPT]);
    }
}

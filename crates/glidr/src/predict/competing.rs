//! Predicates that compete for a pair: where a pair has one predicate, what speaks for one speaks against the others.
//!
//! In: for every predicate the sum of the weights of its rules that fire. Out: the probability that a linked pair is that
//! predicate's.
//!
//! ```text
//! P(p | x, y) = e^{s_p(x, y)} / Σ_q e^{s_q(x, y)}
//! ```

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::graph::{Direction, Entity};

/// So many numbers are kept at most: on large graphs they are found anew when they are asked for.
const MAX_KEPT: usize = 1 << 25;

/// Of every query asked so far the totals of its candidates.
type Totals = HashMap<(Direction, Entity), Arc<[f64]>>;

/// `ln Σ_q e^{s_q}` of every candidate of some queries, which all predicates have in common.
#[derive(Default)]
pub(super) struct Competition {
    totals: Mutex<Totals>,
}

impl Competition {
    /// The totals of the candidates beside a known end; `find` gives the sums of each predicate where they are not known.
    pub fn totals(
        &self,
        direction: Direction,
        known: Entity,
        find: impl FnOnce() -> Vec<Vec<f64>>,
    ) -> Arc<[f64]> {
        let key = (direction, known);
        let kept = self.totals.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        kept.unwrap_or_else(|| {
            let totals: Arc<[f64]> = log_sum_exp(&find()).into();
            let mut kept = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
            if (kept.len() + 1) * totals.len() <= MAX_KEPT {
                kept.insert(key, Arc::clone(&totals));
            }
            totals
        })
    }
}

/// ln Σ e^s for every candidate, over predicates.
fn log_sum_exp(sums: &[Vec<f64>]) -> Vec<f64> {
    let candidates = sums.first().map_or(0, Vec::len);
    let of = |candidate: usize| {
        let max = sums.iter().map(|sums| sums[candidate]).fold(f64::NEG_INFINITY, f64::max);
        max + sums.iter().map(|sums| (sums[candidate] - max).exp()).sum::<f64>().ln()
    };
    (0..candidates).map(of).collect()
}

/// The probability of a predicate with this sum, and its log-odds.
pub(super) fn share(sum: f64, total: f64) -> (f64, f64) {
    let p = (sum - total).exp().min(1.0);
    (p, (sum - total) - (-p).ln_1p().max(-50.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probabilities_of_all_predicates_of_a_pair_add_up_to_1() {
        let sums = [vec![0.0, 900.0, -3.0], vec![2.0, 899.0, -700.0], vec![-1.0, 0.0, -3.0]];
        let competition = Competition::default();
        let totals = competition.totals(Direction::Tail, Entity(0), || sums.to_vec());
        for (candidate, &total) in totals.iter().enumerate() {
            let shares: Vec<(f64, f64)> = sums.iter().map(|of| share(of[candidate], total)).collect();
            assert!((shares.iter().map(|(p, _)| p).sum::<f64>() - 1.0).abs() < 1e-9);
            for (p, odds) in shares {
                assert!(odds.is_finite() && (1.0 / (1.0 + (-odds).exp()) - p).abs() < 1e-9, "{p} {odds}");
            }
        }
        let known = competition.totals(Direction::Tail, Entity(0), || unreachable!("they are known"));
        assert_eq!(known, totals);
    }
}

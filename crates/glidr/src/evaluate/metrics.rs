//! MRR and Hits@k, all counted from one and the same ranks.

use serde::Serialize;

/// What is counted over a set of ranks, as fractions of 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// Mean reciprocal rank.
    pub mrr: f64,
    /// Part of the ranks that are at most 1.
    pub hits1: f64,
    /// Part of the ranks that are at most 3.
    pub hits3: f64,
    /// Part of the ranks that are at most 10.
    pub hits10: f64,
    /// How many ranks there are.
    pub queries: usize,
}

impl Metrics {
    /// Counts over `ranks`, each at least 1; all zero where there are none.
    ///
    /// ```
    /// use glidr::internals::evaluate::Metrics;
    /// let metrics = Metrics::of(&[1.0, 2.0, 4.0, 20.0]);
    /// assert_eq!((metrics.mrr, metrics.hits1, metrics.hits3, metrics.hits10), (0.45, 0.25, 0.5, 0.75));
    /// ```
    pub fn of(ranks: &[f64]) -> Self {
        let mean = |value: &dyn Fn(f64) -> f64| match ranks.len() {
            0 => 0.0,
            count => ranks.iter().map(|&rank| value(rank)).sum::<f64>() / count as f64,
        };
        let hits = |max: f64| mean(&|rank| f64::from(u8::from(rank <= max)));
        let metrics = Metrics {
            mrr: mean(&|rank| 1.0 / rank),
            hits1: hits(1.0),
            hits3: hits(3.0),
            hits10: hits(10.0),
            queries: ranks.len(),
        };
        // A rank of 1 counts 1 in both, any other only in the first.
        assert!(metrics.mrr >= metrics.hits1 - 1e-12, "MRR is at least Hits@1 for any one set of ranks");
        metrics
    }

    /// The mean of several metrics, each weighing the same (macro).
    pub fn mean(all: &[Metrics]) -> Self {
        let count = all.len().max(1) as f64;
        let mean = |part: fn(&Metrics) -> f64| all.iter().map(part).sum::<f64>() / count;
        Metrics {
            mrr: mean(|m| m.mrr),
            hits1: mean(|m| m.hits1),
            hits3: mean(|m| m.hits3),
            hits10: mean(|m| m.hits10),
            queries: all.iter().map(|m| m.queries).sum(),
        }
    }
}

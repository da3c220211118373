//! Numbers that others published, to stand beside ours.

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// One method's numbers on one data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The method.
    pub method: String,
    /// The data set.
    pub data: String,
    /// What it is: embedding, both, rules, gnn, or paper.
    pub kind: String,
    /// Our scores that it is the counterpart of, where it is the paper's.
    pub scores: Option<String>,
    /// Mean reciprocal rank, of 1.
    pub mrr: f64,
    /// Hits@1, in per cent.
    pub hits1: f64,
    /// Hits@10, in per cent.
    pub hits10: f64,
    /// Standard deviations of these three over runs.
    pub deviations: Option<[f64; 3]>,
    /// Where the numbers stand.
    pub source: String,
}

#[derive(Deserialize)]
struct File {
    published: Vec<Published>,
}

/// All of them, in the order of the file.
pub fn published() -> anyhow::Result<Vec<Published>> {
    let text = include_str!("../plans/published.toml");
    Ok(toml::from_str::<File>(text).context("plans/published.toml")?.published)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_soft_rows_are_there_with_their_deviations() {
        let all = published().expect("a sound file");
        let soft = |data: &str| {
            let found = all.iter().find(|row| row.data == data && row.scores.as_deref() == Some("soft"));
            found.map(|row| (row.mrr, row.hits1, row.hits10)).expect("the paper's row")
        };
        assert_eq!(soft("family"), (0.90, 93.2, 95.6));
        assert_eq!(soft("kinships"), (0.72, 73.5, 93.1));
        assert_eq!(soft("umls"), (0.81, 87.8, 95.2));
        assert_eq!(soft("fb15k-237"), (0.20, 18.6, 35.6));
        assert!(all.iter().all(|row| row.mrr <= 1.0 && row.hits1 <= 100.0 && row.hits10 <= 100.0));
    }
}

//! Turns weights into rules: the filler of most weight per slot, or the top *p* of its mass.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::graph::Property;
use crate::infer::Weights;
use crate::rule::{Filler, Filling, Schema};

/// How a rule is taken from weights.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extraction {
    /// The filler of most weight in every slot.
    Argmax,
    /// All fillers within the top p of a slot's mass, read as *or*; `P_true` among them wins.
    TopP(f32),
}

impl Extraction {
    /// The top `p` of the mass; p must lie above 0 and at most at 1.
    pub fn top_p(p: f32) -> Result<Self> {
        if p > 0.0 && p <= 1.0 {
            Ok(Extraction::TopP(p))
        } else {
            Err(Error::Setting(format!("top-p must be above 0 and at most 1, but is {p}")))
        }
    }

    /// The slots of one rule filled by its weights.
    pub fn filling(self, weights: &Weights, schema: &Schema) -> Filling {
        let mut filling = Filling::new(*schema);
        for ((i, j), row) in schema.pairs().zip(weights.pair_rows(schema)) {
            let chosen: Vec<Filler> = self.choose(row).iter().map(|&number| schema.filler(number)).collect();
            filling = filling.pair(i, j, &chosen);
        }
        for (variable, row) in weights.own_rows(schema).enumerate() {
            let chosen = self.choose(row);
            if !chosen.contains(&schema.properties) {
                let properties: Vec<Property> =
                    chosen.iter().map(|&number| Property(number as u32)).collect();
                filling = filling.own(variable, &properties);
            }
        }
        filling
    }

    /// The numbers of the fillers that one slot keeps, most weight first.
    fn choose(self, row: &[f32]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
        let keep = match self {
            Extraction::Argmax => 1,
            Extraction::TopP(p) => {
                let mass = order.iter().scan(0.0, |sum, &number| {
                    *sum += row[number];
                    Some(*sum)
                });
                mass.take_while(|&sum| sum < p).count() + 1
            }
        };
        order.truncate(keep);
        order
    }
}

impl std::fmt::Display for Extraction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Extraction::Argmax => f.write_str("argmax"),
            Extraction::TopP(p) => write!(f, "top-p {p}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Predicate;
    use crate::infer::Slots;

    fn fill(extraction: Extraction, row: [f32; 5]) -> Vec<Filler> {
        let schema = Schema::new(2, 2, 0).expect("in range");
        let weights = Slots { pairs: row.to_vec(), owns: vec![] };
        extraction.filling(&weights, &schema).slot(0).to_vec()
    }

    #[test]
    fn top_p_keeps_the_fewest_fillers_that_reach_p_as_a_disjunction() {
        let row = [0.2, 0.1, 0.4, 0.25, 0.05];
        let (direct, inverse) = (Filler::Direct(Predicate(0)), Filler::Inverse(Predicate(0)));
        let other = Filler::Inverse(Predicate(1));
        assert_eq!(fill(Extraction::TopP(0.25), row), [inverse]);
        assert_eq!(fill(Extraction::TopP(0.6), row), [inverse, other]);
        assert_eq!(fill(Extraction::TopP(0.7), row), [inverse, other, direct]);
        assert_eq!(fill(Extraction::Argmax, row), [inverse]);
    }

    #[test]
    fn p_true_within_the_top_p_wins_the_slot() {
        let row = [0.1, 0.1, 0.4, 0.1, 0.3];
        assert_eq!(fill(Extraction::TopP(0.5), row), []);
        assert_eq!(fill(Extraction::TopP(0.3), row), [Filler::Inverse(Predicate(0))]);
    }

    #[test]
    fn a_share_outside_its_range_is_refused() {
        assert!(Extraction::top_p(0.0).is_err() && Extraction::top_p(1.5).is_err());
        assert!(Extraction::top_p(f32::NAN).is_err() && Extraction::top_p(1.0).is_ok());
    }
}

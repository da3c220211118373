//! The soft rules within a model file.
//!
//! In: logits, weights and losses. Out: a header and two tensors for each target, and the same read back.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Container, Ensemble, SoftModel, SoftRule, Tensor, Training};
use crate::error::{Error, Result};
use crate::graph::{Names, Predicate};
use crate::infer::Slots;
use crate::rule::Schema;

/// What is said about the tensors of the soft rules.
#[derive(Serialize, Deserialize)]
pub(super) struct SoftHeader {
    schema: Schema,
    predicates: Vec<String>,
    properties: Vec<String>,
    targets: Vec<TargetHeader>,
}

#[derive(Serialize, Deserialize)]
struct TargetHeader {
    target: u32,
    weights: Vec<f32>,
    losses: Vec<f32>,
}

impl SoftModel {
    /// The header, and the logits among `tensors`.
    pub(super) fn store(&self, tensors: &mut BTreeMap<String, Tensor>) -> SoftHeader {
        for ensemble in &self.ensembles {
            let of = |part: fn(&Slots) -> &Vec<f32>| -> Vec<f32> {
                ensemble.rules.iter().flat_map(|rule| part(&rule.logits).iter().copied()).collect()
            };
            for (name, shape, values) in [
                ("pairs", pairs_shape(&self.schema, ensemble.rules.len()), of(|logits| &logits.pairs)),
                ("owns", owns_shape(&self.schema, ensemble.rules.len()), of(|logits| &logits.owns)),
            ] {
                tensors.insert(tensor_name(ensemble.target, name), Tensor { shape: shape.to_vec(), values });
            }
        }
        let targets = self.ensembles.iter().map(|ensemble| TargetHeader {
            target: ensemble.target.0,
            weights: ensemble.rules.iter().map(|rule| rule.weight).collect(),
            losses: ensemble.rules.iter().map(|rule| rule.loss).collect(),
        });
        SoftHeader {
            schema: self.schema,
            predicates: self.predicates.iter().map(String::from).collect(),
            properties: self.properties.iter().map(String::from).collect(),
            targets: targets.collect(),
        }
    }
}

impl SoftHeader {
    /// The soft rules whose logits stand in `file`; refuses what does not fit together.
    pub(super) fn read<H>(
        self,
        path: &Path,
        training: Training,
        file: &mut Container<H>,
    ) -> Result<SoftModel> {
        let refuse = |finding: String| Error::data(path, finding);
        let schema = self.schema;
        Schema::new(schema.variables, schema.predicates, schema.properties)
            .and_then(|_| training.check())
            .map_err(|error| refuse(error.to_string()))?;
        if training.variables != schema.variables {
            return Err(refuse("the settings must have the schema's variables, but have others".into()));
        }
        let predicates = Names::new(self.predicates);
        let properties = Names::new(self.properties);
        if (predicates.len(), properties.len()) != (schema.predicates, schema.properties) {
            return Err(refuse("the names must be as many as the schema says, but are not".into()));
        }
        let ensembles = self.targets.into_iter().map(|target| target.read(path, &schema, file));
        Ok(SoftModel {
            schema,
            predicates,
            properties,
            training,
            ensembles: ensembles.collect::<Result<_>>()?,
        })
    }
}

impl TargetHeader {
    fn read<H>(self, path: &Path, schema: &Schema, file: &mut Container<H>) -> Result<Ensemble> {
        let (count, target) = (self.weights.len(), Predicate(self.target));
        if target.index() >= schema.predicates || self.losses.len() != count {
            let finding = format!("target {} does not fit the model's names or weights", target.0);
            return Err(Error::data(path, finding));
        }
        let mut numbers = self.weights.iter().chain(&self.losses);
        if let Some(bad) = numbers.find(|number| !(number.is_finite() && **number >= 0.0)) {
            let finding = format!("weights and losses must be finite and at least 0, but one is {bad}");
            return Err(Error::data(path, finding));
        }
        let pairs = file.take(path, &tensor_name(target, "pairs"), &pairs_shape(schema, count))?;
        let owns = file.take(path, &tensor_name(target, "owns"), &owns_shape(schema, count))?;
        let (wide, own) = (pairs.len() / count.max(1), owns.len() / count.max(1));
        let rules = (0..count).map(|rule| SoftRule {
            logits: Slots {
                pairs: pairs[rule * wide..][..wide].to_vec(),
                owns: owns[rule * own..][..own].to_vec(),
            },
            loss: self.losses[rule],
            weight: self.weights[rule],
        });
        Ok(Ensemble { target, rules: rules.collect() })
    }
}

fn pairs_shape(schema: &Schema, rules: usize) -> [usize; 3] {
    [rules, schema.slots(), schema.fillers()]
}

fn owns_shape(schema: &Schema, rules: usize) -> [usize; 3] {
    let own = schema.own_fillers();
    [rules, if own == 0 { 0 } else { schema.variables }, own]
}

fn tensor_name(target: Predicate, part: &str) -> String {
    format!("target.{}.{part}", target.0)
}

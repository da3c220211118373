//! The model file, format `glidr-model`: docs/model-file.md says what stands in it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Container, DataMark, Ensemble, SoftModel, SoftRule, Tensor, Training};
use crate::error::{Error, Result};
use crate::graph::{Names, Predicate};
use crate::infer::Slots;
use crate::rule::Schema;

const FORMAT: &str = "glidr-model";

#[derive(Serialize, Deserialize)]
struct Header {
    schema: Schema,
    predicates: Vec<String>,
    properties: Vec<String>,
    training: Training,
    data: DataMark,
    targets: Vec<TargetHeader>,
}

#[derive(Serialize, Deserialize)]
struct TargetHeader {
    target: u32,
    votes: Vec<f32>,
    losses: Vec<f32>,
}

impl SoftModel {
    /// Writes the model to `path`; equal models give equal bytes.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut tensors = BTreeMap::new();
        for ensemble in &self.ensembles {
            let of = |part: fn(&Slots) -> &Vec<f32>| -> Vec<f32> {
                ensemble.rules.iter().flat_map(|rule| part(&rule.logits).iter().copied()).collect()
            };
            for (name, shape, values) in [
                ("pairs", self.pairs_shape(ensemble.rules.len()), of(|logits| &logits.pairs)),
                ("owns", self.owns_shape(ensemble.rules.len()), of(|logits| &logits.owns)),
            ] {
                tensors.insert(tensor_name(ensemble.target, name), Tensor { shape: shape.to_vec(), values });
            }
        }
        let targets = self.ensembles.iter().map(|ensemble| TargetHeader {
            target: ensemble.target.0,
            votes: ensemble.rules.iter().map(|rule| rule.vote).collect(),
            losses: ensemble.rules.iter().map(|rule| rule.loss).collect(),
        });
        let header = Header {
            schema: self.schema,
            predicates: self.predicates.iter().map(String::from).collect(),
            properties: self.properties.iter().map(String::from).collect(),
            training: self.training.clone(),
            data: self.data.clone(),
            targets: targets.collect(),
        };
        Container { header, tensors }.write(path.as_ref(), FORMAT)
    }

    /// Reads a model; a truncated, altered or foreign file is refused.
    pub fn open(path: impl AsRef<Path>) -> Result<SoftModel> {
        let path = path.as_ref();
        let mut file = Container::<Header>::read(path, FORMAT)?;
        let header = &file.header;
        let schema = header.schema;
        Schema::new(schema.variables, schema.predicates, schema.properties)
            .map_err(|error| Error::data(path, error.to_string()))?;
        check_header(header).map_err(|finding| Error::data(path, finding))?;
        let mut model = SoftModel {
            schema,
            predicates: Names::new(&header.predicates),
            properties: Names::new(&header.properties),
            training: header.training.clone(),
            data: header.data.clone(),
            ensembles: Vec::new(),
        };
        if (model.predicates.len(), model.properties.len()) != (schema.predicates, schema.properties) {
            return Err(Error::data(path, "the names must be as many as the schema says, but are not"));
        }
        for target in std::mem::take(&mut file.header.targets) {
            let ensemble = model.read_ensemble(path, &mut file, &target)?;
            model.ensembles.push(ensemble);
        }
        Ok(model)
    }

    fn read_ensemble(
        &self,
        path: &Path,
        file: &mut Container<Header>,
        header: &TargetHeader,
    ) -> Result<Ensemble> {
        let count = header.votes.len();
        let target = Predicate(header.target);
        if target.index() >= self.predicates.len() || header.losses.len() != count {
            return Err(Error::data(
                path,
                format!("target {} does not fit the model's names or votes", target.0),
            ));
        }
        let pairs = file.take(path, &tensor_name(target, "pairs"), &self.pairs_shape(count))?;
        let owns = file.take(path, &tensor_name(target, "owns"), &self.owns_shape(count))?;
        let (wide, own) = (pairs.len() / count.max(1), owns.len() / count.max(1));
        let rules = (0..count).map(|rule| SoftRule {
            logits: Slots {
                pairs: pairs[rule * wide..][..wide].to_vec(),
                owns: owns[rule * own..][..own].to_vec(),
            },
            loss: header.losses[rule],
            vote: header.votes[rule],
        });
        Ok(Ensemble { target, rules: rules.collect() })
    }

    fn pairs_shape(&self, rules: usize) -> [usize; 3] {
        [rules, self.schema.slots(), self.schema.fillers()]
    }

    fn owns_shape(&self, rules: usize) -> [usize; 3] {
        let own = self.schema.own_fillers();
        [rules, if own == 0 { 0 } else { self.schema.variables }, own]
    }
}

/// What a header must keep to beyond its shape.
fn check_header(header: &Header) -> std::result::Result<(), String> {
    header.training.check().map_err(|error| error.to_string())?;
    if header.training.variables != header.schema.variables {
        return Err("the settings must have the schema's variables, but have others".into());
    }
    if header.data.hash.len() != 64 || !header.data.hash.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err("the data's hash must be 64 hexadecimal digits, but is not".into());
    }
    let numbers = header.targets.iter().flat_map(|target| target.votes.iter().chain(&target.losses));
    match numbers.copied().find(|number| !(number.is_finite() && *number >= 0.0)) {
        Some(bad) => Err(format!("votes and losses must be finite and at least 0, but one is {bad}")),
        None => Ok(()),
    }
}

fn tensor_name(target: Predicate, part: &str) -> String {
    format!("target.{}.{part}", target.0)
}

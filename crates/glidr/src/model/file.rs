//! The model file, format `glidr-model`: docs/model-file.md says what stands in it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::constraints_file::{CONSTRAINTS, ConstraintsHeader};
use super::soft_file::SoftHeader;
use super::{Calibration, Container, MixingWeight, Model, Provenance, RuleModel, Training};
use crate::error::{Error, Result};
use crate::graph::{Names, Vocabulary};
use crate::rule::RuleSet;

const FORMAT: &str = "glidr-model";

/// Names of texts.
const RULES: &str = "rules";
const TRAIN_RULES: &str = "train_rules";
const TRAIN_WEIGHTS: &str = "train_weights";

#[derive(Serialize, Deserialize)]
struct Header {
    provenance: Provenance,
    settings: Settings,
    soft: Option<SoftHeader>,
    rules: Option<RulesHeader>,
    constraints: Option<ConstraintsHeader>,
    mixing_weights: Vec<MixingWeight>,
    calibration: Option<Calibration>,
    targets: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Settings {
    training: Option<Training>,
    search: Option<serde_json::Value>,
}

/// The names that the text of rules uses.
#[derive(Serialize, Deserialize)]
struct RulesHeader {
    predicates: Vec<String>,
    properties: Vec<String>,
    constants: Vec<String>,
}

impl Model {
    /// Writes the model to `path`; equal models give equal bytes.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let (mut tensors, mut texts) = (BTreeMap::new(), BTreeMap::new());
        let constraints = self.constraints.as_ref().map(|kept| {
            let (header, text) = ConstraintsHeader::of(kept);
            texts.insert(CONSTRAINTS.into(), text);
            header
        });
        let header = Header {
            provenance: self.provenance.clone(),
            settings: Settings {
                training: self.soft.as_ref().map(|soft| soft.training.clone()),
                search: self.search.clone(),
            },
            soft: self.soft.as_ref().map(|soft| soft.store(&mut tensors)),
            rules: self.rules.as_ref().map(|rules| rules.store(&mut texts)).transpose()?,
            constraints,
            mixing_weights: self.mixing_weights.clone(),
            calibration: self.calibration.clone(),
            targets: self.targets.clone(),
        };
        header.check().map_err(Error::Mismatch)?;
        Container { header, tensors, texts }.write(path.as_ref(), FORMAT)
    }

    /// Reads a model. A truncated or altered file is refused; a file of another kind gets an error that says what it
    /// is.
    pub fn open(path: impl AsRef<Path>) -> Result<Model> {
        let path = path.as_ref();
        let mut file = Container::<Header>::read(path, FORMAT)?;
        file.header.check().map_err(|finding| Error::data(path, finding))?;
        let soft = match (file.header.soft.take(), file.header.settings.training.take()) {
            (Some(soft), Some(training)) => Some(soft.read(path, training, &mut file)?),
            (Some(_), None) => {
                return Err(Error::data(path, "soft rules must have training settings, but have none"));
            }
            (None, _) => None,
        };
        let rules = file.header.rules.take().map(|names| names.read(path, &mut file)).transpose()?;
        let text = file.texts.remove(CONSTRAINTS);
        let constraints = file.header.constraints.take().map(|header| header.read(path, text)).transpose()?;
        let Header { provenance, settings, mixing_weights, calibration, targets, .. } = file.header;
        Ok(Model {
            soft,
            rules,
            constraints,
            mixing_weights,
            calibration,
            search: settings.search,
            targets,
            provenance,
        })
    }
}

impl Header {
    /// What a header must keep to beyond its shape.
    fn check(&self) -> std::result::Result<(), String> {
        let hash = &self.provenance.hash;
        if hash.len() != 64 || !hash.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err("the data's hash must be 64 hexadecimal digits, but is not".into());
        }
        for MixingWeight { target, weight, valid_mrr } in &self.mixing_weights {
            for (what, number) in [("mixing weights", weight), ("reciprocal ranks", valid_mrr)] {
                if !(0.0..=1.0).contains(number) {
                    return Err(format!("{what} must be from 0 to 1, but one of “{target}” is {number}"));
                }
            }
        }
        if let Some(calibration) = &self.calibration {
            calibration.check()?;
        }
        Ok(())
    }
}

impl RuleModel {
    /// The names, and the rules among `texts`.
    fn store(&self, texts: &mut BTreeMap<String, String>) -> Result<RulesHeader> {
        for rules in [Some(&self.rules), self.train_rules.as_ref()].into_iter().flatten() {
            rules.check()?;
            if let Some(rule) = rules.unweighted().first() {
                let rule = rule.show((&self.names).into());
                return Err(Error::Rule(format!(
                    "the rules of a model must have weights, but one has none: {rule}"
                )));
            }
        }
        texts.insert(RULES.into(), self.rules.to_text(&self.names));
        if let Some(train_rules) = &self.train_rules {
            let (weights, rest) = self.difference(train_rules);
            texts.insert(TRAIN_WEIGHTS.into(), weights);
            texts.insert(TRAIN_RULES.into(), rest.to_text(&self.names));
        }
        Ok(RulesHeader {
            predicates: self.names.predicates.iter().map(String::from).collect(),
            properties: self.names.properties.iter().map(String::from).collect(),
            constants: self.names.entities.iter().map(String::from).collect(),
        })
    }
}

impl RulesHeader {
    /// The rules whose texts stand in `file`.
    fn read(self, path: &Path, file: &mut Container<Header>) -> Result<RuleModel> {
        let names = Vocabulary {
            entities: Names::new(self.constants),
            predicates: Names::new(self.predicates),
            properties: Names::new(self.properties),
        };
        let within = |error: Error| Error::data(path, error.to_string());
        let parse = |name: &str, text: &str| -> Result<RuleSet> {
            let rules = RuleSet::parse(name, text, &names).map_err(within)?;
            if rules.unweighted().is_empty() {
                Ok(rules)
            } else {
                Err(Error::data(path, "the rules of a model must have weights, but one has none"))
            }
        };
        let rules = file.texts.remove(RULES);
        let rules = rules.ok_or_else(|| Error::data(path, "the text of rules is missing"))?;
        let rules = parse(RULES, &rules)?;
        let train_rules = match (file.texts.remove(TRAIN_WEIGHTS), file.texts.remove(TRAIN_RULES)) {
            (Some(weights), Some(rest)) => {
                let rest = parse(TRAIN_RULES, &rest)?;
                Some(RuleModel::from_difference(&rules, &weights, rest).map_err(within)?)
            }
            (None, None) => None,
            _ => return Err(Error::data(path, "the rules fitted on train must be whole, but are not")),
        };
        Ok(RuleModel { names, rules, train_rules })
    }
}

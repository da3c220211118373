//! The constraints of a model, as they stand in its file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::constraint::{Constraint, KeptConstraint, KeptConstraints};
use crate::error::{Error, Result};
use crate::graph::{Names, Predicate, Vocabulary};

/// The name of their text.
pub(super) const CONSTRAINTS: &str = "constraints";

/// The names that the text of constraints uses, and for each constraint the targets whose candidates it refuses.
#[derive(Serialize, Deserialize)]
pub(super) struct ConstraintsHeader {
    predicates: Vec<String>,
    properties: Vec<String>,
    constants: Vec<String>,
    used_for: Vec<Vec<u32>>,
}

impl ConstraintsHeader {
    /// The names, and the text.
    pub fn of(kept: &KeptConstraints) -> (Self, String) {
        let text = kept.constraints.iter().map(|of| of.constraint.to_line(&kept.names) + "\n").collect();
        let header = ConstraintsHeader {
            predicates: kept.names.predicates.iter().map(String::from).collect(),
            properties: kept.names.properties.iter().map(String::from).collect(),
            constants: kept.names.entities.iter().map(String::from).collect(),
            used_for: kept
                .constraints
                .iter()
                .map(|of| of.used_for.iter().map(|target| target.0).collect())
                .collect(),
        };
        (header, text)
    }

    /// The constraints whose text stands in the file at `path`.
    pub fn read(self, path: &Path, text: Option<String>) -> Result<KeptConstraints> {
        let wrong = |finding: &str| Error::data(path, finding.to_owned());
        let names = Vocabulary {
            entities: Names::new(self.constants),
            predicates: Names::new(self.predicates),
            properties: Names::new(self.properties),
        };
        let text = text.ok_or_else(|| wrong("the text of constraints is missing"))?;
        let read = Constraint::parse(CONSTRAINTS, &text, &names)
            .map_err(|error| Error::data(path, error.to_string()))?;
        let is_known = |&target: &u32| (target as usize) < names.predicates.len();
        if read.len() != self.used_for.len() || !self.used_for.iter().flatten().all(is_known) {
            return Err(wrong("every constraint must have the targets it is used for, but one has not"));
        }
        let kept = |(constraint, used_for): (Constraint, Vec<u32>)| KeptConstraint {
            constraint,
            used_for: used_for.into_iter().map(Predicate).collect(),
        };
        let constraints = read.into_iter().zip(self.used_for).map(kept).collect();
        Ok(KeptConstraints { names, constraints })
    }
}

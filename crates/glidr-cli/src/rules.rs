//! `glidr rules`: a model's rules as logic.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use glidr::{Ensemble, Extraction, Model};
use serde_json::json;

use crate::output::{Output, table};
use crate::settings::HardFlags;

/// Print the rules that a model's weights stand for, most votes first.
#[derive(Args)]
#[command(
    after_help = "Rules are taken by --hard top-p, p = 0.25, unless told otherwise. A slot keeps the fillers within the top p of its mass, read as or; where P_true is among \
    them, the slot asks nothing. Equal rules are one, with their votes summed."
)]
pub struct Rules {
    /// The model
    model: PathBuf,
    /// Only the rules of this target; may be given several times
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,
    #[command(flatten)]
    hard: HardFlags,
    /// At most so many rules per target
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
}

impl Rules {
    /// Extracts and prints.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        let extraction = self.hard.extraction()?.unwrap_or(Extraction::TopP(0.25));
        let model = Model::open(&self.model)?;
        let ensembles: Vec<&Ensemble> = match &self.target[..] {
            [] => model.ensembles.iter().collect(),
            names => names.iter().map(|name| model.target(name)).collect::<Result<_, _>>()?,
        };
        let (mut rows, mut found) = (Vec::new(), Vec::new());
        for ensemble in ensembles {
            let target = model.predicates.name(ensemble.target.0);
            let rules = ensemble.extract(&model.schema, extraction);
            for (rule, votes) in rules.into_iter().take(self.limit.unwrap_or(usize::MAX)) {
                let text = rule.show(model.names());
                rows.push(vec![format!("{votes:.2}"), text.clone()]);
                found.push(json!({
                    "target": target,
                    "rule": text,
                    "votes": votes,
                    "variables": rule.variables(),
                    "literals": rule.body().len(),
                }));
            }
        }
        if output.json {
            return output.write_json(&json!({ "extraction": extraction.to_string(), "rules": found }));
        }
        output.write(&table(&["votes", "rule"], 2, rows))
    }
}

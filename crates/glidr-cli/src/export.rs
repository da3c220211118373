//! `glidr export`: the facts of a graph for another engine.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use glidr::Background;
use glidr::internals::export::{Known, csv_facts, json_facts};
use serde_json::json;

use crate::help::EXPERT;
use crate::listing::Format;
use crate::output::{Output, counted};
use crate::settings::Looked;
use crate::solve::write_file;
use crate::sources::open_data;

/// Write the facts of a graph for Prolog, Datalog, ASP, SPARQL or SQL.
///
/// They go with the rules of glidr rules --format. Every engine gets the same relations: fact(head, predicate, tail),
/// has(entity, property), entity(name).
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    glidr export my-graph/ --format prolog -o facts.pl\n  \
    glidr rules my.glidr --format prolog -o rules.pl     then: swipl facts.pl rules.pl\n  \
    glidr export my-graph/ --format csv -o tables/       fact.csv, has.csv, entity.csv\n\n\
    docs/export.md shows how each engine is run.")]
pub struct Export {
    /// Folder or file of triples [default: the built-in families]
    data: Option<PathBuf>,
    /// For which engine
    #[arg(long, value_enum)]
    format: Format,
    /// The file, or for csv the folder, that is written [default: standard output]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Which facts
    #[arg(long, value_enum, default_value = "all")]
    background: Looked,
    /// Seed that divides data that is not divided
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = EXPERT)]
    seed: u64,
}

impl Export {
    /// Opens and writes.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        if matches!(self.format, Format::Table | Format::Text) {
            anyhow::bail!("--format text and rules are for rules; the facts as text are the data itself");
        }
        if matches!(self.format, Format::Svg | Format::Dot) {
            anyhow::bail!("pictures are of rules: glidr rules --format svg or dot");
        }
        if self.format == Format::Csv && self.output.is_none() {
            anyhow::bail!("--format csv writes several files: name a folder for them with -o");
        }
        if output.json && self.output.is_none() && self.format != Format::Json {
            anyhow::bail!("--json tells what was written to a file: name it with -o");
        }
        let data = open_data(self.data.as_deref(), self.seed, output)?;
        let background = Background::from(self.background);
        let known = Known::of(&data, background);
        let mut files = Vec::new();
        match (&self.output, self.format) {
            (Some(folder), Format::Csv) => {
                std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
                for (name, text) in csv_facts(&known) {
                    files.push((folder.join(name), text.into_bytes()));
                }
            }
            (path, format) => {
                let mut text = Vec::new();
                match format.dialect() {
                    Some(dialect) => dialect.facts(&known, &mut text)?,
                    None => json_facts(&known, &mut text)?,
                }
                let Some(path) = path else { return output.write(&String::from_utf8(text)?) };
                files.push((path.clone(), text));
            }
        }
        for (path, text) in &files {
            write_file(path, text)?;
        }
        let (facts, properties) = (known.facts.len(), known.property_facts.len());
        if output.json {
            let files: Vec<&PathBuf> = files.iter().map(|(path, _)| path).collect();
            return output.write_json(&json!({
                "files": files, "facts": facts, "properties": properties, "entities": known.names.entities.len(),
            }));
        }
        let what = format!("{} and {}", counted(facts, "fact"), counted(properties, "property fact"));
        output.say(&format!("wrote {what}"));
        Ok(ExitCode::SUCCESS)
    }
}

//! What an experiment tells: tables, figures, notes, and all of it as JSON.

use std::path::{Path, PathBuf};

use anyhow::Context;
use glidr::internals::util::atomic_file;
use serde::Serialize;
use serde_json::Value;

/// A table to print.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// The names of the columns.
    pub header: Vec<String>,
    /// How many columns from the left are words.
    pub left: usize,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

/// The outcome of an experiment.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Tables to print.
    pub tables: Vec<Table>,
    /// Figures: file names and SVG texts.
    pub figures: Vec<(String, String)>,
    /// What the figures mean.
    pub notes: Vec<String>,
    /// Everything as JSON.
    pub value: Value,
}

impl Report {
    /// Writes the figures into `folder`, each beside its place and then renamed.
    pub fn write_figures(&self, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let mut written = Vec::new();
        for (name, text) in &self.figures {
            let path = folder.join(name);
            atomic_file::write(&path, text)?;
            written.push(path);
        }
        Ok(written)
    }
}

//! Where results and messages go.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// How results and messages are written.
pub struct Output {
    /// Results as JSON.
    pub json: bool,
    /// No progress, no messages.
    pub quiet: bool,
}

impl Output {
    /// Writes a result to standard output; a closed pipe is a quiet end.
    #[expect(clippy::unused_self, reason = "all that is printed goes through the one value")]
    pub fn write(&self, text: &str) -> anyhow::Result<ExitCode> {
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(ExitCode::SUCCESS),
        }
    }

    /// Writes a result as one JSON document.
    pub fn write_json(&self, value: &impl Serialize) -> anyhow::Result<ExitCode> {
        self.write(&(serde_json::to_string_pretty(value)? + "\n"))
    }

    /// Tells the user something on standard error.
    pub fn say(&self, message: &str) {
        if !self.quiet {
            let _ = writeln!(std::io::stderr().lock(), "{message}");
        }
    }

    /// Tells the user what went wrong.
    #[expect(clippy::unused_self, reason = "all that is printed goes through the one value")]
    pub fn error(&self, error: &anyhow::Error) {
        let _ = writeln!(std::io::stderr().lock(), "glidr-experiments: {error:#}");
    }

    /// A progress bar on standard error; hidden when quiet and where standard error is no terminal.
    pub fn bar(&self, length: u64, template: &str) -> ProgressBar {
        if self.quiet || !std::io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(length).with_style(style.progress_chars("━╸─"))
    }
}

/// An aligned table; columns after the first `left` are numbers.
pub fn table(header: &[String], left: usize, rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    // A name of the data may hold signs that would steer the terminal.
    let visible = |cell: &String| cell.replace(char::is_control, "\u{fffd}");
    let rows = rows.iter().map(|row| row.iter().map(visible));
    table.load_style(presets::NOTHING).set_header(header).add_rows(rows);
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if number >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

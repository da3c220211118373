//! Where results and messages go.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
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
        let _ = writeln!(std::io::stderr().lock(), "glidr: {error:#}");
    }

    /// A progress bar on standard error; where that is no terminal, a line a minute; hidden when quiet.
    pub fn bar(&self, length: u64, template: &str) -> ProgressBar {
        if self.quiet {
            return ProgressBar::hidden();
        }
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::term_like(Box::new(Log::new(Box::new(std::io::stderr()), MINUTE)))
        };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(length), target);
        bar.with_style(style.progress_chars("━╸─"))
    }
}

const MINUTE: Duration = Duration::from_mins(1);

/// A log instead of a terminal: of all lines drawn, one every so often.
struct Log {
    often: Duration,
    state: Mutex<Drawn>,
}

struct Drawn {
    to: Box<dyn Write + Send>,
    line: String,
    last: Instant,
}

impl Log {
    fn new(to: Box<dyn Write + Send>, often: Duration) -> Self {
        Log { often, state: Mutex::new(Drawn { to, line: String::new(), last: Instant::now() }) }
    }

    fn state(&self) -> MutexGuard<'_, Drawn> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        out.write_str("Log")
    }
}

impl TermLike for Log {
    fn width(&self) -> u16 {
        100
    }

    fn move_cursor_up(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> std::io::Result<()> {
        self.write_str(text)
    }

    fn write_str(&self, text: &str) -> std::io::Result<()> {
        self.state().line.push_str(text);
        Ok(())
    }

    fn clear_line(&self) -> std::io::Result<()> {
        self.state().line.clear();
        Ok(())
    }

    fn flush(&self) -> std::io::Result<()> {
        let mut state = self.state();
        let line = std::mem::take(&mut state.line);
        if line.trim().is_empty() || state.last.elapsed() < self.often {
            return Ok(());
        }
        state.last = Instant::now();
        writeln!(state.to, "{}", line.trim_end())
    }
}

/// An aligned table; columns after the first `left` are numbers.
pub fn table(header: &[&str], left: usize, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    for row in rows {
        table.add_row(row.iter().map(|cell| visible(cell)));
    }
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if number >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A name as it can be shown: signs that would steer the terminal are written out.
pub fn visible(text: &str) -> String {
    let turns = |sign: char| matches!(sign, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let show = |sign: char| {
        if sign.is_control() || turns(sign) { sign.escape_default().to_string() } else { sign.to_string() }
    };
    text.chars().map(show).collect()
}

/// A count with a word, in the plural where it must be.
pub fn counted(count: usize, word: &str) -> String {
    match (count, word.strip_suffix('y')) {
        (1, _) => format!("1 {word}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {word}s"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("nobody panics").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// What a bar of three steps leaves in a log that takes a line this often.
    fn logged(often: Duration) -> String {
        let shared = Shared::default();
        let log = Log::new(Box::new(shared.clone()), often);
        let target = ProgressDrawTarget::term_like(Box::new(log));
        let style = ProgressStyle::with_template("{pos} of {len} done").expect("a sound template");
        let bar = ProgressBar::with_draw_target(Some(3), target).with_style(style);
        for _ in 0..3 {
            bar.inc(1);
            bar.tick();
        }
        bar.abandon();
        let bytes = shared.0.lock().expect("nobody panics").clone();
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn without_a_terminal_progress_is_a_line_now_and_then() {
        let lines = logged(Duration::ZERO);
        assert!(lines.lines().any(|line| line == "1 of 3 done"), "{lines:?}");
        assert!(lines.lines().any(|line| line == "3 of 3 done"), "{lines:?}");
        assert!(!lines.contains('\u{1b}'), "no signs that steer a terminal: {lines:?}");
        assert_eq!(logged(MINUTE), "", "work of less than a minute needs no line");
    }
}

//! The crate's one error type: each message names the place, the rule and what was found.

use std::path::PathBuf;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{}: {said}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        said: std::io::Error,
    },
    /// A line of a data file breaks a rule.
    #[error("{}:{line}: {finding}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The rule and what was found.
        finding: String,
    },
    /// A place in a text of rules breaks the grammar, or names what nobody has.
    #[error("{}:{line}:{column}: {finding}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1 in characters.
        column: usize,
        /// The rule and what was found.
        finding: String,
    },
    /// A file or folder as a whole breaks a rule.
    #[error("{}: {finding}", path.display())]
    Data {
        /// The file or folder.
        path: PathBuf,
        /// The rule and what was found.
        finding: String,
    },
    /// A setting is out of its range.
    #[error("{0}")]
    Setting(String),
    /// A name that nobody has.
    #[error("unknown {kind} “{name}”{}", hint(near))]
    UnknownName {
        /// What sort of name it should be.
        kind: &'static str,
        /// The name as given.
        name: String,
        /// Names that look like it.
        near: Vec<String>,
    },
    /// A rule that is none of the language.
    #[error("{0}")]
    Rule(String),
    /// A model or checkpoint that does not fit what is asked of it.
    #[error("{0}")]
    Mismatch(String),
}

/// A result with the crate's error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Wraps what the system said of `path`.
    pub fn file(path: impl Into<PathBuf>, said: std::io::Error) -> Self {
        Error::File { path: path.into(), said }
    }

    /// A finding about `path` as a whole.
    pub fn data(path: impl Into<PathBuf>, finding: impl Into<String>) -> Self {
        Error::Data { path: path.into(), finding: finding.into() }
    }
}

fn hint(near: &[String]) -> String {
    match near {
        [] => String::new(),
        [one] => format!("; did you mean “{one}”?"),
        several => format!("; did you mean one of “{}”?", several.join("”, “")),
    }
}

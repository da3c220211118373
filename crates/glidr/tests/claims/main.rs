//! What the method claims, as tests: one binary, a module per kind of claim.
#![expect(clippy::print_stderr, reason = "a test says what it did not run")]

mod adjoint;
mod blending;
mod calibrating;
mod checking;
mod constraints;
mod digests;
mod learning;
mod models;
mod oracle;
mod paper;
mod planted;
mod ranking;
mod rule_sets;
mod rule_weights;
mod searching;
mod solving;
mod sparse;
mod text;
mod twin;

use std::path::PathBuf;

/// A file or folder of the data that stands beside the project, or `None` with a clear word.
pub(crate) fn beside(path: &str) -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let found = root.join(path);
    if !found.exists() {
        eprintln!("not run: {} is absent", found.display());
        return None;
    }
    Some(found)
}

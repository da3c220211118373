//! What the method claims, as tests: one binary, a module per kind of claim.

mod adjoint;
mod oracle;
mod paper;
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

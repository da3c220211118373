//! What every room may use: named random streams, progress of long work, the listwise loss, projected Adam, and files
//! that are there whole or not at all.

pub mod atomic_file;
pub mod file_kind;
pub(crate) mod listwise;
pub mod progress;
pub(crate) mod projected_adam;
pub(crate) mod random;

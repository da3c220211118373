//! What every room may use: named random streams, the listwise loss, projected Adam, and files
//! that are there whole or not at all.

pub mod atomic_file;
pub mod file_kind;
pub(crate) mod listwise;
pub(crate) mod projected_adam;
pub(crate) mod random;

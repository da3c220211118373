//! The study of handwritten digits: an encoder and one rule per digit, trained end to end.
//!
//! In: the IDX files of MNIST and [`Settings`]. Out: a [`DigitsRun`], its [`Confusion`] and pictures. The rules are the
//! layer of `glidr-burn`.

mod confusion;
mod deskew;
mod idx;
mod network;
pub mod pictures;
mod run;
mod settings;

pub use confusion::Confusion;
pub use idx::Digits;
pub use network::{Network, Patches};
pub use run::{DigitsEnd, DigitsRun};
pub use settings::Settings;

//! The study of handwritten digits: an encoder and one rule per digit, trained end to end.

pub mod idx;
pub mod judge;
pub mod network;
pub mod pictures;
pub mod settings;
pub mod study;
mod upright;

pub use idx::Digits;
pub use judge::Confusion;
pub use network::Network;
pub use settings::Settings;
pub use study::{Ended, Run};

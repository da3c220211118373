//! The study of handwritten digits.

mod command;
#[path = "../common/mod.rs"]
mod common;
mod run;

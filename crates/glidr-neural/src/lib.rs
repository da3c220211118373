#![doc = include_str!("../../../docs/neural.md")]

mod kernel;
pub mod kin;
pub mod layer;
mod links;
pub mod mnist;
mod ops;
pub mod parameters;
pub mod random;

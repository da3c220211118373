#![doc = include_str!("../../../docs/neural.md")]

pub mod attention;
mod kernel;
pub mod kin;
pub mod layer;
mod links;
pub mod mnist;
mod ops;
pub mod parameters;
pub mod random;

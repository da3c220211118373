#![doc = include_str!("../README.md")]

pub mod attention;
mod kernel;
pub mod layer;
mod links;
mod ops;
pub mod parameters;
pub mod random;

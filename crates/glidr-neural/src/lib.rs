//! GLIDR as a differentiable layer: rules on top of a network, trained end to end.

mod kernel;
pub mod kin;
pub mod layer;
mod links;
pub mod mnist;
mod ops;
pub mod parameters;
pub mod random;

//! Claims about the layer, each a test.

mod adjoint;
#[path = "../../examples/hidden_property/kin.rs"]
mod kin;
mod linked;
mod mixing;
mod twin;

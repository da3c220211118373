//! Claims about the layer and the study, each a test.

mod adjoint;
mod linked;
mod mixing;
mod study;
mod twin;

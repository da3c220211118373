//! Weights of a target's rules, fitted so that true answers rank before others.
//!
//! In: the candidates that each rule fires on, and a [`QuerySample`](super::evaluate::QuerySample) that labels them.
//! Out: the few that are taken, and their weights, for tails and for heads, and the reciprocal ranks that they give on *valid*.

mod fit;
mod greedy;
mod objective;
mod ranks;

pub(super) use fit::scores;
pub(super) use greedy::{Offer, simplicity, take_greedily};
pub(super) use objective::{Fits, Refit};

//! Formats that facts are read from.

pub(super) mod tsv;

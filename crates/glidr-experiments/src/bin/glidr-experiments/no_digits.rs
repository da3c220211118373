//! `digits` in a program that was built without the network library.

use std::process::ExitCode;

use clap::Args;

use crate::output::Output;

/// The study of handwritten digits.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Digits {
    /// Not read
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<String>,
}

impl Digits {
    /// Says how to get the study.
    #[expect(clippy::unused_self, reason = "the study that is built with the feature has the same method")]
    pub fn run(&self, _: &Output) -> anyhow::Result<ExitCode> {
        anyhow::bail!(
            "the digits study needs the feature `digits`, but this program was built without it: \
             cargo install --path crates/glidr-experiments --features digits"
        )
    }
}

//! `glidr experiment`: hands over to `glidr-experiment`, which is built with a network library.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};
use clap::Args;

use crate::output::Output;

/// Studies of rules on top of a neural network, such as `glidr experiment mnist --help`.
///
/// They need a network library, which this program builds without: the work is handed over to the
/// program `glidr-experiment`, beside this one or in PATH (cargo install --path crates/glidr-neural).
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Experiment {
    /// The study and its arguments, handed on as they are
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "STUDY")]
    arguments: Vec<String>,
}

impl Experiment {
    /// Hands over; the exit code is the other program's.
    pub fn run(&self, output: &Output, threads: Option<u16>) -> anyhow::Result<ExitCode> {
        let name = format!("glidr-experiment{}", std::env::consts::EXE_SUFFIX);
        let beside = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join(&name)));
        let program = beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(&name));
        let mut command = Command::new(&program);
        command.args(&self.arguments);
        command.args(output.json.then_some("--json")).args(output.quiet.then_some("--quiet"));
        if let Some(threads) = threads {
            command.args(["--threads", &threads.to_string()]);
        }
        match command.status() {
            Ok(status) => {
                Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
                "{name} must be beside glidr or in PATH, but is not: cargo install --path crates/glidr-neural"
            ),
            Err(error) => Err(error).with_context(|| program.display().to_string()),
        }
    }
}

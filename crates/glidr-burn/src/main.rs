//! `glidr-experiment`: studies that need a neural network, from the command line.
//!
//! The main command builds without a network library; it hands `glidr experiment …` over to this program.

mod experiment;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    version,
    about = "Studies of rules on top of a neural network",
    long_about = "Studies of rules on top of a neural network, trained end to end. Also reached as `glidr experiment`.",
    after_help = "Exit codes: 0 done, 1 an error that the message names, 2 wrong usage, \
                  130 training was stopped by a signal and a checkpoint is kept.",
    max_term_width = 100
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print results as one JSON document
    #[arg(long, global = true)]
    json: bool,
    /// Show no progress and no messages, only results and errors
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Threads to use [default: all processors]
    #[arg(long, global = true, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

#[derive(Subcommand)]
enum Command {
    /// Handwritten digits: an encoder of image patches and one rule per digit, trained together
    Mnist(experiment::Mnist),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let threads = usize::from(arguments.threads.unwrap_or(0));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    let Command::Mnist(mnist) = arguments.command;
    match pool.map_err(anyhow::Error::from).and_then(|()| mnist.run(arguments.json, arguments.quiet)) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr().lock(), "glidr-experiment: {error:#}");
            ExitCode::from(1)
        }
    }
}

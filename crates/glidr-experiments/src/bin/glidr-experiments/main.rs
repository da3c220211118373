//! `glidr-experiments`: the paper's tables and figures, and ours, from the command line.
//!
//! Every command is three steps: arguments, one call into the library, one printer. Results go to
//! standard output, progress and messages to standard error.

#[cfg(feature = "digits")]
mod digits;
#[cfg(not(feature = "digits"))]
#[path = "no_digits.rs"]
mod digits;
mod output;
mod signals;
mod studies;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::output::Output;

/// Exit code of a run that was stopped by a signal and can be resumed.
const STOPPED: u8 = 130;

#[derive(Parser)]
#[command(
    version,
    about = "Repeats the paper's experiments, and ours, with the paper's numbers beside them",
    long_about = "Repeats the paper's experiments, and ours, with the paper's numbers beside them.\n\n\
                  Settings are a plan in TOML, built in. A unit of work is one data set, one seed and one setting. \
                  Each is kept in OUT/NAME.jsonl as soon as it is done, so that the same command continues after \
                  Ctrl-C. Tables go to standard output, figures as SVG to OUT.",
    after_help = "Examples:\n  \
                  glidr-experiments completion                          all of tab:metrics: hours\n  \
                  glidr-experiments completion --data umls --seeds 0,1  a part of it\n  \
                  glidr-experiments noise --data families --steps 50 -o /tmp/out    a quick look on built-in data\n  \
                  glidr-experiments scaling --print-plan > my.toml      then change it, and run it with --plan my.toml\n\n\
                  Exit codes: 0 done, 1 an error that the message names, 2 wrong usage, \
                  130 stopped by a signal, and what was done is kept.",
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
    #[command(flatten)]
    Study(studies::Study),
    /// Handwritten digits: an encoder of image patches and one rule per digit, trained end to end
    Digits(digits::Digits),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = arguments.threads.map_or_else(all, usize::from);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    let output = Output { json: arguments.json, quiet: arguments.quiet };
    let ended = pool.map_err(anyhow::Error::from).and_then(|()| match arguments.command {
        Command::Study(study) => study.run(&output, threads),
        Command::Digits(digits) => digits.run(&output),
    });
    ended.unwrap_or_else(|error| {
        output.error(&error);
        ExitCode::from(1)
    })
}

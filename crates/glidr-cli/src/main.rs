//! `glidr`: readable rules out of a knowledge graph, from the command line.
//!
//! Every command is three steps: arguments, one call into the library, one printer. Results go to
//! standard output, progress and messages to standard error.

mod bars;
mod check;
mod complete;
mod constraints;
mod eval;
mod explain;
mod export;
mod generate;
mod help;
mod info;
mod keeper;
mod learn;
mod listing;
mod output;
mod pictures;
mod predict;
mod rules;
mod scoring;
mod screen;
mod search;
mod settings;
mod signals;
mod solve;
mod sources;
mod tell;
mod time;

use std::process::ExitCode;

use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::output::Output;

/// Exit code of a run that was stopped by a signal and can be taken up again.
const STOPPED: u8 = 130;
/// The heading of flags that every command has.
const EVERYWHERE: &str = "With every command";

#[derive(Parser)]
#[command(
    version,
    about = "Learns readable, graph-like logic rules from a knowledge graph.\n\n\
             DATA is a folder with train, valid and test (.txt or .tsv, plain or .gz), or one file of tab-separated \
             triples. Without DATA, commands use two families that are built in.",
    after_help = "Examples:\n  \
                  glidr learn                              learn, rank and print rules of the built-in families\n  \
                  glidr learn my-graph/ -o my.glidr        learn all predicates of your own graph\n  \
                  glidr rules my.glidr                     the best rules as logic\n  \
                  glidr predict my.glidr --target uncle --head Arthur\n\n\
                  Exit codes: 0 done, 1 an error, 2 wrong usage, 130 stopped. COMMAND --help-all shows all flags.",
    max_term_width = 100,
    disable_help_flag = true,
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print results as one JSON document (docs/json.md)
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    json: bool,
    /// Show results and errors alone
    #[arg(long, short, global = true, help_heading = EVERYWHERE)]
    quiet: bool,
    /// Threads to use [default: all processors]
    #[arg(long, global = true, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = EVERYWHERE)]
    threads: Option<u16>,
    /// Show help that fits a screen
    #[arg(short, long, global = true, action = ArgAction::HelpShort, help_heading = EVERYWHERE)]
    help: Option<bool>,
    /// Show help with expert settings
    #[arg(long, global = true, action = ArgAction::HelpLong, help_heading = EVERYWHERE)]
    help_all: Option<bool>,
}

#[derive(Subcommand)]
enum Command {
    Learn(Box<learn::Learn>),
    Eval(eval::Eval),
    Rules(rules::Rules),
    Predict(predict::Predict),
    Explain(explain::Explain),
    Complete(complete::Complete),
    Constraints(constraints::Constraints),
    Check(check::Check),
    Solve(solve::Solve),
    Export(export::Export),
    Info(info::Info),
    Generate(generate::Generate),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  glidr completions bash > ~/.local/share/bash-completion/completions/glidr"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Show the help of a command
    #[command(after_help = "Example:\n  glidr help learn     the same as glidr learn --help")]
    Help {
        /// The command [default: the program itself]
        command: Option<String>,
    },
}

fn main() -> ExitCode {
    let program = help::in_two_sizes(Arguments::command());
    let arguments = match Arguments::from_arg_matches(&program.clone().get_matches()) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    let threads = arguments
        .threads
        .map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let pool = rayon_pool(threads);
    let output = Output { json: arguments.json, quiet: arguments.quiet };
    let ended = pool.and_then(|()| match arguments.command {
        Command::Learn(learn) => learn.run(&output),
        Command::Eval(eval) => eval.run(&output),
        Command::Rules(rules) => rules.run(&output),
        Command::Predict(predict) => predict.run(&output),
        Command::Explain(explain) => explain.run(&output),
        Command::Complete(complete) => complete.run(&output),
        Command::Constraints(constraints) => constraints.run(&output),
        Command::Check(check) => check.run(&output),
        Command::Solve(solve) => solve.run(&output),
        Command::Export(export) => export.run(&output),
        Command::Info(info) => info.run(&output),
        Command::Generate(generate) => generate.run(&output),
        Command::Help { command } => help::show(&program, command.as_deref()),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut program.clone(), "glidr", &mut script);
            let script = String::from_utf8_lossy(&script);
            if output.json {
                output.write_json(&serde_json::json!({ "script": script }))
            } else {
                output.write(&script)
            }
        }
    });
    match ended {
        Ok(code) => code,
        Err(error) => {
            output.error(&error);
            ExitCode::from(1)
        }
    }
}

fn rayon_pool(threads: usize) -> anyhow::Result<()> {
    Ok(rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?)
}

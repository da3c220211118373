//! `glidr`: readable rules out of a knowledge graph, from the command line.
//!
//! Every command is three steps: arguments, one call into the library, one printer. Results go to
//! standard output, progress and messages to standard error.

mod bars;
mod complete;
mod eval;
mod explain;
mod export;
mod generate;
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

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::output::Output;

/// Exit code of a run that was stopped by a signal and can be taken up again.
const STOPPED: u8 = 130;

#[derive(Parser)]
#[command(
    version,
    about = "Learns readable, graph-like logic rules from a knowledge graph",
    long_about = "Learns readable, graph-like logic rules from a knowledge graph: give it triples, and it learns \
                  rules by gradient descent, ranks missing facts, and prints the rules as logic.\n\n\
                  DATA is a folder with train, valid, test (and facts) as .txt or .tsv, plain or .gz, or one file \
                  of tab-separated triples. Without DATA, commands use Hinton's two families, which are built in.",
    after_help = "Examples:\n  \
                  glidr learn                              learn, rank and print rules of the built-in families\n  \
                  glidr learn my-graph/ -o my.glidr        learn all predicates of your own graph\n  \
                  glidr eval my.glidr                      MRR and Hits on its test split\n  \
                  glidr rules my.glidr --target uncle      the rules as logic\n  \
                  glidr predict my.glidr --target uncle --head Arthur -k 5\n\n\
                  Exit codes: 0 done, 1 an error that the message names, 2 wrong usage, \
                  130 learning was stopped by a signal and a checkpoint is kept.",
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
    /// Learn rules from a graph and keep them as a model
    Learn(Box<learn::Learn>),
    /// Rank the held-out facts of a graph with a model: MRR and Hits@1, @3, @10
    Eval(eval::Eval),
    /// Print rules as logic, measured, or write them for Prolog, Datalog, ASP, SPARQL or SQL
    Rules(rules::Rules),
    /// Answer p(h, ?) or p(?, t): the likeliest candidates with their probabilities
    Predict(predict::Predict),
    /// Tell why a fact is likely or not: rules that fire, with proofs, and rules that fail
    Explain(explain::Explain),
    /// Give all new facts over the whole graph, most probable first, each with its best rule
    Complete(complete::Complete),
    /// Apply rules to facts, exactly, and write the new facts with rule and confidence
    Solve(solve::Solve),
    /// Write the facts of a graph for Prolog, Datalog, ASP, SPARQL or SQL
    Export(export::Export),
    /// Describe a model file or a data set
    Info(info::Info),
    /// Make a synthetic graph with planted rules
    Generate(generate::Generate),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let threads = arguments
        .threads
        .map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let pool = rayon_pool(threads);
    let output = Output { json: arguments.json, quiet: arguments.quiet };
    let ended = pool.and_then(|()| match arguments.command {
        Command::Learn(learn) => learn.run(&output, threads),
        Command::Eval(eval) => eval.run(&output),
        Command::Rules(rules) => rules.run(&output),
        Command::Predict(predict) => predict.run(&output),
        Command::Explain(explain) => explain.run(&output),
        Command::Complete(complete) => complete.run(&output),
        Command::Solve(solve) => solve.run(&output),
        Command::Export(export) => export.run(&output),
        Command::Info(info) => info.run(&output),
        Command::Generate(generate) => generate.run(&output),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "glidr", &mut script);
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

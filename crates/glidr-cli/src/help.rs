//! Help in two sizes: `--help` fits a screen, `--help-all` shows every flag.
//!
//! A flag under a heading of expert settings is in `--help-all` alone. A flag is defined once, for both.

use clap::{Arg, Command};

/// The heading of expert settings; longer ones begin with it.
pub const EXPERT: &str = "Expert settings";
/// No heading of its own, for a flag among expert settings that every user needs.
pub const USUAL: Option<&str> = None;

/// The command with its help in two sizes, and that of all its subcommands.
pub fn in_two_sizes(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, in_two_sizes_alone))
}

fn in_two_sizes_alone(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let is_expert = is_expert(&arg);
        arg.hide_short_help(is_expert)
    });
    if !command.get_arguments().any(is_expert) {
        return command;
    }
    let examples = command.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
    let last = format!("glidr {} --help-all shows expert settings.", command.get_name());
    command.after_help(examples + &last)
}

fn is_expert(arg: &Arg) -> bool {
    arg.get_help_heading().is_some_and(|heading| heading.starts_with(EXPERT))
}

/// Shows the help of a command, or that of the program.
pub fn show(program: &Command, command: Option<&str>) -> ! {
    let words = ["glidr"].into_iter().chain(command).chain(["--help"]);
    match program.clone().try_get_matches_from(words) {
        Err(help) => help.exit(),
        Ok(_) => unreachable!("--help is always answered by help"),
    }
}

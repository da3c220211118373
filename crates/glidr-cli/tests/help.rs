//! Help of every command: `--help` fits a screen and teaches, `--help-all` shows every flag.

mod common;

use std::collections::BTreeSet;

use common::{folder, glidr, json, run, stderr, stdout};

/// A screen, in lines and columns.
const SCREEN: (usize, usize) = (40, 100);

/// What the program says on a screen of usual width.
fn said(arguments: &[&str]) -> String {
    stdout(&glidr().args(arguments).env("COLUMNS", "100").output().expect("the program starts"))
}

/// All commands, as the program lists them.
fn commands() -> Vec<String> {
    let help = said(&["--help"]);
    let list = help.split_once("Commands:\n").expect("a list of commands").1;
    let lines = list.lines().take_while(|line| !line.is_empty());
    let commands: Vec<String> =
        lines.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect();
    assert!(commands.len() > 10 && commands.contains(&"learn".to_owned()), "{commands:?}");
    commands
}

/// The flags of a command that the completion script of bash knows.
fn flags(script: &str, command: &str) -> BTreeSet<String> {
    let part = script.split_once(&format!("        glidr__subcmd__{command})\n")).expect("the command").1;
    let list = part.split_once("opts=\"").expect("its words").1.split_once('"').expect("their end").0;
    list.split(' ').filter(|word| word.starts_with('-')).map(str::to_owned).collect()
}

/// The flags that a text of help describes.
fn described(help: &str) -> BTreeSet<String> {
    let lines = help.lines().map(str::trim).filter(|line| line.starts_with('-'));
    let words = lines.flat_map(|line| line.split([' ', ',']).take_while(|word| !word.starts_with('<')));
    words.filter(|word| word.starts_with('-') && word.len() > 1).map(str::to_owned).collect()
}

#[test]
fn help_of_every_command_fits_a_screen_and_gives_examples() {
    let commands = commands();
    let mut all = vec![vec!["--help"]];
    all.extend(commands.iter().map(|command| vec![command.as_str(), "--help"]));
    for arguments in all {
        let help = said(&arguments);
        let wide = help.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(help.lines().count() <= SCREEN.0 && wide <= SCREEN.1, "{arguments:?}:\n{help}");
        assert!(help.contains("\nExample"), "{arguments:?}:\n{help}");
        let name = if arguments.len() > 1 { format!("glidr {}", arguments[0]) } else { "glidr".into() };
        assert!(help.lines().any(|line| line.starts_with(&format!("  {name} "))), "{help}");
    }
}

#[test]
fn examples_in_help_have_arguments_that_the_program_takes() {
    let folder = folder();
    for command in commands() {
        let help = said(&[&command, "--help"]);
        let (_, examples) = help.split_once("\nExample").expect("examples");
        for line in examples.lines().filter_map(|line| line.strip_prefix("  glidr ")) {
            let typed = line.split("  ").next().unwrap_or_default();
            let typed = typed.split(" > ").next().unwrap_or_default();
            let output = run(folder.path(), &format!("{typed} --help"));
            assert!(output.status.success(), "{line}: {}", stderr(&output));
        }
    }
}

#[test]
fn help_says_where_more_is_and_help_all_has_every_flag() {
    let script = json(&run(folder().path(), "completions bash --json"));
    let script = script["script"].as_str().expect("a text");
    for command in commands() {
        let (short, all) = (said(&[&command, "--help"]), said(&[&command, "--help-all"]));
        let flags = flags(script, &command);
        assert!(flags.contains("--help-all"), "{command}: {flags:?}");
        assert_eq!(described(&all), flags, "{command}:\n{all}");
        let shown = described(&short);
        assert!(shown.is_subset(&flags), "{command}:\n{short}");
        let last = format!("glidr {command} --help-all shows expert settings.");
        let is_told = short.lines().last() == Some(&last);
        assert_eq!(is_told, shown.len() < flags.len(), "{command}:\n{short}");
    }
}

#[test]
fn short_help_is_the_same_by_any_name() {
    let help = said(&["eval", "--help"]);
    assert_eq!(said(&["eval", "-h"]), help);
    assert_eq!(said(&["help", "eval"]), help);
    assert_eq!(said(&["help"]), said(&["--help"]));
    let unknown = run(folder().path(), "help evil");
    assert!(unknown.status.code() == Some(2) && stderr(&unknown).contains("'eval'"), "{}", stderr(&unknown));
}

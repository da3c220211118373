//! What the tests of the program share: running it as a user does, and reading what it says.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

pub fn program() -> Command {
    Command::new(assert_cmd::cargo::cargo_bin!("glidr-experiments"))
}

pub fn run(folder: &Path, arguments: &str) -> Output {
    program().current_dir(folder).args(arguments.split_whitespace()).output().expect("the program starts")
}

pub fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn json(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).expect("a JSON document")
}

pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder to work in")
}

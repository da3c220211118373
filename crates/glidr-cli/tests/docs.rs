//! The pages a newcomer reads: every command of the README, the guide, docs/export.md and docs/constraints.md is run, and prints what the page
//! says. `tools/engines` installs the sqlite3 that the last of these calls.
//!
//! A block of ```` ```console ```` holds commands after `$ ` and below each what it prints. All blocks of a page run in one
//! folder, in order. Times are not compared. `UPDATE_DOCS=1` writes what is printed now into the pages.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const OPEN: &str = "```console\n";

/// The project's root; a packed crate has none, and then there are no pages to test.
fn root() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("docs/guide").is_dir().then_some(root)
}

fn pages(root: &Path) -> Vec<PathBuf> {
    let guide = fs::read_dir(root.join("docs/guide")).expect("the guide");
    let mut pages: Vec<PathBuf> = guide.map(|page| page.expect("a page").path()).collect();
    pages.push(root.join("README.md"));
    pages.push(root.join("docs/export.md"));
    pages.push(root.join("docs/constraints.md"));
    pages.sort();
    pages
}

/// What a command prints, on standard output and standard error.
fn printed(folder: &Path, command: &str) -> String {
    let program = assert_cmd::cargo::cargo_bin!("glidr");
    let programs = program.parent().expect("a folder").display();
    let path = std::env::var("PATH").unwrap_or_default();
    let shell = Command::new("sh")
        .args(["-c", &format!("{{ {command}\n}} 2>&1")])
        .current_dir(folder)
        .env("PATH", format!("{programs}:{path}"))
        .output()
        .expect("a shell");
    assert!(shell.status.success(), "{command}\n{}", String::from_utf8_lossy(&shell.stdout));
    String::from_utf8(shell.stdout).expect("UTF-8")
}

/// The commands of a block, lines that a `\` or an open here-document goes on with included.
fn commands(block: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut until: Option<String> = None;
    let mut goes_on = false;
    for line in block.lines() {
        if let Some(end) = &until {
            let last = commands.last_mut().expect("a command began it");
            let _ = write!(last, "\n{line}");
            if line == end {
                until = None;
            }
        } else if let Some(command) = line.strip_prefix("$ ") {
            commands.push(command.to_owned());
            goes_on = command.ends_with('\\');
            until = command.split_once("<<'").map(|(_, rest)| rest.trim_end_matches('\'').to_owned());
        } else if goes_on {
            let last = commands.last_mut().expect("a command began it");
            let _ = write!(last, "\n{line}");
            goes_on = line.ends_with('\\');
        }
    }
    commands
}

/// The text without what differs from run to run: seconds.
fn comparable(text: &str) -> String {
    let words = text.split(' ').collect::<Vec<_>>();
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    let timed = |place: usize| {
        is_number(words[place])
            && words.get(place + 1).is_some_and(|next| *next == "s" || next.starts_with("s\n"))
    };
    (0..words.len()).map(|place| if timed(place) { "…" } else { words[place] }).collect::<Vec<_>>().join(" ")
}

/// The page as it reads when every command prints what it prints now.
fn run_page(text: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder to work in");
    let mut parts = text.split(OPEN);
    let mut page = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (block, rest) = part.split_once("```").expect("every block ends");
        page += OPEN;
        for command in commands(block) {
            let _ = writeln!(page, "$ {command}");
            page += &printed(folder.path(), &command);
        }
        page += "```";
        page += rest;
    }
    page
}

#[test]
fn every_command_of_the_readme_and_the_guide_prints_what_the_page_says() {
    let Some(root) = root() else { return };
    let mut changed = Vec::new();
    for path in pages(&root) {
        let text = fs::read_to_string(&path).expect("a page");
        let now = run_page(&text);
        if comparable(&now) == comparable(&text) {
            continue;
        }
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, &now).expect("the page can be written");
        } else {
            let lines = now.lines().zip(text.lines());
            let first = lines.clone().find(|(now, then)| comparable(now) != comparable(then));
            changed.push(format!("{}: {first:#?}", path.display()));
        }
    }
    assert!(
        changed.is_empty(),
        "run the test with UPDATE_DOCS=1 and look at what changed:\n{}",
        changed.join("\n")
    );
}

#[test]
fn the_guides_rust_code_is_the_example_that_is_compiled_and_run() {
    let Some(root) = root() else { return };
    let page = fs::read_to_string(root.join("docs/guide/5-from-rust.md")).expect("the page");
    let code = fs::read_to_string(root.join("crates/glidr/examples/guide.rs")).expect("the example");
    let shown = page.split_once("```rust\n").expect("a block").1.split_once("```").expect("its end").0;
    assert!(code.ends_with(shown), "docs/guide/5-from-rust.md must show crates/glidr/examples/guide.rs");
}

#[test]
fn every_link_of_a_page_leads_to_a_file() {
    let Some(root) = root() else { return };
    let mut all = pages(&root);
    for folder in ["docs", ".", "crates/glidr", "crates/glidr-burn"] {
        let found =
            fs::read_dir(root.join(folder)).expect("a folder").map(|page| page.expect("a page").path());
        all.extend(found.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    }
    let mut broken = Vec::new();
    for path in all {
        let text = fs::read_to_string(&path).expect("a page");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            let file = link.split('#').next().unwrap_or_default();
            let there = path.parent().expect("a folder").join(file);
            if !link.contains("://") && !file.is_empty() && !there.exists() {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

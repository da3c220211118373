//! The real program `glidr-experiment`, run as a user runs it, on a small made-up set of digits.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Writes IDX files of `count` images each: digit d has a column of its own bright, or a slanted one.
fn write_digits(folder: &Path, count: u32, slant: u32) {
    for part in ["train", "t10k"] {
        let mut images: Vec<u8> =
            [0x0803, count, 28, 28].iter().flat_map(|n: &u32| n.to_be_bytes()).collect();
        let mut labels: Vec<u8> = [0x0801, count].iter().flat_map(|n: &u32| n.to_be_bytes()).collect();
        for number in 0..count {
            labels.push((number % 10) as u8);
            let place = |pixel: u32| (pixel % 28 + slant * (pixel / 28 / 2)) % 28 / 3;
            images.extend((0..784).map(|pixel| if place(pixel) == number % 10 { 220 } else { 0 }));
        }
        fs::write(folder.join(format!("{part}-images-idx3-ubyte")), images).expect("written");
        fs::write(folder.join(format!("{part}-labels-idx1-ubyte")), labels).expect("written");
    }
}

fn run(folder: &Path, arguments: &str) -> Output {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("glidr-experiment"));
    command.current_dir(folder).args(arguments.split_whitespace()).output().expect("the program starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn mnist_trains_keeps_the_run_judges_it_and_draws_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write_digits(folder.path(), 40, 0);
    fs::write(
        folder.path().join("s.toml"),
        "links = 9.0\npredicates = 2\nproperties = 2\nbatch = 10\nhidden = 8\n",
    )
    .expect("written");
    let first =
        run(folder.path(), "mnist . --settings s.toml --validation 10 --epochs 2 -o a.run --test --json");
    assert!(first.status.success(), "{}", said(&first));
    let found: serde_json::Value = serde_json::from_slice(&first.stdout).expect("a JSON document");
    assert_eq!(found["settings"]["predicates"], 2);
    assert_eq!(found["losses"].as_array().expect("a list").len(), 2);
    assert_eq!(found["judged"][1]["images"], "test");
    let counted: u64 = found["judged"][1]["confusion"]
        .as_array()
        .expect("rows")
        .iter()
        .flat_map(|row| row.as_array().expect("counts"))
        .map(|count| count.as_u64().expect("a count"))
        .sum();
    assert_eq!(counted, 40);
    let again = run(folder.path(), "mnist . --validation 10 --judge a.run --test --json --pictures drawn");
    assert!(again.status.success(), "{}", said(&again));
    let judged: serde_json::Value = serde_json::from_slice(&again.stdout).expect("a JSON document");
    assert_eq!(judged["judged"], found["judged"]);
    let drawn = fs::read_dir(folder.path().join("drawn")).expect("a folder");
    let drawn: Vec<_> = drawn.map(|entry| entry.expect("an entry").path()).collect();
    for name in ["rules.svg", "confusion.svg", "links-"] {
        let is_named = |path: &&std::path::PathBuf| {
            path.file_name().is_some_and(|it| it.to_string_lossy().starts_with(name))
        };
        let path = drawn.iter().find(is_named).expect("drawn");
        let text = fs::read_to_string(path).expect("text");
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"), "{name}");
    }
    let taken = run(folder.path(), "mnist . --settings s.toml --validation 10 -o a.run");
    assert_eq!(taken.status.code(), Some(1));
    assert!(said(&taken).contains("a.run is there already: add --resume"), "{}", said(&taken));
}

#[test]
fn a_run_on_upright_images_is_judged_on_upright_images() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write_digits(folder.path(), 40, 1);
    let settings = "links = 9.0\npredicates = 2\nproperties = 2\nbatch = 10\nhidden = 8\nepochs = 1\n";
    let losses = [("slanted", ""), ("upright", "upright = true\n")].map(|(name, more)| {
        fs::write(folder.path().join("s.toml"), settings.to_string() + more).expect("written");
        let trained = run(
            folder.path(),
            &format!("mnist . --settings s.toml --validation 10 -o {name}.run --test --json"),
        );
        assert!(trained.status.success(), "{}", said(&trained));
        let found: serde_json::Value = serde_json::from_slice(&trained.stdout).expect("a JSON document");
        let again = run(folder.path(), &format!("mnist . --validation 10 --judge {name}.run --test --json"));
        let judged: serde_json::Value = serde_json::from_slice(&again.stdout).expect("a JSON document");
        assert_eq!(judged["settings"]["upright"], name == "upright");
        assert_eq!(judged["judged"], found["judged"]);
        found["losses"].clone()
    });
    assert_ne!(losses[0], losses[1]);
}

#[test]
fn bad_input_is_told_in_one_line_with_exit_code_1() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let told = |arguments: &str, finding: &str| {
        let output = run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains(finding) && said(&output).lines().count() == 1, "{}", said(&output));
    };
    told("mnist .", "train-images-idx3-ubyte.gz, but neither is here");
    write_digits(folder.path(), 20, 0);
    told("mnist . --validation 20", "validation must leave images to train on, but holds out 20 of 20");
    told("mnist . --validation 5", "a batch has 64 images, but there are only 15 to train on");
    told("mnist . --validation 5 --predicates 0", "predicates must be 1 to 512, but is 0");
    told("mnist . --validation 5 --judge none.run", "none.run: No such file");
}

//! `glidr-experiments digits`, run as a user runs it, on a small made-up set of digits.

use std::fs;
use std::path::Path;

use crate::common::{folder, json, run, stderr};

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

#[test]
fn digits_are_trained_kept_evaluated_and_drawn() {
    let folder = folder();
    write_digits(folder.path(), 40, 0);
    fs::write(
        folder.path().join("s.toml"),
        "initial_links = 9.0\npredicates = 2\nproperties = 2\nbatch = 10\nhidden = 8\n",
    )
    .expect("written");
    let first =
        run(folder.path(), "digits . --settings s.toml --validation 10 --epochs 2 -o a.run --test --json");
    let found = json(&first);
    assert_eq!(found["settings"]["predicates"], 2);
    assert_eq!(found["losses"].as_array().expect("a list").len(), 2);
    assert_eq!(found["evaluated"][1]["images"], "test");
    let counted: u64 = found["evaluated"][1]["confusion"]
        .as_array()
        .expect("rows")
        .iter()
        .flat_map(|row| row.as_array().expect("counts"))
        .map(|count| count.as_u64().expect("a count"))
        .sum();
    assert_eq!(counted, 40);
    let again =
        run(folder.path(), "digits . --validation 10 --evaluate a.run --test --json --pictures drawn");
    let evaluated = json(&again);
    assert_eq!(evaluated["evaluated"], found["evaluated"]);
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
    let taken = run(folder.path(), "digits . --settings s.toml --validation 10 -o a.run");
    assert_eq!(taken.status.code(), Some(1));
    assert!(stderr(&taken).contains("a.run is there already: add --resume"), "{}", stderr(&taken));
}

#[test]
fn a_run_on_deskewed_images_is_evaluated_on_deskewed_images() {
    let folder = folder();
    write_digits(folder.path(), 40, 1);
    let settings =
        "initial_links = 9.0\npredicates = 2\nproperties = 2\nbatch = 10\nhidden = 8\nepochs = 1\n";
    let losses = [("slanted", ""), ("deskewed", "deskew = true\n")].map(|(name, more)| {
        fs::write(folder.path().join("s.toml"), settings.to_string() + more).expect("written");
        let trained = run(
            folder.path(),
            &format!("digits . --settings s.toml --validation 10 -o {name}.run --test --json"),
        );
        let found = json(&trained);
        let again =
            run(folder.path(), &format!("digits . --validation 10 --evaluate {name}.run --test --json"));
        let evaluated = json(&again);
        assert_eq!(evaluated["settings"]["deskew"], name == "deskewed");
        assert_eq!(evaluated["evaluated"], found["evaluated"]);
        found["losses"].clone()
    });
    assert_ne!(losses[0], losses[1]);
}

#[test]
fn bad_input_is_told_in_one_line_with_exit_code_1() {
    let folder = folder();
    let told = |arguments: &str, finding: &str| {
        let output = run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(
            stderr(&output).contains(finding) && stderr(&output).lines().count() == 1,
            "{}",
            stderr(&output)
        );
    };
    told("digits .", "train-images-idx3-ubyte.gz, but neither is here");
    write_digits(folder.path(), 20, 0);
    told("digits . --validation 20", "validation must leave images to train on, but holds out 20 of 20");
    told("digits . --validation 5", "a batch has 64 images, but there are only 15 to train on");
    told("digits . --validation 5 --predicates 0", "predicates must be 1 to 512, but is 0");
    told("digits . --validation 5 --evaluate none.run", "none.run: No such file");
}

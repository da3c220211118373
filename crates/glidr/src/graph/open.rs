//! Opens a data set: reads its files, divides what is not divided, and gives every name its number.
//!
//! In: a folder, a single file, or nothing (the embedded families). Out: [`Dataset`].

use std::path::{Path, PathBuf};

use super::builder::DatasetBuilder;
use super::families::families;
use super::formats::tsv::read_facts;
use super::{Dataset, Split};
use crate::error::{Error, Result};
use crate::util::file_kind::FileKind;

impl Dataset {
    /// Opens a folder or a single file of facts, dividing it by `seed` where it is not divided.
    ///
    /// A folder holds `facts`, `train`, `valid`, `test`, each `.txt` or `.tsv`, plain or `.gz`.
    /// Without `facts`, *train* is divided 3:1. A single file, also one alone in a folder and standard input (`-`), is
    /// divided 80:10:10, and its train part 3:1. A first line that names the columns is no fact.
    pub fn open(path: impl AsRef<Path>, seed: u64) -> Result<Self> {
        let path = path.as_ref();
        let builder = DatasetBuilder::new(path.display().to_string());
        if path.is_dir() {
            Self::open_folder(path, builder, seed)
        } else {
            Self::open_file(path, builder, seed)
        }
    }

    fn open_file(path: &Path, mut builder: DatasetBuilder, seed: u64) -> Result<Self> {
        let report = read_facts(path, |fact| builder.add(Split::Train, fact)).map_err(|error| {
            FileKind::mistaken(path, "a file of facts", &[FileKind::Facts]).unwrap_or(error)
        })?;
        if !builder.has_background() {
            let finding = "a data file must hold at least one triple, but all lines are properties";
            return Err(Error::data(path, finding));
        }
        let mut data = builder.divide(seed)?;
        data.warnings.add_file(path, report);
        Ok(data)
    }

    /// A data set of triples (head, predicate, tail) by name, divided by `seed` like a single file: 80:10:10,
    /// and the train part 3:1.
    ///
    /// ```
    /// use glidr::{Dataset, Split};
    /// let parents = (0..20).map(|n| (format!("p{n}"), "parent", format!("p{}", n + 1)));
    /// let data = Dataset::from_triples(parents, 0)?;
    /// assert_eq!(Split::ALL.map(|split| data.split(split).len()), [12, 4, 2, 2]);
    /// assert_eq!(data.names().predicates.iter().collect::<Vec<_>>(), ["parent"]);
    /// # Ok::<(), glidr::Error>(())
    /// ```
    ///
    /// With splits of one's own: [`DatasetBuilder`].
    pub fn from_triples<H, P, T>(triples: impl IntoIterator<Item = (H, P, T)>, seed: u64) -> Result<Self>
    where
        H: AsRef<str>,
        P: AsRef<str>,
        T: AsRef<str>,
    {
        let mut builder = DatasetBuilder::new("triples").triples(Split::Train, triples);
        if !builder.has_background() {
            return builder.build(seed);
        }
        builder.divide(seed)
    }

    /// Hinton's two families, embedded in the program, divided by `seed`.
    pub fn families(seed: u64) -> Self {
        let triples = families().into_iter().map(|[head, predicate, tail]| (head, predicate, tail));
        let builder = DatasetBuilder::new("families (embedded)").triples(Split::Train, triples);
        builder.divide(seed).expect("the embedded families are a sound data set")
    }

    fn open_folder(folder: &Path, mut builder: DatasetBuilder, seed: u64) -> Result<Self> {
        let (mut found, mut reports) = ([false; 4], Vec::new());
        for split in Split::ALL {
            if let Some(path) = split_file(folder, split)? {
                let report = read_facts(&path, |fact| builder.add(split, fact))?;
                reports.push((path, report));
                found[split as usize] = true;
            }
        }
        let unread = unread(folder)?;
        if let ([false, false, false, false], [only]) = (found, &unread[..]) {
            return Self::open_file(&folder.join(only), builder, seed);
        }
        if !found[Split::Facts as usize] && !found[Split::Train as usize] {
            let finding = "a data folder must hold train.txt (or .tsv, .txt.gz, .tsv.gz), or one such file of any name, \
                           but this one does not";
            return Err(Error::data(folder, finding));
        }
        if !builder.has_background() {
            let finding = "facts and train must hold at least one triple, but all their lines are properties";
            return Err(Error::data(folder, finding));
        }
        let mut data = builder.build(seed)?;
        data.warnings.unread = unread;
        for (path, report) in reports {
            data.warnings.add_file(&path, report);
        }
        Ok(data)
    }
}

/// The one file of `split` in `folder`, if there is one.
fn split_file(folder: &Path, split: Split) -> Result<Option<PathBuf>> {
    let mut found = Vec::new();
    for ending in ["txt", "tsv", "txt.gz", "tsv.gz"] {
        let path = folder.join(format!("{}.{ending}", split.name()));
        match std::fs::symlink_metadata(&path) {
            Ok(_) => found.push(path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::file(path, error)),
        }
    }
    if let [first, second, ..] = &found[..] {
        let finding = format!(
            "each split must be one file, but both {} and {} are here",
            first.file_name().unwrap_or_default().display(),
            second.file_name().unwrap_or_default().display()
        );
        return Err(Error::data(folder, finding));
    }
    Ok(found.pop())
}

/// The files of a folder that end like facts but are no split, sorted.
fn unread(folder: &Path) -> Result<Vec<String>> {
    let mut unread = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| Error::file(folder, error))? {
        let name = entry.map_err(|error| Error::file(folder, error))?.file_name().display().to_string();
        let stem = name.strip_suffix(".gz").unwrap_or(&name);
        let stem = stem.strip_suffix(".txt").or(stem.strip_suffix(".tsv"));
        if stem.is_some_and(|stem| Split::ALL.iter().all(|split| split.name() != stem)) {
            unread.push(name);
        }
    }
    unread.sort_unstable();
    Ok(unread)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::{Entity, Leakage, Predicate};
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder for small files");
        for (name, content) in files {
            fs::write(folder.path().join(name), content).expect("a small file");
        }
        folder
    }

    #[test]
    fn duplicates_are_dropped_and_counted_and_leakage_is_reported() {
        let folder = folder(&[
            ("facts.txt", "a\tp\tb\na\tp\tb\nb\tp\tc\n"),
            ("train.tsv", "c\tp\td\n"),
            ("valid.txt", "c\tp\td\n"),
            ("test.txt", "d\tq\tz\n"),
            ("dev.tsv.gz", ""),
            ("notes.md", ""),
        ]);
        let data = Dataset::open(folder.path(), 0).expect("a sound folder");
        let warnings = data.warnings();
        assert_eq!(warnings.duplicates, 1);
        let leakage =
            Leakage { first: Split::Train, second: Split::Valid, count: 1, example: "p(c, d)".into() };
        assert_eq!(warnings.leakage, [leakage]);
        assert_eq!(warnings.unseen_predicates, ["q"]);
        assert_eq!(warnings.unseen_entities, 1);
        assert_eq!(warnings.unread, ["dev.tsv.gz"]);
        assert_eq!(data.split(Split::Facts).len(), 2);
    }

    #[test]
    fn a_positive_is_never_in_the_background() {
        let folder = folder(&[("facts.txt", "a\tp\tb\n"), ("train.txt", "a\tp\tb\nb\tp\tc\n")]);
        let data = Dataset::open(folder.path(), 0).expect("a sound folder");
        assert_eq!(data.positives(Predicate(0)), [(Entity(1), Entity(2))]);
    }

    #[test]
    fn a_single_file_is_divided_by_the_seed_and_the_order_of_lines_changes_nothing() {
        let lines: Vec<String> = (0..100).map(|n| format!("e{n}\tp\te{}\n", n / 2)).collect();
        let reversed: String = lines.iter().rev().cloned().collect();
        let folder =
            folder(&[("a.tsv", &(lines.concat() + "e1\tred\n")), ("b.tsv", &(reversed + "e1\tred\n"))]);
        let open = |name: &str, seed| Dataset::open(folder.path().join(name), seed).expect("a sound file");
        let (a, b, other) = (open("a.tsv", 7), open("b.tsv", 7), open("a.tsv", 8));
        let sizes = Split::ALL.map(|split| a.split(split).len());
        assert_eq!(sizes, [60, 20, 10, 10]);
        assert_eq!(a.property_facts().len(), 1);
        assert_eq!(a.hash(), b.hash());
        assert_ne!(a.hash(), other.hash());
    }

    #[test]
    fn the_embedded_families_are_divided_as_they_always_were() {
        let hash = "88b3997e510b3c9173b676c51f55e433590a8a63f0f7e06ef4430321d7d4d211";
        assert_eq!(Dataset::families(7).hash(), hash);
    }

    #[test]
    fn repeats_are_dropped_before_train_is_divided() {
        let lines: String = (0..40).map(|n| format!("e{n}\tp\te{}\n", n + 1)).collect();
        let (once, twice) = (folder(&[("train.txt", &lines)]), folder(&[("train.txt", &lines.repeat(2))]));
        let open = |folder: &tempfile::TempDir| Dataset::open(folder.path(), 3).expect("a sound folder");
        assert_eq!(open(&once).hash(), open(&twice).hash());
        assert_eq!((open(&twice).warnings().duplicates, open(&twice).warnings().leakage.len()), (40, 0));
    }

    #[test]
    fn a_folder_without_facts_has_its_train_divided() {
        let lines: String = (0..40).map(|n| format!("e{n}\tp\te{}\n", n + 1)).collect();
        let folder = folder(&[("train.txt", &lines), ("test.txt", "e1\tp\te9\n")]);
        let data = Dataset::open(folder.path(), 3).expect("a sound folder");
        assert_eq!(Split::ALL.map(|split| data.split(split).len()), [30, 10, 0, 1]);
    }

    #[test]
    fn a_file_alone_in_a_folder_is_data_whatever_its_name() {
        let lines: String = (0..40).map(|n| format!("e{n}\tp\te{} \n", n + 1)).collect();
        let alone = folder(&[("graph.tsv", &format!("head\trelation\ttail\n{lines}")), ("notes.md", "")]);
        let data = Dataset::open(alone.path(), 3).expect("one file");
        assert_eq!(Split::ALL.map(|split| data.split(split).len()), [24, 8, 4, 4]);
        let file = alone.path().join("graph.tsv").display().to_string();
        assert_eq!(data.warnings().headers[..], std::slice::from_ref(&file)[..]);
        assert_eq!(data.warnings().padded, [(file, 40, 2)]);
    }

    #[test]
    fn two_files_for_one_split_or_none_at_all_are_refused() {
        let both = folder(&[("train.txt", "a\tp\tb\n"), ("train.tsv", "a\tp\tb\n")]);
        let error = Dataset::open(both.path(), 0).expect_err("two files").to_string();
        assert!(error.contains("both train.txt and train.tsv"), "{error}");
        let none = folder(&[("readme.md", "")]);
        let error = Dataset::open(none.path(), 0).expect_err("no files").to_string();
        assert!(error.contains("must hold train.txt"), "{error}");
    }
}

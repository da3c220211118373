//! Opens a data set: reads its files, divides what is not divided, and gives every name its number.
//!
//! In: a folder, a single file, or nothing (the embedded families). Out: [`Dataset`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::dataset::{DataWarnings, Dataset, Split};
use super::families::families;
use super::formats::tsv::{RawFact, read_facts};
use super::{Entity, Names, Predicate, Property, PropertyFact, Triple, Vocabulary};
use crate::error::{Error, Result};
use crate::util::random::{Purpose, shuffle, stream};

/// Facts of one split by name, before they are numbered.
type RawSplits = [Vec<RawFact>; 4];

impl Dataset {
    /// Opens a folder or a single file of facts, dividing it by `seed` where it is not divided.
    ///
    /// A folder holds `facts`, `train`, `valid`, `test`, each `.txt` or `.tsv`, plain or `.gz`.
    /// Without `facts`, *train* is divided 3:1. A single file is divided 80/10/10, and its
    /// train part 3:1.
    pub fn open(path: impl AsRef<Path>, seed: u64) -> Result<Self> {
        let path = path.as_ref();
        let source = path.display().to_string();
        if path.is_dir() {
            Self::open_folder(path, source, seed)
        } else {
            Self::divide_all(source, read_facts(path)?, seed)
        }
    }

    /// Hinton's two families, embedded in the program, divided by `seed`.
    pub fn families(seed: u64) -> Self {
        Self::divide_all("families (embedded)".into(), families(), seed)
            .expect("the embedded families are a sound data set")
    }

    fn open_folder(folder: &Path, source: String, seed: u64) -> Result<Self> {
        let mut raw = RawSplits::default();
        let mut found = [false; 4];
        for split in Split::ALL {
            if let Some(path) = split_file(folder, split)? {
                raw[split as usize] = read_facts(&path)?;
                found[split as usize] = true;
            }
        }
        if !found[Split::Facts as usize] && !found[Split::Train as usize] {
            let finding =
                "a data folder must hold train.txt (or .tsv, .txt.gz, .tsv.gz), but this one does not";
            return Err(Error::data(folder, finding));
        }
        let is_triple = |fact: &RawFact| matches!(fact, RawFact::Triple(..));
        if !raw[..=Split::Train as usize].iter().flatten().any(is_triple) {
            let finding = "facts and train must hold at least one triple, but all their lines are properties";
            return Err(Error::data(folder, finding));
        }
        let divide = !found[Split::Facts as usize];
        if divide {
            let train = std::mem::take(&mut raw[Split::Train as usize]);
            let (facts, train) = divide_train(train, seed);
            raw[Split::Facts as usize] = facts;
            raw[Split::Train as usize] = train;
        }
        let mut dataset = Self::number(source, raw, divide);
        dataset.warnings.unread = unread(folder)?;
        Ok(dataset)
    }

    /// Divides facts 80/10/10 by the seed, the first part 3:1 into facts and train.
    fn divide_all(source: String, mut facts: Vec<RawFact>, seed: u64) -> Result<Self> {
        facts.sort_unstable();
        let before = facts.len();
        facts.dedup();
        let duplicates = before - facts.len();
        let (mut triples, property_facts): (Vec<_>, Vec<_>) =
            facts.into_iter().partition(|fact| matches!(fact, RawFact::Triple(..)));
        if triples.is_empty() {
            return Err(Error::data(
                source,
                "a data file must hold at least one triple, but all lines are properties",
            ));
        }
        shuffle(&mut triples, &mut stream(seed, Purpose::Divide, [0; 3]));
        let tenth = triples.len() / 10;
        let test = triples.split_off(triples.len() - tenth);
        let valid = triples.split_off(triples.len() - tenth);
        triples.extend(property_facts);
        let (facts, train) = divide_train(triples, seed);
        let mut dataset = Self::number(source, [facts, train, valid, test], true);
        dataset.warnings.duplicates += duplicates;
        Ok(dataset)
    }

    /// Sorts, drops duplicates, and gives every name its number.
    fn number(source: String, raw: RawSplits, divided_by_seed: bool) -> Self {
        let mut warnings = DataWarnings { divided_by_seed, ..DataWarnings::default() };
        let mut sets: [BTreeSet<RawFact>; 4] = Default::default();
        for (set, facts) in sets.iter_mut().zip(raw) {
            let given = facts.len();
            set.extend(facts);
            warnings.duplicates += given - set.len();
        }
        for (i, first) in Split::ALL.iter().enumerate() {
            for second in &Split::ALL[i + 1..] {
                let both: Vec<_> = sets[i].intersection(&sets[*second as usize]).collect();
                if let Some(one) = both.first() {
                    warnings.leakage.push((*first, *second, both.len(), show(one)));
                }
            }
        }
        let names = vocabulary(&sets);
        let mut dataset = Dataset {
            source,
            names,
            splits: Default::default(),
            property_facts: Vec::new(),
            warnings,
            graphs: Default::default(),
        };
        for (split, set) in Split::ALL.into_iter().zip(&sets) {
            dataset.take_split(split, set);
        }
        dataset.property_facts.sort_unstable();
        dataset.property_facts.dedup();
        dataset.notice_unseen();
        dataset
    }

    fn take_split(&mut self, split: Split, set: &BTreeSet<RawFact>) {
        let names = &self.names;
        let entity = |name: &str| Entity(names.entities.find(name).expect("every name was numbered"));
        for fact in set {
            match fact {
                RawFact::Triple(head, predicate, tail) => {
                    let predicate = names.predicates.find(predicate).expect("every name was numbered");
                    let triple =
                        Triple { head: entity(head), predicate: Predicate(predicate), tail: entity(tail) };
                    self.splits[split as usize].push(triple);
                }
                RawFact::PropertyFact(of, property) if split <= Split::Train => {
                    let property =
                        Property(names.properties.find(property).expect("every name was numbered"));
                    self.property_facts.push(PropertyFact { entity: entity(of), property });
                }
                RawFact::PropertyFact(..) => self.warnings.properties_left_out += 1,
            }
        }
        self.splits[split as usize].sort_unstable();
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

/// Divides facts 3:1 by the seed into background and positives; properties stay background.
fn divide_train(mut facts: Vec<RawFact>, seed: u64) -> (Vec<RawFact>, Vec<RawFact>) {
    facts.sort_unstable();
    let (mut triples, property_facts): (Vec<_>, Vec<_>) =
        facts.into_iter().partition(|fact| matches!(fact, RawFact::Triple(..)));
    shuffle(&mut triples, &mut stream(seed, Purpose::Divide, [1, 0, 0]));
    let train = triples.split_off(triples.len() - triples.len() / 4);
    triples.extend(property_facts);
    (triples, train)
}

/// All names of all splits, sorted, so that the order of lines changes nothing.
fn vocabulary(sets: &[BTreeSet<RawFact>; 4]) -> Vocabulary {
    let (mut entities, mut predicates, mut properties) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for fact in sets.iter().flatten() {
        match fact {
            RawFact::Triple(head, predicate, tail) => {
                entities.extend([head, tail]);
                predicates.insert(predicate);
            }
            RawFact::PropertyFact(entity, property) => {
                entities.insert(entity);
                properties.insert(property);
            }
        }
    }
    let names = |set: BTreeSet<&String>| Names::new(set.into_iter().cloned());
    Vocabulary { entities: names(entities), predicates: names(predicates), properties: names(properties) }
}

fn show(fact: &RawFact) -> String {
    match fact {
        RawFact::Triple(head, predicate, tail) => format!("{predicate}({head}, {tail})"),
        RawFact::PropertyFact(entity, property) => format!("{property}({entity})"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        assert_eq!(warnings.leakage, [(Split::Train, Split::Valid, 1, "p(c, d)".to_owned())]);
        assert_eq!(warnings.unseen_predicates, ["q"]);
        assert_eq!(warnings.unseen_entities, 1);
        assert_eq!(warnings.unread, ["dev.tsv.gz"]);
        assert_eq!(data.split(Split::Facts).len(), 2);
    }

    #[test]
    fn a_positive_never_stands_in_the_background() {
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
    fn a_folder_without_facts_has_its_train_divided() {
        let lines: String = (0..40).map(|n| format!("e{n}\tp\te{}\n", n + 1)).collect();
        let folder = folder(&[("train.txt", &lines), ("test.txt", "e1\tp\te9\n")]);
        let data = Dataset::open(folder.path(), 3).expect("a sound folder");
        assert_eq!(Split::ALL.map(|split| data.split(split).len()), [30, 10, 0, 1]);
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

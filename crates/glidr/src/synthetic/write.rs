//! Writes a generated graph as a folder: the four splits, the planted rules and the settings.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::Generated;
use crate::error::{Error, Result};
use crate::graph::Split;
use crate::util::atomic_file::beside;

/// The files of the folder.
pub const FILES: [&str; 6] =
    ["facts.txt", "train.txt", "valid.txt", "test.txt", "planted.rules", "generated.json"];

/// Refuses a folder that holds anything; with `overwrite`, anything but files that a generator wrote.
pub fn check_folder(folder: &Path, overwrite: bool) -> Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::file(folder, error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(|error| Error::file(folder, error))?.file_name().display().to_string());
    }
    names.sort_unstable();
    let ours = |name: &String| FILES.contains(&name.as_str());
    if let Some(other) = names.iter().find(|name| !ours(name)) {
        let finding = format!("a folder to generate into must be new or empty, but this one holds {other}");
        return Err(Error::data(folder, finding));
    }
    if let (Some(first), false) = (names.first(), overwrite) {
        let finding = format!(
            "a folder to generate into must be new or empty, but this one holds {first}; --overwrite replaces it"
        );
        return Err(Error::data(folder, finding));
    }
    if overwrite && !names.is_empty() && !names.iter().any(|name| name == "generated.json") {
        let finding = "only a generated graph is written over, but generated.json is not here";
        return Err(Error::data(folder, finding));
    }
    Ok(())
}

impl Generated {
    /// Writes the folder, each file beside its place and then renamed. What a generator wrote before is
    /// replaced only with `overwrite`, anything else never.
    pub fn write(&self, folder: &Path, overwrite: bool) -> Result<()> {
        check_folder(folder, overwrite)?;
        fs::create_dir_all(folder).map_err(|error| Error::file(folder, error))?;
        let names = self.data.names();
        for (split, file) in Split::ALL.into_iter().zip(FILES) {
            put(folder, file, overwrite, |out| {
                if split == Split::Facts {
                    for fact in self.data.property_facts() {
                        let entity = names.entities.name(fact.entity);
                        writeln!(out, "{entity}\t{}", names.properties.name(fact.property))?;
                    }
                }
                for fact in self.data.split(split) {
                    let name = |entity: crate::graph::Entity| names.entities.name(entity);
                    let predicate = names.predicates.name(fact.predicate);
                    writeln!(out, "{}\t{predicate}\t{}", name(fact.head), name(fact.tail))?;
                }
                Ok(())
            })?;
        }
        put(folder, FILES[4], overwrite, |out| {
            self.rules.iter().try_for_each(|rule| writeln!(out, "{}", self.show(rule)))
        })?;
        put(folder, FILES[5], overwrite, |out| {
            writeln!(out, "{}", serde_json::to_string_pretty(&self.generator)?)
        })
    }
}

fn put(
    folder: &Path,
    name: &str,
    overwrite: bool,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<()> {
    let path = folder.join(name);
    let failed = |error| Error::file(&path, error);
    let mut file = beside(&path).map_err(failed)?;
    let mut out = BufWriter::new(file.as_file_mut());
    fill(&mut out).and_then(|()| out.flush()).map_err(failed)?;
    drop(out);
    let kept = if overwrite { file.persist(&path) } else { file.persist_noclobber(&path) };
    kept.map(|_| ()).map_err(|error| failed(error.error))
}

#[cfg(test)]
mod tests {
    use super::super::Generator;
    use super::*;
    use crate::Dataset;

    #[test]
    fn a_written_graph_reads_back_as_it_was_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("new");
        let small = Generator { entities: 300, facts: 3000, instances: 60, ..Generator::default() };
        let made = small.run().expect("sound settings");
        made.write(&place, false).expect("a new folder");
        let read = Dataset::open(&place, 0).expect("a sound folder");
        assert_eq!((read.names(), read.property_facts()), (made.data.names(), made.data.property_facts()));
        for split in Split::ALL {
            assert_eq!(read.split(split), made.data.split(split));
        }
        let text = fs::read_to_string(place.join("planted.rules")).expect("the rules");
        let clauses =
            crate::rule::parse_rules(Path::new("planted.rules"), &text).expect("rules of the language");
        for (clause, planted) in clauses.iter().zip(&made.rules) {
            let crate::rule::Clause::Rule(written) = clause else { panic!("only rules are written") };
            assert_eq!(
                &written.rule(Path::new("planted.rules"), read.names()).expect("known names"),
                planted
            );
        }
        assert_eq!(clauses.len(), 5);
    }

    #[test]
    fn nothing_is_written_over_unless_told_and_never_what_is_not_ours() {
        let folder = tempfile::tempdir().expect("a folder");
        let made = Generator { entities: 300, facts: 3000, instances: 60, ..Generator::default() };
        let made = made.run().expect("sound settings");
        made.write(folder.path(), false).expect("an empty folder");
        let refused = |overwrite| made.write(folder.path(), overwrite).expect_err("not empty").to_string();
        assert!(refused(false).contains("--overwrite replaces it"));
        made.write(folder.path(), true).expect("its own files");
        fs::write(folder.path().join("notes.md"), "mine").expect("a small file");
        assert!(refused(true).contains("holds notes.md"));
        fs::remove_file(folder.path().join("notes.md")).expect("it is there");
        fs::remove_file(folder.path().join("generated.json")).expect("it is there");
        assert!(refused(true).contains("generated.json is not here"));
    }
}

//! What a file is, for errors that help: a model, a checkpoint, a text of rules, or data.
//!
//! In: a path. Out: its [`FileKind`] by a look at how the file begins, whatever its name.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::Error;

/// So much of a text is looked at.
const LOOK: u64 = 1 << 16;
/// The longest header of safetensors that is looked at.
const MAX_HEADER: u64 = 100_000_000;

/// The sorts of files that a command may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A folder, which only data can be.
    Folder,
    /// A text of facts, or a compressed one.
    Facts,
    /// A text of rules.
    Rules,
    /// A model.
    Model,
    /// The checkpoint of an unfinished run.
    Checkpoint,
}

impl FileKind {
    /// What stands at `path`; none where nothing there is known, or where looking would use it up, as with a pipe.
    pub fn of(path: &Path) -> Option<Self> {
        if path.is_dir() {
            return Some(FileKind::Folder);
        }
        if !path.is_file() {
            return None;
        }
        let mut start = Vec::new();
        File::open(path).ok()?.take(LOOK).read_to_end(&mut start).ok()?;
        if start.len() > 8 && start[7] == 0 && start[8] == b'{' {
            return of_safetensors(path);
        }
        if start.starts_with(&[0x1f, 0x8b]) {
            return Some(FileKind::Facts);
        }
        of_text(&String::from_utf8_lossy(&start))
    }

    /// The error where something else was expected at `path`; none where what stands there is not known.
    pub fn mistaken(path: &Path, expected: &str, right: &[FileKind]) -> Option<Error> {
        let found = FileKind::of(path).filter(|kind| !right.contains(kind))?;
        Some(Error::data(path, format!("{expected} was expected, but this is {found}: {}", found.advice())))
    }

    /// What a file of this format is, where it is one of these.
    pub(crate) fn of_format(format: &str) -> Option<Self> {
        match format {
            "glidr-model" => Some(FileKind::Model),
            "glidr-checkpoint" => Some(FileKind::Checkpoint),
            _ => None,
        }
    }

    /// What can be done with such a file.
    fn advice(self) -> &'static str {
        match self {
            FileKind::Folder | FileKind::Facts => "glidr learn DATA -o MODEL learns a model from it",
            FileKind::Rules => "glidr rules FILE DATA lists them, glidr solve FILE DATA applies them",
            FileKind::Model => {
                "glidr info MODEL describes it, glidr rules MODEL --format rules writes its rules"
            }
            FileKind::Checkpoint => "glidr learn DATA -o MODEL --resume goes on with MODEL.checkpoint",
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::Folder => "a folder of data",
            FileKind::Facts => "a text of facts",
            FileKind::Rules => "a text of rules",
            FileKind::Model => "a model",
            FileKind::Checkpoint => "a checkpoint",
        })
    }
}

/// By the format that the header names.
fn of_safetensors(path: &Path) -> Option<FileKind> {
    let mut file = File::open(path).ok()?;
    let mut length = [0; 8];
    file.read_exact(&mut length).ok()?;
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER {
        return None;
    }
    let mut header = Vec::new();
    file.take(length).read_to_end(&mut header).ok()?;
    let header: serde_json::Value = serde_json::from_slice(&header).ok()?;
    let ours: serde_json::Value = serde_json::from_str(header["__metadata__"]["glidr"].as_str()?).ok()?;
    FileKind::of_format(ours["format"].as_str()?)
}

/// By the first line that says something: facts have tabs, rules have `:-`.
fn of_text(start: &str) -> Option<FileKind> {
    let says = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('%');
    let first = start.lines().find(says)?;
    match (first.contains(":-"), first.contains('\t')) {
        (false, true) => Some(FileKind::Facts),
        (true, false) => Some(FileKind::Rules),
        (true, true) => None,
        (false, false) => start.contains(":-").then_some(FileKind::Rules),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_how_it_begins() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let kind = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("written");
            FileKind::of(&path)
        };
        assert_eq!(kind(b"a\tknows\tb\n"), Some(FileKind::Facts));
        assert_eq!(kind(b"% mine\n\n0.5 :: p(X, Y) :- q(X, Y).\n"), Some(FileKind::Rules));
        assert_eq!(kind(b"p(X, Y)\n\t:- q(X, Y).\n"), Some(FileKind::Rules));
        assert_eq!((kind(b""), kind(b"some words"), kind(b"a :- b\tp\tc")), (None, None, None));
        assert_eq!(kind(b"\x02\0\0\0\0\0\0\0{}"), None);
        assert_eq!(FileKind::of(folder.path()), Some(FileKind::Folder));
        assert_eq!(FileKind::of(&folder.path().join("none")), None);
    }
}

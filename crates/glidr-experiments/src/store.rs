//! What is done so far: one JSON line for each unit of work, written as soon as it is done.
//!
//! A unit is named by everything that decides its result: data by hash, seed, settings. So a run that
//! was broken off goes on where it stopped, and other settings never meet old results.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The units that are done.
pub struct Store {
    path: PathBuf,
    file: File,
    done: HashMap<String, Value>,
    /// Whether units that are not done are left out instead of run.
    pub only_done: bool,
}

impl Store {
    /// Opens the lines at `path`, or starts them; `restart` throws old ones away. Only one run at a time.
    pub fn open(path: &Path, restart: bool) -> anyhow::Result<Self> {
        let said = || path.display().to_string();
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).open(path).with_context(said)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!("another run is writing {}", path.display()),
            Err(TryLockError::Error(error)) => return Err(error).with_context(said),
        }
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(said)?;
        let mut done = HashMap::new();
        let mut sound = 0;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let read = |line: &str| -> Option<(Value, Value)> {
                let mut value: Value = serde_json::from_str(line).ok()?;
                let fields = value.as_object_mut()?;
                Some((fields.remove("unit")?, fields.remove("result")?))
            };
            match read(line) {
                Some((unit, result)) if line.ends_with('\n') => {
                    done.insert(unit.to_string(), result);
                    sound += line.len();
                }
                // The last line of a run that was broken off while it wrote.
                _ if !line.ends_with('\n') => break,
                _ => bail!(
                    "{}:{}: a line must be a JSON object with unit and result, but this one is not",
                    path.display(),
                    number + 1
                ),
            }
        }
        if restart {
            (done, sound) = (HashMap::new(), 0);
        }
        file.set_len(sound as u64).with_context(said)?;
        file.seek(SeekFrom::End(0)).with_context(said)?;
        Ok(Store { path: path.to_owned(), file, done, only_done: false })
    }

    /// The result of `unit`, if it is done.
    pub fn get<T: DeserializeOwned>(&self, unit: &Value) -> Option<T> {
        self.done.get(&unit.to_string()).and_then(|result| serde_json::from_value(result.clone()).ok())
    }

    /// Keeps the result of `unit`.
    pub fn put(&mut self, unit: &Value, result: &impl Serialize) -> anyhow::Result<()> {
        let result = serde_json::to_value(result)?;
        let line = format!("{}\n", json!({ "unit": unit, "result": result }));
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.with_context(|| self.path.display().to_string())?;
        self.done.insert(unit.to_string(), result);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_there_again_and_a_torn_line_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/units.jsonl");
        let unit = |n: i32| json!({ "seed": n, "data": "x" });
        let mut store = Store::open(&path, false).expect("a new file");
        assert!(Store::open(&path, false).is_err(), "one run at a time");
        store.put(&unit(1), &0.5).expect("kept");
        store.put(&unit(2), &0.75).expect("kept");
        drop(store);
        let text = std::fs::read_to_string(&path).expect("lines");
        std::fs::write(&path, &text[..text.len() - 5]).expect("torn");
        let mut store = Store::open(&path, false).expect("sound but for the end");
        assert_eq!((store.get::<f64>(&unit(1)), store.get::<f64>(&unit(2))), (Some(0.5), None));
        store.put(&unit(2), &0.25).expect("kept");
        drop(store);
        assert_eq!(Store::open(&path, false).expect("sound").get::<f64>(&unit(2)), Some(0.25));
        assert_eq!(Store::open(&path, true).expect("emptied").get::<f64>(&unit(1)), None);
    }

    #[test]
    fn a_file_that_is_no_store_is_refused_by_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("units.jsonl");
        std::fs::write(&path, "dear diary\n").expect("a small file");
        for restart in [false, true] {
            let error = Store::open(&path, restart).err().expect("no store").to_string();
            assert!(error.contains("units.jsonl:1: a line must be a JSON object"), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&path).expect("still there"), "dear diary\n");
    }
}

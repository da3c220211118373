//! The files of one training run: the model, its checkpoint, and a lock that keeps other runs away.
//!
//! A file that is not ours is never written over, nor removed.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use glidr::{Learner, Model};

/// Keeps one run's files.
pub struct Keeper {
    /// Where the model goes.
    pub model: PathBuf,
    /// Where checkpoints go: `MODEL.checkpoint`.
    pub checkpoint: PathBuf,
    lock_path: PathBuf,
    _lock: File,
}

impl Keeper {
    /// Takes the lock of `model`, after a look at what stands there already.
    pub fn new(model: &Path) -> anyhow::Result<Self> {
        // A symbolic link is followed, so that it goes on pointing at the model.
        let model = model.canonicalize().unwrap_or_else(|_| model.to_owned());
        let beside = |ending: &str| {
            let mut name = model.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        if is_there(&model)? {
            Model::open(&model).map_err(|error| {
                anyhow::anyhow!("{error}\nonly a glidr model is written over: choose another name for -o")
            })?;
        }
        let checkpoint = beside(".checkpoint");
        if is_there(&checkpoint)? {
            Learner::of_checkpoint(&checkpoint)?;
        }
        let lock_path = beside(".learning");
        let refused = || format!("cannot write beside {}", model.display());
        let lock = OpenOptions::new().append(true).create(true).open(&lock_path).with_context(refused)?;
        if lock.metadata().with_context(refused)?.len() > 0 {
            bail!("{} must be free for glidr's lock, but is a file of yours", lock_path.display());
        }
        match lock.try_lock() {
            Ok(()) => Ok(Keeper { model, checkpoint, lock_path, _lock: lock }),
            Err(TryLockError::WouldBlock) => bail!("another run is writing {}", model.display()),
            Err(TryLockError::Error(error)) => Err(error).with_context(refused),
        }
    }

    /// Writes the model. The last checkpoint goes only when that is done.
    pub fn finish(&self, model: &Model) -> anyhow::Result<()> {
        model.save(&self.model)?;
        match std::fs::remove_file(&self.checkpoint) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| self.checkpoint.display().to_string())
            }
            _ => Ok(()),
        }
    }
}

/// Whether a file stands at `path`; anything but a plain file is refused.
fn is_there(path: &Path) -> anyhow::Result<bool> {
    match std::fs::metadata(path) {
        Ok(about) if about.is_file() => Ok(true),
        Ok(_) => bail!("{}: a plain file was expected, but something else is here", path.display()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.lock_path);
    }
}

//! Files that are there whole or not at all: written beside their place, then renamed.

use std::io::{self, Write};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

use crate::error::{Error, Result};

/// Writes `bytes` as the file at `path`; what stood there before stays until all is written.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    let failed = |error| Error::file(path, error);
    let mut file = beside(path).map_err(failed)?;
    file.write_all(bytes.as_ref()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// A file in the folder of `path` that goes away unless it is renamed. Who may read it is up to the user's
/// mask, as with any file, where a temporary one would be private.
pub(crate) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_is_as_readable_as_any_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let (ours, plain) = (folder.path().join("ours"), folder.path().join("plain"));
        std::fs::write(&plain, "new").expect("written");
        for text in ["old", "new"] {
            write(&ours, text).expect("written");
            assert_eq!(std::fs::read_to_string(&ours).expect("read"), text);
        }
        let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions();
        assert_eq!(mode(&ours), mode(&plain));
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 2);
    }

    #[test]
    fn a_file_in_no_folder_is_refused_by_its_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("none").join("file");
        let error = write(&path, "text").expect_err("no folder").to_string();
        assert!(error.contains(&path.display().to_string()), "{error}");
    }
}

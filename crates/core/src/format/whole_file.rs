//! Atomic file writes: a temporary file in the same folder is renamed when it is complete.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A temporary file that is being written. It is deleted unless it is renamed or kept.
#[derive(Debug)]
pub struct WholeFile {
    partial: NamedTempFile,
    path: PathBuf,
}

impl WholeFile {
    /// Creates the temporary file in the folder of `path`. Only its owner can read it.
    ///
    /// # Errors
    /// The folder does not exist, or a file cannot be created in it.
    pub fn beside(path: &Path) -> io::Result<Self> {
        WholeFile::with_mode(path, 0o600)
    }

    /// Like [`WholeFile::beside`], with the usual permissions of a new file: those that the umask leaves.
    ///
    /// # Errors
    /// As [`WholeFile::beside`].
    pub(crate) fn of_usual_mode(path: &Path) -> io::Result<Self> {
        WholeFile::with_mode(path, 0o666)
    }

    fn with_mode(path: &Path, mode: u32) -> io::Result<Self> {
        // The parent of a bare file name is empty, which is not a folder that can be opened.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        set_mode(&mut builder, mode);
        let partial = builder.prefix(".partial-").tempfile_in(folder).map_err(without_path)?;
        Ok(WholeFile { partial, path: path.to_owned() })
    }

    pub fn file(&mut self) -> &mut File {
        self.partial.as_file_mut()
    }

    /// Renames the file to its final path, and replaces an existing file.
    ///
    /// # Errors
    /// The file cannot be renamed.
    pub fn replace(self) -> io::Result<()> {
        self.partial.persist(&self.path).map(drop).map_err(|error| error.error)
    }

    /// Keeps the file under its temporary name, and returns its path.
    ///
    /// # Errors
    /// The automatic deletion cannot be disabled.
    pub fn keep(self) -> io::Result<PathBuf> {
        self.partial.keep().map(|(_, path)| path).map_err(|error| error.error)
    }

    /// Renames the file to its final path unless a file exists there.
    ///
    /// # Errors
    /// A file exists, or the file cannot be renamed.
    pub fn put_if_absent(self) -> io::Result<()> {
        self.partial.persist_noclobber(&self.path).map(drop).map_err(|error| error.error)
    }
}

#[cfg(unix)]
fn set_mode(builder: &mut tempfile::Builder<'_, '_>, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(std::fs::Permissions::from_mode(mode));
}

#[cfg(not(unix))]
fn set_mode(_: &mut tempfile::Builder<'_, '_>, _: u32) {}

/// Returns the system's error. tempfile adds the name of the temporary file, which means nothing to a user.
fn without_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((system, _)) => io::Error::new(error.kind(), system.to_owned()),
        None => error,
    }
}

/// Writes a file atomically. Only its owner can read it, and an existing file is replaced.
///
/// # Errors
/// The folder does not exist, or the file cannot be written or renamed.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut whole = WholeFile::beside(path)?;
    whole.file().write_all(bytes)?;
    whole.replace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let written = |text: &str| {
            let mut whole = WholeFile::beside(&path).unwrap();
            whole.file().write_all(text.as_bytes()).unwrap();
            whole
        };
        drop(written("dropped"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left over");
        written("one").put_if_absent().unwrap();
        assert_eq!(written("two").put_if_absent().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one");
        written("three").replace().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "three");
        let missing = WholeFile::beside(&folder.path().join("none/f")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert!(!missing.to_string().contains(".partial-"), "{missing}");
    }
}

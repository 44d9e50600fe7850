//! Storage of a packaged distribution: a folder, or memory after an archive was read.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use crate::format::tarball::{ArchiveLimits, Files};

/// A tree of files, read by their path below its root, with `/` between the parts.
pub(crate) trait Tree: Debug + Send + Sync {
    /// Returns the content of a file; `None` if it does not exist.
    ///
    /// # Errors
    /// The file cannot be read, or is larger than any manifest.
    fn read(&self, path: &str) -> io::Result<Option<Cow<'_, [u8]>>>;

    /// Returns the names of the folders directly below a folder; a missing folder has none.
    ///
    /// # Errors
    /// The folder cannot be read.
    fn list(&self, folder: &str) -> io::Result<BTreeSet<String>>;

    /// Returns the name of a file for error messages.
    fn name_of(&self, path: &str) -> String;
}

/// A folder on disk; files are read on demand.
#[derive(Debug)]
pub(super) struct FolderTree(pub(super) PathBuf);

impl Tree for FolderTree {
    fn read(&self, path: &str) -> io::Result<Option<Cow<'_, [u8]>>> {
        let file = match File::open(self.0.join(path)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let limit = ArchiveLimits::DISTRIBUTION.file_bytes;
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(io::Error::other(format!("larger than {} MiB", limit >> 20)));
        }
        Ok(Some(bytes.into()))
    }

    fn list(&self, folder: &str) -> io::Result<BTreeSet<String>> {
        let entries = match std::fs::read_dir(self.0.join(folder)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            Err(error) => return Err(error),
        };
        let mut names = BTreeSet::new();
        for entry in entries {
            let entry = entry?;
            if entry.path().is_dir() {
                names.insert(entry.file_name().to_string_lossy().into_owned());
            }
        }
        Ok(names)
    }

    fn name_of(&self, path: &str) -> String {
        self.0.join(path).display().to_string()
    }
}

/// Files in memory, with the name of their origin.
#[derive(Debug)]
pub(super) struct FilesTree {
    pub(super) origin: String,
    pub(super) files: Files,
}

impl Tree for FilesTree {
    fn read(&self, path: &str) -> io::Result<Option<Cow<'_, [u8]>>> {
        Ok(self.files.get(path).map(|file| file.bytes.as_slice().into()))
    }

    fn list(&self, folder: &str) -> io::Result<BTreeSet<String>> {
        let below = |path: &String| {
            let (name, _) = path.strip_prefix(folder)?.strip_prefix('/')?.split_once('/')?;
            Some(name.to_owned())
        };
        Ok(self.files.keys().filter_map(below).collect())
    }

    fn name_of(&self, path: &str) -> String {
        format!("{}:{path}", self.origin)
    }
}

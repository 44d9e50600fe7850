//! Lists the manifests in a folder, and its other files.

use std::collections::HashSet;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use crate::flows::manifest_files::EXTENSIONS;

/// Folders of version control, which contain no files written by people.
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];
/// Larger files are not searched if they are not read otherwise.
const MAX_SEARCHED_BYTES: u64 = 1 << 20;

/// The content of a folder and its subfolders.
#[derive(Debug, Default)]
pub(super) struct ManifestFolder {
    /// In path order; a file with several names is listed once.
    pub(super) manifests: Vec<PathBuf>,
    /// Files in hidden folders, and with other extensions.
    pub(super) unread: Vec<PathBuf>,
    pub(super) links_outside: Vec<PathBuf>,
    pub(super) hidden_folders: usize,
    pub(super) other_extensions: usize,
    pub(super) unreadable: usize,
}

impl ManifestFolder {
    /// Lists a folder. Links to files inside the folder are followed. Links to folders are not, because their targets
    /// are listed anyway or are outside.
    ///
    /// # Errors
    /// The folder itself cannot be read.
    pub(super) fn find(root: &Path, extensions: &[String]) -> io::Result<Self> {
        let is_manifest = |path: &Path| {
            let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            let ends_in = |extension: &str| name.ends_with(&format!(".{}", extension.trim_start_matches('.')));
            match extensions {
                [] => EXTENSIONS.into_iter().any(ends_in),
                some => some.iter().any(|extension| ends_in(extension)),
            }
        };
        let whole = root.canonicalize()?;
        let mut found = ManifestFolder::default();
        let mut links = vec![];
        let mut folders = vec![(root.to_owned(), false)];
        while let Some((folder, is_hidden)) = folders.pop() {
            let entries = match std::fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if folder == root => return Err(error),
                Err(_) => {
                    found.unreadable += 1;
                    continue;
                }
            };
            for entry in entries {
                let Some((entry, kind)) = entry.ok().and_then(|entry| entry.file_type().ok().map(|kind| (entry, kind)))
                else {
                    found.unreadable += 1;
                    continue;
                };
                let (path, name) = (entry.path(), entry.file_name());
                let name = name.to_string_lossy();
                if kind.is_dir() && !VERSION_CONTROL.contains(&&*name) {
                    // Only the outermost hidden folder counts, because naming it also reads the folders below.
                    let begins = name.starts_with('.') && !is_hidden;
                    found.hidden_folders += usize::from(begins);
                    folders.push((path, is_hidden || begins));
                } else if kind.is_symlink() && !is_hidden {
                    links.push(path);
                } else if kind.is_file() && is_hidden {
                    found.unread.extend(Some(path).filter(|path| is_manifest(path)));
                } else if kind.is_file() && is_manifest(&path) {
                    found.manifests.push(path);
                } else if kind.is_file() {
                    found.other_extensions += 1;
                    found.unread.push(path);
                } else if !kind.is_dir() && !kind.is_symlink() && is_manifest(&path) {
                    // A pipe or a socket.
                    found.unreadable += 1;
                }
            }
        }
        found.manifests.sort();
        links.sort();
        for link in links {
            let Ok(leads_to) = link.canonicalize() else {
                found.unreadable += usize::from(is_manifest(&link));
                continue;
            };
            if !leads_to.starts_with(&whole) {
                found.links_outside.extend(Some(link).filter(|link| leads_to.is_dir() || is_manifest(link)));
            } else if leads_to.is_file() && is_manifest(&link) {
                found.manifests.push(link);
            }
        }
        // The file's own name takes precedence over those of links to it.
        let mut seen = HashSet::new();
        found.manifests.retain(|path| match std::fs::metadata(path) {
            Ok(metadata) => identity(&metadata).is_none_or(|file| seen.insert(file)),
            Err(_) => true,
        });
        found.unread.retain(|path| std::fs::metadata(path).is_ok_and(|file| file.len() <= MAX_SEARCHED_BYTES));
        found.unread.sort();
        Ok(found)
    }
}

/// Identifies a file regardless of its name.
#[cfg(unix)]
fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}

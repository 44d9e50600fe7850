//! A file gets another text, and nothing else about it changes.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::terminal::CliError;

/// Writes a file as a whole or not at all, with owner, rights and extended attributes as they are.
///
/// A second name of the file (a hard link) would keep the old text if another file took the place of the first one, and who does
/// not own the file cannot give the new one to its owner. Such files are written where they are; the new text lies beside them until
/// that is done.
pub fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let failed = |error: &(dyn std::error::Error + 'static)| {
        CliError::failed(format!("cannot write {}", path.display())).caused_by(error)
    };
    // A link is followed: what it leads to is the file.
    let path = std::fs::canonicalize(path).map_err(|e| failed(&e))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut temporary = NamedTempFile::new_in(folder).map_err(|e| failed(&e))?;
    temporary.write_all(text.as_bytes()).map_err(|e| failed(&e))?;
    temporary.as_file().sync_all().map_err(|e| failed(&e))?;
    let old = File::open(&path).map_err(|e| failed(&e))?;
    let metadata = old.metadata().map_err(|e| failed(&e))?;
    if has_other_names(&metadata) || !takes_owner(temporary.as_file(), &metadata) {
        return write_in_place(&path, text).map_err(|error| {
            let copy = temporary.keep().map(|(_, copy)| copy).unwrap_or_else(|_| PathBuf::new());
            failed(&error).hint(format!("its whole new text is in {}", copy.display()))
        });
    }
    copy_attributes(&old, temporary.as_file());
    // Last, as a change of the owner takes rights away.
    temporary.as_file().set_permissions(metadata.permissions()).map_err(|e| failed(&e))?;
    temporary.as_file().sync_all().map_err(|e| failed(&e))?;
    temporary.persist(&path).map_err(|e| failed(&e.error))?;
    // The name is on the disk when its folder is; some file systems cannot say so.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

fn write_in_place(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)?;
    file.sync_all()
}

#[cfg(unix)]
fn has_other_names(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) > 1
}

#[cfg(not(unix))]
fn has_other_names(_: &Metadata) -> bool {
    false
}

/// Gives a file the owner and the group of another; `false` where that is not allowed.
#[cfg(unix)]
fn takes_owner(file: &File, metadata: &Metadata) -> bool {
    use std::os::unix::fs::{MetadataExt, fchown};
    let Ok(own) = file.metadata() else { return false };
    let is_same = (own.uid(), own.gid()) == (metadata.uid(), metadata.gid());
    is_same || fchown(file, Some(metadata.uid()), Some(metadata.gid())).is_ok()
}

#[cfg(not(unix))]
fn takes_owner(_: &File, _: &Metadata) -> bool {
    true
}

/// Copies extended attributes (labels, access lists), those that the file system has and lets be set.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn copy_attributes(from: &File, to: &File) {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
    /// Linux allows no longer list and no longer value.
    const MAX_BYTES: usize = 64 * 1024;
    let mut names = vec![0_u8; MAX_BYTES];
    let Ok(length) = flistxattr(from, names.as_mut_slice()) else { return };
    let mut value = vec![0_u8; MAX_BYTES];
    for name in names.get(..length).unwrap_or_default().split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let Ok(length) = fgetxattr(from, name, value.as_mut_slice()) else { continue };
        let _ = fsetxattr(to, name, value.get(..length).unwrap_or_default(), XattrFlags::empty());
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn copy_attributes(_: &File, _: &File) {}

//! Replaces the text of a file and keeps everything else.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use flux_operator::format::whole_file::WholeFile;

use crate::terminal::CliError;

/// Writes a file atomically, with its owner, permissions and extended attributes.
///
/// A new file would leave the old text in other hard links, and this user may not be allowed to set its owner. In both
/// cases the file is written in place, with the new text in a second file until that is done.
pub fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let failed = |error: &(dyn std::error::Error + 'static)| {
        CliError::failed(format!("cannot write {}", path.display())).caused_by(error)
    };
    // A symbolic link is followed, so that the link itself is kept.
    let path = std::fs::canonicalize(path).map_err(|e| failed(&e))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let old = File::open(&path).map_err(|e| failed(&e))?;
    let bytes = encoded_as(&old, text).map_err(|e| failed(&e))?;
    let mut whole = WholeFile::beside(&path).map_err(|e| failed(&e))?;
    whole.file().write_all(&bytes).map_err(|e| failed(&e))?;
    whole.file().sync_all().map_err(|e| failed(&e))?;
    let metadata = old.metadata().map_err(|e| failed(&e))?;
    if has_other_names(&metadata) || !copy_owner(whole.file(), &metadata) {
        return write_in_place(&path, &bytes).map_err(|error| {
            let copy = whole.keep().unwrap_or_default();
            failed(&error).hint(format!("the complete new text is in {}", copy.display()))
        });
    }
    copy_attributes(&old, whole.file());
    // Set these last, because a change of the owner removes permissions.
    whole.file().set_permissions(metadata.permissions()).map_err(|e| failed(&e))?;
    whole.file().sync_all().map_err(|e| failed(&e))?;
    // Windows does not replace an open file.
    drop(old);
    whole.replace().map_err(|e| failed(&e))?;
    // Syncing the folder makes the new name durable; some file systems do not support it.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Encodes a text like the old file, so that a file of Windows PowerShell remains UTF-16.
fn encoded_as(old: &File, text: &str) -> io::Result<Vec<u8>> {
    let mut mark = Vec::new();
    old.take(2).read_to_end(&mut mark)?;
    let utf_16 = |order: fn(u16) -> [u8; 2]| mark.iter().copied().chain(text.encode_utf16().flat_map(order)).collect();
    Ok(match mark.as_slice() {
        [0xFF, 0xFE] => utf_16(u16::to_le_bytes),
        [0xFE, 0xFF] => utf_16(u16::to_be_bytes),
        _ => text.as_bytes().to_vec(),
    })
}

fn write_in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
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

/// Copies owner and group to a file; `false` if that is not allowed.
#[cfg(unix)]
fn copy_owner(file: &File, metadata: &Metadata) -> bool {
    use std::os::unix::fs::{MetadataExt, fchown};
    let Ok(own) = file.metadata() else { return false };
    let is_same = (own.uid(), own.gid()) == (metadata.uid(), metadata.gid());
    is_same || fchown(file, Some(metadata.uid()), Some(metadata.gid())).is_ok()
}

#[cfg(not(unix))]
fn copy_owner(_: &File, _: &Metadata) -> bool {
    true
}

/// Copies extended attributes (labels, access lists) that the file system supports.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn copy_attributes(from: &File, to: &File) {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
    /// Limit of Linux for the list and for a value.
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

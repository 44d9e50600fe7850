//! Files named by a user or a configuration, read up to a limit.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Largest kubeconfig, certificate bundle or key that is read, in bytes (16 MiB). The bundle of an operating system
/// takes about 250 KB.
pub const MAX_CONFIG_BYTES: u64 = 16 << 20;

/// Reads a file of at most `limit` bytes. Pipes are accepted, because shells pass one for `<(…)`.
///
/// # Errors
/// The file cannot be opened or read, or is larger. A name may lead to `/dev/zero` or a disk image, and reading that to
/// the end would exhaust the memory.
pub fn read_at_most(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_stream_at_most(File::open(path)?, limit)
}

/// Reads a stream of at most `limit` bytes.
///
/// # Errors
/// It cannot be read, or has more bytes.
pub fn read_stream_at_most(stream: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let problem = format!("it is larger than the {} that are allowed", in_words(limit));
        return Err(io::Error::new(ErrorKind::FileTooLarge, problem));
    }
    Ok(bytes)
}

fn in_words(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    if bytes >= MIB { format!("{} MiB", bytes / MIB) } else { format!("{bytes} bytes") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit_and_refused_beyond_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_at_most(&path, 5).unwrap(), b"12345");
        let error = read_at_most(&path, 4).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().contains("larger than the 4 bytes")),
            (ErrorKind::FileTooLarge, true)
        );
        assert_eq!(read_at_most(&folder.path().join("none"), 4).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn a_device_without_an_end_is_refused() {
        let error = read_at_most(Path::new("/dev/zero"), 2 << 20).unwrap_err();
        assert!(error.to_string().contains("larger than the 2 MiB"), "{error}");
    }
}

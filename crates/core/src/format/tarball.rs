//! Gzip-compressed tar archives: read within limits, and written reproducibly. This module writes no files.
//!
//! Archives come from registries and unknown authors. Everything except plain files and folders is refused: absolute
//! names, `..`, links, devices, duplicates, a file in place of a folder, and any size over the limits.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::rc::Rc;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::{GzBuilder, write::GzEncoder};
use tar::EntryType;

use super::harmless::on_one_line;
use super::ignore::IgnoreRules;

/// The files of an archive by path, with `/` between the parts.
pub type Files = BTreeMap<String, TarFile>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TarFile {
    pub bytes: Vec<u8>,
    pub is_executable: bool,
}

impl From<Vec<u8>> for TarFile {
    fn from(bytes: Vec<u8>) -> Self {
        TarFile { bytes, is_executable: false }
    }
}

/// Limits for reading an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveLimits {
    pub compressed_bytes: u64,
    /// The whole uncompressed stream: contents, headers and padding.
    pub unpacked_bytes: u64,
    pub entries: usize,
    /// The content of one file.
    pub file_bytes: u64,
    /// Unpacked bytes per compressed byte, checked once more than a megabyte was unpacked. Text stays far below 100;
    /// the maximum of gzip is about 1030.
    pub ratio: u64,
}

impl ArchiveLimits {
    /// Limits for distributions of Flux: the largest known one unpacks to 20 MB in 400 files.
    pub const DISTRIBUTION: ArchiveLimits = ArchiveLimits {
        compressed_bytes: 64 << 20,
        unpacked_bytes: 128 << 20,
        entries: 10_000,
        file_bytes: 8 << 20,
        ratio: 200,
    };
    /// Limits for artifacts of pipelines. The reference unpacks at most 100 MiB.
    pub const ARTIFACT: ArchiveLimits = ArchiveLimits {
        compressed_bytes: 100 << 20,
        unpacked_bytes: 256 << 20,
        entries: 50_000,
        file_bytes: 100 << 20,
        ratio: 200,
    };
}

/// Why an archive was refused.
#[derive(Debug, thiserror::Error)]
pub enum TarballError {
    /// The archive cannot be read, is truncated, or is damaged.
    #[error("the archive is damaged or cut short")]
    Read(#[source] io::Error),
    /// It is in another format; the text names the format.
    #[error("the archive is {0}: only tar archives compressed with gzip are supported, as in Flux")]
    Format(&'static str),
    #[error("the archive {0}")]
    Limit(String),
    #[error("entry `{name}`: {problem}")]
    Entry { name: String, problem: String },
}

/// Counts bytes and stops with an error where `take` would end silently.
struct BoundedReader<R, C> {
    inner: R,
    /// Returns the problem with the number of bytes so far, if there is one.
    find_problem: C,
    meter: Rc<Meter>,
}

/// Shared counter. Outer readers wrap the errors of inner ones, so the caller asks here which limit was exceeded.
#[derive(Default)]
struct Meter {
    passed: Cell<u64>,
    problem: Cell<Option<String>>,
}

impl<R: Read, C: Fn(u64) -> Option<String>> Read for BoundedReader<R, C> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let passed = self.meter.passed.get() + read as u64;
        self.meter.passed.set(passed);
        let Some(problem) = (self.find_problem)(passed) else { return Ok(read) };
        self.meter.problem.set(Some(problem));
        Err(io::Error::other("too large"))
    }
}

fn bounded<R: Read, C: Fn(u64) -> Option<String>>(inner: R, find_problem: C) -> (BoundedReader<R, C>, Rc<Meter>) {
    let meter = Rc::new(Meter::default());
    (BoundedReader { inner, find_problem, meter: Rc::clone(&meter) }, meter)
}

/// Reads a gzip-compressed tar archive into memory, to its very end.
///
/// # Errors
/// The archive is damaged, in another format, larger than the limits, or contains anything but plain files and folders
/// under relative names.
pub fn read_tarball(mut reader: impl Read, limits: &ArchiveLimits) -> Result<Files, TarballError> {
    let mut beginning = Vec::new();
    (&mut reader).take(TAR_HEADER_BYTES).read_to_end(&mut beginning).map_err(TarballError::Read)?;
    if let Some(format) = unsupported_format(&beginning) {
        return Err(TarballError::Format(format));
    }
    let reader = io::Cursor::new(beginning).chain(reader);
    let (compressed, compressed_meter) = bounded(reader, |passed| {
        (passed > limits.compressed_bytes).then(|| format!("is larger than {} MiB", limits.compressed_bytes >> 20))
    });
    // Every byte passes this reader, regardless of the sizes in headers: contents, names, padding, and anything after
    // the last entry.
    let (stream, stream_meter) = bounded(MultiGzDecoder::new(compressed), |passed| {
        let highest = compressed_meter.passed.get().saturating_mul(limits.ratio);
        if passed > limits.unpacked_bytes {
            Some(format!("unpacks to more than {} MiB", limits.unpacked_bytes >> 20))
        } else if passed > (1 << 20) && passed > highest {
            Some(format!("unpacks to more than {} times its size", limits.ratio))
        } else {
            None
        }
    });
    let failed = |error: io::Error| match stream_meter.problem.take().or_else(|| compressed_meter.problem.take()) {
        Some(problem) => TarballError::Limit(problem),
        None => TarballError::Read(error),
    };
    let mut archive = tar::Archive::new(stream);
    let (mut files, mut folders) = (Files::new(), BTreeSet::new());
    for (count, entry) in archive.entries().map_err(failed)?.enumerate() {
        let mut entry = entry.map_err(failed)?;
        if count >= limits.entries {
            return Err(too_many(limits.entries));
        }
        let Some(path) = plain_file(&entry, &mut folders)? else { continue };
        let shown = shown_name(&entry);
        let refused = |problem: &str| TarballError::Entry { name: shown.clone(), problem: problem.to_owned() };
        let size = entry.size();
        if size > limits.file_bytes {
            return Err(refused(&format!("the file is larger than {} MiB", limits.file_bytes >> 20)));
        }
        let is_executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
        // Trust the size in a header only up to a megabyte.
        let mut bytes = Vec::with_capacity(size.min(1 << 20) as usize);
        entry.read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 != size {
            return Err(TarballError::Read(io::ErrorKind::UnexpectedEof.into()));
        }
        if files.insert(path, TarFile { bytes, is_executable }).is_some() {
            return Err(refused("the archive holds this file twice"));
        }
    }
    // The checksum follows the compressed data, after the last byte that tar reads.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(failed)?;
    no_file_is_a_folder(&files, &folders)?;
    Ok(files)
}

/// Bytes of the header of an entry, which ends no earlier than the mark of the format.
const TAR_HEADER_BYTES: u64 = 512;

/// Names the format of content that other tools put into layers and archives; None for gzip and for anything unknown.
fn unsupported_format(beginning: &[u8]) -> Option<&'static str> {
    const FORMATS: [(usize, &[u8], &str); 7] = [
        (0, b"\x28\xb5\x2f\xfd", "compressed with zstd"),
        (0, b"BZh", "compressed with bzip2"),
        (0, b"\xfd7zXZ\0", "compressed with xz"),
        (0, b"\x04\x22\x4d\x18", "compressed with lz4"),
        (0, b"\x1f\x9d", "compressed with compress"),
        (0, b"PK\x03\x04", "a ZIP archive"),
        (257, b"ustar", "not compressed"),
    ];
    FORMATS
        .iter()
        .find(|(at, mark, _)| beginning.get(*at..).is_some_and(|bytes| bytes.starts_with(mark)))
        .map(|(_, _, name)| *name)
}

fn too_many(entries: usize) -> TarballError {
    TarballError::Limit(format!("has more than {entries} entries"))
}

fn shown_name<R: Read>(entry: &tar::Entry<'_, R>) -> String {
    let shown: String = String::from_utf8_lossy(&entry.path_bytes()).chars().take(200).collect();
    on_one_line(&shown)
}

/// Returns the path of a file; `None` for a folder, whose path is recorded, and for entries that are only comments. Any
/// other entry is an error.
fn plain_file<R: Read>(
    entry: &tar::Entry<'_, R>,
    folders: &mut BTreeSet<String>,
) -> Result<Option<String>, TarballError> {
    let refused = |problem: &str| TarballError::Entry { name: shown_name(entry), problem: problem.to_owned() };
    let kind = entry.header().entry_type();
    if kind == EntryType::XGlobalHeader {
        // `git archive` begins with such an entry: a comment with the commit.
        return Ok(None);
    }
    let path = relative_path(&entry.path_bytes()).map_err(&refused)?;
    if kind.is_dir() {
        if entry.size() > 0 {
            return Err(refused("a folder has no content"));
        }
        folders.insert(path);
        return Ok(None);
    }
    // POSIX lets readers treat contiguous files as regular ones.
    if !matches!(kind, EntryType::Regular | EntryType::Continuous) {
        return Err(refused("only files and folders are allowed, no links or devices"));
    }
    if path.is_empty() {
        return Err(refused("a file without a name"));
    }
    Ok(Some(path))
}

/// Position of a file's content in an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub offset: u64,
    pub size: u64,
}

/// Finds the files of an uncompressed tar archive without reading their content.
///
/// # Errors
/// The archive is damaged, has too many entries, or holds anything but plain files and folders under relative names.
pub fn index_tar(reader: impl Read + Seek, entries: usize) -> Result<BTreeMap<String, Extent>, TarballError> {
    let mut archive = tar::Archive::new(reader);
    let (mut files, mut folders) = (BTreeMap::new(), BTreeSet::new());
    for (count, entry) in archive.entries_with_seek().map_err(TarballError::Read)?.enumerate() {
        let entry = entry.map_err(TarballError::Read)?;
        if count >= entries {
            return Err(too_many(entries));
        }
        let Some(path) = plain_file(&entry, &mut folders)? else { continue };
        let extent = Extent { offset: entry.raw_file_position(), size: entry.size() };
        if files.insert(path, extent).is_some() {
            let problem = "the archive holds this file twice".to_owned();
            return Err(TarballError::Entry { name: shown_name(&entry), problem });
        }
    }
    no_file_is_a_folder(&files, &folders)?;
    Ok(files)
}

/// Refuses paths that are both a file and a folder. A repeated folder is harmless: tools that append to archives write
/// them.
fn no_file_is_a_folder<T>(files: &BTreeMap<String, T>, folders: &BTreeSet<String>) -> Result<(), TarballError> {
    let refused =
        |path: &String, problem: &str| TarballError::Entry { name: path.clone(), problem: problem.to_owned() };
    let is_below_file = |path: &str| {
        path.match_indices('/').filter_map(|(at, _)| path.get(..at)).any(|folder| files.contains_key(folder))
    };
    for path in files.keys().chain(folders) {
        if is_below_file(path) {
            return Err(refused(path, "it is below a file"));
        }
    }
    match folders.iter().find(|path| files.contains_key(*path)) {
        Some(path) => Err(refused(path, "a folder has the name of a file")),
        None => Ok(()),
    }
}

/// Returns the path with `/` between its parts; only plain names and `.` are allowed. Empty for the root itself.
fn relative_path(name: &[u8]) -> Result<String, &'static str> {
    let text = std::str::from_utf8(name).map_err(|_| "the name is not UTF-8")?;
    if text.starts_with('/') {
        return Err("the path is absolute");
    }
    // On Windows a backslash separates folders, so such a name could lead out of the target.
    if text.contains('\\') || text.chars().any(char::is_control) {
        return Err("the name has a backslash or a control character");
    }
    let mut parts = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err("the path leaves the archive with `..`"),
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

/// Packs files reproducibly: sorted, without times, owners and host.
///
/// # Errors
/// Only for names that a tar archive cannot hold.
pub fn write_tarball(files: &Files) -> io::Result<Vec<u8>> {
    let archive = write_tar(files)?;
    // 255 means an unknown system (RFC 1952). The host's own number would change the digest.
    let mut gzip: GzEncoder<Vec<u8>> =
        GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
    gzip.write_all(&archive)?;
    gzip.finish()
}

/// Like [`write_tarball`], without compression; an image's configuration contains the digest of this form.
///
/// # Errors
/// As [`write_tarball`].
pub fn write_tar(files: &Files) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, file) in files {
        let mut header = plain_header(file.bytes.len() as u64);
        header.set_mode(if file.is_executable { 0o755 } else { 0o644 });
        archive.append_data(&mut header, path, file.bytes.as_slice())?;
    }
    archive.into_inner()
}

/// Writes files of a folder as a tar archive, in the given order.
///
/// # Errors
/// A file cannot be read, or the archive cannot be written.
pub fn write_tar_of<W: Write>(folder: &Path, paths: &[String], writer: W) -> io::Result<W> {
    let mut archive = tar::Builder::new(writer);
    for path in paths {
        let file = std::fs::File::open(folder.join(path))?;
        let size = file.metadata()?.len();
        // A file that grows in the meantime must not run into the next header.
        archive.append_data(&mut plain_header(size), path, file.take(size))?;
    }
    archive.into_inner()
}

/// Makes a file header without time, owner or host.
fn plain_header(size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(size);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// The files of a folder, ready for an archive.
#[derive(Debug, Default)]
pub struct Folder {
    pub files: Files,
    /// Links, sockets and other files that an archive cannot hold.
    pub skipped: Vec<String>,
}

/// Reads a folder or a single file, except what the rules exclude.
///
/// # Errors
/// A file cannot be read, or has a name that is not UTF-8.
pub fn read_folder(root: &Path, rules: &IgnoreRules) -> io::Result<Folder> {
    let mut folder = Folder::default();
    if std::fs::metadata(root)?.is_file() {
        let name = root.file_name().and_then(std::ffi::OsStr::to_str).ok_or(io::ErrorKind::InvalidInput)?;
        folder.files.insert(name.to_owned(), read_file(root)?);
        return Ok(folder);
    }
    let mut open = vec![String::new()];
    while let Some(below) = open.pop() {
        for entry in std::fs::read_dir(root.join(&below))? {
            let entry = entry?;
            let name = entry.file_name().into_string().map_err(|_| io::Error::other("a name is not UTF-8"))?;
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            // This does not follow links, so a link to a file elsewhere is skipped instead of being packed.
            let kind = entry.file_type()?;
            if rules.excludes(&path, kind.is_dir()) {
                continue;
            }
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() {
                folder.files.insert(path, read_file(&entry.path())?);
            } else {
                folder.skipped.push(path);
            }
        }
    }
    folder.skipped.sort();
    Ok(folder)
}

fn read_file(path: &Path) -> io::Result<TarFile> {
    let bytes = std::fs::read(path)?;
    Ok(TarFile { bytes, is_executable: is_executable(&std::fs::metadata(path)?) })
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    const SMALL: ArchiveLimits =
        ArchiveLimits { compressed_bytes: 10_000, unpacked_bytes: 5 << 20, entries: 6, file_bytes: 4 << 20, ratio: 50 };

    struct Raw(tar::Builder<Vec<u8>>);

    impl Raw {
        fn new() -> Self {
            Raw(tar::Builder::new(Vec::new()))
        }

        /// Write the name into the header directly: the library would refuse some of these names.
        fn add(mut self, name: &[u8], kind: EntryType, content: &[u8]) -> Self {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(kind);
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            header.as_old_mut().name[..name.len()].copy_from_slice(name);
            if matches!(kind, EntryType::Symlink | EntryType::Link) {
                header.set_link_name("target").unwrap();
            }
            header.set_cksum();
            self.0.append(&header, content).unwrap();
            self
        }

        fn file(self, name: &str, content: &[u8]) -> Self {
            self.add(name.as_bytes(), EntryType::Regular, content)
        }

        fn bytes(self) -> Vec<u8> {
            self.0.into_inner().unwrap()
        }

        fn read(self) -> Result<Files, TarballError> {
            read_tarball(&gzip(&self.bytes())[..], &SMALL)
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Incompressible bytes (xorshift).
    fn noise(count: usize) -> Vec<u8> {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[0]
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn files_are_read_by_their_plain_path() {
        let archive = Raw::new()
            .add(b"./", EntryType::Directory, b"")
            .add(b"a/", EntryType::Directory, b"")
            // `tar --append` repeats folders.
            .add(b"./a", EntryType::Directory, b"")
            .add(b"pax_global_header", EntryType::XGlobalHeader, b"19 comment=1234567\n")
            .file("./a/b.yaml", b"x")
            .file("c", b"");
        let files = archive.read().unwrap();
        assert_eq!(files.keys().collect::<Vec<_>>(), ["a/b.yaml", "c"]);
        assert_eq!(files["a/b.yaml"].bytes, b"x");
    }

    #[test]
    fn archive_entries_without_a_place_in_a_tree_of_files_are_refused() {
        let file = EntryType::Regular;
        for (archive, problem) in [
            (Raw::new().file("../a", b""), "`..`"),
            (Raw::new().file("a/../../b", b""), "`..`"),
            (Raw::new().file("/etc/passwd", b""), "absolute"),
            (Raw::new().file("a\\b", b""), "backslash"),
            (Raw::new().file("a\nb", b""), "control character"),
            (Raw::new().add(b"\xff", file, b""), "not UTF-8"),
            (Raw::new().add(b"./", file, b""), "without a name"),
            (Raw::new().add(b"a", EntryType::Symlink, b""), "no links"),
            (Raw::new().add(b"a", EntryType::Link, b""), "no links"),
            (Raw::new().add(b"a", EntryType::Char, b""), "no links"),
            (Raw::new().add(b"a", EntryType::Block, b""), "no links"),
            (Raw::new().add(b"a", EntryType::Fifo, b""), "no links"),
            (Raw::new().add(b"../a", EntryType::Directory, b""), "`..`"),
            (Raw::new().file("a", b"1").file("a", b"2"), "twice"),
            (Raw::new().file("a", b"1").file("./a", b"2"), "twice"),
            (Raw::new().file("a", b"1").file("a/b", b"2"), "below a file"),
            (Raw::new().file("a", b"1").add(b"a", EntryType::Directory, b""), "the name of a file"),
            (Raw::new().add(b"./a/", EntryType::Directory, b"").file("a", b"1"), "the name of a file"),
            (Raw::new().file("a", b"1").add(b"a/b/", EntryType::Directory, b""), "below a file"),
        ] {
            let error = archive.read().expect_err(problem).to_string();
            assert!(error.contains(problem), "{problem}: {error}");
        }
    }

    #[test]
    fn every_limit_is_kept() {
        let many = (0..7).fold(Raw::new(), |archive, n| archive.file(&n.to_string(), b""));
        let large = (0..3).fold(Raw::new(), |archive, n| archive.file(&n.to_string(), &noise(3000)));
        let total = || (0..3).fold(Raw::new(), |archive, n| archive.file(&n.to_string(), &vec![0; 2 << 20]));
        let long_name =
            || Raw::new().add(b"././@LongLink", EntryType::GNULongName, &vec![b'a'; 6 << 20]).file("a", b"");
        let trailing = || [Raw::new().file("a", b"").bytes(), vec![0; 6 << 20]].concat();
        let any_ratio = ArchiveLimits { ratio: 2000, ..SMALL };
        for (limits, archive, problem) in [
            (&SMALL, many.bytes(), "more than 6 entries"),
            (&SMALL, large.file("x", &noise(12_000)).bytes(), "is larger than 0 MiB"),
            (&SMALL, Raw::new().file("a", &vec![0; (4 << 20) + 1]).bytes(), "the file is larger than 4 MiB"),
            (&SMALL, Raw::new().file("a", &vec![0; 3 << 20]).bytes(), "more than 50 times"),
            (&any_ratio, total().bytes(), "more than 5 MiB"),
            // The limit also covers bytes that are not a file's content.
            (&SMALL, long_name().bytes(), "more than 50 times"),
            (&any_ratio, long_name().bytes(), "more than 5 MiB"),
            (&SMALL, trailing(), "more than 50 times"),
            (&any_ratio, trailing(), "more than 5 MiB"),
            (&any_ratio, Raw::new().add(b"a/", EntryType::Directory, &[0; 512]).bytes(), "a folder has no content"),
        ] {
            let error = read_tarball(&gzip(&archive)[..], limits).expect_err(problem).to_string();
            assert!(error.contains(problem), "{problem}: {error}");
        }
    }

    #[test]
    fn the_files_of_a_plain_archive_are_found_at_their_positions() {
        let bytes = Raw::new().file("a", b"first").file("./b/c", b"second").0.into_inner().unwrap();
        let found = index_tar(io::Cursor::new(&bytes), 10).unwrap();
        let content = |path: &str| {
            let Extent { offset, size } = found[path];
            &bytes[usize::try_from(offset).unwrap()..][..usize::try_from(size).unwrap()]
        };
        assert_eq!((content("a"), content("b/c"), found.len()), (&b"first"[..], &b"second"[..], 2));
        let index = |raw: Raw, entries| index_tar(io::Cursor::new(raw.0.into_inner().unwrap()), entries);
        assert!(index(Raw::new().file("a", b"").file("b", b""), 1).unwrap_err().to_string().contains("more than 1"));
        for hostile in [
            Raw::new().file("../a", b""),
            Raw::new().add(b"a", EntryType::Symlink, b""),
            Raw::new().file("a", b"").file("a", b""),
            Raw::new().file("a", b"").file("a/b", b""),
            Raw::new().file("a", b"").add(b"a/", EntryType::Directory, b""),
            Raw::new().add(b"a/", EntryType::Directory, &[0; 512]),
        ] {
            assert!(index(hostile, 10).is_err());
        }
        assert!(index_tar(io::Cursor::new(&[7; 1024]), 10).is_err());
    }

    #[test]
    fn another_format_is_named_and_not_called_damaged() {
        let tar = Raw::new().file("a", b"content").0.into_inner().unwrap();
        let zstd = [b"\x28\xb5\x2f\xfd".as_slice(), &[0; 600]].concat();
        for (bytes, format) in [
            (zstd.as_slice(), "compressed with zstd"),
            (b"BZh91AY&SY", "compressed with bzip2"),
            (b"\xfd7zXZ\0\0", "compressed with xz"),
            (b"PK\x03\x04..", "a ZIP archive"),
            (tar.as_slice(), "not compressed"),
        ] {
            let error = read_tarball(bytes, &SMALL).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("the archive is {format}: only tar archives compressed with gzip are supported, as in Flux")
            );
        }
        assert!(matches!(read_tarball(&b"text"[..], &SMALL), Err(TarballError::Read(_))));
        assert!(matches!(read_tarball(&b""[..], &SMALL), Err(TarballError::Read(_))));
    }

    #[test]
    fn damaged_archives_are_errors() {
        let good = gzip(&Raw::new().file("a", b"content").0.into_inner().unwrap());
        assert_eq!(read_tarball(&good[..], &SMALL).unwrap().len(), 1);
        for length in [0, 1, 10, good.len() - 9, good.len() - 1] {
            assert!(read_tarball(&good[..length], &SMALL).is_err(), "cut to {length}");
        }
        for at in [0, 2, good.len() - 5, good.len() - 8] {
            let mut wrong = good.clone();
            wrong[at] ^= 0x55;
            assert!(read_tarball(&wrong[..], &SMALL).is_err(), "changed at {at}");
        }
        assert!(read_tarball(&[&good[..], b"garbage"].concat()[..], &SMALL).is_err());
        assert!(read_tarball(&gzip(&[7; 1024])[..], &SMALL).is_err(), "a header without a checksum");
        let mut claims = Raw::new().file("a", b"content").0.into_inner().unwrap();
        claims.truncate(512 + 3);
        assert!(read_tarball(&gzip(&claims)[..], &SMALL).is_err(), "a content that is cut short");
    }

    #[test]
    fn the_same_files_give_the_same_bytes() {
        let file = |text: &str, is_executable| TarFile { bytes: text.as_bytes().to_vec(), is_executable };
        let long = format!("{}/{}.yaml", "folder".repeat(20), "name".repeat(30));
        let files = Files::from([
            ("b/c".to_owned(), file("x", false)),
            ("a".to_owned(), file("y", true)),
            (long, file("", false)),
        ]);
        let packed = write_tarball(&files).unwrap();
        assert_eq!(packed, write_tarball(&files.clone()).unwrap());
        // The expected bytes are fixed: another compressor or header would change every digest that pipelines compare.
        assert_eq!(packed.get(4..10), Some(&[0, 0, 0, 0, 2, 255][..]));
        assert_eq!(read_tarball(&packed[..], &SMALL).unwrap(), files);
    }

    #[test]
    fn a_folder_is_read_without_what_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["a.yaml", "b/c.yaml", "b/d.jpg", ".git/config"] {
            std::fs::create_dir_all(folder.path().join(path).parent().unwrap()).unwrap();
            std::fs::write(folder.path().join(path), path).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink("a.yaml", folder.path().join("link")).unwrap();
        let rules = IgnoreRules::parse([".git/", "*.jpg"]).unwrap();
        let read = read_folder(folder.path(), &rules).unwrap();
        assert_eq!(read.files.keys().collect::<Vec<_>>(), ["a.yaml", "b/c.yaml"]);
        assert_eq!(read.skipped, if cfg!(unix) { vec!["link"] } else { vec![] });
        let one = read_folder(&folder.path().join("b/c.yaml"), &rules).unwrap();
        assert_eq!(one.files.keys().collect::<Vec<_>>(), ["c.yaml"]);
        assert!(read_folder(&folder.path().join("missing"), &rules).is_err());
    }

    proptest! {
        #[test]
        fn nothing_makes_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let _ = read_tarball(&bytes[..], &SMALL);
            let _ = read_tarball(&gzip(&bytes)[..], &SMALL);
        }
    }
}

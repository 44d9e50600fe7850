//! Images in a folder: the OCI image layout
//! (<https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md>).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hyper::body::Bytes;
use serde::{Deserialize, Serialize};

use super::digest::Hasher;
use super::error::Reason;
use super::manifest::{MAX_MANIFEST_BYTES, null_as_default};
use super::registry::BlobSource;
use super::{Descriptor, Digest, Manifest, MediaType, OciError};
use crate::format::tarball::{Extent, index_tar, write_tar_of};
use crate::format::whole_file::{self, WholeFile};

/// The annotation with the name of an index entry.
const NAME: &str = "org.opencontainers.image.ref.name";
const VERSION: &str = "1.0.0";
const BLOBS: &str = "blobs/sha256";

/// More files than any layout of ours has; a limit for foreign archives.
const MAX_ARCHIVE_ENTRIES: usize = 100_000;

/// A folder with `oci-layout`, `index.json` and `blobs/sha256/HEX`, or a read-only tar archive of one.
#[derive(Clone, Debug)]
pub struct Layout {
    path: PathBuf,
    /// The files of an archive; `None` for a folder.
    archive: Option<Arc<BTreeMap<String, Extent>>>,
    /// Locked while `index.json` changes.
    index: Arc<Mutex<()>>,
}

/// The content of a verified layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifiedLayout {
    pub manifests: usize,
    pub blobs: usize,
    pub bytes: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Marker {
    image_layout_version: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    schema_version: u64,
    #[serde(default)]
    media_type: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    manifests: Vec<Descriptor>,
}

impl Layout {
    /// Opens an existing layout.
    ///
    /// # Errors
    /// The path is not a layout.
    pub fn open(path: &Path) -> Result<Layout, OciError> {
        let failed = |reason| OciError::new(format!("open the image layout {}", path.display()), reason);
        let archive = match path.is_file() {
            true => Some(Arc::new(index_archive(path).map_err(failed)?)),
            false => None,
        };
        let layout = Layout { path: path.to_owned(), archive, index: Arc::default() };
        let text = layout.read("oci-layout", MAX_MANIFEST_BYTES).map_err(failed)?;
        let what = path.join("oci-layout").display().to_string();
        let unusable = |problem: &str| failed(Reason::Content { what: what.clone(), problem: problem.to_owned() });
        let marker: Marker = serde_json::from_slice(&text).map_err(|_| unusable("it does not parse"))?;
        if !marker.image_layout_version.starts_with("1.") {
            return Err(unusable("its version is unknown"));
        }
        layout.read_index().map_err(failed)?;
        Ok(layout)
    }

    /// Opens a layout, or creates an empty one.
    ///
    /// # Errors
    /// The folder cannot be written, or contains something else.
    pub fn create(folder: &Path) -> Result<Layout, OciError> {
        if folder.join("oci-layout").exists() {
            return Layout::open(folder);
        }
        let failed = |error: io::Error| {
            OciError::new(format!("create the image layout {}", folder.display()), file_reason(folder, &error))
        };
        std::fs::create_dir_all(folder.join(BLOBS)).map_err(failed)?;
        let layout = Layout { path: folder.to_owned(), archive: None, index: Arc::default() };
        let index = Index { schema_version: 2, media_type: Some(MediaType::INDEX.to_owned()), manifests: Vec::new() };
        layout
            .write_index(&index)
            .map_err(|reason| OciError::new(format!("create the image layout {}", folder.display()), reason))?;
        // Last, because this file makes the folder a layout: an interrupted call leaves nothing that looks complete.
        let marker = Marker { image_layout_version: VERSION.to_owned() };
        let text = serde_json::to_vec(&marker).map_err(|error| failed(error.into()))?;
        whole_file::write(&folder.join("oci-layout"), &text).map_err(failed)?;
        Ok(layout)
    }

    /// Returns the named entries of the index, in order.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn names(&self) -> Result<Vec<(String, Descriptor)>, OciError> {
        let index = self.read_index().map_err(|reason| OciError::new("list the image layout", reason))?;
        let named =
            index.manifests.into_iter().map(|entry| (entry.annotation(NAME).unwrap_or_default().to_owned(), entry));
        Ok(named.collect())
    }

    /// Reads a manifest by digest or by name; an empty name means the only manifest.
    ///
    /// # Errors
    /// The manifest does not exist or does not match its digest.
    pub fn manifest(&self, name: &str) -> Result<Manifest, OciError> {
        let failed = |reason| OciError::new(format!("read {name} in {}", self.path.display()), reason);
        let (digest, media_type) = match name.parse::<Digest>() {
            Ok(digest) => (digest, None),
            Err(_) => {
                let index = self.read_index().map_err(failed)?;
                let is_named = |entry: &&Descriptor| entry.annotation(NAME) == Some(name);
                let entry = match index.manifests.as_slice() {
                    [only] if name.is_empty() => Some(only),
                    all => all.iter().find(is_named),
                };
                let what = || format!("{name} in {}", self.path.display());
                let entry = entry.ok_or_else(|| failed(Reason::NotFound { what: what() }))?;
                (entry.digest.clone(), Some(entry.media_type.clone()))
            }
        };
        let path = self.blob_path(&digest);
        let bytes = self.read(&blob_name(&digest), MAX_MANIFEST_BYTES).map_err(failed)?;
        let actual = Digest::of(&bytes);
        if actual != digest {
            let what = path.display().to_string();
            return Err(failed(Reason::Digest { what, expected: digest.to_string(), actual: actual.to_string() }));
        }
        let what = path.display().to_string();
        Manifest::parse(media_type.as_deref(), Bytes::from(bytes))
            .map_err(|problem| failed(Reason::Content { what, problem }))
    }

    /// Returns the path of a blob in a folder, which is also its name in errors.
    fn blob_path(&self, digest: &Digest) -> PathBuf {
        self.path.join(blob_name(digest))
    }

    /// Returns the location of a blob's bytes without checking that it exists.
    pub(super) fn blob(&self, digest: &Digest) -> BlobSource {
        let extent = self.archive.as_ref().and_then(|files| files.get(&blob_name(digest)));
        match extent {
            Some(extent) => BlobSource::File { path: self.path.clone(), offset: extent.offset },
            None => BlobSource::File { path: self.blob_path(digest), offset: 0 },
        }
    }

    /// Writes everything that the index references as a tar archive; equal indexes give equal archives.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn write_archive(&self, writer: impl io::Write) -> Result<(), OciError> {
        let failed = |error: io::Error| {
            OciError::new(format!("pack the image layout {}", self.path.display()), file_reason(&self.path, &error))
        };
        // Skip leftovers of interrupted copies in the folder.
        let mut paths: Vec<String> = self.reached()?.iter().map(|reached| blob_name(&reached.digest)).collect();
        paths.sort();
        // These come first, so that a reader can identify the archive at once.
        paths.splice(..0, ["oci-layout".to_owned(), "index.json".to_owned()]);
        let mut writer = write_tar_of(&self.path, &paths, writer).map_err(failed)?;
        writer.flush().map_err(failed)
    }

    /// Reads everything that the index references and verifies its digests.
    ///
    /// # Errors
    /// A part is missing or does not match its digest.
    pub fn check(&self) -> Result<VerifiedLayout, OciError> {
        let mut checked = VerifiedLayout::default();
        for descriptor in self.reached()? {
            if descriptor.is_manifest() {
                checked.manifests += 1;
            } else {
                self.check_blob(&descriptor)?;
                checked.blobs += 1;
            }
            checked.bytes += descriptor.size;
        }
        Ok(checked)
    }

    /// Returns everything that the index references, without duplicates; manifests have their actual size.
    fn reached(&self) -> Result<Vec<Descriptor>, OciError> {
        let mut open: Vec<Descriptor> = self.names()?.into_iter().map(|(_, descriptor)| descriptor).collect();
        let (mut reached, mut seen) = (Vec::new(), BTreeSet::new());
        while let Some(mut descriptor) = open.pop() {
            if !descriptor.is_distributable() || !seen.insert(descriptor.digest.clone()) {
                continue;
            }
            if descriptor.is_manifest() {
                let manifest = self.manifest(&descriptor.digest.to_string())?;
                descriptor.size = manifest.bytes.len() as u64;
                open.extend(manifest.parts().cloned());
            }
            reached.push(descriptor);
        }
        Ok(reached)
    }

    fn check_blob(&self, descriptor: &Descriptor) -> Result<(), OciError> {
        let path = self.blob_path(&descriptor.digest);
        let failed = |reason| OciError::new(format!("check {}", path.display()), reason);
        let input = self.open_file(&blob_name(&descriptor.digest)).map_err(failed)?;
        let copied = copy_checked(input, &mut io::sink(), &path, descriptor);
        copied.map(drop).map_err(failed)
    }

    /// Opens a file of the layout, or its range in an archive.
    fn open_file(&self, name: &str) -> Result<io::Take<std::fs::File>, Reason> {
        let path = self.path.join(name);
        let failed = |error: io::Error| file_reason(&path, &error);
        let Some(files) = &self.archive else {
            return Ok(io::Read::take(open_regular(&path).map_err(failed)?, u64::MAX));
        };
        let extent = files.get(name).ok_or_else(|| Reason::NotFound { what: path.display().to_string() })?;
        let mut file = open_regular(&self.path).map_err(failed)?;
        io::Seek::seek(&mut file, io::SeekFrom::Start(extent.offset)).map_err(failed)?;
        Ok(io::Read::take(file, extent.size))
    }

    /// Reads a whole file of the layout.
    fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, Reason> {
        let path = self.path.join(name);
        let mut bytes = Vec::new();
        let mut file = io::Read::take(self.open_file(name)?, limit.saturating_add(1));
        io::Read::read_to_end(&mut file, &mut bytes).map_err(|error| file_reason(&path, &error))?;
        match bytes.len() as u64 > limit {
            true => Err(Reason::TooLarge { what: path.display().to_string(), limit }),
            false => Ok(bytes),
        }
    }

    /// An archive is written once, as a whole.
    fn refuse_archive(&self) -> Result<(), Reason> {
        let (path, problem) = (self.path.display().to_string(), "an archived layout cannot be changed".to_owned());
        if self.archive.is_some() { Err(Reason::File { path, problem }) } else { Ok(()) }
    }

    /// Reads a whole blob into memory and verifies it.
    ///
    /// # Errors
    /// The blob is larger than `limit`, missing, or does not match its digest.
    pub fn read_blob(&self, descriptor: &Descriptor, limit: u64) -> Result<Bytes, OciError> {
        let path = self.blob_path(&descriptor.digest);
        let failed = |reason| OciError::new(format!("read {}", path.display()), reason);
        // The declared size bounds the read, so a file that grew is refused without being read to its end.
        let bytes = self.read(&blob_name(&descriptor.digest), limit.min(descriptor.size)).map_err(failed)?;
        check(&path, descriptor, bytes.len() as u64, Digest::of(&bytes)).map_err(failed)?;
        Ok(Bytes::from(bytes))
    }

    /// Writes a blob into the layout unless it exists. Returns whether it was written.
    pub(super) async fn put_blob(
        &self,
        descriptor: &Descriptor,
        source: &BlobSource,
        counter: Option<&super::ByteCounter>,
    ) -> Result<bool, OciError> {
        let path = self.blob_path(&descriptor.digest);
        // The size is enough here, because files are renamed into place only after verification. `check` reads the
        // content.
        if std::fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() == descriptor.size) {
            return Ok(false);
        }
        let failed = |reason| OciError::new(format!("write {}", path.display()), reason);
        self.refuse_archive().map_err(failed)?;
        match source {
            BlobSource::Repository(registries, repository) => {
                registries.save_blob(repository, descriptor, &path, counter).await?;
            }
            BlobSource::Bytes(bytes) => {
                check(&path, descriptor, bytes.len() as u64, Digest::of(bytes)).map_err(failed)?;
                whole_file::write(&path, bytes).map_err(|error| failed(file_reason(&path, &error)))?;
            }
            BlobSource::File { path: from, offset } => {
                let copied = save_checked(from, *offset, &path, descriptor).map_err(failed)?;
                counter.iter().for_each(|count| count(copied));
            }
        }
        Ok(true)
    }

    /// Writes a manifest into the layout, and adds it to the index if it has a name.
    pub(super) fn put_manifest(&self, manifest: &Manifest, name: Option<&str>) -> Result<(), OciError> {
        let path = self.blob_path(&manifest.digest);
        let failed = |reason| OciError::new(format!("write {}", path.display()), reason);
        self.refuse_archive().map_err(failed)?;
        whole_file::write(&path, &manifest.bytes).map_err(|error| failed(file_reason(&path, &error)))?;
        let Some(name) = name else { return Ok(()) };
        let _held = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let mut index = self.read_index().map_err(failed)?;
        index.manifests.retain(|entry| entry.annotation(NAME) != Some(name));
        let annotations = Some([(NAME.to_owned(), name.to_owned())].into());
        index.manifests.push(Descriptor { annotations, ..manifest.descriptor() });
        // Sorted, so that equal content gives equal bytes in any order of copying.
        index.manifests.sort_by(|a, b| a.annotation(NAME).cmp(&b.annotation(NAME)));
        self.write_index(&index).map_err(failed)
    }

    /// Removes all other names from the index. Their content stays in the folder.
    ///
    /// # Errors
    /// The index cannot be read or written.
    pub fn keep_names(&self, names: &BTreeSet<String>) -> Result<(), OciError> {
        let failed = |reason| OciError::new(format!("write {}", self.path.join("index.json").display()), reason);
        self.refuse_archive().map_err(failed)?;
        let _held = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let mut index = self.read_index().map_err(failed)?;
        index.manifests.retain(|entry| entry.annotation(NAME).is_some_and(|name| names.contains(name)));
        self.write_index(&index).map_err(failed)
    }

    fn read_index(&self) -> Result<Index, Reason> {
        let bytes = self.read("index.json", MAX_MANIFEST_BYTES)?;
        let what = || self.path.join("index.json").display().to_string();
        serde_json::from_slice(&bytes)
            .map_err(|error| Reason::Content { what: what(), problem: format!("it does not parse: {error}") })
    }

    fn write_index(&self, index: &Index) -> Result<(), Reason> {
        let path = self.path.join("index.json");
        let text = serde_json::to_vec(index).map_err(|error| file_reason(&path, &error.into()))?;
        whole_file::write(&path, &text).map_err(|error| file_reason(&path, &error))
    }
}

/// Opens a regular file. A pipe in its place would block, and a device might never end.
fn open_regular(path: &Path) -> io::Result<std::fs::File> {
    match std::fs::metadata(path)?.is_file() {
        true => std::fs::File::open(path),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

fn file_reason(path: &Path, error: &io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::NotFound => Reason::NotFound { what: path.display().to_string() },
        _ => Reason::File { path: path.display().to_string(), problem: error.to_string() },
    }
}

fn check(path: &Path, descriptor: &Descriptor, size: u64, actual: Digest) -> Result<(), Reason> {
    let what = path.display().to_string();
    if actual != descriptor.digest {
        let expected = descriptor.digest.to_string();
        return Err(Reason::Digest { what, expected, actual: actual.to_string() });
    }
    if size != descriptor.size {
        return Err(Reason::Content { what, problem: format!("it has {size} bytes, not {}", descriptor.size) });
    }
    Ok(())
}

/// Copies a range of a file beside the target, and renames it after its digest was verified.
fn save_checked(from: &Path, offset: u64, to: &Path, descriptor: &Descriptor) -> Result<u64, Reason> {
    let failed = |error: io::Error| file_reason(from, &error);
    let mut input = open_regular(from).map_err(failed)?;
    io::Seek::seek(&mut input, io::SeekFrom::Start(offset)).map_err(failed)?;
    let mut whole = WholeFile::beside(to).map_err(failed)?;
    // Reading one byte beyond the expected end detects a longer file. In an archive the next file begins there.
    let input = io::Read::take(input, if offset == 0 { u64::MAX } else { descriptor.size });
    let size = copy_checked(input, whole.file(), from, descriptor)?;
    whole.replace().map_err(failed)?;
    Ok(size)
}

fn copy_checked(
    mut input: impl io::Read,
    output: &mut impl io::Write,
    from: &Path,
    descriptor: &Descriptor,
) -> Result<u64, Reason> {
    let failed = |error: io::Error| file_reason(from, &error);
    let (mut hasher, mut size) = (Hasher::default(), 0);
    let mut piece = vec![0; 128 << 10];
    loop {
        let read = input.read(&mut piece).map_err(failed)?;
        let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
        hasher.update(bytes);
        size += bytes.len() as u64;
        output.write_all(bytes).map_err(failed)?;
    }
    check(from, descriptor, size, hasher.finish())?;
    Ok(size)
}

fn index_archive(path: &Path) -> Result<BTreeMap<String, Extent>, Reason> {
    let file = std::fs::File::open(path).map_err(|error| file_reason(path, &error))?;
    index_tar(io::BufReader::new(file), MAX_ARCHIVE_ENTRIES).map_err(|error| {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
        Reason::Content { what: path.display().to_string(), problem: format!("{error}{source}") }
    })
}

fn blob_name(digest: &Digest) -> String {
    format!("{BLOBS}/{}", digest.hex())
}

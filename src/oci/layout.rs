//! Images in a folder: the OCI image layout (<https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md>).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hyper::body::Bytes;
use serde::{Deserialize, Serialize};

use super::digest::Hasher;
use super::error::Reason;
use super::manifest::MAX_MANIFEST_BYTES;
use super::registry::BlobSource;
use super::{Descriptor, Digest, Manifest, MediaType, OciError};

/// The annotation of an index entry that holds its name.
const NAME: &str = "org.opencontainers.image.ref.name";
const VERSION: &str = "1.0.0";

/// A folder with `oci-layout`, `index.json` and `blobs/sha256/HEX`.
#[derive(Clone, Debug)]
pub struct Layout {
    folder: PathBuf,
    /// Held while `index.json` is changed.
    index: Arc<Mutex<()>>,
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
    manifests: Vec<Descriptor>,
}

impl Layout {
    /// Opens a layout that exists.
    ///
    /// # Errors
    /// The folder is none.
    pub fn open(folder: &Path) -> Result<Layout, OciError> {
        let layout = Layout { folder: folder.to_owned(), index: Arc::default() };
        let failed = |reason| OciError::new(format!("open the image layout {}", folder.display()), reason);
        let marker = folder.join("oci-layout");
        let text = std::fs::read(&marker).map_err(|error| failed(file_reason(&marker, &error)))?;
        let unusable =
            |problem: &str| failed(Reason::Content { what: marker.display().to_string(), problem: problem.to_owned() });
        let marker: Marker = serde_json::from_slice(&text).map_err(|_| unusable("it does not parse"))?;
        if !marker.image_layout_version.starts_with("1.") {
            return Err(unusable("its version is unknown"));
        }
        layout.read_index().map_err(failed)?;
        Ok(layout)
    }

    /// Opens a layout, or makes an empty one.
    ///
    /// # Errors
    /// The folder cannot be written, or holds something else.
    pub fn create(folder: &Path) -> Result<Layout, OciError> {
        if folder.join("oci-layout").exists() {
            return Layout::open(folder);
        }
        let failed = |error: io::Error| {
            OciError::new(format!("create the image layout {}", folder.display()), file_reason(folder, &error))
        };
        std::fs::create_dir_all(folder.join("blobs/sha256")).map_err(failed)?;
        let layout = Layout { folder: folder.to_owned(), index: Arc::default() };
        let index = Index { schema_version: 2, media_type: Some(MediaType::INDEX.to_owned()), manifests: Vec::new() };
        layout
            .write_index(&index)
            .map_err(|reason| OciError::new(format!("create the image layout {}", folder.display()), reason))?;
        let marker = Marker { image_layout_version: VERSION.to_owned() };
        let text = serde_json::to_vec(&marker).map_err(|error| failed(error.into()))?;
        std::fs::write(folder.join("oci-layout"), text).map_err(failed)?;
        Ok(layout)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The names in the index with what they name, in its order.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn names(&self) -> Result<Vec<(String, Descriptor)>, OciError> {
        let index = self.read_index().map_err(|reason| OciError::new("list the image layout", reason))?;
        let named =
            index.manifests.into_iter().map(|entry| (entry.annotation(NAME).unwrap_or_default().to_owned(), entry));
        Ok(named.collect())
    }

    /// Reads a manifest by digest or by name; an empty name means the only one there is.
    ///
    /// # Errors
    /// It is not there, or not what its digest says.
    pub fn manifest(&self, name: &str) -> Result<Manifest, OciError> {
        let failed = |reason| OciError::new(format!("read {name} in {}", self.folder.display()), reason);
        let (digest, media_type) = match name.parse::<Digest>() {
            Ok(digest) => (digest, None),
            Err(_) => {
                let index = self.read_index().map_err(failed)?;
                let is_named = |entry: &&Descriptor| entry.annotation(NAME) == Some(name);
                let entry = match index.manifests.as_slice() {
                    [only] if name.is_empty() => Some(only),
                    all => all.iter().find(is_named),
                };
                let what = || format!("{name} in {}", self.folder.display());
                let entry = entry.ok_or_else(|| failed(Reason::NotFound { what: what() }))?;
                (entry.digest.clone(), Some(entry.media_type.clone()))
            }
        };
        let path = self.blob_path(&digest);
        let bytes = read_bounded(&path, MAX_MANIFEST_BYTES).map_err(failed)?;
        let actual = Digest::of(&bytes);
        if actual != digest {
            let what = path.display().to_string();
            return Err(failed(Reason::Digest { what, expected: digest.to_string(), actual: actual.to_string() }));
        }
        let what = path.display().to_string();
        Manifest::parse(media_type.as_deref(), Bytes::from(bytes))
            .map_err(|problem| failed(Reason::Content { what, problem }))
    }

    pub(super) fn blob_path(&self, digest: &Digest) -> PathBuf {
        self.folder.join("blobs/sha256").join(digest.hex())
    }

    /// Reads a whole blob into memory, and checks it.
    ///
    /// # Errors
    /// It is larger than `limit`, missing, or not what its digest says.
    pub fn read_blob(&self, descriptor: &Descriptor, limit: u64) -> Result<Bytes, OciError> {
        let path = self.blob_path(&descriptor.digest);
        let failed = |reason| OciError::new(format!("read {}", path.display()), reason);
        let bytes = read_bounded(&path, limit.min(descriptor.size)).map_err(failed)?;
        check(&path, descriptor, bytes.len() as u64, Digest::of(&bytes)).map_err(failed)?;
        Ok(Bytes::from(bytes))
    }

    /// Puts a blob into the layout, unless it is there. Returns whether it was written.
    pub(super) async fn put_blob(
        &self,
        descriptor: &Descriptor,
        source: &BlobSource,
        counter: Option<&super::ByteCounter>,
    ) -> Result<bool, OciError> {
        let path = self.blob_path(&descriptor.digest);
        if std::fs::metadata(&path).is_ok_and(|metadata| metadata.len() == descriptor.size) {
            return Ok(false);
        }
        let failed = |reason| OciError::new(format!("write {}", path.display()), reason);
        match source {
            BlobSource::Repository(registries, repository) => {
                registries.save_blob(repository, descriptor, &path, counter).await?;
            }
            BlobSource::Bytes(bytes) => {
                check(&path, descriptor, bytes.len() as u64, Digest::of(bytes)).map_err(failed)?;
                write_whole(&path, bytes).map_err(|error| failed(file_reason(&path, &error)))?;
            }
            BlobSource::File(from) => {
                let copied = copy_checked(from, &path, descriptor).map_err(failed)?;
                counter.iter().for_each(|count| count(copied));
            }
        }
        Ok(true)
    }

    /// Puts a manifest into the layout, and into its index if it gets a name.
    pub(super) fn put_manifest(&self, manifest: &Manifest, name: Option<&str>) -> Result<(), OciError> {
        let path = self.blob_path(&manifest.digest);
        let failed = |reason| OciError::new(format!("write {}", path.display()), reason);
        write_whole(&path, &manifest.bytes).map_err(|error| failed(file_reason(&path, &error)))?;
        let Some(name) = name else { return Ok(()) };
        let _held = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let mut index = self.read_index().map_err(failed)?;
        index.manifests.retain(|entry| entry.annotation(NAME) != Some(name));
        let annotations = Some([(NAME.to_owned(), name.to_owned())].into());
        index.manifests.push(Descriptor { annotations, ..manifest.descriptor() });
        index.manifests.sort_by(|a, b| a.annotation(NAME).cmp(&b.annotation(NAME)));
        self.write_index(&index).map_err(failed)
    }

    fn read_index(&self) -> Result<Index, Reason> {
        let path = self.folder.join("index.json");
        let bytes = read_bounded(&path, MAX_MANIFEST_BYTES)?;
        let what = || path.display().to_string();
        serde_json::from_slice(&bytes)
            .map_err(|error| Reason::Content { what: what(), problem: format!("it does not parse: {error}") })
    }

    fn write_index(&self, index: &Index) -> Result<(), Reason> {
        let path = self.folder.join("index.json");
        let text = serde_json::to_vec(index).map_err(|error| file_reason(&path, &error.into()))?;
        write_whole(&path, &text).map_err(|error| file_reason(&path, &error))
    }
}

fn file_reason(path: &Path, error: &io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::NotFound => Reason::NotFound { what: path.display().to_string() },
        _ => Reason::File { path: path.display().to_string(), problem: error.to_string() },
    }
}

fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, Reason> {
    let read = || {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(std::fs::File::open(path)?, limit + 1), &mut bytes)?;
        Ok(bytes)
    };
    let bytes: Vec<u8> = read().map_err(|error: io::Error| file_reason(path, &error))?;
    match bytes.len() as u64 > limit {
        true => Err(Reason::TooLarge { what: path.display().to_string(), limit }),
        false => Ok(bytes),
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

/// Writes beside the target and renames, so that a file is whole or not there.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut partial = tempfile::Builder::new().prefix(".partial-").tempfile_in(folder)?;
    io::Write::write_all(&mut partial, bytes)?;
    partial.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn copy_checked(from: &Path, to: &Path, descriptor: &Descriptor) -> Result<u64, Reason> {
    let folder = to.parent().unwrap_or(Path::new("."));
    let failed = |error: io::Error| file_reason(from, &error);
    let mut input = std::fs::File::open(from).map_err(failed)?;
    let mut partial = tempfile::Builder::new().prefix(".partial-").tempfile_in(folder).map_err(failed)?;
    let (mut hasher, mut size) = (Hasher::default(), 0);
    let mut piece = vec![0; 128 << 10];
    loop {
        let read = io::Read::read(&mut input, &mut piece).map_err(failed)?;
        let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
        hasher.update(bytes);
        size += bytes.len() as u64;
        io::Write::write_all(&mut partial, bytes).map_err(failed)?;
    }
    check(from, descriptor, size, hasher.finish())?;
    partial.persist(to).map_err(|error| failed(error.error))?;
    Ok(size)
}

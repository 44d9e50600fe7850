//! Fetches distributions: from the program, folders, archives, image layouts and registries.
//!
//! ```text
//! Source ── tag -> digest ── signature ── cache ── pull ── unpack ──> Distribution, its digest
//! ```
//! Once the tag of an artifact is resolved, all later steps use the same digest. The module does not read the
//! environment.

mod pack;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::distribution::{Distribution, DistributionError};
use crate::format::tarball::ArchiveLimits;
use crate::oci::{
    self, Digest, ImageLocation, Layout, Manifest, OciError, PublicKey, Reason, Reference, ReferenceError, Registries,
};

pub use pack::{
    PACKED_NAME, PackedContent, check_manifests, check_packed, is_head_of_packed, is_packed, pack, packed_images,
    read_head,
};

/// A cached artifact used within this time counts as in use.
const YOUNG: Duration = Duration::from_secs(600);

/// Prefix of partial downloads. A killed download leaves its file behind.
const PARTIAL: &str = ".partial-";
const OLD: Duration = Duration::from_secs(3600);

/// Default size of the cache.
pub const DEFAULT_CACHE_BYTES: u64 = 512 << 20;

/// A distribution is one or two megabytes, so a transfer that takes longer is stuck.
pub const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Location of a distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Embedded,
    /// A folder, a gzip-compressed tar archive, or a packed file.
    Path(PathBuf),
    /// `oci-layout:FOLDER[:NAME]`; without a name, the packed distribution or else the only artifact.
    Layout(PathBuf, String),
    /// `oci://…`
    Artifact(Reference),
}

impl FromStr for Source {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        if text.starts_with("oci://") {
            return text.parse().map(Source::Artifact);
        }
        let Some(rest) = text.strip_prefix("oci-layout:") else { return Ok(Source::Path(text.into())) };
        // A tag has no slash, so a colon before one belongs to the folder.
        Ok(match rest.rsplit_once(':').filter(|(_, name)| !name.contains('/')) {
            Some((folder, name)) if !folder.is_empty() => Source::Layout(folder.into(), name.to_owned()),
            _ => Source::Layout(rest.into(), String::new()),
        })
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Embedded => f.write_str("the embedded distribution"),
            Source::Path(path) => write!(f, "{}", path.display()),
            Source::Layout(folder, name) => {
                let folder = folder.to_string_lossy();
                // A colon in the last part of the folder would be read as the separator of a name.
                let named = !name.is_empty() || folder.rsplit('/').next().is_some_and(|last| last.contains(':'));
                let colon = if named { ":" } else { "" };
                write!(f, "oci-layout:{folder}{colon}{name}")
            }
            Source::Artifact(reference) => f.write_str(&reference.url()),
        }
    }
}

/// Why a distribution cannot be fetched.
#[derive(Debug, thiserror::Error)]
#[error("cannot get the distribution from {from}")]
pub struct FetchError {
    pub from: String,
    /// The digest of the distribution, if it was already known.
    pub digest: Option<Digest>,
    #[source]
    pub reason: FetchReason,
}

impl FetchError {
    /// Whether the content exists but is unusable, so that neither network nor login would help.
    pub(crate) fn is_about_content(&self) -> bool {
        let is_content = |reason: &Reason| {
            matches!(reason, Reason::Content { .. } | Reason::TooLarge { .. } | Reason::Digest { .. })
        };
        match &self.reason {
            FetchReason::Distribution(_) => true,
            FetchReason::Oci(error) => is_content(&error.reason),
            _ => false,
        }
    }

    /// Returns the whole error chain in one line, for a condition.
    pub fn sentence(&self) -> String {
        chain(self)
    }

    /// Like [`Self::sentence`], without the location.
    pub fn cause(&self) -> String {
        chain(&self.reason)
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let cause = error.to_string();
        if !text.ends_with(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
        next = error.source();
    }
    text
}

#[derive(Debug, thiserror::Error)]
pub enum FetchReason {
    #[error(transparent)]
    Oci(#[from] OciError),
    #[error(transparent)]
    Distribution(#[from] DistributionError),
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// Connections are not allowed, and the cache does not have the artifact.
    #[error("it is in a registry, and connections are not allowed")]
    Offline,
    #[error("it was not downloaded within {} s", after.as_secs())]
    TimedOut { after: Duration },
    #[error("only the signatures of artifacts in a registry can be verified")]
    Unverifiable,
    /// The current artifact is unusable, and the one installed before cannot be fetched again.
    #[error("{newer}; the last good artifact, which is still installed, cannot be fetched again: {}", last.sentence())]
    NoLastGood { newer: String, last: Box<FetchError> },
}

/// Fetches distributions.
#[derive(Clone, Debug)]
pub struct Fetcher {
    /// `None` forbids connections, so that only cached artifacts are available.
    pub registries: Option<Registries>,
    /// `None` pulls everything each time.
    pub cache: Option<ArtifactCache>,
    /// The last distributions, for callers that fetch repeatedly.
    pub memory: Option<Memory>,
    /// If set, artifacts must have a signature that this key verifies.
    pub key: Option<PublicKey>,
}

/// The last two distributions by digest: the current one and its predecessor.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Mutex<Vec<(String, Distribution)>>>);

impl Memory {
    const REMEMBERED: usize = 2;

    fn get(&self, origin: &str) -> Option<Distribution> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(one, _)| one == origin).map(|(_, distribution)| distribution.clone())
    }

    fn put(&self, origin: String, distribution: &Distribution) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(one, _)| *one != origin);
        known.insert(0, (origin, distribution.clone()));
        known.truncate(Self::REMEMBERED);
    }
}

impl Fetcher {
    /// Fetches a distribution. Its digest is that of its artifact; if there is an index, that of the index.
    ///
    /// # Errors
    /// The distribution does not exist, may not be read, has no good signature, or is invalid.
    pub async fn fetch(&self, source: &Source) -> Result<Distribution, FetchError> {
        self.fetch_within(source, TIME_LIMIT).await
    }

    /// Like [`Fetcher::fetch`], with another time limit.
    ///
    /// # Errors
    /// As [`Fetcher::fetch`].
    pub async fn fetch_within(&self, source: &Source, limit: Duration) -> Result<Distribution, FetchError> {
        let mut digest = None;
        let late = |_| Err(FetchReason::TimedOut { after: limit });
        let got = tokio::time::timeout(limit, self.get(source, &mut digest)).await.unwrap_or_else(late);
        got.map_err(|reason| FetchError { from: source.to_string(), digest, reason })
    }

    /// Returns the current digest of an artifact without fetching it.
    ///
    /// # Errors
    /// As [`Fetcher::fetch`].
    pub async fn resolve(&self, reference: &Reference) -> Result<Digest, FetchError> {
        let failed = |reason| FetchError { from: reference.url(), digest: None, reason };
        let registries = self.registries.as_ref().ok_or_else(|| failed(FetchReason::Offline))?;
        match tokio::time::timeout(TIME_LIMIT, registries.resolve(reference)).await {
            Ok(resolved) => resolved.map(|resolved| resolved.digest).map_err(|error| failed(error.into())),
            Err(_) => Err(failed(FetchReason::TimedOut { after: TIME_LIMIT })),
        }
    }

    /// Sets `seen` as soon as the digest of the artifact is known.
    async fn get(&self, source: &Source, seen: &mut Option<Digest>) -> Result<Distribution, FetchReason> {
        match source {
            Source::Embedded | Source::Path(_) | Source::Layout(..) if self.key.is_some() => {
                Err(FetchReason::Unverifiable)
            }
            Source::Embedded => Ok(Distribution::embedded()),
            Source::Path(path) if pack::is_packed(path) => from_layout(source, Layout::open(path)?, PACKED_NAME).await,
            Source::Path(path) => Ok(Distribution::open(path)?),
            Source::Layout(folder, name) => from_layout(source, Layout::open(folder)?, name).await,
            Source::Artifact(reference) => self.pull(reference, seen).await,
        }
    }

    async fn pull(&self, reference: &Reference, seen: &mut Option<Digest>) -> Result<Distribution, FetchReason> {
        // A digest needs no request; only a tag must be resolved, and a signature verified.
        let registries = self.registries.as_ref();
        let digest = match (reference.digest(), registries) {
            (Some(digest), _) => digest.clone(),
            (None, Some(registries)) => registries.resolve(reference).await?.digest,
            (None, None) => return Err(FetchReason::Offline),
        };
        *seen = Some(digest.clone());
        if let Some(key) = &self.key {
            let registries = registries.ok_or(FetchReason::Offline)?;
            oci::verify_signature(registries, &reference.repository, &digest, key).await?;
        }
        let origin = reference.at(digest.clone()).url();
        if let Some(known) = self.memory.as_ref().and_then(|memory| memory.get(&origin)) {
            return Ok(known);
        }
        let pulled = self.pull_exactly(reference, &digest, &origin).await?;
        self.memory.iter().for_each(|memory| memory.put(origin.clone(), &pulled));
        Ok(pulled)
    }

    async fn pull_exactly(
        &self,
        reference: &Reference,
        digest: &Digest,
        origin: &str,
    ) -> Result<Distribution, FetchReason> {
        let _limit = self.cache.as_ref().map(CacheLimit);
        if let Some(cached) = self.cache.as_ref().and_then(|cache| cache.get(digest)) {
            match unpack(origin, &cached, digest).await {
                Ok(distribution) => {
                    self.cache.iter().for_each(|cache| cache.touch_if_old(digest));
                    return Ok(distribution);
                }
                // A missing or damaged file is pulled again.
                Err(error) => {
                    tracing::debug!(%digest, %error, "the cache cannot be used");
                    self.cache.iter().for_each(|cache| cache.forget(digest));
                }
            }
        }
        let registries = self.registries.as_ref().ok_or(FetchReason::Offline)?;
        let remote = ImageLocation::Repository(registries.clone(), reference.repository.clone());
        let Some(cache) = &self.cache else { return unpack(origin, &remote, digest).await };
        match cache.put(&remote, digest).await {
            Ok(local) => match unpack(origin, &local, digest).await {
                Ok(distribution) => {
                    // Blobs shared with an older artifact existed before the pull.
                    cache.touch(digest);
                    Ok(distribution)
                }
                // Another process deleted a part because it was damaged or too old.
                Err(FetchReason::Oci(error)) => {
                    tracing::debug!(%digest, %error, "the cached artifact was deleted");
                    unpack(origin, &remote, digest).await
                }
                Err(error) => Err(error),
            },
            // An unwritable cache is not a failure; an error of the registry is.
            Err(error) if matches!(error.reason, Reason::File { .. }) => {
                tracing::warn!(%error, "the artifact is not cached");
                unpack(origin, &remote, digest).await
            }
            Err(error) => Err(error.into()),
        }
    }
}

async fn from_layout(source: &Source, layout: Layout, name: &str) -> Result<Distribution, FetchReason> {
    // Beside images, the packed distribution has this name.
    let is_packed = name.is_empty() && layout.names()?.iter().any(|(name, _)| name == PACKED_NAME);
    let digest = layout.manifest(if is_packed { PACKED_NAME } else { name })?.digest;
    unpack(&source.to_string(), &ImageLocation::Layout(layout), &digest).await
}

async fn unpack(origin: &str, place: &ImageLocation, digest: &Digest) -> Result<Distribution, FetchReason> {
    let manifest = oci::artifact_manifest(place, &digest.to_string()).await?;
    let files = oci::artifact_files(place, &manifest, &ArchiveLimits::DISTRIBUTION).await?;
    Ok(Distribution::from_files(origin, files)?.with_digest(digest.to_string()))
}

/// Keeps a cache within its limit on every exit, including errors and dropped futures.
struct CacheLimit<'a>(&'a ArtifactCache);

impl Drop for CacheLimit<'_> {
    fn drop(&mut self) {
        self.0.sweep();
        self.0.shrink();
    }
}

/// Artifacts on disk by digest: an image layout with an empty index. Safe for concurrent processes, because files
/// appear atomically and are verified when they are read.
#[derive(Clone, Debug)]
pub struct ArtifactCache {
    pub folder: PathBuf,
    /// Limit of the cache after a pull.
    pub max_bytes: u64,
}

impl ArtifactCache {
    fn get(&self, digest: &Digest) -> Option<ImageLocation> {
        let layout = Layout::open(&self.folder).ok()?;
        match layout.manifest(&digest.to_string()) {
            Ok(_) => Some(ImageLocation::Layout(layout)),
            Err(error) => {
                // A damaged file would be taken for a complete one.
                if !matches!(error.reason, Reason::NotFound { .. }) {
                    self.forget(digest);
                }
                None
            }
        }
    }

    async fn put(&self, remote: &ImageLocation, digest: &Digest) -> Result<ImageLocation, OciError> {
        let unusable = |error: OciError| {
            let reason = Reason::File { path: self.folder.display().to_string(), problem: error.reason.to_string() };
            OciError { attempted: error.attempted, reason }
        };
        let local = ImageLocation::Layout(Layout::create(&self.folder).map_err(unusable)?);
        // A mirror may contain more than this program reads, and a registry may claim any size.
        oci::copy_artifact(remote, &digest.to_string(), &local, ArchiveLimits::DISTRIBUTION.compressed_bytes).await?;
        Ok(local)
    }

    /// Deletes an artifact, so that the next pull fetches all of it.
    fn forget(&self, digest: &Digest) {
        for path in self.files_of(digest) {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Like [`ArtifactCache::touch`], unless the artifact was used recently: a cached read should cost little more than
    /// reading.
    fn touch_if_old(&self, digest: &Digest) {
        let noted = std::fs::metadata(blobs(&self.folder).join(digest.hex())).and_then(|file| file.modified());
        let is_young = noted.is_ok_and(|noted| noted.elapsed().is_ok_and(|age| age < YOUNG));
        if !is_young {
            self.touch(digest);
        }
    }

    /// Records that an artifact is in use now. If that fails, it is deleted sooner.
    fn touch(&self, digest: &Digest) {
        // Opening a named pipe in place of a file would block.
        for path in self.files_of(digest).into_iter().filter(|path| path.is_file()) {
            let file = std::fs::File::options().append(true).open(path);
            let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
        }
    }

    /// Returns the files of an artifact, the manifest last.
    fn files_of(&self, digest: &Digest) -> Vec<PathBuf> {
        let manifest = Layout::open(&self.folder).and_then(|layout| layout.manifest(&digest.to_string())).ok();
        let parts = manifest.iter().flat_map(Manifest::parts);
        let mut files: Vec<PathBuf> = parts
            .flat_map(|part| match part.is_manifest() {
                true => self.files_of(&part.digest),
                false => vec![blobs(&self.folder).join(part.digest.hex())],
            })
            .collect();
        files.push(blobs(&self.folder).join(digest.hex()));
        files
    }

    /// Deletes the leftovers of killed downloads.
    fn sweep(&self) {
        for folder in [self.folder.clone(), blobs(&self.folder)] {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PARTIAL)) {
                let Ok(metadata) = entry.metadata() else { continue };
                let is_old = metadata.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > OLD));
                // A leftover that cannot be deleted only wastes space.
                let _ = match (is_old, metadata.is_dir()) {
                    (false, _) => Ok(()),
                    (true, true) => std::fs::remove_dir_all(entry.path()),
                    (true, false) => std::fs::remove_file(entry.path()),
                };
            }
        }
    }

    /// Deletes the least recently used files until the rest fits. A process that reads one of them at this moment pulls
    /// it again.
    fn shrink(&self) {
        let Ok(entries) = std::fs::read_dir(blobs(&self.folder)) else { return };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| {
                let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
                Some((metadata.modified().ok()?, metadata.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in files {
            if total <= self.max_bytes {
                break;
            }
            if std::fs::remove_file(path).is_ok() {
                total -= size;
            }
        }
    }
}

fn blobs(folder: &Path) -> PathBuf {
    folder.join("blobs/sha256")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_path_a_layout_or_an_artifact() {
        for (text, expected) in [
            ("manifests", Source::Path("manifests".into())),
            ("./a:b.tar.gz", Source::Path("./a:b.tar.gz".into())),
            ("oci-layout:dir", Source::Layout("dir".into(), String::new())),
            ("oci-layout:/a/dir:v1", Source::Layout("/a/dir".into(), "v1".into())),
            ("oci-layout:/a:b/dir", Source::Layout("/a:b/dir".into(), String::new())),
            // The last colon ends the folder; otherwise the one before it would.
            ("oci-layout:a:b:", Source::Layout("a:b".into(), String::new())),
            ("oci-layout:a::", Source::Layout("a:".into(), String::new())),
            ("oci://ghcr.io/a/b:v1", Source::Artifact("ghcr.io/a/b:v1".parse().unwrap())),
        ] {
            assert_eq!(text.parse::<Source>().unwrap(), expected, "{text}");
            assert_eq!(expected.to_string(), text);
        }
        assert!("oci://".parse::<Source>().is_err());
    }

    #[tokio::test]
    async fn without_connections_an_artifact_cannot_be_fetched() {
        let fetcher = Fetcher { registries: None, cache: None, memory: None, key: None };
        let digest = Digest::of(b"x");
        for text in ["oci://ghcr.io/a/b:v1".to_owned(), format!("oci://ghcr.io/a/b@{digest}")] {
            let error = fetcher.fetch(&text.parse().unwrap()).await.unwrap_err();
            assert!(matches!(error.reason, FetchReason::Offline), "{error:?}");
        }
        assert!(fetcher.fetch(&Source::Embedded).await.unwrap().is_embedded());
    }

    #[test]
    fn leftovers_of_a_killed_download_are_deleted_when_they_are_old() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ArtifactCache { folder: folder.path().to_owned(), max_bytes: 1000 };
        std::fs::create_dir_all(blobs(folder.path()).join(".partial-folder/below")).unwrap();
        let names = [".partial-old", ".partial-new", "old"];
        for (name, age) in names.into_iter().zip([2 * OLD, OLD / 2, 2 * OLD]) {
            for folder in [folder.path(), &blobs(folder.path())] {
                let file = std::fs::File::create(folder.join(name)).unwrap();
                file.set_modified(SystemTime::now() - age).unwrap();
            }
        }
        let below = std::fs::File::open(blobs(folder.path()).join(".partial-folder")).unwrap();
        below.set_modified(SystemTime::now() - 2 * OLD).unwrap();
        drop(CacheLimit(&cache));
        for folder in [folder.path(), &blobs(folder.path())] {
            assert_eq!(names.map(|name| folder.join(name).exists()), [false, true, true]);
        }
        assert!(!blobs(folder.path()).join(".partial-folder").exists());
    }

    /// Returns a cache with one artifact, its digest, and a fetcher that opens no connection.
    async fn cached(folder: &Path) -> (ArtifactCache, Digest, Fetcher) {
        let cache = ArtifactCache { folder: folder.to_owned(), max_bytes: DEFAULT_CACHE_BYTES };
        let embedded = Distribution::embedded();
        let files = embedded.files(&embedded.versions().pop().unwrap()).unwrap();
        let layout = ImageLocation::Layout(Layout::create(folder).unwrap());
        let digest = oci::put_artifact(&layout, "x", &files, &Default::default()).await.unwrap().digest;
        let fetcher = Fetcher { registries: None, cache: Some(cache.clone()), memory: None, key: None };
        (cache, digest, fetcher)
    }

    #[cfg(unix)]
    #[tokio::test(flavor = "multi_thread")]
    async fn a_pipe_in_the_cache_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, digest, fetcher) = cached(folder.path()).await;
        let source: Source = format!("oci://registry.invalid/flux@{digest}").parse().unwrap();
        fetcher.fetch(&source).await.unwrap();
        // Layer, configuration and manifest are required. Files that are never read may have any content.
        let mut files = cache.files_of(&digest);
        files.extend(["oci-layout", "index.json"].map(|name| folder.path().join(name)));
        for file in files {
            let (folder, fetcher) = (file.parent().unwrap().to_owned(), fetcher.clone());
            let kept = std::fs::read(&file).unwrap();
            std::fs::remove_file(&file).unwrap();
            let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
            assert!(made.success() && folder.is_dir());
            // Touching an artifact that was not used recently opens its files for writing.
            let manifest = blobs(&cache.folder).join(digest.hex());
            if manifest.is_file() {
                let old = SystemTime::now() - 2 * YOUNG;
                std::fs::File::options().append(true).open(manifest).unwrap().set_modified(old).unwrap();
            }
            let (result, source) = (tokio::sync::oneshot::channel(), source.clone());
            let (sender, receiver) = result;
            // A separate thread, because one that blocks on a pipe cannot be stopped.
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let _ = sender.send(runtime.block_on(fetcher.fetch(&source)).is_ok());
            });
            let ended = tokio::time::timeout(Duration::from_secs(5), receiver).await;
            ended.unwrap_or_else(|_| panic!("{} is waited for", file.display())).unwrap();
            let _ = std::fs::remove_file(&file);
            std::fs::write(&file, kept).unwrap();
            // A damaged part removes the other parts too.
            cached(folder.ancestors().nth(if folder.ends_with("sha256") { 2 } else { 0 }).unwrap()).await;
        }
    }

    #[tokio::test]
    async fn only_what_is_read_of_an_artifact_is_cached_and_not_more_than_the_limit() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (_, digest, _) = cached(from.path()).await;
        let layout = Layout::open(from.path()).unwrap();
        let mut text: serde_json::Value =
            serde_json::from_slice(&layout.manifest(&digest.to_string()).unwrap().bytes).unwrap();
        let remote = ImageLocation::Layout(layout.clone());
        let put = |text: &serde_json::Value| {
            let bytes = text.to_string();
            let digest = Digest::of(bytes.as_bytes());
            std::fs::write(blobs(from.path()).join(digest.hex()), bytes).unwrap();
            digest
        };
        let mut more = text["layers"][0].clone();
        (more["digest"], more["size"]) = (serde_json::json!(Digest::of(b"more")), serde_json::json!(1_u64 << 40));
        text["layers"].as_array_mut().unwrap().push(more);
        let cache = ArtifactCache { folder: to.path().to_owned(), max_bytes: DEFAULT_CACHE_BYTES };
        let digest = put(&text);
        // The second layer does not exist.
        let local = cache.put(&remote, &digest).await.unwrap();
        unpack("x", &local, &digest).await.unwrap();
        let kept = || std::fs::read_dir(blobs(to.path())).unwrap().count();
        assert_eq!(kept(), 3);
        for (blob, size) in [("/layers/0/size", (64_u64 << 20) + 1), ("/config/size", u64::MAX)] {
            let mut text = text.clone();
            *text.pointer_mut(blob).unwrap() = serde_json::json!(size);
            let error = cache.put(&remote, &put(&text)).await.unwrap_err();
            assert!(matches!(error.reason, Reason::TooLarge { limit: 0x400_0000, .. }), "{error:?}");
            assert_eq!(kept(), 3, "nothing of it is stored");
        }
    }

    #[test]
    fn the_cache_deletes_the_oldest_files() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ArtifactCache { folder: folder.path().to_owned(), max_bytes: 250 };
        std::fs::create_dir_all(blobs(folder.path())).unwrap();
        for (name, age) in [("new", 1), ("middle", 100), ("old", 1000)] {
            let file = std::fs::File::create(blobs(folder.path()).join(name)).unwrap();
            file.set_len(100).unwrap();
            file.set_modified(SystemTime::now() - std::time::Duration::from_secs(age)).unwrap();
        }
        cache.shrink();
        let left = |name: &str| blobs(folder.path()).join(name).exists();
        assert_eq!((left("new"), left("middle"), left("old")), (true, true, false));
    }
}

//! Copies whole images by digest between registries and image layouts.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt};
use tokio::sync::{Mutex as AsyncMutex, Semaphore};

use super::error::Reason;
use super::registry::BlobSource;
use super::{ByteCounter, Descriptor, Digest, Layout, Manifest, OciError, Platform, Registries, Repository};

/// Nested indexes are legal, but deeper ones than this are an attack.
const MAX_DEPTH: usize = 4;
/// Blobs of one image, or images of one index, that are copied concurrently; the copier's own limit applies to all of
/// them together.
const PARTS_AT_ONCE: usize = 4;

/// A location of images.
#[derive(Clone, Debug)]
pub enum ImageLocation {
    Repository(Registries, Repository),
    Layout(Layout),
}

impl ImageLocation {
    /// Reads a manifest by digest or tag.
    ///
    /// # Errors
    /// The manifest does not exist or does not match its digest.
    pub async fn manifest(&self, name: &str) -> Result<Manifest, OciError> {
        match self {
            ImageLocation::Layout(layout) => layout.manifest(name),
            ImageLocation::Repository(registries, repository) => {
                let reference = match name.parse::<Digest>() {
                    Ok(digest) => Ok(repository.with_digest(digest)),
                    Err(_) => repository.with_tag(name),
                };
                let wrong = |error: super::ReferenceError| {
                    OciError::new(format!("read {repository}"), Reason::Config(error.to_string()))
                };
                registries.manifest(&reference.map_err(wrong)?).await
            }
        }
    }

    /// Reads the image that a name refers to for a platform, with the indexes that lead to it: the outermost first, the
    /// image last. Without an index it returns the image alone.
    ///
    /// # Errors
    /// As [`ImageLocation::manifest`]; also when an index has no entry for this platform, or indexes are nested too
    /// deeply.
    pub async fn path_to_image(&self, name: &str, platform: &Platform) -> Result<Vec<Manifest>, OciError> {
        let unusable =
            |problem: String| OciError::new(format!("read {name}"), Reason::Content { what: name.to_owned(), problem });
        let mut path = Vec::new();
        let mut next = name.to_owned();
        loop {
            let manifest = self.manifest(&next).await?;
            if manifest.manifests().is_none() {
                path.push(manifest);
                return Ok(path);
            }
            if path.len() == MAX_DEPTH {
                return Err(unusable(format!("its image is nested in more than {MAX_DEPTH} indexes")));
            }
            let entry = manifest.for_platform(platform);
            let entry = entry.ok_or_else(|| unusable(format!("it has no image for {platform}")))?;
            next = entry.digest.to_string();
            path.push(manifest);
        }
    }

    /// Reads a whole blob into memory.
    ///
    /// # Errors
    /// The blob is larger than `limit`, missing, or does not match its digest.
    pub async fn read_blob(&self, descriptor: &Descriptor, limit: u64) -> Result<hyper::body::Bytes, OciError> {
        match self {
            ImageLocation::Layout(layout) => layout.read_blob(descriptor, limit),
            ImageLocation::Repository(registries, repository) => {
                registries.read_blob(repository, descriptor, limit).await
            }
        }
    }

    /// Checks that every part of an image exists, down to the blobs of all platforms. A layout is read and checked as a
    /// whole.
    ///
    /// # Errors
    /// The first part that is missing, or a manifest that does not match its digest.
    pub async fn check(&self, digest: &Digest) -> Result<(), OciError> {
        let (registries, repository) = match self {
            ImageLocation::Layout(layout) => return layout.check().map(drop),
            ImageLocation::Repository(registries, repository) => (registries, repository),
        };
        match missing_parts(registries, repository, digest).await?.first() {
            None => Ok(()),
            Some(part) => {
                let reason = Reason::NotFound { what: format!("{repository}@{part}") };
                Err(OciError::new(format!("read all of {repository}@{digest}"), reason))
            }
        }
    }

    pub(super) fn blob(&self, descriptor: &Descriptor) -> BlobSource {
        match self {
            ImageLocation::Layout(layout) => layout.blob(&descriptor.digest),
            ImageLocation::Repository(registries, repository) => {
                BlobSource::Repository(registries.clone(), repository.clone())
            }
        }
    }

    pub(super) async fn put_blob(&self, descriptor: &Descriptor, source: &BlobSource) -> Result<(), OciError> {
        match self {
            ImageLocation::Layout(layout) => layout.put_blob(descriptor, source, None).await.map(drop),
            ImageLocation::Repository(registries, repository) => {
                registries.push_blob(repository, descriptor, source, None, None).await.map(drop)
            }
        }
    }

    pub(super) async fn put_manifest(&self, manifest: &Manifest, name: Option<&str>) -> Result<(), OciError> {
        match self {
            ImageLocation::Layout(layout) => layout.put_manifest(manifest, name),
            ImageLocation::Repository(registries, repository) => {
                let wrong = |error: super::ReferenceError| {
                    OciError::new(format!("push {repository}"), Reason::Config(error.to_string()))
                };
                let reference = match name {
                    Some(tag) => repository.with_tag(tag).map_err(wrong)?,
                    None => repository.with_digest(manifest.digest.clone()),
                };
                registries.push_manifest(&reference, manifest).await
            }
        }
    }

    async fn has_manifest(&self, digest: &Digest) -> Result<bool, OciError> {
        let found = match self {
            ImageLocation::Layout(layout) => layout.manifest(&digest.to_string()).map(drop),
            ImageLocation::Repository(registries, repository) => {
                // A `HEAD` is enough, and does not count against Docker Hub's limit of pulls.
                registries.resolve(&repository.with_digest(digest.clone())).await.map(drop)
            }
        };
        match found {
            Ok(()) => Ok(true),
            Err(OciError { reason: Reason::NotFound { .. }, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Returns the manifests and blobs of an image that a repository lacks. Parts that only a missing manifest names are
/// unknown and not listed.
///
/// # Errors
/// The registry cannot be reached or denies access, or a manifest does not match its digest.
pub async fn missing_parts(
    registries: &Registries,
    repository: &Repository,
    digest: &Digest,
) -> Result<Vec<Digest>, OciError> {
    let place = ImageLocation::Repository(registries.clone(), repository.clone());
    let (mut open, mut depth) = (vec![digest.clone()], 0);
    let (mut seen, mut missing) = (HashSet::new(), Vec::new());
    while !open.is_empty() && depth <= MAX_DEPTH {
        let mut below = Vec::new();
        for digest in open {
            let manifest = match place.manifest(&digest.to_string()).await {
                Ok(manifest) => manifest,
                Err(OciError { reason: Reason::NotFound { .. }, .. }) => {
                    missing.push(digest);
                    continue;
                }
                Err(error) => return Err(error),
            };
            for part in manifest.parts().filter(|part| part.is_distributable()) {
                // Platforms of an index often share layers.
                if !seen.insert(part.digest.clone()) {
                    continue;
                }
                if part.is_manifest() {
                    below.push(part.digest.clone());
                } else if !registries.has_blob(repository, &part.digest).await? {
                    missing.push(part.digest.clone());
                }
            }
        }
        (open, depth) = (below, depth + 1);
    }
    Ok(missing)
}

/// The repository that holds a blob, once the blob was copied.
type BlobHolder = Arc<AsyncMutex<Option<Repository>>>;

/// The result of one copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyResult {
    pub digest: Digest,
    /// Bytes sent, without blobs that existed or were mounted.
    pub bytes: u64,
    /// Whether everything existed before.
    pub was_complete: bool,
}

/// Copies images concurrently, and remembers the blobs at the target so that they can be mounted.
pub struct Copier {
    permits: Semaphore,
    /// The repository of each blob so far. A copy that needs a blob in transit waits for it instead of sending it
    /// again.
    seen: Mutex<HashMap<(String, Digest), BlobHolder>>,
    repairs: bool,
}

impl Copier {
    /// `blobs_at_once` limits the concurrent blobs over all copies.
    pub fn new(blobs_at_once: usize) -> Self {
        Copier { permits: Semaphore::new(blobs_at_once.max(1)), seen: Mutex::default(), repairs: false }
    }

    /// Also checks every part of a manifest that exists at the target, and copies lost parts again.
    pub fn repairing(self, repairs: bool) -> Self {
        Copier { repairs, ..self }
    }

    /// Copies the image that `name` (a tag or a digest) refers to now, with all platforms of an index.
    ///
    /// The parts of a manifest are written before the manifest, and the tag last. An interrupted copy therefore never
    /// shows an incomplete image, and the next copy continues with the missing parts. With an empty `tag` the image can
    /// be found only by its digest.
    ///
    /// # Errors
    /// A part cannot be read or written. Dropping the future stops the copy.
    pub async fn copy(
        &self,
        from: &ImageLocation,
        name: &str,
        to: &ImageLocation,
        tag: Option<&str>,
        counter: Option<&ByteCounter>,
    ) -> Result<CopyResult, OciError> {
        let manifest = from.manifest(name).await?;
        let sent = Arc::new(std::sync::atomic::AtomicU64::new(0));
        let (sum, reported) = (sent.clone(), counter.cloned());
        let counter: ByteCounter = Arc::new(move |bytes| {
            sum.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
            reported.iter().for_each(|count| count(bytes));
        });
        let was_complete = self.copy_manifest(from, &manifest, to, &counter, 0).await?;
        // A tag is the promise that the image is complete, so it comes last.
        if let Some(tag) = tag {
            to.put_manifest(&manifest, Some(tag)).await?;
        }
        let bytes = sent.load(std::sync::atomic::Ordering::Relaxed);
        Ok(CopyResult { digest: manifest.digest, bytes, was_complete })
    }

    /// Returns an upper limit of the bytes that a copy would send: the blobs of all missing manifests.
    ///
    /// # Errors
    /// As [`Copier::copy`].
    pub async fn bytes_to_copy(&self, from: &ImageLocation, name: &str, to: &ImageLocation) -> Result<u64, OciError> {
        let (mut open, mut depth, mut blobs) = (vec![from.manifest(name).await?], 0, HashMap::new());
        while !open.is_empty() && depth <= MAX_DEPTH {
            let mut below = Vec::new();
            for manifest in open {
                if to.has_manifest(&manifest.digest).await? {
                    continue;
                }
                for blob in manifest.parts().filter(|blob| blob.is_distributable()) {
                    if blob.is_manifest() {
                        below.push(from.manifest(&blob.digest.to_string()).await?);
                    } else {
                        blobs.insert(blob.digest.clone(), blob.size);
                    }
                }
            }
            (open, depth) = (below, depth + 1);
        }
        Ok(blobs.values().sum())
    }

    /// Returns whether the manifest existed. Then all its parts exist too, unless the target has lost some.
    fn copy_manifest<'a>(
        &'a self,
        from: &'a ImageLocation,
        manifest: &'a Manifest,
        to: &'a ImageLocation,
        counter: &'a ByteCounter,
        depth: usize,
    ) -> BoxFuture<'a, Result<bool, OciError>> {
        async move {
            let is_there = to.has_manifest(&manifest.digest).await?;
            if is_there && !self.repairs {
                return Ok(true);
            }
            if depth > MAX_DEPTH {
                let problem = format!("it is nested in more than {MAX_DEPTH} indexes");
                let reason = Reason::Content { what: manifest.digest.to_string(), problem };
                return Err(OciError::new("copy an image", reason));
            }
            // Boxed one by one, because the compiler cannot prove that a stream of borrowing futures is `Send`.
            let parts: Vec<BoxFuture<'_, Result<bool, OciError>>> = match manifest.manifests() {
                Some(entries) => {
                    let part = |entry| self.copy_entry(from, entry, to, counter, depth, is_there).boxed();
                    entries.iter().map(part).collect()
                }
                None => {
                    let blobs = manifest.blobs().filter(|blob| blob.is_distributable());
                    blobs.map(|blob| self.copy_blob(from, blob, to, counter, is_there).boxed()).collect()
                }
            };
            let parts = futures::stream::iter(parts).buffer_unordered(PARTS_AT_ONCE);
            let was_whole = parts.try_fold(is_there, async |whole, part| Ok(whole && part)).await?;
            // During a repair the manifest exists already, and only lost blobs were written.
            if !is_there {
                to.put_manifest(manifest, None).await?;
            }
            Ok(was_whole)
        }
        .boxed()
    }

    async fn copy_entry(
        &self,
        from: &ImageLocation,
        entry: &Descriptor,
        to: &ImageLocation,
        counter: &ByteCounter,
        depth: usize,
        was_named: bool,
    ) -> Result<bool, OciError> {
        if !entry.is_manifest() {
            // An index may list blobs.
            return self.copy_blob(from, entry, to, counter, was_named).await;
        }
        let child = from.manifest(&entry.digest.to_string()).await?;
        self.copy_manifest(from, &child, to, counter, depth + 1).await
    }

    /// Returns whether nothing was sent. A blob that a manifest at the target already names (`was_named`) is not
    /// mounted: if the registry has lost it, it has usually lost it under every name.
    async fn copy_blob(
        &self,
        from: &ImageLocation,
        blob: &Descriptor,
        to: &ImageLocation,
        counter: &ByteCounter,
        was_named: bool,
    ) -> Result<bool, OciError> {
        let registry = match to {
            ImageLocation::Layout(_) => "",
            ImageLocation::Repository(_, repository) => repository.registry(),
        };
        let key = (registry.to_owned(), blob.digest.clone());
        // The outer lock is released at once; the inner one makes a second copy of the same blob wait for the first.
        let place = self.seen.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
        let mut seen = place.lock().await;
        let closed = |_| OciError::new("copy a blob", Reason::Config("the copier is closed".to_owned()));
        let _permit = self.permits.acquire().await.map_err(closed)?;
        match to {
            ImageLocation::Layout(layout) => {
                layout.put_blob(blob, &from.blob(blob), Some(counter)).await.map(|written| !written)
            }
            ImageLocation::Repository(registries, repository) => {
                // Within one registry the blob can be mounted from its source.
                let same = match from {
                    ImageLocation::Repository(_, from) if from.registry() == repository.registry() => {
                        Some(from.clone())
                    }
                    _ => None,
                };
                let mount_from = same.or_else(|| seen.clone()).filter(|_| !was_named);
                let source = from.blob(blob);
                let sent = registries.push_blob(repository, blob, &source, mount_from.as_ref(), Some(counter)).await?;
                seen.get_or_insert_with(|| repository.clone());
                Ok(!sent)
            }
        }
    }
}

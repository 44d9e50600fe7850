//! The registry protocol: manifests, blobs, tags, referrers; reading and writing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::header::{
    ACCEPT, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderName, HeaderValue, LINK, LOCATION, RANGE,
};
use http::{HeaderMap, Method, StatusCode, Uri};
use hyper::body::{Bytes, Incoming};
use tokio::io::AsyncWriteExt;

use super::digest::Hasher;
use super::error::{Reason, registry_message};
use super::http::{ByteCounter, Http, HttpAnswer, MAX_READS, Payload, RepeatableRequest, broken_off};
use super::link;
use super::manifest::MAX_MANIFEST_BYTES;
use super::token::{Authorizer, Scopes, form};
use super::transport::{BoxError, header_text, is_same_server, join, shown};
use super::{Access, Descriptor, Digest, Manifest, MediaType, OciError, Reference, RegistryCredentials, Repository};
use crate::format::backoff::Backoff;
use crate::format::whole_file::WholeFile;

/// Limit for the body of a failure.
const MAX_FAILURE_BYTES: u64 = 64 << 10;
/// Limit for a page of a list.
const MAX_PAGE_BYTES: u64 = 8 << 20;
const MAX_PAGES: usize = 1000;
/// Limit for all pages of a list.
const MAX_LIST_BYTES: u64 = 64 << 20;
const TAGS_PER_PAGE: &str = "1000";
/// Limit for resumed reads of one blob.
const MAX_RESUMES: u32 = 10;
/// Limit for resumed reads in a row without any new byte.
const MAX_FRUITLESS_RESUMES: u32 = 3;
/// Longest pause before a resumed read, so that a server that never sends a whole blob fails within ten seconds.
const LONGEST_RESUME_PAUSE: Duration = Duration::from_secs(1);
/// Attempts to upload a blob.
const MAX_UPLOADS: u32 = 4;

const CONTENT_DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");
const OCI_SUBJECT: HeaderName = HeaderName::from_static("oci-subject");

/// Registries with shared settings and credentials. Cheap to clone; clones share connections and tokens.
#[derive(Clone)]
pub struct Registries(Arc<Inner>);

struct Inner {
    http: Http,
    authorizer: Authorizer,
}

/// Source of an upload.
#[derive(Clone)]
pub enum BlobSource {
    Bytes(Bytes),
    /// A file or a range of one; the blob's size is the length.
    File {
        path: PathBuf,
        offset: u64,
    },
    /// Another repository, perhaps in another registry; nothing is stored in between.
    Repository(Registries, Repository),
}

impl Registries {
    pub fn new(access: Access) -> Self {
        Registries(Arc::new(Inner { http: Http::new(access), authorizer: Authorizer::default() }))
    }

    /// The same registries with other credentials.
    #[must_use]
    pub fn with_credentials(&self, credentials: RegistryCredentials) -> Self {
        Registries::new(Access { credentials, ..self.0.http.access.clone() })
    }

    /// Resolves a reference to its current manifest.
    ///
    /// # Errors
    /// The registry cannot be reached, denies access, or has no such manifest.
    pub async fn resolve(&self, reference: &Reference) -> Result<Descriptor, OciError> {
        let failed = |reason| OciError::new(format!("resolve {}", reference.url()), reason);
        self.find_manifest(reference, &Scopes::pull(&reference.repository)).await.map_err(failed)
    }

    async fn find_manifest(&self, reference: &Reference, scopes: &Scopes) -> Result<Descriptor, Reason> {
        let request = self.manifest_request(Method::HEAD, reference)?;
        let answer = self.call(&reference.repository, scopes, request, None).await?;
        if answer.status().is_success()
            && let Some(digest) =
                header_text(answer.headers(), &CONTENT_DIGEST).and_then(|text| text.parse::<Digest>().ok())
            && let Some(size) = header_text(answer.headers(), &CONTENT_LENGTH).and_then(|text| text.parse().ok())
            && let Some(media_type) = header_text(answer.headers(), &CONTENT_TYPE)
        {
            if let Some(expected) = reference.digest().filter(|expected| **expected != digest) {
                return Err(mismatch(reference.url(), expected, &digest));
            }
            let media_type = media_type.split(';').next().unwrap_or(media_type).trim();
            return Ok(Descriptor { digest, size, ..Descriptor::of(media_type, b"") });
        }
        // A HEAD has no body to explain a failure, and some registries answer it without a digest.
        Ok(self.fetch_manifest(reference).await?.descriptor())
    }

    /// Reads the manifest or index of a reference and verifies its digest.
    ///
    /// # Errors
    /// As [`Registries::resolve`]; also for a manifest over 4 MiB, with another digest, or that cannot be parsed.
    pub async fn manifest(&self, reference: &Reference) -> Result<Manifest, OciError> {
        let failed = |reason| OciError::new(format!("read {}", reference.url()), reason);
        self.fetch_manifest(reference).await.map_err(failed)
    }

    async fn fetch_manifest(&self, reference: &Reference) -> Result<Manifest, Reason> {
        let repository = &reference.repository;
        let request = || self.manifest_request(Method::GET, reference);
        let WholeAnswer { headers, bytes, .. } =
            self.fetch(repository, &reference.url(), request, MAX_MANIFEST_BYTES).await?;
        let media_type = header_text(&headers, &CONTENT_TYPE).map(str::to_owned);
        let announced = header_text(&headers, &CONTENT_DIGEST).and_then(|text| text.parse::<Digest>().ok());
        let actual = Digest::of(&bytes);
        if let Some(expected) = reference.digest().or(announced.as_ref()).filter(|expected| **expected != actual) {
            return Err(mismatch(reference.url(), expected, &actual));
        }
        let unusable = |problem| Reason::Content { what: reference.url(), problem };
        Manifest::parse(media_type.as_deref(), bytes).map_err(unusable)
    }

    fn manifest_request(&self, method: Method, reference: &Reference) -> Result<RepeatableRequest, Reason> {
        let url = self.url(&reference.repository, &format!("manifests/{}", reference.name()))?;
        Ok(RepeatableRequest::new(method, url).header(ACCEPT, HeaderValue::from_static(MediaType::ACCEPT)))
    }

    /// Starts reading a blob. Its bytes are verified on the way, and a lost connection is resumed.
    pub fn blob(&self, repository: &Repository, descriptor: &Descriptor) -> BlobStream {
        BlobStream {
            registries: self.clone(),
            repository: repository.clone(),
            descriptor: descriptor.clone(),
            hasher: Hasher::default(),
            received: 0,
            body: None,
            ends_with_connection: false,
            to_skip: 0,
            resumes: 0,
            fruitless_resumes: 0,
            received_before: 0,
            pauses: self.resume_pauses(),
            is_over: false,
        }
    }

    fn resume_pauses(&self) -> Backoff {
        Backoff::new(self.0.http.access.retry_pause, LONGEST_RESUME_PAUSE)
    }

    /// Reads a whole blob into memory.
    ///
    /// # Errors
    /// The blob is larger than `limit` (then nothing is requested), missing, or does not match its digest.
    pub async fn read_blob(
        &self,
        repository: &Repository,
        descriptor: &Descriptor,
        limit: u64,
    ) -> Result<Bytes, OciError> {
        let what = blob_name(repository, descriptor);
        if descriptor.size > limit {
            return Err(OciError::new(format!("read {what}"), Reason::TooLarge { what, limit }));
        }
        let mut stream = self.blob(repository, descriptor);
        // Do not allocate an announced size before the bytes arrive.
        let mut bytes = Vec::with_capacity(usize::try_from(descriptor.size).unwrap_or(0).min(1 << 20));
        while let Some(piece) = stream.next().await? {
            bytes.extend_from_slice(&piece);
        }
        Ok(Bytes::from(bytes))
    }

    /// Writes a blob into a file, which appears only when it is complete and verified.
    ///
    /// # Errors
    /// As [`Registries::read_blob`], and when the file cannot be written.
    pub async fn save_blob(
        &self,
        repository: &Repository,
        descriptor: &Descriptor,
        file: &Path,
        counter: Option<&ByteCounter>,
    ) -> Result<(), OciError> {
        let failed = |error: std::io::Error| {
            let reason = Reason::File { path: file.display().to_string(), problem: error.to_string() };
            OciError::new(format!("save {}", blob_name(repository, descriptor)), reason)
        };
        let mut whole = WholeFile::beside(file).map_err(failed)?;
        let mut output = tokio::fs::File::from_std(whole.file().try_clone().map_err(failed)?);
        let mut stream = self.blob(repository, descriptor);
        while let Some(piece) = stream.next().await? {
            output.write_all(&piece).await.map_err(failed)?;
            counter.iter().for_each(|count| count(piece.len() as u64));
        }
        output.flush().await.map_err(failed)?;
        whole.replace().map_err(failed)
    }

    /// Whether a repository has a blob.
    ///
    /// # Errors
    /// The registry cannot be reached or denies access.
    pub async fn has_blob(&self, repository: &Repository, digest: &Digest) -> Result<bool, OciError> {
        let failed = |reason| OciError::new(format!("look for {repository}@{digest}"), reason);
        self.finds_blob(repository, &Scopes::pull(repository), digest).await.map_err(failed)
    }

    async fn finds_blob(&self, repository: &Repository, scopes: &Scopes, digest: &Digest) -> Result<bool, Reason> {
        let url = self.url(repository, &format!("blobs/{digest}"))?;
        let answer = self.call(repository, scopes, RepeatableRequest::new(Method::HEAD, url), None).await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(false);
        }
        self.expect(repository, "the blob", answer, &[StatusCode::OK]).await.map(|_| true)
    }

    /// Puts a blob into a repository unless it exists: mounted from `mount_from` in the same registry if possible,
    /// otherwise uploaded. Returns whether bytes were sent.
    ///
    /// # Errors
    /// The registry cannot be reached, denies access, or the bytes do not match the digest.
    pub async fn push_blob(
        &self,
        repository: &Repository,
        descriptor: &Descriptor,
        source: &BlobSource,
        mount_from: Option<&Repository>,
        counter: Option<&ByteCounter>,
    ) -> Result<bool, OciError> {
        let failed = |reason| OciError::new(format!("push {}", blob_name(repository, descriptor)), reason);
        let mut pauses = self.0.http.access.pauses();
        let mut uploads = 0;
        // Reading the source has its own retries, so do not retry the upload when the source fails.
        let is_source_lost = Arc::new(AtomicBool::new(false));
        loop {
            // Check again after a failed upload: the registry may have stored the blob.
            if self.finds_blob(repository, &Scopes::push(repository), &descriptor.digest).await.map_err(failed)? {
                return Ok(uploads > 0);
            }
            uploads += 1;
            match self.upload(repository, descriptor, (source, &is_source_lost), mount_from, counter).await {
                Ok(sent) => return Ok(sent),
                Err(reason)
                    if !reason.is_transient() || uploads == MAX_UPLOADS || is_source_lost.load(Ordering::Relaxed) =>
                {
                    return Err(failed(reason));
                }
                Err(reason) => {
                    tracing::debug!(%repository, digest = %descriptor.digest, %reason, "sending a blob again")
                }
            }
            tokio::time::sleep(pauses.next_pause()).await;
        }
    }

    async fn upload(
        &self,
        repository: &Repository,
        descriptor: &Descriptor,
        (source, is_source_lost): (&BlobSource, &Arc<AtomicBool>),
        mount_from: Option<&Repository>,
        counter: Option<&ByteCounter>,
    ) -> Result<bool, Reason> {
        let registry = repository.authority();
        let digest = descriptor.digest.to_string();
        // A mount within the same repository is not needed, and one from another registry is not possible.
        let mount_from = mount_from.filter(|from| from.registry() == repository.registry() && *from != repository);
        let mut session = None;
        if let Some(from) = mount_from {
            let query = form([("mount", digest.as_str()), ("from", from.path())]);
            let url = self.url(repository, &format!("blobs/uploads/?{query}"))?;
            let scopes = Scopes::push(repository).and_pull(from);
            // Safe to repeat: the registry discards an upload that is never completed.
            let answer =
                self.call(repository, &scopes, RepeatableRequest::new(Method::POST, url).idempotent(), None).await?;
            match answer.status() {
                StatusCode::CREATED => return Ok(false),
                // The registry opened an upload instead of mounting the blob.
                StatusCode::ACCEPTED => session = Some(answer),
                // A mount fails without read access to the other repository, but an upload may still work.
                _ => {}
            }
        }
        let answer = match session {
            Some(answer) => answer,
            None => {
                let url = self.url(repository, "blobs/uploads/")?;
                let request = RepeatableRequest::new(Method::POST, url).idempotent();
                self.call(repository, &Scopes::push(repository), request, None).await?
            }
        };
        let answer = self.expect(repository, "the upload", answer, &[StatusCode::ACCEPTED]).await?;
        let protocol = |problem: &str| Reason::Protocol { registry: registry.to_owned(), problem: problem.to_owned() };
        let location =
            header_text(answer.headers(), &LOCATION).ok_or_else(|| protocol("an upload without a Location"))?;
        // The upload may have been redirected, so its address is relative to the final URL.
        let location = join(&answer.url, location)
            .ok_or_else(|| protocol("an upload with a Location that is not a valid address"))?;
        if answer.url.scheme_str() == Some("https") && location.scheme_str() == Some("http") {
            return Err(protocol("it wants the upload sent without TLS"));
        }
        let separator = if location.query().is_some() { '&' } else { '?' };
        let url = format!("{location}{separator}{}", form([("digest", digest.as_str())]));
        let url: Uri = url.parse().map_err(|_| protocol("an upload with a Location that is too long"))?;
        let size = descriptor.size;
        let payload = match source {
            BlobSource::Bytes(bytes) => Payload::Bytes(bytes.clone()),
            BlobSource::File { path, offset } => Payload::File { path: path.clone(), offset: *offset, size },
            BlobSource::Repository(registries, from) => {
                let is_lost = is_source_lost.clone();
                let start = (registries.blob(from, descriptor), is_lost);
                let pieces = futures::stream::try_unfold(start, |(mut blob, is_lost)| async move {
                    let piece = blob.next().await.inspect_err(|_| is_lost.store(true, Ordering::Relaxed))?;
                    Ok::<_, BoxError>(piece.map(|piece| (piece, (blob, is_lost))))
                });
                Payload::Stream { stream: Some(Box::pin(pieces)), size }
            }
        };
        let kind = HeaderValue::from_static("application/octet-stream");
        let request = RepeatableRequest::new(Method::PUT, url).header(CONTENT_TYPE, kind).payload(payload);
        let answer = self.call(repository, &Scopes::push(repository), request, counter).await?;
        self.expect(repository, "the upload", answer, &[StatusCode::CREATED, StatusCode::NO_CONTENT]).await?;
        Ok(true)
    }

    /// Puts a manifest under a tag or its digest. A manifest with a subject is also added to the subject's referrers. A
    /// tag that already names the manifest is not written again, because a registry with immutable tags would refuse
    /// it.
    ///
    /// # Errors
    /// The registry cannot be reached, denies access, or lacks content that the manifest references.
    pub async fn push_manifest(&self, reference: &Reference, manifest: &Manifest) -> Result<(), OciError> {
        let failed = |reason| OciError::new(format!("push {}", reference.url()), reason);
        if manifest.content.subject.is_none() && self.is_tagged(reference, manifest).await.map_err(failed)? {
            return Ok(());
        }
        match self.put_manifest(reference, manifest).await {
            // If the answer to the first attempt was lost, the retry may be refused as a change of the tag.
            Err(reason) if reason.is_refusal() && self.is_tagged(reference, manifest).await == Ok(true) => Ok(()),
            result => result.map_err(failed),
        }
    }

    /// Whether the tag of a reference already names a manifest.
    async fn is_tagged(&self, reference: &Reference, manifest: &Manifest) -> Result<bool, Reason> {
        let Some(Ok(tag)) = reference.tag().map(|tag| reference.repository.with_tag(tag)) else { return Ok(false) };
        match self.find_manifest(&tag, &Scopes::push(&tag.repository)).await {
            Ok(found) => Ok(found.digest == manifest.digest),
            Err(reason) if reason.is_transient() => Err(reason),
            // The tag does not exist, or it may be written but not read.
            Err(_) => Ok(false),
        }
    }

    async fn put_manifest(&self, reference: &Reference, manifest: &Manifest) -> Result<(), Reason> {
        let repository = &reference.repository;
        if let Some(expected) = reference.digest().filter(|expected| **expected != manifest.digest) {
            return Err(mismatch(reference.url(), expected, &manifest.digest));
        }
        // Write the tag even if the reference also has a digest.
        let name = reference.tag().map_or_else(|| reference.name(), str::to_owned);
        let url = self.url(repository, &format!("manifests/{name}"))?;
        let kind = HeaderValue::from_str(&manifest.media_type)
            .map_err(|_| Reason::Config(format!("{} is not a media type", manifest.media_type)))?;
        let request = RepeatableRequest::new(Method::PUT, url)
            .header(CONTENT_TYPE, kind)
            .payload(Payload::Bytes(manifest.bytes.clone()))
            .idempotent();
        let answer = self.call(repository, &Scopes::push(repository), request, None).await?;
        let taken = [StatusCode::CREATED, StatusCode::OK, StatusCode::ACCEPTED];
        let answer = self.expect(repository, &reference.url(), answer, &taken).await?;
        let stored = header_text(answer.headers(), &CONTENT_DIGEST).and_then(|text| text.parse::<Digest>().ok());
        if let Some(stored) = stored.filter(|stored| *stored != manifest.digest) {
            return Err(mismatch(format!("what {} stored", repository.registry()), &manifest.digest, &stored));
        }
        match &manifest.content.subject {
            Some(subject) if !answer.headers().contains_key(&OCI_SUBJECT) => {
                // The header means that the registry has added the referrer itself. Without it, the client must add the
                // referrer.
                Box::pin(self.add_referrer(repository, &subject.digest, manifest)).await
            }
            _ => Ok(()),
        }
    }

    /// For registries without the referrers API: <https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pushing-manifests-with-subject>.
    async fn add_referrer(&self, repository: &Repository, subject: &Digest, manifest: &Manifest) -> Result<(), Reason> {
        let tag = referrers_tag(repository, subject)?;
        // The fallback tag is read, extended and written, as the specification describes. It has no lock, so concurrent
        // writers may lose an entry.
        let mut entries = match self.fetch_manifest(&tag).await {
            Ok(index) => index.manifests().unwrap_or_default().to_vec(),
            Err(Reason::NotFound { .. }) => Vec::new(),
            Err(reason) => return Err(reason),
        };
        // An earlier attempt may have added it, and a second entry would be a duplicate.
        if entries.iter().any(|entry| entry.digest == manifest.digest) {
            return Ok(());
        }
        let annotations = Some(manifest.content.annotations.clone()).filter(|annotations| !annotations.is_empty());
        entries.push(Descriptor { annotations, ..manifest.descriptor() });
        let index = serde_json::json!({"schemaVersion": 2, "mediaType": MediaType::INDEX, "manifests": entries});
        let index = Manifest::parse(None, Bytes::from(index.to_string()))
            .map_err(|problem| Reason::Content { what: tag.url(), problem })?;
        self.put_manifest(&tag, &index).await
    }

    /// Lists the manifests that refer to a manifest, such as signatures and attestations. The list may be empty.
    ///
    /// # Errors
    /// The registry cannot be reached, denies access, or returns an invalid answer.
    pub async fn referrers(&self, repository: &Repository, subject: &Digest) -> Result<Vec<Descriptor>, OciError> {
        let failed = |reason| OciError::new(format!("list what refers to {repository}@{subject}"), reason);
        self.list_referrers(repository, subject).await.map_err(failed)
    }

    async fn list_referrers(&self, repository: &Repository, subject: &Digest) -> Result<Vec<Descriptor>, Reason> {
        let mut url = self.url(repository, &format!("referrers/{subject}"))?;
        let request = |url: &Uri| {
            RepeatableRequest::new(Method::GET, url.clone()).header(ACCEPT, HeaderValue::from_static(MediaType::INDEX))
        };
        let what = "the list of referrers";
        let (mut entries, mut pages) = (Vec::new(), ListPages::default());
        for _ in 0..MAX_PAGES {
            let page = match self.fetch(repository, what, || Ok(request(&url)), MAX_PAGE_BYTES).await {
                Ok(page) => page,
                // Registries without this API refuse it with various statuses.
                // Only on the first page: in the middle of a list a refusal is a failure, and the fallback would hide
                // the entries so far.
                Err(reason) if reason.is_refusal() && entries.is_empty() => {
                    return match self.fetch_manifest(&referrers_tag(repository, subject)?).await {
                        Ok(index) => Ok(index.manifests().unwrap_or_default().to_vec()),
                        Err(Reason::NotFound { .. }) => Ok(Vec::new()),
                        Err(reason) => Err(reason),
                    };
                }
                Err(reason) => return Err(reason),
            };
            let next = self.next_page(repository, &page, &mut pages)?;
            let unusable = |problem| Reason::Content { what: what.to_owned(), problem };
            let index = Manifest::parse(Some(MediaType::INDEX), page.bytes).map_err(unusable)?;
            entries.extend(index.manifests().unwrap_or_default().iter().cloned());
            let Some(next) = next else { return Ok(entries) };
            url = next;
        }
        Err(endless(repository, what))
    }

    /// Lists the tags of a repository, sorted.
    ///
    /// # Errors
    /// The registry cannot be reached, denies access, does not have the repository, or its pages never end.
    pub async fn tags(&self, repository: &Repository) -> Result<Vec<String>, OciError> {
        let failed = |reason| OciError::new(format!("list the tags of {repository}"), reason);
        self.list_tags(repository).await.map_err(failed)
    }

    async fn list_tags(&self, repository: &Repository) -> Result<Vec<String>, Reason> {
        #[derive(serde::Deserialize)]
        struct TagPage {
            tags: Option<Vec<String>>,
        }
        let registry = repository.authority();
        let protocol = |problem: &str| Reason::Protocol { registry: registry.to_owned(), problem: problem.to_owned() };
        let (mut tags, mut pages) = (BTreeSet::new(), ListPages::default());
        let mut url = self.url(repository, &format!("tags/list?n={TAGS_PER_PAGE}"))?;
        for _ in 0..MAX_PAGES {
            let request = || Ok(RepeatableRequest::new(Method::GET, url.clone()));
            let answer = self.fetch(repository, &repository.to_string(), request, MAX_PAGE_BYTES).await?;
            let next = self.next_page(repository, &answer, &mut pages)?;
            let page: TagPage =
                serde_json::from_slice(&answer.bytes).map_err(|_| protocol("its list of tags does not parse"))?;
            tags.extend(page.tags.unwrap_or_default());
            let Some(next) = next else { return Ok(tags.into_iter().collect()) };
            url = next;
        }
        Err(endless(repository, "its list of tags"))
    }

    /// Returns the address of a list's next page. It must be on the registry itself with the same scheme, because the
    /// next request carries credentials. A link to a page that was already read is an error, because the list would
    /// never end.
    fn next_page(
        &self,
        repository: &Repository,
        answer: &WholeAnswer,
        pages: &mut ListPages,
    ) -> Result<Option<Uri>, Reason> {
        pages.bytes += answer.bytes.len() as u64;
        pages.read.insert(answer.url.to_string());
        if pages.bytes > MAX_LIST_BYTES {
            return Err(Reason::TooLarge { what: format!("a list of {repository}"), limit: MAX_LIST_BYTES });
        }
        let registry = repository.authority();
        let protocol = |problem: String| Reason::Protocol { registry: registry.to_owned(), problem };
        let headers = answer.headers.get_all(LINK).iter();
        let readable = headers.map(|value| value.to_str().map_err(|_| protocol("its Link header is not text".into())));
        let readable: Vec<&str> = readable.collect::<Result<_, _>>()?;
        let Some(next) = link::next_page(readable).map_err(protocol)? else { return Ok(None) };
        let next = join(&answer.url, &next)
            .ok_or_else(|| protocol("the next page of its list has no valid address".to_owned()))?;
        match is_same_server(&next, &self.url(repository, "")?) {
            true if pages.read.contains(&next.to_string()) => Err(endless(repository, "its list")),
            true => Ok(Some(next)),
            false => Err(protocol(format!("the next page of its list is elsewhere, at {}", shown(&next)))),
        }
    }

    /// Sends a request with credentials, and repeats it after the registry's 401. A 401 from another server, after a
    /// redirect, is final: answering it would send the registry's credentials there.
    async fn call(
        &self,
        repository: &Repository,
        scopes: &Scopes,
        mut request: RepeatableRequest,
        counter: Option<&ByteCounter>,
    ) -> Result<HttpAnswer, Reason> {
        let Inner { http, authorizer } = &*self.0;
        let (registry, home) = (repository.authority(), self.url(repository, "")?);
        // An upload may be on another server, which must not get the registry's credentials.
        if !is_same_server(&request.url, &home) {
            return http.send(registry, &mut request, None, counter).await;
        }
        let used = authorizer.current(http, repository, scopes).await?;
        let answer = http.send(registry, &mut request, used.as_ref(), counter).await?;
        // A stream was consumed by the first attempt, so the caller has to start again.
        let is_repeatable = !matches!(request.payload, Payload::Stream { .. });
        if answer.status() != StatusCode::UNAUTHORIZED || !is_repeatable || !is_same_server(&answer.url, &home) {
            return Ok(answer);
        }
        // The header that was refused is passed along, so that a token which another request renewed meanwhile is used.
        let again = authorizer.after_refusal(http, repository, scopes, answer.headers(), used.as_ref()).await?;
        match again {
            Some(again) => http.send(registry, &mut request, Some(&again), counter).await,
            None => Ok(answer),
        }
    }

    /// Reads a whole answer and repeats the request if the answer was cut off.
    async fn fetch(
        &self,
        repository: &Repository,
        what: &str,
        request: impl Fn() -> Result<RepeatableRequest, Reason>,
        limit: u64,
    ) -> Result<WholeAnswer, Reason> {
        let mut pauses = self.0.http.access.pauses();
        let mut attempt = 1;
        loop {
            let answer = self.call(repository, &Scopes::pull(repository), request()?, None).await?;
            let answer = self.expect(repository, what, answer, &[StatusCode::OK]).await?;
            let (url, headers) = (answer.url.clone(), answer.headers().clone());
            let ends_with_connection = answer.ends_with_connection();
            let read = self.read(repository, what, answer, limit).await.and_then(|bytes| {
                // Every answer read here is JSON, and a truncated one does not parse. The caller checks a complete one.
                match ends_with_connection && serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_err() {
                    true => Err(broken_off(repository.registry(), "the connection was closed")),
                    false => Ok(bytes),
                }
            });
            match read {
                Err(reason) if reason.is_transient() && attempt < MAX_READS => {
                    tracing::debug!(what, attempt, %reason, "reading an answer again");
                    tokio::time::sleep(pauses.next_pause()).await;
                    attempt += 1;
                }
                result => return result.map(|bytes| WholeAnswer { url, headers, bytes }),
            }
        }
    }

    /// Turns every unexpected status into a failure.
    async fn expect(
        &self,
        repository: &Repository,
        what: &str,
        answer: HttpAnswer,
        expected: &[StatusCode],
    ) -> Result<HttpAnswer, Reason> {
        let status = answer.status();
        if expected.contains(&status) {
            return Ok(answer);
        }
        let is_home = is_same_server(&answer.url, &self.url(repository, "")?);
        let registry = if is_home { repository.registry().to_owned() } else { answer.server() };
        // A failure whose body is too long is still reported by its status.
        let body = self.read(repository, what, answer, MAX_FAILURE_BYTES).await.unwrap_or_default();
        let message = registry_message(&body);
        Err(match status.as_u16() {
            401 if !is_home => {
                Reason::UnauthorizedElsewhere { registry: repository.registry().to_owned(), server: registry }
            }
            401 => Reason::Unauthorized { registry, anonymous: self.0.authorizer.is_anonymous(repository).await },
            403 => Reason::Denied { registry, message },
            404 => Reason::NotFound { what: what.to_owned() },
            code => Reason::Server { registry, code, message },
        })
    }

    async fn read(&self, repository: &Repository, what: &str, answer: HttpAnswer, limit: u64) -> Result<Bytes, Reason> {
        self.0.http.read(repository.registry(), what, answer.response, limit).await
    }

    fn url(&self, repository: &Repository, rest: &str) -> Result<Uri, Reason> {
        let authority = repository.authority();
        let scheme = if self.0.http.access.is_plain(authority) { "http" } else { "https" };
        let text = format!("{scheme}://{authority}/v2/{}/{rest}", repository.path());
        text.parse().map_err(|_| Reason::Config(format!("{repository} gives no address")))
    }
}

/// The pages of a list that were read.
#[derive(Default)]
struct ListPages {
    bytes: u64,
    /// Addresses of the pages.
    read: BTreeSet<String>,
}

/// A completely read answer.
struct WholeAnswer {
    url: Uri,
    headers: HeaderMap,
    bytes: Bytes,
}

/// A blob in transit. Dropping it ends the transfer.
pub struct BlobStream {
    registries: Registries,
    repository: Repository,
    descriptor: Descriptor,
    hasher: Hasher,
    received: u64,
    body: Option<Incoming>,
    /// Whether the end of the body looks the same as a lost connection.
    ends_with_connection: bool,
    /// Bytes to skip because the server does not support ranges.
    to_skip: u64,
    resumes: u32,
    fruitless_resumes: u32,
    /// Bytes received before the last resume.
    received_before: u64,
    pauses: Backoff,
    is_over: bool,
}

impl BlobStream {
    /// Returns the next bytes; `None` once the blob is complete and verified.
    ///
    /// # Errors
    /// The blob is missing, denied, of another size or digest, or the connection was lost too often.
    pub async fn next(&mut self) -> Result<Option<Bytes>, OciError> {
        let what = blob_name(&self.repository, &self.descriptor);
        self.advance().await.map_err(|reason| OciError::new(format!("read {what}"), reason))
    }

    async fn advance(&mut self) -> Result<Option<Bytes>, Reason> {
        let what = blob_name(&self.repository, &self.descriptor);
        while !self.is_over {
            let mut body = match self.body.take() {
                Some(body) => body,
                None => self.open(&what).await?,
            };
            let registry = self.repository.registry();
            let mut piece = self.registries.0.http.piece(registry, &mut body).await;
            if matches!(piece, Ok(None)) && self.ends_with_connection && self.received < self.descriptor.size {
                piece = Err(broken_off(registry, "the connection was closed"));
            }
            match piece {
                Ok(Some(mut piece)) => {
                    let skipped = usize::try_from(self.to_skip).unwrap_or(usize::MAX).min(piece.len());
                    let _ = piece.split_to(skipped);
                    self.to_skip -= skipped as u64;
                    if piece.is_empty() {
                        self.body = Some(body);
                        continue;
                    }
                    self.received += piece.len() as u64;
                    if self.received > self.descriptor.size {
                        return Err(Reason::TooLarge { what, limit: self.descriptor.size });
                    }
                    self.hasher.update(&piece);
                    self.body = Some(body);
                    return Ok(Some(piece));
                }
                Ok(None) if self.received < self.descriptor.size => {
                    // The server ended the answer properly, so another request would return the same.
                    let problem = format!("it has {} bytes, not {}", self.received, self.descriptor.size);
                    return Err(Reason::Content { what, problem });
                }
                Ok(None) => {
                    self.is_over = true;
                    let actual = std::mem::take(&mut self.hasher).finish();
                    if actual != self.descriptor.digest {
                        return Err(mismatch(what, &self.descriptor.digest, &actual));
                    }
                }
                Err(reason) if reason.is_transient() && self.may_resume() => {
                    tracing::debug!(%what, received = self.received, %reason, "asking for the rest of a blob");
                    tokio::time::sleep(self.pauses.next_pause()).await;
                }
                Err(reason) => return Err(reason),
            }
        }
        Ok(None)
    }

    /// Counts a resume; false when the limit is reached.
    fn may_resume(&mut self) -> bool {
        if self.received > self.received_before {
            (self.fruitless_resumes, self.pauses) = (0, self.registries.resume_pauses());
        } else {
            self.fruitless_resumes += 1;
        }
        self.received_before = self.received;
        self.resumes += 1;
        self.resumes <= MAX_RESUMES && self.fruitless_resumes <= MAX_FRUITLESS_RESUMES
    }

    /// Requests the blob from the first missing byte.
    async fn open(&mut self, what: &str) -> Result<Incoming, Reason> {
        let registries = self.registries.clone();
        let repository = &self.repository;
        let url = registries.url(repository, &format!("blobs/{}", self.descriptor.digest))?;
        let mut request = RepeatableRequest::new(Method::GET, url);
        if self.received > 0 {
            let range = HeaderValue::from_str(&format!("bytes={}-", self.received));
            request = request.header(RANGE, range.map_err(|_| Reason::Config("a range".to_owned()))?);
        }
        let answer = registries.call(repository, &Scopes::pull(repository), request, None).await?;
        let expected = [StatusCode::OK, StatusCode::PARTIAL_CONTENT];
        let answer = registries.expect(repository, what, answer, &expected).await?;
        self.ends_with_connection = answer.ends_with_connection();
        // A server without range support sends everything again.
        self.to_skip = self.received;
        if answer.status() == StatusCode::PARTIAL_CONTENT {
            let begins = format!("bytes {}-", self.received);
            let fits = header_text(answer.headers(), &CONTENT_RANGE).is_some_and(|range| range.starts_with(&begins));
            if !fits {
                let problem = "it sent a different part of the blob than requested".to_owned();
                return Err(Reason::Protocol { registry: repository.registry().to_owned(), problem });
            }
            self.to_skip = 0;
        }
        Ok(answer.response.into_body())
    }
}

fn blob_name(repository: &Repository, descriptor: &Descriptor) -> String {
    format!("{repository}@{}", descriptor.digest)
}

fn mismatch(what: String, expected: &Digest, actual: &Digest) -> Reason {
    Reason::Digest { what, expected: expected.to_string(), actual: actual.to_string() }
}

fn referrers_tag(repository: &Repository, subject: &Digest) -> Result<Reference, Reason> {
    repository.with_tag(&format!("sha256-{}", subject.hex())).map_err(|error| Reason::Config(error.to_string()))
}

fn endless(repository: &Repository, list: &str) -> Reason {
    Reason::Protocol { registry: repository.authority().to_owned(), problem: format!("{list} does not end") }
}

impl std::fmt::Debug for Registries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Registries { .. }")
    }
}
#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::scripted_server::{ScriptedServer, answer};
    use super::*;
    use crate::DockerConfig;

    const DIGEST_OF_HELLO: &str = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

    fn access(credentials: RegistryCredentials) -> Access {
        let mut access = Access::new(credentials);
        access.retry_pause = Duration::from_millis(1);
        access
    }

    /// A client with a password or an identity token for one registry.
    fn client(host: &str, entry: &str) -> Registries {
        let config = format!(r#"{{"auths": {{"{host}": {entry}}}}}"#);
        Registries::new(access(RegistryCredentials::Docker(DockerConfig::parse("test", config.as_bytes()).unwrap())))
    }

    fn anonymous() -> Registries {
        Registries::new(access(RegistryCredentials::Anonymous))
    }

    fn repository(host: &str) -> Repository {
        format!("{host}/org/app").parse().unwrap()
    }

    fn hello(host: &str) -> (Repository, Descriptor) {
        (repository(host), Descriptor::of("text/plain", b"hello"))
    }

    const PASSWORD: &str = r#"{"username": "alice", "password": "canary"}"#;
    const IDENTITY: &str = r#"{"username": "alice", "identitytoken": "canary"}"#;
    const BASIC: &str = "www-authenticate: Basic realm=\"x\"\r\n";

    fn redirect(status: u16, to: &str) -> String {
        answer(status, &format!("location: {to}\r\n"), "")
    }

    fn is_authorized(request: &str) -> bool {
        request.to_lowercase().contains("\r\nauthorization: ") || request.contains("refresh_token")
    }

    #[tokio::test]
    async fn a_401_behind_a_redirect_is_final_and_its_challenge_is_not_answered() {
        let thief = ScriptedServer::start(|_| answer(200, "", r#"{"token": "t"}"#)).await;
        let realm = format!("www-authenticate: Bearer realm=\"http://{}/steal\"\r\n", thief.host);
        for challenge in [realm, BASIC.to_owned(), String::new()] {
            for entry in [PASSWORD, IDENTITY] {
                let header = challenge.clone();
                let bucket = ScriptedServer::start(move |_| answer(401, &header, "")).await;
                let to = format!("http://{}/blob", bucket.host);
                let registry = ScriptedServer::start(move |request| match is_authorized(request) {
                    false if !request.contains("/blobs/") => answer(401, BASIC, ""),
                    _ => redirect(307, &to),
                })
                .await;
                let client = client(&registry.host, entry);
                let (repository, blob) = hello(&registry.host);
                let tag = repository.with_tag("v1").unwrap();
                let source = BlobSource::Bytes(Bytes::from_static(b"hello"));
                let tried = [
                    client.manifest(&tag).await.err(),
                    client.resolve(&tag).await.err(),
                    client.tags(&repository).await.err(),
                    client.read_blob(&repository, &blob, 10).await.err(),
                    client.push_blob(&repository, &blob, &source, None, None).await.err(),
                ];
                for (number, error) in tried.into_iter().enumerate() {
                    let reason = error.unwrap().reason;
                    let server = bucket.host.clone();
                    let elsewhere = Reason::UnauthorizedElsewhere { registry: registry.host.clone(), server };
                    // An identity token cannot answer Basic, so this 401 is the registry's own.
                    let is_own = entry == IDENTITY && number < 3;
                    assert!(reason == elsewhere || is_own, "{number}: {reason:?}");
                }
                assert!(!bucket.requests().iter().any(|request| is_authorized(request)));
                assert!(thief.requests().is_empty(), "{:?}", thief.requests());
            }
        }
    }

    #[tokio::test]
    async fn credentials_are_not_sent_when_another_server_redirects_back() {
        let registry_host = Arc::new(std::sync::Mutex::new(String::new()));
        let host = registry_host.clone();
        let bucket = ScriptedServer::start(move |_| {
            redirect(307, &format!("http://{}/v2/secret/blobs/uploads/?mount=x", host.lock().unwrap()))
        })
        .await;
        let to = format!("http://{}/x", bucket.host);
        let registry = ScriptedServer::start(move |request| match is_authorized(request) {
            _ if request.contains("/v2/secret/") => answer(404, "", ""),
            false => answer(401, BASIC, ""),
            true => redirect(307, &to),
        })
        .await;
        *registry_host.lock().unwrap() = registry.host.clone();
        let tag = repository(&registry.host).with_tag("v1").unwrap();
        client(&registry.host, PASSWORD).manifest(&tag).await.unwrap_err();
        let led = registry.requests().into_iter().filter(|request| request.contains("/v2/secret/"));
        let led: Vec<String> = led.collect();
        assert!(!led.is_empty() && !led.iter().any(|request| is_authorized(request)), "{led:?}");
    }

    #[tokio::test]
    async fn a_password_does_not_follow_a_redirect_of_the_token_server() {
        for (entry, status) in [(PASSWORD, 307), (IDENTITY, 307), (IDENTITY, 302)] {
            let elsewhere = ScriptedServer::start(|_| answer(401, "", "")).await;
            let to = format!("http://{}/token", elsewhere.host);
            let tokens = ScriptedServer::start(move |_| redirect(status, &to)).await;
            let realm = format!("www-authenticate: Bearer realm=\"http://{}/token\"\r\n", tokens.host);
            let registry = ScriptedServer::start(move |_| answer(401, &realm, "")).await;
            let tag = repository(&registry.host).with_tag("v1").unwrap();
            let error = client(&registry.host, entry).manifest(&tag).await.unwrap_err();
            assert!(tokens.requests().iter().all(|request| is_authorized(request)));
            assert!(!elsewhere.requests().iter().any(|request| is_authorized(request)));
            // The body of the POST is the secret itself.
            match entry {
                PASSWORD => assert!(error.reason.to_string().contains(&elsewhere.host), "{error:?}"),
                _ => assert!(elsewhere.requests().is_empty()),
            }
        }
    }

    #[tokio::test]
    async fn a_redirected_upload_continues_on_the_server_that_opened_it() {
        for status in [307, 308] {
            for is_elsewhere in [false, true] {
                let store = |request: &str| match request.split(' ').next() {
                    Some("POST") => answer(202, "location: session?id=1\r\n", ""),
                    Some("PUT") => answer(201, "", ""),
                    _ => answer(404, "", ""),
                };
                let other = ScriptedServer::start(store).await;
                let to = if is_elsewhere { format!("http://{}/b/up/", other.host) } else { "/b/up/".to_owned() };
                let registry = ScriptedServer::start(move |request| match is_authorized(request) {
                    _ if request.contains(" /b/up/") => store(request),
                    false => answer(401, BASIC, ""),
                    true if request.starts_with("POST") => redirect(status, &to),
                    true => store(request),
                })
                .await;
                let (repository, blob) = hello(&registry.host);
                let source = BlobSource::Bytes(Bytes::from_static(b"hello"));
                let client = client(&registry.host, PASSWORD);
                assert!(client.push_blob(&repository, &blob, &source, None, None).await.unwrap());
                let put = format!("PUT /b/up/session?id=1&digest=sha256%3A{} HTTP/1.1", &DIGEST_OF_HELLO[7..]);
                let asked = if is_elsewhere { &other } else { &registry };
                assert_eq!(asked.lines().last(), Some(&put));
                assert!(asked.requests().last().unwrap().ends_with("hello"));
                assert!(!other.requests().iter().any(|request| is_authorized(request)));
            }
        }
        // A redirect is not followed with a body, nor if it would turn the request into a GET.
        for (method, status) in [("POST", 302), ("PUT", 307)] {
            let registry = ScriptedServer::start(move |request| match request.split(' ').next() {
                Some(own) if own == method => redirect(status, "/elsewhere"),
                Some("POST") => answer(202, "location: /session\r\n", ""),
                _ => answer(404, "", ""),
            })
            .await;
            let (repository, blob) = hello(&registry.host);
            let source = BlobSource::Bytes(Bytes::from_static(b"hello"));
            let error = anonymous().push_blob(&repository, &blob, &source, None, None).await.unwrap_err();
            assert!(error.reason.to_string().contains(&format!("redirects a {method} request")), "{error:?}");
        }
    }

    #[tokio::test]
    async fn the_next_page_is_requested_only_from_the_registry() {
        let elsewhere = ScriptedServer::start(|_| answer(200, "", r#"{"tags": ["stolen"]}"#)).await;
        let foreign = format!("<http://{}/v2/org/app/tags/list>", elsewhere.host);
        for link in [&*foreign, "<https://HOST/v2/org/app/tags/list>", "<//other.invalid/x>", "<http://u@HOST/x>", "/x"]
        {
            let link = link.to_owned();
            let registry = ScriptedServer::start(move |request| {
                let host = request.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
                let link = link.replace("HOST", host);
                answer(200, &format!("link: {link}; rel=\"next\"\r\n"), r#"{"tags": ["a"]}"#)
            })
            .await;
            let error = anonymous().tags(&repository(&registry.host)).await.unwrap_err();
            assert!(matches!(error.reason, Reason::Protocol { .. }), "{error:?}");
            assert_eq!(registry.requests().len(), 1);
        }
        assert!(elsewhere.requests().is_empty());
        let registry = ScriptedServer::start(|request| match request.contains("last=a") {
            false => answer(200, "link: </other?last=a,b>\r\n", r#"{"tags": ["a"]}"#),
            true => answer(200, "link: </x>; rel=prev\r\n", r#"{"tags": null}"#),
        })
        .await;
        assert_eq!(anonymous().tags(&repository(&registry.host)).await.unwrap(), ["a"]);
        assert_eq!(registry.lines().last().unwrap(), "GET /other?last=a,b HTTP/1.1");
    }

    #[tokio::test]
    async fn a_list_whose_pages_lead_back_to_a_page_is_an_error_at_once() {
        for links in [["<>", "<>"], ["<?page=2>", "<?n=1000>"], ["<?page=2>", "<?page=2>"]] {
            let registry = ScriptedServer::start(move |request| {
                let link = links[usize::from(request.contains("page=2"))];
                answer(200, &format!("link: {link}; rel=next\r\n"), r#"{"tags": ["a"]}"#)
            })
            .await;
            let error = anonymous().tags(&repository(&registry.host)).await.unwrap_err();
            assert!(error.reason.to_string().contains("does not end"), "{error:?}");
            assert!(registry.requests().len() <= 2, "{links:?}");
        }
    }

    #[tokio::test]
    async fn all_pages_of_the_list_of_referrers_are_read() {
        let page = |digits: &str| {
            let digest = format!("sha256:{}", digits.repeat(64));
            let entry = serde_json::json!({"mediaType": MediaType::MANIFEST, "digest": digest, "size": 1});
            serde_json::json!({"schemaVersion": 2, "mediaType": MediaType::INDEX, "manifests": [entry]}).to_string()
        };
        let (first, second) = (page("a"), page("b"));
        let registry = ScriptedServer::start(move |request| match request.contains("page=2") {
            false => answer(200, "link: <?page=2>; rel=next\r\n", &first),
            true => answer(200, "", &second),
        })
        .await;
        let listed = anonymous().referrers(&repository(&registry.host), &Digest::of(b"x")).await.unwrap();
        assert_eq!(listed.len(), 2);
    }

    #[tokio::test]
    async fn a_truncated_body_is_retried_only_a_few_times() {
        // Truncated, without a length, and the same with range support. Together: the usual pauses take the time here.
        let answers = [
            ("HTTP/1.1 200 x\r\ncontent-length: 5\r\n\r\nhel", "HTTP/1.1 200 x\r\ncontent-length: 5\r\n\r\nhel"),
            ("HTTP/1.0 200 x\r\n\r\nhel", "HTTP/1.0 200 x\r\n\r\nhel"),
            (
                "HTTP/1.1 200 x\r\ncontent-length: 5\r\n\r\nhel",
                "HTTP/1.1 206 x\r\ncontent-range: bytes 3-4/5\r\ncontent-length: 2\r\n\r\n",
            ),
            ("HTTP/1.1 200 x\r\ncontent-length: 5\r\n\r\n", "HTTP/1.1 200 x\r\ncontent-length: 5\r\n\r\n"),
        ];
        futures::future::join_all(answers.map(|(head, rest)| async move {
            let registry = ScriptedServer::start(move |request| {
                if request.to_lowercase().contains("\r\nrange: ") { rest.to_owned() } else { head.to_owned() }
            })
            .await;
            let client = Registries::new(Access::new(RegistryCredentials::Anonymous));
            let (repository, blob) = hello(&registry.host);
            let begin = Instant::now();
            let error = client.read_blob(&repository, &blob, 10).await.unwrap_err();
            assert!(error.reason.is_transient(), "{error:?}");
            assert!(begin.elapsed() < Duration::from_secs(8), "{head:?}: {:?}", begin.elapsed());
            assert!((3..=6).contains(&registry.requests().len()), "{head:?}: {:?}", registry.lines());
        }))
        .await;
    }

    #[tokio::test]
    async fn a_blob_without_a_length_is_resumed_where_the_connection_was_closed() {
        for knows_ranges in [true, false] {
            let registry = ScriptedServer::start(move |request| {
                let from = request.to_lowercase().split("range: bytes=").nth(1).map(|rest| rest[..1].parse::<usize>());
                match from {
                    Some(Ok(from)) if knows_ranges => {
                        format!("HTTP/1.0 206 x\r\ncontent-range: bytes {from}-4/5\r\n\r\n{}", &"hello"[from..from + 1])
                    }
                    Some(Ok(from)) => format!("HTTP/1.0 200 x\r\n\r\n{}", &"hello"[..from + 1]),
                    _ => "HTTP/1.0 200 x\r\n\r\nh".to_owned(),
                }
            })
            .await;
            let (repository, blob) = hello(&registry.host);
            assert_eq!(anonymous().read_blob(&repository, &blob, 10).await.unwrap(), "hello");
            assert_eq!(registry.requests().len(), 5);
        }
    }

    #[tokio::test]
    async fn a_source_that_fails_is_not_read_again_for_each_upload() {
        let source = ScriptedServer::start(|_| "HTTP/1.1 200 x\r\ncontent-length: 5\r\n\r\nhel".to_owned()).await;
        let target = ScriptedServer::start(|request| match request.split(' ').next() {
            Some("POST") => answer(202, "location: /session\r\n", ""),
            Some("PUT") => answer(201, "", ""),
            _ => answer(404, "", ""),
        })
        .await;
        let (repository, blob) = hello(&target.host);
        let from = BlobSource::Repository(anonymous(), hello(&source.host).0);
        let error = anonymous().push_blob(&repository, &blob, &from, None, None).await.unwrap_err();
        assert!(error.reason.to_string().contains(&source.host), "{error:?}");
        assert!(source.requests().len() <= 5, "{:?}", source.lines());
    }

    fn manifest(text: &str) -> Manifest {
        let config = Descriptor::of("x/y", text.as_bytes());
        let text = serde_json::json!({"schemaVersion": 2, "mediaType": MediaType::MANIFEST, "config": config});
        Manifest::parse(None, Bytes::from(text.to_string())).unwrap()
    }

    #[tokio::test]
    async fn a_tag_that_names_a_manifest_already_is_not_written() {
        let (there, other) = (manifest("there"), manifest("other"));
        let (digest, length) = (there.digest.clone(), there.bytes.len());
        let registry = ScriptedServer::start(move |request| match request.split(' ').next() {
            Some("HEAD") if request.contains("/manifests/v1 ") => format!(
                "HTTP/1.1 200 x\r\ndocker-content-digest: {digest}\r\ncontent-type: {}\r\ncontent-length: {length}\r\n\r\n",
                MediaType::MANIFEST
            ),
            Some("PUT") => answer(201, "", ""),
            _ => answer(404, "", ""),
        })
        .await;
        let repository = repository(&registry.host);
        let push = async |tag: &str, manifest: &Manifest| {
            let before = registry.requests().len();
            anonymous().push_manifest(&repository.with_tag(tag).unwrap(), manifest).await.unwrap();
            registry.lines().split_off(before).iter().filter(|line| line.starts_with("PUT ")).count()
        };
        assert_eq!(push("v1", &there).await, 0);
        assert_eq!(push("v1", &other).await, 1);
        assert_eq!(push("v2", &there).await, 1);
        // A registry without read access may still accept writes.
        let registry = ScriptedServer::start(|request| match request.starts_with("PUT ") {
            true => answer(201, "", ""),
            false => answer(403, "", ""),
        })
        .await;
        let tag = super::tests::repository(&registry.host).with_tag("v1").unwrap();
        anonymous().push_manifest(&tag, &there).await.unwrap();
    }

    #[tokio::test]
    async fn a_truncated_manifest_without_a_length_is_requested_again() {
        let whole = manifest("whole");
        let text = String::from_utf8(whole.bytes.to_vec()).unwrap();
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let registry = ScriptedServer::start(move |request| {
            let is_first =
                request.contains("/manifests/") && asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
            let sent = if is_first { &text[..text.len() / 2] } else { &text };
            format!("HTTP/1.1 200 x\r\ncontent-type: {}\r\nconnection: close\r\n\r\n{sent}", MediaType::MANIFEST)
        })
        .await;
        let read = anonymous().manifest(&repository(&registry.host).with_tag("v1").unwrap()).await.unwrap();
        assert_eq!(read.digest, whole.digest);
        assert_eq!(registry.lines().iter().filter(|line| line.contains("/manifests/")).count(), 2);
    }
}

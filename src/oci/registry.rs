//! The registry protocol: manifests, blobs, tags, referrers; reading and writing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::header::{
    ACCEPT, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderName, HeaderValue, LINK, LOCATION, RANGE,
};
use http::{HeaderMap, Method, Response, StatusCode, Uri};
use hyper::body::{Bytes, Incoming};
use tokio::io::AsyncWriteExt;

use super::digest::Hasher;
use super::error::{Reason, registry_message};
use super::http::{BoxError, ByteCounter, Http, Outgoing, Payload, join, text};
use super::manifest::MAX_MANIFEST_BYTES;
use super::token::{Authorizer, Scopes, form};
use super::{Access, Credentials, Descriptor, Digest, Manifest, MediaType, OciError, Platform, Reference, Repository};
use crate::format::backoff::Backoff;

/// Of an answer that reports a failure.
const MAX_FAILURE_BYTES: u64 = 64 << 10;
/// Of one page of a list.
const MAX_PAGE_BYTES: u64 = 8 << 20;
const MAX_PAGES: usize = 1000;
const TAGS_PER_PAGE: &str = "1000";
/// How often a blob is asked for again where it broke off, if something arrived in between.
const MAX_RESUMES: u32 = 10;
/// How often a whole answer is read again that broke off.
const MAX_READS: u32 = 4;
/// How often a blob is sent again from its beginning.
const MAX_UPLOADS: u32 = 4;

const CONTENT_DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");
const OCI_SUBJECT: HeaderName = HeaderName::from_static("oci-subject");

/// Registries, as one set of settings and credentials reaches them. Cheap to clone; connections and tokens are kept.
#[derive(Clone)]
pub struct Registries(Arc<Inner>);

struct Inner {
    http: Http,
    authorizer: Authorizer,
}

/// Where the bytes of an upload come from.
#[derive(Clone)]
pub enum BlobSource {
    Bytes(Bytes),
    /// A file, or a part of one: its size is the blob's.
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

    /// The same registries for somebody else.
    #[must_use]
    pub fn with_credentials(&self, credentials: Credentials) -> Self {
        Registries::new(Access { credentials, ..self.0.http.access.clone() })
    }

    /// Finds out which manifest a reference names now.
    ///
    /// # Errors
    /// The registry cannot be reached, denies it, or has no such manifest.
    pub async fn resolve(&self, reference: &Reference) -> Result<Descriptor, OciError> {
        let failed = |reason| OciError::new(format!("resolve {}", reference.url()), reason);
        let repository = &reference.repository;
        let request = self.manifest_request(Method::HEAD, reference).map_err(failed)?;
        let response = self.call(repository, &Scopes::pull(repository), request, None).await.map_err(failed)?;
        if response.status().is_success()
            && let Some(digest) = text(response.headers(), &CONTENT_DIGEST).and_then(|text| text.parse::<Digest>().ok())
            && let Some(size) = text(response.headers(), &CONTENT_LENGTH).and_then(|text| text.parse().ok())
            && let Some(media_type) = text(response.headers(), &CONTENT_TYPE)
        {
            if let Some(expected) = reference.digest().filter(|expected| **expected != digest) {
                return Err(failed(mismatch(reference.url(), expected, &digest)));
            }
            let media_type = media_type.split(';').next().unwrap_or(media_type).trim();
            return Ok(Descriptor { digest, size, ..Descriptor::of(media_type, b"") });
        }
        // A HEAD has no body that says why, and some registries answer it without a digest.
        Ok(self.fetch_manifest(reference).await.map_err(failed)?.descriptor())
    }

    /// Reads the manifest or index that a reference names, and checks its digest.
    ///
    /// # Errors
    /// As [`Registries::resolve`]; also for one larger than 4 MiB, one of another digest, and one that does not parse.
    pub async fn manifest(&self, reference: &Reference) -> Result<Manifest, OciError> {
        let failed = |reason| OciError::new(format!("read {}", reference.url()), reason);
        self.fetch_manifest(reference).await.map_err(failed)
    }

    /// Reads the image manifest that a reference names: the one for `platform` where it names an index.
    ///
    /// # Errors
    /// As [`Registries::manifest`]; also when the index has nothing for this platform.
    pub async fn image(&self, reference: &Reference, platform: &Platform) -> Result<Manifest, OciError> {
        let manifest = self.manifest(reference).await?;
        if manifest.manifests().is_none() {
            return Ok(manifest);
        }
        let failed = |reason| OciError::new(format!("read {}", reference.url()), reason);
        let what = || format!("an image for {platform} in {}", reference.url());
        let entry = manifest.for_platform(platform).ok_or_else(|| failed(Reason::NotFound { what: what() }))?;
        let image = self.manifest(&reference.at(entry.digest.clone())).await?;
        if image.manifests().is_some() {
            let problem = "it leads to another index".to_owned();
            return Err(failed(Reason::Content { what: what(), problem }));
        }
        Ok(image)
    }

    async fn fetch_manifest(&self, reference: &Reference) -> Result<Manifest, Reason> {
        let repository = &reference.repository;
        let request = || self.manifest_request(Method::GET, reference);
        let (headers, bytes) = self.fetch(repository, &reference.url(), request, MAX_MANIFEST_BYTES).await?;
        let media_type = text(&headers, &CONTENT_TYPE).map(str::to_owned);
        let announced = text(&headers, &CONTENT_DIGEST).and_then(|text| text.parse::<Digest>().ok());
        let actual = Digest::of(&bytes);
        if let Some(expected) = reference.digest().or(announced.as_ref()).filter(|expected| **expected != actual) {
            return Err(mismatch(reference.url(), expected, &actual));
        }
        let unusable = |problem| Reason::Content { what: reference.url(), problem };
        Manifest::parse(media_type.as_deref(), bytes).map_err(unusable)
    }

    fn manifest_request(&self, method: Method, reference: &Reference) -> Result<Outgoing, Reason> {
        let url = self.url(&reference.repository, &format!("manifests/{}", reference.name()))?;
        Ok(Outgoing::new(method, url).header(ACCEPT, HeaderValue::from_static(MediaType::ACCEPT)))
    }

    /// Starts reading a blob. Its bytes are checked while they pass; where they break off they are asked for again.
    pub fn blob(&self, repository: &Repository, descriptor: &Descriptor) -> BlobStream {
        BlobStream {
            registries: self.clone(),
            repository: repository.clone(),
            descriptor: descriptor.clone(),
            hasher: Hasher::default(),
            received: 0,
            body: None,
            pending: None,
            resumes: 0,
            pauses: self.0.http.access.pauses(),
            is_over: false,
        }
    }

    /// Reads a whole blob into memory.
    ///
    /// # Errors
    /// It is larger than `limit` (nothing is asked for then), missing, or not what its digest says.
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
        // A size that is announced is not yet memory that is needed.
        let mut bytes = Vec::with_capacity(usize::try_from(descriptor.size).unwrap_or(0).min(1 << 20));
        while let Some(piece) = stream.next().await? {
            bytes.extend_from_slice(&piece);
        }
        Ok(Bytes::from(bytes))
    }

    /// Writes a blob into a file, which exists only once it is whole and checked.
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
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let partial = tempfile::Builder::new().prefix(".partial-").tempfile_in(folder).map_err(failed)?;
        let mut output = tokio::fs::File::from_std(partial.as_file().try_clone().map_err(failed)?);
        let mut stream = self.blob(repository, descriptor);
        while let Some(piece) = stream.next().await? {
            output.write_all(&piece).await.map_err(failed)?;
            counter.iter().for_each(|count| count(piece.len() as u64));
        }
        output.flush().await.map_err(failed)?;
        partial.persist(file).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Whether a repository holds a blob.
    ///
    /// # Errors
    /// The registry cannot be reached or denies it.
    pub async fn has_blob(&self, repository: &Repository, digest: &Digest) -> Result<bool, OciError> {
        let failed = |reason| OciError::new(format!("look for {repository}@{digest}"), reason);
        self.look_for_blob(repository, &Scopes::pull(repository), digest).await.map_err(failed)
    }

    async fn look_for_blob(&self, repository: &Repository, scopes: &Scopes, digest: &Digest) -> Result<bool, Reason> {
        let url = self.url(repository, &format!("blobs/{digest}"))?;
        let response = self.call(repository, scopes, Outgoing::new(Method::HEAD, url), None).await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(false);
        }
        self.expect(repository, "the blob", response, &[StatusCode::OK]).await.map(|_| true)
    }

    /// Puts a blob into a repository, unless it is there: mounted from `mount_from` in the same registry where that
    /// works, else sent. Returns whether bytes were sent.
    ///
    /// # Errors
    /// The registry cannot be reached, denies it, or takes other bytes than the digest says.
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
        loop {
            // Also after a failed upload: the registry may have kept what it got.
            if self.look_for_blob(repository, &Scopes::push(repository), &descriptor.digest).await.map_err(failed)? {
                return Ok(uploads > 0);
            }
            uploads += 1;
            match self.upload(repository, descriptor, source, mount_from, counter).await {
                Ok(sent) => return Ok(sent),
                Err(reason) if !reason.is_transient() || uploads == MAX_UPLOADS => return Err(failed(reason)),
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
        source: &BlobSource,
        mount_from: Option<&Repository>,
        counter: Option<&ByteCounter>,
    ) -> Result<bool, Reason> {
        let registry = repository.authority();
        let digest = descriptor.digest.to_string();
        let mount_from = mount_from.filter(|from| from.registry() == repository.registry() && *from != repository);
        let mut session = None;
        if let Some(from) = mount_from {
            let query = form([("mount", digest.as_str()), ("from", from.path())]);
            let url = self.url(repository, &format!("blobs/uploads/?{query}"))?;
            let scopes = Scopes::push(repository).and_pull(from);
            let response = self.call(repository, &scopes, Outgoing::new(Method::POST, url).idempotent(), None).await?;
            match response.status() {
                StatusCode::CREATED => return Ok(false),
                // The registry does not mount, and has opened an upload instead.
                StatusCode::ACCEPTED => session = Some(response),
                // Whoever may not read the other repository may still write this one.
                _ => {}
            }
        }
        let response = match session {
            Some(response) => response,
            None => {
                let url = self.url(repository, "blobs/uploads/")?;
                let request = Outgoing::new(Method::POST, url).idempotent();
                self.call(repository, &Scopes::push(repository), request, None).await?
            }
        };
        let response = self.expect(repository, "the upload", response, &[StatusCode::ACCEPTED]).await?;
        let protocol = |problem: &str| Reason::Protocol { registry: registry.to_owned(), problem: problem.to_owned() };
        let base = self.url(repository, "blobs/uploads/")?;
        let location = text(response.headers(), &LOCATION).ok_or_else(|| protocol("an upload without a Location"))?;
        let location = join(&base, location).ok_or_else(|| protocol("an upload with a Location that is no address"))?;
        if base.scheme_str() == Some("https") && location.scheme_str() == Some("http") {
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
                let pieces = futures::stream::try_unfold(registries.blob(from, descriptor), |mut blob| async move {
                    let piece = blob.next().await?;
                    Ok::<_, BoxError>(piece.map(|piece| (piece, blob)))
                });
                Payload::Stream { stream: Some(Box::pin(pieces)), size }
            }
        };
        let kind = HeaderValue::from_static("application/octet-stream");
        let request = Outgoing::new(Method::PUT, url).header(CONTENT_TYPE, kind).payload(payload);
        let response = self.call(repository, &Scopes::push(repository), request, counter).await?;
        self.expect(repository, "the upload", response, &[StatusCode::CREATED, StatusCode::NO_CONTENT]).await?;
        Ok(true)
    }

    /// Puts a manifest under a tag or its digest. A manifest with a subject is also listed among its referrers.
    ///
    /// # Errors
    /// The registry cannot be reached, denies it, or misses what the manifest points at.
    pub async fn push_manifest(&self, reference: &Reference, manifest: &Manifest) -> Result<(), OciError> {
        let failed = |reason| OciError::new(format!("push {}", reference.url()), reason);
        self.put_manifest(reference, manifest).await.map_err(failed)
    }

    async fn put_manifest(&self, reference: &Reference, manifest: &Manifest) -> Result<(), Reason> {
        let repository = &reference.repository;
        if let Some(expected) = reference.digest().filter(|expected| **expected != manifest.digest) {
            return Err(mismatch(reference.url(), expected, &manifest.digest));
        }
        // A tag is what is written even if the reference says the digest too.
        let name = reference.tag().map_or_else(|| reference.name(), str::to_owned);
        let url = self.url(repository, &format!("manifests/{name}"))?;
        let kind = HeaderValue::from_str(&manifest.media_type)
            .map_err(|_| Reason::Config(format!("{} is no media type", manifest.media_type)))?;
        let request = Outgoing::new(Method::PUT, url)
            .header(CONTENT_TYPE, kind)
            .payload(Payload::Bytes(manifest.bytes.clone()))
            .idempotent();
        let response = self.call(repository, &Scopes::push(repository), request, None).await?;
        let taken = [StatusCode::CREATED, StatusCode::OK, StatusCode::ACCEPTED];
        let response = self.expect(repository, &reference.url(), response, &taken).await?;
        let stored = text(response.headers(), &CONTENT_DIGEST).and_then(|text| text.parse::<Digest>().ok());
        if let Some(stored) = stored.filter(|stored| *stored != manifest.digest) {
            return Err(mismatch(format!("what {} stored", repository.registry()), &manifest.digest, &stored));
        }
        match &manifest.content.subject {
            Some(subject) if !response.headers().contains_key(&OCI_SUBJECT) => {
                Box::pin(self.add_referrer(repository, &subject.digest, manifest)).await
            }
            _ => Ok(()),
        }
    }

    /// For registries without the referrers API: <https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pushing-manifests-with-subject>.
    async fn add_referrer(&self, repository: &Repository, subject: &Digest, manifest: &Manifest) -> Result<(), Reason> {
        let tag = referrers_tag(repository, subject)?;
        let mut entries = match self.fetch_manifest(&tag).await {
            Ok(index) => index.manifests().unwrap_or_default().to_vec(),
            Err(Reason::NotFound { .. }) => Vec::new(),
            Err(reason) => return Err(reason),
        };
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

    /// Lists what refers to a manifest: signatures, attestations. Nothing found is an empty list.
    ///
    /// # Errors
    /// The registry cannot be reached, denies it, or answers nonsense.
    pub async fn referrers(&self, repository: &Repository, subject: &Digest) -> Result<Vec<Descriptor>, OciError> {
        let failed = |reason| OciError::new(format!("list what refers to {repository}@{subject}"), reason);
        let url = self.url(repository, &format!("referrers/{subject}")).map_err(failed)?;
        let request = Outgoing::new(Method::GET, url).header(ACCEPT, HeaderValue::from_static(MediaType::INDEX));
        let response = self.call(repository, &Scopes::pull(repository), request, None).await.map_err(failed)?;
        let index = if response.status() == StatusCode::OK {
            let what = "the list of referrers";
            let bytes = self.read(repository, what, response, MAX_PAGE_BYTES).await.map_err(failed)?;
            let unusable = |problem| failed(Reason::Content { what: what.to_owned(), problem });
            Manifest::parse(Some(MediaType::INDEX), bytes).map_err(unusable)?
        } else {
            match self.fetch_manifest(&referrers_tag(repository, subject).map_err(failed)?).await {
                Ok(index) => index,
                Err(Reason::NotFound { .. }) => return Ok(Vec::new()),
                Err(reason) => return Err(failed(reason)),
            }
        };
        Ok(index.manifests().unwrap_or_default().to_vec())
    }

    /// Lists the tags of a repository, sorted.
    ///
    /// # Errors
    /// The registry cannot be reached, denies it, knows no such repository, or its pages never end.
    pub async fn tags(&self, repository: &Repository) -> Result<Vec<String>, OciError> {
        let failed = |reason| OciError::new(format!("list the tags of {repository}"), reason);
        self.list_tags(repository).await.map_err(failed)
    }

    async fn list_tags(&self, repository: &Repository) -> Result<Vec<String>, Reason> {
        #[derive(serde::Deserialize)]
        struct Page {
            tags: Option<Vec<String>>,
        }
        let registry = repository.authority();
        let protocol = |problem: &str| Reason::Protocol { registry: registry.to_owned(), problem: problem.to_owned() };
        let mut tags = BTreeSet::new();
        let mut url = self.url(repository, &format!("tags/list?n={TAGS_PER_PAGE}"))?;
        for _ in 0..MAX_PAGES {
            let request = || Ok(Outgoing::new(Method::GET, url.clone()));
            let (headers, body) = self.fetch(repository, &repository.to_string(), request, MAX_PAGE_BYTES).await?;
            let next = text(&headers, &LINK).and_then(next_link).map(str::to_owned);
            let page: Page = serde_json::from_slice(&body).map_err(|_| protocol("its list of tags does not parse"))?;
            tags.extend(page.tags.unwrap_or_default());
            let Some(next) = next else { return Ok(tags.into_iter().collect()) };
            let next = join(&url, &next).filter(|next| next.authority() == url.authority());
            url = next.ok_or_else(|| protocol("the next page of its list is elsewhere"))?;
        }
        Err(protocol("its list of tags does not end"))
    }

    /// Sends a request with what the registry wants to see, and once more after a 401.
    async fn call(
        &self,
        repository: &Repository,
        scopes: &Scopes,
        mut request: Outgoing,
        counter: Option<&ByteCounter>,
    ) -> Result<Response<Incoming>, Reason> {
        let Inner { http, authorizer } = &*self.0;
        let registry = repository.authority();
        // An upload may have been opened on another server; that one gets no credentials of this.
        let is_home = request.url.authority().is_some_and(|authority| authority.as_str() == registry);
        if !is_home {
            return http.send(registry, &mut request, None, counter).await;
        }
        let used = authorizer.current(http, repository, scopes).await?;
        let response = http.send(registry, &mut request, used.as_ref(), counter).await?;
        if response.status() != StatusCode::UNAUTHORIZED || matches!(request.payload, Payload::Stream { .. }) {
            return Ok(response);
        }
        let again = authorizer.after_refusal(http, repository, scopes, response.headers(), used.as_ref()).await?;
        match again {
            Some(again) => http.send(registry, &mut request, Some(&again), counter).await,
            None => Ok(response),
        }
    }

    /// Reads a whole answer; one that broke off is asked for again.
    async fn fetch(
        &self,
        repository: &Repository,
        what: &str,
        request: impl Fn() -> Result<Outgoing, Reason>,
        limit: u64,
    ) -> Result<(HeaderMap, Bytes), Reason> {
        let mut pauses = self.0.http.access.pauses();
        let mut attempt = 1;
        loop {
            let response = self.call(repository, &Scopes::pull(repository), request()?, None).await?;
            let response = self.expect(repository, what, response, &[StatusCode::OK]).await?;
            let headers = response.headers().clone();
            match self.read(repository, what, response, limit).await {
                Err(reason) if reason.is_transient() && attempt < MAX_READS => {
                    tracing::debug!(what, attempt, %reason, "reading an answer again");
                    tokio::time::sleep(pauses.next_pause()).await;
                    attempt += 1;
                }
                result => return result.map(|bytes| (headers, bytes)),
            }
        }
    }

    /// Turns every status but the expected ones into the reason of a failure.
    async fn expect(
        &self,
        repository: &Repository,
        what: &str,
        response: Response<Incoming>,
        expected: &[StatusCode],
    ) -> Result<Response<Incoming>, Reason> {
        let status = response.status();
        if expected.contains(&status) {
            return Ok(response);
        }
        let registry = repository.registry().to_owned();
        // A failure that is too long to read is still that failure.
        let body = self.read(repository, what, response, MAX_FAILURE_BYTES).await.unwrap_or_default();
        let message = registry_message(&body);
        Err(match status.as_u16() {
            401 => Reason::Unauthorized { registry, anonymous: self.0.authorizer.is_anonymous(repository).await },
            403 => Reason::Denied { registry, message },
            404 => Reason::NotFound { what: what.to_owned() },
            code => Reason::Server { registry, code, message },
        })
    }

    async fn read(
        &self,
        repository: &Repository,
        what: &str,
        response: Response<Incoming>,
        limit: u64,
    ) -> Result<Bytes, Reason> {
        self.0.http.read(repository.registry(), what, response, limit).await
    }

    fn url(&self, repository: &Repository, rest: &str) -> Result<Uri, Reason> {
        let authority = repository.authority();
        let scheme = if self.0.http.access.is_plain(authority) { "http" } else { "https" };
        let text = format!("{scheme}://{authority}/v2/{}/{rest}", repository.path());
        text.parse().map_err(|_| Reason::Config(format!("{repository} gives no address")))
    }
}

/// A blob that arrives. Dropping it ends the transfer.
pub struct BlobStream {
    registries: Registries,
    repository: Repository,
    descriptor: Descriptor,
    hasher: Hasher,
    received: u64,
    body: Option<Incoming>,
    /// What arrived with the last of the bytes that were passed over.
    pending: Option<Bytes>,
    resumes: u32,
    pauses: Backoff,
    is_over: bool,
}

impl BlobStream {
    /// Returns the next bytes; None once everything arrived and is what the digest says.
    ///
    /// # Errors
    /// The blob is missing, denied, of another size or digest, or breaks off again and again.
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
            let piece = match self.pending.take() {
                Some(piece) => Ok(Some(piece)),
                None => self.registries.0.http.piece(self.repository.registry(), &mut body).await,
            };
            match piece {
                Ok(Some(piece)) => {
                    self.received += piece.len() as u64;
                    if self.received > self.descriptor.size {
                        return Err(Reason::TooLarge { what, limit: self.descriptor.size });
                    }
                    self.hasher.update(&piece);
                    self.body = Some(body);
                    return Ok(Some(piece));
                }
                Ok(None) if self.received < self.descriptor.size => {
                    // The server ended the answer properly, so asking again would give the same.
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
                Err(reason) if reason.is_transient() && self.resumes < MAX_RESUMES => {
                    self.resumes += 1;
                    tracing::debug!(%what, received = self.received, %reason, "asking for the rest of a blob");
                    tokio::time::sleep(self.pauses.next_pause()).await;
                }
                Err(reason) => return Err(reason),
            }
        }
        Ok(None)
    }

    /// Asks for the blob, from the first byte that has not arrived.
    async fn open(&mut self, what: &str) -> Result<Incoming, Reason> {
        let registries = self.registries.clone();
        let repository = &self.repository;
        let url = registries.url(repository, &format!("blobs/{}", self.descriptor.digest))?;
        let mut request = Outgoing::new(Method::GET, url);
        if self.received > 0 {
            let range = HeaderValue::from_str(&format!("bytes={}-", self.received));
            request = request.header(RANGE, range.map_err(|_| Reason::Config("a range".to_owned()))?);
        }
        let response = registries.call(repository, &Scopes::pull(repository), request, None).await?;
        let expected = [StatusCode::OK, StatusCode::PARTIAL_CONTENT];
        let response = registries.expect(repository, what, response, &expected).await?;
        if response.status() == StatusCode::PARTIAL_CONTENT {
            let begins = format!("bytes {}-", self.received);
            let fits = text(response.headers(), &CONTENT_RANGE).is_some_and(|range| range.starts_with(&begins));
            if !fits {
                let problem = "it sends another part of a blob than asked for".to_owned();
                return Err(Reason::Protocol { registry: repository.registry().to_owned(), problem });
            }
            return Ok(response.into_body());
        }
        // The server knows no ranges: what has arrived before comes again and is passed over.
        let mut body = response.into_body();
        let mut passed = 0;
        while passed < self.received {
            let piece = registries.0.http.piece(repository.registry(), &mut body).await?;
            let piece = piece.ok_or_else(|| Reason::Content {
                what: what.to_owned(),
                problem: "it became shorter on the way".to_owned(),
            })?;
            let missing = usize::try_from(self.received - passed).unwrap_or(usize::MAX);
            self.pending = (piece.len() > missing).then(|| piece.slice(missing..));
            passed += piece.len() as u64;
        }
        Ok(body)
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

/// Takes the address out of `<address>; rel="next"` (RFC 8288).
fn next_link(header: &str) -> Option<&str> {
    header.split(',').find_map(|link| {
        let (address, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
        let is_next = |parameter: &str| {
            parameter
                .trim()
                .strip_prefix("rel=")
                .is_some_and(|value| value.trim_matches('"').eq_ignore_ascii_case("next"))
        };
        parameters.split(';').any(is_next).then_some(address)
    })
}

impl std::fmt::Debug for Registries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Registries { .. }")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_the_link_called_next() {
        assert_eq!(next_link("</v2/a/tags/list?last=b&n=2>; rel=\"next\""), Some("/v2/a/tags/list?last=b&n=2"));
        assert_eq!(next_link("</a>; rel=prev, </b>; title=x; rel=next"), Some("/b"));
        for none in ["", "</a>", "</a>; rel=prev", "/a; rel=next"] {
            assert_eq!(next_link(none), None, "{none}");
        }
    }
}

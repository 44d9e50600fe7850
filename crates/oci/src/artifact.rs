//! Flux artifacts: one layer, a gzip-compressed tar archive.
//!
//! Media types and annotations: <https://fluxcd.io/flux/cheatsheets/oci-artifacts/>. The reference distribution is such
//! an artifact too.

use std::collections::BTreeMap;

use hyper::body::Bytes;
use serde_json::json;

use super::error::Reason;
use super::registry::BlobSource;
use super::{Descriptor, Digest, ImageLocation, Manifest, MediaType, OciError, Platform, Reference, Registries};
use crate::format::tarball::{self, ArchiveLimits, Files};

const CONFIG: &str = "application/vnd.cncf.flux.config.v1+json";
/// The tag of a reference without one.
const DEFAULT_TAG: &str = "latest";
const CONTENT: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";

/// Annotations that record the origin of an artifact.
pub mod annotation {
    /// RFC 3339.
    pub const CREATED: &str = "org.opencontainers.image.created";
    pub const SOURCE: &str = "org.opencontainers.image.source";
    /// `branch@sha1:commit` of the source.
    pub const REVISION: &str = "org.opencontainers.image.revision";
}

/// Pushes files as an artifact. Equal files and annotations give an equal digest.
///
/// # Errors
/// The registry cannot be reached, denies access, or refuses the artifact.
pub async fn push_artifact(
    registries: &Registries,
    reference: &Reference,
    files: &Files,
    annotations: &BTreeMap<String, String>,
) -> Result<Manifest, OciError> {
    let place = ImageLocation::Repository(registries.clone(), reference.repository.clone());
    put_artifact(&place, reference.tag().unwrap_or(DEFAULT_TAG), files, annotations).await
}

/// Stores files as an artifact in a registry or an image layout, under a tag or name.
///
/// # Errors
/// The artifact cannot be written there.
pub async fn put_artifact(
    place: &ImageLocation,
    name: &str,
    files: &Files,
    annotations: &BTreeMap<String, String>,
) -> Result<Manifest, OciError> {
    let failed = |problem: String| {
        OciError::new(format!("make the artifact {name}"), Reason::Content { what: "the artifact".to_owned(), problem })
    };
    let unpackable = |error: std::io::Error| failed(error.to_string());
    // `diff_ids` are digests of the uncompressed layers.
    let tar_digest = Digest::of(&tarball::write_tar(files).map_err(unpackable)?);
    let layer = tarball::write_tarball(files).map_err(unpackable)?;
    // Go clients write this where nothing else is known; image tools need `diff_ids` to unpack the layer.
    let config = json!({
        "architecture": "", "os": "", "config": {},
        "rootfs": {"type": "layers", "diff_ids": [tar_digest]},
    });
    let mut descriptors = Vec::new();
    for (media_type, bytes) in [(CONFIG, Bytes::from(config.to_string())), (CONTENT, Bytes::from(layer))] {
        let descriptor = Descriptor::of(media_type, &bytes);
        place.put_blob(&descriptor, &BlobSource::Bytes(bytes)).await?;
        descriptors.push(descriptor);
    }
    let mut manifest = json!({
        "schemaVersion": 2, "mediaType": MediaType::MANIFEST, "config": descriptors.first(),
        "layers": descriptors.get(1..),
    });
    if let Some(fields) = manifest.as_object_mut().filter(|_| !annotations.is_empty()) {
        fields.insert("annotations".to_owned(), json!(annotations));
    }
    let manifest = Manifest::parse(None, Bytes::from(manifest.to_string())).map_err(failed)?;
    place.put_manifest(&manifest, Some(name)).await?;
    Ok(manifest)
}

/// Reads the manifest of an artifact. If the name refers to an index, that is the manifest for linux/amd64.
///
/// # Errors
/// The manifest does not exist or has no layer.
pub async fn artifact_manifest(place: &ImageLocation, name: &str) -> Result<Manifest, OciError> {
    let mut path = place.path_to_image(name, &Platform::linux_amd64()).await?;
    // The path always has a last manifest: reading it would have failed otherwise.
    let missing = || OciError::new(format!("read {name}"), Reason::NotFound { what: name.to_owned() });
    path.pop().ok_or_else(missing)
}

/// Copies the parts that [`artifact_manifest`] and [`artifact_files`] read: the manifests, the configuration and the
/// first layer. Other layers are not copied.
///
/// # Errors
/// A part cannot be read or written, or the manifest declares more than `limit` bytes; then nothing is copied.
pub async fn copy_artifact(from: &ImageLocation, name: &str, to: &ImageLocation, limit: u64) -> Result<(), OciError> {
    let path = from.path_to_image(name, &Platform::linux_amd64()).await?;
    let image = path.last().map(|image| &image.content);
    let blobs: Vec<&Descriptor> =
        image.into_iter().flat_map(|image| image.config.iter().chain(image.layers.first())).collect();
    let size = blobs.iter().fold(0_u64, |sum, blob| sum.saturating_add(blob.size));
    if size > limit {
        return Err(OciError::new(format!("copy {name}"), Reason::TooLarge { what: name.to_owned(), limit }));
    }
    for blob in blobs {
        to.put_blob(blob, &from.blob(blob)).await?;
    }
    // Write the parts of a manifest before the manifest, so that an interrupted copy never shows an incomplete
    // artifact.
    for manifest in path.iter().rev() {
        to.put_manifest(manifest, None).await?;
    }
    Ok(())
}

/// Reads the files of an artifact from its first layer, regardless of its media type.
///
/// # Errors
/// The layer is missing, exceeds the limits, or is not an archive of plain files.
pub async fn artifact_files(
    place: &ImageLocation,
    manifest: &Manifest,
    limits: &ArchiveLimits,
) -> Result<Files, OciError> {
    let what = manifest.digest.to_string();
    let failed = |problem: String| {
        OciError::new(format!("unpack {what}"), Reason::Content { what: "the artifact".to_owned(), problem })
    };
    let layer = manifest.content.layers.first().ok_or_else(|| failed("it has no layer".to_owned()))?;
    // The compressed size is limited before the download, and the content again while it is unpacked.
    let bytes = place.read_blob(layer, limits.compressed_bytes).await?;
    tarball::read_tarball(&bytes[..], limits).map_err(|error| {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
        failed(format!("{error}{source}"))
    })
}

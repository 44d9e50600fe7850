//! Artifacts as Flux makes and reads them: one layer, a gzip-compressed tar archive.
//!
//! Media types and annotations: <https://fluxcd.io/flux/cheatsheets/oci-artifacts/>. The reference distribution is such
//! an artifact too.

use std::collections::BTreeMap;

use hyper::body::Bytes;
use serde_json::json;

use super::error::Reason;
use super::registry::BlobSource;
use super::{Descriptor, Digest, Manifest, MediaType, OciError, Place, Platform, Reference, Registries};
use crate::format::tarball::{self, Files, Limits};

const CONFIG: &str = "application/vnd.cncf.flux.config.v1+json";
/// What a reference without a tag means.
const DEFAULT_TAG: &str = "latest";
const CONTENT: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";

/// Annotations that say where an artifact comes from.
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
/// The registry cannot be reached, denies it, or does not take it.
pub async fn push_artifact(
    registries: &Registries,
    reference: &Reference,
    files: &Files,
    annotations: &BTreeMap<String, String>,
) -> Result<Manifest, OciError> {
    let place = Place::Repository(registries.clone(), reference.repository.clone());
    put_artifact(&place, reference.tag().unwrap_or(DEFAULT_TAG), files, annotations).await
}

/// Puts files as an artifact into a registry or an image layout, under a tag or name.
///
/// # Errors
/// It cannot be written there.
pub async fn put_artifact(
    place: &Place,
    name: &str,
    files: &Files,
    annotations: &BTreeMap<String, String>,
) -> Result<Manifest, OciError> {
    let failed = |problem: String| {
        OciError::new(format!("make the artifact {name}"), Reason::Content { what: "the artifact".to_owned(), problem })
    };
    let unpackable = |error: std::io::Error| failed(error.to_string());
    let tar_digest = Digest::of(&tarball::write_tar(files).map_err(unpackable)?);
    let layer = tarball::write_tarball(files).map_err(unpackable)?;
    // What clients in Go write where nothing is known; `diff_ids` lets image tools unpack it.
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

/// Reads the manifest of an artifact: the one for linux/amd64 where the name means an index.
///
/// # Errors
/// It is not there, or has no layer.
pub async fn artifact_manifest(place: &Place, name: &str) -> Result<Manifest, OciError> {
    let mut path = place.path_to_image(name, &Platform::linux_amd64()).await?;
    // There is a last one, or it could not have been read.
    let missing = || OciError::new(format!("read {name}"), Reason::NotFound { what: name.to_owned() });
    path.pop().ok_or_else(missing)
}

/// Copies what [`artifact_manifest`] and [`artifact_files`] read: the manifests, the configuration and the first layer.
/// Other layers are not copied.
///
/// # Errors
/// It cannot be read or written, or is larger than `limit` by what its manifest says; nothing is copied then.
pub async fn copy_artifact(from: &Place, name: &str, to: &Place, limit: u64) -> Result<(), OciError> {
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
    // A manifest shows nothing that is not whole.
    for manifest in path.iter().rev() {
        to.put_manifest(manifest, None).await?;
    }
    Ok(())
}

/// Reads the files of an artifact: its first layer, whatever its media type says.
///
/// # Errors
/// The layer is missing, larger than the limits, or no archive of plain files.
pub async fn artifact_files(place: &Place, manifest: &Manifest, limits: &Limits) -> Result<Files, OciError> {
    let what = manifest.digest.to_string();
    let failed = |problem: String| {
        OciError::new(format!("unpack {what}"), Reason::Content { what: "the artifact".to_owned(), problem })
    };
    let layer = manifest.content.layers.first().ok_or_else(|| failed("it has no layer".to_owned()))?;
    let bytes = place.read_blob(layer, limits.compressed_bytes).await?;
    tarball::read_tarball(&bytes[..], limits).map_err(|error| {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
        failed(format!("{error}{source}"))
    })
}

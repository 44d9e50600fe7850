//! A single file for air-gapped clusters: a tar archive of an image layout.
//!
//! ```text
//! oci-layout, index.json, blobs/sha256/…     readable by every image tool
//! name `flux-distribution`                   an artifact as Flux makes them, with these files:
//!   flux/…, flux-images/…                    the manifests and digests of a version
//!   crds/fluxinstances.yaml                  the definition of FluxInstance
//!   flux-operator/install.yaml               the operator and all of its definitions
//!   images.txt                               the images, one reference with its digest a line
//!   checksums.txt                            of all other files, as `sha256sum -c` takes them
//! name `ghcr.io/fluxcd/source-controller:…`  the images themselves, if wanted
//! ```

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use crate::api::{Variant, crd};
use crate::distribution::{Distribution, DistributionError, FluxVersion, ImageReference};
use crate::format::image::split_image;
use crate::format::tarball::{ArchiveLimits, Files};
use crate::format::yaml;
use crate::oci::{self, Digest, ImageLocation, Layout, Manifest, OciError, Reason, VerifiedLayout};

/// The name of the artifact in the layout.
pub const PACKED_NAME: &str = "flux-distribution";

/// Bytes up to the end of the magic word of a tar header.
const HEAD_BYTES: u64 = 262;
const CHECKSUMS: &str = "checksums.txt";
const IMAGES: &str = "images.txt";
const OPERATOR: &str = "flux-operator/install.yaml";
const DEFINITION: &str = "crds/fluxinstances.yaml";

/// Adds a version to a layout, with the definition of FluxInstance and the list of images. The caller copies the images
/// themselves; `operator` are the manifests of the operator.
///
/// # Errors
/// The version is not part of the distribution, or the layout cannot be written.
pub async fn pack(
    layout: &Layout,
    distribution: &Distribution,
    version: &FluxVersion,
    images: &[ImageReference],
    operator: &str,
) -> Result<Manifest, super::FetchReason> {
    let mut files = distribution.files(version)?;
    let definition = yaml::to_string(&crd::flux_instance())
        .map_err(|error| DistributionError::Content { file: DEFINITION.to_owned(), message: error.to_string() })?;
    let list: String = images.iter().map(|image| format!("{image}\n")).collect();
    files.insert(DEFINITION.to_owned(), definition.into_bytes().into());
    files.insert(OPERATOR.to_owned(), operator.as_bytes().to_vec().into());
    files.insert(IMAGES.to_owned(), list.into_bytes().into());
    let checksums: String = files.iter().map(|(path, file)| checksum_line(path, &file.bytes)).collect();
    files.insert(CHECKSUMS.to_owned(), checksums.into_bytes().into());
    let annotations = [("org.opencontainers.image.version".to_owned(), version.name.clone())].into();
    Ok(oci::put_artifact(&ImageLocation::Layout(layout.clone()), PACKED_NAME, &files, &annotations).await?)
}

fn checksum_line(path: &str, bytes: &[u8]) -> String {
    format!("{}  {path}\n", Digest::of(bytes).hex())
}

/// Reads the list of images of a packed file.
///
/// # Errors
/// The file does not contain a packed version, or the list is invalid.
pub async fn packed_images(layout: &Layout) -> Result<Vec<ImageReference>, super::FetchReason> {
    let files = packed_files(layout).await?.1;
    let list = files.get(IMAGES).map(|file| String::from_utf8_lossy(&file.bytes).into_owned()).unwrap_or_default();
    let wrong = |line: &str| OciError {
        attempted: format!("read the images of {PACKED_NAME}"),
        reason: Reason::Content { what: IMAGES.to_owned(), problem: format!("`{line}` is not a Flux image") },
    };
    let images = list.lines().map(|line| image_of(line).ok_or_else(|| wrong(line)));
    Ok(images.collect::<Result<_, OciError>>()?)
}

fn image_of(line: &str) -> Option<ImageReference> {
    let parts = split_image(line);
    Some(ImageReference {
        component: parts.repository.rsplit('/').next()?.parse().ok()?,
        repository: parts.repository.to_owned(),
        tag: parts.tag?.to_owned(),
        digest: parts.digest.map(str::to_owned),
    })
}

async fn packed_files(layout: &Layout) -> Result<(Manifest, Files), OciError> {
    let place = ImageLocation::Layout(layout.clone());
    let manifest = oci::artifact_manifest(&place, PACKED_NAME).await?;
    let files = oci::artifact_files(&place, &manifest, &ArchiveLimits::DISTRIBUTION).await?;
    Ok((manifest, files))
}

/// The content of a verified packed file.
#[derive(Debug)]
pub struct PackedContent {
    pub distribution: Distribution,
    pub layout: VerifiedLayout,
    /// The included images; the other images of the list must come from elsewhere.
    pub images: BTreeSet<String>,
    pub missing_images: BTreeSet<String>,
}

/// Verifies a packed file: every digest, every checksum, every manifest.
///
/// # Errors
/// A part is missing, damaged, or differs from the lists.
pub async fn check_packed(path: &Path) -> Result<PackedContent, super::FetchReason> {
    let layout = Layout::open(path)?;
    let checked = layout.check()?;
    let (manifest, files) = packed_files(&layout).await?;
    check_files(&files).map_err(|problem| {
        let reason = Reason::Content { what: path.display().to_string(), problem };
        OciError { attempted: format!("use {}", path.display()), reason }
    })?;
    let names: BTreeSet<String> = layout.names()?.into_iter().map(|(name, _)| name).collect();
    let listed = files.get(IMAGES).map(|file| String::from_utf8_lossy(&file.bytes).into_owned()).unwrap_or_default();
    let (mut images, mut missing_images) = (BTreeSet::new(), BTreeSet::new());
    for image in listed.lines() {
        let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
        let is_there = match digest {
            Some(digest) => layout.manifest(digest).is_ok(),
            None => names.contains(name),
        };
        if is_there {
            images.insert(image.to_owned())
        } else {
            missing_images.insert(image.to_owned())
        };
    }
    let origin = path.display().to_string();
    let distribution = Distribution::from_files(&origin, files)?.with_digest(manifest.digest.to_string());
    check_manifests(&distribution)?;
    Ok(PackedContent { distribution, layout: checked, images, missing_images })
}

/// Checks that every file has its checksum and every checksum its file.
fn check_files(files: &Files) -> Result<(), String> {
    let list = files.get(CHECKSUMS).ok_or_else(|| format!("it has no {CHECKSUMS}"))?;
    let list = std::str::from_utf8(&list.bytes).map_err(|_| format!("{CHECKSUMS} is not text"))?;
    let expected: BTreeSet<&str> = list.lines().collect();
    let rest = files.iter().filter(|(path, _)| *path != CHECKSUMS);
    let actual: Vec<String> = rest.map(|(path, file)| checksum_line(path, &file.bytes)).collect();
    let actual: BTreeSet<&str> = actual.iter().map(|line| line.trim_end()).collect();
    match actual.symmetric_difference(&expected).next() {
        None => Ok(()),
        Some(line) => Err(format!("{CHECKSUMS} and the files disagree about {line}")),
    }
}

/// Reads every manifest of every version.
///
/// # Errors
/// The first unreadable manifest.
pub fn check_manifests(distribution: &Distribution) -> Result<(), DistributionError> {
    for version in distribution.versions() {
        for component in distribution.components(&version) {
            distribution.component(&version, component)?;
        }
        distribution.rbac(&version)?;
        distribution.policies(&version)?;
        for variant in Variant::ALL {
            distribution.digests(&version, variant)?;
        }
    }
    Ok(())
}

/// Whether a file is an uncompressed tar archive, as made by [`pack`]; distributions are compressed.
pub fn is_packed(path: &Path) -> bool {
    // Reading a pipe consumes it, and a pipe cannot be read out of order.
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
        && std::fs::File::open(path).and_then(read_head).is_ok_and(|head| is_head_of_packed(&head))
}

/// Reads the bytes that [`is_head_of_packed`] checks, or fewer if the input is shorter.
///
/// # Errors
/// The input cannot be read.
pub fn read_head(reader: impl Read) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    reader.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head)
}

/// Like [`is_packed`], for the first bytes of a file.
pub fn is_head_of_packed(head: &[u8]) -> bool {
    // The magic word of POSIX's tar header, <https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html>.
    head.len() as u64 == HEAD_BYTES && head.ends_with(b"ustar")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[tokio::test]
    async fn a_packed_version_is_whole_and_what_was_changed_in_it_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let embedded = Distribution::embedded();
        let version = embedded.versions().pop().unwrap();
        let images = embedded.images(&version, "ghcr.io/fluxcd", Some(crate::api::Variant::UpstreamAlpine));
        let layout = Layout::create(&folder.path().join("layout")).unwrap();
        let packed = pack(&layout, &embedded, &version, &images.unwrap(), "kind: Namespace\n").await.unwrap();
        let file = folder.path().join("flux.tar");
        layout.write_archive(std::fs::File::create(&file).unwrap()).unwrap();
        let bytes = std::fs::read(&file).unwrap();
        let again = folder.path().join("again.tar");
        layout.write_archive(std::fs::File::create(&again).unwrap()).unwrap();
        assert_eq!(bytes, std::fs::read(&again).unwrap(), "the same version gives the same file");

        assert!(is_packed(&file) && !is_packed(folder.path()));
        let content = check_packed(&file).await.unwrap();
        assert_eq!(content.distribution.digest(), Some(packed.digest.to_string().as_str()));
        assert_eq!(content.distribution.versions(), [version]);
        assert_eq!((content.layout.manifests, content.layout.blobs), (1, 2));
        assert!(content.images.is_empty());
        assert_eq!(content.missing_images.len(), 7);
        let listed = packed_images(&Layout::open(&file).unwrap()).await.unwrap();
        assert_eq!(listed.len(), 7);
        assert!(listed.iter().all(|image| image.repository.starts_with("ghcr.io/fluxcd/")));
        assert!(content.missing_images.iter().all(|image| image.contains("@sha256:")));

        // The layer is the largest blob, so a byte in its middle belongs to the manifests.
        let mut damaged = bytes.clone();
        let middle = bytes.len() / 2;
        damaged[middle] ^= 1;
        std::fs::write(&file, &damaged).unwrap();
        let error = format!("{:?}", check_packed(&file).await.unwrap_err());
        assert!(error.contains("Digest"), "{error}");
        std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
        assert!(check_packed(&file).await.is_err());
    }

    #[tokio::test]
    async fn leftovers_of_another_version_in_the_layout_are_not_packed() {
        let embedded = Distribution::embedded();
        let versions = embedded.versions();
        let [.., older, newest] = versions.as_slice() else { panic!("fewer than two versions") };
        let packed = async |versions: &[&FluxVersion]| {
            let folder = tempfile::tempdir().unwrap();
            let layout = Layout::create(folder.path()).unwrap();
            let place = ImageLocation::Layout(layout.clone());
            for version in versions {
                // Stands for an image.
                oci::put_artifact(&place, &version.name, &Files::new(), &BTreeMap::new()).await.unwrap();
                pack(&layout, &embedded, version, &[], "").await.unwrap();
            }
            layout.keep_names(&[PACKED_NAME.to_owned()].into()).unwrap();
            let mut archive = Vec::new();
            layout.write_archive(&mut archive).unwrap();
            archive
        };
        assert!(packed(&[older, newest]).await == packed(&[newest]).await);
        assert!(packed(&[older]).await != packed(&[newest]).await);
    }

    #[test]
    fn checksums_and_files_must_agree() {
        let with = |list: &str| {
            let file = |text: &str| text.as_bytes().to_vec().into();
            Files::from([("a".to_owned(), file("x")), (CHECKSUMS.to_owned(), file(list))])
        };
        let good = checksum_line("a", b"x");
        assert_eq!(check_files(&with(&good)), Ok(()));
        for wrong in [String::new(), checksum_line("a", b"y"), format!("{good}{}", checksum_line("b", b"x"))] {
            assert!(check_files(&with(&wrong)).is_err(), "{wrong}");
        }
        assert!(check_files(&Files::new()).is_err());
    }
}

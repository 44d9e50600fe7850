//! The content of each Flux version: controllers, CRDs, permissions, network policies and images.
//!
//! A [`Distribution`] is either the one embedded in the program or one that was packaged elsewhere. Both have the same
//! interface. The embedded one computes its content from these facts, which are the only places to edit:
//!
//! | what | where |
//! | --- | --- |
//! | versions and tags, digests | `tags.txt`, `digests.txt` |
//! | CRDs | `notation/*.notation`, read by `notation.rs`, expanded by `schema.rs` |
//! | ServiceAccounts, Services, Deployments | the facts at the top of `controllers.rs` |
//! | RBAC, quota, network policies | `rbac_and_policies.rs` |
//!
//! # The notation
//! Each API group has a file. `common.notation` is read first and defines the parts that several kinds share. Each line
//! defines one item, and two spaces of indentation mean "belongs to the line above".
//!
//! ```text
//! # a comment, on a line of its own
//! annotation KEY VALUE [GATE]          an annotation of every CRD
//! pattern NAME REGEX                   a regular expression, used as ~NAME
//! columns NAME                         printer columns, used as columns=NAME
//!   Ready string .json.path wide       NAME TYPE PATH; `wide`: only with -o wide
//! type NAME TYPE …                     a named type; its name starts with a capital letter
//! group source.toolkit.fluxcd.io       of the crd lines below
//! crd KIND PLURAL COMPONENT short=x category=y without-part-of   # description
//!   version v1 storage deprecated nostatus columns=NAME [GATE]
//!   FIELD …
//! ```
//!
//! A field is `name! TYPE attribute… [GATE]  # description`:
//! - `!` marks it required (or `required@GATE`, if only there);
//! - types: `string bool int int64 time object any` or a named type above; `[]T` is a list, `{}T` a map with string keys;
//! - attributes: `=DEFAULT` (JSON without spaces, or a bare word), `oneof=a|b`, `~pattern`, `minLength= maxLength= min=
//!   minItems= maxItems= listType= listKeys= mapType=`. Of a list's attributes, those about lists apply to the list
//!   itself and the others to its items;
//! - below it: more values (`| a b c`), CEL rules (`? expression`, then deeper `: message [GATE]`), and its own fields.
//!
//! A gate says where a line holds: `[2.7..]`, `[..2.8]`, `[v1+v1beta2]`, `[v1,v1beta2:2.3..]` (v1 always, v1beta2 from 2.3).
//! An attribute or a single value has its own gate after `@`: `maxLength=253@2.6..`, `oneof=a|b@2.9..`.
//! Where a type is used by several kinds, `v1` in its gates is the API version of the kind that uses it.
//!
//! # Adding a Flux version
//! 1. `tags.txt`: a row. `digests.txt`: a section.
//! 2. A patch release usually needs nothing else. For a minor release, edit the notation of the CRDs that changed. A
//!    new field gets `[2.10..]`, a removed field `[..2.9]`, a removed API version a gate on its `version` line, and a
//!    new controller-gen version an `annotation` line.
//! 3. For changes of Deployments, roles or policies, add an `is_at_least(flux, 2, 10, 0)` next to the fact.
//! 4. `FLUX_DATA_DIR=… cargo test --test offline -- distribution`, with the release's `manifests.tar.gz` unpacked in that folder as
//!    `flux/v2.10.0/`, compares every object with the released one. It also prints the rows that
//!    `tests/offline/distribution/hashes.txt` now needs.
//!
//! # The layout of a packaged distribution
//! ```text
//! flux/v2.9.4/source-controller.yaml …    one file per component
//! flux/v2.9.4/rbac.yaml, policies.yaml
//! flux-images/v2.9.4/upstream-alpine.yaml …   images: [{name, newTag, digest}], one file per variant
//! flux-images/VERSION                     the newest version
//! ```

pub mod api_migration;
mod controllers;
mod export;
mod lines;
pub mod minor_changes;
mod names;
mod notation;
mod packaged;
mod rbac_and_policies;
mod schema;
mod tables;
mod tree;
mod version_gate;

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use serde_json::Value;

pub use lines::NotationError;
pub use names::{FluxVersion, ImageDigest, ImageReference};
use notation::Notation;
use packaged::PackagedTree;
pub use schema::{CrdSummary, ServedVersion};
use tree::{FilesTree, FolderTree, Tree};

use crate::format::tarball::{ArchiveLimits, Files, TarballError, read_tarball};

use crate::api::{Component, Variant};

/// The registry of images in the manifests. A build replaces it by the real one.
pub(crate) const PLACEHOLDER_REGISTRY: &str = "fluxcd";

/// The notation files in reading order: shared definitions come first.
const NOTATION: &[(&str, &str)] = &[
    ("common.notation", include_str!("distribution/notation/common.notation")),
    ("source.notation", include_str!("distribution/notation/source.notation")),
    ("kustomize.notation", include_str!("distribution/notation/kustomize.notation")),
    ("helm.notation", include_str!("distribution/notation/helm.notation")),
    ("notification.notation", include_str!("distribution/notation/notification.notation")),
    ("image.notation", include_str!("distribution/notation/image.notation")),
    ("source-extensions.notation", include_str!("distribution/notation/source-extensions.notation")),
];

/// Reads a self-contained notation text. Fuzzing needs the parser to be public.
///
/// # Errors
/// The first mistake, with its position.
#[doc(hidden)]
pub fn check_notation(text: &'static str) -> Result<(), NotationError> {
    Notation::parse(&[("text", text)]).map(drop)
}

static EMBEDDED_NOTATION: LazyLock<Result<Notation, NotationError>> = LazyLock::new(|| Notation::parse(NOTATION));

/// Why a distribution cannot be read or written, or does not have the requested content.
#[derive(Debug, thiserror::Error)]
pub enum DistributionError {
    #[error("flux {version} is not part of {distribution}")]
    UnknownVersion { version: String, distribution: String },
    #[error("flux {version} has no {component}")]
    UnknownComponent { version: String, component: Component },
    #[error("flux {version} has no file {file} in {distribution}")]
    MissingFile { version: String, file: String, distribution: String },
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("cannot use {file}: {message}")]
    Content { file: String, message: String },
    #[error("cannot unpack {origin}")]
    Unpack { origin: String, source: TarballError },
    /// A mistake in the embedded notation; the tests rule it out.
    #[error("cannot read the embedded CRD notation")]
    Notation(#[from] NotationError),
}

/// The manifests and images of one or more Flux versions.
#[derive(Debug, Clone)]
pub struct Distribution {
    source: DistributionSource,
    /// Digest of the artifact that holds it.
    digest: Option<String>,
}

#[derive(Debug, Clone)]
enum DistributionSource {
    Embedded,
    /// The files, and the digest or path of their origin.
    Packaged(Arc<PackagedTree>, String),
}

impl Distribution {
    /// Returns the distribution that is part of this program. Its tables are read on demand.
    pub fn embedded() -> Self {
        Self { source: DistributionSource::Embedded, digest: None }
    }

    /// Opens a packaged distribution: a directory or a gzip-compressed tar archive, see the layout above.
    ///
    /// An archive is read into memory, at most 128 MiB in 10000 entries.
    ///
    /// # Errors
    /// When the path cannot be read, holds no version, or is an archive with links, devices, absolute paths, `..` or
    /// more content than allowed.
    pub fn open(path: &Path) -> Result<Self, DistributionError> {
        let unreadable = |source| DistributionError::Read { path: path.to_owned(), source };
        let origin = path.display().to_string();
        if std::fs::metadata(path).map_err(unreadable)?.is_dir() {
            return Self::from_tree(origin, Box::new(FolderTree(path.to_owned())));
        }
        Self::from_archive(&origin, std::fs::File::open(path).map_err(unreadable)?)
    }

    /// Reads a packaged distribution from a gzip-compressed tar archive. `origin` names it in errors.
    ///
    /// # Errors
    /// As [`Distribution::open`].
    pub fn from_archive(origin: &str, reader: impl Read) -> Result<Self, DistributionError> {
        let refused = |source| DistributionError::Unpack { origin: origin.to_owned(), source };
        let files = read_tarball(reader, &ArchiveLimits::DISTRIBUTION).map_err(refused)?;
        Self::from_files(origin, files)
    }

    /// Opens files that are in memory already.
    ///
    /// # Errors
    /// They hold no version, or an image file is malformed.
    pub fn from_files(origin: &str, files: Files) -> Result<Self, DistributionError> {
        let tree = FilesTree { origin: origin.to_owned(), files };
        Self::from_tree(origin.to_owned(), Box::new(tree))
    }

    /// Opens any tree of files. `origin` names it in errors.
    ///
    /// # Errors
    /// It holds no version.
    fn from_tree(origin: String, tree: Box<dyn Tree>) -> Result<Self, DistributionError> {
        let packaged = PackagedTree::open(tree)?;
        Ok(Self { source: DistributionSource::Packaged(Arc::new(packaged), origin), digest: None })
    }

    /// Records the digest of the artifact that holds this distribution.
    #[must_use]
    pub fn with_digest(self, digest: String) -> Self {
        Self { digest: Some(digest), ..self }
    }

    /// Returns the digest of the artifact that holds it; `None` for the embedded distribution, folders and files.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Returns true for the distribution that is part of this program.
    pub fn is_embedded(&self) -> bool {
        matches!(self.source, DistributionSource::Embedded)
    }

    /// Returns the versions, oldest first.
    pub fn versions(&self) -> Vec<FluxVersion> {
        match &self.source {
            // A unit test reads every row of the table, so the error cannot happen in a released program.
            DistributionSource::Embedded => tables::versions().unwrap_or_default(),
            DistributionSource::Packaged(packaged, _) => packaged.versions().to_vec(),
        }
    }

    /// Returns the objects of a component: CRDs by name, ServiceAccount, Services by name, Deployment.
    ///
    /// Nothing has a namespace yet, and the image is `fluxcd/NAME:TAG`.
    ///
    /// # Errors
    /// When the version is unknown or does not have the component, or a packaged file cannot be read.
    pub fn component(&self, version: &FluxVersion, component: Component) -> Result<Vec<Value>, DistributionError> {
        match &self.source {
            DistributionSource::Packaged(..) => self.manifests(version, component.as_str()),
            DistributionSource::Embedded => {
                let tag = self.tag(version, component)?;
                let notation = embedded_notation()?;
                let mut objects = Vec::new();
                for crd in notation.crds.iter().filter(|crd| crd.component == component.as_str()) {
                    if crd.summary(&version.version).is_some() {
                        objects.push(notation.crd(crd, &version.version)?);
                    }
                }
                objects.extend(controllers::objects(component, &version.version, &tag));
                Ok(objects)
            }
        }
    }

    /// Returns the ResourceQuota, ClusterRoles and ClusterRoleBindings that all components share.
    ///
    /// # Errors
    /// When the version is unknown, or a packaged file cannot be read.
    pub fn rbac(&self, version: &FluxVersion) -> Result<Vec<Value>, DistributionError> {
        match &self.source {
            DistributionSource::Embedded => self.known(version).map(|()| rbac_and_policies::rbac(&version.version)),
            DistributionSource::Packaged(..) => self.manifests(version, "rbac"),
        }
    }

    /// Returns the NetworkPolicies.
    ///
    /// # Errors
    /// When the version is unknown, or a packaged file cannot be read.
    pub fn policies(&self, version: &FluxVersion) -> Result<Vec<Value>, DistributionError> {
        match &self.source {
            DistributionSource::Embedded => self.known(version).map(|()| rbac_and_policies::policies(&version.version)),
            DistributionSource::Packaged(..) => self.manifests(version, "policies"),
        }
    }

    /// Returns the image tag of a component, for example `v1.9.4`.
    ///
    /// # Errors
    /// When the version is unknown or does not have the component.
    pub fn tag(&self, version: &FluxVersion, component: Component) -> Result<String, DistributionError> {
        self.known(version)?;
        let tag = match &self.source {
            DistributionSource::Embedded => tables::tag(&version.version, component).map(str::to_owned),
            DistributionSource::Packaged(..) => {
                let objects = self.manifests(version, component.as_str())?;
                deployment_image(&objects, component)
                    .and_then(|image| image.rsplit_once(':'))
                    .map(|(_, t)| t.to_owned())
            }
        };
        tag.ok_or_else(|| DistributionError::UnknownComponent { version: version.name.clone(), component })
    }

    /// Returns the images of a variant with tags and digests; None when there are no digests of it for this version.
    ///
    /// # Errors
    /// When the packaged file with them cannot be read, or is malformed.
    pub fn digests(
        &self,
        version: &FluxVersion,
        variant: Variant,
    ) -> Result<Option<Vec<ImageDigest>>, DistributionError> {
        match &self.source {
            DistributionSource::Embedded => Ok(tables::digests(&version.version, variant)),
            DistributionSource::Packaged(packaged, _) => packaged.digests(version, variant),
        }
    }

    /// Returns references to the images of all components of a version at a registry.
    ///
    /// With a variant that has digests for this version, tags and digests are that variant's; otherwise the references
    /// have the tags of the manifests and no digest.
    ///
    /// # Errors
    /// When the version is unknown, or a packaged file cannot be read.
    pub fn images(
        &self,
        version: &FluxVersion,
        registry: &str,
        variant: Option<Variant>,
    ) -> Result<Vec<ImageReference>, DistributionError> {
        let digests = variant.map(|variant| self.digests(version, variant)).transpose()?.flatten().unwrap_or_default();
        self.known(version)?;
        self.components(version)
            .into_iter()
            .map(|component| {
                let repository = format!("{}/{component}", registry.trim_end_matches('/'));
                Ok(match digests.iter().find(|image| image.component == component) {
                    Some(image) => {
                        let digest = Some(image.digest.clone());
                        ImageReference { component, repository, tag: image.tag.clone(), digest }
                    }
                    None => {
                        let tag = self.tag(version, component)?;
                        ImageReference { component, repository, tag, digest: None }
                    }
                })
            })
            .collect()
    }

    /// Returns the kinds of a version with their API versions, ordered by group and kind.
    ///
    /// # Errors
    /// When the version is unknown, or a packaged file cannot be read.
    pub fn crds(&self, version: &FluxVersion) -> Result<Vec<CrdSummary>, DistributionError> {
        self.known(version)?;
        let mut summaries: Vec<CrdSummary> = match &self.source {
            DistributionSource::Embedded => {
                embedded_notation()?.crds.iter().filter_map(|crd| crd.summary(&version.version)).collect()
            }
            DistributionSource::Packaged(..) => {
                let mut summaries = Vec::new();
                for component in self.components(version) {
                    let objects = self.component(version, component)?;
                    summaries.extend(objects.iter().filter_map(|object| CrdSummary::from_object(object, component)));
                }
                summaries
            }
        };
        summaries.sort_by(|a, b| (&a.group, &a.kind).cmp(&(&b.group, &b.kind)));
        Ok(summaries)
    }

    fn has_component(&self, version: &FluxVersion, component: Component) -> bool {
        match &self.source {
            DistributionSource::Embedded => tables::tag(&version.version, component).is_some(),
            DistributionSource::Packaged(packaged, _) => packaged.has_manifests(version, component.as_str()),
        }
    }

    fn manifests(&self, version: &FluxVersion, name: &str) -> Result<Vec<Value>, DistributionError> {
        self.known(version)?;
        let missing = || DistributionError::MissingFile {
            version: version.name.clone(),
            file: format!("{name}.yaml"),
            distribution: self.to_string(),
        };
        match &self.source {
            DistributionSource::Packaged(packaged, _) => packaged.manifests(version, name)?.ok_or_else(missing),
            DistributionSource::Embedded => Err(missing()),
        }
    }

    fn known(&self, version: &FluxVersion) -> Result<(), DistributionError> {
        let known = match &self.source {
            DistributionSource::Embedded => tables::has(&version.version),
            DistributionSource::Packaged(packaged, _) => packaged.versions().contains(version),
        };
        if known {
            return Ok(());
        }
        Err(DistributionError::UnknownVersion { version: version.name.clone(), distribution: self.to_string() })
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            DistributionSource::Embedded => f.write_str("the embedded distribution"),
            DistributionSource::Packaged(_, origin) => write!(f, "the distribution {origin}"),
        }
    }
}

fn embedded_notation() -> Result<&'static Notation, DistributionError> {
    EMBEDDED_NOTATION.as_ref().map_err(|error| DistributionError::Notation(error.clone()))
}

fn deployment_image(objects: &[Value], component: Component) -> Option<&str> {
    objects
        .iter()
        .filter(|object| object["kind"] == "Deployment" && object["metadata"]["name"] == component.as_str())
        .find_map(|deployment| deployment.pointer("/spec/template/spec/containers/0/image")?.as_str())
}

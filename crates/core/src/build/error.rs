//! Why a build fails.

use crate::api::InvalidInstance;
use crate::distribution::DistributionError;
use crate::format::version_range::VersionRangeError;
use crate::kustomize::{DuplicateObject, PatchError};

/// A build that is not possible. Every cause is in the spec or the distribution, so a retry does not help.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// `spec.distribution.version` is not a range.
    #[error(transparent)]
    VersionRange(#[from] VersionRangeError),
    /// A packaged distribution is newer than this program.
    #[error("this program does not know the minor version of flux {version} in {distribution}")]
    UnknownMinor { version: String, distribution: String },
    #[error("no match found for semver: {range} in {distribution}{}", .newest.as_ref().map(|v| format!("; the newest is {v}")).unwrap_or_default())]
    NoVersion { range: String, distribution: String, newest: Option<String> },
    #[error("failed to parse Flux version from \"{0}\"")]
    UnreadableVersion(String),
    #[error("downgrading from {from} to {to} is not supported, reinstall needed")]
    Downgrade { from: String, to: String },
    /// The instance breaks rules that do not depend on a version.
    #[error(transparent)]
    Invalid(#[from] InvalidInstance),
    /// The chosen Flux version does not have a feature.
    #[error("{0}")]
    Unsupported(String),
    #[error("spec.kustomize.{0}")]
    Patch(#[from] PatchError),
    /// Strict builds only: a patch would have no effect.
    #[error("{message}")]
    UnmatchedPatch { message: String, hint: String },
    /// Strict builds only: images cannot be pinned.
    #[error("{message}")]
    NoDigests { message: String, hint: String },
    #[error(transparent)]
    Duplicate(#[from] DuplicateObject),
    #[error("extract component images failed: {0}")]
    Image(String),
    /// The distribution's manifests differ from those of Flux.
    #[error("{object} of the distribution: {problem}")]
    Manifest { object: String, problem: String },
    /// An object of the build needs a definition that pruning would delete, which would delete the object too.
    #[error("{object} needs {definition}, which would be deleted")]
    DefinitionNeeded { object: String, definition: String },
    #[error(transparent)]
    Distribution(#[from] DistributionError),
}

impl BuildError {
    /// The next step for the user, if there is a single one.
    pub fn hint(&self) -> Option<String> {
        match self {
            BuildError::UnknownMinor { .. } => {
                Some("use a newer program, a range without this minor, or allow unknown minors".to_string())
            }
            BuildError::UnmatchedPatch { hint, .. } | BuildError::NoDigests { hint, .. } => Some(hint.clone()),
            BuildError::DefinitionNeeded { .. } => Some(
                "keep the component that provides the CRD in spec.components, or remove the part that needs it: spec.sync \
                 needs source-controller and kustomize-controller"
                    .to_owned(),
            ),
            BuildError::VersionRange(_) => {
                Some("write a range such as 2.x, 2.9.x or >=2.8 <3, or one version such as 2.9.4".to_string())
            }
            _ => None,
        }
    }
}

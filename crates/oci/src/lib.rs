//! Artifacts and images in registries: read, write, copy and verify. This crate knows neither Kubernetes nor commands.
//!
//! ```text
//! reference   oci://host/repository:tag@digest as a value       digest   sha256 digests, and verified readers
//! login       credentials: docker's config and helpers, pull secrets         access   TLS, plain http, proxies
//! http        one request with redirects, retries and limits    challenge, token   answers to a 401    link   pages of lists
//! transport   connections, proxies and addresses, which the providers of ResourceSets use as well
//! artifact    one layer with files, as Flux makes it        copy, layout   whole images, between registries and folders
//! download    a file at an ordinary URL
//! signature   signatures of cosign with a static key
//! registry    the registry protocol: manifests, blobs, tags, uploads         manifest   parsed manifests
//! ```
//!
//! The client is our own because no crate supports client certificates, identity tokens, mounts under token
//! authentication, retries after 429 and limits on reads. [`Registries`] is its interface: a library with all of these
//! could replace everything behind it. It follows the distribution specification 1.1
//! (<https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md>).
#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::string_slice))]

use flux_operator_core::format;

mod access;
mod artifact;
mod challenge;
mod copy;
mod digest;
mod download;
mod error;
mod http;
mod layout;
mod link;
mod login;
mod manifest;
mod reference;
mod registry;
#[cfg(test)]
mod scripted_server;
mod signature;
mod token;
pub mod transport;

pub use crate::http::ByteCounter;
pub use access::{Access, ClientIdentity, RegistryAccess};
pub use artifact::{annotation, artifact_files, artifact_manifest, copy_artifact, push_artifact, put_artifact};
pub use copy::{Copier, CopyResult, ImageLocation, missing_parts};
pub use digest::Digest;
pub use download::download;
pub use error::{OciError, Reason};
pub use layout::{Layout, VerifiedLayout};
pub use login::{DockerConfig, Login, LoginError, RegistryCredentials};
pub use manifest::{Descriptor, Manifest, MediaType, Platform};
pub use reference::{Reference, ReferenceError, Repository};
pub use registry::{BlobSource, BlobStream, Registries};
pub use signature::{PublicKey, verify_signature};

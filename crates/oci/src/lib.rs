//! Artifacts and images in registries: read, written, copied and verified. Nothing here knows Kubernetes or commands.
//!
//! ```text
//! reference   oci://host/repository:tag@digest as a value       digest   sha256 digests, and bytes that are checked
//! login       credentials: docker's config and helpers, pull secrets         access   TLS, plain http, proxies
//! http        one request with redirects, retries and limits    challenge, token   what a 401 asks for    link   pages of lists
//! artifact    one layer with files, as Flux makes it        copy, layout   whole images, between registries and folders
//! download    a file behind an ordinary address
//! signature   signatures of cosign with a static key
//! registry    the registry protocol: manifests, blobs, tags, uploads         manifest   what the bytes mean
//! ```
//!
//! The client is ours because no crate has client certificates, identity tokens, mounts under token authentication,
//! answers to 429 and bounds on what is read. Its face is [`Registries`]: a library that does all of that can take the
//! place of everything behind it. It follows the distribution specification 1.1
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

pub use crate::http::ByteCounter;
pub use access::{Access, ClientIdentity, RegistryAccess};
pub use artifact::{annotation, artifact_files, artifact_manifest, copy_artifact, push_artifact, put_artifact};
pub use copy::{Copied, Copier, Place, missing_parts};
pub use digest::Digest;
pub use download::download;
pub use error::{OciError, Reason};
pub use layout::{Checked, Layout};
pub use login::{Credentials, DockerConfig, Login, LoginError};
pub use manifest::{Descriptor, Manifest, MediaType, Platform};
pub use reference::{Reference, ReferenceError, Repository};
pub use registry::{BlobSource, BlobStream, Registries};
pub use signature::{PublicKey, verify_signature};

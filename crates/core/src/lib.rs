//! The pure rooms of the project: values in, values out. They do not use a network, a clock or a Kubernetes client.
//!
//! ```text
//! build                             instance + distribution -> objects
//! distribution, kustomize, secrets  the versions of Flux; changes to objects; credentials
//! api                               FluxInstance, its rules and names
//! k8s, format                       facts about Kubernetes; YAML, version ranges, durations
//! ```
//! Each room uses only rooms on lower lines.
#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::string_slice))]

pub mod api;
pub mod build;
pub mod distribution;
pub mod format;
pub mod k8s;
pub mod kustomize;
pub mod secrets;

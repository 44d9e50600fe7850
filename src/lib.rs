//! The library behind the `flux-operator` binary: everything that is true of a Flux installation and its objects.
//!
//! The binary in `cmd/` is a terminal in front of it; the controller is the same library in a pod.
#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::string_slice))]

pub mod api;
pub mod build;
pub mod cluster;
pub mod distribution;
pub mod format;
pub mod inspect;
pub mod k8s;
pub mod kustomize;
pub mod oci;
pub mod reconcile;
pub mod request;
pub mod secrets;

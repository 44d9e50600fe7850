//! The library behind the `flux-operator` binary: everything that is true of a Flux installation and its objects.
//!
//! ```text
//! bootstrap                        from an installation of the flux command to an instance
//! operator                         the operator in a cluster: install, check and uninstall it
//! controller                       the operator: reconcile as a service
//! request, reconcile, inspect      request work from a controller; do that work in-process; show the state
//! fetch                            a distribution from a registry, a folder, a file
//! cluster, oci                     the only room with a Kubernetes client; registries
//! build                            instance + distribution -> objects
//! distribution, kustomize, secrets what Flux is; changes to objects; credentials
//! api                              FluxInstance, its rules and names
//! k8s, format                      facts about Kubernetes; YAML, version ranges, durations
//! ```
//! Each room uses only rooms on lower lines; those below `cluster` and `oci` use neither a network nor a clock.
//! An installation is built, planned and carried out by [`reconcile::run()`]; a preview stops after the plan. The
//! binary in `cmd/` is its command line. `docs/architecture.md` has the details, and says where to add code.
#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::string_slice))]

pub use flux_operator_cluster as cluster;
pub use flux_operator_core::{api, build, distribution, format, k8s, kustomize, secrets};
pub use flux_operator_oci as oci;

pub mod bootstrap;
pub mod controller;
pub mod fetch;
pub mod inspect;
pub mod operator;
pub mod reconcile;
pub mod request;

//! Tests that need neither a cluster nor a network: of the library's pure rooms, and of the built binary.

mod cli;
mod distribution;
mod kustomize_judge;
mod manifests;
mod parsers;

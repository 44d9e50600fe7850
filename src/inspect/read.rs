//! Reads the input of views into a [`snapshot`], from a cluster or a dump.

pub mod flux_object;
pub mod from_cluster;
pub mod from_dump;
pub mod pages;
mod requests;
pub mod snapshot;
mod trimmed;

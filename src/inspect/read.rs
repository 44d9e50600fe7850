//! All reading of the views: from a cluster and from a dump, into a [`snapshot`].

pub mod bundle;
pub mod from_cluster;
pub mod from_dump;
pub mod logs;
pub mod pages;
mod requests;
pub mod snapshot;
mod trimmed;

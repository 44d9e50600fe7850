//! Views: objects in, serialisable values out.
//!
//! Every view is a pure function of a [`read::snapshot::Snapshot`] and of "now", so a cluster and a dump give the same
//! answer. Views know neither tables, colours nor commands. Four modules, each of which uses only those before
//! it: [`read`] builds the snapshot, [`views`] shows its contents, [`diagnose`] finds what is wrong, and [`incident`]
//! collects both for other people.
//!
//! ```text
//! dump (files) ──► Snapshot ◄── loader (cluster)      Snapshot ──► view ──► rows
//! ```

pub mod diagnose;
pub mod incident;
pub mod read;
pub mod views;

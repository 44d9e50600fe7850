//! Views: objects in, serialisable values out.
//!
//! Every view is a pure function of a [`read::snapshot::Snapshot`] and of "now", so a cluster and a dump give the same
//! answer. Views do not depend on tables, colours or commands. There are four modules, each of which uses only the
//! modules before it: [`read`] builds the snapshot, [`views`] shows its contents, [`diagnose`] finds problems, and
//! [`incident`] prepares contents and problems for sharing.
//!
//! ```text
//! dump (files) ──► Snapshot ◄── loader (cluster)      Snapshot ──► view ──► rows
//! ```

pub mod diagnose;
pub mod incident;
pub mod read;
pub mod views;

//! Views: objects in, serialisable values out.
//!
//! Every view is a pure function of a [`read::snapshot::Snapshot`] and of "now", so a cluster and a dump give the same
//! answer. Views know neither tables, colours nor commands.
//!
//! ```text
//! dump (files) ──► Snapshot ◄── loader (cluster)      Snapshot ──► view ──► rows
//! ```

pub mod bundle;
pub mod changes;
pub mod checks;
pub mod components;
pub mod debug;
mod dependencies;
pub mod events;
pub mod health;
mod health_checks;
pub mod impact;
pub mod instance;
pub mod inventory;
pub mod judged_objects;
pub mod logs;
mod managed;
pub mod marks;
pub mod missing;
pub mod next_step;
pub(crate) mod operator;
pub mod page;
pub mod read;
pub mod redact;
pub mod report;
pub mod resource_set;
pub mod resources;
pub mod revision;
pub mod rollback;
pub mod status;
pub mod suspended;
pub mod trace;
pub mod tree;
pub mod upgrade;
pub mod version;
pub mod why;

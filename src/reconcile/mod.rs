//! The reconcile core.

pub mod diff;
pub mod fields;
pub mod kstatus;
pub mod shortcut;
pub mod takeover;

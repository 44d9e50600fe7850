//! The reconcile core, and requests to a controller that runs it elsewhere.

pub mod diff;
pub mod fields;
pub mod kstatus;
pub mod messages;
pub mod progress;
pub mod operator;
pub mod request;
pub mod shortcut;
pub mod takeover;

//! An incident for other people: the bundle, the page and the report, without secrets.

pub mod bundle;
pub mod gather;
pub mod log_stream;
pub mod page;
pub mod redact;
pub mod report;

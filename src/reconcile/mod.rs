//! The reconcile core, and requests to a controller that runs it elsewhere.

pub mod request;

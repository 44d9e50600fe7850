//! Steps shared by several verbs: send a request and follow it, run a reconcile in this process, read and write files
//! of manifests.

pub mod desired;
pub mod follow;
pub mod impact;
pub mod inventory;
pub mod manifest_files;
pub mod operator;
pub mod request;
pub mod run_in_process;
pub mod saved_plan;

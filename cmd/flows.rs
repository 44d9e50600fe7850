//! Steps shared by several verbs: send a request and follow it, run a reconcile in this process, read and write files
//! of manifests.

pub mod change_spec;
pub mod desired;
pub mod dry_run;
pub mod follow;
pub mod here;
pub mod impact;
pub mod inputs;
pub mod inventory;
pub mod manifest_files;
pub mod operator;
pub mod plan_view;
pub mod pull_secrets;
pub mod request;
pub mod resource_set;
pub mod rights;
pub mod run_in_process;
pub mod saved_plan;
pub mod through_operator;
pub mod version_change;

//! The reconcile core, used by the controller and by `--in-process`.
//!
//! ```text
//! adopt, confirm                 for the controller: the first write to an instance; a run without any change
//! run, apply_instance, execute   under the lease: plan, then carry it out; the instance is stored in between
//!   draft                        fetch -> build -> live objects -> plan: the differences; writes nothing
//!     fetch                      the distribution: given, or the artifact of the instance
//!     live_objects               one list per kind
//!     ownership                  refuses objects of another instance
//!     no_change_proof            finds objects that need no dry run
//!   run/steps                    the plan, stage by stage
//!     apply, prune               create and configure; delete but keep workloads
//!     health, migrate            waiting by watch; stored API versions
//!   run/rollback                 back to the last working build, from kept_builds
//!   run/ending                   status, events, notifications, and the time of the next run
//! uninstall                      removes Flux
//! input_provider                 one run of a ResourceSetInputProvider
//! resource_set                   the same for a ResourceSet: inputs and templates in place of a distribution
//! secret                         one Secret: in place, or by replacing the stored one
//! ```
//! It does not use a terminal: progress is reported as values, [`interrupt`] ends a run, and the result is an
//! [`Outcome`]. A run may be cut off at any write. The inventory in the status names every object before it is created,
//! so the next run always knows which objects are ours. [`secret`] is no run: replacing a Secret has to be completed.

pub mod announce;
pub(crate) mod apply;
mod context;
mod custom_resources;
mod draft;
mod fetch;
pub mod health;
pub mod input_provider;
pub mod interrupt;
mod kept_builds;
pub mod live_objects;
pub(crate) mod messages;
pub(crate) mod migrate;
pub mod no_change_proof;
pub mod operator;
pub(crate) mod options;
pub(crate) mod outcome;
mod ownership;
pub mod plan;
pub(crate) mod prepare;
pub mod progress;
mod prune;
mod resource_set;
pub(crate) mod run;
pub mod secret;
pub mod status;
pub(crate) mod stored;
pub mod uninstall;

pub use context::RunContext;
pub use custom_resources::CustomResources;
pub use draft::{NewSpec, SavedPlan, plan, plan_for, plan_with_spec};
pub use fetch::Distributions;
pub(crate) use fetch::artifact_digest;
pub use kept_builds::{KeptBuild, kept_builds};
pub use messages::UnhealthyObject;
pub(crate) use messages::rounded;
pub use options::{Consent, DEPENDENCY_PAUSE, PlanOptions, RunOptions};
pub use outcome::{ApplyError, Failure, Outcome, ReconcileError, fold_errors};
pub use ownership::refuse_second_instance;
pub use plan::Plan;
pub use prepare::prepare;
pub use prune::HeldObject;
pub use resource_set::{
    FinalizedResourceSet, PlannedProvider, PlannedSetObject, ProviderInputs, ProviderState, ResourceSetFailure,
    ResourceSetPlan, RetryPolicy, apply_resource_set, finalize_resource_set, plan_resource_set,
    plan_written_resource_set, reconcile_resource_set,
};
pub(crate) use run::{adopt, confirm};
pub use run::{apply_instance, execute, run};
pub use uninstall::{UninstallOptions, UninstallPlan, UninstallResult, uninstall, uninstall_plan};

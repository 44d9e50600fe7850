//! The reconcile core: what the controller does, and `--in-process`.
//!
//! ```text
//! adopt, confirm                 the controller's: the first touch of an instance; one more run in which nothing moved
//! run, apply_instance, execute   under the lease: plan, then carry it out; the instance is stored in between
//!   draft                        fetch -> build -> live objects -> plan: what differs; writes nothing
//!     fetch                      the distribution: given, or the artifact of the instance
//!     live_objects               one list per kind
//!     ownership                  what belongs to another instance is refused
//!     no_change_proof            what needs no dry run
//!   run/steps                    the plan, stage by stage
//!     apply, prune               create and configure; delete so that workloads stay
//!     health, migrate            waiting by watch; stored API versions
//!   run/rollback                 back to what worked, kept in kept_builds
//!   run/ending                   one status, events, notifications, and when to look again
//! uninstall                      the way back
//! ```
//! Nothing here knows terminals: progress comes out as values, a run is ended through [`interrupt`], and what becomes of
//! it is an [`Outcome`]. Every write may be cut off at any point; the inventory in the status names everything that may
//! exist before it is created, so the next run always knows what is ours.

pub mod announce;
pub mod apply;
mod context;
mod custom_resources;
mod draft;
mod fetch;
pub mod health;
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
pub(crate) mod run;
pub mod status;
pub mod uninstall;

pub use context::RunContext;
pub use custom_resources::CustomResources;
pub use draft::{SavedPlan, plan, plan_for, plan_kept};
pub use fetch::{Distributions, artifact_digest};
pub use kept_builds::{KeptBuild, kept_builds};
pub use messages::Unhealthy;
pub(crate) use messages::rounded;
pub use options::{Consent, PlanOptions, RunOptions};
pub use outcome::{ApplyError, Failure, Outcome, ReconcileError};
pub(crate) use ownership::labelled_owner;
pub use ownership::refuse_second_instance;
pub use plan::Plan;
pub use prepare::prepare;
pub use prune::Held;
pub use run::{adopt, apply_instance, confirm, execute, run};
pub use uninstall::{UninstallOptions, UninstallPlan, Uninstalled, uninstall, uninstall_plan};

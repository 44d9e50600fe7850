//! The reconcile core, and requests to a controller that runs it elsewhere.
//!
//! ```text
//! prepare                    the definition of instances and the namespace, when they are missing
//! run = draft + execute      what the controller does, and `--in-process`
//!   draft                    build -> survey -> plan: what differs; writes nothing
//!     survey                 one list per kind
//!     shortcut, takeover     what needs no dry run; whose fields become ours
//!     diff, fields           what changes, and who set it
//!   apply, health, migrate   the plan, stage by stage; waiting by watch; stored API versions
//!   status, announce         what became of it: one status, events, notifications
//! uninstall                  the way back
//! ```
//! Nothing here knows terminals: progress comes out as values, a run is ended through [`interrupt`], and what becomes of
//! it is an [`Outcome`]. Every write may be cut off at any point; the inventory in the status names everything that may
//! exist before it is created, so the next run always knows what is ours.

pub mod announce;
pub mod apply;
pub mod diff;
mod draft;
pub mod fields;
pub mod health;
pub mod interrupt;
pub mod messages;
pub mod migrate;
pub mod no_change_proof;
pub mod operator;
pub mod outcome;
pub mod plan;
pub mod prepare;
pub mod progress;
pub mod run;
pub mod status;
pub mod survey;
pub mod takeover;
pub mod uninstall;

pub use draft::plan;
pub use outcome::{Failure, Outcome, ReconcileError};
pub use plan::Plan;
pub use prepare::prepare;
pub use run::{Options, execute, run};
pub use uninstall::{UninstallOptions, UninstallPlan, Uninstalled, uninstall, uninstall_plan};

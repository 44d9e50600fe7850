//! The reconcile core, and requests to a controller that runs it elsewhere.

pub mod announce;
pub mod apply;
pub mod diff;
pub mod fields;
pub mod health;
pub mod interrupt;
pub mod messages;
pub mod migrate;
pub mod operator;
pub mod outcome;
pub mod plan;
pub mod pods;
pub mod prepare;
pub mod progress;
pub mod request;
pub mod run;
pub mod shortcut;
pub mod status;
pub mod survey;
pub mod takeover;
pub mod uninstall;

pub use plan::Plan;
pub use prepare::prepare;
pub use outcome::{Failure, Outcome, ReconcileError};
pub use run::{Options, execute, plan, run};
pub use uninstall::{UninstallOptions, UninstallPlan, Uninstalled, uninstall, uninstall_plan};

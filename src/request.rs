//! Requests a reconciliation from a controller in the cluster, and waits for the result.
//!
//! ```text
//! patch (pure)  ->  API server  ->  the controller works  ->  watch  ->  readiness (pure)
//! ```
//!
//! A request is an annotation with a new value. It is handled when the status repeats that value. This module
//! reconciles nothing itself.

mod export;
mod owner;
mod patch;
mod readiness;
mod rollout;
mod watch;

pub use export::bare;
pub use owner::{Owner, OwnerMigration, OwnerMove, UnsuitableOwner, inventory_patch, plan_move};
pub use patch::{SuspendNote, reconcile_patch, resume_patch, suspend_patch, token};
pub use readiness::{ConditionView, PendingReason, condition};
pub use rollout::{ComponentState, Rollout};
pub use watch::{AbsencePolicy, EventView, LastSeen, Wait, WaitError, WaitEvent};

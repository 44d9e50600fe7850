//! Asking a controller in the cluster for something, and seeing it through.
//!
//! ```text
//! patch (pure)  ->  API server  ->  the controller works  ->  watch  ->  readiness (pure)
//! ```
//!
//! A request is an annotation with a new value; it is handled once the status repeats that value. Nothing here
//! reconciles by itself: these are the words of the command line to a controller that runs elsewhere.

mod export;
mod owner;
mod patch;
mod readiness;
mod rollout;
mod watch;

pub use export::bare;
pub use owner::{Move, NoOwner, Owner, OwnerMigration, inventory_patch, plan_move};
pub use patch::{SuspendNote, reconcile_patch, resume_patch, suspend_patch, token};
pub use readiness::{ConditionView, Pending, Readiness, assess, condition, telling_condition};
pub use rollout::{ComponentState, Rollout};
pub use watch::{Absent, EventView, LastSeen, Wait, WaitError, WaitEvent};

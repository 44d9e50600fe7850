//! Options of plans and runs.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio::time::{Duration, Instant};

use super::announce::Notifications;
use super::interrupt::{self, Interrupts};
use crate::cluster::lease::LeaseOptions;
use crate::k8s::ObjectId;

/// Default pause before the dependencies of a ResourceSet are checked again.
pub const DEPENDENCY_PAUSE: Duration = Duration::from_secs(5);

/// Options of a plan.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// Number of concurrent requests.
    pub concurrency: usize,
    /// Field managers to take over in addition to the usual ones.
    pub extra_managers: Vec<String>,
    /// Whether patches without effect and images without digests are errors.
    pub strict: bool,
    /// Whether a packaged distribution may contain minor versions that this program does not know.
    pub allow_unknown_minor: bool,
}

impl Default for PlanOptions {
    fn default() -> Self {
        PlanOptions { concurrency: 16, extra_managers: vec![], strict: false, allow_unknown_minor: false }
    }
}

/// Losses that a run may cause without asking again; each value includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Consent {
    /// No loss: no object is pruned and no version is downgraded.
    Nothing,
    /// Pruned objects.
    #[default]
    Pruned,
    /// Custom resources too, which are deleted with their definitions.
    CustomResources,
}

/// Options of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    pub plan: PlanOptions,
    /// The lease to take; `None` when the caller already holds it, as the controller does.
    pub lease: Option<LeaseOptions>,
    /// Whether to work although an operator is running.
    pub force: bool,
    /// The patch that records the request for this run on the instance; [`run`](super::run()) sends it under the lease.
    pub request: Option<Value>,
    /// Whether to wait for health if the instance asks for it.
    pub wait: bool,
    /// The accepted losses; a run that would cause more is refused before it writes anything.
    pub consent: Consent,
    /// Limit for the custom resources deleted with each definition; `None` means any number.
    pub agreed: Option<BTreeMap<ObjectId, usize>>,
    /// The latest end of waiting; it also ends after the instance's `reconcileTimeout`.
    pub health_deadline: Option<Instant>,
    pub notifications: Option<Notifications>,
    /// Service account for ResourceSets that name none.
    pub default_service_account: Option<String>,
    /// How soon the dependencies of a ResourceSet are checked again.
    pub requeue_dependency: Duration,
    pub interrupts: Interrupts,
}

impl RunOptions {
    /// Options of a run that takes the lease itself.
    pub fn in_process(identity: impl Into<String>) -> Self {
        RunOptions { lease: Some(LeaseOptions::new(identity)), ..RunOptions::default() }
    }
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            plan: PlanOptions::default(),
            lease: None,
            force: false,
            request: None,
            wait: true,
            consent: Consent::default(),
            agreed: None,
            health_deadline: None,
            notifications: None,
            default_service_account: None,
            requeue_dependency: DEPENDENCY_PAUSE,
            interrupts: interrupt::never(),
        }
    }
}

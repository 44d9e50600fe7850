//! How a plan is made and how a run works.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio::time::Instant;

use super::announce::Notifications;
use super::interrupt::{self, Interrupts};
use crate::cluster::lease::LeaseOptions;
use crate::k8s::ObjectId;

/// How a plan is made.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// Requests at a time.
    pub concurrency: usize,
    /// Field managers to take over besides the usual ones.
    pub extra_managers: Vec<String>,
    /// Patches without effect and images without digests are errors.
    pub strict: bool,
    /// Whether a distribution from elsewhere may bring minors that this program does not know.
    pub allow_unknown_minor: bool,
}

impl Default for PlanOptions {
    fn default() -> Self {
        PlanOptions { concurrency: 16, extra_managers: vec![], strict: false, allow_unknown_minor: false }
    }
}

/// What a run may lose without asking again; each allows what stands before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Consent {
    /// Nothing: no object is pruned and no version goes back.
    Nothing,
    /// Objects that are pruned.
    #[default]
    Pruned,
    /// Custom resources as well, which go away with their definitions.
    CustomResources,
}

/// How a run works.
#[derive(Clone, Debug)]
pub struct RunOptions {
    pub plan: PlanOptions,
    /// The lease to take; `None` when the caller holds it already, as the controller does.
    pub lease: Option<LeaseOptions>,
    /// Work although an operator is alive.
    pub force: bool,
    /// The patch that records on the instance that this run was asked for; [`run`](super::run()) sends it under the lease.
    pub request: Option<Value>,
    /// Wait for health where the instance asks for it.
    pub wait: bool,
    /// What may get lost; a run that would lose more is refused before it writes anything.
    pub consent: Consent,
    /// How many custom resources may go with each definition; `None`: however many there are.
    pub agreed: Option<BTreeMap<ObjectId, usize>>,
    /// When waiting ends at the latest; after the instance's `reconcileTimeout` it ends anyway.
    pub health_deadline: Option<Instant>,
    pub notifications: Option<Notifications>,
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
            interrupts: interrupt::never(),
        }
    }
}

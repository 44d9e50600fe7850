//! ResourceSets: from templates and inputs to objects in the cluster.
//!
//! ```text
//! run        one reconciliation, from its dependencies to its status
//!   dependencies                     objects that must exist first
//!   desired                          inputs -> templates -> data -> objects
//!     inputs                         its own, and what providers have exported
//!     referenced_data                copyFrom, checksumFrom, convertKubeConfigFrom
//! preview    the same without writing, per input set
//! finalize   delete what the set applied
//! failure    reasons and messages of its conditions
//! ```
//! Comparing, applying, waiting and deleting are in the other modules of `reconcile`.

mod dependencies;
mod desired;
mod failure;
mod finalize;
mod inputs;
mod preview;
mod referenced_data;
mod run;
mod texts;

pub use failure::{ResourceSetFailure, RetryPolicy};
pub use finalize::{FinalizedResourceSet, finalize_resource_set};
pub use inputs::{ProviderInputs, ProviderState};
pub use preview::{PlannedProvider, PlannedSetObject, ResourceSetPlan, plan_resource_set, plan_written_resource_set};
pub use run::{apply_resource_set, reconcile_resource_set};

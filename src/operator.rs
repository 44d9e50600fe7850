//! The operator's own objects on a cluster: how they are installed and removed.
//!
//! ```text
//! rights, manifests     the objects that run the operator, as values and as text; each right with its reason
//! install, uninstall    a plan first, then the plan carried out
//! bindings              ClusterRoleBindings of its ServiceAccount, its own and those of others
//! ```
//! The running operator is in `controller`.

use std::time::Duration;

use crate::cluster::ClusterError;
use crate::k8s::ObjectId;
use crate::reconcile::ApplyError;
use crate::reconcile::health::Goal;

mod bindings;
mod install;
mod manifests;
mod rights;
mod uninstall;

pub use crate::reconcile::uninstall::KeptObject;
pub use install::{InstallPlan, InstallResult, install, install_plan};
pub use manifests::{OperatorParams, manifest_text, manifests};
pub use rights::rights_of_run;
pub use uninstall::{OperatorUninstallPlan, uninstall_operator, uninstall_operator_plan};

/// Default limit for a definition to be served.
const SERVED_WITHIN: Duration = Duration::from_secs(60);

/// Why the operator cannot be installed or uninstalled, or its leftovers cannot be released.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    #[error("the API server refuses {}", join(.0))]
    Refused(Vec<ApplyError>),
    #[error("{} exists", some(instances))]
    InstancesExist { instances: Vec<ObjectId> },
    /// Helm would install the operator again, or fail because objects are missing.
    #[error("it belongs to the Helm release {release}")]
    HelmRelease { release: String, namespace: String },
    /// The objects did not reach their goal.
    #[error("{}", settled_text(*goal, objects))]
    NotSettled { goal: Goal, objects: Vec<crate::reconcile::UnhealthyObject> },
    #[error(transparent)]
    Call(#[from] ClusterError),
}

fn join(errors: &[ApplyError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn some(objects: &[ObjectId]) -> String {
    objects.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn settled_text(goal: Goal, objects: &[crate::reconcile::UnhealthyObject]) -> String {
    let what = match goal {
        Goal::Healthy | Goal::HealthyOrFailed => "not ready",
        Goal::Gone => "not deleted yet",
    };
    let objects: Vec<String> = objects.iter().map(|one| format!("{} ({})", one.object, one.detail)).collect();
    format!("{what}: {}", objects.join(", "))
}

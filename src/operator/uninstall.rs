//! Uninstalls the operator in order, so that the next run completes an interrupted one.
//!
//! ```text
//! the Deployment, until its pods are gone -> its rights and other objects -> definitions without stored objects
//! ```
//! Flux itself is not changed: the instance is removed first, with `reconcile::uninstall`, or the operator is kept.

use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use super::bindings::{admin_bindings, is_own};
use super::install::{CONCURRENCY, HELM_RELEASE, remove, wait_for};
use super::manifests::{OperatorParams, manifests, obsolete};
use super::{KeptObject, OperatorError};
use crate::api::kinds::{self, FluxKind, INSTANCE, LEASE};
use crate::api::well_known::{GROUP, NAME_LABEL, OPERATOR_NAME};
use crate::cluster::{Cluster, ClusterError, ListOptions};
use crate::k8s::{ObjectId, ResourceType, fields};
use crate::reconcile::RunContext;
use crate::reconcile::health::Goal;
use crate::reconcile::interrupt::never;
use crate::reconcile::live_objects::LiveObjects;
use crate::reconcile::progress::{Action, Progress, Stage, Update};

const DEFINITION: &str = "CustomResourceDefinition";
/// Kinds whose objects an operator reconciles in every namespace.
const OF_SETS: [&str; 2] = ["ResourceSet", "ResourceSetInputProvider"];

/// The planned deletions of an uninstallation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorUninstallPlan {
    /// In the order of deletion.
    pub deletes: Vec<ObjectId>,
    pub keeps: Vec<KeptObject>,
    /// Instances that the operator reconciles; they must be removed first.
    pub instances: Vec<ObjectId>,
    /// ResourceSets and their input providers, in any namespace. They are kept. If they are deleted without an
    /// operator, their deletion does not end until an operator runs again.
    pub resource_sets: Vec<ObjectId>,
    /// The operator's Helm release.
    pub helm_release: Option<String>,
    #[serde(skip)]
    namespace: String,
    #[serde(skip)]
    live: LiveObjects,
}

impl OperatorUninstallPlan {
    /// Returns the reason why the plan cannot be carried out; `None` if it can.
    pub fn refusal(&self) -> Option<OperatorError> {
        if !self.instances.is_empty() {
            return Some(OperatorError::InstancesExist { instances: self.instances.clone() });
        }
        self.refusal_beside_instances()
    }

    /// Like [`Self::refusal`], if the instances are removed first.
    pub fn refusal_beside_instances(&self) -> Option<OperatorError> {
        let release = self.helm_release.clone()?;
        Some(OperatorError::HelmRelease { release, namespace: self.namespace.clone() })
    }
}

/// Lists the objects to delete and to keep. Writes nothing.
///
/// # Errors
/// The API server does not answer.
pub async fn uninstall_operator_plan(
    cluster: &Cluster,
    namespace: &str,
    keep_definitions: bool,
) -> Result<OperatorUninstallPlan, OperatorError> {
    // Only the names of the objects are used, so image and version may be empty.
    let params = OperatorParams::new(namespace, "", "");
    let mut ids: Vec<ObjectId> = manifests(&params).iter().map(ObjectId::of).chain(obsolete(&params)).collect();
    ids.push(ObjectId::new(&LEASE.group, &LEASE.kind, Some(namespace), OPERATOR_NAME).at(&LEASE.version));
    // Delete in reverse order of creation, but the definitions last.
    ids.reverse();
    ids.sort_by_key(|id| match id.kind.as_str() {
        "Deployment" => 0,
        DEFINITION => 2,
        _ => 1,
    });
    let (live, resource_sets, admin_bindings) = futures::try_join!(
        LiveObjects::take(cluster, &ids, CONCURRENCY),
        resource_sets(cluster),
        admin_bindings(cluster, namespace)
    )?;
    let all_instances = list_ids(cluster, &INSTANCE).await?;
    let (instances, elsewhere): (Vec<ObjectId>, Vec<ObjectId>) =
        all_instances.into_iter().partition(|id| id.namespace == namespace);
    let deployment = live.of_kind("apps", "Deployment").find(|one| ObjectId::of(one).namespace == namespace);
    let helm_release = deployment.and_then(|one| fields::annotation(one, HELM_RELEASE));
    let helm_release = helm_release.map(str::to_owned);

    let (mut deletes, mut keeps) = (vec![], vec![]);
    for id in ids {
        let Some(there) = live.get(&id) else { continue };
        let reason = match id.kind.as_str() {
            "Namespace" => Some("it may contain other resources".to_owned()),
            DEFINITION if keep_definitions => Some("CRDs are kept".to_owned()),
            DEFINITION => reason_to_keep_definition(cluster, there, namespace, &elsewhere, &resource_sets).await?,
            // The running operator creates its lease without labels.
            "Lease" => None,
            _ if is_own(there, namespace) => None,
            kind if kind.ends_with("RoleBinding") => Some("it binds subjects other than the operator".to_owned()),
            _ => Some(format!("its label {NAME_LABEL} is not {OPERATOR_NAME}")),
        };
        match reason {
            Some(reason) => keeps.push(KeptObject { object: id, reason }),
            None => deletes.push(id),
        }
    }
    keeps.retain(|kept| !admin_bindings.contains(&kept.object));
    let left = admin_bindings.into_iter().filter(|id| !deletes.contains(id)).map(|object| {
        let account = format!("ServiceAccount/{namespace}/{OPERATOR_NAME}");
        KeptObject {
            object,
            reason: format!(
                "it was created by someone else, and makes every user who may create {account} cluster-admin: delete it"
            ),
        }
    });
    keeps.extend(left);
    Ok(OperatorUninstallPlan {
        namespace: namespace.to_owned(),
        deletes,
        keeps,
        instances,
        resource_sets,
        helm_release,
        live,
    })
}

/// Returns the ResourceSets and input providers of all namespaces.
async fn resource_sets(cluster: &Cluster) -> Result<Vec<ObjectId>, ClusterError> {
    let mut found = vec![];
    for kind in OF_SETS.iter().filter_map(|kind| kinds::of(GROUP, kind)) {
        found.extend(list_ids(cluster, &kind.resource_type()).await?);
    }
    Ok(found)
}

async fn list_ids(cluster: &Cluster, kind: &ResourceType) -> Result<Vec<ObjectId>, ClusterError> {
    let list = cluster.list_all(kind, None, &ListOptions::default()).await?;
    Ok(list.into_iter().flat_map(|list| list.items).map(|item| ObjectId::of(&item)).collect())
}

/// Returns the reason to keep a definition, if any. Deleting a definition deletes all objects of its kind.
async fn reason_to_keep_definition(
    cluster: &Cluster,
    definition: &Value,
    namespace: &str,
    instances_elsewhere: &[ObjectId],
    resource_sets: &[ObjectId],
) -> Result<Option<String>, ClusterError> {
    let kind = fields::text(definition, "/spec/names/kind");
    if OF_SETS.contains(&kind) {
        let stored = resource_sets.iter().filter(|id| id.kind == kind).count();
        return Ok((stored > 0).then(|| format!("{stored} {kind} would be deleted with it")));
    }
    let elsewhere = match kinds::of(GROUP, kind).map(FluxKind::resource_type) {
        Some(instance) if instance == INSTANCE => instances_elsewhere.to_vec(),
        Some(other) => list_ids(cluster, &other).await?.into_iter().filter(|id| id.namespace != namespace).collect(),
        None => vec![],
    };
    Ok(elsewhere.first().map(|first| format!("{first} would be deleted with it")))
}

/// Removes the operator as planned; waits until `deadline` for the deletion of its pods and of the definitions.
///
/// # Errors
/// An instance exists; the operator belongs to a Helm release; an object still exists at the deadline; the API server
/// does not answer. The next run completes the uninstallation.
pub async fn uninstall_operator(
    cluster: &Cluster,
    mut plan: OperatorUninstallPlan,
    deadline: Instant,
    progress: &dyn Progress,
) -> Result<Vec<ObjectId>, OperatorError> {
    if let Some(refusal) = plan.refusal() {
        return Err(refusal);
    }
    let interrupts = never();
    let context =
        RunContext { cluster, extra_managers: &[], concurrency: CONCURRENCY, interrupts: &interrupts, progress };
    let part = |of: fn(&ObjectId) -> bool| plan.deletes.iter().filter(|id| of(id)).cloned().collect::<Vec<_>>();
    // The operator's rights must outlive its pods, and a definition is deleted only after its last object.
    let parts = [
        (Stage::DeleteControllers, part(|id| id.kind == "Deployment"), true),
        (Stage::DeleteObjects, part(|id| id.kind != "Deployment" && id.kind != DEFINITION), false),
        (Stage::DeleteObjects, part(|id| id.kind == DEFINITION), true),
    ];
    let mut deleted = vec![];
    for (stage, ids, awaited) in parts {
        if ids.is_empty() {
            continue;
        }
        progress.report(Update::StageBegan { stage, objects: ids.len() });
        for id in &ids {
            remove(cluster, id, plan.live.get(id).cloned()).await?;
            progress.report(Update::Object { object: id.to_string(), action: Action::Deleted });
            deleted.push(id.clone());
        }
        if awaited {
            wait_for(context, &mut plan.live, &ids, Goal::Gone, deadline).await?;
        }
    }
    Ok(deleted)
}

//! Installs the operator: plans the changes, and carries the plan out.
//!
//! ```text
//! manifests -> live objects -> plan: create, configure, recreate, remove, keep
//!   definitions and cluster roles, until they are served -> the rest -> leftovers of other parameters -> a ready pod
//! ```
//! The plan is the value that is carried out. A second run changes nothing, and an interrupted run is completed by the
//! next one.

use std::collections::BTreeSet;

use serde_json::Value;
use tokio::time::Instant;

use super::bindings::{admin_bindings, is_own};
use super::manifests::{OperatorParams, manifests, obsolete};
use super::{KeptObject, OperatorError};
use crate::api::operator::{is_operator, runs_this_program};
use crate::cluster::{Cluster, ClusterError, Propagation};
use crate::k8s::{ObjectId, fields};
use crate::reconcile::RunContext;
use crate::reconcile::apply::{self, ApplyOutcome};
use crate::reconcile::health::{self, Goal, WaitEnd};
use crate::reconcile::interrupt::{InterruptPolicy, never};
use crate::reconcile::live_objects::LiveObjects;
use crate::reconcile::plan::{self, ApplyStage, Comparison, PlannedObject, Recreation, Step};
use crate::reconcile::progress::{Action, Change, Progress, Stage, Update};

/// Number of concurrent requests.
pub(super) const CONCURRENCY: usize = 8;
/// Field managers whose fields are taken over in addition to the usual ones: Helm 4 applies server-side.
const TAKEN_OVER: &[&str] = &["helm"];
/// Annotation with an object's Helm release.
pub(super) const HELM_RELEASE: &str = "meta.helm.sh/release-name";

/// The planned changes of an installation.
#[derive(Debug)]
pub struct InstallPlan {
    /// In apply order. Objects that are recreated are included as created.
    pub objects: Vec<PlannedObject>,
    /// Objects that are deleted first, because their differences cannot be applied or they are already being deleted.
    pub recreates: Vec<ObjectId>,
    /// Leftovers of an operator with other parameters.
    pub removes: Vec<ObjectId>,
    /// Objects that are kept, with the reason.
    pub keeps: Vec<KeptObject>,
    /// ClusterRoleBindings of others that keep the operator cluster-admin although it should have the smallest role.
    pub admin_bindings: Vec<ObjectId>,
    /// Ports of the replaced operator's Service that are removed: number and name.
    pub closed_ports: Vec<(ObjectId, i64, String)>,
    /// Whether the operator of another program is replaced.
    pub replaces_another: bool,
    /// The Helm release of the current operator.
    pub helm_release: Option<String>,
    live: LiveObjects,
    deployment: ObjectId,
}

impl InstallPlan {
    /// Whether the plan changes anything.
    pub fn has_changes(&self) -> bool {
        self.objects.iter().any(|one| one.step != Step::Unchanged) || !self.removes.is_empty()
    }

    /// Whether a removed object makes the operator cluster-admin.
    pub fn is_admin_binding(&self, id: &ObjectId) -> bool {
        self.live.get(id).is_some_and(|live| fields::text(live, "/roleRef/name") == "cluster-admin")
    }
}

/// The result of an installation.
#[derive(Debug, Default)]
pub struct InstallResult {
    pub changes: Vec<Change>,
}

/// Compares the operator's objects with the cluster. Writes nothing.
///
/// # Errors
/// The API server refuses an object, or does not answer.
pub async fn install_plan(cluster: &Cluster, params: &OperatorParams) -> Result<InstallPlan, OperatorError> {
    let mut desired = manifests(params);
    let leftovers = obsolete(params);
    let ids: Vec<ObjectId> = desired.iter().map(ObjectId::of).chain(leftovers.iter().cloned()).collect();
    let (live, mut admin_bindings) =
        futures::try_join!(LiveObjects::take(cluster, &ids, CONCURRENCY), admin_bindings(cluster, &params.namespace))?;
    let deployment = ids.iter().find(|id| id.kind == "Deployment").cloned().unwrap_or_default();
    let present = live.get(&deployment);

    // After an interrupted uninstallation, an object may still be in deletion, or its namespace, which deletes the
    // object as well.
    let is_leaving = |id: &ObjectId| {
        let namespace = ids.iter().find(|other| other.kind == "Namespace" && other.name == id.namespace);
        [Some(id), namespace].into_iter().flatten().filter_map(|id| live.get(id)).any(fields::is_being_deleted)
    };
    let mut keeps = vec![];
    desired.retain(|object| {
        let id = ObjectId::of(object);
        if live.get(&id).is_none() || is_leaving(&id) {
            return true;
        }
        let reason = match id.kind.as_str() {
            // The namespace may contain objects of other programs, and Flux adds its own labels to it.
            "Namespace" => "it already exists",
            _ => return true,
        };
        keeps.push(KeptObject { object: id, reason: reason.to_owned() });
        false
    });
    let fixed = |object: &Value| {
        let id = ObjectId::of(object);
        live.get(&id).is_some_and(|there| is_leaving(&id) || !can_become(there, object))
    };
    let (recreated, changeable): (Vec<Value>, Vec<Value>) = desired.into_iter().partition(|object| fixed(object));
    let comparison = Comparison {
        extra_managers: &taken_over(),
        trusted: &BTreeSet::new(),
        concurrency: CONCURRENCY,
        recreation: Recreation::Never,
    };
    let planned = plan::objects(cluster, &live, changeable, comparison).await;
    let mut objects = planned.map_err(OperatorError::Refused)?;
    let recreates = recreated.iter().map(ObjectId::of).collect();
    objects.extend(recreated.into_iter().map(created));
    let is_own = |id: &ObjectId| live.get(id).is_some_and(|there| is_own(there, &params.namespace));
    let removes: Vec<ObjectId> = leftovers.into_iter().filter(is_own).collect();
    admin_bindings.retain(|id| !params.cluster_admin && !removes.contains(id));
    let closed_ports = objects.iter().flat_map(closed_ports).collect();
    Ok(InstallPlan {
        objects,
        recreates,
        removes,
        keeps,
        admin_bindings,
        closed_ports,
        replaces_another: present.is_some_and(|present| is_operator(present) && !runs_this_program(present)),
        helm_release: present.and_then(|present| fields::annotation(present, HELM_RELEASE)).map(str::to_owned),
        live,
        deployment,
    })
}

/// Carries a plan out and waits until `ready_by` for a ready pod; `None` does not wait.
///
/// # Errors
/// The API server refuses an object; the operator does not become ready in time.
pub async fn install(
    cluster: &Cluster,
    mut plan: InstallPlan,
    ready_by: Option<Instant>,
    progress: &dyn Progress,
) -> Result<InstallResult, OperatorError> {
    let (interrupts, extra_managers) = (never(), taken_over());
    let context = RunContext {
        cluster,
        extra_managers: &extra_managers,
        concurrency: CONCURRENCY,
        interrupts: &interrupts,
        progress,
    };
    let mut installed = InstallResult::default();
    // Even without a wait for the pod, the other objects need definitions that are served.
    let deadline = ready_by.unwrap_or_else(|| Instant::now() + super::SERVED_WITHIN);
    for (stage, reported) in
        [(ApplyStage::Definitions, Stage::ApplyDefinitions), (ApplyStage::Objects, Stage::ApplyObjects)]
    {
        let due: Vec<PlannedObject> =
            plan.objects.iter().filter(|one| plan::stage(&one.object) == stage).cloned().collect();
        let recreated: Vec<ObjectId> =
            due.iter().map(|one| &one.object).filter(|id| plan.recreates.contains(id)).cloned().collect();
        if !recreated.is_empty() {
            progress.report(Update::StageBegan { stage: Stage::DeleteObjects, objects: recreated.len() });
            for id in &recreated {
                delete_first(context, &mut plan.live, id, deadline).await?;
            }
        }
        progress.report(Update::StageBegan { stage: reported, objects: due.len() });
        let due: Vec<&PlannedObject> = due.iter().collect();
        let ApplyOutcome { changes, errors, .. } = apply::objects(context, &mut plan.live, &due).await;
        installed.changes.extend(changes);
        if !errors.is_empty() {
            return Err(OperatorError::Refused(errors));
        }
        if stage == ApplyStage::Definitions {
            let waited: Vec<ObjectId> = due.iter().map(|one| one.object.clone()).collect();
            wait_for(context, &mut plan.live, &waited, Goal::Healthy, deadline).await?;
        }
    }
    // Leftovers go last: until its new bindings exist, the running operator needs the old ones.
    for id in &plan.removes {
        remove(cluster, id, plan.live.get(id).cloned()).await?;
        progress.report(Update::Object { object: id.to_string(), action: Action::Deleted });
        installed.changes.push(Change { object: id.clone(), action: Action::Deleted });
    }
    if let Some(ready_by) = ready_by {
        progress.report(Update::StageBegan { stage: Stage::Health, objects: 1 });
        let deployment = [plan.deployment.clone()];
        wait_for(context, &mut plan.live, &deployment, Goal::Healthy, ready_by).await?;
    }
    Ok(installed)
}

fn taken_over() -> Vec<String> {
    TAKEN_OVER.iter().map(ToString::to_string).collect()
}

/// Returns the ports that a Service would lose.
fn closed_ports(planned: &PlannedObject) -> Vec<(ObjectId, i64, String)> {
    let (Some(live), Some(result), "Service") = (&planned.live, &planned.result, planned.object.kind.as_str()) else {
        return vec![];
    };
    let number = |port: &Value| fields::number(port, "/port").unwrap_or_default();
    let stays: BTreeSet<i64> = fields::items(result, "/spec/ports").iter().map(number).collect();
    let closed = fields::items(live, "/spec/ports").iter().filter(|port| !stays.contains(&number(port)));
    closed.map(|port| (planned.object.clone(), number(port), fields::text(port, "/name").to_owned())).collect()
}

/// Whether the API server accepts the change of an object: selectors and role references are immutable.
fn can_become(live: &Value, desired: &Value) -> bool {
    match fields::kind(desired) {
        "Deployment" => live.pointer("/spec/selector") == desired.pointer("/spec/selector"),
        "ClusterRoleBinding" | "RoleBinding" => live.get("roleRef") == desired.get("roleRef"),
        _ => true,
    }
}

fn created(desired: Value) -> PlannedObject {
    PlannedObject {
        object: ObjectId::of(&desired),
        step: Step::Create,
        changes: vec![],
        takes_over: false,
        deferred: false,
        seen: None,
        desired,
        live: None,
        result: None,
    }
}

async fn delete_first(
    context: RunContext<'_>,
    live: &mut LiveObjects,
    id: &ObjectId,
    deadline: Instant,
) -> Result<(), OperatorError> {
    remove(context.cluster, id, live.get(id).cloned()).await?;
    context.progress.report(Update::Object { object: id.to_string(), action: Action::Deleted });
    wait_for(context, live, std::slice::from_ref(id), Goal::Gone, deadline).await
}

/// Deletes exactly the object that was read, with its dependents; if it has changed since, reads it again.
pub(super) async fn remove(cluster: &Cluster, id: &ObjectId, live: Option<Value>) -> Result<(), ClusterError> {
    let live = match live {
        Some(live) => live,
        None => match cluster.read(id).await? {
            Some(live) => live,
            None => return Ok(()),
        },
    };
    let delete = |live: Value| async move {
        // An object that is already being deleted is not deleted again.
        if !fields::is_being_deleted(&live) {
            // Only a Deployment has dependents. A binding that waits for dependents would grant its role a moment
            // longer.
            let propagation = match fields::kind(&live) {
                "Deployment" => Propagation::Foreground,
                _ => Propagation::Background,
            };
            cluster.delete_exactly(&live, propagation).await?;
        }
        Ok(())
    };
    cluster.retry_on_conflict(id, live, delete).await.map(drop)
}

pub(super) async fn wait_for(
    context: RunContext<'_>,
    live: &mut LiveObjects,
    objects: &[ObjectId],
    goal: Goal,
    deadline: Instant,
) -> Result<(), OperatorError> {
    match health::wait(context, live, objects, goal, deadline, InterruptPolicy::StopOnly).await? {
        WaitEnd::Unhealthy { objects, .. } => Err(OperatorError::NotSettled { goal, objects }),
        WaitEnd::Reached | WaitEnd::Interrupted(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_names_the_ports_that_it_loses() {
        let service = |ports: Value| json!({"kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": ports}});
        let (metrics, web) = (json!({"name": "http", "port": 8080}), json!({"name": "http-web", "port": 9080}));
        let mut planned = created(service(json!([metrics])));
        assert!(closed_ports(&planned).is_empty());
        planned.live = Some(service(json!([metrics, web])));
        planned.result = Some(service(json!([metrics])));
        let closed = closed_ports(&planned);
        assert_eq!(
            closed.iter().map(|(_, port, name)| (*port, name.as_str())).collect::<Vec<_>>(),
            [(9080, "http-web")]
        );
    }

    #[test]
    fn selectors_and_role_references_cannot_be_changed() {
        let deployment = |label: &str| json!({"kind": "Deployment", "spec": {"selector": {"matchLabels": {"a": label}}, "replicas": 1}});
        assert!(can_become(&deployment("x"), &deployment("x")));
        assert!(!can_become(&deployment("x"), &deployment("y")));
        let binding = |role: &str| json!({"kind": "RoleBinding", "roleRef": {"name": role}});
        assert!(!can_become(&binding("a"), &binding("b")));
    }
}

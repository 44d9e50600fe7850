//! Prerequisites of an instance: its definition and its namespace.

use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::context::RunContext;
use super::health::{self, Goal, WaitEnd};
use super::interrupt::{InterruptPolicy, never};
use super::live_objects::LiveObjects;
use super::outcome::ReconcileError;
use super::progress::{Action, Progress, Stage, Update};
use crate::api::crd;
use crate::api::well_known::RECONCILER_FIELD_MANAGER;
use crate::cluster::{Cluster, WriteOptions};
use crate::k8s::ObjectId;

const ESTABLISHED_WITHIN: Duration = Duration::from_secs(60);

/// Creates the FluxInstance definition and the namespace if they are missing; existing ones are not changed.
///
/// # Errors
/// The API server refuses, or the definition is not accepted.
pub async fn prepare(cluster: &Cluster, namespace: &str, progress: &dyn Progress) -> Result<(), ReconcileError> {
    make_namespace(cluster, namespace, progress).await?;
    make_definition(cluster, crd::flux_instance(), progress).await
}

/// Creates the namespace if it is missing, and returns it in that case.
pub(super) async fn make_namespace(
    cluster: &Cluster,
    namespace: &str,
    progress: &dyn Progress,
) -> Result<Option<Value>, ReconcileError> {
    // The API server sets this label itself. An apply without any field would own nothing, and the next one would find
    // a namespace without an owner.
    let labels = json!({"kubernetes.io/metadata.name": namespace});
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}});
    if cluster.read(&ObjectId::of(&object)).await?.is_some() {
        return Ok(None);
    }
    make(cluster, &object, progress).await.map(Some)
}

/// Creates a definition when it is missing, and waits until it is served.
pub(super) async fn make_definition(
    cluster: &Cluster,
    definition: Value,
    progress: &dyn Progress,
) -> Result<(), ReconcileError> {
    let id = ObjectId::of(&definition);
    let live = match cluster.read(&id).await? {
        Some(live) => live,
        None => make(cluster, &definition, progress).await?,
    };
    let mut live_objects = LiveObjects::default();
    live_objects.set(live);
    let deadline = Instant::now() + ESTABLISHED_WITHIN;
    let interrupts = never();
    let context = RunContext { cluster, extra_managers: &[], concurrency: 1, interrupts: &interrupts, progress };
    match health::wait(context, &mut live_objects, &[id], Goal::Healthy, deadline, InterruptPolicy::StopOnly).await? {
        WaitEnd::Unhealthy { objects, .. } => Err(ReconcileError::NotEstablished { objects }),
        WaitEnd::Reached | WaitEnd::Interrupted(_) => Ok(()),
    }
}

async fn make(cluster: &Cluster, object: &Value, progress: &dyn Progress) -> Result<Value, ReconcileError> {
    progress.report(Update::StageBegan { stage: Stage::ApplyDefinitions, objects: 1 });
    let made = cluster.apply(object, WriteOptions::forced(RECONCILER_FIELD_MANAGER)).await?;
    progress.report(Update::Object { object: ObjectId::of(object).to_string(), action: Action::Created });
    Ok(made)
}

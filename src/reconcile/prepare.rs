//! What has to be there before an instance can be: its definition and its namespace.

use serde_json::json;
use tokio::time::{Duration, Instant};

use super::health::{self, Goal, Waited};
use super::interrupt::never;
use super::outcome::ReconcileError;
use super::progress::{Action, Progress, Stage, Update};
use super::survey::Survey;
use crate::api::crd;
use crate::api::well_known::RECONCILER_FIELD_MANAGER;
use crate::cluster::Cluster;
use crate::k8s::ObjectId;

const ESTABLISHED_WITHIN: Duration = Duration::from_secs(60);

/// Creates the FluxInstance definition and the namespace when they are missing; what is there is not touched.
///
/// # Errors
/// The API server refuses, or the definition is not accepted.
pub async fn prepare(cluster: &Cluster, namespace: &str, progress: &dyn Progress) -> Result<(), ReconcileError> {
    let definition = crd::flux_instance();
    // The label is the API server's own. Without any field the apply would own nothing, and the next one would find the
    // namespace in the hands of nobody.
    let labels = json!({"kubernetes.io/metadata.name": namespace});
    let place = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}});
    let (definition_id, place_id) = (ObjectId::of(&definition), ObjectId::of(&place));
    let (defined, placed) = futures::try_join!(cluster.read(&definition_id), cluster.read(&place_id))?;
    let missing = [(&definition, &definition_id, defined.is_none()), (&place, &place_id, placed.is_none())];
    let missing: Vec<_> = missing.into_iter().filter(|(_, _, missing)| *missing).collect();
    let mut survey = Survey::default();
    if !missing.is_empty() {
        progress.report(Update::StageBegan { stage: Stage::ApplyDefinitions, objects: missing.len() });
    }
    for (object, id, _) in missing {
        survey.set(cluster.apply_forced(object, RECONCILER_FIELD_MANAGER, false).await?);
        progress.report(Update::Object { object: id.to_string(), action: Action::Created });
    }
    if let Some(defined) = defined {
        survey.set(defined);
    }
    let deadline = Instant::now() + ESTABLISHED_WITHIN;
    match health::wait(cluster, &mut survey, &[definition_id], Goal::Healthy, deadline, &never(), progress).await? {
        Waited::Unhealthy { objects, .. } => Err(ReconcileError::NotEstablished { objects }),
        Waited::Reached | Waited::Interrupted(_) => Ok(()),
    }
}

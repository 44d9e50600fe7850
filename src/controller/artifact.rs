//! Checks whether the instance's artifact has a new digest, and then requests a run.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use tokio::time::Instant;

use super::schedule::RunEnd;
use super::telemetry::ControllerKind;
use super::{Channels, SharedState};
use crate::api::FluxInstance;
use crate::api::well_known::{RECONCILER_FIELD_MANAGER, REQUESTED_AT_ANNOTATION, condition, reason};
use crate::cluster::Cluster;
use crate::cluster::events::Event;
use crate::format::backoff::Backoff;
use crate::reconcile::announce::Announcer;
use crate::reconcile::artifact_digest;

pub(super) async fn run(cluster: Cluster, shared: Arc<SharedState>, channels: Channels) {
    let mut looks = channels.instance.subscribe();
    let delays = shared.options.retry;
    let fresh = || Backoff::new(delays.shortest, delays.longest);
    let mut retries = fresh();
    let mut retry: Option<Duration> = None;
    let mut last = Instant::now();
    // Request only one run per digest: it may still be in progress, and if it failed, another run would fail again.
    let mut asked = None;
    loop {
        let instance = looks.borrow_and_update().instance.clone();
        let due = instance.as_ref().filter(|instance| is_watched(instance)).and_then(|i| i.artifact_interval());
        let Some((interval, instance)) = due.zip(instance) else {
            if looks.changed().await.is_err() {
                return;
            }
            continue;
        };
        tokio::select! {
            () = tokio::time::sleep_until(last + retry.unwrap_or(interval)) => {}
            changed = looks.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
        }
        last = Instant::now();
        let id = shared.options.instance();
        shared.telemetry.began(ControllerKind::Artifact, &id);
        let succeeded = ask_registry(&cluster, &shared, &instance, &mut asked).await;
        let ended = if succeeded { RunEnd::Done(Some(interval)) } else { RunEnd::Failed };
        shared.telemetry.ended(ControllerKind::Artifact, &id, ended, last.elapsed());
        if succeeded {
            (retries, retry) = (fresh(), None);
        } else {
            retry = Some(retries.next_pause());
        }
    }
}

/// Whether new digests of the instance's artifact trigger runs.
fn is_watched(instance: &FluxInstance) -> bool {
    let last = instance.status.as_ref().and_then(|status| status.last_artifact_revision.as_deref()).unwrap_or_default();
    let is_ready = instance
        .status
        .iter()
        .flat_map(|status| &status.conditions)
        .any(|one| one.type_ == condition::READY && one.status == "True");
    instance.artifact().is_some() && !last.is_empty() && is_ready && instance.metadata.deletion_timestamp.is_none()
}

/// Returns whether the registry answered and a run could be requested.
async fn ask_registry(
    cluster: &Cluster,
    shared: &SharedState,
    instance: &FluxInstance,
    asked: &mut Option<String>,
) -> bool {
    let id = shared.options.instance();
    let known = instance.status.as_ref().and_then(|status| status.last_artifact_revision.as_deref());
    let digest = match artifact_digest(&shared.options.fetcher, cluster, instance).await {
        Ok(digest) => digest,
        Err(error) => {
            let message = format!("fetch failed: {}", error.sentence());
            tracing::error!(controller = "fluxinstance_artifact", "{message}");
            let mut announcer = Announcer::about(cluster, instance, None);
            announcer.event(Event { warning: true, reason: reason::ARTIFACT_FAILED, message, revision: None });
            announcer.finish().await;
            return false;
        }
    };
    let is_news = |digest: &String| Some(digest.as_str()) != known && asked.as_ref() != Some(digest);
    let Some(digest) = digest.filter(is_news) else { return true };
    tracing::info!(
        controller = "fluxinstance_artifact",
        old = known,
        new = digest,
        "artifact revision changed, requesting a reconciliation"
    );
    // As an annotation, the request survives a restart of the operator.
    let patch = json!({"metadata": {"annotations": {REQUESTED_AT_ANNOTATION: Timestamp::now().to_string()}}});
    match cluster.merge_patch(&id, None, &patch, RECONCILER_FIELD_MANAGER).await {
        Ok(_) => {
            *asked = Some(digest);
            true
        }
        Err(error) => {
            tracing::error!("cannot request a reconciliation: {}", error.sentence());
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_an_artifact_that_is_in_use_and_works_is_checked() {
        let instance = |change: &dyn Fn(&mut Value)| {
            let mut object = json!({
                "apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
                "metadata": {"name": "flux", "namespace": "flux-system", "annotations": {}},
                "spec": {"distribution": {"version": "2.x", "registry": "ghcr.io/fluxcd", "artifact": "oci://a.example/b"}},
                "status": {"lastArtifactRevision": "sha256:0", "conditions": [{"type": "Ready", "status": "True",
                    "reason": "ReconciliationSucceeded", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
            });
            change(&mut object);
            FluxInstance::from_object(object).unwrap()
        };
        let usual = instance(&|_| ());
        assert!(is_watched(&usual));
        assert_eq!(usual.artifact_interval(), Some(Duration::from_secs(600)));
        let others: [&dyn Fn(&mut Value); 4] = [
            &|object| object["spec"]["distribution"]["artifact"] = "".into(),
            &|object| object["status"]["lastArtifactRevision"] = "".into(),
            &|object| object["status"]["conditions"][0]["status"] = "False".into(),
            &|object| object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into(),
        ];
        for (number, change) in others.into_iter().enumerate() {
            assert!(!is_watched(&instance(change)), "change {number}");
        }
        let annotated = |key: &'static str, value: &'static str| {
            instance(&|object| object["metadata"]["annotations"][key] = value.into()).artifact_interval()
        };
        assert_eq!(annotated("fluxcd.controlplane.io/reconcileArtifactEvery", "2m"), Some(Duration::from_secs(120)));
        assert_eq!(annotated("fluxcd.controlplane.io/reconcileArtifactEvery", "soon"), Some(Duration::from_secs(600)));
        assert_eq!(annotated("fluxcd.controlplane.io/reconcile", "Disabled"), None, "suspended");
    }
}

//! A cluster with an installation, some Flux objects, and simulated controllers.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::json;
use tokio::task::AbortHandle;

use super::cluster_objects::{GIT, INSTANCE, KUSTOMIZATION, Kind};
use crate::reconcile::world::*;
use crate::support::{TestCluster, objects};

pub const REVISION: &str = "main@sha1:0123456789012345678901234567890123456789";

/// A cluster with Flux and some of its objects, and simulated controllers.
pub struct Stage {
    pub world: World,
    /// The instance.
    pub manifest: String,
    answers: Option<AbortHandle>,
}

impl Stage {
    /// Stops answering requests.
    pub fn fall_silent(&self) {
        if let Some(answers) = &self.answers {
            answers.abort();
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.fall_silent();
    }
}

/// Flux with two controllers, the Kustomizations `app` and `extra`, and the GitRepository `app`, with simulated
/// controllers.
pub async fn stage(cluster: &TestCluster) -> Arc<Stage> {
    let mut stage = silent_stage(cluster).await;
    stage.answers = Some(tokio::spawn(answer_requests(stage.world.plane.client().clone())).abort_handle());
    Arc::new(stage)
}

/// Like [`stage`], but without answers to requests.
pub async fn silent_stage(cluster: &TestCluster) -> Stage {
    let world = World::new(cluster).await;
    let mut wanted = spec("2.9.x");
    wanted["components"] = json!(["source-controller", "kustomize-controller"]);
    let manifest = world.plane.folder().join("flux.json");
    let instance = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": NAMESPACE}, "spec": wanted});
    std::fs::write(&manifest, instance.to_string()).unwrap();
    // The same with more resources: another revision.
    let mut other = instance.clone();
    other["spec"]["cluster"] = json!({"size": "medium"});
    std::fs::write(world.plane.folder().join("other.json"), other.to_string()).unwrap();
    world.instance(wanted).await;
    world.ready().await;
    let client = world.plane.client();
    let app = |name: &str| {
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": name},
            "spec": {"interval": "1h", "path": "./", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "app"}}})
    };
    let source = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "app"},
            "spec": {"interval": "1h", "url": "https://example.com/app.git"}});
    objects::apply(client, NAMESPACE, &[source, app("app"), app("extra")]).await.unwrap();
    Stage { manifest: manifest.to_str().unwrap().to_owned(), world, answers: None }
}

/// Simulates the controllers: every request succeeds.
async fn answer_requests(client: kube::Client) {
    loop {
        for kind in [GIT, KUSTOMIZATION, INSTANCE] {
            let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), NAMESPACE, &kind.resource());
            for object in api.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default() {
                answer(&api, kind, &object).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn answer(api: &Api<DynamicObject>, kind: Kind, object: &DynamicObject) {
    let generation = object.metadata.generation.unwrap_or(1);
    let annotations = object.metadata.annotations.clone().unwrap_or_default();
    let requested = annotations.get("reconcile.fluxcd.io/requestedAt");
    let name = object.metadata.name.as_deref().unwrap_or_default();
    if object.metadata.deletion_timestamp.is_some() && kind.kind == KUSTOMIZATION.kind {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let without = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        let _ = api.patch(name, &PatchParams::default(), &without).await;
        return;
    }
    let status = &object.data["status"];
    let is_done = status["observedGeneration"] == generation
        && requested.is_none_or(|token| status["lastHandledReconcileAt"] == token.as_str());
    // An instance has its status of the run that installed it.
    if is_done || (kind.kind == "FluxInstance" && requested.is_none()) {
        return;
    }
    let ready = json!({"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "message": "done",
        "observedGeneration": generation, "lastTransitionTime": "2026-11-21T00:00:00Z"});
    let mut status = json!({"conditions": [ready], "observedGeneration": generation});
    // Everything has the same revision, everywhere.
    match kind.kind {
        "GitRepository" => {
            status["artifact"] = json!({"revision": REVISION, "digest": "sha256:1", "path": "x", "url": "http://x/x",
                "lastUpdateTime": "2026-11-21T00:00:00Z"});
        }
        "Kustomization" => {
            (status["lastAppliedRevision"], status["lastAttemptedRevision"]) = (REVISION.into(), REVISION.into());
        }
        _ => {}
    }
    if let Some(token) = requested {
        // Real controllers take a moment too, in which the command starts to watch.
        tokio::time::sleep(Duration::from_millis(800)).await;
        status["lastHandledReconcileAt"] = token.as_str().into();
    }
    let _ = api.patch_status(name, &PatchParams::default(), &Patch::Merge(json!({"status": status}))).await;
}

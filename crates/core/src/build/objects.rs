//! Objects made from the spec: the Namespace, volume claims and the sync objects.

use serde_json::{Map, Value, json};

use super::settings::Settings;
use crate::api::{Component, SyncSpec, well_known};
use crate::format::go_duration;
use crate::format::version_range::is_at_least;

/// The Namespace of Flux. Pruning keeps it, because it may contain other objects.
pub(super) fn namespace(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "labels": {
                "pod-security.kubernetes.io/warn": "restricted",
                "pod-security.kubernetes.io/warn-version": "latest",
            },
            "annotations": { well_known::PRUNE: well_known::DISABLED },
        },
    })
}

/// The volume claim for source-controller's artifacts.
pub(super) fn volume_claim(class: &str, size: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": { "name": Component::SourceController.as_str() },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class,
            "resources": { "requests": { "storage": size } },
        },
    })
}

/// The Flux source and the Kustomization that sync the cluster from it.
pub(super) fn sync(sync: &SyncSpec, settings: &Settings) -> [Value; 2] {
    // OCIRepository and Bucket became v1 with Flux 2.6.0. GitRepository is v1 in every known version.
    let is_v1 = sync.kind == "GitRepository" || is_at_least(&settings.version, 2, 6, 0);
    let source_version = if is_v1 { "v1" } else { "v1beta2" };
    let metadata = json!({ "name": settings.sync_name, "namespace": settings.namespace });
    // Written as the API server stores it, so that the next apply finds no difference.
    let interval = go_duration::parse(&sync.interval).map_or_else(|_| sync.interval.clone(), go_duration::format);
    let mut source = Map::new();
    source.insert("interval".into(), json!(interval));
    match sync.kind.as_str() {
        "GitRepository" => {
            source.insert("ref".into(), json!({ "name": sync.reference }));
            source.insert("url".into(), json!(sync.url));
        }
        "OCIRepository" => {
            source.insert("ref".into(), json!({ "tag": sync.reference }));
            source.insert("url".into(), json!(sync.url));
        }
        _ => {
            source.insert("bucketName".into(), json!(sync.reference));
            source.insert("endpoint".into(), json!(sync.url));
        }
    }
    if let Some(provider) = &sync.provider {
        source.insert("provider".into(), json!(provider));
    }
    if let Some(secret) = &sync.pull_secret {
        source.insert("secretRef".into(), json!({ "name": secret }));
    }
    let mut kustomization = json!({
        "interval": "10m0s",
        "path": sync.path,
        "prune": true,
        "sourceRef": { "kind": sync.kind, "name": settings.sync_name },
    });
    if settings.multitenant
        && let Some(spec) = kustomization.as_object_mut()
    {
        // With the lockdown, Kustomizations without a service account use the tenants' default one, but the fleet's own
        // objects need more rights.
        spec.insert("serviceAccountName".into(), json!(Component::KustomizeController.as_str()));
    }
    [
        json!({
            "apiVersion": format!("source.toolkit.fluxcd.io/{source_version}"),
            "kind": sync.kind,
            "metadata": metadata,
            "spec": source,
        }),
        json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": metadata,
            "spec": kustomization,
        }),
    ]
}

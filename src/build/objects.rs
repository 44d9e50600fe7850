//! Objects that are made from the spec: the Namespace, volume claims and the sync objects.

use serde_json::{Map, Value, json};

use super::settings::{Settings, SourceKind, Sync};
use super::version::at_least;
use crate::api::well_known;
use crate::distribution::Component;

/// The namespace Flux lives in. It survives pruning, because other things may live there too.
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
pub(super) fn sync(sync: &Sync, settings: &Settings) -> [Value; 2] {
    // OCIRepository and Bucket became v1 with Flux 2.6.0; GitRepository was v1 before the first version we know.
    let source_version = match sync.kind {
        SourceKind::GitRepository => "v1",
        _ if at_least(&settings.version, 2, 6, 0) => "v1",
        SourceKind::OciRepository | SourceKind::Bucket => "v1beta2",
    };
    let metadata = json!({ "name": sync.name, "namespace": settings.namespace });
    let mut source = Map::new();
    source.insert("interval".into(), json!(sync.interval));
    match sync.kind {
        SourceKind::GitRepository => {
            source.insert("ref".into(), json!({ "name": sync.reference }));
            source.insert("url".into(), json!(sync.url));
        }
        SourceKind::OciRepository => {
            source.insert("ref".into(), json!({ "tag": sync.reference }));
            source.insert("url".into(), json!(sync.url));
        }
        SourceKind::Bucket => {
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
        "sourceRef": { "kind": sync.kind.as_str(), "name": sync.name },
    });
    if settings.multitenant
        && let Some(spec) = kustomization.as_object_mut()
    {
        // The lockdown makes `default` the account of everything; the fleet's own objects need one that may do more.
        spec.insert("serviceAccountName".into(), json!(Component::KustomizeController.as_str()));
    }
    [
        json!({
            "apiVersion": format!("source.toolkit.fluxcd.io/{source_version}"),
            "kind": sync.kind.as_str(),
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

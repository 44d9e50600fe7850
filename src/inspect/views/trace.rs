//! `trace KIND/NAME`: follows any object to its manager, and from there to the source of its content.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::api::kinds;
use crate::api::well_known::{self, condition::READY};
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::resource_set;
use crate::k8s::ObjectId;
use crate::k8s::fields;

/// An object between the traced object and its origin.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceStep {
    /// `object`, `managed by`, `inputs from` or `source`.
    pub role: String,
    pub object: ObjectId,
    /// Whether it exists; if not, the other fields are empty.
    pub found: bool,
    /// `True`, `False`, `Unknown` or `Suspended`; missing for objects without readiness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_revision: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub last_reconciled: Option<Timestamp>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// The chain from an object to its origin, nearest first.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    pub object: ObjectId,
    /// Whether Flux manages the object.
    pub managed: bool,
    pub steps: Vec<TraceStep>,
}

/// A longer chain is a cycle of owners.
const MAX_STEPS: usize = 16;

/// Follows owner labels, owner references and source references up from an object.
pub fn trace(snapshot: &Snapshot, object: &Value) -> Trace {
    let mut steps = vec![step("object", object)];
    let mut current = object;
    let mut managed = kinds::of(fields::group(object), fields::kind(object)).is_some();
    while steps.len() < MAX_STEPS
        && let Some(reference) = manager(current)
        && steps.iter().all(|s| s.object != reference)
    {
        managed |= kinds::of(&reference.group, &reference.kind).is_some();
        match snapshot.get_ref(&reference) {
            Some(owner) => {
                steps.push(step("managed by", owner));
                steps.extend(input_providers(snapshot, owner));
                // A reconciler's own source explains its content better than the object that applied the reconciler.
                if let Some(sources) = sources(snapshot, owner) {
                    steps.extend(sources);
                    break;
                }
                current = owner;
            }
            None => {
                steps.push(missing("managed by", reference));
                break;
            }
        }
    }
    if steps.len() == 1 {
        steps.extend(input_providers(snapshot, object));
    }
    if steps.len() == 1
        && let Some(sources) = sources(snapshot, object)
    {
        steps.extend(sources);
    }
    Trace { object: ObjectId::of(object), managed, steps }
}

/// Returns the manager of an object: by Flux's owner labels in a fixed order, else by its controlling owner reference.
fn manager(object: &Value) -> Option<ObjectId> {
    let by_label = |group: &str, kind: &str| {
        let name = fields::label(object, &format!("{group}/name"))?;
        let namespace = fields::label(object, &format!("{group}/namespace"))?;
        Some(ObjectId::new(group, kind, Some(namespace), name))
    };
    let resource_set = || {
        let name = fields::label(object, well_known::SET_OWNER_NAME_LABEL)?;
        let namespace = fields::label(object, well_known::SET_OWNER_NAMESPACE_LABEL)?;
        Some(ObjectId::new(well_known::GROUP, "ResourceSet", Some(namespace), name))
    };
    let owner = || {
        let owners = fields::items(object, "/metadata/ownerReferences");
        let owner = owners
            .iter()
            .find(|o| o.get("controller").and_then(Value::as_bool).unwrap_or(false))
            .or_else(|| owners.first())?;
        // An owner is in the namespace of its dependent; if it is cluster-scoped, reading it ignores the namespace.
        let reference = ObjectId::new(
            fields::group(owner),
            fields::kind(owner),
            fields::namespace(object),
            fields::text(owner, "/name"),
        );
        Some(reference.at(fields::version(owner)))
    };
    by_label(kinds::KUSTOMIZE_GROUP, "Kustomization")
        .or_else(|| by_label(kinds::HELM_GROUP, "HelmRelease"))
        .or_else(resource_set)
        .or_else(|| by_label(well_known::GROUP, "FluxInstance"))
        .or_else(owner)
}

/// Returns the providers of a ResourceSet. Its templates come from the object that applied it, so the trace continues
/// there.
fn input_providers(snapshot: &Snapshot, set: &Value) -> Vec<TraceStep> {
    if !resource_set::is_resource_set(set) {
        return vec![];
    }
    let providers = resource_set::providers(snapshot, set).into_iter();
    providers
        .map(|(id, live)| live.map_or_else(|| missing("inputs from", id), |provider| step("inputs from", provider)))
        .collect()
}

/// Returns the sources of a reconciler's content, nearest first; `None` when it has no source.
pub(crate) fn sources(snapshot: &Snapshot, reconciler: &Value) -> Option<Vec<TraceStep>> {
    let mut steps: Vec<TraceStep> = Vec::new();
    let mut reference = source_of(reconciler)?;
    while steps.len() < MAX_STEPS && steps.iter().all(|s| s.object != reference) {
        match snapshot.get_ref(&reference) {
            Some(source) => {
                steps.push(step("source", source));
                match source_of(source) {
                    Some(next) => reference = next,
                    None => break,
                }
            }
            None => {
                steps.push(missing("source", reference));
                break;
            }
        }
    }
    Some(steps)
}

/// Returns the source that an object references.
pub fn source_of(object: &Value) -> Option<ObjectId> {
    // A HelmRelease has a `chartRef` or a template of a HelmChart instead of a `sourceRef`.
    let reference = ["/spec/sourceRef", "/spec/chartRef", "/spec/chart/spec/sourceRef"]
        .into_iter()
        .find_map(|pointer| fields::at(object, pointer).filter(|r| fields::some_text(r, "/name").is_some()))?;
    let namespace = fields::some_text(reference, "/namespace").or_else(|| fields::namespace(object));
    let kind = fields::text(reference, "/kind");
    // An ExternalArtifact names the generator that made it, which is of another group than sources.
    let group = if kind == "ArtifactGenerator" { kinds::SOURCE_EXTENSIONS_GROUP } else { kinds::SOURCE_GROUP };
    Some(ObjectId::new(group, kind, namespace, fields::text(reference, "/name")))
}

fn missing(role: &str, reference: ObjectId) -> TraceStep {
    TraceStep {
        role: role.into(),
        object: reference,
        found: false,
        ready: None,
        revision: None,
        path: None,
        url: None,
        origin_url: None,
        origin_revision: None,
        last_reconciled: None,
        message: String::new(),
    }
}

fn step(role: &str, object: &Value) -> TraceStep {
    let ready = fields::condition(object, READY);
    let is_flux = kinds::of(fields::group(object), fields::kind(object)).is_some();
    let revision = [
        "/status/lastAppliedRevision",
        "/status/artifact/revision",
        "/status/lastAttemptedRevision",
        "/status/lastExportedRevision",
    ]
    .into_iter()
    .find_map(|pointer| fields::some_text(object, pointer));
    let url = fields::some_text(object, "/spec/url").map(str::to_owned).or_else(|| {
        let endpoint = fields::some_text(object, "/spec/endpoint")?;
        Some(format!("{endpoint}/{}", fields::text(object, "/spec/bucketName")))
    });
    let url = url.or_else(|| match fields::kind(object) {
        "ExternalArtifact" => fields::some_text(object, "/status/artifact/url").map(Into::into),
        _ => None,
    });
    let origin = |key: &str| fields::at(object, "/status/artifact/metadata")?.get(key)?.as_str().map(Into::into);
    TraceStep {
        role: role.into(),
        object: ObjectId::of(object),
        found: true,
        ready: is_flux.then(|| kinds::ready_word(object).to_owned()),
        revision: revision.map(Into::into),
        path: fields::some_text(object, "/spec/path").map(Into::into),
        url,
        origin_url: origin("org.opencontainers.image.source"),
        origin_revision: origin("org.opencontainers.image.revision"),
        last_reconciled: ready.and_then(|c| c.changed()),
        message: ready.map_or("", |c| c.message()).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ready(message: &str) -> Value {
        json!([{"type": "Ready", "status": "True", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}])
    }

    fn dump() -> Snapshot {
        Snapshot::of_dump([
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1", "namespace": "apps",
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": true}]}}),
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "apps",
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": true}]}}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "apps", "labels": {
                "kustomize.toolkit.fluxcd.io/name": "web", "kustomize.toolkit.fluxcd.io/namespace": "fs"}}}),
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "web", "namespace": "fs"},
                "spec": {"path": "./web", "sourceRef": {"kind": "OCIRepository", "name": "src"}},
                "status": {"lastAppliedRevision": "latest@sha256:abc", "conditions": ready("Applied")}}),
            json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository", "metadata": {"name": "src", "namespace": "fs"},
                "spec": {"url": "oci://r/x"}, "status": {"conditions": ready("stored"), "artifact": {"revision": "latest@sha256:abc",
                    "metadata": {"org.opencontainers.image.source": "https://g/x", "org.opencontainers.image.revision": "main@sha1:1"}}}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "foreign", "namespace": "apps"}}),
        ])
    }

    #[test]
    fn a_pod_is_traced_through_its_owners_to_the_source() {
        let snapshot = dump();
        let pod = snapshot.get(&kinds::POD, Some("apps"), "web-1").unwrap();
        let trace = trace(&snapshot, pod);
        assert!(trace.managed);
        let way: Vec<_> = trace.steps.iter().map(|s| s.object.to_string()).collect();
        assert_eq!(
            way,
            [
                "Pod/apps/web-1",
                "ReplicaSet/apps/web",
                "Deployment/apps/web",
                "Kustomization/fs/web",
                "OCIRepository/fs/src"
            ]
        );
        let source = trace.steps.last().unwrap();
        assert_eq!(source.url.as_deref(), Some("oci://r/x"));
        assert_eq!(source.origin_url.as_deref(), Some("https://g/x"));
    }

    #[test]
    fn a_foreign_object_is_not_managed_and_a_missing_owner_is_reported() {
        let snapshot = dump();
        assert!(!trace(&snapshot, snapshot.get(&kinds::CONFIG_MAP, Some("apps"), "foreign").unwrap()).managed);
        let orphan = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "apps", "labels": {
            "helm.toolkit.fluxcd.io/name": "gone", "helm.toolkit.fluxcd.io/namespace": "fs"}}});
        let trace = trace(&snapshot, &orphan);
        assert!(!trace.steps[1].found);
        assert_eq!(trace.steps[1].object.to_string(), "HelmRelease/fs/gone");
    }
}

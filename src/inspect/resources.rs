//! `get resources`: a row per Flux object of any kind, from the few fields that a row needs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::health::HealthVerdict;
use super::read::snapshot::Snapshot;
use super::why::{RowJudge, RowVerdict};
use crate::api::kinds::FluxKind;
use crate::api::well_known;
use crate::k8s::fields;

/// The part of a Flux object that rows, counts and reports read; nothing else of a page is kept in memory.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FluxObject {
    pub metadata: Metadata,
    pub spec: Spec,
    pub status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    pub name: String,
    pub namespace: String,
    pub uid: String,
    #[serde(deserialize_with = "lenient")]
    pub generation: Option<i64>,
    pub creation_timestamp: Option<Timestamp>,
    pub deletion_timestamp: Option<Timestamp>,
    pub labels: Option<BTreeMap<String, String>>,
    pub annotations: Option<Switches>,
}

/// The annotations that control how an object is reconciled; the kind decides which suspension counts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Switches {
    #[serde(rename = "fluxcd.controlplane.io/reconcile")]
    pub operator: Option<String>,
    #[serde(rename = "fluxcd.controlplane.io/reconcileEvery")]
    pub interval: Option<String>,
    #[serde(rename = "source.extensions.fluxcd.io/reconcile")]
    pub generator: Option<String>,
    #[serde(rename = "reconcile.fluxcd.io/requestedAt")]
    pub requested_at: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    #[serde(deserialize_with = "lenient")]
    pub suspend: bool,
    #[serde(deserialize_with = "lenient")]
    pub url: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub endpoint: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub bucket_name: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub image: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub source_ref: Option<SourceReference>,
    #[serde(deserialize_with = "lenient")]
    pub chart_ref: Option<SourceReference>,
    #[serde(deserialize_with = "lenient")]
    pub chart: Option<Chart>,
    #[serde(deserialize_with = "lenient")]
    pub version: Option<String>,
    #[serde(rename = "ref", deserialize_with = "lenient")]
    pub checkout: Option<Checkout>,
    #[serde(deserialize_with = "lenient")]
    pub path: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub interval: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub timeout: Option<String>,
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub kind: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub channel: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub provider_ref: Option<SourceReference>,
    #[serde(deserialize_with = "lenient")]
    pub event_severity: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub image_repository_ref: Option<SourceReference>,
    #[serde(deserialize_with = "lenient")]
    pub sources: Option<Vec<SourceReference>>,
    #[serde(deserialize_with = "lenient")]
    pub inputs: Option<Vec<IgnoredAny>>,
    #[serde(deserialize_with = "lenient")]
    pub inputs_from: Option<Vec<SourceReference>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SourceReference {
    pub kind: String,
    pub name: String,
    pub namespace: Option<String>,
}

/// `spec.chart`: the name of a HelmChart's chart, or the template of a HelmRelease's HelmChart.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Chart {
    Name(String),
    Template { spec: ChartTemplate },
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChartTemplate {
    #[serde(deserialize_with = "lenient")]
    pub chart: String,
    #[serde(deserialize_with = "lenient")]
    pub source_ref: Option<SourceReference>,
}

/// `spec.ref` of a source. The first field that is set counts: digest, commit, name, semver, tag, branch.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Checkout {
    #[serde(deserialize_with = "lenient")]
    pub branch: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub tag: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub semver: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub name: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub commit: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub digest: Option<String>,
}

impl Checkout {
    fn text(&self) -> Option<&str> {
        let all = [&self.digest, &self.commit, &self.name, &self.semver, &self.tag, &self.branch];
        all.into_iter().flatten().map(String::as_str).find(|text| !text.is_empty())
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    #[serde(deserialize_with = "lenient")]
    pub observed_generation: Option<i64>,
    #[serde(deserialize_with = "lenient")]
    pub conditions: Option<Vec<StatusCondition>>,
    #[serde(deserialize_with = "lenient")]
    pub artifact: Option<Artifact>,
    #[serde(deserialize_with = "lenient")]
    pub inventory: Option<InventorySize>,
    #[serde(deserialize_with = "lenient")]
    pub last_applied_revision: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub last_attempted_revision: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub last_handled_reconcile_at: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub history: Option<Vec<Release>>,
    #[serde(deserialize_with = "lenient")]
    pub latest_ref: Option<Image>,
    #[serde(deserialize_with = "lenient")]
    pub latest_image: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub last_push_commit: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub canonical_image_name: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub webhook_path: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub last_scan_result: Option<Scan>,
    #[serde(deserialize_with = "lenient")]
    pub last_automation_run_time: Option<Timestamp>,
    #[serde(deserialize_with = "lenient")]
    pub exported_inputs: Option<Vec<IgnoredAny>>,
    #[serde(deserialize_with = "lenient")]
    pub last_exported_revision: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub next_schedule: Option<ScheduledRun>,
}

/// `status.nextSchedule` of a provider.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ScheduledRun {
    #[serde(deserialize_with = "lenient")]
    pub when: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Scan {
    #[serde(deserialize_with = "lenient")]
    pub tag_count: Option<i64>,
    #[serde(deserialize_with = "lenient")]
    pub scan_time: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusCondition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub reason: String,
    pub message: String,
    #[serde(deserialize_with = "lenient")]
    pub observed_generation: Option<i64>,
    #[serde(deserialize_with = "lenient")]
    pub last_transition_time: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Artifact {
    pub revision: String,
    #[serde(deserialize_with = "lenient")]
    pub size: Option<u64>,
}

/// Only the number of entries matters here.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct InventorySize {
    pub entries: Vec<IgnoredAny>,
}

/// An entry of the history of a HelmRelease or a ResourceSet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Release {
    #[serde(deserialize_with = "lenient")]
    pub chart_name: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub chart_version: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub app_version: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub metadata: Option<BTreeMap<String, String>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Image {
    pub name: String,
    pub tag: String,
}

/// Treats a field with an unexpected type as missing: an odd object must not fail a list.
fn lenient<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Lenient<T> {
        Expected(T),
        Other(IgnoredAny),
    }
    Ok(match Lenient::deserialize(deserializer)? {
        Lenient::Expected(value) => value,
        Lenient::Other(_) => T::default(),
    })
}

impl FluxObject {
    /// Reads the fields of a whole object; unexpected types count as missing.
    pub fn of(object: &Value) -> Self {
        FluxObject::deserialize(object).unwrap_or_else(|_| FluxObject {
            metadata: Metadata {
                name: fields::name(object).into(),
                namespace: fields::namespace(object).unwrap_or_default().into(),
                ..Metadata::default()
            },
            ..FluxObject::default()
        })
    }

    pub fn condition(&self, kind: &str) -> Option<&StatusCondition> {
        self.status.conditions.iter().flatten().find(|c| c.kind == kind)
    }

    /// Whether what the object reports is about its present spec, as [`fields::is_observed`] says of a whole object.
    fn is_observed(&self) -> bool {
        let of_ready = self.condition(well_known::condition::READY).and_then(|ready| ready.observed_generation);
        match (self.metadata.generation, of_ready.or(self.status.observed_generation)) {
            (Some(generation), Some(observed)) => generation == observed,
            _ => true,
        }
    }

    /// Whether the object is suspended, as the controller of its kind sees it.
    pub fn is_suspended(&self, kind: &FluxKind) -> bool {
        let annotation = |key: &str| {
            let switches = self.metadata.annotations.as_ref()?;
            match key {
                well_known::RECONCILE_ANNOTATION => switches.operator.as_deref(),
                _ => switches.generator.as_deref(),
            }
        };
        kind.suspension.is_set_by(annotation, Some(self.spec.suspend))
    }

    /// Judges the object of a cluster by the part of it that was read; `None` where its own report says all.
    pub fn judge(&self, kind: &'static FluxKind, judge: &mut RowJudge<'_>) -> Option<RowVerdict> {
        let is_ready = match self.condition(well_known::condition::READY) {
            Some(ready) => ready.status == "True" && self.is_observed(),
            None => !self.becomes_ready(kind),
        };
        // A ready Kustomization may be behind its source.
        let is_plain = is_ready
            && kind.kind != "Kustomization"
            && self.metadata.deletion_timestamp.is_none()
            && self.condition(well_known::condition::STALLED).is_none_or(|stalled| stalled.status != "True");
        // Most lists end here, which costs nothing for each of thousands of rows.
        if self.is_suspended(kind) || (is_plain && judge.is_served(kind)) {
            return None;
        }
        judge.object(kind, &as_value(kind, self))
    }

    /// Whether a controller reports a status. A Provider, an Alert and a HelmRepository of type `oci` have no status at
    /// all, because they only configure others
    /// (<https://fluxcd.io/flux/components/source/helmrepositories/#helm-oci-repository>).
    pub fn becomes_ready(&self, kind: &FluxKind) -> bool {
        kind.has_status && !(kind.kind == "HelmRepository" && self.spec.kind.as_deref() == Some("oci"))
    }

    /// Returns the used part of its source: a branch, a tag, a range, a digest.
    pub fn checkout(&self) -> Option<&str> {
        self.spec.checkout.as_ref().and_then(Checkout::text)
    }

    /// Returns the name of its source.
    pub fn source_name(&self) -> Option<&str> {
        self.source_reference().map(|reference| reference.name.as_str())
    }

    /// Returns the current revision: of its artifact, its applied content, its release or its image.
    pub fn revision(&self) -> Option<String> {
        let status = &self.status;
        let artifact = status.artifact.as_ref().map(|a| a.revision.clone());
        let release = || status.history.iter().flatten().next().and_then(|r| r.chart_version.clone());
        let image = || status.latest_ref.as_ref().map(|i| format!("{}:{}", i.name, i.tag));
        artifact
            .filter(|r| !r.is_empty())
            .or_else(|| status.last_applied_revision.clone())
            .or_else(|| status.last_exported_revision.clone())
            .or_else(release)
            .or_else(image)
            .or_else(|| status.latest_image.clone())
            .or_else(|| status.last_push_commit.clone())
            // Last, because an attempted revision may have failed.
            .or_else(|| status.last_attempted_revision.clone())
    }

    /// Returns the newest image of a policy.
    pub fn latest_image(&self) -> Option<String> {
        let image = self.status.latest_ref.as_ref().map(|i| format!("{}:{}", i.name, i.tag));
        image.or_else(|| self.status.latest_image.clone())
    }

    /// Returns the source of its content: an address, a bucket, or another object.
    fn source(&self) -> Option<String> {
        let spec = &self.spec;
        let bucket = || Some(format!("{}/{}", spec.endpoint.as_ref()?, spec.bucket_name.as_ref()?));
        spec.url.clone().or_else(bucket).or_else(|| spec.image.clone()).or_else(|| self.source_object())
    }

    fn source_reference(&self) -> Option<&SourceReference> {
        let spec = &self.spec;
        let template = || match spec.chart.as_ref()? {
            Chart::Template { spec } => spec.source_ref.as_ref(),
            Chart::Name(_) => None,
        };
        spec.source_ref.as_ref().or(spec.chart_ref.as_ref()).or_else(template)
    }

    /// Returns the source object as `KIND/NAME` or `KIND/NAMESPACE/NAME`.
    pub fn source_object(&self) -> Option<String> {
        let reference = self.source_reference()?;
        Some(match &reference.namespace {
            Some(namespace) => format!("{}/{namespace}/{}", reference.kind, reference.name),
            None => format!("{}/{}", reference.kind, reference.name),
        })
    }
}

/// The fields of an object that decide whether its report is up to date, and by which its source is found.
fn as_value(kind: &FluxKind, object: &FluxObject) -> Value {
    let (ready, stalled) = (well_known::condition::READY, well_known::condition::STALLED);
    let condition = |name: &str| {
        let condition = object.condition(name)?;
        let mut value = json!({"type": name, "status": condition.status, "reason": condition.reason,
            "message": condition.message});
        if let Some(observed) = condition.observed_generation {
            value["observedGeneration"] = observed.into();
        }
        Some(value)
    };
    let conditions: Vec<Value> = [ready, stalled].into_iter().filter_map(condition).collect();
    let FluxObject { metadata, spec, status } = object;
    let source = spec
        .source_ref
        .as_ref()
        .map(|source| json!({"kind": source.kind, "name": source.name, "namespace": source.namespace}));
    let requested = metadata.annotations.as_ref().and_then(|all| all.requested_at.as_deref());
    let mut value = json!({"apiVersion": format!("{}/v1", kind.group), "kind": kind.kind,
        "metadata": {"name": metadata.name, "namespace": metadata.namespace, "labels": metadata.labels,
            "generation": metadata.generation, "annotations": {well_known::REQUESTED_AT_ANNOTATION: requested}},
        "spec": {"type": spec.kind, "sourceRef": source, "interval": spec.interval, "timeout": spec.timeout},
        "status": {"observedGeneration": status.observed_generation, "conditions": conditions,
            "lastHandledReconcileAt": status.last_handled_reconcile_at,
            "lastAppliedRevision": status.last_applied_revision}});
    // An object is being deleted when it has the field at all.
    if let Some(requested) = metadata.deletion_timestamp {
        value["metadata"]["deletionTimestamp"] = requested.to_string().into();
    }
    value
}

/// A Flux object as a row of a list.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRow {
    pub kind: &'static str,
    pub namespace: String,
    pub name: String,
    /// `True`, `False`, `Unknown` or `Suspended`.
    pub ready: String,
    /// `True`, `False` or `Unknown`, of an object that is suspended as well.
    #[serde(skip)]
    pub reported: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Time of the last change of readiness.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub last_reconciled: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub created: Option<Timestamp>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(skip)]
    pub labels: BTreeMap<String, String>,
    #[serde(skip)]
    pub group: &'static str,
    #[serde(skip)]
    pub plural: &'static str,
}

impl ResourceRow {
    pub fn new(kind: &'static FluxKind, object: FluxObject) -> Self {
        let ready = object.condition(well_known::condition::READY).cloned();
        let has_status = object.becomes_ready(kind) || object.status.conditions.is_some();
        let (status, message) = match (&ready, object.is_suspended(kind)) {
            _ if object.metadata.deletion_timestamp.is_some() => {
                ("Unknown".to_owned(), fields::BEING_DELETED.to_owned())
            }
            (Some(ready), true) => ("Suspended".to_owned(), ready.message.clone()),
            (None, true) => ("Suspended".to_owned(), String::new()),
            (Some(ready), false) if ready.status == "True" && !object.is_observed() => {
                ("Unknown".to_owned(), fields::CHANGED_SINCE.to_owned())
            }
            (Some(ready), false) => (ready.status.clone(), ready.message.clone()),
            (None, false) if has_status => ("Unknown".to_owned(), HealthVerdict::NotStarted.as_str().to_owned()),
            (None, false) => ("True".to_owned(), String::new()),
        };
        ResourceRow {
            kind: kind.kind,
            reported: match ready.as_ref().map(|ready| ready.status.as_str()) {
                Some("True") => "True",
                Some("False") => "False",
                _ => "Unknown",
            },
            ready: status,
            reason: ready.as_ref().map(|c| c.reason.clone()).unwrap_or_default(),
            revision: object.revision(),
            last_reconciled: ready.as_ref().and_then(|c| c.last_transition_time),
            source: object.source(),
            created: object.metadata.creation_timestamp,
            message: message.trim().to_owned(),
            labels: object.metadata.labels.unwrap_or_default(),
            namespace: object.metadata.namespace,
            name: object.metadata.name,
            group: kind.group,
            plural: kind.plural,
        }
    }

    /// The same row as `why` judges its object, where the report of the object says something else.
    #[must_use]
    pub fn judged(mut self, verdict: Option<RowVerdict>) -> Self {
        if let Some(verdict) = verdict {
            verdict.correct(&mut self.ready, &mut self.reason, &mut self.message);
        }
        self
    }
}

/// Returns the rows of a kind, by namespace and name.
pub fn rows(snapshot: &Snapshot, kind: &'static FluxKind, namespace: Option<&str>) -> Vec<ResourceRow> {
    let objects = snapshot.list(&kind.resource_type(), namespace);
    objects.into_iter().map(|object| ResourceRow::new(kind, FluxObject::of(object))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::kinds;
    use serde_json::json;

    fn row(kind: &str, object: Value) -> ResourceRow {
        ResourceRow::new(kinds::find(kind).unwrap(), FluxObject::of(&object))
    }

    #[test]
    fn a_row_says_ready_revision_and_message() {
        let row = row(
            "gitrepo",
            json!({"metadata": {"name": "a", "namespace": "apps", "labels": {"team": "x"}},
                "spec": {"url": "https://example.com/a"},
                "status": {"artifact": {"revision": "main@sha1:abc", "size": 1},
                    "conditions": [{"type": "Ready", "status": "False", "reason": "GitOperationFailed",
                        "message": "no\n", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}),
        );
        assert_eq!((row.ready.as_str(), row.message.as_str()), ("False", "no"));
        assert_eq!(row.revision.as_deref(), Some("main@sha1:abc"));
        assert_eq!(row.source.as_deref(), Some("https://example.com/a"));
        assert!(row.last_reconciled.is_some());
    }

    #[test]
    fn kinds_without_status_are_ready_and_others_not_initialized() {
        assert_eq!(row("provider", json!({"metadata": {"name": "p"}})).ready, "True");
        assert_eq!(row("helmrepo", json!({"metadata": {"name": "p"}, "spec": {"type": "oci"}})).ready, "True");
        assert_eq!(row("helmrepo", json!({"metadata": {"name": "p"}, "spec": {"type": "default"}})).ready, "Unknown");
        let ks = row("ks", json!({"metadata": {"name": "p"}}));
        assert_eq!((ks.ready.as_str(), ks.message.as_str()), ("Unknown", "not started"));
    }

    #[test]
    fn suspension_is_shown_with_the_last_message() {
        let row = row(
            "ks",
            json!({"metadata": {"name": "p"}, "spec": {"suspend": true},
                "status": {"conditions": [{"type": "Ready", "status": "True", "message": "Applied"}]}}),
        );
        assert_eq!((row.ready.as_str(), row.message.as_str()), ("Suspended", "Applied"));
    }

    #[test]
    fn an_object_of_odd_types_still_makes_a_row() {
        let row = row(
            "ks",
            json!({"metadata": {"name": "p"}, "spec": {"suspend": "yes", "url": 3},
                "status": {"conditions": "none", "history": {"a": 1}, "artifact": []}}),
        );
        assert_eq!((row.name.as_str(), row.ready.as_str()), ("p", "Unknown"));
    }

    fn controller(name: &str, replicas: i64, args: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "fs",
                "labels": {"app.kubernetes.io/part-of": "flux"}},
            "spec": {"replicas": replicas, "template": {"spec": {"containers": [{"args": args}]}}},
            "status": {"readyReplicas": replicas, "replicas": replicas, "updatedReplicas": replicas,
                "availableReplicas": replicas}})
    }

    fn ready_ks(labels: Value) -> Value {
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": "app", "namespace": "apps", "generation": 1, "labels": labels}, "spec": {},
            "status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True", "reason": "X",
                "message": "Applied"}]}})
    }

    /// READY and MESSAGE of a row whose object is not loaded, as of a cluster.
    fn shown(controllers: Vec<Value>, object: &Value) -> (String, String) {
        // Something that is not the listed kind, so that the objects themselves are unknown.
        let snapshot = Snapshot::of_dump(controllers);
        let kind = kinds::find("ks").unwrap();
        let mut judge = RowJudge::new(&snapshot, &[kind], None, "2026-01-01T00:00:00Z".parse().unwrap());
        let object = FluxObject::of(object);
        let verdict = object.judge(kind, &mut judge);
        let row = ResourceRow::new(kind, object).judged(verdict);
        (row.ready, row.message)
    }

    #[test]
    fn a_row_whose_controller_is_gone_fails_and_says_so() {
        let told = |controllers| shown(controllers, &ready_ks(json!({})));
        let is = |ready: &str, message: &str| (ready.to_owned(), message.to_owned());
        assert_eq!(told(vec![controller("kustomize-controller", 1, json!([]))]), is("True", "Applied"));
        assert_eq!(told(vec![]), is("True", "Applied"), "controllers are unknown");
        assert_eq!(
            told(vec![controller("kustomize-controller", 0, json!([]))]),
            is("False", "kustomize-controller is scaled to zero")
        );
        assert_eq!(
            told(vec![controller("source-controller", 1, json!([]))]),
            is("False", "kustomize-controller is not installed")
        );
    }

    #[test]
    fn a_row_of_a_shard_is_judged_by_the_controller_of_the_shard() {
        let main = controller("kustomize-controller", 1, json!(["--watch-label-selector=!sharding.fluxcd.io/key"]));
        let shard = |replicas| {
            let args = json!(["--watch-label-selector=sharding.fluxcd.io/key in (a)"]);
            controller("kustomize-controller-a", replicas, args)
        };
        let object = ready_ks(json!({"sharding.fluxcd.io/key": "a"}));
        assert_eq!(shown(vec![main.clone(), shard(1)], &object).0, "True");
        assert_eq!(shown(vec![main.clone(), shard(0)], &object).0, "False");
        assert_eq!(shown(vec![main, shard(0)], &ready_ks(json!({}))).0, "True");
    }

    #[test]
    fn a_row_that_is_suspended_deleted_or_stalled_is_judged_by_itself() {
        let well = || vec![controller("kustomize-controller", 1, json!([]))];
        let mut object = ready_ks(json!({}));
        object["spec"]["suspend"] = true.into();
        assert_eq!(shown(vec![controller("kustomize-controller", 0, json!([]))], &object).0, "Suspended");
        let mut object = ready_ks(json!({}));
        object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        assert_eq!(shown(well(), &object), ("False".to_owned(), fields::BEING_DELETED.to_owned()));
        let mut object = ready_ks(json!({}));
        let stalled = json!({"type": "Stalled", "status": "True", "reason": "Gone", "message": "gave up"});
        object["status"]["conditions"].as_array_mut().unwrap().push(stalled);
        assert_eq!(shown(well(), &object), ("False".to_owned(), "gave up".to_owned()));
    }
}

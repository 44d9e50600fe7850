//! The fields of Flux objects that lists need, so that nothing else of thousands of objects is kept.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

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

    /// Whether the report of the object is about its present spec, like [`fields::is_observed`] for a whole object.
    pub(crate) fn is_observed(&self) -> bool {
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

    /// Whether a controller reports a status. A Provider, an Alert and a HelmRepository of type `oci` have no status at
    /// all, because they only configure others
    /// (<https://fluxcd.io/flux/components/source/helmrepositories/#helm-oci-repository>).
    pub(crate) fn becomes_ready(&self, kind: &FluxKind) -> bool {
        kind.has_status && !(kind.kind == "HelmRepository" && self.spec.kind.as_deref() == Some("oci"))
    }

    /// Returns the used part of its source: a branch, a tag, a range, a digest.
    pub fn checkout(&self) -> Option<&str> {
        self.spec.checkout.as_ref().and_then(Checkout::text)
    }

    /// Returns the name of its source.
    pub(crate) fn source_name(&self) -> Option<&str> {
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
    pub(crate) fn source(&self) -> Option<String> {
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

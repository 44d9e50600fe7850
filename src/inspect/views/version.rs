//! `version`: current and available versions.

use schemars::JsonSchema;
use semver::Version;
use serde::Serialize;
use serde_json::Value;

use crate::api::kinds::{CRD, DEPLOYMENT};
use crate::api::{own_container, well_known};
use crate::format::image::split_image;
use crate::format::version_range::{VersionRange, parse_version_lenient};
use crate::inspect::read::snapshot::Snapshot;
use crate::k8s::fields;

/// Versions of all parts; unknown ones are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionView {
    /// This program.
    pub client: String,
    /// The operator in the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// Flux in the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<String>,
    /// Range of the instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<String>,
    /// Newest known version that the range allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest_allowed: Option<String>,
    /// Newest known version that the range excludes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest_blocked: Option<String>,
    /// The API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<String>,
}

/// Reads the versions from a snapshot. `known` are the Flux versions of the distribution.
pub fn version(snapshot: &Snapshot, instance: Option<&Value>, client: &str, known: &[String]) -> VersionView {
    let range = instance.and_then(|i| fields::some_text(i, "/spec/distribution/version"));
    let (allowed, blocked) = range.map_or((None, None), |range| newest(range, known));
    VersionView {
        client: client.into(),
        operator: operator_version(snapshot),
        distribution: distribution_version(snapshot, instance),
        range: range.map(Into::into),
        newest_allowed: allowed,
        newest_blocked: blocked,
        kubernetes: snapshot.server_version().and_then(|v| fields::some_text(v, "/gitVersion")).map(Into::into),
    }
}

/// Returns the version of the operator's Deployment: its label, else the tag of its image.
pub fn operator_version(snapshot: &Snapshot) -> Option<String> {
    let selector = format!("{}={}", well_known::NAME_LABEL, well_known::OPERATOR_NAME);
    let operators = snapshot.list_labelled(&DEPLOYMENT, None, &selector);
    let operator = operators.first()?;
    let image = split_image(fields::text(own_container(operator), "/image"));
    let tag = image.tag.unwrap_or_default();
    let version = fields::label(operator, well_known::VERSION_LABEL).unwrap_or(tag);
    Some(version.to_owned()).filter(|v| !v.is_empty())
}

/// Returns the current Flux version: of the instance, or else of the definitions in the cluster.
pub(crate) fn distribution_version(snapshot: &Snapshot, instance: Option<&Value>) -> Option<String> {
    let applied = instance.and_then(|i| fields::some_text(i, "/status/lastAppliedRevision"));
    if let Some(applied) = applied {
        return applied.split('@').next().map(Into::into);
    }
    let marker = snapshot.get(&CRD, None, "gitrepositories.source.toolkit.fluxcd.io")?;
    fields::label(marker, well_known::VERSION_LABEL).map(Into::into)
}

/// Returns the newest version that a range allows, and the newest newer one that it excludes.
fn newest(range: &str, known: &[String]) -> (Option<String>, Option<String>) {
    let Ok(range) = range.parse::<VersionRange>() else { return (None, None) };
    let mut versions: Vec<(Version, &String)> =
        known.iter().filter_map(|name| Some((parse_version_lenient(name)?, name))).collect();
    versions.sort();
    let allowed = versions.iter().rev().find(|(v, _)| range.matches(v));
    let blocked = versions.iter().rev().find(|(v, _)| !range.matches(v) && allowed.is_none_or(|(a, _)| v > a));
    (allowed.map(|(_, n)| (*n).clone()), blocked.map(|(_, n)| (*n).clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_range_shows_the_allowed_and_the_excluded_versions() {
        let known = ["v2.7.5", "v2.8.8", "v2.9.4"].map(str::to_owned);
        assert_eq!(newest("2.8.x", &known), (Some("v2.8.8".into()), Some("v2.9.4".into())));
        assert_eq!(newest("2.x", &known), (Some("v2.9.4".into()), None));
        assert_eq!(newest("9.x", &known), (None, Some("v2.9.4".into())));
        assert_eq!(newest("nonsense!", &known), (None, None));
    }

    #[test]
    fn versions_come_from_labels_images_and_revisions() {
        let operator = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "flux-operator", "namespace": "fs",
            "labels": {"app.kubernetes.io/name": "flux-operator"}},
            "spec": {"template": {"spec": {"containers": [{"image": "ghcr.io/x/flux-operator:v0.9.0"}]}}}});
        let instance =
            json!({"spec": {"distribution": {"version": "2.x"}}, "status": {"lastAppliedRevision": "v2.8.8@sha256:a"}});
        let view = version(&Snapshot::of_dump([operator]), Some(&instance), "1.0.0", &[]);
        assert_eq!(view.operator.as_deref(), Some("v0.9.0"));
        assert_eq!(view.distribution.as_deref(), Some("v2.8.8"));
        assert_eq!(view.kubernetes, None);
    }
}

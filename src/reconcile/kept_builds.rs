//! Builds that worked, so that a run or a user can go back to them.
//!
//! The spec of every revision that became ready is stored as an `apps/v1` ControllerRevision, a kind for this purpose
//! (<https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/controller-revision-v1/>). The instance
//! owns them, so they are deleted with it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::api::well_known::{MANAGED_BY_LABEL, OPERATOR_NAME, RECONCILER_FIELD_MANAGER};
use crate::api::{FluxInstance, FluxInstanceSpec};
use crate::cluster::{Cluster, ClusterError, DeleteOptions, ListOptions};
use crate::k8s::{ObjectId, ResourceType, fields};
use crate::oci::Reference;

/// Number of kept builds: the maximum length of the history.
const KEPT: usize = 5;
const CONTROLLER_REVISION: ResourceType =
    ResourceType::namespaced("apps", "v1", "ControllerRevision", "controllerrevisions");

/// A revision that was ready, with its inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptBuild {
    /// `v2.9.4@sha256:…`
    pub revision: String,
    /// The spec, with the selected version instead of the range and the digest of the artifact.
    pub spec: FluxInstanceSpec,
    /// When it last became ready.
    pub ready: Timestamp,
}

impl KeptBuild {
    /// Returns the build of a ready instance.
    pub(super) fn of(instance: &FluxInstance, revision: &str, artifact: Option<&str>) -> Self {
        let spec = pinned(&instance.spec, revision, artifact);
        KeptBuild { revision: revision.to_owned(), spec, ready: Timestamp::now() }
    }

    /// The version of the build, such as `v2.9.4`.
    pub fn version(&self) -> &str {
        self.revision.split_once('@').map_or(self.revision.as_str(), |(version, _)| version)
    }

    fn name(&self) -> String {
        let digest = self.revision.rsplit_once(':').map_or(self.revision.as_str(), |(_, digest)| digest);
        format!("flux-{}", digest.get(..10).unwrap_or(digest))
    }

    fn object(&self, instance: &FluxInstance) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "ControllerRevision",
            "metadata": {
                "name": self.name(), "namespace": instance.namespace_or_default(),
                "labels": {MANAGED_BY_LABEL: OPERATOR_NAME},
                "ownerReferences": [{
                    "apiVersion": crate::api::well_known::API_VERSION, "kind": "FluxInstance",
                    "name": instance.metadata.name, "uid": instance.metadata.uid,
                }],
            },
            "revision": self.ready.as_second(),
            "data": self,
        })
    }
}

/// Returns the spec that builds this revision again, because its range and its tag may mean something else later.
fn pinned(spec: &FluxInstanceSpec, revision: &str, artifact: Option<&str>) -> FluxInstanceSpec {
    let mut spec = spec.clone();
    if let Some((version, _)) = revision.split_once('@') {
        spec.distribution.version = version.to_owned();
    }
    let reference: Option<Reference> = spec.distribution.artifact.as_deref().and_then(|text| text.parse().ok());
    if let Some((reference, digest)) = reference.zip(artifact.and_then(|digest| digest.parse().ok())) {
        spec.distribution.artifact = Some(reference.repository.with_digest(digest).url());
    }
    spec
}

/// Stores a build and deletes the oldest ones beyond five.
pub(super) async fn keep(cluster: &Cluster, instance: &FluxInstance, build: &KeptBuild) -> Result<(), ClusterError> {
    let object = build.object(instance);
    if cluster.create(&object, RECONCILER_FIELD_MANAGER).await?.is_none() {
        // The build was ready before. Its data is unchanged, because its name comes from the digest.
        let id = ObjectId::of(&object);
        // The API server refuses every change of `data`; only this number can carry the time of the last success.
        let again = json!({"revision": build.ready.as_second()});
        cluster.merge_patch(&id, None, &again, RECONCILER_FIELD_MANAGER).await?;
    }
    let mut all = stored(cluster, instance.namespace_or_default()).await?;
    all.sort_by_key(|one| std::cmp::Reverse(fields::number(one, "/revision")));
    for old in all.iter().skip(KEPT) {
        cluster.delete(&ObjectId::of(old), &DeleteOptions::default()).await?;
    }
    Ok(())
}

/// Returns the kept builds in a namespace, the newest first.
///
/// # Errors
/// The API server does not answer.
pub async fn kept_builds(cluster: &Cluster, namespace: &str) -> Result<Vec<KeptBuild>, ClusterError> {
    let stored = stored(cluster, namespace).await?;
    let read = |one: &Value| {
        let build: KeptBuild = serde_json::from_value(one.get("data")?.clone()).ok()?;
        let ready = Timestamp::from_second(fields::number(one, "/revision")?).ok()?;
        Some(KeptBuild { ready, ..build })
    };
    let mut builds: Vec<KeptBuild> = stored.iter().filter_map(read).collect();
    builds.sort_by_key(|build| std::cmp::Reverse(build.ready));
    Ok(builds)
}

async fn stored(cluster: &Cluster, namespace: &str) -> Result<Vec<Value>, ClusterError> {
    let options = ListOptions::labelled(format!("{MANAGED_BY_LABEL}={OPERATOR_NAME}"));
    let list = cluster.list_all(&CONTROLLER_REVISION, Some(namespace), &options).await?;
    let mut items = list.map(|list| list.items).unwrap_or_default();
    items.retain(|one| one.pointer("/data/revision").is_some());
    Ok(items)
}

/// Returns the spec of a revision: the kept one, or else the current spec with the version of that revision.
pub(super) async fn find(
    cluster: &Cluster,
    instance: &FluxInstance,
    revision: &str,
) -> Result<FluxInstanceSpec, ClusterError> {
    let kept = kept_builds(cluster, instance.namespace_or_default()).await?;
    let found = kept.into_iter().find(|build| build.revision == revision).map(|build| build.spec);
    let artifact = instance.status.as_ref().and_then(|status| status.last_artifact_revision.as_deref());
    Ok(found.unwrap_or_else(|| pinned(&instance.spec, revision, artifact)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_build_is_pinned_and_can_be_read_again() {
        let mut instance = FluxInstance::new("flux", FluxInstanceSpec::default());
        instance.spec.distribution.version = "2.x".to_owned();
        instance.spec.distribution.artifact = Some("oci://example.com/manifests:latest".to_owned());
        let digest = format!("sha256:{}", "a".repeat(64));
        let build = KeptBuild::of(&instance, "v2.9.4@sha256:0123456789abcdef", Some(&digest));
        assert_eq!(build.spec.distribution.version, "v2.9.4");
        assert_eq!(build.spec.distribution.artifact, Some(format!("oci://example.com/manifests@{digest}")));
        assert_eq!(build.name(), "flux-0123456789");
        let object = build.object(&instance);
        let read: KeptBuild = serde_json::from_value(object["data"].clone()).unwrap();
        assert_eq!(read, build);
    }
}

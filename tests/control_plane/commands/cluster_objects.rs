//! Kinds and objects of the tests, a controller played by hand, and the binary's outcome.

use std::process::{Command, Stdio};
use std::time::Duration;

use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::{Client, core::GroupVersionKind};
use serde_json::{Value, json};

pub use crate::support::run::Run;
use crate::support::{TestCluster, eventually};

pub const SOON: Duration = Duration::from_secs(20);

/// Runs the binary against the test's cluster and namespace, without a terminal.
pub async fn run(cluster: &TestCluster, arguments: &[&str]) -> Run {
    finish(start(cluster, arguments)).await
}

pub fn start(cluster: &TestCluster, arguments: &[&str]) -> Command {
    let mut command = cluster.command();
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub async fn finish(mut command: Command) -> Run {
    let output = tokio::task::spawn_blocking(move || command.output()).await.expect("joined").expect("the binary runs");
    output.into()
}

/// A kind for the tests: enough of its definition for the API server, with any spec and status.
#[derive(Clone, Copy)]
pub struct Kind {
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
    pub status: bool,
}

const fn kind(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { group, version, kind, plural, status: true }
}

pub const INSTANCE: Kind = kind("fluxcd.controlplane.io", "v1", "FluxInstance", "fluxinstances");
pub const GIT: Kind = kind("source.toolkit.fluxcd.io", "v1", "GitRepository", "gitrepositories");
/// Served at the version of Flux before 2.6 only.
pub const OCI: Kind = kind("source.toolkit.fluxcd.io", "v1beta2", "OCIRepository", "ocirepositories");
pub const HELM_REPOSITORY: Kind = kind("source.toolkit.fluxcd.io", "v1", "HelmRepository", "helmrepositories");
pub const HELM_RELEASE: Kind = kind("helm.toolkit.fluxcd.io", "v2", "HelmRelease", "helmreleases");
pub const KUSTOMIZATION: Kind = kind("kustomize.toolkit.fluxcd.io", "v1", "Kustomization", "kustomizations");
pub const GENERATOR: Kind = kind("source.extensions.fluxcd.io", "v1beta1", "ArtifactGenerator", "artifactgenerators");
pub const PROVIDER: Kind =
    Kind { status: false, ..kind("notification.toolkit.fluxcd.io", "v1beta3", "Provider", "providers") };
const ALL: [Kind; 8] = [INSTANCE, GIT, OCI, HELM_REPOSITORY, HELM_RELEASE, KUSTOMIZATION, GENERATOR, PROVIDER];

impl Kind {
    pub fn resource(self) -> ApiResource {
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(self.group, self.version, self.kind), self.plural)
    }

    pub fn api(self, cluster: &TestCluster) -> Api<DynamicObject> {
        Api::namespaced_with(cluster.client(), cluster.namespace(), &self.resource())
    }

    fn definition(self) -> Value {
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let mut version = json!({
            "name": self.version, "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}},
        });
        if self.status {
            version["subresources"] = json!({"status": {}});
        }
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{}.{}", self.plural, self.group)},
            "spec": {
                "group": self.group, "scope": "Namespaced", "versions": [version],
                "names": {"kind": self.kind, "plural": self.plural, "singular": self.kind.to_lowercase()},
            },
        })
    }
}

/// Defines every kind in the shared control plane; the second time nothing happens.
pub async fn define_kinds(client: Client) {
    let resource =
        ApiResource::from_gvk(&GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition"));
    let definitions: Api<DynamicObject> = Api::all_with(client, &resource);
    for kind in ALL {
        let definition = kind.definition();
        let name = definition["metadata"]["name"].as_str().unwrap().to_owned();
        definitions.patch(&name, &PatchParams::apply("test").force(), &Patch::Apply(&definition)).await.unwrap();
        eventually(&name, SOON, || async {
            let found = definitions.get(&name).await.unwrap();
            let conditions = found.data.pointer("/status/conditions")?.as_array()?.clone();
            conditions.iter().any(|c| c["type"] == "Established" && c["status"] == "True").then_some(())
        })
        .await
        .unwrap();
    }
}

/// Creates an object of the kind in the test's namespace.
pub async fn create(cluster: &TestCluster, kind: Kind, name: &str, extra: Value) -> DynamicObject {
    define_kinds(cluster.client()).await;
    let mut object = json!({
        "apiVersion": kind.resource().api_version, "kind": kind.kind,
        "metadata": {"name": name, "namespace": cluster.namespace()}, "spec": {},
    });
    merge(&mut object, &extra);
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let api = kind.api(cluster);
    // A kind is established a moment before every server knows it.
    eventually("the object to be accepted", SOON, || async { api.create(&Default::default(), &object).await.ok() })
        .await
        .unwrap()
}

fn merge(to: &mut Value, from: &Value) {
    match (to, from) {
        (Value::Object(to), Value::Object(from)) => {
            for (key, value) in from {
                merge(to.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (to, from) => *to = from.clone(),
    }
}

pub fn ready(status: &str, reason: &str, message: &str, generation: i64) -> Value {
    json!({"type": "Ready", "status": status, "reason": reason, "message": message, "observedGeneration": generation,
        "lastTransitionTime": "2026-11-21T00:00:00Z"})
}

/// Writes a status as a controller does.
pub async fn set_status(cluster: &TestCluster, kind: Kind, name: &str, status: Value) {
    let patch = json!({"status": status});
    kind.api(cluster).patch_status(name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
}

pub async fn annotation(cluster: &TestCluster, kind: Kind, name: &str, key: &str) -> Option<String> {
    kind.api(cluster).get(name).await.unwrap().metadata.annotations.unwrap_or_default().get(key).cloned()
}

pub const REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";

/// Waits for a request and returns its value.
pub async fn requested(cluster: &TestCluster, kind: Kind, name: &str, not: Option<String>) -> String {
    eventually("a request", SOON, || async {
        annotation(cluster, kind, name, REQUESTED_AT).await.filter(|value| Some(value) != not.as_ref())
    })
    .await
    .unwrap()
}

/// Plays the controller once: waits for a request, reports progress, and then the outcome.
pub async fn handle_one_request(cluster: &TestCluster, kind: Kind, name: &str, outcome: Value) -> String {
    let token = requested(cluster, kind, name, None).await;
    set_status(cluster, kind, name, json!({"conditions": [ready("Unknown", "Progressing", "Applying objects", 1)]}))
        .await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    set_status(cluster, kind, name, json!({"conditions": [outcome], "lastHandledReconcileAt": token})).await;
    token
}

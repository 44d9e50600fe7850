//! Sources and Kustomizations in every state, a Git server behind them, and the binary's answers about them.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, TypeMeta};
use serde_json::{Value, json};

use crate::support::flux::{GitRepository, GitServer, SshKey};
pub use crate::support::run::Run;
use crate::support::{TestCluster, eventually};

/// Limit of a wait; beside the many objects of another test, controllers see a change a minute later.
pub const SOON: Duration = Duration::from_secs(120);
/// An address without a listener; the system does not hand out loopback ports below 1024.
pub const NOBODY: &str = "http://127.0.0.1:1/app.git";

/// Runs the binary against the test's cluster and namespace, without a terminal.
pub async fn run(cluster: &TestCluster, arguments: &str) -> Run {
    let mut command = cluster.command();
    command.args(arguments.split_whitespace()).stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output()).await.expect("joined").expect("the binary runs");
    output.into()
}

/// A GitRepository of the `main` branch at an address.
pub fn source(name: &str, url: &str) -> Value {
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": name},
        "spec": {"interval": "10m", "url": url, "ref": {"branch": "main"}},
    })
}

/// A Kustomization of a path in the source `app`, which applies to the test's own namespace.
pub fn kustomization(cluster: &TestCluster, name: &str, path: &str) -> Value {
    json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": name},
        "spec": {"interval": "10m", "retryInterval": "2s", "path": path, "prune": true,
            "targetNamespace": cluster.namespace(), "sourceRef": {"kind": "GitRepository", "name": "app"}},
    })
}

/// The object with one field of its spec set.
pub fn with(mut object: Value, field: &str, value: Value) -> Value {
    object["spec"][field] = value;
    object
}

pub fn basic_auth(name: &str, password: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
        "stringData": {"username": "flux", "password": password},
    })
}

pub fn ssh_auth(name: &str, identity: &SshKey, known_hosts: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {
            "identity": identity.private, "identity.pub": identity.public, "known_hosts": known_hosts,
        },
    })
}

/// A ConfigMap `web` with this value, as a file of a repository.
pub fn config_map(value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\ndata:\n  key: {value}\n")
}

/// A Deployment `web` whose pod the test control plane makes ready.
pub const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
        - name: web
          image: example.com/web:1.0.0
";

/// A Git server with the repository `app`: `deploy` can be applied, `broken` cannot be parsed.
pub struct World {
    pub git: GitServer,
    pub repository: GitRepository,
    pub commit: String,
}

impl World {
    pub async fn new(cluster: &TestCluster) -> World {
        World::of(GitServer::start(cluster.folder()).await.expect("a Git server"))
    }

    /// Serves clients with the user `flux` and the password.
    pub async fn with_password(cluster: &TestCluster, password: &str) -> World {
        World::of(GitServer::start_with_password(cluster.folder(), "flux", password).await.expect("a Git server"))
    }

    fn of(git: GitServer) -> World {
        let repository = git.repository("app").expect("a repository");
        repository.write("deploy/config.yaml", &config_map("one")).expect("written");
        repository.write("deploy/deployment.yaml", DEPLOYMENT).expect("written");
        let broken = "apiVersion: v1\nkind: ConfigMap\nmetadata: [\n  name: x\n";
        repository.write("broken/config.yaml", broken).expect("written");
        let commit = repository.commit("first").expect("pushed");
        World { git, repository, commit }
    }

    pub fn url(&self) -> String {
        self.git.url("app")
    }

    /// As status fields have it.
    pub fn revision(&self) -> String {
        format!("main@sha1:{}", self.commit)
    }

    /// Changes the ConfigMap and pushes it.
    pub fn push(&mut self, value: &str) {
        self.repository.write("deploy/config.yaml", &config_map(value)).expect("written");
        self.commit = self.repository.commit(value).expect("pushed");
    }

    /// The source `app` and the Kustomization `app`, really ready.
    pub async fn ready_app(&self, cluster: &TestCluster) {
        let app = with(kustomization(cluster, "app", "./deploy"), "wait", json!(true));
        cluster.apply(&[source("app", &self.url()), app]).await;
        until(cluster, "Kustomization", "app", "True").await;
    }

    /// Beside the ready app: failing and suspended ones, each waited for until its controller said so.
    pub async fn every_state(&self, cluster: &TestCluster) {
        self.ready_app(cluster).await;
        let suspended = |object| with(object, "suspend", json!(true));
        let dependent = with(kustomization(cluster, "dependent", "./deploy"), "dependsOn", json!([{"name": "broken"}]));
        cluster
            .apply(&[
                source("absent", &self.git.url("absent")),
                source("unreachable", NOBODY),
                suspended(source("paused", &self.url())),
                kustomization(cluster, "broken", "./broken"),
                dependent,
                kustomization(cluster, "misplaced", "./nowhere"),
                suspended(kustomization(cluster, "paused", "./deploy")),
            ])
            .await;
        for (kind, names) in [
            ("GitRepository", &["absent", "unreachable"][..]),
            ("Kustomization", &["broken", "dependent", "misplaced"]),
        ] {
            for name in names {
                until(cluster, kind, name, "False").await;
            }
        }
    }
}

pub fn api(cluster: &TestCluster, kind: &str) -> Api<DynamicObject> {
    api_of(cluster, &resource(kind))
}

fn api_of(cluster: &TestCluster, resource: &ApiResource) -> Api<DynamicObject> {
    Api::namespaced_with(cluster.client(), cluster.namespace(), resource)
}

fn resource(kind: &str) -> ApiResource {
    let (group, version) = match kind {
        "GitRepository" => ("source.toolkit.fluxcd.io", "v1"),
        "Kustomization" => ("kustomize.toolkit.fluxcd.io", "v1"),
        "FluxInstance" => ("fluxcd.controlplane.io", "v1"),
        "Deployment" => ("apps", "v1"),
        "HelmRelease" => ("helm.toolkit.fluxcd.io", "v2"),
        "ConfigMap" | "Event" | "Pod" | "Secret" => ("", "v1"),
        other => panic!("the tests know no {other}"),
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// Writes what a person would send of the test's namespace: the list of `kubectl get -o json`, without secrets.
pub async fn dump(cluster: &TestCluster) -> PathBuf {
    let mut items = Vec::new();
    for kind in ["FluxInstance", "GitRepository", "Kustomization", "Deployment", "Pod", "Event"] {
        let kind = resource(kind);
        for mut object in api_of(cluster, &kind).list(&ListParams::default()).await.expect("listed") {
            // The server leaves these out of lists of its own kinds; kubectl puts them back.
            object.types = Some(TypeMeta { api_version: kind.api_version.clone(), kind: kind.kind.clone() });
            items.push(object);
        }
    }
    let file = cluster.folder().join(format!("{}-dump.json", cluster.namespace()));
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    std::fs::write(&file, list.to_string()).expect("written");
    file
}

/// Waits until the Ready condition has this status, and returns its message.
pub async fn until(cluster: &TestCluster, kind: &str, name: &str, status: &str) -> String {
    let api = api(cluster, kind);
    let what = format!("{kind}/{name} to have Ready={status}");
    let seen = eventually(&what, SOON, || async {
        let object = api.get_opt(name).await.expect("asked")?;
        let conditions = object.data.pointer("/status/conditions")?.as_array()?.clone();
        let ready = conditions.into_iter().find(|c| c["type"] == "Ready" && c["status"] == status)?;
        Some(ready["message"].as_str().unwrap_or_default().to_owned())
    });
    match seen.await {
        Ok(message) => message,
        Err(error) => panic!("{error}; last seen: {:#?}", api.get_opt(name).await.ok().flatten().map(|o| o.data)),
    }
}

/// The value in the applied ConfigMap.
pub async fn applied(cluster: &TestCluster) -> Option<String> {
    let object = api(cluster, "ConfigMap").get_opt("web").await.expect("asked")?;
    object.data.pointer("/data/key")?.as_str().map(str::to_owned)
}

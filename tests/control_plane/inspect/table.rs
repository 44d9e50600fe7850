//! Every cause that `why` knows, in objects that a real API server took, and told from it.

use std::path::Path;
use std::process::Stdio;

use flux_operator::api::Component;
use flux_operator::format::yaml;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PropagationPolicy};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::inspect::world::{Run, SOON};
use crate::support::causes::{Row, rows};
use crate::support::installation::installation;
use crate::support::runner::{ClusterTest, command};
use crate::support::{Options, TestCluster, eventually, objects};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![every_cause_is_told_by_a_real_api_server]
}

/// The definitions of Flux and of the operator.
fn definitions() -> Vec<Value> {
    let installed = installation("flux-system", "v2.9", &Component::ALL);
    let is_one = |object: &Value| object["kind"] == "CustomResourceDefinition";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/crds");
    let files = std::fs::read_dir(folder).expect("definitions").map(|file| file.expect("a file").path());
    let own = files.map(|path| std::fs::read_to_string(path).expect("read"));
    let own: Vec<Value> = own.flat_map(|text| yaml::parse_documents(&text).expect("YAML")).collect();
    installed.into_iter().chain(own).filter(is_one).chain([measurements()]).collect()
}

/// A definition of metrics-server's kind, so that the API server answers in the same form.
fn measurements() -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "pods.metrics.k8s.io", "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
        "spec": {"group": "metrics.k8s.io", "scope": "Namespaced", "names": {"kind": "PodMetrics", "plural": "pods"},
            "versions": [{"name": "v1beta1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
}

async fn api_of(client: &Client, object: &Value) -> Api<DynamicObject> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (version, kind, namespace) = (text("/apiVersion"), text("/kind"), text("/metadata/namespace"));
    objects::api(client, &version, &kind, &namespace).await.expect("served")
}

/// Puts one object there as its controller left it: the spec, the status, and that it is being deleted.
async fn put(client: &Client, object: &Value) -> Result<(), String> {
    let mut object = object.clone();
    let name = object["metadata"]["name"].as_str().expect("a name").to_owned();
    let status =
        object.as_object_mut().and_then(|fields| fields.remove("status")).filter(|status| *status != json!({}));
    let metadata = object["metadata"].as_object_mut().expect("metadata");
    let is_leaving = metadata.remove("deletionTimestamp").is_some();
    for given in ["uid", "generation"] {
        metadata.remove(given);
    }
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
    let of = |what: &str, error: &dyn std::fmt::Display| format!("{what} {}/{name}: {error}", object["kind"]);
    objects::apply(client, &namespace, &[object.clone()]).await.map_err(|error| of("apply", &error))?;
    let api = api_of(client, &object).await;
    if let Some(status) = status {
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(&name, &PatchParams::default(), &patch).await.map_err(|error| of("status of", &error))?;
    }
    if is_leaving {
        api.delete(&name, &DeleteParams::default()).await.map_err(|error| of("delete", &error))?;
    }
    Ok(())
}

async fn remove(client: &Client, object: &Value) {
    let (api, name) = (api_of(client, object).await, object["metadata"]["name"].as_str().expect("a name").to_owned());
    let free = json!({"metadata": {"finalizers": null}});
    // Objects that the table itself deletes are already gone.
    let _ = api.patch(&name, &PatchParams::default(), &Patch::Merge(free)).await;
    let at_once = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Background),
        ..DeleteParams::default().grace_period(0)
    };
    let _ = api.delete(&name, &at_once).await;
    let gone = || async { api.get_opt(&name).await.ok()?.is_none().then_some(()) };
    eventually(&format!("{name} to be gone"), SOON, gone).await.expect("gone");
}

async fn every_cause_is_told_by_a_real_api_server(cluster: TestCluster) {
    // No controller runs, so written statuses stay unchanged.
    let own = cluster.fresh(Options::api_server_only()).await;
    let client = own.client().clone();
    let admin = own.admin("table").expect("an admin");
    objects::apply(&client, "", &definitions()).await.expect("definitions");
    for namespace in ["apps", "flux-system"] {
        let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        objects::apply(&client, namespace, &[home, account]).await.expect("a namespace");
    }
    let ask = async |words: &[&str]| -> Run {
        let mut command = command(admin.path(), cluster.folder());
        command.args(words).stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output()).await.expect("joined");
        output.expect("the binary runs").into()
    };
    let mut wrong = vec![];
    let rows = rows();
    let count = rows.len();
    for Row { subject, others, reason, object, says } in rows {
        let all: Vec<Value> = others
            .into_iter()
            .chain([subject.clone()])
            .filter(|one| one["kind"] != "CustomResourceDefinition")
            .collect();
        let mut refused = None;
        for one in &all {
            refused = refused.or(put(&client, one).await.err());
        }
        let name = format!(
            "{}/{}",
            subject["kind"].as_str().expect("a kind"),
            subject["metadata"]["name"].as_str().expect("a name")
        );
        let namespace = subject["metadata"]["namespace"].as_str().expect("a namespace");
        let told = ask(&["why", &name.to_lowercase(), "-n", namespace, "-o", "json"]).await;
        let found = serde_json::from_str::<Value>(&told.stdout).unwrap_or_default();
        let cause = &found["cause"];
        let blamed = &cause["object"];
        let text = |field: &str| blamed[field].as_str().unwrap_or_default().to_owned();
        let place = if text("namespace").is_empty() { String::new() } else { format!("{}/", text("namespace")) };
        let blamed = format!("{}/{place}{}", text("kind"), text("name"));
        let summary = cause["summary"].as_str().unwrap_or_default();
        let is_it = cause["reason"] == reason && blamed == object && says.split('|').any(|part| summary.contains(part));
        if told.code != 7 || !is_it || refused.is_some() {
            wrong.push(format!(
                "{reason} of {object} that says {says:?}: {refused:?} {}: {blamed} {cause:#} {}",
                told.code, told.stderr
            ));
        }
        for one in &all {
            remove(&client, one).await;
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n\n"));
}

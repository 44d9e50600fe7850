//! Every cause that `why` knows, found in objects that a real API server has accepted.

use std::path::Path;
use std::process::Stdio;

use flux_operator::api::Component;
use flux_operator::format::yaml;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PropagationPolicy};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::inspect::world::{Run, SOON};
use crate::support::causes::{Row, complete, rows};
use crate::support::installation::installation;
use crate::support::runner::{ClusterTest, command};
use crate::support::situations::{LISTED_ALONE, Situation, counts_of_rows, counts_of_why, situations};
use crate::support::{Options, TestCluster, eventually, objects};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![every_cause_is_found_with_a_real_api_server, every_command_says_the_same_of_a_real_cluster]
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

async fn every_cause_is_found_with_a_real_api_server(cluster: TestCluster) {
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
        let reported = ask(&["why", &name.to_lowercase(), "-n", namespace, "-o", "json"]).await;
        let found = serde_json::from_str::<Value>(&reported.stdout).unwrap_or_default();
        let cause = &found["cause"];
        let blamed = &cause["object"];
        let text = |field: &str| blamed[field].as_str().unwrap_or_default().to_owned();
        let place = if text("namespace").is_empty() { String::new() } else { format!("{}/", text("namespace")) };
        let blamed = format!("{}/{place}{}", text("kind"), text("name"));
        let summary = cause["summary"].as_str().unwrap_or_default();
        let is_it = cause["reason"] == reason && blamed == object && says.split('|').any(|part| summary.contains(part));
        // Progress and suspension are not failures.
        let code = if ["InProgress", "Suspended"].contains(&reason) { 0 } else { 7 };
        if reported.code != code || !is_it || refused.is_some() {
            wrong.push(format!(
                "{reason} of {object} that says {says:?}: {refused:?} {}: {blamed} {cause:#} {}",
                reported.code, reported.stderr
            ));
        }
        for one in &all {
            remove(&client, one).await;
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Situations that objects alone make on an API server without controllers, at whatever time.
const SHOWN_LIVE: [&str; 17] = [
    "everything is ready",
    "flux without an instance",
    "a version range that nothing fits",
    "a suspended instance",
    "a suspended Kustomization",
    "a controller that is gone",
    "a quota that takes down every controller",
    "a policy that refuses every controller",
    "a second instance",
    "a Kustomization that waits for a failing one",
    "a Kustomization that waits for one in progress",
    "a Kustomization that waits for a source in progress",
    "a Kustomization that is behind its source",
    "a release that waits for one in progress",
    "a ready ResourceSet with a provider that fails",
    "a Kustomization that was never reconciled",
    "a workload that is gone",
];

/// Exit codes of status, why, check, stats and wait, by the verdict.
fn codes(verdict: &str) -> [i32; 5] {
    match verdict {
        "failing" => [7, 7, 1, 0, 7],
        "unknown" => [5, 5, 5, 5, 5],
        "notInstalled" => [4, 4, 4, 4, 3],
        _ => [0, 0, 0, 0, 0],
    }
}

/// Adds the condition that a ready Deployment reports because the API server sets a deadline for its rollout.
fn rolled_out(mut object: Value) -> Value {
    let is_ready = object["status"]["readyReplicas"].as_u64().is_some_and(|ready| ready > 0);
    if object["kind"] == "Deployment" && is_ready {
        let conditions = object["status"]["conditions"].as_array_mut().expect("conditions");
        conditions.push(json!({"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}));
    }
    object
}

async fn every_command_says_the_same_of_a_real_cluster(cluster: TestCluster) {
    let own = cluster.fresh(Options::api_server_only()).await;
    let client = own.client().clone();
    let admin = own.admin("situations").expect("an admin");
    let ask = async |words: &[&str]| -> Run {
        let mut command = command(admin.path(), cluster.folder());
        command.args(words).stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output()).await.expect("joined");
        output.expect("the binary runs").into()
    };
    let mut wrong: Vec<String> = vec![];
    let compare = async |name: &str, verdict: &str, flags: &[&str]| -> Vec<String> {
        let json = |words: &[&str]| [words, &["-o", "json"], flags].concat().iter().map(ToString::to_string).collect();
        let mut wrong = vec![];
        let lines: [Vec<String>; 4] =
            [json(&["status"]), json(&["why", "-A"]), json(&["check"]), json(&["stats", "-A"])];
        let mut counts = vec![];
        let (mut rows_of_why, mut kinds) = ([0; 4], vec![]);
        for ((words, field), code) in lines.iter().zip(["verdict", "verdict", "health", ""]).zip(codes(verdict)) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let run = ask(&words).await;
            let answer = serde_json::from_str::<Value>(&run.stdout).unwrap_or_default();
            let found = answer[field].as_str().unwrap_or(verdict);
            if run.code != code || found != verdict {
                wrong.push(format!(
                    "{name}: {words:?} ends with {} and says {found}, not {code} and {verdict}: {}",
                    run.code, run.stdout
                ));
            }
            if ["status", "why"].contains(&words[0]) {
                counts.push(answer["counts"].clone());
                rows_of_why = counts_of_why(&answer);
                kinds = answer["kinds"].as_array().cloned().unwrap_or_default();
            }
        }
        let listed = ask(&[&["get", "all", "-A"], flags].concat()).await;
        if listed.code == 0 && counts_of_rows(&listed.stdout) != rows_of_why {
            wrong.push(format!("{name}: get all says not {rows_of_why:?}: {} {}", listed.stdout, listed.stderr));
        }
        for (kind, short) in LISTED_ALONE {
            let of_kind = kinds.iter().find(|one| one["kind"] == kind);
            let failing = of_kind.map_or(0, |one| one["failing"].as_u64().unwrap_or_default());
            let listed = ask(&[&["get", short, "-A", "--ready-status", "False", "-o", "name"], flags].concat()).await;
            if listed.code == 0 && listed.stdout.lines().count() as u64 != failing {
                wrong.push(format!("{name}: get {short} says not {failing} failing: {}", listed.stdout));
            }
        }
        if counts[0] != counts[1] {
            wrong.push(format!("{name}: {counts:?}"));
        }
        wrong
    };
    wrong.extend(compare("an empty cluster", "notInstalled", &[]).await);
    for words in [&["get", "all", "-A"][..], &["get", "ks"], &["events"], &["version"], &["export", "report"]] {
        let answer = ask(words).await;
        let text = format!("{}{}", answer.stdout, answer.stderr);
        if answer.code != 4 || !text.contains("Flux is not installed in context") {
            wrong.push(format!("{words:?} on an empty cluster: {} {text}", answer.code));
        }
    }
    objects::apply(&client, "", &definitions()).await.expect("definitions");
    for namespace in ["apps", "flux-system", "flux2"] {
        let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        objects::apply(&client, namespace, &[home]).await.expect("a namespace");
    }
    for Situation { name, objects, verdict, .. } in situations() {
        if !SHOWN_LIVE.contains(&name) {
            continue;
        }
        let shared = ["CustomResourceDefinition", "Node", "Namespace"];
        let all: Vec<Value> =
            objects.into_iter().filter(|one| !shared.contains(&one["kind"].as_str().unwrap_or_default())).collect();
        let all: Vec<Value> = all.into_iter().map(complete).map(rolled_out).collect();
        for one in &all {
            wrong.extend(put(&client, one).await.err().map(|error| format!("{name}: {error}")));
        }
        wrong.extend(compare(name, verdict, &[]).await);
        // A wait looks at what an instance says of its last run, and then at what has become of it.
        let has_instance =
            all.iter().any(|one| one["kind"] == "FluxInstance" && one["metadata"]["namespace"] == "flux-system");
        if name == "a controller that is gone" || name == "everything is ready" {
            assert!(has_instance, "{name}");
            let code = codes(verdict)[4];
            let waited = ask(&["wait", "instance", "--timeout", "5s"]).await;
            if waited.code != code {
                wrong.push(format!("{name}: wait instance ends with {}, not {code}: {}", waited.code, waited.stderr));
            }
        }
        if name == "everything is ready" {
            wrong.extend(compare("a user without rights", "unknown", &["--as", "nobody"]).await);
            let answer = ask(&["status", "--as", "nobody"]).await;
            if answer.stdout.contains("flux-operator apply") {
                wrong.push(format!("a user without rights gets the advice to install: {}", answer.stdout));
            }
        }
        for one in &all {
            remove(&client, one).await;
        }
        if !wrong.is_empty() {
            break;
        }
    }
    // A definition that is gone takes its objects along.
    let all = situations().into_iter().find(|one| one.name == "everything is ready").map(|one| one.objects);
    for one in all
        .into_iter()
        .flatten()
        .filter(|one| one["kind"] != "CustomResourceDefinition" && one["kind"] != "HelmRelease")
    {
        wrong.extend(put(&client, &rolled_out(complete(one))).await.err());
    }
    let releases = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "helmreleases.helm.toolkit.fluxcd.io"}});
    remove(&client, &releases).await;
    wrong.extend(compare("a definition that is gone", "failing", &[]).await);
    let text = "the CRD of HelmRelease is missing, and so is every HelmRelease";
    for (words, code) in [(["get", "all", "-A"], 0), (["get", "hr", "-A"], 4)] {
        let answer = ask(&words).await;
        if answer.code != code || !answer.stderr.contains(text) {
            wrong.push(format!("{words:?} without the definition: {} {}{}", answer.code, answer.stdout, answer.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

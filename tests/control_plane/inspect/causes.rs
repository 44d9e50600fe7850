//! `why` of any object and of all: causes in a real API server, told the same from a dump.

use std::process::Stdio;

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::inspect::world::{Run, SOON, dump, evidence, install, instance, run};
use crate::support::runner::{ClusterTest, command};
use crate::support::{Behaviour, Options, PodRule, TestCluster, eventually, objects};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        everything_that_is_not_well_is_grouped_by_cause,
        a_kustomization_is_explained_down_to_the_log_of_a_pod,
        workloads_of_a_green_kustomization_that_fail_or_are_gone_are_found_with_few_requests,
        a_controller_that_was_deleted_takes_its_objects_down,
    ]
}

async fn installed(cluster: &TestCluster) {
    let components = json!(["source-controller", "kustomize-controller"]);
    install(cluster, &instance(cluster, json!({"wait": true, "components": components}))).await.exits(0);
}

fn git(name: &str) -> Value {
    json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": name},
        "spec": {"url": format!("https://git.example.com/{name}"), "interval": "1h"}})
}

fn ks(name: &str, source: &str, depends_on: &[&str]) -> Value {
    let depends_on: Vec<Value> = depends_on.iter().map(|name| json!({"name": name})).collect();
    json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": name},
        "spec": {"interval": "1h", "path": "./", "prune": true, "dependsOn": depends_on,
            "sourceRef": {"kind": "GitRepository", "name": source}}})
}

/// Writes the report of a controller, with the text of a real one.
async fn report(cluster: &TestCluster, kind: &str, name: &str, status: Value) {
    let api_version =
        if kind == "Kustomization" { "kustomize.toolkit.fluxcd.io/v1" } else { "source.toolkit.fluxcd.io/v1" };
    let api = objects::api(&cluster.client(), api_version, kind, cluster.namespace()).await.expect("served");
    let patch = json!({"status": status});
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(patch)).await.expect("written");
}

fn ready(status: &str, reason: &str, message: &str) -> Value {
    json!({"observedGeneration": 1, "conditions": [{"type": "Ready", "status": status, "reason": reason,
        "message": message, "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
}

/// The answer about the test's namespace, live and from a dump.
async fn all(cluster: &TestCluster) -> Value {
    let namespace = cluster.namespace();
    let live = run(cluster, &["why", "-n", namespace, "-o", "json"]).await.exits(7).json();
    let folder = tempfile::tempdir().expect("a folder");
    dump(cluster, folder.path()).await;
    let path = folder.path().to_str().expect("UTF-8");
    let reported = run(cluster, &["why", "-n", namespace, "-o", "json", "--from", path]).await.exits(7).json();
    for field in ["failing", "causes"] {
        assert_eq!(without_logs(reported[field].clone()), without_logs(live[field].clone()), "{field} of a dump");
    }
    live
}

/// Removes logs, because a folder of manifests has none.
fn without_logs(mut causes: Value) -> Value {
    for cause in causes.as_array_mut().into_iter().flatten() {
        if let Some(evidence) = cause["evidence"].as_array_mut() {
            evidence.retain(|one| one["from"] != "last log line");
        }
    }
    causes
}

async fn everything_that_is_not_well_is_grouped_by_cause(cluster: TestCluster) {
    installed(&cluster).await;
    let namespace = cluster.namespace();
    cluster.apply(&[git("fine"), git("branch"), git("a"), git("b")]).await;
    report(&cluster, "GitRepository", "fine", ready("True", "Succeeded", "stored artifact")).await;
    let clone = "failed to checkout and determine revision: unable to clone 'x': ";
    let branch = format!("{clone}couldn't find remote ref \"refs/heads/nope\"");
    report(&cluster, "GitRepository", "branch", ready("False", "GitOperationFailed", &branch)).await;
    for name in ["a", "b"] {
        let host = format!("{clone}dial tcp: lookup git.example.com: no such host");
        report(&cluster, "GitRepository", name, ready("False", "GitOperationFailed", &host)).await;
    }
    let mut applications = vec![ks("ready", "fine", &[]), ks("root", "branch", &[])];
    applications.extend((0..20).map(|n| ks(&format!("app-{n:02}"), "fine", &["root"])));
    cluster.apply(&applications).await;
    report(&cluster, "Kustomization", "ready", ready("True", "ReconciliationSucceeded", "Applied revision: x")).await;
    let waits = "Source artifact not found, retrying in 30s";
    report(&cluster, "Kustomization", "root", ready("False", "ArtifactFailed", waits)).await;
    for n in 0..20 {
        let text = format!("dependency '{namespace}/root' is not ready");
        report(&cluster, "Kustomization", &format!("app-{n:02}"), ready("False", "DependencyNotReady", &text)).await;
    }

    let found = all(&cluster).await;
    assert_eq!((found["failing"].as_u64(), found["causes"].as_array().map(Vec::len)), (Some(24), Some(2)), "{found:#}");
    let first = &found["causes"][0];
    assert_eq!((&first["reason"], &first["object"]["name"]), (&json!("SourceNotFound"), &json!("branch")));
    let counts = json!([{"kind": "Kustomization", "count": 21}, {"kind": "GitRepository", "count": 1}]);
    assert_eq!(first["kinds"], counts);
    assert_eq!(found["causes"][1]["reason"], "HostUnreachable", "one host is one cause: {found:#}");

    let screen = run(&cluster, &["why", "-n", namespace]).await.exits(7);
    let screen = screen.stdout_has(&format!("24 objects failing in namespace {namespace}, 2 root causes"));
    let screen = screen.stdout_has("Affects 21 Kustomizations and 1 GitRepository: ").stdout_has(" and 19 more");
    assert!(!screen.stdout.contains("app-19"), "three are named:\n{}", screen.stdout);
    run(&cluster, &["why", "-n", namespace, "-o", "wide"]).await.exits(7).stdout_has("/app-19");
    let mark = cluster.mark().await;
    run(&cluster, &["why", "-n", namespace, "-o", "name"])
        .await
        .exits(7)
        .stdout_has("gitrepository.source.toolkit.fluxcd.io/");
    let requests = cluster.requests_since(mark).await;
    assert_eq!(requests.count("list", "kustomizations"), 1, "{:?}", requests.table());
    assert_eq!(requests.count("get", "kustomizations"), 0, "{:?}", requests.table());
    assert!(requests.len() <= 32, "{:?}", requests.table());
    // A single object, in any spelling.
    for words in [&["why", "ks/app-07"][..], &["why", "kustomization", "app-07"]] {
        run(&cluster, words).await.exits(7).stdout_has("Cause: the branch or tag does not exist (SourceNotFound)");
    }
    run(&cluster, &["why", "ks/ready"]).await.exits(0).stdout_has("is ready");
    run(&cluster, &["why", "ks/raedy"]).await.exits(3).stderr_has("did you mean ready?");
    // A kind alone stands for all of its objects.
    let kind = run(&cluster, &["why", "ks", "-n", namespace]).await.exits(7);
    kind.stdout_has(&format!("21 objects failing in namespace {namespace}, 1 root cause"))
        .stdout_has("(SourceNotFound)");
}

async fn a_kustomization_is_explained_down_to_the_log_of_a_pod(cluster: TestCluster) {
    installed(&cluster).await;
    let crash = Behaviour::CrashLoop { exit_code: 3, restarts: 4 };
    cluster.kubelet().add_rule(
        PodRule::new(cluster.namespace(), crash).name_starts_with("web-").log("starting\nfatal: no database\n"),
    );
    let labels = json!({"app": "web"});
    let web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
            "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}]}}}});
    cluster.apply(&[git("fine"), ks("app", "fine", &[]), web]).await;
    let namespace = cluster.namespace();
    let text = format!(
        "health check failed after 30.04s: timeout waiting for: [Deployment/{namespace}/web status: 'InProgress']"
    );
    let mut status = ready("False", "HealthCheckFailed", &text);
    status["inventory"] = json!({"entries": [{"id": format!("{namespace}_web_apps_Deployment"), "v": "v1"}]});
    report(&cluster, "Kustomization", "app", status).await;
    report(&cluster, "GitRepository", "fine", ready("True", "Succeeded", "stored artifact")).await;
    let crashing = || async {
        let found = run(&cluster, &["why", "ks/app", "-o", "json"]).await.exits(7).json();
        (found["cause"]["reason"] == "CrashLoop").then_some(found)
    };
    let found = eventually("the crash to be the cause", SOON, crashing).await.expect("found");
    assert!(evidence(&found["cause"]).contains("fatal: no database"), "{found:#}");
    assert!(evidence(&found["cause"]).contains("exit code 3"), "{found:#}");
    // The workload itself, and all of the namespace, come to the same.
    let direct = run(&cluster, &["why", "deployment/web", "-o", "json"]).await.exits(7).json();
    assert_eq!(direct["cause"]["object"], found["cause"]["object"], "{direct:#}");
    let all = all(&cluster).await;
    assert_eq!(all["causes"][0]["object"], found["cause"]["object"], "{all:#}");
}

async fn workloads_of_a_green_kustomization_that_fail_or_are_gone_are_found_with_few_requests(cluster: TestCluster) {
    installed(&cluster).await;
    let namespace = cluster.namespace();
    let crash = Behaviour::CrashLoop { exit_code: 3, restarts: 4 };
    cluster.kubelet().add_rule(PodRule::new(namespace, crash).name_starts_with("web-"));
    let deployment = |name: &str| {
        let labels = json!({"app": name});
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}]}}}})
    };
    let sound: Vec<String> = (0..10).map(|n| format!("sound-{n}")).collect();
    let mut workloads = vec![git("fine"), ks("app", "fine", &[]), deployment("web")];
    workloads.extend(sound.iter().map(|name| deployment(name)));
    cluster.apply(&workloads).await;
    let names = sound.iter().map(String::as_str).chain(["web", "gone"]);
    let entries: Vec<Value> =
        names.map(|name| json!({"id": format!("{namespace}_{name}_apps_Deployment"), "v": "v1"})).collect();
    let mut status = ready("True", "ReconciliationSucceeded", "Applied revision: main@sha1:1");
    status["inventory"] = json!({"entries": entries});
    report(&cluster, "Kustomization", "app", status).await;
    report(&cluster, "GitRepository", "fine", ready("True", "Succeeded", "stored artifact")).await;
    let reported = || async {
        let found = run(&cluster, &["why", "-n", namespace, "-o", "json"]).await.json();
        let is_told = found["failing"] == 2 && found["inProgress"] == 0;
        is_told.then_some(found)
    };
    let found = eventually("both workloads to be reported", SOON, reported).await.expect("found");
    let reasons: Vec<(&str, &str)> = found["causes"]
        .as_array()
        .expect("causes")
        .iter()
        .map(|cause| (cause["reason"].as_str().unwrap(), cause["affected"][0]["name"].as_str().unwrap()))
        .collect();
    assert!(reasons.contains(&("CrashLoop", "web")) && reasons.contains(&("ObjectMissing", "gone")), "{found:#}");
    assert_eq!(found["workloads"], 14, "two controllers among them: {found:#}");
    assert_eq!(all(&cluster).await["failing"], 2);
    let mark = cluster.mark().await;
    run(&cluster, &["why", "-n", namespace]).await.exits(7).stdout_has("Kustomization/").stdout_has("applied it");
    let requests = cluster.requests_since(mark).await;
    // Those of the instance, controllers of any namespace, and those of the inventory.
    assert_eq!(requests.count("list", "deployments"), 3, "{:?}", requests.table());
    assert_eq!(requests.count("get", "deployments"), 0, "{:?}", requests.table());
    assert!(requests.len() <= 36, "{:?}", requests.table());
    // For a single object and its kind, the objects that it applied are part of the answer.
    run(&cluster, &["why", "ks/app"]).await.exits(7);
    run(&cluster, &["why", "ks", "-n", namespace]).await.exits(0);
}

async fn a_controller_that_was_deleted_takes_its_objects_down(cluster: TestCluster) {
    // Other tests have controllers of their own in the shared cluster.
    let own = cluster.fresh(Options::api_server_only()).await;
    let admin = own.admin("why").expect("an admin");
    let ask = async |arguments: &[&str]| -> Run {
        let mut command = command(admin.path(), cluster.folder());
        command.args(arguments).stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output()).await.expect("joined");
        output.expect("the binary runs").into()
    };
    let mut manifest = instance(&cluster, json!({"components": ["source-controller", "kustomize-controller"]}));
    manifest["metadata"]["namespace"] = "flux-system".into();
    let file = cluster.folder().join("why.json");
    std::fs::write(&file, manifest.to_string()).expect("written");
    ask(&["apply", "instance", "-f", file.to_str().expect("UTF-8"), "--in-process"]).await.exits(0);
    let deployments = objects::api(own.client(), "apps/v1", "Deployment", "flux-system").await.expect("served");
    deployments.delete("kustomize-controller", &DeleteParams::default()).await.expect("deleted");
    objects::apply(own.client(), "default", &[git("fine"), ks("app", "fine", &[])]).await.expect("applied");
    let status = json!({"status": ready("True", "ReconciliationSucceeded", "Applied revision: x")});
    let api = objects::api(own.client(), "kustomize.toolkit.fluxcd.io/v1", "Kustomization", "default").await;
    let patched = api.expect("served").patch_status("app", &PatchParams::default(), &Patch::Merge(status)).await;
    patched.expect("written");

    let found = ask(&["why", "-A", "-o", "json"]).await.exits(7).json();
    let cause = |kind: &str, name: &str| -> &Value {
        let causes = found["causes"].as_array().expect("causes");
        let takes_down = |cause: &&Value| {
            let mut affected = cause["affected"].as_array().expect("affected").iter();
            affected.any(|object| object["kind"] == kind && object["name"] == name)
        };
        causes.iter().find(takes_down).unwrap_or_else(|| panic!("{kind}/{name} is well: {found:#}"))
    };
    assert_eq!(cause("Kustomization", "app")["reason"], "ControllerMissing", "{found:#}");
    assert_eq!(cause("GitRepository", "fine")["reason"], "ControllerNotReady", "{found:#}");
    // No pod was created, so the instance is not ready either.
    assert!(!cause("FluxInstance", "flux")["evidence"].as_array().expect("evidence").is_empty());
    ask(&["why", "ks/app", "-n", "default"])
        .await
        .exits(7)
        .stdout_has("kustomize-controller is not installed (ControllerMissing)");
}

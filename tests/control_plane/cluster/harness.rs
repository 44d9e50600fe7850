//! The harness tests itself: what other tests rely on is shown here.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, PersistentVolumeClaim, Pod, ResourceQuota};
use kube::api::{Api, DeleteParams, ListParams, LogParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::support::{
    Behaviour, ClaimBehaviour, ClusterTest, Component, ConnectProxy, ControlPlane, Fault, FaultProxy, FaultRule,
    Options, PodRule, TestCluster, allow, eventually, kubelet::PullFailure, local_cluster, objects, programs, runner,
    wait_for_quota,
};

const SOON: Duration = Duration::from_secs(20);

/// Environment variable with the role of the child process when this binary starts itself.
const CHILD: &str = "CLUSTER_TEST_CHILD";

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_pod_becomes_ready_within_a_second,
        a_deployment_becomes_available,
        an_image_that_cannot_be_pulled_is_seen_in_status_and_events,
        a_crash_loop_shows_the_last_exit_and_recovers,
        an_out_of_memory_kill_is_seen,
        a_slow_start_is_not_ready_at_first,
        a_pod_that_never_terminates_stays_until_the_rule_goes,
        a_claim_is_bound_unless_a_rule_says_otherwise,
        a_quota_refuses_pods,
        a_user_may_do_what_was_named_and_nothing_else,
        an_expired_certificate_is_unauthorized,
        an_expired_token_is_unauthorized,
        requests_are_counted_by_verb_and_resource,
        the_proxy_answers_instead_of_the_server,
        the_proxy_cuts_before_and_after_forwarding,
        the_proxy_delays_and_hangs,
        the_proxy_streams_watches,
        the_proxy_can_have_a_certificate_for_another_name,
        an_http_proxy_tunnels_to_the_server,
        logs_of_simulated_containers_can_be_read,
        the_server_of_a_fresh_control_plane_can_be_killed_and_frozen,
        a_control_plane_that_another_test_used_is_as_after_its_start,
        servers_end_when_their_owner_is_killed,
        without_programs_tests_are_ignored_and_fail_in_ci,
        a_failing_test_prints_the_last_log_lines,
        ready_programs_are_used_instead_of_building,
        the_local_cluster_prints_a_kubeconfig_and_cleans_up,
    ]
}

fn pods(cluster: &TestCluster) -> Api<Pod> {
    Api::namespaced(cluster.client(), cluster.namespace())
}

async fn create_pod(cluster: &TestCluster, name: &str, extra: Value) {
    let mut spec = json!({ "containers": [{ "name": "app", "image": "example.com/app:v1" }] });
    if let (Some(spec), Some(extra)) = (spec.as_object_mut(), extra.as_object()) {
        spec.extend(extra.clone());
    }
    let pod = serde_json::from_value(json!({ "metadata": { "name": name, "labels": { "app": name } }, "spec": spec }));
    pods(cluster).create(&PostParams::default(), &pod.unwrap()).await.unwrap();
}

/// Waits until the pod's status, as JSON, satisfies `holds`.
async fn pod_status(cluster: &TestCluster, name: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let api = pods(cluster);
    let last = std::sync::Mutex::new(Value::Null);
    let found = eventually(what, SOON, || async {
        let pod = api.get_opt(name).await.unwrap()?;
        let status = serde_json::to_value(pod.status).unwrap();
        *last.lock().unwrap() = status.clone();
        holds(&status).then_some(status)
    });
    found.await.unwrap_or_else(|error| panic!("{error}; last status {:#}", last.lock().unwrap()))
}

fn condition(status: &Value, kind: &str) -> String {
    let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    let of_kind = conditions.filter(|c| c.get("type").and_then(Value::as_str) == Some(kind));
    of_kind.filter_map(|c| c.get("status").and_then(Value::as_str)).next_back().unwrap_or_default().to_owned()
}

fn waiting_reason(status: &Value) -> &str {
    status.pointer("/containerStatuses/0/state/waiting/reason").and_then(Value::as_str).unwrap_or_default()
}

async fn events_of(cluster: &TestCluster, name: &str) -> Vec<String> {
    let events = Api::<Event>::namespaced(cluster.client(), cluster.namespace());
    let about = ListParams::default().fields(&format!("involvedObject.name={name}"));
    let list = events.list(&about).await.unwrap();
    list.into_iter().map(|e| format!("{}: {}", e.reason.unwrap_or_default(), e.message.unwrap_or_default())).collect()
}

async fn a_pod_becomes_ready_within_a_second(cluster: TestCluster) {
    let start = Instant::now();
    create_pod(&cluster, "web", json!({})).await;
    let status = pod_status(&cluster, "web", "web to be ready", |s| condition(s, "Ready") == "True").await;
    let took = start.elapsed();
    // Scheduling included; 60 ms on an idle machine. A kubelet that polled would need longer.
    assert!(took < Duration::from_secs(3), "took {took:?}");
    assert_eq!(status["phase"], "Running");
    assert_eq!(condition(&status, "PodScheduled"), "True");
    assert!(status["podIP"].as_str().unwrap().starts_with("10."));
    assert!(status["containerStatuses"][0]["imageID"].as_str().unwrap().starts_with("example.com/app@sha256:"));
}

async fn create_deployment(cluster: &TestCluster, name: &str, replicas: i32) {
    let deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": name },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "app", "image": "example.com/app:v1" }] },
            },
        },
    });
    cluster.apply(&[deployment]).await;
}

async fn a_deployment_becomes_available(cluster: TestCluster) {
    create_deployment(&cluster, "web", 3).await;
    let deployments = Api::<Deployment>::namespaced(cluster.client(), cluster.namespace());
    eventually("3 available replicas", SOON, || async {
        let status = deployments.get("web").await.unwrap().status?;
        (status.available_replicas == Some(3)).then_some(())
    })
    .await
    .unwrap();
}

async fn an_image_that_cannot_be_pulled_is_seen_in_status_and_events(cluster: TestCluster) {
    let missing = Behaviour::ImageCannotBePulled(PullFailure::NotFound);
    let rule = cluster.kubelet().add_rule(PodRule::new(cluster.namespace(), missing).image_contains("app:v1"));
    create_pod(&cluster, "web", json!({})).await;
    let status = pod_status(&cluster, "web", "ImagePullBackOff", |s| waiting_reason(s) == "ImagePullBackOff").await;
    assert_eq!(status["phase"], "Pending");
    assert_eq!(condition(&status, "Ready"), "False");
    let expected = "Failed: Failed to pull image \"example.com/app:v1\": rpc error: code = NotFound";
    eventually("the event of the failed pull", SOON, || async {
        let events = events_of(&cluster, "web").await;
        let backs_off = events.iter().any(|e| e == "BackOff: Back-off pulling image \"example.com/app:v1\"");
        (backs_off && events.iter().any(|e| e.starts_with(expected))).then_some(())
    })
    .await
    .unwrap();

    cluster.kubelet().remove_rule(rule);
    pod_status(&cluster, "web", "web to be ready", |s| condition(s, "Ready") == "True").await;
}

async fn a_crash_loop_shows_the_last_exit_and_recovers(cluster: TestCluster) {
    let crashes = Behaviour::CrashLoop { exit_code: 2, restarts: 4 };
    let rule = cluster.kubelet().add_rule(PodRule::new(cluster.namespace(), crashes).label("app", "web"));
    create_pod(&cluster, "web", json!({})).await;
    create_pod(&cluster, "other", json!({})).await;
    let status = pod_status(&cluster, "web", "CrashLoopBackOff", |s| waiting_reason(s) == "CrashLoopBackOff").await;
    let container = &status["containerStatuses"][0];
    assert_eq!(container["restartCount"], 4);
    assert_eq!(container["lastState"]["terminated"]["exitCode"], 2);
    assert_eq!(container["lastState"]["terminated"]["reason"], "Error");
    pod_status(&cluster, "other", "other to be ready", |s| condition(s, "Ready") == "True").await;

    cluster.kubelet().remove_rule(rule);
    let status = pod_status(&cluster, "web", "web to recover", |s| condition(s, "Ready") == "True").await;
    assert_eq!(status["containerStatuses"][0]["restartCount"], 5);
}

async fn an_out_of_memory_kill_is_seen(cluster: TestCluster) {
    let killed = Behaviour::OutOfMemory { restarts: 1 };
    cluster.kubelet().add_rule(PodRule::new(cluster.namespace(), killed).name_starts_with("web"));
    create_pod(&cluster, "web", json!({})).await;
    let status = pod_status(&cluster, "web", "CrashLoopBackOff", |s| waiting_reason(s) == "CrashLoopBackOff").await;
    let last = &status["containerStatuses"][0]["lastState"]["terminated"];
    assert_eq!((last["reason"].as_str(), last["exitCode"].as_i64()), (Some("OOMKilled"), Some(137)));
}

async fn a_slow_start_is_not_ready_at_first(cluster: TestCluster) {
    let slow = Behaviour::SlowStart(Duration::from_millis(1500));
    cluster.kubelet().add_rule(PodRule::new(cluster.namespace(), slow));
    create_pod(&cluster, "web", json!({})).await;
    let status = pod_status(&cluster, "web", "web to run", |s| s["phase"] == "Running").await;
    assert_eq!(condition(&status, "Ready"), "False");
    pod_status(&cluster, "web", "web to be ready", |s| condition(s, "Ready") == "True").await;
}

async fn a_pod_that_never_terminates_stays_until_the_rule_goes(cluster: TestCluster) {
    let rule = cluster.kubelet().add_rule(PodRule::new(cluster.namespace(), Behaviour::NeverTerminates));
    create_pod(&cluster, "web", json!({})).await;
    pod_status(&cluster, "web", "web to be ready", |s| condition(s, "Ready") == "True").await;
    let api = pods(&cluster);
    api.delete("web", &DeleteParams::default()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(api.get("web").await.unwrap().metadata.deletion_timestamp.is_some());
    cluster.kubelet().remove_rule(rule);
    eventually("web to be gone", SOON, || async { api.get_opt("web").await.unwrap().is_none().then_some(()) })
        .await
        .unwrap();
}

async fn a_claim_is_bound_unless_a_rule_says_otherwise(cluster: TestCluster) {
    cluster.kubelet().set_claims(cluster.namespace(), "full", ClaimBehaviour::Unbound);
    let claims = Api::<PersistentVolumeClaim>::namespaced(cluster.client(), cluster.namespace());
    for name in ["good", "full"] {
        let claim = json!({ "metadata": { "name": name }, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } },
        }});
        claims.create(&PostParams::default(), &serde_json::from_value(claim).unwrap()).await.unwrap();
    }
    let uses = json!({ "volumes": [{ "name": "data", "persistentVolumeClaim": { "claimName": "full" } }] });
    create_pod(&cluster, "web", uses).await;
    let phase = async |name: &str| claims.get(name).await.unwrap().status.and_then(|s| s.phase).unwrap_or_default();
    eventually("good to be bound", SOON, || async { (phase("good").await == "Bound").then_some(()) }).await.unwrap();
    assert_eq!(phase("full").await, "Pending");
    let status = pod_status(&cluster, "web", "web to be unschedulable", |s| condition(s, "PodScheduled") == "False");
    assert_eq!(status.await["phase"], "Pending");

    cluster.kubelet().set_claims(cluster.namespace(), "full", ClaimBehaviour::Bound);
    eventually("full to be bound", SOON, || async { (phase("full").await == "Bound").then_some(()) }).await.unwrap();
    pod_status(&cluster, "web", "web to be ready", |s| condition(s, "Ready") == "True").await;
}

async fn a_quota_refuses_pods(cluster: TestCluster) {
    let quotas = Api::<ResourceQuota>::namespaced(cluster.client(), cluster.namespace());
    let quota = json!({ "metadata": { "name": "none" }, "spec": { "hard": { "pods": "0" } } });
    quotas.create(&PostParams::default(), &serde_json::from_value(quota).unwrap()).await.unwrap();
    wait_for_quota(&cluster.client(), cluster.namespace(), "none").await.unwrap();
    create_deployment(&cluster, "web", 1).await;
    let deployments = Api::<Deployment>::namespaced(cluster.client(), cluster.namespace());
    eventually("the refusal in the deployment's conditions", SOON, || async {
        let conditions = deployments.get("web").await.unwrap().status?.conditions?;
        let refused = conditions.into_iter().find(|c| c.type_.as_deref() == Some("ReplicaFailure"))?;
        refused.message?.contains("exceeded quota: none").then_some(())
    })
    .await
    .unwrap();
}

fn code<T: std::fmt::Debug>(outcome: Result<T, kube::Error>) -> u16 {
    match outcome {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("expected an answer of the API server, got {other:?}"),
    }
}

async fn a_user_may_do_what_was_named_and_nothing_else(cluster: TestCluster) {
    let name = format!("reader-{}", cluster.namespace());
    let rights = [allow(&["list"], "", &["configmaps"])];
    let client = cluster.user(&name, Some(cluster.namespace()), &rights).await.unwrap().client().await.unwrap();
    let configmaps = Api::<ConfigMap>::namespaced(client.clone(), cluster.namespace());
    configmaps.list(&ListParams::default()).await.unwrap();
    assert_eq!(code(configmaps.delete("kube-root-ca.crt", &DeleteParams::default()).await), 403);
    assert_eq!(code(Api::<Pod>::namespaced(client, cluster.namespace()).list(&ListParams::default()).await), 403);
}

async fn list_status(client: Client) -> u16 {
    code(Api::<ConfigMap>::default_namespaced(client).list(&ListParams::default()).await)
}

async fn an_expired_certificate_is_unauthorized(cluster: TestCluster) {
    assert_eq!(list_status(cluster.expired_certificate().unwrap().client().await.unwrap()).await, 401);
}

async fn an_expired_token_is_unauthorized(cluster: TestCluster) {
    assert_eq!(list_status(cluster.expired_token().unwrap().client().await.unwrap()).await, 401);
}

async fn requests_are_counted_by_verb_and_resource(cluster: TestCluster) {
    let configmaps = Api::<ConfigMap>::namespaced(cluster.client(), cluster.namespace());
    let object = serde_json::from_value(json!({ "metadata": { "name": "one" } })).unwrap();
    configmaps.list(&ListParams::default()).await.unwrap();
    let mark = cluster.mark().await;
    configmaps.create(&PostParams::default(), &object).await.unwrap();
    configmaps.get("one").await.unwrap();
    configmaps.get("one").await.unwrap();
    assert_eq!(code(configmaps.get("two").await), 404);
    let requests = cluster.requests_since(mark).await;
    assert_eq!(requests.count("get", "configmaps"), 3, "{:?}", requests.table());
    assert_eq!(requests.count("create", "configmaps"), 1);
    assert_eq!((requests.len(), requests.writes().len()), (4, 1));
    assert_eq!(requests.0.iter().filter(|r| r.status == 404).count(), 1);
}

async fn the_proxy_answers_instead_of_the_server(cluster: TestCluster) {
    let proxy = cluster.proxy().await;
    let configmaps = Api::<ConfigMap>::namespaced(proxy.kubeconfig().client().await.unwrap(), cluster.namespace());
    configmaps.list(&ListParams::default()).await.unwrap();

    proxy.add_rule(FaultRule::first(1, Fault::too_many_requests(1)).method("GET"));
    proxy.add_rule(FaultRule::nth(2, Fault::unavailable()));
    proxy.add_rule(FaultRule::nth(3, Fault::conflict()));
    proxy.add_rule(FaultRule::nth(4, Fault::internal_error()).uri(|uri| uri.contains("/configmaps")));
    let mut answers = Vec::new();
    for _ in 0..4 {
        answers.push(code(configmaps.list(&ListParams::default()).await));
    }
    assert_eq!(answers, [429, 503, 409, 500]);
    configmaps.list(&ListParams::default()).await.unwrap();
    assert_eq!(proxy.count("GET", |uri| uri.contains("/configmaps")), 6);
    let passed = proxy.requests().iter().filter(|seen| seen.status == Some(200)).count();
    assert_eq!(passed, 2);
}

async fn the_proxy_cuts_before_and_after_forwarding(cluster: TestCluster) {
    let proxy = cluster.proxy().await;
    let through = Api::<ConfigMap>::namespaced(proxy.kubeconfig().client().await.unwrap(), cluster.namespace());
    let direct = Api::<ConfigMap>::namespaced(cluster.client(), cluster.namespace());
    let object = |name: &str| serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();

    proxy.add_rule(FaultRule::first(1, Fault::CutBefore).method("POST"));
    proxy.add_rule(FaultRule::nth(2, Fault::CutAfter).method("POST"));
    for name in ["before", "after"] {
        let outcome = through.create(&PostParams::default(), &object(name)).await;
        assert!(matches!(outcome, Err(kube::Error::HyperError(_) | kube::Error::Service(_))), "{outcome:?}");
    }
    assert!(direct.get_opt("before").await.unwrap().is_none());
    assert!(direct.get_opt("after").await.unwrap().is_some());
}

async fn the_proxy_delays_and_hangs(cluster: TestCluster) {
    let proxy = cluster.proxy().await;
    let configmaps = Api::<ConfigMap>::namespaced(proxy.kubeconfig().client().await.unwrap(), cluster.namespace());
    proxy.add_rule(FaultRule::first(1, Fault::Delay(Duration::from_millis(400))));
    let start = Instant::now();
    configmaps.list(&ListParams::default()).await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(400));

    proxy.clear_rules();
    proxy.add_rule(FaultRule::every(Fault::Hang));
    let patience = Duration::from_millis(500);
    let silent = tokio::time::timeout(patience, configmaps.list(&ListParams::default())).await;
    assert!(silent.is_err(), "{silent:?}");
}

async fn the_proxy_streams_watches(cluster: TestCluster) {
    use futures::TryStreamExt;
    use kube::api::{WatchEvent, WatchParams};
    let proxy = cluster.proxy().await;
    let configmaps = Api::<ConfigMap>::namespaced(proxy.kubeconfig().client().await.unwrap(), cluster.namespace());
    let version = configmaps.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let mut changes = Box::pin(configmaps.watch(&WatchParams::default(), &version).await.unwrap());
    let object = serde_json::from_value(json!({ "metadata": { "name": "seen" } })).unwrap();
    Api::<ConfigMap>::namespaced(cluster.client(), cluster.namespace())
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
    let seen = tokio::time::timeout(SOON, async {
        while let Some(change) = changes.try_next().await.unwrap() {
            if matches!(&change, WatchEvent::Added(object) if object.name_any() == "seen") {
                return true;
            }
        }
        false
    });
    assert!(seen.await.unwrap());
    proxy.cut_connections();
    let end = tokio::time::timeout(SOON, changes.try_next()).await.unwrap();
    assert!(matches!(end, Err(_) | Ok(None)), "{end:?}");
}

async fn the_proxy_can_have_a_certificate_for_another_name(cluster: TestCluster) {
    let names = ["elsewhere.example.com"];
    let proxy = FaultProxy::start_as(cluster.kubeconfig(), cluster.folder(), &names).await.unwrap();
    let configmaps = Api::<ConfigMap>::namespaced(proxy.kubeconfig().client().await.unwrap(), cluster.namespace());
    let error = configmaps.list(&ListParams::default()).await.unwrap_err();
    assert!(format!("{error:?}").contains("elsewhere.example.com"), "{error:?}");
    assert!(proxy.requests().is_empty());
}

async fn an_http_proxy_tunnels_to_the_server(cluster: TestCluster) {
    let proxy = ConnectProxy::start().await.unwrap();
    let mut value = cluster.kubeconfig().value();
    value["clusters"][0]["cluster"]["proxy-url"] = json!(proxy.url());
    let kubeconfig = serde_json::from_value(value).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();
    Api::<ConfigMap>::namespaced(client, cluster.namespace()).list(&ListParams::default()).await.unwrap();
    assert_eq!(proxy.tunnels(), [cluster.url().trim_start_matches("https://")]);
}

async fn logs_of_simulated_containers_can_be_read(cluster: TestCluster) {
    let rule = PodRule::new(cluster.namespace(), Behaviour::Run).log("one\ntwo\n");
    cluster.kubelet().add_rule(rule);
    create_pod(&cluster, "web", json!({})).await;
    pod_status(&cluster, "web", "web to be ready", |s| condition(s, "Ready") == "True").await;
    let last = LogParams { tail_lines: Some(1), ..LogParams::default() };
    assert_eq!(pods(&cluster).logs("web", &last).await.unwrap(), "two\n");
}

async fn the_server_of_a_fresh_control_plane_can_be_killed_and_frozen(cluster: TestCluster) {
    let fresh = cluster.fresh(Options::api_server_only()).await;
    let configmaps = Api::<ConfigMap>::namespaced(fresh.client().clone(), "default");
    let object = serde_json::from_value(json!({ "metadata": { "name": "kept" } })).unwrap();
    configmaps.create(&PostParams::default(), &object).await.unwrap();
    fresh.kill(Component::ApiServer);
    assert!(configmaps.get("kept").await.is_err());
    fresh.restart(Component::ApiServer).await.unwrap();
    configmaps.get("kept").await.unwrap();

    fresh.freeze(Component::ApiServer);
    let silent = tokio::time::timeout(Duration::from_millis(500), configmaps.get("kept")).await;
    assert!(silent.is_err(), "{silent:?}");
    fresh.thaw(Component::ApiServer);
    configmaps.get("kept").await.unwrap();
}

async fn a_control_plane_that_another_test_used_is_as_after_its_start(cluster: TestCluster) {
    // No other test has one like it.
    let options = Options { context: "used-twice".to_owned(), ..Options::default() };
    let first = cluster.fresh(options.clone()).await;
    let url = first.url().to_owned();
    first.kubelet().add_rule(PodRule::new("team", Behaviour::MountFails("no volume".to_owned())));
    let kind = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.used.example"},
        "spec": {
            "group": "used.example", "scope": "Cluster", "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
    let labels =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"a": "b"}}});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "team"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
        },
    });
    objects::apply(first.client(), "default", &[kind, namespace.clone(), labels, deployment.clone()]).await.unwrap();
    eventually("the definition to be served", SOON, || async {
        first.groups().await.ok()?.contains("used.example").then_some(())
    })
    .await
    .unwrap();
    std::fs::write(first.folder().join("left"), "behind").unwrap();
    drop(first);

    let second = cluster.fresh(options).await;
    assert_eq!(second.url(), url, "it is the same one");
    assert!(!second.groups().await.unwrap().contains("used.example"));
    assert!(!second.folder().join("left").exists());
    let namespaces = Api::<Namespace>::all(second.client().clone());
    let left = namespaces.list(&ListParams::default()).await.unwrap();
    let names: Vec<String> = left.iter().map(ResourceExt::name_any).collect();
    assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
    assert!(!namespaces.get("default").await.unwrap().labels().contains_key("a"));
    // Its controllers work, and the rule for the kubelet is gone.
    objects::apply(second.client(), "default", &[namespace, deployment]).await.unwrap();
    let deployments = Api::<Deployment>::namespaced(second.client().clone(), "team");
    eventually("the deployment to be available", SOON, || async {
        deployments.get("web").await.ok()?.status?.available_replicas
    })
    .await
    .unwrap();
}

/// The action of this binary when one of the tests below starts it.
pub fn run_as_child() -> Option<ExitCode> {
    let tests = || cluster_tests![a_deliberate_failure];
    match std::env::var(CHILD).ok()?.as_str() {
        "owner" => be_an_owner_to_be_killed(),
        "start" => Some(start_and_stop()),
        "local-cluster" => Some(runtime().block_on(local_cluster::main())),
        "unavailable" => Some(runner::run(tests(), &[], || Some("needs a reason".to_owned()))),
        "failure" => Some(runner::run(tests(), &[], || None)),
        other => panic!("unknown {CHILD}={other}"),
    }
}

fn child(role: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.env(CHILD, role).env_remove("CI").env_remove("CONTROL_PLANE_BIN").env_remove("KUBEBUILDER_ASSETS");
    child
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().expect("a runtime starts")
}

fn be_an_owner_to_be_killed() -> Option<ExitCode> {
    runtime().block_on(async {
        let control_plane = ControlPlane::start().await.expect("a control plane starts");
        println!("{}", control_plane.folder().display());
        for pid in control_plane.pids() {
            println!("{pid}");
        }
        println!("started");
        std::future::pending::<()>().await;
    });
    None
}

fn start_and_stop() -> ExitCode {
    match runtime().block_on(ControlPlane::start()) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A folder of wrapper scripts, each of which records its use and then runs the program that it is named after.
fn ready_programs(components: &[Component]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for component in components {
        let program = programs::find(*component).unwrap();
        let (real, name) = (program.file.display(), component.as_str());
        let first = program.first_argument.unwrap_or_default();
        let file = folder.path().join(name);
        let note = folder.path().join(format!("used-{name}"));
        let script = format!("#!/bin/sh\n: >'{}'\nexec '{real}' {first} \"$@\"\n", note.display());
        std::fs::write(&file, script).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

fn used(folder: &Path) -> usize {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    files.filter(|name| name.to_string_lossy().starts_with("used-")).count()
}

async fn ready_programs_are_used_instead_of_building(_: TestCluster) {
    let all = ready_programs(&Component::ALL);
    let output = child("start").env("CONTROL_PLANE_BIN", all.path()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(used(all.path()), 4);

    let two = ready_programs(&[Component::Etcd, Component::ApiServer]);
    let output = child("start").env("KUBEBUILDER_ASSETS", two.path()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(used(two.path()), 2);

    // That variable promises all four: a missing one is an error, not a build.
    let output = child("start").env("CONTROL_PLANE_BIN", two.path()).output().unwrap();
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("CONTROL_PLANE_BIN has no kube-controller-manager"));
}

async fn servers_end_when_their_owner_is_killed(_: TestCluster) {
    let mut owner = child("owner").stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(owner.stdout.take().unwrap());
    let mut lines: Vec<String> = output.lines().map(Result::unwrap).take_while(|line| line != "started").collect();
    let folder = lines.remove(0);
    let runs = |pid: &String| Path::new("/proc").join(pid).join("exe").read_link().is_ok();
    assert_eq!(lines.len(), 4);
    assert!(lines.iter().all(runs));
    owner.kill().unwrap();
    owner.wait().unwrap();
    eventually("the servers to end", SOON, || async { (!lines.iter().any(runs)).then_some(()) }).await.unwrap();
    removed(&folder).await;
}

async fn removed(folder: &str) {
    let gone = || async { (!Path::new(folder).exists()).then_some(()) };
    eventually("the folder to be removed", SOON, gone).await.unwrap();
}

async fn a_deliberate_failure(_: TestCluster) {
    panic!("on purpose");
}

async fn without_programs_tests_are_ignored_and_fail_in_ci(_: TestCluster) {
    let output = child("unavailable").output().unwrap();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stdout}");
    assert!(stdout.contains("0 passed; 0 failed; 1 ignored"), "{stdout}");
    assert!(stdout.contains("needs a reason") && stderr.contains("needs a reason"), "{stdout}{stderr}");

    let output = child("unavailable").env("CI", "true").output().unwrap();
    let stdout = text(&output.stdout);
    assert!(!output.status.success());
    assert!(stdout.contains("0 passed; 1 failed") && stdout.contains("needs a reason"), "{stdout}");
}

async fn a_failing_test_prints_the_last_log_lines(_: TestCluster) {
    let output = child("failure").output().unwrap();
    let stdout = text(&output.stdout);
    assert!(!output.status.success());
    assert!(stdout.contains("on purpose"), "{stdout}");
    let (_, log) = stdout.split_once("--- kube-apiserver\n").unwrap_or_else(|| panic!("no log in {stdout}"));
    let first = log.lines().next().unwrap_or_default();
    // A line of the server's: severity, month and day, time.
    assert!(first.get(1..5).is_some_and(|date| date.parse::<u16>().is_ok()), "{first}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

async fn the_local_cluster_prints_a_kubeconfig_and_cleans_up(_: TestCluster) {
    let mut example =
        child("local-cluster").stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(example.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let path = line.trim().strip_prefix("export KUBECONFIG=").unwrap_or_else(|| panic!("unexpected line {line:?}"));
    let kubeconfig = kube::config::Kubeconfig::read_from(path).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();
    Api::<ConfigMap>::namespaced(client, "default").list(&ListParams::default()).await.unwrap();

    // As Ctrl-C in a terminal: to the whole group.
    let interrupt = format!("kill -INT -{}", example.id());
    assert!(Command::new("sh").args(["-c", &interrupt]).status().unwrap().success());
    let folder = Path::new(path).parent().unwrap().to_str().unwrap();
    removed(folder).await;
    example.wait().unwrap();
}

//! Real failures: the controllers produce them, and `debug` must print the values and variables that they used.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::support::runner::ClusterTest;
use crate::support::{Behaviour, PodRule, TestCluster, eventually};
use crate::world::{SOON, World, api, kustomization, run, source, until, with};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        values_and_variables_are_those_that_helm_and_substitution_used,
        failures_of_real_controllers_are_explained,
        logs_of_real_controllers_are_filtered_to_one_object,
        applied_and_pruned_objects_are_listed_as_changes_of_flux,
    ]
}

const CHART: &str = "apiVersion: v2\nname: app\nversion: 1.0.0\n";
const VALUES: &str = "image:\n  tag: v1\n  pull: Always\nreplicas: 1\n";
const TEMPLATE: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  tag: {{ .Values.image.tag }}\n";

fn release(name: &str, chart: &str) -> Value {
    json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": name},
        "spec": {"interval": "10m", "timeout": "40s", "install": {"remediation": {"retries": -1}},
            "chart": {"spec": {"chart": chart, "reconcileStrategy": "Revision", "sourceRef": {"kind": "GitRepository", "name": "app"}}}}})
}

/// Returns the Secret in which Helm stored the first revision of a release
/// (<https://helm.sh/docs/topics/advanced/#storage-backends>).
async fn stored_release(cluster: &TestCluster, name: &str) -> Value {
    let secret = api(cluster, "Secret").get(&format!("sh.helm.release.v1.{name}.v1")).await.expect("a release");
    let text = secret.data["data"]["release"].as_str().expect("a text").to_owned();
    let inner = STANDARD.decode(text).expect("base64 of the API");
    let packed = STANDARD.decode(inner).expect("base64 of Helm");
    let mut json = String::new();
    GzDecoder::new(packed.as_slice()).read_to_string(&mut json).expect("gzip");
    serde_json::from_str(&json).expect("JSON")
}

async fn values_and_variables_are_those_that_helm_and_substitution_used(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.repository.write("chart/Chart.yaml", CHART).unwrap();
    world.repository.write("chart/values.yaml", VALUES).unwrap();
    world.repository.write("chart/templates/map.yaml", TEMPLATE).unwrap();
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: seen\ndata:\n  all: ${host}/${region}/${token}/${port:=80}\n";
    world.repository.write("vars/map.yaml", template).unwrap();
    world.repository.commit("values").unwrap();
    let mut web = release("web", "./chart");
    web["spec"]["valuesFrom"] = json!([
        {"kind": "ConfigMap", "name": "base"},
        {"kind": "Secret", "name": "creds", "valuesKey": "password", "targetPath": "auth.password"},
    ]);
    web["spec"]["values"] = json!({"image": {"tag": "v3"}});
    let vars = with(
        kustomization(&cluster, "vars", "./vars"),
        "postBuild",
        json!({"substitute": {"host": "own.example.com"}, "substituteFrom": [
            {"kind": "ConfigMap", "name": "vars"}, {"kind": "Secret", "name": "vars-secret"}]}),
    );
    cluster
        .apply(&[
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "base"},
                "data": {"values.yaml": "image:\n  tag: v2\n  pull: Never\nextra: [1, 2]\n"}}),
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "creds"}, "stringData": {"password": "s3cr3t-one"}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "vars"},
                "data": {"host": "other.example.com", "region": "eu\n"}}),
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vars-secret"}, "stringData": {"token": "s3cr3t-two"}}),
            source("app", &world.url()),
            web,
            vars,
        ])
        .await;
    until(&cluster, "HelmRelease", "web", "True").await;
    until(&cluster, "Kustomization", "vars", "True").await;

    let reported = run(&cluster, "debug hr web --values --reveal -o json").await.exits(0).json();
    let used = stored_release(&cluster, "web").await;
    assert_eq!(reported["values"], used["config"], "{reported:#}");
    assert_eq!(reported["values"]["image"], json!({"tag": "v3", "pull": "Never"}));
    let masked = run(&cluster, "debug hr web --values").await.exits(0);
    assert!(!masked.stdout.contains("s3cr3t"), "{}", masked.stdout);

    let reported = run(&cluster, "debug ks vars --vars --reveal -o json").await.exits(0).json();
    let text = |name: &str| reported["values"][name].as_str().unwrap_or_default().to_owned();
    let seen = api(&cluster, "ConfigMap").get("seen").await.expect("applied");
    let expected = format!("{}/{}/{}/80", text("host"), text("region"), text("token"));
    assert_eq!(seen.data["data"]["all"], Value::from(expected), "{reported:#}");
    assert!(!run(&cluster, "debug ks vars --vars").await.exits(0).stdout.contains("s3cr3t"));
    run(&cluster, "debug hr web --history").await.exits(0).stdout_has("1.0.0");
    run(&cluster, "debug ks vars --status").await.exits(0).stdout_has("ReconciliationSucceeded");
}

async fn failures_of_real_controllers_are_explained(cluster: TestCluster) {
    let namespace = cluster.namespace().to_owned();
    cluster.kubelet().add_rule(
        PodRule::new(&namespace, Behaviour::CrashLoop { exit_code: 3, restarts: 4 }).name_starts_with("stuck"),
    );
    cluster.kubelet().add_rule(PodRule::new(&namespace, Behaviour::Ends { exit_code: 1 }).name_starts_with("hook"));
    let world = World::new(&cluster).await;
    let stuck = crate::world::DEPLOYMENT.replace("name: web", "name: stuck").replace("app: web", "app: stuck");
    world.repository.write("stuck/deployment.yaml", &stuck).unwrap();
    world.repository.write("failing/Chart.yaml", CHART).unwrap();
    world.repository.write("failing/templates/map.yaml", "{{ fail \"this chart wants a host\" }}\n").unwrap();
    world.repository.write("hook/Chart.yaml", CHART).unwrap();
    let hook = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: hook\n  annotations:\n    helm.sh/hook: pre-install\nspec:\n  \
        backoffLimit: 0\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n        - {name: hook, image: example.com/hook:1}\n";
    world.repository.write("hook/templates/job.yaml", hook).unwrap();
    world.repository.commit("failures").unwrap();
    let mut branch = source("branch", &world.url());
    branch["spec"]["ref"]["branch"] = "nope".into();
    let secret = with(source("secret", &world.url()), "secretRef", json!({"name": "absent"}));
    let waiting =
        |name: &str, on: &str| with(kustomization(&cluster, name, "./deploy"), "dependsOn", json!([{"name": on}]));
    let mut unhealthy = with(kustomization(&cluster, "unhealthy", "./stuck"), "wait", json!(true));
    unhealthy["spec"]["timeout"] = "30s".into();
    cluster
        .apply(&[
            source("app", &world.url()),
            branch,
            secret,
            unhealthy,
            waiting("first", "second"),
            waiting("second", "first"),
            release("no-chart", "./nowhere"),
            release("failing", "./failing"),
            release("hook", "./hook"),
        ])
        .await;
    // The expected explanations; some end in the chart or the job below.
    let expected: [(&str, &[&str]); 7] = [
        ("gitrepo/branch", &["SourceNotFound"]),
        ("gitrepo/secret", &["SecretMissing"]),
        ("ks/unhealthy", &["CrashLoop"]),
        ("ks/first", &["DependencyCycle"]),
        ("hr/no-chart", &["ChartNotFound"]),
        ("hr/failing", &["ChartFailed"]),
        ("hr/hook", &["HelmHookFailed", "JobFailed"]),
    ];
    for (object, reasons) in expected {
        let explained = || async {
            let reported = run(&cluster, &format!("why {object} -o json")).await;
            let reason = reported.json()["cause"]["reason"].as_str().unwrap_or_default().to_owned();
            reasons.contains(&reason.as_str()).then_some(reported)
        };
        match eventually(&format!("{object} to be explained by {reasons:?}"), SOON * 2, explained).await {
            Ok(reported) => {
                reported.exits(7);
            }
            Err(error) => panic!("{error}: {}", run(&cluster, &format!("why {object}")).await.stdout),
        }
    }
    let all = run(&cluster, &format!("why -n {namespace} -o json")).await.exits(7).json();
    let taken_down = |reason: &str| -> Vec<&str> {
        let causes = all["causes"].as_array().into_iter().flatten();
        let affected = causes.filter(|cause| cause["reason"] == reason).flat_map(|cause| cause["affected"].as_array());
        affected.flatten().filter_map(|object| object["name"].as_str()).collect()
    };
    assert_eq!(taken_down("DependencyCycle"), ["first", "second"], "{all:#}");
    assert!(taken_down("CrashLoop").contains(&"stuck"), "an applied object that fails is reported as well: {all:#}");
}

async fn logs_of_real_controllers_are_filtered_to_one_object(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.every_state(&cluster).await;
    let namespace = cluster.namespace();
    // The controllers are processes here: their own lines stand in a dump as `kubectl cluster-info dump` writes them.
    let name = "kustomize-controller";
    let labels = json!({"app": name, "app.kubernetes.io/part-of": "flux"});
    let pod = json!({"containers": [{"name": "manager", "image": "x"}]});
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "flux-system", "labels": labels},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "kc-1", "namespace": "flux-system", "labels": labels}, "spec": pod}]});
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("logs")).expect("made");
    std::fs::write(folder.path().join("objects.json"), objects.to_string()).expect("written");
    let lines = cluster.flux().last_log_lines(2_000);
    let lines: Vec<&str> = lines.lines().filter(|line| line.starts_with('{')).collect();
    let mark = |word: &str| format!("==== {word} logs for container manager of pod flux-system/kc-1 ====\n");
    let text = format!("{}{}\n{}", mark("START"), lines.join("\n"), mark("END"));
    std::fs::write(folder.path().join("logs/logs.txt"), text).expect("written");
    let dump = folder.path().display();

    let reported = run(&cluster, &format!("-n {namespace} logs ks/broken -o json --from {dump}")).await.exits(0).stdout;
    let reported: Vec<Value> = reported.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(!reported.is_empty(), "the controller wrote about it: {lines:#?}");
    for line in &reported {
        let about = [&line["name"], &line["Kustomization"]["name"], &line["object"]["name"]];
        assert!(about.iter().any(|name| **name == "broken"), "{line:#}");
    }
    let shown = run(&cluster, &format!("-n {namespace} logs ks/broken --level error --from {dump}")).await.exits(0);
    let object = format!("Kustomization/{namespace}/broken");
    assert!(!shown.stdout.is_empty() && shown.stdout.lines().all(|line| line.contains(&object)), "{}", shown.stdout);
    assert!(shown.stdout.contains("MalformedYAMLError"), "{}", shown.stdout);
}

async fn applied_and_pruned_objects_are_listed_as_changes_of_flux(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world
        .repository
        .write("deploy/extra.yaml", &crate::world::config_map("one").replace("name: web", "name: extra"))
        .unwrap();
    world.repository.commit("extra").unwrap();
    world.ready_app(&cluster).await;
    world.repository.remove("deploy/extra.yaml").unwrap();
    world.repository.commit("without extra").unwrap();
    run(&cluster, "reconcile gitrepo/app --wait").await.exits(0);
    run(&cluster, "reconcile ks/app --wait").await.exits(0);
    let words = format!("what-changed -n {} --since 10m -o json", cluster.namespace());
    let wanted = [
        ("deleted", "ConfigMap", "extra"),
        ("created", "Deployment", "web"),
        ("reconciled", "Kustomization", "app"),
        ("fetched", "GitRepository", "app"),
    ];
    let complete = || async {
        let reported = run(&cluster, &words).await.exits(0).json();
        let rows = reported["items"].as_array()?;
        let is_told = |(action, kind, name): &(&str, &str, &str)| {
            rows.iter().any(|row| {
                row["action"] == *action
                    && row["object"]["kind"] == *kind
                    && row["object"]["name"] == *name
                    && row["author"] == "flux"
            })
        };
        wanted.iter().all(is_told).then_some(())
    };
    if let Err(error) = eventually("all changes", SOON, complete).await {
        panic!("{error}: {}", run(&cluster, &format!("what-changed -n {}", cluster.namespace())).await.stdout);
    }
}

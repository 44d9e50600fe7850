//! The chart in `deploy/chart`, judged by the real helm: the same objects as the manifests, and values that are checked.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flux_operator::format::yaml;
use flux_operator::k8s::ObjectId;
use serde_json::Value;

use crate::cluster_tests;
use crate::support::go_program::{GoProgram, go_is_installed};
use crate::support::{ClusterTest, Options, TestCluster};

const HELM: GoProgram = GoProgram {
    name: "helm",
    folder: "tests/programs/helm",
    inputs: &["go.mod"],
    output: "helm",
    packages: &["tool"],
    programs: &["helm"],
    optimised: false,
    link_flags: "",
};

pub fn tests() -> Vec<ClusterTest> {
    let tests = cluster_tests![
        the_chart_has_the_objects_of_the_manifests_for_all_values,
        values_that_the_chart_does_not_know_are_refused,
        the_chart_is_installed_upgraded_and_leaves_its_definitions,
        objects_of_the_program_are_adopted_by_a_release_that_takes_ownership,
    ];
    tests.into_iter().map(|test| test.where_possible(unavailable_because)).collect()
}

fn unavailable_because() -> Option<String> {
    (!HELM.is_built() && !go_is_installed()).then(|| "needs Go to build helm".to_owned())
}

async fn helm() -> PathBuf {
    tokio::task::spawn_blocking(|| HELM.ensure().map_err(|error| error.to_string()))
        .await
        .unwrap()
        .unwrap()
        .join("helm")
}

/// The chart has no image of its own.
const IMAGE_VALUES: &str = "image.repository=r.example/op,image.tag=v1";

fn deploy(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(file)
}

fn run(helm: &Path, arguments: &[&str], kubeconfig: Option<&Path>) -> Output {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(helm);
    command.args(arguments).arg("--namespace").arg("flux-system").env_clear();
    for variable in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HOME"] {
        command.env(variable, home.path());
    }
    command.env("KUBECONFIG", kubeconfig.unwrap_or(Path::new("/nowhere")));
    command.output().expect("helm runs")
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The objects in a comparable order, without what only Helm needs.
fn objects(text: &str) -> Vec<Value> {
    let mut objects = yaml::parse_documents(text).unwrap();
    // Helm makes the namespace itself, or finds it.
    objects.retain(|object| object["kind"] != "Namespace");
    for object in &mut objects {
        let Some(metadata) = object["metadata"].as_object_mut() else { panic!("{object}") };
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("helm.sh/resource-policy");
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    objects.sort_by_key(ObjectId::of);
    objects
}

fn exported(arguments: &str) -> Vec<Value> {
    let home = tempfile::tempdir().unwrap();
    let mut command = crate::support::runner::command(Path::new("/nowhere"), home.path());
    let output = command.args(["install", "--export"]).args(arguments.split_whitespace()).output().unwrap();
    objects(&text(&output))
}

async fn the_chart_has_the_objects_of_the_manifests_for_all_values(_: TestCluster) {
    let helm = helm().await;
    let chart = deploy("chart");
    let chart = chart.to_str().unwrap();
    let rendered = |values: &[&str]| {
        let template = ["template", "flux-operator", chart, "--set", IMAGE_VALUES];
        objects(&text(&run(&helm, &[&template[..], values].concat(), None)))
    };
    assert_eq!(rendered(&[]), exported("--image r.example/op:v1"));
    let plain =
        std::fs::read_to_string(deploy("install.yaml")).unwrap().replace("image: IMAGE", "image: r.example/op:v1");
    assert_eq!(rendered(&[]), objects(&plain));
    let values = [
        "--set",
        "clusterAdmin=true,replicas=2,image.repository=r.example/op,image.tag=v2,extraArgs={--log-level=debug}",
        "--set",
        "imagePullSecrets[0].name=pull",
    ];
    let flags =
        "--cluster-admin --replicas 2 --image r.example/op:v2 --operator-arg=--log-level=debug --pull-secret pull";
    let of_kind = |objects: &[Value], kind: &str| objects.iter().find(|one| one["kind"] == kind).cloned().unwrap();
    assert_eq!(rendered(&values), exported(flags));
    let none = rendered(&["--set", "definitions.install=false,nodeSelector=null,podAnnotations=null"]);
    assert!(none.iter().all(|object| object["kind"] != "CustomResourceDefinition"));
    assert!(of_kind(&none, "Deployment").pointer("/spec/template/spec/nodeSelector").is_none());
    let lint = run(&helm, &["lint", "--strict", chart], None);
    assert!(lint.status.success(), "{}", String::from_utf8_lossy(&lint.stdout));
}

async fn values_that_the_chart_does_not_know_are_refused(_: TestCluster) {
    let helm = helm().await;
    let chart = deploy("chart");
    for (value, expected) in [
        ("replicas=many", "replicas"),
        ("replicas=0", "replicas"),
        ("replica=1", "replica"),
        ("image.tag=v1", "image.repository is not set: no image of this program is published yet"),
        ("image.repository=", "image.repository is not set"),
        ("image.name=x", "name"),
        ("clusterAdmin=perhaps", "clusterAdmin"),
        ("extraArgs={debug}", "extraArgs"),
    ] {
        let output = run(&helm, &["template", "a", chart.to_str().unwrap(), "--set", value], None);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && stderr.contains(expected), "{value}: {stderr}");
    }
}

async fn the_chart_is_installed_upgraded_and_leaves_its_definitions(cluster: TestCluster) {
    let helm = helm().await;
    let plane = cluster.fresh(Options::default()).await;
    let kubeconfig = plane.admin("me").unwrap();
    let chart = deploy("chart");
    let chart = chart.to_str().unwrap();
    let theirs = crate::reconcile::world::connected(kubeconfig.path()).await;
    let release = ["flux-operator", chart, "--set", IMAGE_VALUES];
    let install =
        [&["upgrade", "--install", "--create-namespace", "--wait", "--timeout", "60s"][..], &release].concat();
    let notes = text(&run(&helm, &install, Some(kubeconfig.path())));
    assert!(notes.contains("flux-operator -n flux-system uninstall instance") && !notes.contains("WARNING"), "{notes}");
    // Again, with other values.
    run(&helm, &[&install[..], &["--set", "replicas=2"]].concat(), Some(kubeconfig.path()));

    // A user who installed it with Helm gets a message.
    let run_own = |arguments: &'static str| {
        let mut command = crate::support::runner::command(kubeconfig.path(), plane.folder());
        command.args(arguments.split_whitespace());
        tokio::task::spawn_blocking(move || command.output().unwrap())
    };
    for line in
        ["uninstall operator --yes", "uninstall operator --dry-run", "uninstall operator --with-instance --dry-run"]
    {
        let refused = run_own(line).await.unwrap();
        let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{line}: {stderr}");
        assert!(stderr.contains("helm uninstall flux-operator -n flux-system"), "{stderr}");
    }
    text(&run(&helm, &["uninstall", "flux-operator", "--wait"], Some(kubeconfig.path())));
    let kept = ObjectId::of(&flux_operator::api::crd::flux_instance());
    assert!(theirs.read(&kept).await.unwrap().is_some(), "definitions outlive the release");
}

async fn objects_of_the_program_are_adopted_by_a_release_that_takes_ownership(cluster: TestCluster) {
    let helm = helm().await;
    let plane = cluster.fresh(Options::default()).await;
    let kubeconfig = plane.admin("me").unwrap();
    let mut install = crate::support::runner::command(kubeconfig.path(), plane.folder());
    install.args(["install", "--image", "registry.example.com/flux-operator:v1", "-n", "flux-system"]);
    let installed = tokio::task::spawn_blocking(move || install.output().unwrap()).await.unwrap();
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    let chart = deploy("chart");
    let release = [
        "upgrade",
        "--install",
        "--wait",
        "--timeout",
        "60s",
        "flux-operator",
        chart.to_str().unwrap(),
        "--set",
        "image.repository=registry.example.com/flux-operator,image.tag=v1",
    ];
    let refused = run(&helm, &release, Some(kubeconfig.path()));
    let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && stderr.contains("exists and cannot be imported"), "{stderr}");
    // Helm 4 applies server-side, where what the API server writes in another way than we do is a conflict.
    let adopting = ["--take-ownership", "--force-conflicts"];
    text(&run(&helm, &[&release[..], &adopting].concat(), Some(kubeconfig.path())));
    let world = crate::reconcile::world::connected(kubeconfig.path()).await;
    for id in [
        ObjectId::of(&flux_operator::api::crd::flux_instance()),
        ObjectId::new("apps", "Deployment", Some("flux-system"), "flux-operator").at("v1"),
    ] {
        let live = world.read(&id).await.unwrap().unwrap();
        assert_eq!(live["metadata"]["annotations"]["meta.helm.sh/release-name"], "flux-operator", "{id}");
    }
    // Later upgrades need no flags to take ownership.
    text(&run(&helm, &release, Some(kubeconfig.path())));
}

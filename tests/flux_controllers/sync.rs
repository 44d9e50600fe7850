//! A FluxInstance with a sync, applied by our own reconcile core in the command's process; Flux's own controllers then
//! fetch and apply what is in Git, or say why they cannot.

use serde_json::{Value, json};

use crate::cluster_tests;
use crate::support::runner::ClusterTest;
use crate::support::{TestCluster, eventually};
use crate::world::{NOBODY, Run, SOON, World, applied, basic_auth, run, until};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_sync_is_installed_reconciled_and_shown,
        a_git_host_that_cannot_be_reached,
        a_repository_that_does_not_exist,
        a_password_the_server_refuses,
        a_secret_that_does_not_exist,
        a_path_that_is_not_in_the_repository,
        manifests_that_cannot_be_parsed,
        an_application_that_fails_below_a_working_sync,
    ]
}

/// Installs an instance of the two controllers with a sync named `app` that works.
async fn install(cluster: &TestCluster, url: &str, path: &str) {
    apply(cluster, url, path, None, "90s").await.exits(0);
}

/// Installs the same with a sync that cannot become ready, and does not wait for long.
pub async fn install_failing(cluster: &TestCluster, url: &str, path: &str, secret: Option<&str>) {
    apply(cluster, url, path, secret, "20s").await.exits(7);
}

async fn apply(cluster: &TestCluster, url: &str, path: &str, secret: Option<&str>, timeout: &str) -> Run {
    let mut sync = json!({
        "name": "app", "kind": "GitRepository", "url": url, "ref": "refs/heads/main", "path": path, "interval": "10m",
    });
    if let Some(secret) = secret {
        sync["pullSecret"] = secret.into();
    }
    let instance = json!({
        "apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": cluster.namespace()},
        "spec": {"distribution": {"version": "2.9.x", "registry": "ghcr.io/fluxcd"},
            "components": ["source-controller", "kustomize-controller"], "sync": sync},
    });
    let file = cluster.folder().join(format!("{}.json", cluster.namespace()));
    std::fs::write(&file, instance.to_string()).expect("written");
    run(cluster, &format!("apply instance -f {} --in-process --timeout {timeout}", file.display())).await
}

/// Waits until `why instance` names a reason, and returns the cause.
pub async fn cause(cluster: &TestCluster, reason: &str) -> Value {
    let what = format!("the cause {reason}");
    let found = eventually(&what, SOON, || async {
        let run = run(cluster, "why instance -o json").await;
        (run.code == 7 && run.json()["cause"]["reason"] == reason).then_some(run)
    });
    let Ok(found) = found.await else {
        let last = run(cluster, "why instance").await;
        panic!("the cause is not {reason} but ({}):\n{}{}", last.code, last.stdout, last.stderr)
    };
    let screen = run(cluster, "why instance").await.exits(7).stdout;
    assert!(screen.lines().count() <= 24, "more than a screen:\n{screen}");
    found.json()["cause"].clone()
}

pub fn evidence(cause: &Value) -> String {
    let texts = cause["evidence"].as_array().expect("evidence").iter().filter_map(|e| e["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

async fn a_sync_is_installed_reconciled_and_shown(cluster: TestCluster) {
    let mut world = World::new(&cluster).await;
    let namespaced = format!("namespace: {}\n", cluster.namespace());
    let text =
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [config.yaml, deployment.yaml]\n";
    world.repository.write("deploy/kustomization.yaml", &format!("{text}{namespaced}")).expect("written");
    world.push("one");
    install(&cluster, &world.url(), "./deploy").await;
    let waited = run(&cluster, "wait resource gitrepo/app ks/app --timeout 60s").await.exits(0);
    waited.stdout_has(&format!("Applied revision: refs/heads/{}", world.revision()));
    assert_eq!(applied(&cluster).await.as_deref(), Some("one"));

    let namespace = cluster.namespace();
    let rows = run(&cluster, "get all").await.exits(0);
    for kind in ["GitRepository", "Kustomization"] {
        assert!(rows.row(kind, "app").contains("True"), "{}", rows.stdout);
    }
    let tree = run(&cluster, "tree instance").await.exits(0);
    let tree = tree.stdout_has("sync (2)").stdout_has(&format!("GitRepository/{namespace}/app\n"));
    tree.stdout_has(&format!("Kustomization/{namespace}/app\n")).stdout_has(&format!("ConfigMap/{namespace}/web\n"));
    run(&cluster, "trace configmap/web").await.exits(0).stdout_has(&world.commit);
    run(&cluster, "why instance")
        .await
        .exits(0)
        .stdout_has("is ready")
        .stdout_has(&format!("Kustomization/{namespace}/app"));
    run(&cluster, "get instance").await.exits(0).stdout_has("True");

    // The instance does not own what it made the controllers do: a second run changes nothing of their status.
    world.push("two");
    run(&cluster, "reconcile resource gitrepo/app").await.exits(0);
    run(&cluster, "reconcile resource ks/app").await.exits(0).stdout_has(&world.revision());
    assert_eq!(applied(&cluster).await.as_deref(), Some("two"));
    run(&cluster, "plan instance").await.exits(0);
}

async fn a_git_host_that_cannot_be_reached(cluster: TestCluster) {
    install_failing(&cluster, NOBODY, "./deploy", None).await;
    let cause = cause(&cluster, "HostUnreachable").await;
    assert_eq!((&cause["object"]["kind"], &cause["object"]["name"]), (&json!("GitRepository"), &json!("app")));
    assert!(evidence(&cause).contains("connection refused") && evidence(&cause).contains(NOBODY), "{cause:#}");
}

async fn a_repository_that_does_not_exist(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    install_failing(&cluster, &world.git.url("absent"), "./deploy", None).await;
    let cause = cause(&cluster, "SourceNotFound").await;
    assert!(evidence(&cause).contains("repository not found"), "{cause:#}");
}

async fn a_password_the_server_refuses(cluster: TestCluster) {
    let world = World::with_password(&cluster, "correct-horse").await;
    cluster.apply(&[basic_auth("git-auth", "battery-staple")]).await;
    install_failing(&cluster, &world.url(), "./deploy", Some("git-auth")).await;
    let cause = cause(&cluster, "CredentialsRejected").await;
    assert!(evidence(&cause).contains("git-auth") && !cause.to_string().contains("battery-staple"), "{cause:#}");
    let next = cause["next"].to_string();
    assert!(next.contains("create secret basic-auth git-auth"), "{next}");
    assert!(next.contains("reconcile GitRepository/"), "{next}");
    cluster.apply(&[basic_auth("git-auth", "correct-horse")]).await;
    run(&cluster, "reconcile resource gitrepo/app").await.exits(0).stdout_has(&world.revision());
}

async fn a_secret_that_does_not_exist(cluster: TestCluster) {
    let world = World::with_password(&cluster, "correct-horse").await;
    install_failing(&cluster, &world.url(), "./deploy", Some("git-auth")).await;
    let cause = cause(&cluster, "SecretMissing").await;
    assert!(evidence(&cause).contains("git-auth"), "{cause:#}");
    assert!(cause["next"].to_string().contains("create secret basic-auth git-auth"), "{cause:#}");
}

async fn a_path_that_is_not_in_the_repository(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    install_failing(&cluster, &world.url(), "./nowhere", None).await;
    let cause = cause(&cluster, "KustomizationFailed").await;
    assert_eq!(cause["object"]["kind"], "Kustomization");
    assert!(cause["summary"].as_str().is_some_and(|s| s.contains("path")), "{cause:#}");
    assert!(evidence(&cause).contains("./nowhere"), "{cause:#}");
}

async fn manifests_that_cannot_be_parsed(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    install_failing(&cluster, &world.url(), "./broken", None).await;
    let cause = cause(&cluster, "KustomizationFailed").await;
    assert!(evidence(&cause).contains("MalformedYAMLError"), "{cause:#}");
}

async fn an_application_that_fails_below_a_working_sync(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let mut dependent = crate::world::kustomization(&cluster, "below", "./deploy");
    dependent["metadata"]["namespace"] = cluster.namespace().into();
    dependent["spec"]["dependsOn"] = json!([{"name": "never"}]);
    world.repository.write("clusters/below.yaml", &dependent.to_string()).expect("written");
    world.repository.commit("clusters").expect("pushed");
    install(&cluster, &world.url(), "./clusters").await;
    let message = until(&cluster, "Kustomization", "below", "False").await;
    assert!(message.contains("dependency '"), "{message}");
    let tree = run(&cluster, "tree instance").await.exits(0);
    let cause = "the dependency Kustomization never does not exist";
    tree.stdout_has(&format!("Kustomization/{}/below  Failed: {cause}", cluster.namespace()));
    let failing = run(&cluster, "get all --ready-status False").await.exits(0);
    // A row that fails by its own report keeps its own message.
    assert!(failing.row("Kustomization", "below").contains("dependency '"), "{}", failing.stdout);
}

//! Requests that the controllers themselves answer: reconcile, suspend, resume, wait.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::cluster_tests;
use crate::support::flux::Controller;
use crate::support::runner::ClusterTest;
use crate::support::{Options, TestCluster, eventually};
use crate::world::{SOON, World, api, applied, basic_auth, kustomization, run, source, until, with};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_push_is_fetched_and_applied_by_two_commands,
        a_failing_object_says_why_and_ends_with_7,
        a_suspended_object_is_not_reconciled_until_it_is_resumed,
        a_wait_ends_when_the_controllers_are_done,
        bad_credentials_are_reported_and_heal_by_one_command,
        all_objects_of_a_kind_are_asked_at_once,
    ]
}

async fn a_push_is_fetched_and_applied_by_two_commands(cluster: TestCluster) {
    let mut world = World::new(&cluster).await;
    world.ready_app(&cluster).await;
    let namespace = cluster.namespace();
    world.push("two");
    let run_one = run(&cluster, "reconcile resource gitrepo/app").await.exits(0);
    let fetched = format!("gitrepository/{namespace}/app: stored artifact for revision '{}'\n", world.revision());
    assert_eq!(run_one.stdout, fetched);
    // The Kustomization may have noticed by itself, but is done when the command is.
    let run_two = run(&cluster, "reconcile resource ks/app").await.exits(0);
    let done = format!("kustomization/{namespace}/app: Applied revision: {}\n", world.revision());
    assert_eq!(run_two.stdout, done);
    assert_eq!(applied(&cluster).await.as_deref(), Some("two"));

    // And by one.
    world.push("three");
    let both = run(&cluster, "reconcile ks app --with-source").await.exits(0);
    both.stdout_has(&format!("gitrepository/{namespace}/app: stored artifact"))
        .stdout_has(&format!("kustomization/{namespace}/app: Applied revision: {}\n", world.revision()));
    assert_eq!(applied(&cluster).await.as_deref(), Some("three"));
    run(&cluster, "reconcile gitrepo app --with-source").await.exits(2).stderr_has("has no source");
    run(&cluster, "reconcile ks app --reset").await.exits(2).stderr_has("--reset is for Helm releases");

    // All objects of a kind: suspended objects are skipped, and it is reported if no object is left.
    run(&cluster, "suspend ks --all").await.exits(0).stderr_has("reconciliation suspended for");
    run(&cluster, "reconcile ks,gitrepo --all").await.exits(0).stdout_has("gitrepository/");
    run(&cluster, "reconcile ks --all").await.exits(3).stderr_has("there are no kustomizations to work on");
    run(&cluster, "resume ks -l no=such").await.exits(3);
    run(&cluster, "resume ks --all").await.exits(0).stdout_has("kustomization/");
    run(&cluster, "wait ks,gitrepo --all").await.exits(0);
    let exported = run(&cluster, "export ks,gitrepo --all").await.exits(0).stdout;
    assert_eq!(exported.matches("\nkind: ").count() + usize::from(exported.starts_with("kind: ")), 2, "{exported}");
}

async fn a_failing_object_says_why_and_ends_with_7(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.every_state(&cluster).await;
    for (object, reason, says) in [
        ("gitrepo/absent", "GitOperationFailed", "repository not found"),
        ("gitrepo/unreachable", "GitOperationFailed", "connection refused"),
        ("ks/broken", "BuildFailed", "MalformedYAMLError"),
        ("ks/misplaced", "ArtifactFailed", "kustomization path not found"),
        ("ks/dependent", "DependencyNotReady", "is not ready"),
    ] {
        let run = run(&cluster, &format!("reconcile resource {object} --timeout 20s")).await.exits(7);
        assert!(run.stdout.is_empty(), "{}", run.stdout);
        run.stderr_has(reason).stderr_has(says).stderr_has("hint:");
    }
    let paused = run(&cluster, "reconcile resource ks/paused").await.exits(1);
    paused.stderr_has("flux-operator resume kustomization/").stderr_has(cluster.namespace());
}

async fn a_suspended_object_is_not_reconciled_until_it_is_resumed(cluster: TestCluster) {
    let mut world = World::new(&cluster).await;
    world.ready_app(&cluster).await;
    run(&cluster, "suspend resource ks/app").await.exits(0);
    let rows = run(&cluster, "get resources ks").await.exits(0);
    assert!(rows.row("Kustomization", "app").contains("(suspended)"), "{}", rows.stdout);
    world.push("two");
    run(&cluster, "reconcile resource gitrepo/app").await.exits(0).stdout_has(&world.revision());
    // Its controller records the request of a suspended object and does nothing else.
    run(&cluster, "reconcile resource ks/app --wait=false").await.exits(0).stderr_has("is suspended");
    eventually("the request to be recorded", SOON, || async {
        let object = api(&cluster, "Kustomization").get("app").await.expect("found");
        let handled = object.data.pointer("/status/lastHandledReconcileAt")?.as_str()?.to_owned();
        let asked = object.metadata.annotations?.get("reconcile.fluxcd.io/requestedAt")?.clone();
        (handled == asked).then_some(())
    })
    .await
    .expect("recorded");
    assert_eq!(applied(&cluster).await.as_deref(), Some("one"));
    let resumed = run(&cluster, "resume resource ks/app").await.exits(0);
    resumed.stdout_has(&format!("Applied revision: {}", world.revision()));
    assert_eq!(applied(&cluster).await.as_deref(), Some("two"));
}

async fn a_wait_ends_when_the_controllers_are_done(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    cluster.apply(&[source("app", &world.url()), kustomization(&cluster, "app", "./deploy")]).await;
    let both = run(&cluster, "wait resource gitrepo/app ks/app --timeout 50s").await.exits(0);
    both.stdout_has("stored artifact").stdout_has(&format!("Applied revision: {}", world.revision()));
    assert_eq!(applied(&cluster).await.as_deref(), Some("one"));
    cluster.apply(&[kustomization(&cluster, "misplaced", "./nowhere")]).await;
    let failed = run(&cluster, "wait resource ks/misplaced --timeout 4s").await.exits(7);
    failed.stderr_has("kustomization path not found");
    // Nothing happens while the controllers are frozen, and the error shows the last state.
    let fresh = cluster.fresh(Options::api_server_only()).await;
    let flux = crate::support::flux::FluxControllers::start(&fresh, &[Controller::Source]).await.expect("started");
    flux.freeze(Controller::Source);
    let admin = fresh.admin("frozen").expect("an admin");
    // It works outside of the cluster; seen from within, this controller is about to start.
    let labels = json!({"app.kubernetes.io/part-of": "flux", "app": "source-controller"});
    let container = json!({"name": "manager", "image": "ghcr.io/fluxcd/source-controller:v1.7.0"});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "source-controller", "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
            "spec": {"containers": [container]}}}});
    let objects = [source("app", &world.url()), deployment];
    crate::support::objects::apply(fresh.client(), "default", &objects).await.expect("applied");
    let mut command = crate::support::runner::command(admin.path(), fresh.folder());
    command.args(["-n", "default", "reconcile", "resource", "gitrepo/app", "--timeout", "2s"]);
    let output = tokio::task::spawn_blocking(move || command.output()).await.expect("joined").expect("runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(7), "{stderr}");
    assert!(
        stderr.contains("waiting for the controller to pick up the request")
            || stderr.contains("no controller has reported"),
        "{stderr}"
    );
    flux.thaw(Controller::Source);
}

async fn bad_credentials_are_reported_and_heal_by_one_command(cluster: TestCluster) {
    let world = World::with_password(&cluster, "correct-horse").await;
    let named = with(source("app", &world.url()), "secretRef", json!({"name": "git-auth"}));
    cluster.apply(&[basic_auth("git-auth", "wrong"), named]).await;
    let message = until(&cluster, "GitRepository", "app", "False").await;
    assert!(message.contains("authentication required"), "{message}");
    let failed = run(&cluster, "reconcile resource gitrepo/app --timeout 20s").await.exits(7);
    failed.stderr_has("authentication required");
    cluster.apply(&[basic_auth("git-auth", "correct-horse")]).await;
    let healed = run(&cluster, "reconcile resource gitrepo/app").await.exits(0);
    healed.stdout_has(&world.revision());
    let rows = run(&cluster, "get resources gitrepo").await.exits(0);
    assert!(!rows.stdout.contains("correct-horse") && rows.row("GitRepository", "app").contains("True"));
}

async fn all_objects_of_a_kind_are_asked_at_once(cluster: TestCluster) {
    let mut world = World::new(&cluster).await;
    world.every_state(&cluster).await;
    let dry = run(&cluster, "reconcile all --kind ks --ready-status False --dry-run").await.exits(0);
    assert_eq!(dry.stderr.lines().filter(|l| l.contains("kustomization/")).count(), 3, "{}", dry.stderr);
    // The error is fixed in Git; one command makes every failed Kustomization reconcile.
    world
        .repository
        .write("broken/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: mended\n")
        .expect("written");
    world
        .repository
        .write("nowhere/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: found\n")
        .expect("written");
    world.push("two");
    run(&cluster, "reconcile resource gitrepo/app").await.exits(0);
    let patch = json!({"spec": {"dependsOn": null}});
    let kustomizations = api(&cluster, "Kustomization");
    kustomizations.patch("dependent", &PatchParams::default(), &Patch::Merge(patch)).await.expect("patched");
    run(&cluster, "reconcile all --kind Kustomization").await.exits(0);
    // kustomize-controller may look at the old artifact once more first; a wait would end with that failure.
    let commit = &world.commit;
    for name in ["broken", "misplaced", "app"] {
        eventually(&format!("{name} at the new commit"), SOON, || async {
            let found = kustomizations.get(name).await.ok()?;
            found.data["status"]["lastAppliedRevision"].as_str()?.contains(commit).then_some(())
        })
        .await
        .expect("mended");
    }
    let waited = run(&cluster, "wait resource ks broken misplaced app --timeout 50s").await.exits(0);
    assert_eq!(waited.stdout.lines().filter(|l| l.contains(&world.commit)).count(), 3, "{}", waited.stdout);
}

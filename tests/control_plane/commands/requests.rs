//! reconcile, suspend, resume, export: the patches that are sent, and the messages about them.

use serde_json::json;

use crate::cluster_tests;
use crate::commands::cluster_objects::*;
use crate::commands::deleting::run_operator;
use crate::support::{ClusterTest, TestCluster, allow};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        the_documented_command_forces_a_reconciliation_with_one_patch_and_prints_the_ready_message,
        without_waiting_only_the_request_is_sent,
        force_and_reset_of_a_helm_release_set_the_annotations_of_flux,
        a_suspended_instance_is_reported_at_once,
        a_failed_reconciliation_ends_with_its_reason_and_exit_7,
        several_resources_are_named_in_any_way_and_reconciled_at_once,
        one_failure_of_several_is_reported_and_the_others_go_on,
        a_kind_without_a_status_is_refused_before_anything_is_sent,
        kinds_are_suspended_and_resumed_the_way_their_controllers_read,
        suspended_objects_are_listed_with_their_note_and_resumed_when_overdue,
        all_objects_of_a_kind_are_reconciled_and_waited_for,
        a_mistyped_name_gets_the_nearest_one_and_exit_3,
        an_object_in_another_namespace_is_found,
        a_dry_run_changes_nothing,
        all_failed_objects_of_all_namespaces_are_reconciled,
        an_export_can_be_applied_again,
        a_forbidden_write_names_verb_and_resource_and_exits_5,
        a_missing_api_exits_4,
        an_older_cluster_is_asked_at_the_version_it_serves,
        an_oci_helm_repository_is_not_waited_for,
    ]
}

const RESET_AT: &str = "reconcile.fluxcd.io/resetAt";
const FORCE_AT: &str = "reconcile.fluxcd.io/forceAt";
const SWITCH: &str = "fluxcd.controlplane.io/reconcile";

async fn the_documented_command_forces_a_reconciliation_with_one_patch_and_prints_the_ready_message(
    cluster: TestCluster,
) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    run_operator(&cluster).await;
    let mark = cluster.mark().await;
    let outcome = ready("True", "ReconciliationSucceeded", "Reconciliation finished in 478ms", 1);
    // Word for word the user's document.
    let arguments = ["-n", cluster.namespace(), "reconcile", "instance", "flux", "--force"];
    let (run, token) = tokio::join!(run(&cluster, &arguments), handle_one_request(&cluster, INSTANCE, "flux", outcome));
    let name = format!("fluxinstance/{}/flux", cluster.namespace());
    let run = run.exits(0).stderr_has(&format!("forced reconciliation requested for {name} (context test)"));
    assert_eq!(run.stdout, format!("{name}: Reconciliation finished in 478ms\n"));
    assert!(run.stderr.contains("Ready=Unknown Progressing: Applying objects"), "{}", run.stderr);
    assert_eq!(annotation(&cluster, INSTANCE, "flux", FORCE_AT).await.as_ref(), Some(&token));
    let requests = cluster.requests_since(mark).await;
    let patches: Vec<_> = requests.0.iter().filter(|r| r.verb == "patch" && !r.uri.contains("/status")).collect();
    assert_eq!(patches.len(), 1, "{patches:?}");
}

async fn without_waiting_only_the_request_is_sent(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    let run = run(&cluster, &["reconcile", "instance", "--wait=false"]).await.exits(0);
    assert!(run.stdout.is_empty() && run.stderr.contains("reconciliation requested"), "{run:?}");
    assert!(annotation(&cluster, INSTANCE, "flux", REQUESTED_AT).await.is_some());
    assert!(annotation(&cluster, INSTANCE, "flux", FORCE_AT).await.is_none());
}

async fn force_and_reset_of_a_helm_release_set_the_annotations_of_flux(cluster: TestCluster) {
    create(&cluster, HELM_RELEASE, "web", json!({})).await;
    for (flag, sent) in [("--reset", RESET_AT), ("--force", FORCE_AT)] {
        run(&cluster, &["reconcile", "hr", "web", flag, "--wait=false"]).await.exits(0);
        let asked = annotation(&cluster, HELM_RELEASE, "web", REQUESTED_AT).await;
        assert!(asked.is_some() && asked == annotation(&cluster, HELM_RELEASE, "web", sent).await, "{flag}: {asked:?}");
    }
}

async fn a_suspended_instance_is_reported_at_once(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({"metadata": {"annotations": {SWITCH: "Disabled"}}})).await;
    let start = std::time::Instant::now();
    run(&cluster, &["reconcile", "instance", "flux"])
        .await
        .exits(1)
        .stderr_has("reconciliation is disabled for fluxinstance/")
        .stderr_has(&format!("flux-operator resume instance flux --in-process -n {}", cluster.namespace()));
    let waited = run(&cluster, &["wait", "instance"]).await.exits(1).stderr_has("reconciliation is disabled");
    assert!(!waited.stderr.contains('✗'), "{}", waited.stderr);
    assert!(start.elapsed() < SOON, "took {:?}", start.elapsed());
    run(&cluster, &["reconcile", "instance", "--wait=false"]).await.exits(0).stderr_has("is suspended");
}

async fn a_failed_reconciliation_ends_with_its_reason_and_exit_7(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    run_operator(&cluster).await;
    let outcome = ready("False", "BuildFailed", "build failed: no match found for semver: 9.x", 1);
    let arguments = ["reconcile", "instance"];
    let (run, _) = tokio::join!(run(&cluster, &arguments), handle_one_request(&cluster, INSTANCE, "flux", outcome));
    let run = run.exits(7);
    let run =
        run.stderr_has("caused by: BuildFailed: build failed: no match found for semver: 9.x").stderr_has("hint:");
    // The reason is printed once, however long it is.
    assert_eq!(run.stderr.matches("no match found").count(), 1, "{}", run.stderr);
}

async fn several_resources_are_named_in_any_way_and_reconciled_at_once(cluster: TestCluster) {
    create(&cluster, GIT, "web", json!({})).await;
    create(&cluster, KUSTOMIZATION, "web", json!({})).await;
    let outcome = |message: &str| ready("True", "Succeeded", message, 1);
    let arguments = ["reconcile", "resource", "gitrepo/web", "KUSTOMIZATIONS/web"];
    let (run, _, _) = tokio::join!(
        run(&cluster, &arguments),
        handle_one_request(&cluster, GIT, "web", outcome("stored artifact")),
        handle_one_request(&cluster, KUSTOMIZATION, "web", outcome("applied revision")),
    );
    let run = run.exits(0);
    let namespace = cluster.namespace();
    assert_eq!(
        run.stdout,
        format!("gitrepository/{namespace}/web: stored artifact\nkustomization/{namespace}/web: applied revision\n")
    );
}

async fn one_failure_of_several_is_reported_and_the_others_go_on(cluster: TestCluster) {
    create(&cluster, GIT, "good", json!({})).await;
    let arguments = ["reconcile", "resource", "gitrepo", "good", "missing"];
    let outcome = ready("True", "Succeeded", "stored", 1);
    let (run, _) = tokio::join!(run(&cluster, &arguments), handle_one_request(&cluster, GIT, "good", outcome));
    run.exits(3)
        .stdout_has("good: stored")
        .stderr_has("missing not found in context test")
        .stderr_has("1 of 2 objects");
}

async fn a_kind_without_a_status_is_refused_before_anything_is_sent(cluster: TestCluster) {
    create(&cluster, PROVIDER, "slack", json!({})).await;
    let mark = cluster.mark().await;
    for arguments in [["reconcile", "resource", "Provider/slack"], ["wait", "resource", "providers/slack"]] {
        run(&cluster, &arguments).await.exits(2).stderr_has("has no status");
    }
    run(&cluster, &["reconcile", "all", "--kind", "alert"]).await.exits(2).stderr_has("has no status");
    assert!(cluster.requests_since(mark).await.is_empty());
    run(&cluster, &["suspend", "resource", "provider/slack"]).await.exits(0);
    // The kind has no controller, so the command does not wait.
    run(&cluster, &["resume", "resource", "provider/slack"]).await.exits(0).stderr_has("resumed");
}

async fn kinds_are_suspended_and_resumed_the_way_their_controllers_read(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    create(&cluster, GIT, "web", json!({})).await;
    create(&cluster, GENERATOR, "web", json!({})).await;
    let place = format!("suspended for fluxinstance/{}/flux (context test)", cluster.namespace());
    run(&cluster, &["suspend", "instance"]).await.exits(0).stderr_has(&place);
    run(&cluster, &["suspend", "resource", "gitrepositories/web", "AG/web"]).await.exits(0);
    assert_eq!(annotation(&cluster, INSTANCE, "flux", SWITCH).await.as_deref(), Some("disabled"));
    assert_eq!(GIT.api(&cluster).get("web").await.unwrap().data["spec"]["suspend"], json!(true));
    let generator_switch = "source.extensions.fluxcd.io/reconcile";
    assert_eq!(annotation(&cluster, GENERATOR, "web", generator_switch).await.as_deref(), Some("disabled"));

    run(&cluster, &["resume", "instance", "--wait=false"]).await.exits(0).stderr_has("resumed");
    assert_eq!(annotation(&cluster, INSTANCE, "flux", SWITCH).await.as_deref(), Some("enabled"));
    assert!(annotation(&cluster, INSTANCE, "flux", REQUESTED_AT).await.is_some());
    let outcome = ready("True", "Succeeded", "stored artifact", 1);
    let resume = ["resume", "resource", "gitrepo/web"];
    // spec.suspend moved the generation twice.
    let (run, _) = tokio::join!(run(&cluster, &resume), async {
        let token = requested(&cluster, GIT, "web", None).await;
        let outcome = json!({"observedGeneration": 3, "conditions": [{"type": "Ready", "status": "True",
            "reason": outcome["reason"], "message": outcome["message"], "observedGeneration": 3}],
            "lastHandledReconcileAt": token});
        set_status(&cluster, GIT, "web", outcome).await;
    });
    run.exits(0).stdout_has("stored artifact");
    assert_eq!(GIT.api(&cluster).get("web").await.unwrap().data["spec"].get("suspend"), None);
}

async fn a_mistyped_name_gets_the_nearest_one_and_exit_3(cluster: TestCluster) {
    create(&cluster, GIT, "podinfo", json!({})).await;
    for verb in ["reconcile", "suspend", "resume", "wait", "export"] {
        let run = run(&cluster, &[verb, "resource", "gitrepo/podinf"]).await.exits(3);
        run.stderr_has("not found").stderr_has("did you mean podinfo?");
    }
    run(&cluster, &["suspend", "resource", "gitrpo/podinfo"]).await.exits(2).stderr_has("did you mean `gitrepo`?");
}

async fn an_object_in_another_namespace_is_found(cluster: TestCluster) {
    create(&cluster, KUSTOMIZATION, "only-here", json!({})).await;
    let hint = format!("is in namespace {}", cluster.namespace());
    let arguments = ["-n", "default", "reconcile", "resource", "ks/only-here"];
    run(&cluster, &arguments).await.exits(3).stderr_has(&hint);
}

async fn a_dry_run_changes_nothing(cluster: TestCluster) {
    let before = create(&cluster, INSTANCE, "flux", json!({})).await;
    let commands: [&[&str]; 3] =
        [&["reconcile", "instance", "--force"], &["suspend", "instance"], &["resume", "instance"]];
    for command in commands {
        let client = run(&cluster, &[command, &["--dry-run=client"]].concat()).await.exits(0);
        assert!(client.stdout.contains("kind: FluxInstance") && client.stderr.contains("dry run"), "{client:?}");
        run(&cluster, &[command, &["--dry-run=server"]].concat()).await.exits(0).stderr_has("server dry run");
    }
    let after = INSTANCE.api(&cluster).get("flux").await.unwrap();
    assert_eq!(after.metadata.resource_version, before.metadata.resource_version);
    run(&cluster, &["suspend", "instance", "nope", "--dry-run=server"]).await.exits(3);
}

async fn all_failed_objects_of_all_namespaces_are_reconciled(cluster: TestCluster) {
    let label = json!({"metadata": {"labels": {"test": cluster.namespace()}}});
    for name in ["failed", "fine", "fresh"] {
        create(&cluster, GIT, name, label.clone()).await;
    }
    set_status(&cluster, GIT, "failed", json!({"conditions": [ready("False", "GitOperationFailed", "no", 1)]})).await;
    set_status(&cluster, GIT, "fine", json!({"conditions": [ready("True", "Succeeded", "yes", 1)]})).await;
    let selector = format!("test={}", cluster.namespace());
    let arguments = ["reconcile", "all", "--kind", "gitrepo", "--ready-status", "false", "-A", "-l", &selector];
    run(&cluster, &arguments).await.exits(0).stderr_has("/failed (context test)");
    assert!(annotation(&cluster, GIT, "failed", REQUESTED_AT).await.is_some());
    for untouched in ["fine", "fresh"] {
        assert!(annotation(&cluster, GIT, untouched, REQUESTED_AT).await.is_none(), "{untouched}");
    }
    let none = ["reconcile", "all", "--kind", "gitrepo", "-l", "test=nothing"];
    run(&cluster, &none).await.exits(0).stderr_has("nothing to reconcile");
    // Without a kind everything in the namespace is meant.
    let all = run(&cluster, &["reconcile", "all"]).await.exits(0);
    for name in ["failed", "fine", "fresh"] {
        assert!(all.stderr.contains(&format!("/{name} (context test)")), "{all:?}");
        assert!(annotation(&cluster, GIT, name, REQUESTED_AT).await.is_some(), "{name}");
    }
}

async fn an_export_can_be_applied_again(cluster: TestCluster) {
    let metadata = json!({"labels": {"team": "a"}, "annotations": {REQUESTED_AT: "x", SWITCH: "enabled"}});
    create(&cluster, INSTANCE, "flux", json!({"metadata": metadata, "spec": {"wait": true}})).await;
    create(&cluster, GIT, "web", json!({})).await;
    let exported = run(&cluster, &["export", "instance", "flux"]).await.exits(0).stdout;
    let expected = format!(
        "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata:\n  name: flux\n  namespace: {}\n  labels:\n    \
         team: a\n  annotations:\n    fluxcd.controlplane.io/reconcile: enabled\nspec:\n  wait: true\n",
        cluster.namespace()
    );
    assert_eq!(exported, expected);
    let both = run(&cluster, &["export", "resource", "gitrepo/web", "instance/flux", "-o", "json"]).await.exits(0);
    let list: serde_json::Value = serde_json::from_str(&both.stdout).unwrap();
    assert_eq!(list["kind"], "List");
    assert_eq!(list["items"][0]["kind"], "GitRepository");
    assert_eq!(list["items"][1]["metadata"]["name"], "flux");
    let stream = run(&cluster, &["export", "resource", "gitrepo/web", "instance/flux"]).await.exits(0).stdout;
    assert_eq!(stream.matches("---\n").count(), 2, "{stream}");
}

async fn a_forbidden_write_names_verb_and_resource_and_exits_5(cluster: TestCluster) {
    create(&cluster, GIT, "web", json!({})).await;
    let rules = [allow(&["get", "list"], "source.toolkit.fluxcd.io", &["gitrepositories"])];
    let user = cluster.user("reader", Some(cluster.namespace()), &rules).await.unwrap();
    let mut command = start(&cluster, &["-n", cluster.namespace(), "suspend", "resource", "gitrepo/web"]);
    command.env("KUBECONFIG", user.path());
    let run = finish(command).await.exits(5);
    run.stderr_has("is not allowed to patch gitrepositories.source.toolkit.fluxcd.io")
        .stderr_has("kubectl auth can-i patch");
}

async fn a_missing_api_exits_4(cluster: TestCluster) {
    run(&cluster, &["suspend", "resource", "bucket/web"]).await.exits(4).stderr_has("Bucket");
}

async fn an_older_cluster_is_asked_at_the_version_it_serves(cluster: TestCluster) {
    create(&cluster, OCI, "web", json!({})).await;
    run(&cluster, &["suspend", "resource", "ocirepo/web"]).await.exits(0);
    assert_eq!(OCI.api(&cluster).get("web").await.unwrap().data["spec"]["suspend"], json!(true));
}

async fn an_oci_helm_repository_is_not_waited_for(cluster: TestCluster) {
    create(&cluster, HELM_REPOSITORY, "charts", json!({"spec": {"type": "oci"}})).await;
    run(&cluster, &["reconcile", "resource", "helmrepo/charts"]).await.exits(0).stderr_has("only a reference");
}

async fn suspended_objects_are_listed_with_their_note_and_resumed_when_overdue(cluster: TestCluster) {
    // The author of an empty spec owns all of it.
    let spec = json!({"spec": {"path": "./"}});
    create(&cluster, KUSTOMIZATION, "late", spec.clone()).await;
    create(&cluster, KUSTOMIZATION, "early", spec).await;
    create(&cluster, INSTANCE, "flux", json!({})).await;
    let suspend = ["suspend", "ks", "late", "--reason", "database migration", "--until", "1s"];
    run(&cluster, &suspend).await.exits(0).stderr_has("suspended for kustomization/");
    run(&cluster, &["suspend", "ks/early", "--until", "2h"]).await.exits(0);
    run(&cluster, &["suspend", "instance", "--reason", "incident"]).await.exits(0);
    run(&cluster, &["suspend", "instance", "--until", "2020-01-01T00:00:00Z"])
        .await
        .exits(2)
        .stderr_has("--until must be in the future");
    let overdue = async || {
        let list = run(&cluster, &["get", "suspended", "-o", "json"]).await.exits(0).json();
        let rows = list["items"].as_array().expect("items").clone();
        rows.iter().any(|row| row["overdue"] == true).then_some(rows)
    };
    let rows = crate::support::eventually("the second to pass", SOON, overdue).await.expect("overdue");
    let shown: Vec<_> = rows.iter().map(|r| (r["name"].as_str(), r["reason"].as_str(), r["by"].as_str())).collect();
    let by = Some("flux-operator-ctl");
    assert_eq!(shown[0], (Some("late"), Some("database migration"), by));
    assert_eq!(shown.len(), 3, "{shown:?}");
    assert!(
        shown.contains(&(Some("flux"), Some("incident"), by)) && shown.contains(&(Some("early"), None, by)),
        "{shown:?}"
    );
    assert!(rows.iter().all(|row| row["since"].is_string()), "{rows:?}");
    run(&cluster, &["get", "suspended"]).await.exits(0).stdout_has("overdue by").stdout_has("database migration");
    // Only overdue objects are resumed, and their notes are removed.
    run(&cluster, &["resume", "--overdue", "--wait=false"]).await.exits(0).stderr_has("resumed for kustomization/");
    assert_eq!(annotation(&cluster, KUSTOMIZATION, "late", "fluxcd.controlplane.io/suspendReason").await, None);
    let left = run(&cluster, &["get", "suspended", "-o", "name"]).await.exits(0).stdout;
    assert_eq!(left.lines().count(), 2, "{left}");
    run(&cluster, &["resume", "--overdue"]).await.exits(0).stderr_has("nothing is overdue");
    // A suspension without a note does not inherit one.
    run(&cluster, &["suspend", "instance"]).await.exits(0);
    assert_eq!(annotation(&cluster, INSTANCE, "flux", "fluxcd.controlplane.io/suspendReason").await, None);
}

async fn all_objects_of_a_kind_are_reconciled_and_waited_for(cluster: TestCluster) {
    create(&cluster, GIT, "one", json!({})).await;
    create(&cluster, GIT, "two", json!({})).await;
    let arguments = ["reconcile", "all", "--kind", "gitrepo", "--wait"];
    let (run, _, _) = tokio::join!(
        run(&cluster, &arguments),
        handle_one_request(&cluster, GIT, "one", ready("True", "Succeeded", "stored one", 1)),
        handle_one_request(&cluster, GIT, "two", ready("False", "GitOperationFailed", "no such branch", 1)),
    );
    let run = run.exits(7).stdout_has("one: stored one").stderr_has("no such branch");
    assert!(run.stderr.ends_with("1 of 2 objects is not reconciled\n"), "{}", run.stderr);
    // Objects whose requests are never handled count as not reconciled.
    let run = self::run(&cluster, &["reconcile", "gitrepo", "one", "two", "--timeout", "2s"]).await.exits(7);
    assert!(run.stderr.ends_with("2 of 2 objects are not reconciled\n"), "{}", run.stderr);
    assert_eq!(run.stderr.matches(" of 2 objects").count(), 1, "{}", run.stderr);
}

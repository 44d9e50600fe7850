//! Waits: the progress that they report, their errors after a timeout, and the state that an interrupt leaves.

use std::process::Stdio;
use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::commands::cluster_objects::*;
use crate::commands::deleting::run_operator;
use crate::commands::stage::stage;
use crate::inspect::world;
use crate::reconcile::world::NAMESPACE;
use crate::support::runner::command;
use crate::support::{ClusterTest, Fault, FaultRule, IN_TIME, Kubeconfig, TestCluster, allow, eventually, objects};

pub fn tests() -> Vec<ClusterTest> {
    let mut tests = cluster_tests![
        a_timeout_names_the_last_condition_the_last_event_and_the_next_command,
        a_controller_that_is_not_there_ends_the_wait_at_once,
        a_missing_operator_is_reported_with_the_in_process_command,
        a_stalled_operator_neither_reconciles_nor_allows_a_run_here,
        a_missing_object_ends_the_wait_at_once_unless_its_creation_is_awaited,
        a_wait_for_a_deletion_names_what_blocks_it_and_ends_when_the_object_is_gone,
        a_watch_prints_every_change_until_its_time_is_up,
        an_older_generation_and_a_cancelled_health_check_keep_waiting,
        an_object_deleted_meanwhile_ends_the_wait,
        a_silent_server_does_not_hold_the_command_longer_than_its_timeout,
        a_server_that_goes_away_for_a_while_is_asked_again,
        every_line_beside_json_progress_is_json,
        progress_is_json_lines_when_asked_for_and_nothing_when_quiet,
        an_interrupt_says_what_goes_on_and_exits_130,
        a_termination_ends_the_wait_as_well,
        a_closed_pipe_ends_quietly,
        errors_are_json_when_json_is_asked_for,
    ];
    let installing = cluster_tests![a_downgrade_is_refused_before_it_is_stored];
    tests.extend(installing.into_iter().map(ClusterTest::that_installs));
    tests
}

async fn record_event(cluster: &TestCluster, name: &str, reason: &str, message: &str) {
    let event = json!({
        "metadata": {"generateName": format!("{name}."), "namespace": cluster.namespace()},
        "involvedObject": {"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance", "name": name,
            "namespace": cluster.namespace()},
        "reason": reason, "message": message, "type": "Warning", "reportingComponent": "flux-operator",
        "lastTimestamp": "2026-11-21T00:00:00Z", "firstTimestamp": "2026-11-21T00:00:00Z",
    });
    let events = Api::<Event>::namespaced(cluster.client(), cluster.namespace());
    events.create(&Default::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
}

async fn a_timeout_names_the_last_condition_the_last_event_and_the_next_command(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    record_event(&cluster, "flux", "Progressing", "Upgrading to revision v2.9.4@sha256:0").await;
    let working = ready("Unknown", "Progressing", "Running health checks", 1);
    set_status(&cluster, INSTANCE, "flux", json!({"conditions": [working]})).await;
    run_operator(&cluster).await;
    let run = run(&cluster, &["reconcile", "instance", "--timeout", "2"]).await.exits(7);
    let namespace = cluster.namespace();
    run.stderr_has(&format!(
        "error: timed out after 2s waiting for fluxinstance/{namespace}/flux (context test) to become ready"
    ))
    .stderr_has("caused by: last condition: Ready=Unknown Progressing: Running health checks")
    .stderr_has("caused by: still waiting for the controller to pick up the request")
    .stderr_has("caused by: last event: Progressing: Upgrading to revision v2.9.4@sha256:0")
    .stderr_has(&format!("`flux-operator why instance flux -n {namespace}`"));
}

async fn a_missing_operator_is_reported_with_the_in_process_command(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    let namespace = cluster.namespace();
    let begun = Instant::now();
    // The resume is refused before it is stored, because no operator would reconcile the instance.
    run(&cluster, &["resume", "instance"])
        .await
        .exits(1)
        .stderr_has("cannot resume fluxinstance/")
        .stderr_has("no operator is running to do it")
        .stderr_has(&format!("do it from here with `flux-operator resume instance flux --in-process -n {namespace}`"));
    let api = objects::api(&cluster.client(), "fluxcd.controlplane.io/v1", "FluxInstance", namespace).await.unwrap();
    let annotations = async || api.get("flux").await.unwrap().metadata.annotations.unwrap_or_default();
    assert!(annotations().await.is_empty(), "nothing was stored");
    // A request without a receiver is stored and not waited for.
    run(&cluster, &["reconcile", "instance"])
        .await
        .exits(1)
        .stderr_has("the request is saved on fluxinstance/")
        .stderr_has("is running to")
        .stderr_has("run the reconciliation from here with `flux-operator reconcile instance flux --in-process");
    assert!(annotations().await.contains_key("reconcile.fluxcd.io/requestedAt"));
    assert!(begun.elapsed() < Duration::from_secs(20), "took {:?}", begun.elapsed());
}

async fn a_downgrade_is_refused_before_it_is_stored(cluster: TestCluster) {
    let installed = world::instance(&cluster, json!({}));
    world::install(&cluster, &installed).await.exits(0);
    let mut older = installed.clone();
    older["spec"]["distribution"]["version"] = "2.7.x".into();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), older.to_string()).unwrap();
    run(&cluster, &["apply", "-f", file.path().to_str().unwrap(), "--wait=false"])
        .await
        .exits(1)
        .stderr_has("to v2.7.5 is not supported")
        .stderr_has("rollback");
    let api = objects::api(&cluster.client(), "fluxcd.controlplane.io/v1", "FluxInstance", cluster.namespace()).await;
    let stored = api.unwrap().get("flux").await.unwrap();
    let version = |object: &Value| object["spec"]["distribution"]["version"].clone();
    assert_eq!(version(&stored.data), version(&installed));
}

async fn a_stalled_operator_neither_reconciles_nor_allows_a_run_here(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    let labels = json!({"app": "flux-operator"});
    let operator = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "flux-operator"}, "spec": {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "x"}]}}}});
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "flux-operator"},
        "spec": {"holderIdentity": "host_1", "leaseDurationSeconds": 35, "renewTime": "2026-01-01T00:00:00.000000Z"}});
    cluster.apply(&[operator, lease]).await;
    let deployments = Api::<Deployment>::namespaced(cluster.client(), cluster.namespace());
    let is_ready = || async {
        let status = deployments.get("flux-operator").await.ok()?.status?;
        status.ready_replicas.filter(|ready| *ready == 1)
    };
    eventually("a ready pod", Duration::from_secs(20), is_ready).await.unwrap();
    let namespace = cluster.namespace();
    let held =
        format!("host_1 holds lease/{namespace}/flux-operator and no longer renews it (last at 2026-01-01T00:00:00Z)");
    let restart = format!("restart it with `kubectl -n {namespace} rollout restart deployment/flux-operator`");
    let begun = Instant::now();
    run(&cluster, &["reconcile", "instance"])
        .await
        .exits(1)
        .stderr_has("is running to")
        .stderr_has(&held)
        .stderr_has(&format!(
            "{restart}, or run the reconciliation from here with `flux-operator reconcile instance flux"
        ))
        .stderr_has(" --force-in-process`");
    assert!(begun.elapsed() < Duration::from_secs(20), "took {:?}", begun.elapsed());
    // It may continue at any moment, so a run beside it needs an explicit flag.
    run(&cluster, &["reconcile", "instance", "--in-process"])
        .await
        .exits(1)
        .stderr_has("cannot work on")
        .stderr_has(&held)
        .stderr_has(&format!("{restart}, or add --force-in-process"));
}

async fn a_controller_that_is_not_there_ends_the_wait_at_once(cluster: TestCluster) {
    let stage = stage(&cluster).await;
    let plane = &stage.world.plane;
    let admin = plane.admin("waits").unwrap();
    let ask = async |user: &Kubeconfig, line: &str| {
        let mut command = command(user.path(), plane.folder());
        command.args(["-n", NAMESPACE, "--context", "test"]).args(line.split(' ')).stdin(Stdio::null());
        let begun = Instant::now();
        let run = finish(command).await;
        // The time-out is five minutes unless the line says otherwise.
        assert!(begun.elapsed() < Duration::from_secs(20), "{line} took {:?}", begun.elapsed());
        run
    };
    ask(&admin, "wait ks app --timeout 15s").await.exits(0);
    stage.fall_silent();
    let deployments = Api::<Deployment>::namespaced(plane.client().clone(), NAMESPACE);
    let none = Patch::Merge(json!({"spec": {"replicas": 0}}));
    deployments.patch("source-controller", &PatchParams::default(), &none).await.unwrap();
    deployments.delete("kustomize-controller", &DeleteParams::background()).await.unwrap();
    for line in ["reconcile gitrepo app", "reconcile all --kind gitrepo --wait", "reconcile ks app --with-source"] {
        ask(&admin, line)
            .await
            .exits(1)
            .stderr_has("is running to")
            .stderr_has("caused by: source-controller is scaled to zero")
            .stderr_has("`kubectl --context test -n flux-system scale deployment/source-controller --replicas=1`");
    }
    for kind in [GIT, KUSTOMIZATION] {
        let api: Api<DynamicObject> = Api::namespaced_with(plane.client().clone(), NAMESPACE, &kind.resource());
        let changed = Patch::Merge(json!({"spec": {"interval": "2h"}}));
        api.patch("app", &PatchParams::default(), &changed).await.unwrap();
    }
    ask(&admin, "wait gitrepo app").await.exits(7).stderr_has("caused by: source-controller is scaled to zero");
    ask(&admin, "reconcile ks app")
        .await
        .exits(1)
        .stderr_has("the request is saved on kustomization/flux-system/app (context test), but no controller is running to handle it")
        .stderr_has("caused by: kustomize-controller is not installed")
        .stderr_has("`flux-operator why instance flux -n flux-system --context test`");
    ask(&admin, "wait ks app").await.exits(7).stderr_has("no controller is running to reconcile it");
    // An object that is being deleted is kept by a finalizer that no controller removes. Another object may still be
    // deleted by someone.
    let api: Api<DynamicObject> = Api::namespaced_with(plane.client().clone(), NAMESPACE, &KUSTOMIZATION.resource());
    let held = json!({"metadata": {"finalizers": ["finalizers.fluxcd.io"]}});
    api.patch("app", &PatchParams::default(), &Patch::Merge(held)).await.unwrap();
    ask(&admin, "wait ks app --for=delete --timeout 4s").await.exits(7).stderr_has("timed out after 4s");
    for line in ["delete ks app --yes", "wait ks app --for=delete"] {
        ask(&admin, line)
            .await
            .exits(7)
            .stderr_has("kustomization/flux-system/app (context test) is not deleted: no controller is running to remove its finalizer")
            .stderr_has("caused by: kustomize-controller is not installed");
    }
    // Without the right to look for a controller, the command keeps waiting.
    let rules = [
        allow(&["get", "list", "watch"], "source.toolkit.fluxcd.io", &["gitrepositories"]),
        allow(&["get", "list", "watch"], "fluxcd.controlplane.io", &["fluxinstances"]),
    ];
    let reader = plane.user("reads-no-deployments", Some(NAMESPACE), &rules).await.unwrap();
    ask(&reader, "wait gitrepo app --timeout 4s").await.exits(7).stderr_has("timed out after 4s");
    // A ready instance needs no operator, so the wait checks its controllers. An instance with a pending request needs one.
    ask(&admin, "wait instance --timeout 15s").await.exits(7).stderr_has("Deployment kustomize-controller is missing");
    stage.world.annotate(json!({"reconcile.fluxcd.io/requestedAt": "now"})).await;
    let api = objects::api(plane.client(), "fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE).await.unwrap();
    let changed = Patch::Merge(json!({"spec": {"cluster": {"size": "large"}}}));
    api.patch("flux", &PatchParams::default(), &changed).await.unwrap();
    ask(&admin, "wait instance")
        .await
        .exits(7)
        .stderr_has("fluxinstance/flux-system/flux (context test) does not become ready: no controller is running to reconcile it")
        .stderr_has("no operator is running to handle it")
        .stderr_has("`flux-operator reconcile instance flux -n flux-system --in-process --context test`");
    ask(&reader, "wait instance --timeout 4s").await.exits(7).stderr_has("timed out after 4s");
    let held = json!({"metadata": {"finalizers": ["fluxcd.controlplane.io/finalizer"]}});
    api.patch("flux", &PatchParams::default(), &Patch::Merge(held)).await.unwrap();
    api.delete("flux", &DeleteParams::default()).await.unwrap();
    ask(&admin, "wait instance --for=delete")
        .await
        .exits(7)
        .stderr_has("is not deleted: no controller is running to remove its finalizer")
        .stderr_has("`flux-operator uninstall instance flux -n flux-system --in-process --context test`");
    // An operator of another namespace reconciles only that namespace.
    let labels = json!({"app.kubernetes.io/name": "flux-operator"});
    let other = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "flux-operator", "namespace": "default", "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
            "spec": {"containers": [{"name": "manager", "image": "registry.example.com/flux-operator:v1"}]}}}});
    objects::apply(plane.client(), "default", &[other]).await.unwrap();
    ask(&admin, "wait instance --for=delete")
        .await
        .exits(7)
        .stderr_has("the operator in namespace default reconciles instances of that namespace only");
}

async fn a_missing_object_ends_the_wait_at_once_unless_its_creation_is_awaited(cluster: TestCluster) {
    // Something of Flux is installed.
    create(&cluster, INSTANCE, "flux", json!({})).await;
    let start = Instant::now();
    run(&cluster, &["wait", "resource", "gitrepo/later"]).await.exits(3).stderr_has("not found");
    assert!(start.elapsed() < Duration::from_secs(10), "took {:?}", start.elapsed());
    let arguments = ["wait", "resource", "gitrepo/later", "--for=create"];
    let (run, ()) = tokio::join!(run(&cluster, &arguments), async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        create(&cluster, GIT, "later", json!({})).await;
        set_status(&cluster, GIT, "later", json!({"conditions": [ready("True", "Succeeded", "stored", 1)]})).await;
    });
    run.exits(0).stderr_has("waiting for it to be created").stdout_has("later: created");
}

async fn a_wait_for_a_deletion_names_what_blocks_it_and_ends_when_the_object_is_gone(cluster: TestCluster) {
    let held = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    create(&cluster, GIT, "going", held).await;
    let api = GIT.api(&cluster);
    let deletion = ["wait", "resource", "gitrepo/going", "--for=delete", "--timeout=4s"];
    run(&cluster, &deletion).await.exits(7).stderr_has("still waiting: its deletion was not requested");
    api.delete("going", &Default::default()).await.unwrap();
    run(&cluster, &deletion).await.exits(7).stderr_has("still waiting: its finalizers: example.com/hold");
    run(&cluster, &["get", "gitrepo", "going"]).await.exits(0).stdout_has("is being deleted");
    run(&cluster, &["wait", "resource", "gitrepo/going"]).await.exits(1).stderr_has("is being deleted");
    let deletion = ["wait", "resource", "gitrepo/going", "--for=delete"];
    let (run, _) = tokio::join!(run(&cluster, &deletion), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let none = kube::api::Patch::Merge(json!({"metadata": {"finalizers": null}}));
        api.patch("going", &Default::default(), &none).await.unwrap();
    });
    run.exits(0).stdout_has("going: deleted");
}

async fn a_watch_prints_every_change_until_its_time_is_up(cluster: TestCluster) {
    create(&cluster, GIT, "web", json!({})).await;
    let (run, ()) = tokio::join!(run(&cluster, &["wait", "resource", "gitrepo/web", "-w", "--timeout=3s"]), async {
        for (status, message) in [("True", "one"), ("False", "two"), ("True", "three")] {
            set_status(&cluster, GIT, "web", json!({"conditions": [ready(status, "R", message, 1)]})).await;
            tokio::time::sleep(Duration::from_millis(600)).await;
        }
    });
    let run = run.exits(0);
    let name = format!("gitrepository/{}/web", cluster.namespace());
    assert!(run.stdout.contains(&format!("{name}: Ready=False R: two\n{name}: Ready=True R: three\n")), "{run:?}");
}

async fn an_older_generation_and_a_cancelled_health_check_keep_waiting(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    run_operator(&cluster).await;
    set_status(&cluster, INSTANCE, "flux", json!({"conditions": [ready("True", "Succeeded", "old", 0)]})).await;
    let (run, ()) = tokio::join!(run(&cluster, &["wait", "instance"]), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let cancelled = ready("False", "HealthCheckCanceled", "New reconciliation triggered", 1);
        set_status(&cluster, INSTANCE, "flux", json!({"conditions": [cancelled]})).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        set_status(
            &cluster,
            INSTANCE,
            "flux",
            json!({"conditions": [ready("True", "Succeeded", "new", 1)], "lastAppliedRevision": "v2.9.4"}),
        )
        .await;
    });
    let run = run.exits(0).stderr_has("HealthCheckCanceled");
    assert_eq!(run.stdout, format!("fluxinstance/{}/flux: new\n", cluster.namespace()));
}

async fn an_object_deleted_meanwhile_ends_the_wait(cluster: TestCluster) {
    create(&cluster, GIT, "web", json!({})).await;
    let (run, _) = tokio::join!(run(&cluster, &["reconcile", "resource", "gitrepo/web"]), async {
        requested(&cluster, GIT, "web", None).await;
        GIT.api(&cluster).delete("web", &Default::default()).await.unwrap();
    });
    run.exits(3).stderr_has("was deleted while waiting");
}

async fn a_silent_server_does_not_hold_the_command_longer_than_its_timeout(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    let proxy = cluster.proxy().await;
    proxy.add_rule(FaultRule::every(Fault::Hang));
    for command in ["reconcile", "wait", "suspend", "export", "delete"] {
        let mut silent = start(&cluster, &[command, "instance", "flux", "--timeout=3s", "-n", cluster.namespace()]);
        silent.env("KUBECONFIG", proxy.kubeconfig().path());
        if command == "delete" {
            silent.arg("--yes");
        }
        let begun = Instant::now();
        let run = finish(silent).await.exits(7);
        assert!(begun.elapsed() < IN_TIME, "{command} took {:?}", begun.elapsed());
        assert!(run.stderr.contains("3s"), "{}", run.stderr);
    }
}

async fn a_server_that_goes_away_for_a_while_is_asked_again(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    run_operator(&cluster).await;
    let proxy = cluster.proxy().await;
    let lists = |uri: &str| uri.contains("fieldSelector=metadata.name");
    proxy.add_rule(FaultRule::first(2, Fault::unavailable()).uri(lists));
    let mut waiting = start(&cluster, &["wait", "instance", "-n", cluster.namespace()]);
    waiting.env("KUBECONFIG", proxy.kubeconfig().path());
    set_status(
        &cluster,
        INSTANCE,
        "flux",
        json!({"conditions": [ready("True", "Succeeded", "there", 1)], "lastAppliedRevision": "v2.9.4"}),
    )
    .await;
    finish(waiting).await.exits(0).stdout_has("there");
}

async fn every_line_beside_json_progress_is_json(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    create(&cluster, GIT, "web", json!({"spec": {"suspend": true}})).await;
    let lines = async |arguments: &[&str]| {
        let run = run(&cluster, &[arguments, &["--progress=json"]].concat()).await;
        let parse = |line: &str| {
            serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {line}"))
        };
        let lines: Vec<Value> = run.stderr.lines().map(parse).collect();
        assert!(lines.iter().all(|line| line["type"].is_string()), "{arguments:?}: {lines:?}");
        lines
    };
    let messages = |lines: &[Value], sort: &str| {
        let of = lines.iter().filter(|line| line["type"] == sort);
        of.filter_map(|line| line["message"].as_str().map(str::to_owned)).collect::<Vec<_>>().join("\n")
    };
    let asleep = lines(&["reconcile", "gitrepo/web", "--wait=false"]).await;
    assert!(messages(&asleep, "warning").contains("is suspended"), "{asleep:?}");
    assert_eq!(asleep.iter().filter(|line| line["type"] == "requestStored").count(), 1, "{asleep:?}");
    let unheard = lines(&["reconcile", "instance"]).await;
    assert!(messages(&unheard, "error").contains("is running to"), "{unheard:?}");
    let dry = lines(&["reconcile", "instance", "--dry-run=client"]).await;
    assert!(messages(&dry, "status").contains("(dry run) would"), "{dry:?}");
    let none = lines(&["reconcile", "all", "-l", "none=there"]).await;
    assert!(messages(&none, "status").contains("nothing to reconcile"), "{none:?}");
    // If one of two fails, there is an error for it and a count.
    let missing = lines(&["wait", "gitrepo/nope", "gitrepo/nope2"]).await;
    assert_eq!(missing.iter().filter(|line| line["type"] == "error").count(), 3, "{missing:?}");
}

async fn progress_is_json_lines_when_asked_for_and_nothing_when_quiet(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    run_operator(&cluster).await;
    let outcome = ready("True", "Succeeded", "done", 1);
    let json_progress = ["reconcile", "instance", "--progress=json", "-q"];
    let (json_run, token) =
        tokio::join!(run(&cluster, &json_progress), handle_one_request(&cluster, INSTANCE, "flux", outcome.clone()));
    let json_run = json_run.exits(0);
    let lines: Vec<Value> = json_run.stderr.lines().map(|l| serde_json::from_str(l).expect("a JSON object")).collect();
    assert!(lines.iter().any(|l| l["message"] == "Ready=Unknown Progressing: Applying objects"), "{lines:?}");
    assert_eq!(lines.last().unwrap()["state"], "done");
    let quiet = ["reconcile", "instance", "--quiet"];
    let (quiet_run, ()) = tokio::join!(run(&cluster, &quiet), async {
        let next = requested(&cluster, INSTANCE, "flux", Some(token)).await;
        let status = json!({"conditions": [outcome], "lastHandledReconcileAt": next});
        set_status(&cluster, INSTANCE, "flux", status).await;
    });
    let quiet_run = quiet_run.exits(0);
    assert_eq!(quiet_run.stderr, "");
    assert!(quiet_run.stdout.ends_with("flux: done\n"));
}

/// Starts a wait, sends a signal once it waits, and returns its output.
async fn signalled(cluster: &TestCluster, arguments: &[&str], signal: &str) -> Run {
    let child = start(cluster, arguments).spawn().unwrap();
    requested(cluster, INSTANCE, "flux", None).await;
    // The handler is in place before the request is sent; the wait itself begins a moment later.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let begun = Instant::now();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await.unwrap().unwrap();
    assert!(begun.elapsed() < IN_TIME, "took {:?}", begun.elapsed());
    output.into()
}

async fn an_interrupt_says_what_goes_on_and_exits_130(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    run_operator(&cluster).await;
    let namespace = cluster.namespace();
    signalled(&cluster, &["reconcile", "instance"], "-INT")
        .await
        .exits(130)
        .stderr_has("interrupted: the request is stored, and its controller continues to handle it")
        .stderr_has(&format!("hint: follow it with `flux-operator wait instance flux -n {namespace}`"));
}

async fn a_termination_ends_the_wait_as_well(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    run_operator(&cluster).await;
    signalled(&cluster, &["resume", "instance"], "-TERM").await.exits(130).stderr_has("the request is stored");
}

async fn a_closed_pipe_ends_quietly(cluster: TestCluster) {
    let many = json!({"spec": {"text": "x".repeat(200_000)}});
    create(&cluster, GIT, "large", many).await;
    let mut export = start(&cluster, &["export", "resource", "gitrepo/large"]);
    let mut child = export.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

async fn errors_are_json_when_json_is_asked_for(cluster: TestCluster) {
    define_kinds(cluster.client()).await;
    let run = run(&cluster, &["export", "instance", "nope", "-o", "json"]).await.exits(3);
    let error: Value = serde_json::from_str(&run.stderr).expect("one JSON object");
    assert_eq!((&error["code"], &error["category"]), (&json!(3), &json!("NotFound")));
    assert_eq!(error["object"], format!("fluxinstance/{}/nope", cluster.namespace()));
    assert!(run.stdout.is_empty());
}

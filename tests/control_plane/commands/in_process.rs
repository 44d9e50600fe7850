//! The operator's work from the command line, and an operator that does it elsewhere: each test on a cluster of its own.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::commands::cluster_objects::{GIT, INSTANCE, Run, SOON, finish, ready};
use crate::commands::terminal::{cursor_is_visible, end, on_terminal, terminal_of, without_escapes};
use crate::support::audit::Mark;
use crate::support::kubelet::PullFailure;
use crate::support::runner::command;
use crate::support::{
    Behaviour, ClusterTest, Fault, FaultProxy, FaultRule, IN_TIME, Kubeconfig, LentControlPlane, Options, PodRule,
    TestCluster, eventually, objects,
};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        an_empty_cluster_gets_flux_and_then_nothing_differs,
        a_manifest_that_cannot_be_built_is_refused_and_replaces_nothing,
        drift_is_planned_with_its_author_and_corrected_by_the_saved_plan_once,
        a_first_install_can_be_planned_saved_and_carried_out,
        an_upgrade_shows_its_change_and_a_rollback_goes_back_a_minor,
        an_upgrade_that_does_not_become_ready_is_taken_back,
        the_plan_of_an_upgrade_names_restarts_and_versions_that_go_away,
        a_running_operator_keeps_the_work_and_its_controllers_are_followed,
        an_instance_without_an_operator_is_refused_within_two_seconds,
        an_image_that_cannot_be_pulled_is_named_when_the_time_is_up,
        an_interrupted_run_says_what_was_done_and_the_next_one_completes_it,
        an_uninstall_lists_asks_and_keeps_what_is_not_flux,
        a_foreign_finalizer_is_named_and_left,
        each_controller_has_a_live_line_that_fits_a_narrow_window,
        a_server_dry_run_of_an_apply_is_what_the_apply_does,
        a_stale_plan_is_refused_without_changing_even_the_instance,
        custom_resources_are_deleted_only_after_confirmation,
        in_a_protected_context_nothing_is_pruned_or_downgraded_without_its_name,
        in_a_protected_context_a_spec_that_prunes_is_stored_only_if_the_context_is_named,
        a_controller_that_is_gone_ends_a_wait_and_a_suspended_instance_is_not_uninstalled,
        an_instance_that_is_being_deleted_is_shown_as_that_and_not_applied,
        a_deletion_counts_the_objects_of_people_and_says_what_stays,
        destructive_commands_are_refused_in_a_protected_context,
        a_plan_reports_a_missing_secret,
        a_suspended_instance_is_planned_as_if_it_were_resumed,
        a_suspended_instance_that_cannot_be_stored_is_an_error,
        a_watched_status_is_drawn_anew_when_something_changes,
        a_second_instance_is_refused_with_both_names_and_the_way_out,
        a_run_that_finds_nothing_to_do_needs_few_requests_with_every_version,
        a_terminal_that_hangs_up_ends_a_run_in_order,
    ]
}

const NAMESPACE: &str = "flux-system";

/// A cluster of the test's own, with a file that holds an instance.
struct Own {
    plane: LentControlPlane,
    kubeconfig: Kubeconfig,
    client: Client,
    folder: tempfile::TempDir,
}

impl Own {
    async fn new(cluster: &TestCluster) -> Own {
        let plane = cluster.fresh(Options::default()).await;
        let kubeconfig = plane.admin("me").unwrap();
        let client = kubeconfig.client().await.unwrap();
        let own = Own { plane, kubeconfig, client, folder: tempfile::tempdir().unwrap() };
        own.write("2.9.4", &["source-controller", "kustomize-controller"]);
        own
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("flux.yaml")
    }

    fn write(&self, version: &str, components: &[&str]) {
        let instance = json!({
            "apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": NAMESPACE},
            "spec": {"distribution": {"version": version, "registry": "ghcr.io/fluxcd"}, "components": components},
        });
        std::fs::write(self.file(), instance.to_string()).unwrap();
    }

    fn start(&self, arguments: &str) -> std::process::Command {
        let mut command = command(self.kubeconfig.path(), self.plane.folder());
        command.current_dir(self.folder.path()).args(arguments.split_whitespace());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    async fn run(&self, arguments: &str) -> Run {
        finish(self.start(arguments)).await
    }

    async fn install(&self) {
        self.run("apply instance -f flux.yaml --in-process").await.exits(0);
    }

    fn deployments(&self) -> Api<Deployment> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    fn instances(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), NAMESPACE, &INSTANCE.resource())
    }

    async fn scale(&self, replicas: i32) {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        let by = PatchParams { field_manager: Some("kubectl-scale".into()), ..PatchParams::default() };
        self.deployments().patch("source-controller", &by, &patch).await.unwrap();
    }

    async fn replicas(&self) -> Option<i32> {
        self.deployments().get("source-controller").await.unwrap().spec.replicas
    }

    /// Waits until a run says in the status that it waits for health.
    async fn until_health_is_checked(&self) {
        eventually("the health check", SOON, || async {
            let instance = self.instances().get_opt("flux").await.ok()??;
            let conditions = instance.data["status"]["conditions"].as_array()?.clone();
            conditions.iter().any(|one| one["message"] == "Running health checks").then_some(())
        })
        .await
        .unwrap();
    }

    /// Asserts that nothing was written since `mark`, except for the lease and dry runs.
    async fn wrote_nothing_since(&self, mark: Mark) {
        let writes = self.plane.audit().since(mark).await.unwrap().by_user("me").writes();
        let writes = writes.only(|request| request.resource != "leases" && !request.uri.contains("dryRun"));
        assert!(writes.is_empty(), "{:#?}", writes.table());
    }

    /// An operator that runs somewhere, as far as the cluster can tell.
    async fn operator(&self) {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "flux-operator"},
            "spec": {"holderIdentity": "host_1", "leaseDurationSeconds": 60,
                "renewTime": objects::micro_time(jiff::Timestamp::now())},
        });
        let leases = Api::<k8s_openapi::api::coordination::v1::Lease>::namespaced(self.client.clone(), NAMESPACE);
        leases.patch("flux-operator", &PatchParams::apply("operator").force(), &Patch::Apply(lease)).await.unwrap();
    }
}

async fn an_empty_cluster_gets_flux_and_then_nothing_differs(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.run("apply instance -f flux.yaml").await.exits(4).stderr_has("flux.yaml -n flux-system --in-process");
    let run = own.run("apply instance -f flux.yaml --in-process").await.exits(0);
    assert!(run.stdout.starts_with("fluxinstance/flux-system/flux: Reconciliation finished in "), "{}", run.stdout);
    assert!(run.stderr.contains("Namespace/flux-system: created"), "{}", run.stderr);
    assert!(run.stderr.contains("✔ source-controller: ready"), "{}", run.stderr);
    let plan = own.run("plan instance").await.exits(0);
    assert!(plan.stdout.contains("unchanged") && !plan.stdout.contains("configure"), "{}", plan.stdout);
    let json = own.run("diff instance flux -n flux-system -o json -q").await.exits(0);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["hasChanges"], false);
    let diff = own.run("plan instance --diff -q").await.exits(0).stdout;
    assert!(
        diff.starts_with("Instance: flux-system/flux\n") && diff.contains("\nPlan: ") && !diff.contains("---"),
        "{diff}"
    );
    // Progress as the core tells it, one JSON object per line.
    let again = own.run("reconcile instance --in-process --progress json -q").await.exits(0);
    let lines: Vec<Value> = again.stderr.lines().map(|l| serde_json::from_str(l).expect("a JSON object")).collect();
    assert!(lines.iter().any(|l| l["type"] == "stageBegan"), "{lines:?}");
    assert_eq!(lines.last().unwrap()["type"], "finished");
    // A component that is no longer wanted is pruned, after an announcement.
    own.write("2.9.4", &["source-controller"]);
    let plan = own.run("plan instance -f flux.yaml -q").await.exits(1);
    assert!(plan.stdout.contains("prune") && plan.stdout.contains("Deployment/flux-system/kustomize-controller"));
    own.install().await;
    assert!(own.deployments().get_opt("kustomize-controller").await.unwrap().is_none());
    // An unknown result is neither 0 nor 1.
    own.write("2.8.x", &["source-controller"]);
    own.run("plan instance -f flux.yaml").await.exits(2).stderr_has("downgrading from v2.9.4");
    own.run("plan instance nope").await.exits(3).stderr_has("fluxinstances in namespace flux-system: flux");
}

async fn a_manifest_that_cannot_be_built_is_refused_and_replaces_nothing(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.install().await;
    own.write("9.x", &["source-controller"]);
    let refused = own.run("apply instance -f flux.yaml --in-process").await;
    assert!(refused.code != 0 && refused.stderr.contains("no match found for semver: 9.x"), "{refused:?}");
    assert!(!refused.stderr.contains("configured"), "{refused:?}");
    own.run("get instance -o json").await.exits(0).stdout_has("\"version\": \"2.9.4\"");
    own.run("wait instance").await.exits(0);
    // The same words as a plan of it.
    let planned = own.run("plan instance -f flux.yaml").await;
    let cause = |run: &Run| run.stderr.lines().find(|line| line.contains("9.x")).map(str::to_owned);
    assert_eq!(cause(&refused), cause(&planned));
}

async fn drift_is_planned_with_its_author_and_corrected_by_the_saved_plan_once(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.install().await;
    own.scale(3).await;
    let plan = own.run("plan instance --out drift.plan").await.exits(1);
    assert!(plan.stdout.contains("    spec.replicas: 3 → 1\n      set by kubectl-scale, "), "{}", plan.stdout);
    let yaml = own.run("plan instance -o yaml -q").await.exits(1).stdout;
    assert!(yaml.contains("hasChanges: true") && yaml.contains("manager: kubectl-scale"), "{yaml}");
    let diff = own.run("plan instance --diff -q").await.exits(1).stdout;
    assert!(
        diff.contains("    spec.replicas set by kubectl-scale, ") && diff.contains("\nPlan: 1 to configure"),
        "{diff}"
    );
    // A suspended instance can still be planned; only the run itself is refused.
    own.run("suspend instance").await.exits(0);
    own.run("plan instance")
        .await
        .exits(1)
        .stdout_has("Suspended: nothing is applied until")
        .stdout_has("spec.replicas: 3 → 1");
    own.run("reconcile instance --in-process --dry-run=server").await.exits(1).stderr_has("reconciliation is disabled");
    own.run("resume instance --wait=false").await.exits(0);
    assert!(diff.contains("-  replicas: 3\n+  replicas: 1\n"), "{diff}");
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(own.folder.path().join("drift.plan")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    own.run("apply instance --plan drift.plan").await.exits(0).stdout_has("Reconciliation finished");
    assert_eq!(own.replicas().await, Some(1));
    // The cluster has moved since: by the plan itself, and then by somebody else.
    own.run("apply instance --plan drift.plan").await.exits(1).stderr_has("hint: make a new plan");
    own.scale(2).await;
    own.run("apply instance --plan drift.plan").await.exits(1).stderr_has("the cluster has changed");
    assert_eq!(own.replicas().await, Some(2));
    own.run("reconcile instance --in-process --dry-run=server").await.exits(0).stderr_has("1 to configure");
    assert_eq!(own.replicas().await, Some(2));
    own.run("reconcile instance --in-process").await.exits(0).stderr_has("objects: 1 configured");
    assert_eq!(own.replicas().await, Some(1));
}

async fn a_first_install_can_be_planned_saved_and_carried_out(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    let plan = own.run("plan instance -f flux.yaml --out first.plan").await.exits(1);
    assert!(plan.stdout.contains("create") && plan.stdout.contains("Deployment/flux-system/source-controller"));
    assert!(own.deployments().get_opt("source-controller").await.unwrap().is_none());
    own.run("apply instance --plan first.plan").await.exits(0).stdout_has("Reconciliation finished");
    own.run("plan instance").await.exits(0);
    own.run("apply instance --plan first.plan").await.exits(1).stderr_has("hint: make a new plan");
}

async fn the_plan_of_an_upgrade_names_restarts_and_versions_that_go_away(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.write("2.7.5", &["source-controller"]);
    own.install().await;
    own.write("2.8.8", &["source-controller"]);
    let plan = own.run("plan instance -f flux.yaml").await.exits(1);
    let plan = plan.stdout_has("Instance: flux-system/flux\nfrom v2.7.5@").stdout_has("\nto   v2.8.8@");
    let plan =
        plan.stdout_has("\nspec.distribution.version: 2.7.5 → 2.8.8").stdout_has("\nrestarts: source-controller");
    let plan = plan.stdout_has("\nno longer served: ").stderr_has("add --diff, or -o wide, to see every change");
    assert!(plan.stdout.lines().count() < 40, "one screen: {}", plan.stdout);
    let long = own.run("plan instance -f flux.yaml --diff").await.exits(1);
    long.stdout_has("Instance: flux-system/flux\nfrom v2.7.5@")
        .stdout_has("--- live/")
        .stdout_has("\nNo longer served: ");
    let wide = own.run("plan instance -f flux.yaml -o wide").await.exits(1);
    wide.stdout_has("\nRestarts: ").stdout_has("\nNo longer served: ");
    let plan: Value =
        serde_json::from_str(&own.run("plan instance -f flux.yaml -o json -q").await.exits(1).stdout).unwrap();
    let removed = plan["removedVersions"].as_array().unwrap();
    let buckets = removed.iter().find(|one| one["definition"] == "buckets.source.toolkit.fluxcd.io");
    assert_eq!(buckets.map(|one| &one["versions"]), Some(&json!(["v1beta2"])), "{removed:?}");
}

async fn a_running_operator_keeps_the_work_and_its_controllers_are_followed(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.install().await;
    own.operator().await;
    let before = own.instances().get("flux").await.unwrap().metadata.resource_version;
    for refused in ["apply instance -f flux.yaml --in-process", "reconcile instance --in-process"] {
        for refused in [refused.to_owned(), format!("{refused} --dry-run=server")] {
            own.run(&refused)
                .await
                .exits(1)
                .stderr_has("host_1 holds lease/flux-system")
                .stderr_has("--force-in-process");
        }
    }
    assert_eq!(own.instances().get("flux").await.unwrap().metadata.resource_version, before);
    own.run("reconcile instance --in-process --force-in-process").await.exits(0);

    own.operator().await;
    own.write("2.9.4", &["source-controller"]);
    let rule = PodRule::new(NAMESPACE, Behaviour::ImageCannotBePulled(PullFailure::NotFound));
    let rule = own.plane.kubelet().add_rule(rule);
    let (run, ()) = tokio::join!(own.run("apply instance -f flux.yaml"), async {
        eventually("the new generation", SOON, || async {
            let object = own.instances().get("flux").await.unwrap();
            object.metadata.generation.filter(|g| *g > 1)
        })
        .await
        .unwrap();
        // The operator rolls the controller; its pod does not come up at first.
        let restart = Patch::Merge(json!({"spec": {"template": {"metadata": {"annotations": {"again": "1"}}}}}));
        own.deployments().patch("source-controller", &PatchParams::default(), &restart).await.unwrap();
        tokio::time::sleep(Duration::from_secs(3)).await;
        own.plane.kubelet().remove_rule(rule);
        eventually("the rollout", SOON, || async {
            let status = own.deployments().get("source-controller").await.unwrap().status?;
            (status.updated_replicas == Some(1) && status.available_replicas == Some(1)).then_some(())
        })
        .await
        .unwrap();
        let generation = own.instances().get("flux").await.unwrap().metadata.generation.unwrap();
        let done = ready("True", "ReconciliationSucceeded", "Reconciliation finished in 5s", generation);
        let status = Patch::Merge(json!({"status": {"conditions": [done]}}));
        own.instances().patch_status("flux", &PatchParams::default(), &status).await.unwrap();
    });
    let run = run.exits(0);
    assert_eq!(run.stdout, "fluxinstance/flux-system/flux: Reconciliation finished in 5s\n");
    let lines: Vec<&str> = run.stderr.lines().filter(|l| l.contains("source-controller: ")).collect();
    assert!(lines.iter().any(|l| l.contains("ImagePullBackOff") || l.contains("ErrImagePull")), "{}", run.stderr);
}

async fn an_instance_without_an_operator_is_refused_within_two_seconds(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.install().await;
    own.write("2.9.x", &["source-controller"]);
    let begun = Instant::now();
    own.run("apply instance -f flux.yaml")
        .await
        .exits(1)
        .stderr_has("no operator is running to do it")
        .stderr_has("no operator is installed in this cluster")
        .stderr_has("flux-operator apply instance -f flux.yaml -n flux-system --in-process");
    assert!(begun.elapsed() < IN_TIME, "took {:?}", begun.elapsed());
    let before = own.instances().get("flux").await.unwrap();
    assert_eq!(before.data["spec"]["distribution"]["version"], "2.9.4", "nothing was stored");
    own.run("apply instance -f flux.yaml --wait=false").await.exits(0).stderr_has("is running to");
    let stored = own.instances().get("flux").await.unwrap();
    assert_eq!(stored.data["spec"]["distribution"]["version"], "2.9.x");
    own.run("apply instance -f flux.yaml -n other").await.exits(2).stderr_has("namespace");
    let client = own.run("apply instance -f flux.yaml --dry-run=client").await.exits(0);
    assert!(client.stdout.contains("kind: FluxInstance") && !client.stdout.contains("status"), "{}", client.stdout);
}

async fn an_upgrade_shows_its_change_and_a_rollback_goes_back_a_minor(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.write("2.8.x", &["source-controller", "kustomize-controller"]);
    own.install().await;
    let version = async || own.instances().get("flux").await.unwrap().data["spec"]["distribution"]["version"].clone();
    // Without an operator a stored spec would never be reconciled.
    let refused = own.run("upgrade 2.9.x --yes").await.exits(1).stderr_has("no operator is running to do it");
    refused.stderr_has("do it from here with `flux-operator upgrade 2.9.x -n flux-system --in-process`");
    assert_eq!(version().await, "2.8.x");
    let shown = own.run("upgrade 2.9.x --in-process --dry-run --yes").await.exits(0);
    for line in ["from v2.8.8@", "to   v2.9.4@", "spec.distribution.version: 2.8.x → 2.9.x", "restarts: "] {
        assert!(shown.stderr.contains(line), "{line}: {}", shown.stderr);
    }
    assert!(shown.stderr.contains("image: ghcr.io/fluxcd/source-controller v1.8."), "{}", shown.stderr);
    assert_eq!(version().await, "2.8.x");
    own.run("upgrade 2.9.x --in-process").await.exits(2).stderr_has("--yes");
    own.run("upgrade 2.9.x --in-process --yes").await.exits(0);
    assert_eq!(version().await, "2.9.x");
    own.run("upgrade 2.9.x --in-process --yes").await.exits(0).stderr_has("has this version already");
    own.run("upgrade 2.8.x --in-process --yes").await.exits(1).stderr_has("flux-operator rollback instance");

    let history = own.run("get history").await.exits(0);
    history.stdout_has("no: the instance already has it").stdout_has("   yes\n");
    let rollback = own.run("get history -o json").await.json()["items"][1]["rollback"].clone();
    assert_eq!(rollback, json!({"possible": true}));
    let back = own.run("rollback instance --in-process --yes").await.exits(0);
    assert!(back.stderr.contains("from v2.9.4@") && back.stderr.contains("to   v2.8.8@"), "{}", back.stderr);
    assert_eq!(version().await, "v2.8.8");
    own.run("reconcile instance --in-process").await.exits(0);
    // The file of the user applies as before, although the program has patched the instance meanwhile.
    own.write("2.9.x", &["source-controller", "kustomize-controller"]);
    own.run("apply instance -f flux.yaml --in-process").await.exits(0);
    assert_eq!(version().await, "2.9.x");
}

async fn an_upgrade_that_does_not_become_ready_is_taken_back(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.write("2.8.x", &["source-controller"]);
    own.install().await;
    let crash = Behaviour::CrashLoop { exit_code: 1, restarts: 3 };
    own.plane.kubelet().add_rule(PodRule::new(NAMESPACE, crash).image_contains("source-controller:v1.9"));
    let upgrade = "upgrade 2.9.x --in-process --yes --rollback-on-failure --timeout 15s";
    let run = own.run(upgrade).await.exits(7);
    run.stderr_has("the instance has version 2.8.x again");
    let deployment = own.deployments().get("source-controller").await.unwrap();
    let image = deployment.spec.template.spec.unwrap().containers[0].image.clone().unwrap();
    assert!(image.contains("source-controller:v1.8"), "{image}");
}

async fn an_image_that_cannot_be_pulled_is_named_when_the_time_is_up(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.plane.kubelet().add_rule(PodRule::new(NAMESPACE, Behaviour::ImageCannotBePulled(PullFailure::NotFound)));
    let begun = Instant::now();
    // A busy machine takes half of it to apply everything.
    let run = own.run("apply instance -f flux.yaml --in-process --timeout 14s").await.exits(7);
    assert!(begun.elapsed() < Duration::from_secs(18), "took {:?}", begun.elapsed());
    // The image is reported as a cause, with the reason from the status if there was time to write the status.
    let reported = run.stderr.split_once("error: ").map(|(_, reported)| reported.to_owned()).unwrap_or_default();
    assert!(reported.contains("caused by: ") && reported.contains("ImagePull"), "{}", run.stderr);
    // The message is printed once, however long it is.
    let failed = reported.lines().find_map(|line| line.strip_prefix("caused by: HealthCheckFailed: "));
    let failed = failed.unwrap_or_else(|| panic!("{}", run.stderr));
    assert_eq!(run.stderr.matches(failed).count(), 1, "{}", run.stderr);
    // Also when the status cannot be written any more.
    let proxy = FaultProxy::start(&own.kubeconfig, own.plane.folder()).await.unwrap();
    let waits = AtomicBool::new(false);
    proxy.add_rule(FaultRule::every(Fault::Hang).uri(move |uri| {
        waits.fetch_or(uri.contains("/pods"), Ordering::Relaxed);
        uri.contains("/status") && waits.load(Ordering::Relaxed)
    }));
    let mut stuck = command(proxy.kubeconfig().path(), own.plane.folder());
    stuck.args(["reconcile", "instance", "-n", NAMESPACE, "--in-process", "--timeout", "6s"]).stdin(Stdio::null());
    let stuck = finish(stuck).await.exits(7).stderr_has("timed out after 6s");
    stuck.stderr_has("caused by: source-controller is not ready: ImagePull");
    // Every view of the controllers says so.
    own.run("get components").await.exits(0).stderr_has("ImagePull");
    own.run("check").await.exits(1).stdout_has("ImagePull");
    own.run("status").await.exits(7).stdout_has("ImagePull");
}

async fn an_interrupted_run_says_what_was_done_and_the_next_one_completes_it(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    let rule = PodRule::new(NAMESPACE, Behaviour::ImageCannotBePulled(PullFailure::NotFound));
    let rule = own.plane.kubelet().add_rule(rule);
    let child = own.start("apply instance -f flux.yaml --in-process").spawn().unwrap();
    own.until_health_is_checked().await;
    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await.unwrap().unwrap();
    Run::from(output)
        .exits(130)
        .stderr_has("interrupted: ")
        .stderr_has("objects were changed, the run ended while running health checks")
        .stderr_has(
            "the next run completes it: `flux-operator apply instance -f flux.yaml -n flux-system --in-process`",
        );
    own.plane.kubelet().remove_rule(rule);
    // The lease was given back, so nothing has to be waited for.
    own.run("apply instance -f flux.yaml --in-process").await.exits(0);
}

async fn an_uninstall_lists_asks_and_keeps_what_is_not_flux(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.install().await;
    own.run("uninstall instance").await.exits(1).stderr_has("--in-process");
    let list = own.run("uninstall instance --in-process --dry-run=server --yes").await.exits(0);
    assert!(
        list.stdout.contains("  2 Deployment\n") && list.stdout.contains("Namespace/flux-system: "),
        "{}",
        list.stdout
    );
    own.run("uninstall instance --in-process").await.exits(2).stderr_has("--yes");
    assert!(own.deployments().get_opt("source-controller").await.unwrap().is_some());
    own.run("uninstall instance --in-process --yes").await.exits(0).stdout_has("flux: uninstalled");
    assert!(own.deployments().get_opt("source-controller").await.unwrap().is_none());
    assert!(own.instances().get_opt("flux").await.unwrap().is_none());
    assert!(Api::<Namespace>::all(own.client.clone()).get_opt(NAMESPACE).await.unwrap().is_some());
    own.run("uninstall instance --in-process --yes").await.exits(4).stderr_has("Flux is not installed");
    own.install().await;
}

async fn a_foreign_finalizer_is_named_and_left(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.install().await;
    let api: Api<DynamicObject> = Api::namespaced_with(own.client.clone(), "default", &GIT.resource());
    let repository = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": "held", "finalizers": ["example.com/hold", "finalizers.fluxcd.io"]},
        "spec": {"interval": "1h", "url": "https://example.com/a"},
    });
    api.create(&Default::default(), &serde_json::from_value(repository).unwrap()).await.unwrap();
    own.run("uninstall instance --in-process --yes --timeout 5s")
        .await
        .exits(7)
        .stdout_has("  1 GitRepository\n")
        .stderr_has("GitRepository/default/held is held by example.com/hold")
        .stderr_has("the next run continues from here");
    let held = api.get("held").await.unwrap().metadata.finalizers;
    assert_eq!(held, Some(vec!["example.com/hold".to_owned()]));
    let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("held", &PatchParams::default(), &none).await.unwrap();
    own.run("uninstall instance --in-process --yes").await.exits(0).stdout_has("uninstalled");
}

async fn each_controller_has_a_live_line_that_fits_a_narrow_window(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    // Slow enough to be seen on the way.
    own.plane.kubelet().add_rule(PodRule::new(NAMESPACE, Behaviour::SlowStart(Duration::from_secs(4))));
    let arguments = format!("apply instance -f {} --in-process", own.file().display());
    let mut session = terminal_of(&own.start(""), 60, &arguments);
    let (code, shown) = on_terminal(move || end(&mut session)).await;
    assert_eq!(code, 0, "{shown}");
    for controller in ["source-controller", "kustomize-controller"] {
        let lines = shown.split(['\r', '\n']).map(without_escapes);
        let lines: Vec<String> = lines.filter(|line| line.contains(controller)).collect();
        assert!(lines.iter().any(|line| line.contains("Available: 0/1")), "{controller}: {lines:?}");
        assert!(lines.iter().any(|line| line.starts_with('✔') && line.contains("ready")), "{controller}: {lines:?}");
    }
    let live = shown.split("objects:").next().unwrap_or_default();
    // Rows are padded with blanks to the width of the window and follow each other without line ends. A row that is too
    // long would therefore shift the symbol at the beginning of the next row.
    for line in live.split(['\r', '\n']).map(without_escapes) {
        let characters: Vec<char> = line.chars().collect();
        for row in characters.chunks(60).skip(1) {
            assert!(row.len() > 1 && !row[0].is_alphanumeric() && row[1] == ' ', "{line:?}");
        }
    }
    assert!(cursor_is_visible(&shown));
    assert!(shown.contains("flux: Reconciliation finished in"), "{shown}");
}

async fn a_server_dry_run_of_an_apply_is_what_the_apply_does(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.install().await;
    own.write("2.9.4", &["source-controller"]);
    let preview = own.run("apply instance -f flux.yaml --in-process --dry-run=server").await.exits(0);
    let planned = own.run("plan instance -f flux.yaml").await.exits(1);
    let counts = planned.stdout.lines().find_map(|line| line.strip_prefix("Plan: ")).unwrap();
    assert!(counts.contains(" to prune"), "{counts}");
    preview.stderr_has(counts);
    own.write("2.8.x", &["source-controller"]);
    own.run("apply instance -f flux.yaml --in-process --dry-run=server").await.exits(1).stderr_has("downgrading from");
}

async fn a_stale_plan_is_refused_without_changing_even_the_instance(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.install().await;
    own.write("2.9.4", &["source-controller", "kustomize-controller", "helm-controller"]);
    own.run("plan instance -f flux.yaml --out more.plan").await.exits(1);
    let refused = async |names: &str| {
        let before = own.instances().get("flux").await.unwrap();
        let mark = own.plane.audit().mark().await.unwrap();
        own.run("apply instance --plan more.plan").await.exits(1).stderr_has(names);
        let writes = own.plane.audit().since(mark).await.unwrap().by_user("me").writes();
        let others = writes.only(|one| one.resource != "leases" && !one.uri.contains("dryRun=All"));
        assert!(others.is_empty() && others.len() < writes.len(), "{names}: {:?}", writes.table());
        let after = own.instances().get("flux").await.unwrap();
        assert_eq!(
            after.metadata.resource_version, before.metadata.resource_version,
            "the instance is part of the plan"
        );
    };
    own.scale(2).await;
    refused("Deployment/flux-system/source-controller").await;
    own.scale(1).await;
    let patch = Patch::Merge(json!({"spec": {"migrateResources": false}}));
    own.instances().patch("flux", &PatchParams::default(), &patch).await.unwrap();
    refused("the plan is stale: FluxInstance/flux-system/flux").await;
    own.run("plan instance -f flux.yaml --out more.plan").await.exits(1);
    own.run("apply instance --plan more.plan").await.exits(0);
    assert!(own.deployments().get_opt("helm-controller").await.unwrap().is_some());
}

async fn custom_resources_are_deleted_only_after_confirmation(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.install().await;
    let kustomization: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "apps", "finalizers": ["finalizers.fluxcd.io"]},
        "spec": {"interval": "1h", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "a"}},
    }))
    .unwrap();
    let resource = kube::core::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(
        "kustomize.toolkit.fluxcd.io",
        "v1",
        "Kustomization",
    ));
    let api: Api<DynamicObject> = Api::namespaced_with(own.client.clone(), "default", &resource);
    api.create(&Default::default(), &kustomization).await.unwrap();
    let create = async |name: &str| {
        let mut another = kustomization.clone();
        another.metadata.name = Some(name.to_owned());
        api.create(&Default::default(), &another).await.unwrap();
    };
    own.write("2.9.4", &["source-controller"]);
    let named = "1 Kustomization (default/apps)";
    own.run("plan instance -f flux.yaml").await.exits(1).stdout_has(named);
    let before = own.instances().get("flux").await.unwrap().metadata.resource_version;
    own.run("apply instance -f flux.yaml --in-process").await.exits(1).stderr_has(named).stderr_has("--yes");
    assert_eq!(own.instances().get("flux").await.unwrap().metadata.resource_version, before);
    assert!(own.deployments().get_opt("kustomize-controller").await.unwrap().is_some());
    // A plan names what there was when it was made.
    own.run("plan instance -f flux.yaml --out flux.plan").await.exits(1);
    create("later").await;
    own.run("apply instance --plan flux.plan --yes")
        .await
        .exits(1)
        .stderr_has("the cluster has changed since the plan was made: CustomResourceDefinition/kustomizations");
    assert!(own.deployments().get_opt("kustomize-controller").await.unwrap().is_some());
    // On a terminal the command asks, and asks again if more objects would be deleted than it has listed.
    let arguments = format!("apply instance -f {} --in-process", own.file().display());
    let mut session = terminal_of(&own.start(""), 100, &arguments);
    let mut session = on_terminal(move || {
        session.exp_string("2 Kustomization (default/apps, default/later)").expect("what goes");
        session.exp_string("[y/N] ").expect("the question");
        session
    })
    .await;
    create("meanwhile").await;
    let (code, shown) = on_terminal(move || {
        session.send_line("y").expect("sent");
        session.exp_string("3 Kustomization (default/apps, default/later, default/meanwhile)").expect("what goes now");
        session.exp_string("[y/N] ").expect("the question again");
        session.send_line("y").expect("sent");
        end(&mut session)
    })
    .await;
    assert_eq!(code, 0, "{shown}");
    assert!(own.deployments().get_opt("kustomize-controller").await.unwrap().is_none());
    assert!(api.get_opt("apps").await.is_err(), "the kind is no longer served");
}

async fn a_second_instance_is_refused_with_both_names_and_the_way_out(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.install().await;
    let text = std::fs::read_to_string(own.file()).unwrap().replace(NAMESPACE, "apps");
    std::fs::write(own.folder.path().join("second.yaml"), text).unwrap();
    // Without a namespace it goes to that of the context or of the flag.
    let text = std::fs::read_to_string(own.file()).unwrap().replace(&format!(",\"namespace\":\"{NAMESPACE}\""), "");
    std::fs::write(own.folder.path().join("anywhere.yaml"), text).unwrap();
    for refused in [
        "apply instance -f second.yaml --in-process",
        "apply instance -f second.yaml --in-process --dry-run=server",
        "apply -f second.yaml",
        "apply -f second.yaml --wait=false",
        "apply -f second.yaml --dry-run=server",
        "apply -f anywhere.yaml -n apps",
        "install --image registry.example.com/flux-operator:v1 -f second.yaml",
        "install --image registry.example.com/flux-operator:v1 -f second.yaml --dry-run",
    ] {
        own.run(refused)
            .await
            .exits(1)
            .stderr_has("FluxInstance/apps/flux")
            .stderr_has("FluxInstance/flux-system/flux already exists")
            .stderr_has("hint: change FluxInstance/flux-system/flux instead, or uninstall it first")
            .stderr_has("is applied to it with -n flux-system");
    }
    own.run("plan instance -f second.yaml").await.exits(2).stderr_has("already exists");
    let namespaces = Api::<Namespace>::all(own.client.clone());
    assert!(namespaces.get_opt("apps").await.unwrap().is_none());
    let apps: Namespace = serde_json::from_value(json!({"metadata": {"name": "apps"}})).unwrap();
    namespaces.create(&Default::default(), &apps).await.unwrap();
    own.run("apply -f anywhere.yaml -n apps").await.exits(1).stderr_has("flux-system/flux already exists");
    let second = Api::<DynamicObject>::namespaced_with(own.client.clone(), "apps", &INSTANCE.resource());
    assert!(second.get_opt("flux").await.unwrap().is_none());
    own.run("apply -f anywhere.yaml -n flux-system --wait=false").await.exits(0).stderr_has("flux-system/flux");
    // Installed objects are read by name only.
    let mark = own.plane.audit().mark().await.unwrap();
    own.run("apply -f flux.yaml --wait=false").await.exits(0);
    let requests = own.plane.audit().since(mark).await.unwrap().by_user("me");
    assert_eq!(requests.count("list", "fluxinstances"), 0, "{:#?}", requests.table());
    own.run("plan instance").await.exits(0);
}

async fn a_run_that_finds_nothing_to_do_needs_few_requests_with_every_version(cluster: TestCluster) {
    for version in ["2.2.3", "2.4.0", "2.9.4"] {
        let own = Own::new(&cluster).await;
        own.write(
            version,
            &["source-controller", "kustomize-controller", "helm-controller", "notification-controller"],
        );
        own.install().await;
        own.run("reconcile instance --in-process").await.exits(0);
        for again in ["reconcile instance --in-process", "apply instance -f flux.yaml --in-process"] {
            let mark = own.plane.audit().mark().await.unwrap();
            own.run(again).await.exits(0);
            let requests = own.plane.audit().since(mark).await.unwrap().by_user("me");
            assert!(requests.len() <= 20, "{version} {again}: {} {:#?}", requests.len(), requests.table());
            assert_eq!(requests.count("list", "deployments"), 1, "{version} {again}: {:#?}", requests.table());
        }
    }
}

async fn a_terminal_that_hangs_up_ends_a_run_in_order(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.plane.kubelet().add_rule(PodRule::new(NAMESPACE, Behaviour::ImageCannotBePulled(PullFailure::NotFound)));
    let started = own.start("apply instance -f flux.yaml --in-process");
    // The tests themselves may run under nohup, which would be passed on.
    let mut command = std::process::Command::new("env");
    command.arg("--default-signal=HUP").arg(started.get_program()).args(started.get_args()).env_clear();
    command.envs(started.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(own.folder.path());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    own.until_health_is_checked().await;
    std::process::Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await.unwrap().unwrap();
    Run::from(output).exits(130).stderr_has("interrupted: ");
    let status = own.instances().get("flux").await.unwrap().data["status"].clone();
    let ready = status["conditions"].as_array().unwrap().iter().find(|c| c["type"] == "Ready").unwrap().clone();
    assert_eq!(ready["reason"], "HealthCheckCanceled", "{status}");
}

/// The refusal lists the deleted objects and the way to continue.
fn is_refused_for_the_context(run: Run) {
    let refused = run.exits(1).stderr_has("Flux v2.9.4: v2.9.2 is older");
    let refused = refused.stderr_has("Deployment/flux-system/kustomize-controller");
    refused.stderr_has("the context test is protected (te?t)").stderr_has("--confirm-context test --yes");
}

async fn in_a_protected_context_nothing_is_pruned_or_downgraded_without_its_name(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    let protected = |arguments: &str| {
        let mut command = own.start(&format!("{arguments} --in-process"));
        command.env("FLUX_OPERATOR_PROTECTED_CONTEXTS", "te?t");
        finish(command)
    };
    // Nothing is lost by an installation, an upgrade or a correction.
    own.write("2.9.2", &["source-controller", "kustomize-controller"]);
    protected("apply instance -f flux.yaml").await.exits(0);
    own.write("2.9.4", &["source-controller", "kustomize-controller"]);
    protected("apply -f flux.yaml").await.exits(0);
    own.scale(0).await;
    protected("reconcile instance").await.exits(0);
    assert_eq!(own.replicas().await, Some(1));

    own.write("2.9.2", &["source-controller"]);
    let mark = own.plane.audit().mark().await.unwrap();
    own.run("plan instance -f flux.yaml --out saved.json").await.exits(1);
    for arguments in [
        "apply instance -f flux.yaml",
        "apply instance -f flux.yaml --yes",
        "apply instance -f flux.yaml --yes --dry-run=server",
        "apply instance --plan saved.json --yes",
    ] {
        is_refused_for_the_context(protected(arguments).await);
    }
    for arguments in ["rollback instance --yes", "rollback instance --yes --dry-run"] {
        protected(arguments).await.exits(2).stderr_has("the context test is protected (te?t)");
    }
    protected("apply instance -f flux.yaml --yes --confirm-context prod")
        .await
        .exits(2)
        .stderr_has("the context is test");
    own.wrote_nothing_since(mark).await;
    protected("apply instance -f flux.yaml --yes --confirm-context test").await.exits(0);
    assert!(own.deployments().get_opt("kustomize-controller").await.unwrap().is_none());
}

async fn in_a_protected_context_a_spec_that_prunes_is_stored_only_if_the_context_is_named(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.write("2.9.4", &["source-controller", "kustomize-controller"]);
    own.run("apply instance -f flux.yaml --in-process").await.exits(0);
    own.operator().await;
    let protected = |arguments: &str| {
        let mut command = own.start(arguments);
        command.env("FLUX_OPERATOR_PROTECTED_CONTEXTS", "te?t");
        finish(command)
    };
    // An apply that changes nothing loses nothing, so it is not refused.
    protected("apply -f flux.yaml --wait=false").await.exits(0);
    protected("apply -f flux.yaml --wait=false --confirm-context prod")
        .await
        .exits(2)
        .stderr_has("the context is test");
    own.write("2.9.2", &["source-controller"]);
    let mark = own.plane.audit().mark().await.unwrap();
    for arguments in [
        "apply -f flux.yaml --wait=false",
        "apply instance -f flux.yaml --wait=false --yes",
        "apply instance -f flux.yaml --dry-run=server --yes",
        "install --image x/y:v1 -f flux.yaml --wait=false --yes",
        "install --image x/y:v1 -f flux.yaml --dry-run --yes",
    ] {
        is_refused_for_the_context(protected(arguments).await);
    }
    protected("install --image x/y:v1 -f flux.yaml --wait=false --confirm-context prod")
        .await
        .exits(2)
        .stderr_has("the context is test");
    own.wrote_nothing_since(mark).await;
    protected("apply -f flux.yaml --wait=false --yes --confirm-context test").await.exits(0);
    assert_eq!(own.instances().get("flux").await.unwrap().data["spec"]["distribution"]["version"], "2.9.2");
}

async fn a_controller_that_is_gone_ends_a_wait_and_a_suspended_instance_is_not_uninstalled(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.install().await;
    own.run("wait instance --timeout 20s").await.exits(0);
    own.run("status").await.exits(0).stdout_has("✔ source-controller 1/1").stdout_has("Operator     • none");
    // Its last run ended well, and somebody deleted a controller since.
    own.deployments().delete("source-controller", &Default::default()).await.unwrap();
    let missing = own.run("wait instance --timeout 20s").await.exits(7);
    missing.stderr_has("Deployment source-controller is missing");
    let status = own.run("status").await.exits(7);
    status.stdout_has("✗ source-controller 0/1  Deployment missing (listed in the instance)").stdout_has("Next ");
    own.run("reconcile instance --in-process").await.exits(0);
    own.run("wait instance --timeout 20s").await.exits(0);
    // An object without Flux's label is still found.
    let relabelled = Patch::Merge(json!({"metadata": {"labels": {"app.kubernetes.io/part-of": "somebody"}}}));
    own.deployments().patch("source-controller", &Default::default(), &relabelled).await.unwrap();
    own.run("wait instance --timeout 20s").await.exits(0);
    let status = own.run("status").await.exits(0);
    status
        .stdout_has("• source-controller 1/1  it runs, but lacks the label app.kubernetes.io/part-of=flux")
        .stdout_has("Next         flux-operator reconcile instance flux -n flux-system --in-process");
    own.run("reconcile instance --in-process").await.exits(0);
    own.run("status").await.exits(0).stdout_has("✔ source-controller 1/1");

    own.run("suspend instance").await.exits(0);
    own.run("status").await.exits(0).stdout_has("flux-system/flux  suspended; last run ");
    for flags in ["--in-process --yes", "--in-process --yes --force-in-process"] {
        let refused = own.run(&format!("uninstall instance {flags}")).await.exits(1);
        refused.stderr_has("is suspended").stderr_has("resume it first with");
    }
    assert!(own.deployments().get_opt("source-controller").await.unwrap().is_some());
}

async fn an_instance_that_is_being_deleted_is_shown_as_that_and_not_applied(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.install().await;
    let held = Patch::Merge(json!({"metadata": {"finalizers": ["example.com/hold"]}}));
    own.instances().patch("flux", &PatchParams::default(), &held).await.unwrap();
    own.instances().delete("flux", &Default::default()).await.unwrap();
    let shown = own.run("get instance").await.exits(0).stdout;
    assert!(shown.contains("is being deleted") && !shown.contains("True"), "{shown}");
    let checked = own.run("check").await.stdout;
    assert!(checked.lines().any(|line| line.contains("is being deleted")), "{checked}");
    assert!(!checked.contains("Reconciliation finished"), "{checked}");
    own.run("why instance").await.exits(7).stdout_has("is being deleted").stdout_has("StuckFinalizer");
    own.run("status").await.exits(7).stdout_has("is being deleted");
    own.run("wait instance --timeout 20s").await.exits(1).stderr_has("is being deleted");
    let run = own.run("apply instance -f flux.yaml --in-process").await;
    assert!(run.code != 0 && run.stderr.contains("being deleted"), "{run:?}");
    assert!(!run.stderr.contains("✔ Reconciliation finished"), "{run:?}");
    own.operator().await;
    own.run("apply instance -f flux.yaml").await.exits(1).stderr_has("is being deleted");
}

/// Two Kustomizations of somebody.
async fn two_kustomizations(own: &Own) {
    let kustomization = |name: &str| {
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": name},
            "spec": {"interval": "1h", "path": "./", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "app"}}})
    };
    objects::apply(&own.client, NAMESPACE, &[kustomization("one"), kustomization("two")]).await.unwrap();
}

async fn a_deletion_counts_the_objects_of_people_and_says_what_stays(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.install().await;
    two_kustomizations(&own).await;
    own.operator().await;
    let reported = own.run("delete instance --dry-run=client --yes").await.exits(0).stderr;
    assert!(reported.contains("their CRDs are deleted with all objects: 2 Kustomization"), "{reported}");
    assert!(reported.contains("what Flux has deployed keeps running"), "{reported}");
    // As of an uninstallation: the namespace stays.
    assert!(!reported.contains("1 Namespace"), "{reported}");
    let uninstall = own.run("uninstall instance --dry-run --yes").await.exits(0);
    let reported = format!("{}{}", uninstall.stdout, uninstall.stderr);
    assert!(reported.contains("2 Kustomization") && reported.contains("Namespace/flux-system: "), "{reported}");
}

/// Each of the lines is refused for the context, and nothing is written.
async fn refused_as_protected(own: &Own, protected: impl Fn(&str) -> std::process::Command, lines: &[&str]) {
    let mark = own.plane.audit().mark().await.unwrap();
    for line in lines {
        let run = finish(protected(line)).await;
        assert!(run.code != 0, "{line}: {run:?}");
        run.stderr_has("the context test is protected (te*)").stderr_has("--confirm-context test");
    }
    let writes = own.plane.audit().since(mark).await.unwrap().by_user("me").writes();
    let writes = writes.only(|request| {
        !["leases", "selfsubjectaccessreviews"].contains(&request.resource.as_str()) && !request.uri.contains("dryRun")
    });
    assert!(writes.is_empty(), "{:#?}", writes.table());
}

async fn destructive_commands_are_refused_in_a_protected_context(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.install().await;
    two_kustomizations(&own).await;
    // The file says what the variable said before.
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("flux-operator")).unwrap();
    std::fs::write(home.path().join("flux-operator/config.yaml"), "protectedContexts: [\"te*\"]\n").unwrap();
    let protected = |arguments: &str| {
        let mut command = own.start(arguments);
        command.env("XDG_CONFIG_HOME", home.path());
        command
    };
    let lines = [
        "delete ks one -n flux-system --yes",
        "delete ks --all -n flux-system --yes",
        "uninstall instance --in-process --yes",
    ];
    refused_as_protected(&own, protected, &lines).await;
    own.run("install --image x/y:v1 --timeout 60s").await.exits(0);
    // Without an operator, the deletion of the file's instance would never complete.
    own.operator().await;
    let lines = ["delete -f flux.yaml --yes", "uninstall operator --with-instance --yes"];
    refused_as_protected(&own, protected, &lines).await;
    // On a terminal the name of the context is typed.
    let mut session = terminal_of(&protected(""), 100, "delete ks one -n flux-system --yes");
    let (code, shown) = on_terminal(move || {
        let before = session.exp_string("Type the context name (test) to confirm: ").expect("the question");
        session.send_line("y").expect("sent");
        let (code, after) = end(&mut session);
        (code, before + &after)
    })
    .await;
    assert_eq!(code, 1, "{shown}");
    let question = shown.lines().skip_while(|line| !line.contains("delete kustomization/"));
    assert!(question.clone().count() > 1 && question.clone().all(|line| line.trim_end().len() <= 80), "{shown}");
    let mut session = terminal_of(&protected(""), 100, "delete ks one -n flux-system --yes --timeout 20s");
    let (code, shown) = on_terminal(move || {
        session.exp_string("Type the context name (test) to confirm: ").expect("the question");
        session.send_line("test").expect("sent");
        end(&mut session)
    })
    .await;
    assert_eq!(code, 0, "{shown}");
    finish(protected("delete ks two -n flux-system --yes --confirm-context test")).await.exits(0);
}

async fn a_plan_reports_a_missing_secret(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    let instance = json!({
        "apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": NAMESPACE},
        "spec": {"distribution": {"version": "2.9.4", "registry": "ghcr.io/fluxcd", "imagePullSecret": "regcred"},
            "components": ["source-controller", "kustomize-controller"], "wait": false,
            "sync": {"kind": "GitRepository", "url": "ssh://git@example.com/fleet", "ref": "refs/heads/main", "path": "./",
                "pullSecret": "deploy-key"}},
    });
    std::fs::write(own.file(), instance.to_string()).unwrap();
    let reported = |run: Run| {
        run.stderr_has(
            "warning: spec.distribution.imagePullSecret names Secret/flux-system/regcred, which does not exist",
        )
        .stderr_has("`flux-operator create secret registry regcred -n flux-system --server ghcr.io --username USER`")
        .stderr_has("warning: spec.sync.pullSecret names Secret/flux-system/deploy-key, which does not exist")
        .stderr_has("`flux-operator create secret ssh deploy-key -n flux-system")
    };
    // Before there is a namespace, and of an instance that is stored.
    reported(own.run("plan instance -f flux.yaml").await.exits(1));
    reported(own.run("apply instance -f flux.yaml --in-process").await.exits(0));
    reported(own.run("plan instance").await);
    let saved = own.run("plan instance -o json").await.json();
    assert_eq!(saved["warnings"].as_array().map(Vec::len), Some(2), "{saved:#}");
    let secret = |name: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}});
    objects::apply(&own.client, NAMESPACE, &[secret("regcred"), secret("deploy-key")]).await.unwrap();
    let quiet = own.run("plan instance").await;
    assert!(!quiet.stderr.contains("warning:"), "{}", quiet.stderr);
}

async fn a_suspended_instance_is_planned_as_if_it_were_resumed(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.install().await;
    own.run("suspend instance").await.exits(0);
    own.run("plan instance").await.exits(0).stdout_has("Suspended: nothing is applied until");
    own.scale(0).await;
    let plan = own.run("plan instance").await.exits(1);
    plan.stdout_has("Suspended: ").stdout_has("spec.replicas: 0 → 1").stdout_has("kubectl-scale");
    own.run("plan instance -o yaml").await.exits(1).stdout_has("suspended: true");
    own.run("plan instance --diff").await.exits(1).stdout_has("Suspended: ").stdout_has("kubectl-scale");
    // Looking changes nothing.
    assert_eq!(own.replicas().await, Some(0));
}

async fn a_suspended_instance_that_cannot_be_stored_is_an_error(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.install().await;
    let proxy = FaultProxy::start(&own.kubeconfig, own.plane.folder()).await.unwrap();
    let stored = |uri: &str| uri.contains("/fluxinstances/flux?") && !uri.contains("dryRun");
    proxy.add_rule(FaultRule::every(Fault::forbidden()).method("PATCH").uri(stored));
    let mut suspended: Value = serde_json::from_str(&std::fs::read_to_string(own.file()).unwrap()).unwrap();
    suspended["metadata"]["annotations"] = json!({"fluxcd.controlplane.io/reconcile": "disabled"});
    let file = own.plane.folder().join("suspended.yaml");
    std::fs::write(&file, suspended.to_string()).unwrap();
    let mut apply = command(proxy.kubeconfig().path(), own.plane.folder());
    apply.args(["apply", "instance", "-n", NAMESPACE, "--in-process", "-f"]).arg(&file).stdin(Stdio::null());
    finish(apply).await.exits(5).stderr_has("fluxinstance");
    assert!(!own.run("get instance").await.exits(0).stdout.contains("Suspended"));
}

async fn a_watched_status_is_drawn_anew_when_something_changes(cluster: TestCluster) {
    let own = Own::new(&cluster).await;
    own.install().await;
    let mut session = terminal_of(&own.start(""), 100, "status --watch");
    let (mut session, first) = on_terminal(move || {
        let first = session.exp_string("source-controller 1/1").expect("the first screen");
        (session, first)
    })
    .await;
    assert!(first.contains("\u{1b}[H"), "{first:?}");
    own.deployments().delete("source-controller", &Default::default()).await.unwrap();
    let (code, after) = on_terminal(move || {
        let after = session.exp_string("source-controller 0/1").expect("the next screen");
        session.send_control('c').expect("sent");
        let (code, _) = end(&mut session);
        (code, after)
    })
    .await;
    assert!(after.contains("\u{1b}[H"), "{after:?}");
    // The end of a watch is not a failure.
    assert_eq!(code, 130);
}

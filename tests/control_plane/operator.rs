//! The operator on a cluster: its installation, its rights and its uninstallation. The kubelet simulates its pods.

use std::process::Stdio;
use std::time::Duration;

use flux_operator::cluster::Cluster;
use flux_operator::operator::{OperatorParams, install, install_plan, manifests};
use flux_operator::reconcile::progress::IgnoredProgress;
use flux_operator::reconcile::{self, UninstallOptions};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::cluster_tests;
use crate::controller::operator::{Operator, SOON, condition};
use crate::reconcile::world::{NAMESPACE, World, connected, id, instance_id, spec};
use crate::support::run::Run;
use crate::support::runner::command;
use crate::support::{ClusterTest, TestCluster, objects};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        the_operator_is_installed_idempotently_changed_in_place_and_uninstalled,
        the_rights_that_are_exported_are_enough_to_install_upgrade_and_uninstall_flux,
        the_operator_manages_an_instance_from_install_to_uninstall_with_only_its_own_rights,
        an_operator_that_is_bound_to_its_own_role_may_not_do_anything_else,
        bindings_of_the_reference_to_cluster_admin_are_removed_or_reported,
        an_operator_of_somebody_else_is_replaced_although_its_selector_differs,
        resource_sets_are_kept_with_their_definition_and_reported,
        an_instance_and_its_secret_are_applied_after_the_operator_also_from_an_address,
        an_operator_is_not_uninstalled_while_its_instance_exists,
        objects_that_are_being_deleted_are_awaited_and_recreated,
    ]
}

const IMAGE: &str = "registry.example.com/flux-operator:v1";

async fn run(world: &World, arguments: &str) -> Run {
    let mut command = command(world.kubeconfig.path(), world.plane.folder());
    command.args(arguments.split_whitespace()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program starts");
    tokio::task::spawn_blocking(move || child.wait_with_output().expect("it ends")).await.expect("joined").into()
}

async fn installed(world: &World) {
    run(world, &format!("install --image {IMAGE}")).await.exits(0);
}

fn params() -> OperatorParams {
    OperatorParams::new(NAMESPACE, IMAGE, "v1")
}

/// A client with nothing but the rights of the operator's service account.
async fn as_operator(world: &World) -> Cluster {
    let account = format!("system:serviceaccount:{NAMESPACE}:flux-operator");
    let kubeconfig = world.plane.user_without_rights(&account).unwrap();
    connected(kubeconfig.path()).await
}

async fn the_operator_is_installed_idempotently_changed_in_place_and_uninstalled(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let rbac = "rbac.authorization.k8s.io/v1";
    // Looking changes nothing.
    let dry = run(&world, &format!("install --image {IMAGE} --dry-run")).await.exits(0);
    let dry = dry.stdout_has("create     Deployment/flux-system/flux-operator").stderr_has("(dry run) would create");
    assert!(dry.stdout.contains("CustomResourceDefinition/fluxreports.fluxcd.controlplane.io"), "{}", dry.stdout);
    assert!(world.get("v1", "Namespace", "", NAMESPACE).await.is_none());

    run(&world, &format!("install --image {IMAGE}"))
        .await
        .exits(0)
        .stdout_has("deployment/flux-system/flux-operator: ready");
    let deployment = world.deployment("flux-operator").await;
    assert_eq!(deployment["status"]["readyReplicas"], 1);
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["args"], json!(["controller"]));
    for object in manifests(&params()) {
        let id = flux_operator::k8s::ObjectId::of(&object);
        assert!(world.cluster.read(&id).await.unwrap().is_some(), "{id}");
    }

    // A second installation changes nothing.
    let before = world.deployment("flux-operator").await["metadata"]["resourceVersion"].clone();
    let again = run(&world, &format!("install --image {IMAGE}")).await.exits(0);
    again.stderr_has("objects: 0 created, 0 configured, 0 deleted");
    assert_eq!(world.deployment("flux-operator").await["metadata"]["resourceVersion"], before);

    // Other flags change the existing objects, and delete those that are no longer needed.
    run(&world, "install --image registry.example.com/flux-operator:v2 --replicas 2 --cluster-admin --operator-arg=--log-level=debug")
        .await
        .exits(0);
    let deployment = world.deployment("flux-operator").await;
    assert_eq!(deployment["status"]["readyReplicas"], 2);
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "registry.example.com/flux-operator:v2");
    assert_eq!(container["args"], json!(["controller", "--log-level=debug"]));
    assert!(world.get(rbac, "ClusterRoleBinding", "", "flux-operator-cluster-admin").await.is_some());
    assert!(world.get(rbac, "ClusterRole", "", "flux-operator-flux-system").await.is_none());
    assert!(world.get(rbac, "RoleBinding", NAMESPACE, "flux-operator").await.is_none());

    run(&world, "uninstall operator --dry-run").await.exits(2).stderr_has("confirmation is required");
    run(&world, "uninstall operator --dry-run --yes").await.exits(0).stdout_has("Deployment/flux-system/flux-operator");
    assert_eq!(world.deployment("flux-operator").await["status"]["readyReplicas"], 2);
    // Without a terminal somebody has to say yes.
    run(&world, "uninstall operator").await.exits(2);
    let gone = run(&world, "uninstall operator --yes").await.exits(0);
    gone.stdout_has("Namespace/flux-system: it may contain other resources").stdout_has("uninstalled");
    for object in
        manifests(&params()).iter().skip(1).chain(&manifests(&OperatorParams { cluster_admin: true, ..params() })[1..])
    {
        let id = flux_operator::k8s::ObjectId::of(object);
        assert!(world.cluster.read(&id).await.unwrap().is_none(), "{id}");
    }
    assert!(world.get("v1", "Namespace", "", NAMESPACE).await.is_some());
    run(&world, "uninstall operator --yes").await.exits(0).stdout_has("there is nothing to uninstall");
}

async fn the_rights_that_are_exported_are_enough_to_install_upgrade_and_uninstall_flux(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    installed(&world).await;
    let operator = as_operator(&world).await;
    let mut wanted = spec("2.6.x");
    wanted["components"] = json!([
        "source-controller",
        "kustomize-controller",
        "helm-controller",
        "notification-controller",
        "image-reflector-controller",
        "image-automation-controller"
    ]);
    wanted["cluster"] = json!({"multitenant": true, "objectLevelWorkloadIdentity": true});
    wanted["sharding"] = json!({"shards": ["a"]});
    wanted["sync"] =
        json!({"kind": "GitRepository", "url": "https://git.example/fleet", "ref": "refs/heads/main", "path": "./"});
    world.instance(wanted.clone()).await;
    let mut options = world.options.clone();
    // The sync has no controller that answers.
    options.wait = false;
    options.force = true;
    let outcome = world.run_with(&operator, &options).await.unwrap();
    assert!(outcome.is_ready(), "{}", outcome.message);
    assert!(world.get("source.toolkit.fluxcd.io/v1", "GitRepository", NAMESPACE, NAMESPACE).await.is_some());

    // An upgrade that migrates what is stored, without one controller and without the sync.
    let policy = json!({"apiVersion": "image.toolkit.fluxcd.io/v1beta2", "kind": "ImagePolicy",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"imageRepositoryRef": {"name": "a"}, "policy": {"semver": {"range": "1.x"}}}});
    world.cluster.create(&policy, "someone").await.unwrap();
    wanted["distribution"]["version"] = json!("2.7.x");
    wanted["components"] =
        json!(["source-controller", "source-watcher", "kustomize-controller", "image-reflector-controller"]);
    wanted.as_object_mut().unwrap().remove("sync");
    world.instance(wanted).await;
    options.wait = true;
    let outcome = world.run_with(&operator, &options).await.unwrap();
    assert!(outcome.is_ready(), "{}", outcome.message);
    assert!(outcome.migrated.contains(&"imagepolicies.image.toolkit.fluxcd.io".to_owned()), "{:?}", outcome.migrated);
    assert!(world.get("apps/v1", "Deployment", NAMESPACE, "helm-controller").await.is_none());

    // The end, with a finalizer to clear in another namespace.
    let kustomization = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "a", "namespace": "default", "finalizers": ["finalizers.fluxcd.io"]},
        "spec": {"interval": "1m", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "a"}}});
    world.cluster.create(&kustomization, "someone").await.unwrap();
    // A user deletes the instance, and the operator's finalizer keeps it until Flux is gone: an operator deletes no instance.
    let instance = id("fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE, "flux");
    let kept = json!({"metadata": {"finalizers": ["fluxcd.controlplane.io/finalizer"]}});
    world.cluster.merge_patch(&instance, None, &kept, "someone").await.unwrap();
    world.cluster.delete(&instance, &Default::default()).await.unwrap();
    let uninstall = UninstallOptions { lease: options.lease.clone(), force: true, ..UninstallOptions::default() };
    let done =
        reconcile::uninstall(&operator, &world.read_instance().await, &uninstall, &IgnoredProgress).await.unwrap();
    assert!(done.is_complete(), "{done:?}");
    // Further work of an operator: it reads nodes and writes its report.
    let report = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxReport",
        "metadata": {"name": "flux", "namespace": NAMESPACE},
        "spec": {"distribution": {"entitlement": "Unknown", "status": "Not Installed"}}});
    operator.apply(&report, "flux-operator").await.unwrap();
    let status = json!({"status": {"conditions": []}});
    let report = id("fluxcd.controlplane.io/v1", "FluxReport", NAMESPACE, "flux");
    operator.merge_patch(&report, Some("status"), &status, "flux-operator").await.unwrap();
    let nodes = flux_operator::api::kinds::NODE;
    assert_eq!(operator.list(&nodes, None, &Default::default()).await.unwrap().items.len(), 1);
}

/// The pods of the Deployment are played; the program beside them has the rights of the service account and nothing else.
async fn the_operator_manages_an_instance_from_install_to_uninstall_with_only_its_own_rights(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    installed(&world).await;
    let account = format!("system:serviceaccount:{NAMESPACE}:flux-operator");
    let rights = world.plane.user_without_rights(&account).unwrap();
    let operator = Operator::start_with(&rights, world.plane.folder(), "operator", &[]);
    operator.wait_for_log("serving").await;
    let flags = "--components source-controller,kustomize-controller --distribution-version 2.8.x --timeout 90s";
    let ready = run(&world, &format!("install --image {IMAGE} {flags}")).await.exits(0);
    ready.stdout_has("fluxinstance/flux-system/flux: Reconciliation finished");

    // An upgrade that also corrects drift, the report, the metrics, and the revisions that are kept for a rollback.
    world
        .patch_as(
            "someone",
            &id("apps/v1", "Deployment", NAMESPACE, "source-controller"),
            json!({"spec": {"replicas": 2}}),
        )
        .await;
    world.write_instance(spec("2.9.x"), json!({"fluxcd.controlplane.io/reconcileOnDrift": "Enabled"})).await;
    world
        .wait_for("the upgrade", |instance| {
            let applied = instance.status.as_ref().and_then(|status| status.last_applied_revision.as_deref());
            applied.is_some_and(|revision| revision.starts_with("v2.9.")) && condition(instance, "Ready").0 == "True"
        })
        .await;
    assert_eq!(world.deployment("source-controller").await["spec"]["replicas"], 1);
    assert!(!world.list("apps/v1", "ControllerRevision", Some(NAMESPACE)).await.is_empty());
    let report = crate::support::eventually("the report", SOON, || async {
        let report = world.get("fluxcd.controlplane.io/v1", "FluxReport", NAMESPACE, "flux").await?;
        let is_whole = report["spec"]["cluster"]["nodes"] == 1 && report["spec"]["components"].as_array()?.len() == 2;
        (is_whole && report["status"]["conditions"][0]["status"] == "True").then_some(())
    });
    if let Err(error) = report.await {
        let report = world.get("fluxcd.controlplane.io/v1", "FluxReport", NAMESPACE, "flux").await;
        panic!("{error}: {report:#?}\n{}", operator.process.last_log_lines(30));
    }
    let (status, metrics) = operator.ask("metrics", "/metrics").await;
    assert!(status == 200 && metrics.contains("flux_instance_info{"), "{metrics}");
    run(&world, "status").await.exits(0);

    let before = operator.log().len();
    // All of it goes, through the operator.
    run(&world, "uninstall operator --with-instance --yes --timeout 90s").await.exits(0).stdout_has("uninstalled");
    assert_eq!(world.list("apps/v1", "Deployment", Some(NAMESPACE)).await.len(), 0);
    for (number, line) in operator.log().into_iter().enumerate() {
        let text = line.to_string().to_lowercase();
        // It is not a pod, so it still runs when its rights are deleted.
        let last = ["the report is incomplete", "fluxreport", "lease"];
        let is_over =
            (number >= before && last.iter().any(|word| text.contains(word))) || text.contains("is not served");
        assert!(is_over || !text.contains("forbidden"), "{line}");
    }
}

async fn an_operator_that_is_bound_to_its_own_role_may_not_do_anything_else(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    installed(&world).await;
    let operator = as_operator(&world).await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}});
    world.cluster.create(&secret, "someone").await.unwrap();
    let rbac = "rbac.authorization.k8s.io/v1";
    let role = |name: &str| {
        json!({"apiVersion": rbac, "kind": "ClusterRole", "metadata": {"name": name},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]})
    };
    // Input providers name Secrets in any namespace; none is written.
    operator.read(&id("v1", "Secret", "default", "s")).await.unwrap();
    for denied in [
        secret,
        role("anything"),
        json!({"apiVersion": rbac, "kind": "ClusterRoleBinding", "metadata": {"name": "mine"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "User", "name": "me", "apiGroup": "rbac.authorization.k8s.io"}]}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "another", "labels": {"a": "b"}}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]}}}}),
    ] {
        let error = operator.apply(&denied, "flux-operator").await.unwrap_err();
        assert_eq!(error.category(), flux_operator::cluster::Category::Denied, "{denied}: {error}");
    }
    // As an admin the same account may.
    run(&world, &format!("install --image {IMAGE} --cluster-admin")).await.exits(0);
    operator.apply(&role("anything"), "flux-operator").await.unwrap();
}

async fn an_operator_of_somebody_else_is_replaced_although_its_selector_differs(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let labels = json!({"app": "op", "app.kubernetes.io/name": "flux-operator"});
    reconcile::prepare(&world.cluster, NAMESPACE, &IgnoredProgress).await.unwrap();
    let theirs = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "flux-operator", "namespace": NAMESPACE, "labels": labels,
            "annotations": {"meta.helm.sh/release-name": "flux-operator"}},
        "spec": {"selector": {"matchLabels": {"app": "op"}}, "template": {"metadata": {"labels": labels},
            "spec": {"containers": [{"name": "manager", "image": "ghcr.io/theirs:v1", "args": ["--log-level=info"],
                "ports": [{"name": "http-web", "containerPort": 9080}]}]}}}});
    world.apply_as("helm", theirs).await;
    let plan = install_plan(&world.cluster, &params()).await.unwrap();
    assert!(plan.replaces_another);
    assert_eq!(plan.helm_release.as_deref(), Some("flux-operator"));
    assert_eq!(plan.recreates, [id("apps/v1", "Deployment", NAMESPACE, "flux-operator")]);
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
    install(&world.cluster, plan, Some(deadline), &IgnoredProgress).await.unwrap();
    let container = world.deployment("flux-operator").await["spec"]["template"]["spec"]["containers"].clone();
    assert_eq!(container.as_array().unwrap().len(), 1);
    assert_eq!(container[0]["image"], IMAGE);
    assert!(!container[0]["ports"].to_string().contains("9080"), "{container}");
    assert!(!install_plan(&world.cluster, &params()).await.unwrap().has_changes());
}

async fn bindings_of_the_reference_to_cluster_admin_are_removed_or_reported(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let rbac = "rbac.authorization.k8s.io/v1";
    let bind = async |name: &str, more: &[&str]| {
        let account = |name: &str| json!({"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE});
        let subjects: Vec<Value> = ["flux-operator"].iter().chain(more).map(|name| account(name)).collect();
        let binding = json!({"apiVersion": rbac, "kind": "ClusterRoleBinding", "metadata": {"name": name}, "subjects": subjects,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}});
        world.cluster.create(&binding, "kubectl-create").await.unwrap();
    };
    let is_there = async |name: &str| world.get(rbac, "ClusterRoleBinding", "", name).await.is_some();
    // That of the reference's static manifests, without a label.
    bind("flux-operator-cluster-admin", &[]).await;
    bind("mine", &["another"]).await;
    let install = format!("install --image {IMAGE} --wait=false");
    let dry = run(&world, &format!("{install} --dry-run")).await.exits(0);
    let dry = dry.stdout_has("delete     ClusterRoleBinding/flux-operator-cluster-admin");
    dry.stderr_has(
        "ClusterRoleBinding/mine binds ServiceAccount/flux-system/flux-operator to cluster-admin and is kept",
    );
    assert!(is_there("flux-operator-cluster-admin").await);
    run(&world, &install).await.exits(0).stderr_has("is no longer cluster-admin; --cluster-admin keeps it");
    assert!(!is_there("flux-operator-cluster-admin").await && is_there("mine").await);

    // A binding with other subjects as well is not ours to delete.
    bind("flux-operator-cluster-admin", &["another"]).await;
    run(&world, &install).await.exits(0).stderr_has("ClusterRoleBinding/flux-operator-cluster-admin binds");
    let gone = run(&world, "uninstall operator --yes").await.exits(0);
    let gone = gone.stdout_has("ClusterRoleBinding/mine: it was created by someone else");
    gone.stdout_has("ClusterRoleBinding/flux-operator-cluster-admin: it was created by someone else");
    assert!(is_there("flux-operator-cluster-admin").await && is_there("mine").await);
}

async fn resource_sets_are_kept_with_their_definition_and_reported(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    run(&world, &format!("install --image {IMAGE}")).await.exits(0);
    let set = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet",
        "metadata": {"name": "held", "namespace": "default", "finalizers": ["fluxcd.controlplane.io/finalizer"]},
        "spec": {"resourcesTemplate": ""}});
    world.cluster.create(&set, "someone").await.unwrap();
    let gone = run(&world, "uninstall operator --yes").await.exits(0);
    gone.stdout_has("resourcesets.fluxcd.controlplane.io: 1 ResourceSet would be deleted with it")
        .stderr_has("without an operator, their deletion cannot complete");
    assert!(world.get("fluxcd.controlplane.io/v1", "ResourceSet", "default", "held").await.is_some());
}

/// Answers every request with this text, until the test ends.
async fn serve(text: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/flux.yaml", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", text.len());
            let _ = stream.write_all(format!("{head}{text}").as_bytes()).await;
        }
    });
    address
}

async fn an_instance_and_its_secret_are_applied_after_the_operator_also_from_an_address(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret.yaml");
    std::fs::write(
        &secret,
        "apiVersion: v1\nkind: Secret\nmetadata: {name: git-auth}\nstringData: {password: hunter2}\n",
    )
    .unwrap();
    let instance = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance", "metadata": {"name": "flux", "namespace": "ops"},
        "spec": {"distribution": {"version": "2.9.x", "registry": "ghcr.io/fluxcd"}}});
    let address = serve(instance.to_string()).await;
    // The operator is installed in the namespace of the instance, because it watches only its own namespace.
    let done = run(&world, &format!("install --image {IMAGE} -f {address} --wait=false")).await.exits(0);
    done.stdout_has("deployment/ops/flux-operator: applied").stderr_has("is read without TLS");
    let stored = world.get("fluxcd.controlplane.io/v1", "FluxInstance", "ops", "flux").await.unwrap();
    assert_eq!(stored["spec"]["distribution"], instance["spec"]["distribution"]);
    run(&world, &format!("install --image {IMAGE} -f http://127.0.0.1:1/x"))
        .await
        .exits(1)
        .stderr_has("cannot download http://127.0.0.1:1/x");

    let own = World::new(&cluster).await;
    let flags = format!(
        "install --image {IMAGE} --wait=false --secret {} --sync-url https://git.example/fleet.git --sync-pull-secret git-auth --components source-controller,kustomize-controller",
        secret.display()
    );
    let done = run(&own, &flags).await.exits(0);
    assert!(!done.stdout.contains("hunter2") && !done.stderr.contains("hunter2"));
    let stored = own.read_instance().await;
    assert_eq!(stored.spec.sync.unwrap().pull_secret.as_deref(), Some("git-auth"));
    assert!(own.get("v1", "Secret", NAMESPACE, "git-auth").await.is_some());
    run(&own, &format!("install --image {IMAGE} -f {address} --components source-controller")).await.exits(2);
}

async fn an_operator_is_not_uninstalled_while_its_instance_exists(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let mut wanted = spec("2.9.x");
    wanted["components"] = json!(["source-controller"]);
    world.instance(wanted).await;
    world.ready().await;
    installed(&world).await;
    for line in ["uninstall operator --yes", "uninstall operator --dry-run"] {
        run(&world, line).await.exits(1).stderr_has("FluxInstance/flux-system/flux exists");
    }
    assert_eq!(world.deployment("flux-operator").await["status"]["readyReplicas"], 1);
    // No operator is running, so the command uninstalls the instance first, and then the operator.
    let stop = json!({"spec": {"replicas": 0}});
    world.patch_as("someone", &id("apps/v1", "Deployment", NAMESPACE, "flux-operator"), stop).await;
    crate::support::eventually("the operator to stop", std::time::Duration::from_secs(20), || async {
        world.deployment("flux-operator").await["status"].get("readyReplicas").is_none().then_some(())
    })
    .await
    .unwrap();
    let dry = run(&world, "uninstall operator --with-instance --dry-run --yes").await.exits(0);
    dry.stdout_has("FluxInstance/flux-system/flux: it is uninstalled first").stdout_has("  1 Deployment\n");
    assert!(world.cluster.read(&instance_id()).await.unwrap().is_some());
    run(&world, "uninstall operator --with-instance --yes").await.exits(0).stdout_has("uninstalled");
    assert!(world.cluster.read(&instance_id()).await.unwrap().is_none());
    assert_eq!(world.list("apps/v1", "Deployment", Some(NAMESPACE)).await.len(), 0);
    assert_eq!(world.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", None).await.len(), 0);
}

/// The state that an interrupted uninstallation leaves.
async fn objects_that_are_being_deleted_are_awaited_and_recreated(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    installed(&world).await;
    let accounts = objects::api(world.plane.client(), "v1", "ServiceAccount", NAMESPACE).await.unwrap();
    let keep = |finalizers: Value| Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
    accounts.patch("flux-operator", &PatchParams::default(), &keep(json!(["example.com/slow"]))).await.unwrap();
    let old = accounts.get("flux-operator").await.unwrap().metadata.uid;
    accounts.delete("flux-operator", &DeleteParams::default()).await.unwrap();
    let dry = run(&world, &format!("install --image {IMAGE} --dry-run")).await.exits(0);
    dry.stdout_has("recreate   ServiceAccount/flux-system/flux-operator");
    let again = format!("install --image {IMAGE} --wait=false");
    let (outcome, ()) = tokio::join!(run(&world, &again), async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        accounts.patch("flux-operator", &PatchParams::default(), &keep(Value::Null)).await.unwrap();
    });
    outcome.exits(0);
    let new = accounts.get("flux-operator").await.unwrap().metadata;
    assert!(new.uid != old && new.deletion_timestamp.is_none(), "{new:?}");
}

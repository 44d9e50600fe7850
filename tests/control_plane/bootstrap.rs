//! From `flux install` and `flux bootstrap` to an instance: the manifests are those of the releases, as flux applies them.

use std::process::Stdio;

use flux_operator::api::Component;
use flux_operator::format::yaml;
use flux_operator::k8s::ObjectId;
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::reconcile::world::{NAMESPACE, World};
use crate::support::installation::{installation, sync};
use crate::support::run::Run;
use crate::support::runner::command;
use crate::support::{ClusterTest, TestCluster};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_bootstrapped_installation_is_kept_by_the_instance_that_is_made_of_it,
        an_installation_of_any_minor_is_kept_without_a_patch,
        patches_of_the_git_repository_are_taken_over_as_they_are_written,
        tenancy_shards_and_pull_secrets_become_fields_of_the_instance,
        settings_that_an_instance_cannot_express_are_reported,
        the_three_installations_of_a_home_lab_are_kept,
    ]
}

async fn run(world: &World, arguments: &str) -> Run {
    let mut command = command(world.kubeconfig.path(), world.plane.folder());
    command.args(arguments.split_whitespace()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program starts");
    tokio::task::spawn_blocking(move || child.wait_with_output().expect("it ends")).await.expect("joined").into()
}

const URL: &str = "ssh://git@git.example/fleet";
const DEFAULTS: &[Component] = &Component::DEFAULT;

/// Applies objects as one of Flux's tools does; `bootstrapped`: as kustomize-controller, from Git.
async fn apply(world: &World, objects: &[Value], bootstrapped: bool) {
    let manager = if bootstrapped { "kustomize-controller" } else { "flux" };
    for object in objects {
        let mut object = object.clone();
        if bootstrapped {
            for (label, value) in [("name", NAMESPACE), ("namespace", NAMESPACE)] {
                object["metadata"]["labels"][format!("kustomize.toolkit.fluxcd.io/{label}")] = value.into();
            }
        }
        let what = ObjectId::of(&object).to_string();
        let applied = crate::support::eventually(&what, std::time::Duration::from_secs(20), || async {
            world.cluster.apply(&object, flux_operator::cluster::WriteOptions::forced(manager)).await.ok()
        });
        applied.await.unwrap();
    }
}

fn deployment<'a>(objects: &'a mut [Value], name: &str) -> &'a mut Value {
    objects.iter_mut().find(|one| one["kind"] == "Deployment" && one["metadata"]["name"] == name).unwrap()
}

fn pod(deployment: &Value) -> Value {
    deployment["spec"]["template"]["spec"].clone()
}

async fn a_bootstrapped_installation_is_kept_by_the_instance_that_is_made_of_it(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let mut objects = installation(NAMESPACE, "v2.9.", DEFAULTS);
    for name in ["source-controller", "kustomize-controller", "helm-controller", "notification-controller"] {
        let pod = &mut deployment(&mut objects, name)["spec"]["template"]["spec"];
        pod["tolerations"] = json!([{"key": "control-plane", "operator": "Exists"}]);
    }
    let kustomize = &mut deployment(&mut objects, "kustomize-controller")["spec"]["template"]["spec"]["containers"][0];
    kustomize["args"].as_array_mut().unwrap().push("--concurrent=20".into());
    kustomize["resources"]["limits"]["memory"] = "2Gi".into();
    let helm = &mut deployment(&mut objects, "helm-controller")["spec"]["template"]["spec"]["containers"][0];
    let level = helm["args"].as_array_mut().unwrap().iter_mut().find(|one| **one == "--log-level=info").unwrap();
    *level = "--log-level=debug".into();
    helm["env"].as_array_mut().unwrap().push(json!({"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"}));
    let source = &mut deployment(&mut objects, "source-controller")["spec"]["template"]["spec"];
    source["volumes"][0] = json!({"name": "data", "persistentVolumeClaim": {"claimName": "flux-data"}});
    let account = objects
        .iter_mut()
        .find(|one| one["kind"] == "ServiceAccount" && one["metadata"]["name"] == "source-controller");
    account.unwrap()["metadata"]["annotations"] = json!({"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/flux"});
    objects.extend(sync(NAMESPACE, URL));
    apply(&world, &objects, true).await;
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "flux-data", "namespace": NAMESPACE},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "standard", "resources": {"requests": {"storage": "1Gi"}}}});
    world.cluster.create(&claim, "someone").await.unwrap();

    // The status that controllers report for a working sync. If its generation changed, they would have to report it
    // again.
    let status = json!({"status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True", "reason": "Succeeded",
        "message": "done", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}]}});
    for object in sync(NAMESPACE, URL) {
        world.cluster.merge_patch(&ObjectId::of(&object), Some("status"), &status, "controller").await.unwrap();
    }

    let dry = run(&world, "migrate bootstrap").await.exits(0);
    let dry = dry
        .stderr_has("nothing is pruned")
        .stderr_has("gotk-components.yaml and gotk-sync.yaml of clusters/prod/flux-system");
    assert!(!dry.stderr.contains("warning"), "{}", dry.stderr);
    let instance = yaml::parse_one(&dry.stdout).unwrap();
    assert!(instance["spec"]["distribution"]["version"].as_str().unwrap().starts_with("2.9."));
    assert_eq!(instance["spec"]["sync"]["url"], "ssh://git@git.example/fleet");
    assert_eq!(instance["spec"]["sync"]["pullSecret"], NAMESPACE);
    assert!(world.get("fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE, "flux").await.is_none());

    let before: Vec<Value> = world.list("apps/v1", "Deployment", Some(NAMESPACE)).await.iter().map(pod).collect();
    run(&world, "migrate bootstrap --apply --timeout 60s").await.exits(0);
    let after: Vec<Value> = world.list("apps/v1", "Deployment", Some(NAMESPACE)).await.iter().map(pod).collect();
    for (before, after) in before.iter().zip(&after) {
        // The pods are unchanged, except for the digest and for flags with their default values.
        let (mut was, mut is) = (before.clone(), after.clone());
        let (old, new) = (was["containers"][0].take(), is["containers"][0].take());
        assert_eq!(was, is);
        for field in ["resources", "env", "ports", "volumeMounts", "securityContext"] {
            assert_eq!(old[field], new[field], "{field}");
        }
        let image = new["image"].as_str().unwrap();
        assert!(image.starts_with(old["image"].as_str().unwrap()) && image.contains("@sha256:"), "{image}");
        for argument in old["args"].as_array().unwrap() {
            assert!(new["args"].as_array().unwrap().contains(argument), "{argument} of {new}");
        }
    }
    let account = world.get("v1", "ServiceAccount", NAMESPACE, "source-controller").await.unwrap();
    assert_eq!(account["metadata"]["annotations"]["eks.amazonaws.com/role-arn"], "arn:aws:iam::1:role/flux");
    let git = world.get("source.toolkit.fluxcd.io/v1", "GitRepository", NAMESPACE, NAMESPACE).await.unwrap();
    assert_eq!(git["spec"]["ref"], json!({"branch": "main"}));
    let own = world.get("kustomize.toolkit.fluxcd.io/v1", "Kustomization", NAMESPACE, NAMESPACE).await.unwrap();
    assert_eq!(own["spec"]["timeout"], "3m0s");
    // kustomize-controller does not prune an object when it is removed from Git.
    for object in &objects {
        let live = world.cluster.read(&ObjectId::of(object)).await.unwrap().unwrap();
        let annotations = &live["metadata"]["annotations"];
        assert_eq!(annotations["kustomize.toolkit.fluxcd.io/prune"], "Disabled", "{}", ObjectId::of(object));
        assert!(
            live["metadata"]["labels"].get("kustomize.toolkit.fluxcd.io/name").is_none(),
            "{}",
            ObjectId::of(object)
        );
    }
    // Reconciled again, nothing differs; migrated again, there is nothing to migrate.
    run(&world, "plan instance").await.exits(0);
    run(&world, "migrate bootstrap").await.exits(1).stderr_has("already reconciles it");
}

async fn an_installation_of_any_minor_is_kept_without_a_patch(cluster: TestCluster) {
    for version in ["v2.3.", "v2.5.", "v2.6.", "v2.7.", "v2.8.", "v2.9."] {
        let world = World::with(&cluster, crate::support::Options::api_server_only()).await;
        let mut components = DEFAULTS.to_vec();
        components.extend([Component::ImageReflectorController, Component::ImageAutomationController]);
        apply(&world, &installation(NAMESPACE, version, &components), false).await;
        let proposed = run(&world, "migrate bootstrap").await.exits(0);
        let instance = yaml::parse_one(&proposed.stdout).unwrap();
        assert!(instance["spec"].get("kustomize").is_none(), "{version}: {}", proposed.stdout);
        assert_eq!(instance["spec"]["components"].as_array().unwrap().len(), 6, "{version}");
        assert!(!proposed.stderr.contains("Remaining changes in Git"), "nothing came from Git");
    }
}

async fn patches_of_the_git_repository_are_taken_over_as_they_are_written(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let mut objects = installation(NAMESPACE, "v2.9.", DEFAULTS);
    for name in ["kustomize-controller", "helm-controller"] {
        let container = &mut deployment(&mut objects, name)["spec"]["template"]["spec"]["containers"][0];
        container["args"].as_array_mut().unwrap().push("--concurrent=20".into());
    }
    apply(&world, &objects, true).await;
    apply(&world, &sync(NAMESPACE, URL), true).await;
    let folder = tempfile::tempdir().unwrap();
    let patch =
        "- op: add\n  path: /spec/template/spec/containers/0/args/-\n  value: --concurrent=20 # as the team agreed\n";
    std::fs::write(folder.path().join("concurrency.yaml"), patch).unwrap();
    std::fs::write(
        folder.path().join("kustomization.yaml"),
        "resources: [gotk-components.yaml, gotk-sync.yaml, extra.yaml]\npatches:\n- path: concurrency.yaml\n  target: {kind: Deployment, name: (kustomize|helm)-controller}\n",
    )
    .unwrap();
    let proposed = run(&world, &format!("migrate bootstrap --from-git {}", folder.path().display())).await.exits(0);
    let proposed = proposed.stderr_has("list flux.yaml and extra.yaml");
    let instance = yaml::parse_one(&proposed.stdout).unwrap();
    let patches = instance["spec"]["kustomize"]["patches"].as_array().unwrap();
    assert_eq!(patches[0]["patch"], patch, "comments and all");
    assert!(patches.iter().skip(1).all(|one| one["target"]["kind"] != "Deployment"), "{}", proposed.stdout);
    run(&world, "migrate bootstrap --from-git /nowhere")
        .await
        .exits(2)
        .stderr_has("cannot read /nowhere/kustomization.yaml");
}

async fn tenancy_shards_and_pull_secrets_become_fields_of_the_instance(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let components = [Component::SourceController, Component::KustomizeController];
    let mut objects = installation(NAMESPACE, "v2.8.", &components);
    let mut shards = vec![];
    for name in ["source-controller", "kustomize-controller"] {
        let main = deployment(&mut objects, name);
        main["spec"]["template"]["spec"]["imagePullSecrets"] = json!([{"name": "registry"}]);
        let mut shard = main.clone();
        let app = json!(format!("{name}-blue"));
        shard["metadata"]["name"] = app.clone();
        shard["spec"]["selector"]["matchLabels"]["app"] = app.clone();
        shard["spec"]["template"]["metadata"]["labels"]["app"] = app.clone();
        let args = |object: &mut Value, flags: &[&str]| {
            let args = object["spec"]["template"]["spec"]["containers"][0]["args"].as_array_mut().unwrap();
            args.extend(flags.iter().map(|flag| json!(flag)));
        };
        if name == "source-controller" {
            let arguments = shard["spec"]["template"]["spec"]["containers"][0]["args"].as_array_mut().unwrap();
            for argument in arguments.iter_mut().filter(|one| one.as_str().unwrap().starts_with("--storage-adv-addr")) {
                *argument =
                    argument.as_str().unwrap().replace("=source-controller.", "=source-controller-blue.").into();
            }
        }
        args(&mut shard, &["--watch-label-selector=sharding.fluxcd.io/key=blue"]);
        args(main, &["--watch-label-selector=!sharding.fluxcd.io/key"]);
        if name == "kustomize-controller" {
            for one in [&mut *main, &mut shard] {
                args(
                    one,
                    &["--no-cross-namespace-refs=true", "--no-remote-bases=true", "--default-service-account=tenant"],
                );
            }
        }
        shards.push(shard);
    }
    let mut service = objects.iter().find(|one| one["kind"] == "Service").unwrap().clone();
    service["metadata"]["name"] = "source-controller-blue".into();
    service["spec"]["selector"]["app"] = "source-controller-blue".into();
    objects.extend(shards);
    objects.push(service);
    apply(&world, &objects, false).await;
    let proposed = run(&world, "migrate bootstrap").await;
    let instance = yaml::parse_one(&proposed.stdout).unwrap();
    let spec = &instance["spec"];
    assert_eq!(spec["distribution"]["imagePullSecret"], "registry");
    assert_eq!(spec["cluster"]["multitenant"], true);
    assert_eq!(spec["cluster"]["tenantDefaultServiceAccount"], "tenant");
    assert_eq!(spec["sharding"], json!({"key": "sharding.fluxcd.io/key", "shards": ["blue"]}));
    assert_eq!(proposed.code, 0, "{}", proposed.stderr);
}

async fn settings_that_an_instance_cannot_express_are_reported(cluster: TestCluster) {
    let world = World::with(&cluster, crate::support::Options::api_server_only()).await;
    run(&world, "migrate bootstrap")
        .await
        .exits(3)
        .stderr_has("no controllers of Flux are installed in namespace flux-system");
    let mut objects = installation(NAMESPACE, "v2.9.", DEFAULTS);
    objects.retain(|one| one["metadata"]["name"] != "allow-webhooks");
    let mut extra = deployment(&mut objects, "helm-controller").clone();
    extra["metadata"]["name"] = "helm-controller-again".into();
    extra["spec"]["selector"]["matchLabels"]["app"] = "again".into();
    extra["spec"]["template"]["metadata"]["labels"]["app"] = "again".into();
    objects.push(extra);
    // An image of the user's own.
    let image = &mut deployment(&mut objects, "helm-controller")["spec"]["template"]["spec"]["containers"][0]["image"];
    *image = "ghcr.io/fluxcd/helm-controller:v0.0.0-mine".into();
    apply(&world, &objects, false).await;
    let proposed = run(&world, "migrate bootstrap").await.exits(1);
    proposed
        .stderr_has("NetworkPolicy/flux-system/allow-webhooks does not exist and would be created")
        .stderr_has(
            "Deployment/flux-system/helm-controller: spec.template.spec.containers[name=manager].image would change",
        )
        .stderr_has("Deployment/flux-system/helm-controller-again is not part of the instance");
    // The user declined.
    run(&world, "migrate bootstrap --apply").await.exits(2);
    assert!(world.get("fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE, "flux").await.is_none());
}

/// `flux bootstrap github --token-auth`; `flux install` and a sync by kubectl; the same with a public repository.
async fn the_three_installations_of_a_home_lab_are_kept(cluster: TestCluster) {
    for (way, cluster_name, secret) in
        [("bootstrap", "dev", Some("flux-system")), ("kubectl", "prod", Some("fluxcd-test")), ("kubectl", "prod", None)]
    {
        let world = World::new(&cluster).await;
        let mut sources = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": NAMESPACE, "namespace": NAMESPACE},
            "spec": {"interval": "1m0s", "ref": {"branch": "master"}, "url": "https://github.com/ricsanfre/fluxcd-test.git"}});
        if let Some(secret) = secret {
            sources["spec"]["secretRef"] = json!({"name": secret});
        }
        let path = format!("./kubernetes/clusters/{cluster_name}");
        let kustomization = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": NAMESPACE, "namespace": NAMESPACE},
            "spec": {"interval": "10m0s", "path": path, "prune": true,
                "sourceRef": {"kind": "GitRepository", "name": NAMESPACE}}});
        let own = [sources, kustomization];
        let flux = installation(NAMESPACE, "v2.9.", DEFAULTS);
        if way == "bootstrap" {
            apply(&world, &flux, true).await;
            apply(&world, &own, true).await;
        } else {
            for object in flux.iter().chain(&own) {
                let mut object = object.clone();
                let last = json!({"kubectl.kubernetes.io/last-applied-configuration": object.to_string()});
                // A definition is too large for the annotation, so kubectl applies it server-side.
                let is_definition = object["kind"] == "CustomResourceDefinition";
                if !is_definition {
                    object["metadata"]["annotations"] = last;
                }
                let what = ObjectId::of(&object).to_string();
                let done = crate::support::eventually(&what, std::time::Duration::from_secs(20), || async {
                    if is_definition {
                        let forced = flux_operator::cluster::WriteOptions::forced("kubectl");
                        return world.cluster.apply(&object, forced).await.ok().map(drop);
                    }
                    world.cluster.create(&object, "kubectl-client-side-apply").await.ok().map(drop)
                });
                done.await.unwrap();
            }
        }
        let status = json!({"status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True", "reason": "Succeeded",
            "message": "done", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}]}});
        for object in &own {
            world.cluster.merge_patch(&ObjectId::of(object), Some("status"), &status, "controller").await.unwrap();
        }
        let proposed = run(&world, "migrate bootstrap").await.exits(0);
        let proposed = proposed.stderr_has("nothing is pruned");
        let instance = yaml::parse_one(&proposed.stdout).unwrap();
        let sync = &instance["spec"]["sync"];
        assert_eq!(sync["url"], "https://github.com/ricsanfre/fluxcd-test.git", "{way}");
        assert_eq!((&sync["ref"], &sync["path"]), (&json!("refs/heads/master"), &json!(path)), "{way}");
        assert_eq!(sync.get("pullSecret"), secret.map(|secret| json!(secret)).as_ref(), "{way}");
        assert_eq!(proposed.stderr.contains("gotk-components.yaml"), way == "bootstrap", "{}", proposed.stderr);

        let before: Vec<Value> = world.list("apps/v1", "Deployment", Some(NAMESPACE)).await.iter().map(pod).collect();
        run(&world, "migrate bootstrap --apply --timeout 60s").await.exits(0);
        let after: Vec<Value> = world.list("apps/v1", "Deployment", Some(NAMESPACE)).await.iter().map(pod).collect();
        assert_eq!(before.len(), after.len(), "{way}");
        for object in flux.iter().chain(&own) {
            assert!(
                world.cluster.read(&ObjectId::of(object)).await.unwrap().is_some(),
                "{way}: {}",
                ObjectId::of(object)
            );
        }
        let git = world.cluster.read(&ObjectId::of(&own[0])).await.unwrap().unwrap();
        assert_eq!(git["spec"]["secretRef"]["name"].as_str(), secret, "{way}");
        assert_eq!(git["spec"]["ref"], json!({"branch": "master"}), "{way}");
        run(&world, "plan instance").await.exits(0);
    }
}

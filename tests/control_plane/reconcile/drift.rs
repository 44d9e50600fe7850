//! Changes of our objects by others, and the result of the next run.

use flux_operator::reconcile::plan::Step;
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::{ClusterTest, Options, TestCluster};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        drift_is_corrected_or_left_as_the_manager_decides,
        an_installation_of_other_tools_is_taken_over,
        labels_of_others_on_the_namespace_are_kept_unless_the_instance_sets_them,
    ]
}

const HELM: &str = "helm-controller";

/// An edit: its author, its object, and the part that is left after the next run.
struct Edit {
    what: &'static str,
    manager: &'static str,
    id: flux_operator::k8s::ObjectId,
    patch: Value,
    /// Apply on the server's side instead of updating.
    applied: bool,
    /// JSON pointer and the value there afterwards; `None`: absent.
    after: (&'static str, Option<Value>),
    corrected: bool,
}

fn edits() -> Vec<Edit> {
    let deployment = || deployment_id(HELM);
    let edit = |what, manager, id, patch, after, corrected| Edit {
        what,
        manager,
        id,
        patch,
        applied: false,
        after,
        corrected,
    };
    let role = || id("rbac.authorization.k8s.io/v1", "ClusterRole", "", "flux-view-flux-system");
    let crd = || id("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "buckets.source.toolkit.fluxcd.io");
    let labels = |labels: Value| json!({"metadata": {"labels": labels}});
    let annotations = |annotations: Value| json!({"metadata": {"annotations": annotations}});
    vec![
        edit(
            "kubectl scale",
            "kubectl",
            deployment(),
            json!({"spec": {"replicas": 3}}),
            ("/spec/replicas", Some(json!(1))),
            true,
        ),
        edit(
            "kubectl label",
            "kubectl-label",
            deployment(),
            labels(json!({"mine": "1"})),
            ("/metadata/labels/mine", None),
            true,
        ),
        edit(
            "kubectl annotate",
            "kubectl-annotate",
            deployment(),
            annotations(json!({"mine": "1"})),
            ("/metadata/annotations/mine", None),
            true,
        ),
        edit(
            "kubectl edit of a field the build lacks",
            "kubectl-edit",
            deployment(),
            json!({"spec": {"template": {"spec": {"hostname": "x"}}}}),
            ("/spec/template/spec/hostname", None),
            true,
        ),
        edit(
            "another manager scales",
            "hpa",
            deployment(),
            json!({"spec": {"replicas": 2}}),
            ("/spec/replicas", Some(json!(1))),
            true,
        ),
        edit(
            "owner label removed",
            "someone",
            deployment(),
            labels(json!({"fluxcd.controlplane.io/name": null})),
            ("/metadata/labels/fluxcd.controlplane.io~1name", Some(json!("flux"))),
            true,
        ),
        edit(
            "CRD label removed",
            "someone",
            crd(),
            labels(json!({"app.kubernetes.io/part-of": null})),
            ("/metadata/labels/app.kubernetes.io~1part-of", Some(json!("flux"))),
            true,
        ),
        edit(
            "prune switched off by kubectl",
            "kubectl-annotate",
            deployment(),
            annotations(json!({"fluxcd.controlplane.io/prune": "disabled"})),
            ("/metadata/annotations/fluxcd.controlplane.io~1prune", None),
            true,
        ),
        edit(
            "namespace may be pruned",
            "kubectl-annotate",
            id("v1", "Namespace", "", NAMESPACE),
            annotations(json!({"fluxcd.controlplane.io/prune": null})),
            ("/metadata/annotations/fluxcd.controlplane.io~1prune", Some(json!("disabled"))),
            true,
        ),
        edit(
            "rule added",
            "someone",
            role(),
            json!({"rules": [{"apiGroups": ["x"], "resources": ["y"], "verbs": ["get"]}]}),
            ("/rules/0/apiGroups/0", Some(json!("notification.toolkit.fluxcd.io"))),
            true,
        ),
        edit(
            "helm annotation by anyone",
            "someone",
            deployment(),
            annotations(json!({"meta.helm.sh/release-name": "x"})),
            ("/metadata/annotations/meta.helm.sh~1release-name", None),
            true,
        ),
        edit(
            "last-applied by anyone",
            "someone",
            deployment(),
            annotations(json!({"kubectl.kubernetes.io/last-applied-configuration": "{}"})),
            ("/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration", None),
            true,
        ),
        edit(
            "kustomize-controller's label by anyone",
            "someone",
            deployment(),
            labels(json!({"kustomize.toolkit.fluxcd.io/name": "x"})),
            ("/metadata/labels/kustomize.toolkit.fluxcd.io~1name", None),
            true,
        ),
        Edit {
            applied: true,
            ..edit(
                "apply of kustomize-controller",
                "kustomize-controller",
                deployment(),
                labels(json!({"theirs": "1"})),
                ("/metadata/labels/theirs", None),
                true,
            )
        },
        Edit {
            applied: true,
            ..edit(
                "kubectl apply --server-side",
                "kubectl",
                deployment(),
                json!({"spec": {"template": {"spec": {"containers": [{"name": "manager", "env": [{"name": "EXTRA", "value": "1"}]}]}}}}),
                ("/spec/template/spec/containers/0/env/2", None),
                true,
            )
        },
        // Fields of other managers stay.
        Edit {
            applied: true,
            ..edit(
                "label of another manager",
                "me",
                deployment(),
                labels(json!({"kept": "1"})),
                ("/metadata/labels/kept", Some(json!("1"))),
                false,
            )
        },
        Edit {
            applied: true,
            ..edit(
                "toleration of another manager",
                "me",
                deployment(),
                json!({"spec": {"template": {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}]}}}}),
                ("/spec/template/spec/tolerations/0/key", Some(json!("a"))),
                false,
            )
        },
        edit(
            "annotation of another manager",
            "me2",
            deployment(),
            annotations(json!({"kept": "1"})),
            ("/metadata/annotations/kept", Some(json!("1"))),
            false,
        ),
    ]
}

async fn drift_is_corrected_or_left_as_the_manager_decides(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    let mut wanted = spec("2.9.x");
    wanted["wait"] = json!(false);
    wanted["sync"] = json!({"kind": "GitRepository", "url": "https://example.com/a.git", "ref": "main", "path": "a"});
    world.instance(wanted).await;
    world.ready().await;

    for edit in edits() {
        let mut object = edit.patch.clone();
        if edit.applied {
            object["apiVersion"] = edit.id.api_version().into();
            object["kind"] = edit.id.kind.clone().into();
            object["metadata"]["name"] = edit.id.name.clone().into();
            object["metadata"]["namespace"] = edit.id.namespace.clone().into();
            world.apply_as(edit.manager, object).await;
        } else {
            world.patch_as(edit.manager, &edit.id, object).await;
        }
        // The plan says what is about to change, the run changes it, and then there is nothing left.
        let plan = world.plan().await;
        let planned = plan.objects.iter().find(|one| one.object == edit.id).unwrap();
        let expected = if edit.corrected { Step::Configure } else { Step::Unchanged };
        assert_eq!(planned.step, expected, "{}: {:?}", edit.what, planned.changes);
        // `get inventory` says the same without asking for a dry run.
        let live = world.cluster.read(&edit.id).await.unwrap().unwrap();
        let paths: Vec<&String> = planned.changes.iter().map(|change| &change.path).collect();
        let shown = flux_operator::inspect::views::inventory::differences(&planned.desired, &live);
        assert_eq!(shown.iter().collect::<Vec<_>>(), paths, "{}", edit.what);
        let outcome = world.ready().await;
        assert_eq!(!outcome.changes.is_empty(), edit.corrected, "{}: {:?}", edit.what, outcome.changes);
        let live = world.cluster.read(&edit.id).await.unwrap().unwrap();
        assert_eq!(live.pointer(edit.after.0), edit.after.1.as_ref(), "{}: {}", edit.what, live["metadata"]);
        let again = world.plan().await;
        assert!(
            !again.has_changes(),
            "{}: {:?}",
            edit.what,
            again.objects.iter().filter(|one| one.step != Step::Unchanged).collect::<Vec<_>>()
        );
    }

    // The author of drift is reported with the field.
    world.patch_as("hpa", &deployment_id(HELM), json!({"spec": {"replicas": 5}})).await;
    let plan = world.plan().await;
    let change = &plan.objects.iter().find(|one| one.step == Step::Configure).unwrap().changes[0];
    assert_eq!(
        (change.path.as_str(), change.from.clone(), change.to.clone()),
        ("spec.replicas", Some(json!(5)), Some(json!(1)))
    );
    assert_eq!(change.owner.as_ref().map(|owner| owner.manager.as_str()), Some("hpa"));
    world.ready().await;

    // Deleted objects come back.
    for id in [
        deployment_id(HELM),
        id("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "buckets.source.toolkit.fluxcd.io"),
    ] {
        let live = world.cluster.read(&id).await.unwrap().unwrap();
        world.delete(&live).await;
        crate::support::eventually("the object to go", std::time::Duration::from_secs(10), || async {
            world.cluster.read(&id).await.unwrap().is_none().then_some(())
        })
        .await
        .unwrap();
        let outcome = world.ready().await;
        assert_eq!(
            outcome.changes.iter().map(|change| change.object.to_string()).collect::<Vec<_>>(),
            [id.to_string()]
        );
        assert!(world.cluster.read(&id).await.unwrap().is_some());
    }

    // The sync is ours as everything else.
    let sync = id("kustomize.toolkit.fluxcd.io/v1", "Kustomization", NAMESPACE, NAMESPACE);
    world.patch_as("kubectl-patch", &sync, json!({"spec": {"suspend": true}})).await;
    world.ready().await;
    assert_eq!(world.cluster.read(&sync).await.unwrap().unwrap()["spec"].get("suspend"), None);
}

async fn an_installation_of_other_tools_is_taken_over(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    let mut wanted = spec("2.9.x");
    wanted["wait"] = json!(false);
    let instance = world.instance(wanted).await;
    let checked = flux_operator::api::CheckedInstance::check(instance.clone()).unwrap();
    let built = flux_operator::build::build(&checked, &world.distribution, &Default::default()).unwrap();
    // The leftovers of `kubectl apply`, helm and `flux install`: each object is written by one of them, in turn,
    // without our labels.
    for (number, object) in built.objects.iter().enumerate() {
        let mut object = object.clone();
        for map in ["labels", "annotations"] {
            if let Some(map) = object["metadata"][map].as_object_mut() {
                map.retain(|key, _| {
                    !key.starts_with("fluxcd.controlplane.io/") && !key.starts_with("kustomize.toolkit.fluxcd.io/")
                });
            }
        }
        object["metadata"]["labels"]["left-by"] = "old-tool".into();
        match number % 3 {
            0 => {
                object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = "{}".into();
                if world.cluster.create(&object, "kubectl-client-side-apply").await.unwrap().is_none() {
                    world.apply_as("kubectl", object).await;
                }
            }
            1 => {
                object["metadata"]["annotations"]["meta.helm.sh/release-name"] = "flux".into();
                if world.cluster.create(&object, "helm").await.unwrap().is_none() {
                    world.apply_as("flux", object).await;
                }
            }
            _ => {
                object["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"] = NAMESPACE.into();
                world.apply_as("kustomize-controller", object).await;
            }
        }
    }
    let outcome = world.ready().await;
    assert_eq!(outcome.changes.len(), built.objects.len(), "every object is configured");
    for object in &built.objects {
        let id = flux_operator::k8s::ObjectId::of(object);
        let live = world.cluster.read(&id).await.unwrap().unwrap();
        let left = live["metadata"]["labels"].get("left-by");
        // A namespace is shared: labels and annotations of others are kept, except those of tools.
        match id.kind.as_str() {
            "Namespace" => assert_eq!(left.and_then(Value::as_str), Some("old-tool")),
            _ => assert_eq!((managers(&live), left), (ours(), None), "{id}"),
        }
        let text = live["metadata"]["annotations"].to_string() + &live["metadata"]["labels"].to_string();
        assert!(
            !text.contains("meta.helm.sh")
                && !text.contains("last-applied")
                && !text.contains("kustomize.toolkit.fluxcd.io/name"),
            "{id}: {text}"
        );
    }
    assert!(!world.plan().await.has_changes());
}

async fn labels_of_others_on_the_namespace_are_kept_unless_the_instance_sets_them(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let namespace = id("v1", "Namespace", "", NAMESPACE);
    // Made before Flux came, as `kubectl create` does, with the level that admission enforces.
    let made = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE,
        "labels": {"pod-security.kubernetes.io/enforce": "privileged", "team": "a"}, "annotations": {"owner": "ops"}}});
    world.cluster.create(&made, "kubectl-create").await.unwrap();
    world.instance(small(&["source-controller"])).await;
    world.ready().await;
    let label = |key: &str, value: Value| json!({"metadata": {"labels": {key: value}}});
    world.patch_as("kubectl-label", &namespace, label("cost-centre", json!("7"))).await;
    assert!(!world.plan().await.has_changes(), "a label of others is nothing to correct");
    world.ready().await;
    let metadata = async || world.cluster.read(&namespace).await.unwrap().unwrap()["metadata"].clone();
    let seen = metadata().await;
    for (key, value) in [
        ("pod-security.kubernetes.io/enforce", "privileged"),
        ("team", "a"),
        ("cost-centre", "7"),
        // The build's own values are present too.
        ("pod-security.kubernetes.io/warn", "restricted"),
        ("fluxcd.controlplane.io/name", "flux"),
    ] {
        assert_eq!(seen["labels"][key], value, "{key}");
    }
    assert_eq!(seen["annotations"]["owner"], "ops");

    // Values from the instance itself take precedence, and are removed with it.
    let mut wanted = small(&["source-controller"]);
    wanted["commonMetadata"] = json!({"labels": {"team": "b", "ours": "1"}});
    world.instance(wanted).await;
    world.ready().await;
    let seen = metadata().await;
    assert_eq!((&seen["labels"]["team"], &seen["labels"]["ours"]), (&json!("b"), &json!("1")));
    world.instance(small(&["source-controller"])).await;
    world.ready().await;
    let seen = metadata().await;
    assert!(seen["labels"].get("ours").is_none() && seen["labels"]["cost-centre"] == "7", "{seen}");
}

//! An installation that Flux itself applies from Git, taken over by an instance: with the real controllers at work.

use std::time::Duration;

use flux_operator::api::Component;
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::support::installation::{installation, sync};
use crate::support::runner::ClusterTest;
use crate::support::{TestCluster, eventually};
use crate::world::{World, api, config_map, run, until};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![flux_that_applies_itself_is_taken_over_and_stays_when_its_manifests_leave_git]
}

const OVERLAY: &str = "resources: [gotk-components.yaml, gotk-sync.yaml]
patches:
- target: {kind: Deployment}
  patch: |
    - op: add
      path: /spec/template/spec/tolerations
      value: [{key: infra, operator: Exists}]
";

fn yaml(objects: &[Value]) -> String {
    let documents: Vec<String> =
        objects.iter().map(|object| flux_operator::format::yaml::to_string(object).expect("written")).collect();
    documents.join("---\n")
}

async fn flux_that_applies_itself_is_taken_over_and_stays_when_its_manifests_leave_git(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let namespace = cluster.namespace();
    let mut components =
        installation(namespace, "v2.9.", &[Component::SourceController, Component::KustomizeController]);
    components.retain(|object| object["kind"] != "Namespace");
    let mut sync = sync(namespace, &world.url());
    for object in &mut sync {
        object["spec"].as_object_mut().expect("an object").remove("secretRef");
    }
    sync[1]["spec"]["path"] = json!("./prod");
    let write = |name: &str, text: &str| world.repository.write(name, text).expect("written");
    write("prod/flux-system/gotk-components.yaml", &yaml(&components));
    write("prod/flux-system/gotk-sync.yaml", &yaml(&sync));
    write("prod/flux-system/kustomization.yaml", OVERLAY);
    let app = |value: &str| config_map(value).replace("  name: web", &format!("  name: web\n  namespace: {namespace}"));
    write("prod/app.yaml", &app("one"));
    world.repository.commit("bootstrap").expect("pushed");
    cluster.apply(&sync).await;
    until(&cluster, "Kustomization", namespace, "True").await;
    assert!(api(&cluster, "Deployment").get_opt("kustomize-controller").await.expect("asked").is_some());

    let folder = cluster.folder().join(format!("{namespace}-flux-system"));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("kustomization.yaml"), OVERLAY).expect("written");
    let migrated =
        run(&cluster, &format!("migrate bootstrap --from-git {} --apply --timeout 120s", folder.display())).await;
    let migrated =
        migrated.exits(0).stderr_has("remove gotk-components.yaml and gotk-sync.yaml of prod/flux-system from Git");
    assert!(migrated.stderr.contains("nothing is pruned"), "{}", migrated.stderr);

    // The manifests leave Git, something else changes with them.
    for name in ["gotk-components.yaml", "gotk-sync.yaml", "kustomization.yaml"] {
        world.repository.remove(&format!("prod/flux-system/{name}")).expect("removed");
    }
    write("prod/app.yaml", &app("two"));
    world.repository.commit("without Flux").expect("pushed");
    run(&cluster, &format!("reconcile source git {namespace} --timeout 60s")).await.exits(0);
    let applied = eventually("the new revision to be applied", Duration::from_secs(60), || async {
        let object = api(&cluster, "ConfigMap").get_opt("web").await.expect("asked")?;
        (object.data["data"]["key"] == "two").then_some(())
    });
    applied.await.expect("Flux goes on");
    for name in ["source-controller", "kustomize-controller"] {
        let live = api(&cluster, "Deployment").get_opt(name).await.expect("asked").expect("it stays");
        assert!(live.metadata.deletion_timestamp.is_none());
        assert_eq!(live.data["spec"]["template"]["spec"]["tolerations"][0]["key"], "infra");
    }
    assert!(api(&cluster, "GitRepository").get_opt(namespace).await.expect("asked").is_some());
    until(&cluster, "FluxInstance", "flux", "True").await;
}

//! `--contexts` with real API servers: every answer is the server's, and a plan belongs to its cluster.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::cluster_tests;
use crate::inspect::world::{Run, instance};
use crate::support::{ClusterTest, Kubeconfig, Options, TestCluster};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![clusters_are_read_together_and_planned_each_for_itself]
}

/// Joins several kubeconfigs, each under another name.
fn merged(all: &[(&str, &Kubeconfig)]) -> Value {
    let mut merged = json!({"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []});
    for (name, kubeconfig) in all {
        let mut value = kubeconfig.value();
        for list in ["clusters", "users", "contexts"] {
            let mut entry = value[list][0].take();
            entry["name"] = json!(name);
            if list == "contexts" {
                entry["context"]["cluster"] = json!(name);
                entry["context"]["user"] = json!(name);
            }
            merged[list].as_array_mut().expect("a list").push(entry);
        }
    }
    merged
}

async fn clusters_are_read_together_and_planned_each_for_itself(cluster: TestCluster) {
    // Other tests have instances of their own in the shared cluster.
    let first = cluster.fresh(Options::api_server_only()).await;
    let here = first.admin("fleet").expect("an admin");
    let other = cluster.fresh(Options::api_server_only()).await;
    let admin = other.admin("fleet").expect("an admin");
    let folder = cluster.folder().join(format!("{}-fleet", cluster.namespace()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = |name: &str| folder.join(name).display().to_string();
    let config = merged(&[("one", &here), ("two", &admin), ("again", &admin)]);
    std::fs::write(file("kubeconfig"), config.to_string()).expect("written");
    std::fs::write(file("flux.json"), instance(&cluster, json!({})).to_string()).expect("written");
    let run = async |line: String| -> Run {
        let mut command = cluster.command();
        command.args(line.split_whitespace()).args(["--kubeconfig", &file("kubeconfig")]).stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output()).await;
        output.expect("joined").expect("the binary runs").into()
    };
    let versions = run("version --contexts * -o json".to_owned()).await.exits(4);
    let fleet = versions.json();
    assert_eq!(fleet["summary"], json!({"reached": 2, "failed": 0, "skipped": 1}), "{fleet:#}");
    let uids: Vec<&Value> = fleet["clusters"].as_array().expect("clusters").iter().map(|one| &one["uid"]).collect();
    assert!(uids.len() == 2 && uids.iter().all(|uid| uid.is_string()) && uids[0] != uids[1], "{uids:?}");
    assert!(versions.stderr.contains("the same cluster as two"), "{}", versions.stderr);
    assert_eq!(fleet["clusters"][1]["result"]["kubernetes"], fleet["clusters"][1]["version"]);

    let plans = file("plans");
    let planned = run(format!("plan -f {} --contexts one,two --out {plans}", file("flux.json"))).await.exits(1);
    assert!(planned.stdout.contains(" of 2 clusters: ") && planned.stdout.contains("to create"), "{}", planned.stdout);
    let summary: Value =
        serde_json::from_slice(&std::fs::read(folder.join("plans/summary.json")).expect("a summary")).expect("JSON");
    let named: Vec<&Value> = summary["plans"]
        .as_array()
        .expect("plans")
        .iter()
        .flat_map(|plan| plan["clusters"].as_array().expect("clusters"))
        .map(|cluster| &cluster["file"])
        .collect();
    assert!(named.contains(&&json!("one.plan")) && named.contains(&&json!("two.plan")), "{summary:#}");
    let elsewhere = run(format!("apply --plan {plans}/one.plan --context two --in-process --yes")).await;
    elsewhere.exits(1).stderr_has("the plan was made for another cluster: https://");
    // It carries the plan out as far as the cluster lets it: nothing runs pods there.
    run(format!("apply --plan {plans}/two.plan --context two --in-process --yes")).await.exits(0);
    let after = run("get instance -A --contexts one,two -o name".to_owned()).await;
    assert!(after.stdout.lines().any(|line| line.starts_with("two ")), "{}\n{}", after.stdout, after.stderr);
}

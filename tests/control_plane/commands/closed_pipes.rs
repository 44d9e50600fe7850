//! Commands whose output pipe loses its reader: they complete their work, and their exit codes are unchanged.

use std::process::Stdio;

use serde_json::json;

use crate::cluster_tests;
use crate::commands::cluster_objects::finish;
use crate::reconcile::world::{NAMESPACE, USER, World};
use crate::support::runner::command;
use crate::support::{ClusterTest, TestCluster};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        without_a_reader_commands_that_ask_an_operator_write_the_same_and_end_the_same,
        without_a_reader_commands_that_do_the_work_themselves_write_the_same_and_end_the_same,
    ]
}

/// Command lines for an empty cluster; each starts from the state left by the previous one. Some continue after they print.
const THROUGH_AN_OPERATOR: &[&str] = &[
    "install --image registry.example.com/flux-operator:v1 --wait=false -f flux.json",
    "suspend instance",
    "wait instance --timeout 1s",
    "status",
    "create secret basic-auth git --username u --password-env PASSWORD",
    "delete instance flux --with-suspend --yes --timeout 10s",
    "uninstall operator --yes",
];
const IN_PROCESS: &[&str] = &[
    "apply instance -f flux.json --in-process --wait=false",
    "plan instance -f other.json",
    "delete instance flux --with-suspend --yes --timeout 10s",
    "migrate bootstrap --apply --yes",
];

/// The exit code of each line, and what it wrote, in order of verb and resource.
async fn endings(cluster: &TestCluster, lines: &[&str], has_reader: bool) -> Vec<(i32, Vec<String>)> {
    let world = World::new(cluster).await;
    let instance = |version: &str| {
        json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": NAMESPACE},
            "spec": {"distribution": {"version": version, "registry": "ghcr.io/fluxcd"}, "components": ["source-controller"]}})
    };
    for (file, version) in [("flux.json", "2.9.2"), ("other.json", "2.9.4")] {
        std::fs::write(world.plane.folder().join(file), instance(version).to_string()).unwrap();
    }
    let mut found = vec![];
    for line in lines {
        let mark = world.plane.audit().mark().await.unwrap();
        let mut program = command(world.kubeconfig.path(), world.plane.folder());
        program.current_dir(world.plane.folder()).args(line.split_whitespace()).env("PASSWORD", "pppppppp");
        program.stdin(Stdio::null()).stderr(Stdio::piped());
        if has_reader {
            program.stdout(Stdio::piped());
        } else {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            program.stdout(writer);
        }
        let run = finish(program).await;
        eprintln!("{line}: {} {}", run.code, run.stderr);
        let writes = world.plane.audit().since(mark).await.unwrap().by_user(USER).writes();
        // A lease is renewed as often as a run takes long.
        let writes = writes.only(|one| !["leases", "events"].contains(&one.resource.as_str()));
        // The garbage collector deletes the kept builds of a deleted instance at its own pace. Where one is still there, a
        // command replaces it after a conflict instead of creating it.
        let writes = writes.only(|one| one.resource != "controllerrevisions" || one.status != 409);
        let mut writes: Vec<String> = writes
            .0
            .iter()
            .map(|one| match one.resource.as_str() {
                "controllerrevisions" => format!("write {} {}", one.resource, one.name),
                _ => format!("{} {} {} {}", one.verb, one.resource, one.name, one.status),
            })
            .collect();
        writes.sort();
        found.push((run.code, writes));
    }
    found
}

async fn ends_the_same_without_a_reader(cluster: &TestCluster, lines: &[&str]) {
    let (open, closed) = tokio::join!(endings(cluster, lines, true), endings(cluster, lines, false));
    for ((line, open), closed) in lines.iter().zip(open).zip(closed) {
        assert_eq!(open, closed, "{line}");
    }
}

async fn without_a_reader_commands_that_ask_an_operator_write_the_same_and_end_the_same(cluster: TestCluster) {
    ends_the_same_without_a_reader(&cluster, THROUGH_AN_OPERATOR).await;
}

async fn without_a_reader_commands_that_do_the_work_themselves_write_the_same_and_end_the_same(cluster: TestCluster) {
    ends_the_same_without_a_reader(&cluster, IN_PROCESS).await;
}

//! The program for Windows under Wine, against a real API server and a real registry on loopback.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command};
use std::time::Duration;

use kube::api::DeleteParams;
use serde_json::json;

use crate::cluster_tests;
use crate::inspect::world::{Run, install, instance, run};
use crate::support::registry::Registry;
use crate::support::windows::{self, WindowsProgram};
use crate::support::{ClusterTest, IN_TIME, TestCluster, objects, repository};

pub fn tests() -> Vec<ClusterTest> {
    let missing = || windows::wine().is_none().then(|| windows::NEEDS.to_owned());
    let tests = cluster_tests![the_program_for_windows_reads_and_explains_a_cluster];
    tests.into_iter().map(|test| test.that_installs().where_possible(missing)).collect()
}

async fn the_program_for_windows_reads_and_explains_a_cluster(cluster: TestCluster) {
    install(&cluster, &instance(&cluster, json!({"wait": true}))).await.exits(0);
    let registry = Registry::start().await.unwrap();
    let artifact = format!("oci://{}/flux/manifests:latest", registry.host());
    run(&cluster, &["distribution", "push", &artifact, "--version", "2.9.4"]).await.exits(0);
    let deployments = objects::api(&cluster.client(), "apps/v1", "Deployment", cluster.namespace()).await.unwrap();

    let program = tokio::task::spawn_blocking(|| WindowsProgram::build(windows::wine().unwrap(), repository()));
    let program = program.await.unwrap();
    // Where kubectl for Windows has it, with the line ends of its editor.
    let kubeconfig = std::fs::read_to_string(cluster.kubeconfig().path()).unwrap();
    program.write(&program.of_user(".kube/config"), &kubeconfig.replace('\n', "\r\n"));
    let program = tokio::task::spawn_blocking(move || {
        program.run(&["get", "instance"]).exits(0).stdout_has("flux   v2.9.4");
        let components = program.run(&["get", "components", "-o", "json"]).exits(0).json();
        assert_eq!(components["items"][0]["status"], "Current", "{components:#}");
        let table = program.run(&["tree", "instance"]).exits(0).stdout_has("Deployment/");
        assert!(!table.stdout.contains('\u{1b}'), "a pipe is not coloured: {}", table.stdout);
        program.run(&["why", "instance"]).exits(0).stdout_has("is ready");

        // A pulled artifact is kept in the folder that Windows has for caches.
        let manifest = std::fs::read(repository().join("examples/flux.yaml")).unwrap();
        std::fs::write(program.folder().join("flux.yaml"), manifest).unwrap();
        let revision = ["build", "instance", "-f", "flux.yaml", "--revision", "--distribution", artifact.as_str()];
        program.run(&revision).exits(0).stdout_has("v2.9.4@sha256:");
        let cache = program.of_user("AppData/Local/flux-operator/artifacts/blobs/sha256");
        assert!(std::fs::read_dir(&cache).is_ok_and(|blobs| blobs.count() == 3), "{}", cache.display());

        // Ctrl-C ends a command that watches, with the code of an interrupt.
        let mut watch = program.start(program.command(&["get", "instance", "--watch"]));
        let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.is_ok_and(|line| line.starts_with("flux "))), "the row is shown first");
        interrupt(&watch);
        assert_eq!(ended(watch), Some(130));
        program
    })
    .await
    .unwrap();

    deployments.delete("source-controller", &DeleteParams::default()).await.unwrap();
    tokio::task::spawn_blocking(move || {
        let why = program.run(&["why", "instance"]).exits(7);
        why.stdout_has("is missing (ObjectMissing)").stdout_has("More: flux-operator explain ObjectMissing");
    })
    .await
    .unwrap();
}

/// Wine turns the signal of a terminal into the event that Windows has for Ctrl-C.
fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// The exit code of a command that has to end by itself soon.
fn ended(mut child: Child) -> Option<i32> {
    drop(child.stdin.take());
    let deadline = std::time::Instant::now() + IN_TIME;
    while std::time::Instant::now() < deadline {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = child.kill();
    let run = Run::from(child.wait_with_output().unwrap());
    panic!("it did not end: {}", run.stderr);
}

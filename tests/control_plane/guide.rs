//! The commands of the guide and the README against a real API server, each page on a cluster of its own.

use std::path::Path;

use crate::cluster_tests;
use crate::support::guide::{self, BlockKind, Surroundings};
use crate::support::{ClusterTest, Options, TestCluster, needs, repository};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![every_command_of_the_guide_gives_the_output_that_is_shown]
}

async fn every_command_of_the_guide_gives_the_output_that_is_shown(cluster: TestCluster) {
    let mut failures = vec![];
    for page in guide::pages(repository()) {
        let blocks = page.blocks();
        let live: Vec<_> = blocks.iter().filter(|block| block.kind == BlockKind::Cluster).collect();
        if live.is_empty() {
            continue;
        }
        let needs_kubectl = live.iter().any(|block| block.text.contains("$ kubectl "));
        if needs_kubectl && !needs::has_programs(&["kubectl"], &format!("for {}", page.path)) {
            continue;
        }
        let plane = cluster.fresh(Options::default()).await;
        let kubeconfig = plane.admin("me").unwrap();
        let folder = tempfile::tempdir().unwrap();
        guide::copy_examples(repository(), folder.path());
        let (path, home) = (kubeconfig.path().to_owned(), folder.path().to_owned());
        // The first page is also for a Mac, whose shell is zsh.
        let is_in_zsh = page.path.ends_with("start.md") && needs::has_programs(&["zsh"], "the package zsh");
        let shell = if is_in_zsh { "zsh" } else { "bash" };
        let run = move || {
            let program = Path::new(env!("CARGO_BIN_EXE_flux-operator"));
            let surroundings = Surroundings { shell, program, folder: &home, kubeconfig: Some(&path) };
            guide::run_page(&page, &surroundings)
        };
        if let Err(differences) = tokio::task::spawn_blocking(run).await.unwrap() {
            failures.push(differences);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

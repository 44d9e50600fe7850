//! A Kubernetes control plane on this machine, without containers, for trying commands.
//!
//! `cargo run -p tools --bin local-cluster` reports progress, prints the `KUBECONFIG` line to paste into another
//! terminal, and runs until Ctrl-C. API server, scheduler and controllers are real; pods are simulated: they become
//! Ready and run nothing. The first start builds the servers with Go, which takes minutes.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    test_support::local_cluster::main().await
}

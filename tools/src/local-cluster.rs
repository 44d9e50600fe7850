//! A Kubernetes control plane on this machine, without containers, to try commands against.
//!
//! `cargo run -p tools --bin local-cluster` shows what it starts, prints the `KUBECONFIG` line to paste into another
//! terminal, and stays until Ctrl-C. API server, scheduler and controllers are real; pods are simulated: they
//! become Ready and run nothing. The first start builds the servers with Go, which takes minutes.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    test_support::local_cluster::main().await
}

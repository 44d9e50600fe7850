//! A real control plane for the tests, without containers: etcd, API server, controller manager and scheduler as
//! processes, with simulated kubelets.
//!
//! ```text
//! programs, go_program   which files to run: CONTROL_PLANE_BIN, KUBEBUILDER_ASSETS, or built from Go modules
//! server_process         a server that ends with the process that started it
//! control_plane          starts the four, hands out kubeconfigs and namespaces
//! etcd                   what is stored for an API server, put back
//! lending                control planes that tests have to themselves, one after the other
//! kubelet                makes pods run, or fail as a test asks
//! proxy                  sits between a client and the API server and breaks things
//! connect_proxy          an ordinary HTTP proxy, for `proxy-url`
//! audit                  the API server's record of requests
//! installation           the objects of `flux install` and `flux bootstrap`
//! causes                 causes of failing objects, one row each, as a dump and for an API server
//! needs                  requirements beyond this package, and the line of a test that lacks them
//! habits                 lines that users type, as rows
//! guide                  pages of the guide, and the commands in them
//! fake_cluster           servers that look like API servers from far away, for tests about many clusters
//! incident               Flux objects of which some fail, and logs, for measurements
//! objects                objects of any kind as JSON
//! local_cluster          a control plane for trying commands by hand
//! flux                   the real Flux controllers beside it, and a Git server
//! registry               a real OCI registry with independent clients, and faults between a client and it
//! windows                the program for Windows, run under Wine
//! slow_tests             tests that run only on request
//! runner                 libtest-mimic around tests that get a cluster
//! ```
//!
//! # Adding a test
//! 1. In `tests/control_plane/ROOM/AREA.rs` (registered in `tests/control_plane/ROOM.rs`) write `async fn
//!    a_sentence_about_behaviour(cluster: TestCluster) { … }` and name it in that file's `cluster_tests![…]` list.
//! 2. `cluster.client()` talks to the API server as the test's own admin, `cluster.namespace()` is empty and belongs to
//!    this test, `cluster.command()` is the built binary against both. `cluster.apply(&[json!(…)])` creates the objects
//!    that the test needs first; these requests are not counted.
//! 3. For anything cluster-scoped: `cluster.fresh(Options::default()).await`, a control plane of the test's own, as
//!    it was after its start. It goes to another test when yours drops it, so whatever acts on it has to end before.
//! 4. Another binary: a folder with its own `main.rs`, which uses this crate as `test_support`, and a `[[test]]` entry
//!    with `harness = false` in `Cargo.toml`.
//! 5. A test that takes more than five seconds gets a line in `tests/slow_tests.txt`: then it runs with `cargo test --
//!    --ignored`.
//!
//! Wait with [`eventually`] or a watch, never with a bare sleep. A test fails by panicking; then the last output of the
//! servers is printed. `TEST_DURATIONS=FILE` records how long each test took.
#![warn(unreachable_pub)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a failed test panics"
)]

pub mod audit;
pub mod causes;
pub mod certificates;
pub mod connect_proxy;
pub mod control_plane;
pub mod etcd;
pub mod fake_cluster;
pub mod flux;
pub mod go_program;
pub mod guide;
// Lines for bash, some of them on a pseudo-terminal.
#[cfg(unix)]
pub mod habits;
pub mod incident;
pub mod installation;
pub mod instance_specs;
pub mod kubeconfig;
pub mod kubelet;
pub mod lending;
// It ends with a signal.
#[cfg(unix)]
pub mod local_cluster;
pub mod needs;
pub mod objects;
pub mod programs;
pub mod proxy;
pub mod registry;
pub mod run;
pub mod runner;
pub mod server_process;
pub mod situations;
pub mod slow_tests;
pub mod windows;

use std::future::Future;
use std::path::Path;
use std::time::{Duration, Instant};

pub use connect_proxy::ConnectProxy;
pub use control_plane::{ControlPlane, Options, SavedState, allow, wait_for_quota};
pub use kubeconfig::Kubeconfig;
pub use kubelet::{Behaviour, ClaimBehaviour, PodRule};
pub use lending::LentControlPlane;
pub use programs::Component;
pub use proxy::{Fault, FaultProxy, FaultRule};
pub use runner::{ClusterTest, TestCluster, run_flux_tests, run_tests};

pub type Error = Box<dyn std::error::Error + Send + Sync>;
pub type Fallible<T> = Result<T, Error>;

/// A command that ends within this time used its own limit, also on a loaded machine: the usual one of a request is 10
/// s.
pub const IN_TIME: Duration = Duration::from_secs(8);

/// Polls `probe` every 20 ms until it returns a value.
///
/// # Errors
/// The deadline has passed; the error names `what`.
pub async fn eventually<T, F, Fut>(what: &str, deadline: Duration, mut probe: F) -> Fallible<T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Option<T>>,
{
    let start = Instant::now();
    loop {
        let left = deadline.saturating_sub(start.elapsed());
        match tokio::time::timeout(left, probe()).await {
            Ok(Some(value)) => return Ok(value),
            Ok(None) if !left.is_zero() => tokio::time::sleep(Duration::from_millis(20)).await,
            _ => return Err(format!("waited {deadline:?} for {what}").into()),
        }
    }
}

/// The folder of the repository.
pub fn repository() -> &'static Path {
    // This package is `tests/support` of it.
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two folders above it")
}

/// Returns the last `count` lines of `text`.
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n")
}

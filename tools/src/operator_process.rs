//! The built program as the operator of a control plane, and its memory; shared by the measuring programs.

use std::collections::BTreeMap;
use std::path::Path;

use flux_operator::cluster::{Cluster, ConnectOptions, KubeconfigSource, connect};
use test_support::server_process::ServerProcess;
use test_support::{ControlPlane, Fallible};

/// Namespace of the operator.
pub const NAMESPACE: &str = "flux-system";
/// User of the operator in the audit log.
pub const USER: &str = "operator";

/// Connects to a cluster.
///
/// # Errors
/// It cannot be reached.
pub async fn connected(kubeconfig: &Path) -> Fallible<Cluster> {
    Ok(connect(ConnectOptions::new(KubeconfigSource::File(kubeconfig.to_owned()))).await?)
}

/// Starts the program as an operator, whose log has this name.
///
/// # Errors
/// It does not start.
pub fn start(binary: &Path, plane: &ControlPlane, kubeconfig: &Path, name: &str) -> Fallible<ServerProcess> {
    let arguments = ["controller", "--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0"].map(str::to_owned);
    let environment = BTreeMap::from(
        [
            ("KUBECONFIG", kubeconfig.to_str().ok_or("a path")?),
            ("RUNTIME_NAMESPACE", NAMESPACE),
            ("NOTIFICATIONS_DISABLED", "true"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    ServerProcess::start(name, binary, &arguments, &environment, plane.folder())
}

/// Returns a field of the memory of a process, in MiB: `VmRSS` is what is resident, `VmHWM` the most that was.
///
/// # Errors
/// The process has ended.
pub fn memory(process: &ServerProcess, field: &str) -> Fallible<f64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid()))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kibibytes: f64 = line.and_then(|line| line.split_whitespace().next()).ok_or("no such field")?.parse()?;
    Ok(kibibytes / 1024.0)
}

//! A running operator, and what is asked of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flux_operator::api::{FluxInstance, crd};
use flux_operator::cluster::WriteOptions;
use flux_operator::reconcile;
use flux_operator::reconcile::progress::IgnoredProgress;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::reconcile::world::*;
use crate::support::server_process::ServerProcess;
use crate::support::{Kubeconfig, eventually};

/// How long a test waits for what takes a second or two.
pub const SOON: Duration = Duration::from_secs(40);

/// The built program, running as the operator of `flux-system`.
pub struct Operator {
    pub process: ServerProcess,
    log: PathBuf,
    start: usize,
}

impl Operator {
    pub fn start(world: &World, name: &str, flags: &[&str]) -> Operator {
        Operator::start_with(&world.kubeconfig, world.plane.folder(), name, flags)
    }

    pub fn start_with(kubeconfig: &Kubeconfig, folder: &Path, name: &str, flags: &[&str]) -> Operator {
        let binary = Path::new(env!("CARGO_BIN_EXE_flux-operator"));
        let mut arguments: Vec<String> =
            ["controller", "--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0"].map(str::to_owned).to_vec();
        arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let environment = BTreeMap::from(
            [
                ("KUBECONFIG", kubeconfig.path().to_str().unwrap()),
                ("RUNTIME_NAMESPACE", NAMESPACE),
                ("NOTIFICATIONS_DISABLED", "true"),
                ("HOSTNAME", name),
                ("HOME", folder.to_str().unwrap()),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned())),
        );
        let log = folder.join(format!("{name}.log"));
        let start = std::fs::read(&log).map_or(0, |text| text.len());
        let process = ServerProcess::start(name, binary, &arguments, &environment, folder).unwrap();
        Operator { process, log, start }
    }

    /// Returns its log since the start, line by line.
    pub fn log(&self) -> Vec<Value> {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text[self.start.min(text.len())..]).into_owned();
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| json!({"msg": line}))).collect()
    }

    pub fn logged(&self, message: &str) -> Option<Value> {
        self.log().into_iter().find(|line| line["msg"].as_str().is_some_and(|msg| msg.contains(message)))
    }

    pub async fn wait_for_log(&self, message: &str) -> Value {
        eventually(message, SOON, || async { self.logged(message) })
            .await
            .unwrap_or_else(|error| panic!("{error}: {}", self.process.last_log_lines(30)))
    }

    /// Answers of its two addresses: status and body.
    pub async fn ask(&self, what: &str, path: &str) -> (u16, String) {
        let line = self.wait_for_log(&format!("serving {what}")).await;
        let address = line["address"].as_str().unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }
}

impl World {
    /// Creates the prerequisites of an operator.
    pub async fn prepared(&self) {
        reconcile::prepare(&self.cluster, NAMESPACE, &IgnoredProgress).await.unwrap();
        for definition in [crd::flux_report(), crd::resource_set(), crd::input_provider()] {
            self.define(definition).await;
        }
    }

    /// Applies the instance with annotations, as a person would.
    pub async fn write_instance(&self, spec: Value, annotations: Value) {
        let object = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": NAMESPACE, "annotations": annotations}, "spec": spec});
        self.cluster.apply(&object, WriteOptions::forced("test-author")).await.unwrap();
    }

    /// The instance once `is_there` says so.
    pub async fn wait_for(&self, what: &str, is_there: impl Fn(&FluxInstance) -> bool) -> FluxInstance {
        let found = eventually(what, SOON, || async {
            let live = self.get("fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE, "flux").await?;
            FluxInstance::from_object(live).ok().filter(|instance| is_there(instance))
        });
        match found.await {
            Ok(instance) => instance,
            Err(error) => panic!("{error}: {:?}", self.read_instance().await.status.map(|status| status.conditions)),
        }
    }

    pub async fn wait_for_ready(&self) -> FluxInstance {
        self.wait_for("Ready", |instance| condition(instance, "Ready").0 == "True" && is_observed(instance)).await
    }

    pub async fn wait_until_gone(&self) {
        let gone = eventually("the instance to be gone", SOON, || async {
            self.get("fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE, "flux").await.is_none().then_some(())
        });
        gone.await.unwrap();
    }
}

/// Status, reason and message of a condition; empty when it is not there.
pub fn condition(instance: &FluxInstance, kind: &str) -> (String, String, String) {
    let conditions = instance.status.iter().flat_map(|status| &status.conditions);
    conditions
        .into_iter()
        .find(|one| one.type_ == kind)
        .map(|one| (one.status.clone(), one.reason.clone(), one.message.clone()))
        .unwrap_or_default()
}

pub fn is_observed(instance: &FluxInstance) -> bool {
    let conditions = instance.status.iter().flat_map(|status| &status.conditions);
    conditions.into_iter().any(|one| one.type_ == "Ready" && one.observed_generation == instance.metadata.generation)
}

/// How often a history says that all of it was reconciled.
pub fn runs(instance: &FluxInstance) -> i64 {
    instance.status.iter().flat_map(|status| &status.history).map(|entry| entry.total_reconciliations).sum()
}

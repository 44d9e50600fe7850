//! The operator's notifications to notification-controller, and those that reach a provider.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flux_operator::api::crd;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::cluster_tests;
use crate::support::flux::Controller;
use crate::support::runner::ClusterTest;
use crate::support::server_process::ServerProcess;
use crate::support::{TestCluster, eventually};
use crate::world::SOON;

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![events_reach_a_provider_and_a_silent_address_delays_nothing]
}

/// A web server that keeps the JSON it is sent; or one that takes connections and says nothing.
async fn listen(answers: bool) -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(vec![]));
    let keep = seen.clone();
    tokio::spawn(async move {
        loop {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            let keep = keep.clone();
            tokio::spawn(async move {
                let mut text = Vec::new();
                while stream.read_buf(&mut text).await.is_ok_and(|read| read > 0) {
                    let Some(end) = text.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
                    let Ok(body) = serde_json::from_slice(&text[end + 4..]) else { continue };
                    keep.lock().unwrap().push(body);
                    if answers {
                        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                        let _gone = stream.write_all(answer).await;
                        return;
                    }
                }
            });
        }
    });
    (address, seen)
}

fn operator(cluster: &TestCluster, name: &str, address: &str) -> ServerProcess {
    let arguments = ["controller", "--metrics-addr=0", "--health-addr=0"].map(str::to_owned);
    let environment = BTreeMap::from(
        [
            ("KUBECONFIG", cluster.kubeconfig().path().to_str().unwrap()),
            ("RUNTIME_NAMESPACE", cluster.namespace()),
            ("NOTIFICATION_CONTROLLER_ADDRESS", address),
            ("HOSTNAME", "operator-0"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    let binary = Path::new(env!("CARGO_BIN_EXE_flux-operator"));
    ServerProcess::start(name, binary, &arguments, &environment, cluster.folder()).unwrap()
}

async fn write(cluster: &TestCluster, network_policy: bool, token: &str) {
    let instance = json!({
        "apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "annotations": {"reconcile.fluxcd.io/requestedAt": token}},
        "spec": {"distribution": {"version": "2.9.x", "registry": "ghcr.io/fluxcd"}, "wait": false,
            "components": ["source-controller", "kustomize-controller", "notification-controller"],
            "cluster": {"networkPolicy": network_policy}},
    });
    cluster.apply(&[instance]).await;
}

async fn events_reach_a_provider_and_a_silent_address_delays_nothing(cluster: TestCluster) {
    cluster.apply(&[crd::flux_instance(), crd::flux_report()]).await;
    let (silent, reported) = listen(false).await;
    let mut first = operator(&cluster, "operator-silent", &silent);
    write(&cluster, true, "one").await;
    wait_for(&cluster, "one").await;
    // The notification of the installation hangs for half a minute, and nothing waits for it.
    let begun = Instant::now();
    for (token, network_policy) in [("two", false), ("three", true)] {
        write(&cluster, network_policy, token).await;
        wait_for(&cluster, token).await;
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(reported.lock().unwrap().len() >= 2, "it was tried");
    assert!(first.stop(Duration::from_secs(10)), "what hangs does not keep it from ending");

    let flux = cluster.flux();
    flux.run(Controller::Notification).await.unwrap();
    let _second = operator(&cluster, "operator-heard", &flux.events_address().unwrap());
    let (address, seen) = listen(true).await;
    // The definition of alerts knows instances since this operator has installed it.
    cluster
        .apply(&[
            json!({"apiVersion": "notification.toolkit.fluxcd.io/v1beta3", "kind": "Provider", "metadata": {"name": "sink"},
                "spec": {"type": "generic", "address": address}}),
            json!({"apiVersion": "notification.toolkit.fluxcd.io/v1beta3", "kind": "Alert", "metadata": {"name": "instance"},
                "spec": {"providerRef": {"name": "sink"}, "eventSeverity": "info",
                    "eventSources": [{"kind": "FluxInstance", "name": "flux"}]}}),
        ])
        .await;
    let mut round = 0;
    let event = eventually("the event at the provider", SOON, || {
        round += 1;
        let (cluster, seen, is_even, token) = (&cluster, &seen, round % 2 == 0, format!("round {round}"));
        async move {
            // The alert may not be active yet when the first notification is sent.
            write(cluster, is_even, &token).await;
            wait_for(cluster, &token).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            seen.lock().unwrap().first().cloned()
        }
    });
    let event: Value = event.await.unwrap();
    assert_eq!(event["involvedObject"]["kind"], "FluxInstance");
    assert_eq!(event["reason"], "ReconciliationSucceeded");
    assert_eq!(event["severity"], "info");
    assert_eq!(
        (&event["reportingController"], &event["reportingInstance"]),
        (&json!("flux-operator"), &json!("operator-0"))
    );
    let message = event["message"].as_str().unwrap();
    assert!(message.starts_with("Flux v2.9.4 updated\n") && message.contains("NetworkPolicy/"), "{message}");
    assert!(event["metadata"].to_string().contains("v2.9.4@sha256:"), "{}", event["metadata"]);
    flux.kill(Controller::Notification);
}

/// Waits until the operator has answered a request.
async fn wait_for(cluster: &TestCluster, token: &str) {
    let kind = GroupVersionKind::gvk("fluxcd.controlplane.io", "v1", "FluxInstance");
    let instances: Api<DynamicObject> =
        Api::namespaced_with(cluster.client(), cluster.namespace(), &ApiResource::from_gvk(&kind));
    let answered = eventually(token, SOON, || async {
        let instance = instances.get("flux").await.ok()?;
        (instance.data.pointer("/status/lastHandledReconcileAt")? == token).then_some(())
    });
    answered.await.unwrap();
}

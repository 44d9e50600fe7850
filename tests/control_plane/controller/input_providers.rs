//! ResourceSetInputProviders, reconciled by the operator and from the command line.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use flux_operator::api::crd;
use serde_json::{Value, json};

use super::operator::*;
use crate::cluster_tests;
use crate::commands::cluster_objects::finish;
use crate::reconcile::world::*;
use crate::support::runner::command;
use crate::support::{ClusterTest, TestCluster, eventually};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        inputs_follow_the_spec_survive_a_service_that_fails_and_their_provider_is_released,
        a_command_exports_inputs_and_builds_with_them_without_an_operator,
        artifacts_are_read_with_the_rights_of_the_service_account,
    ]
}

const API: &str = "fluxcd.controlplane.io/v1";
const KIND: &str = "ResourceSetInputProvider";

/// A service on a port of this machine: an answer to every request, and the requests so far.
struct Service {
    address: String,
    answer: Arc<Mutex<(u16, String)>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Service {
    fn start(inputs: Value) -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let answer = Arc::new(Mutex::new((200, json!({"inputs": inputs}).to_string())));
        let requests = Arc::default();
        let service = Service { address, answer, requests };
        let (answer, requests) = (service.answer.clone(), service.requests.clone());
        // It ends with the process of the tests.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let mut bytes = vec![0; 16 << 10];
                let read = stream.read(&mut bytes).unwrap_or_default();
                requests.lock().unwrap().push(String::from_utf8_lossy(&bytes[..read]).to_lowercase());
                let (status, body) = answer.lock().unwrap().clone();
                let length = body.len();
                let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
                let _gone = stream.write_all((head + &body).as_bytes());
            }
        });
        service
    }

    fn answer(&self, status: u16, body: &str) {
        *self.answer.lock().unwrap() = (status, body.to_owned());
    }
}

fn provider(name: &str, annotations: Value, spec: Value) -> Value {
    json!({"apiVersion": API, "kind": KIND, "spec": spec,
        "metadata": {"name": name, "namespace": "default", "annotations": annotations}})
}

/// Status, reason and message of the condition Ready.
fn ready(object: &Value) -> (String, String, String) {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let ready = conditions.into_iter().find(|one| one["type"] == "Ready");
    let text = |member: &str| ready.and_then(|one| one[member].as_str()).unwrap_or_default().to_owned();
    (text("status"), text("reason"), text("message"))
}

impl World {
    async fn provider(&self, name: &str, what: &str, is_there: impl Fn(&Value) -> bool) -> Value {
        let found = eventually(what, SOON, || async {
            self.get(API, KIND, "default", name).await.filter(|object| is_there(object))
        });
        match found.await {
            Ok(object) => object,
            Err(error) => panic!("{error}: {:#}", self.get(API, KIND, "default", name).await.unwrap_or_default()),
        }
    }
}

async fn inputs_follow_the_spec_survive_a_service_that_fails_and_their_provider_is_released(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    world.define(crd::input_provider()).await;
    world.define(crd::resource_set()).await;
    let service = Service::start(json!([{"id": "a", "tenant": "one"}]));
    let operator = Operator::start(&world, "operator-a", &["--min-retry-delay=100ms"]);
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "auth", "namespace": "default"},
        "stringData": {"token": "t0ken"}});
    world.apply_as("test-author", secret).await;
    let spec = json!({"type": "ExternalService", "url": service.address, "insecure": true, "secretRef": {"name": "auth"},
        "defaultValues": {"size": 1}});
    world.apply_as("test-author", provider("service", json!({}), spec)).await;
    world
        .apply_as("test-author", provider("fixed", json!({}), json!({"type": "Static", "defaultValues": {"x": 1}})))
        .await;
    let exported = world.provider("service", "an export", |object| ready(object).0 == "True").await;
    assert_eq!(exported["status"]["exportedInputs"], json!([{"id": "a", "size": 1, "tenant": "one"}]));
    let revision = exported["status"]["lastExportedRevision"].as_str().unwrap();
    assert!(revision.starts_with("sha256:"), "{revision}");
    assert!(service.requests.lock().unwrap()[0].contains("authorization: bearer t0ken"));
    let fixed = world.provider("fixed", "a static export", |object| ready(object).0 == "True").await;
    assert_eq!(ready(&fixed).2, "Reconciliation finished in 0s");
    assert_eq!(fixed["status"]["exportedInputs"][0]["x"], 1);

    service.answer(500, "t0ken");
    let asked = json!({"reconcile.fluxcd.io/requestedAt": "now"});
    let id = id(API, KIND, "default", "service");
    world.patch_as("test-author", &id, json!({"metadata": {"annotations": asked}})).await;
    let failed = world.provider("service", "a failure", |object| ready(object).0 == "False").await;
    let message =
        format!("failed to call ExternalService provider: external service '{}' returned HTTP 500", service.address);
    assert_eq!(ready(&failed), ("False".to_owned(), "ReconciliationFailed".to_owned(), message));
    for field in ["exportedInputs", "lastExportedRevision"] {
        assert_eq!(failed["status"][field], exported["status"][field], "the last export stays");
    }
    assert_eq!(failed["status"]["lastHandledReconcileAt"], "now");
    service.answer(200, r#"{"inputs":[{"id":"b"}]}"#);
    let again = world.provider("service", "another export", |object| ready(object).0 == "True").await;
    assert_eq!(again["status"]["exportedInputs"], json!([{"id": "b", "size": 1}]));
    assert_ne!(again["status"]["lastExportedRevision"], exported["status"]["lastExportedRevision"]);

    let set = json!({"apiVersion": API, "kind": "ResourceSet", "metadata": {"name": "sets", "namespace": "default"},
        "spec": {"inputsFrom": [{"name": "service"}], "resources": [{"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "of-<< inputs.id >>", "namespace": "default"}}]}});
    world.apply_as("test-author", set).await;
    let map = async || world.get("v1", "ConfigMap", "default", "of-b").await;
    eventually("the object of the input", SOON, || async { map().await }).await.unwrap();
    service.answer(200, r#"{"inputs":[]}"#);
    let asked = json!({"reconcile.fluxcd.io/requestedAt": "empty"});
    world.patch_as("test-author", &id, json!({"metadata": {"annotations": asked}})).await;
    operator.wait_for_log("No inputs returned from providers, reconciling an empty set").await;
    let pruned = eventually("the object to be pruned", SOON, || async { map().await.is_none().then_some(()) });
    pruned.await.unwrap();
    let again = world.provider("service", "an export of nothing", |object| ready(object).0 == "True").await;

    let wrong = json!({"spec": {"schedule": [{"cron": "99 * * * *"}]}});
    world.patch_as("test-author", &id, wrong).await;
    let stalled = world.provider("service", "a schedule that is refused", |object| ready(object).0 == "False").await;
    assert_eq!(ready(&stalled).1, "InvalidSchedule");
    assert_eq!(stalled["status"]["exportedInputs"], again["status"]["exportedInputs"]);
    // Once a year, for five minutes.
    let rare = json!({"spec": {"schedule": [{"cron": "0 0 29 2 *", "window": "5m"}]}});
    world.patch_as("test-author", &id, rare).await;
    let skipped = world
        .provider("service", "a skipped run", |object| object["status"]["nextSchedule"]["cron"] == "0 0 29 2 *")
        .await;
    assert_eq!(skipped["status"]["nextSchedule"]["when"], "2028-02-29T00:00:00Z");
    assert_eq!(skipped["metadata"]["finalizers"], json!(["fluxcd.controlplane.io/finalizer"]));
    world.delete(&skipped).await;
    let gone = eventually("the provider to be gone", SOON, || async {
        world.get(API, KIND, "default", "service").await.is_none().then_some(())
    });
    gone.await.unwrap();
}

async fn a_command_exports_inputs_and_builds_with_them_without_an_operator(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.define(crd::input_provider()).await;
    let service = Service::start(json!([{"id": "a"}, {"id": "b"}]));
    let spec = json!({"type": "ExternalService", "url": service.address, "insecure": true,
        "filter": {"includeTag": "v.*"}});
    world.apply_as("test-author", provider("service", json!({}), spec)).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("set.yaml");
    std::fs::write(
        &file,
        "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: set, namespace: default}\nspec:\n  \
         inputsFrom: [{name: service}]\n  resources:\n  - apiVersion: v1\n    kind: Namespace\n    metadata:\n      \
         name: tenant-<< inputs.id >>\n",
    )
    .unwrap();
    let run = async |arguments: &[&str]| {
        let mut command = command(world.kubeconfig.path(), world.plane.folder());
        command.args(arguments).stdin(std::process::Stdio::null());
        finish(command).await
    };
    let file = file.to_str().unwrap();
    let build = ["build", "resourceset", "-f", file, "--live", "-o", "name"];
    run(&build).await.exits(1).stderr_has("ResourceSetInputProvider/default/service has not exported inputs yet");
    let reconcile = ["-n", "default", "reconcile", "rsip", "service", "--in-process"];
    let done = run(&reconcile).await.exits(0);
    assert!(done.stdout.contains("Reconciliation finished in") && done.stdout.contains("2 inputs"), "{}", done.stdout);
    done.stderr_has("spec.filter.includeTag has no effect on a provider of type 'ExternalService'");
    assert_eq!(run(&build).await.exits(0).stdout, "namespace/tenant-a\nnamespace/tenant-b\n");
    service.answer(200, "{}");
    let failed = run(&reconcile).await.exits(1);
    failed.stderr_has("does not contain an 'inputs' field").stderr_has("the 2 inputs of the last export are kept");
    assert_eq!(run(&build).await.exits(0).stdout, "namespace/tenant-a\nnamespace/tenant-b\n");

    // A dump of the cluster has what the cluster has. A selector also finds a provider that has not exported.
    let dump = folder.path().join("dump.json");
    let dumped = world.get(API, KIND, "default", "service").await.unwrap();
    std::fs::write(&dump, json!({"apiVersion": "v1", "kind": "List", "items": [dumped]}).to_string()).unwrap();
    let from_dump = ["build", "resourceset", "-f", file, "--from", dump.to_str().unwrap()];
    let built = run(&[&from_dump[..], &["-o", "name"]].concat()).await.exits(0);
    assert_eq!(built.stdout, "namespace/tenant-a\nnamespace/tenant-b\n");
    let explained = run(&[&from_dump[..], &["--explain"]].concat()).await.exits(0).stdout;
    assert!(explained.contains("1 of ResourceSetInputProvider/default/service, id b"), "{explained}");
    world.apply_as("test-author", provider("fresh", json!({}), json!({"type": "Static"}))).await;
    let text = std::fs::read_to_string(file).unwrap();
    std::fs::write(file, text.replace("{name: service}", "{selector: {}}")).unwrap();
    run(&build).await.exits(1).stderr_has("ResourceSetInputProvider/default/fresh has not exported inputs yet");
    run(&["-n", "default", "reconcile", "rsip", "fresh", "--in-process"]).await.exits(0);
    let names = run(&build).await.exits(0).stdout;
    assert_eq!(names.lines().count(), 3, "{names}");
    std::fs::write(file, text.replace("{name: service}", "{name: other}")).unwrap();
    run(&build).await.exits(1).stderr_has("ResourceSetInputProvider/default/other does not exist");
}

/// A definition of ExternalArtifacts as far as providers read them.
fn artifact_definition() -> Value {
    let version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "externalartifacts.source.toolkit.fluxcd.io"},
        "spec": {"group": "source.toolkit.fluxcd.io", "scope": "Namespaced", "versions": [version],
            "names": {"kind": "ExternalArtifact", "listKind": "ExternalArtifactList", "plural": "externalartifacts",
                "singular": "externalartifact"}}})
}

async fn artifacts_are_read_with_the_rights_of_the_service_account(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    world.define(crd::input_provider()).await;
    world.define(artifact_definition()).await;
    let artifact = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "ExternalArtifact",
        "metadata": {"name": "app", "namespace": "default"}, "status": {"artifact": {"revision": "v1@sha256:0"}}});
    world.apply_as("test-author", artifact).await;
    let role = |kind: &str, more: Value| {
        let mut object = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
            "metadata": {"name": "artifacts", "namespace": "default"}});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    let rule = json!({"apiGroups": ["source.toolkit.fluxcd.io"], "resources": ["externalartifacts"], "verbs": ["get", "list"]});
    world.apply_as("test-author", role("Role", json!({"rules": [rule]}))).await;
    let binding = json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "artifacts"},
        "subjects": [{"kind": "ServiceAccount", "name": "tenant", "namespace": "default"}]});
    world.apply_as("test-author", role("RoleBinding", binding)).await;
    let _operator = Operator::start(&world, "operator-a", &["--default-service-account=usual"]);
    let spec = |account: Option<&str>, selector: Value| {
        let mut spec = json!({"type": "ExternalArtifact", "selectors": [selector]});
        if let Some(account) = account {
            spec["serviceAccountName"] = json!(account);
        }
        spec
    };
    for (name, spec) in [
        ("allowed", spec(Some("tenant"), json!({}))),
        ("everywhere", spec(Some("tenant"), json!({"namespace": "*"}))),
        ("named", spec(Some("other"), json!({"name": "app"}))),
        ("usual", spec(None, json!({}))),
    ] {
        world.apply_as("test-author", provider(name, json!({}), spec)).await;
    }
    let allowed = world.provider("allowed", "an export", |object| ready(object).0 == "True").await;
    assert_eq!(allowed["status"]["exportedInputs"][0]["revision"], "v1@sha256:0", "{allowed:#}");
    for (name, denied) in [
        ("everywhere", "'tenant' lacks permissions to list ExternalArtifacts across all namespaces: "),
        ("named", "'other' lacks permissions to get ExternalArtifact 'default/app': "),
        ("usual", "'usual' lacks permissions to list ExternalArtifacts in namespace 'default': "),
    ] {
        let failed = world.provider(name, "a denial", |object| ready(object).0 == "False").await;
        let start = "failed to call ExternalArtifact provider: impersonated service account ";
        assert!(ready(&failed).2.starts_with(&format!("{start}{denied}")), "{}", ready(&failed).2);
        assert!(failed["status"]["exportedInputs"].is_null(), "{failed:#}");
    }
}

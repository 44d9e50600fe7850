//! An incident: Flux objects of which some fail for three causes.

use serde_json::{Value, json};

const TIME: &str = "2026-01-01T00:00:00Z";
/// Number of failing objects, whatever the total.
pub const FAILING: usize = 143;
/// Number of objects that fail because of a source, a dependency and a workload.
const BY_CAUSE: [usize; 3] = [100, 30, 13];

/// Number of namespaces with objects.
const NAMESPACES: usize = 20;

/// The namespace of an object by its number.
pub fn namespace(number: usize) -> String {
    format!("scale-{:02}", number % NAMESPACES)
}

fn condition(kind: &str, is_true: bool, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": if is_true { "True" } else { "False" }, "reason": reason, "message": message,
        "lastTransitionTime": TIME, "observedGeneration": 1})
}

/// The revision of a source by its number; all Kustomizations use the first source.
fn revision(number: usize) -> String {
    format!("main@sha1:{number:040x}")
}

fn source(number: usize, name: &str, fails: bool) -> Value {
    let revision = revision(number);
    let conditions = match fails {
        false => json!([condition("Ready", true, "Succeeded", &format!("stored artifact for revision '{revision}'"))]),
        true => {
            let message = "failed to checkout and determine revision: unable to clone 'https://git.example.com/broken': \
                           authentication required: Unauthorized";
            json!([
                condition("Ready", false, "GitOperationFailed", message),
                condition("FetchFailed", true, "GitOperationFailed", message)
            ])
        }
    };
    json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": name, "namespace": namespace(number), "generation": 1},
        "spec": {"interval": "10m", "url": format!("https://git.example.com/{name}"), "ref": {"branch": "main"}},
        "status": {"observedGeneration": 1, "conditions": conditions,
            "artifact": {"digest": format!("sha256:{number:064x}"), "lastUpdateTime": TIME, "revision": revision, "size": 4096,
                "path": format!("gitrepository/x/{name}/{number:040x}.tar.gz"),
                "url": format!("http://source-controller.flux-system.svc.cluster.local./gitrepository/x/{name}/{number:040x}.tar.gz")}}})
}

fn kustomization(number: usize, name: &str, source: (&str, &str), depends_on: Value, ready: Value) -> Value {
    json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": name, "namespace": namespace(number), "generation": 1},
        "spec": {"interval": "10m", "path": "./app", "prune": true, "dependsOn": depends_on,
            "sourceRef": {"kind": "GitRepository", "name": source.1, "namespace": source.0}},
        "status": {"observedGeneration": 1, "conditions": [ready], "lastAppliedRevision": revision(0),
            "inventory": {"entries": [{"id": format!("{}_web_apps_Deployment", namespace(number)), "v": "v1"}]}}})
}

/// Creates Flux objects, of which [`FAILING`] fail for three causes.
pub fn flux_objects(count: usize) -> Vec<Value> {
    let [by_source, by_dependency, by_workload] = BY_CAUSE;
    let mut objects = vec![source(0, "broken", true)];
    let unfetched = condition("Ready", false, "ArtifactFailed", "Source artifact not found, retrying in 30s");
    let broken = (namespace(0), "broken");
    for number in 1..by_source {
        let name = format!("unfetched-{number:03}");
        objects.push(kustomization(number, &name, (&broken.0, broken.1), json!([]), unfetched.clone()));
    }
    objects.push(source(0, "sound", false));
    let sound = (namespace(0), "sound");
    let refused = "Deployment/scale-00/web dry-run failed (Forbidden): deployments.apps \"web\" is forbidden: User \
                   \"system:serviceaccount:scale-00:deployer\" cannot patch resource \"deployments\" in API group \"apps\" in the \
                   namespace \"scale-00\"";
    let refused = condition("Ready", false, "ReconciliationFailed", refused);
    objects.push(kustomization(0, "base", (&sound.0, sound.1), json!([]), refused));
    for number in 1..by_dependency {
        let waits = condition("Ready", false, "DependencyNotReady", "dependency 'scale-00/base' is not ready");
        let depends_on = json!([{"name": "base", "namespace": "scale-00"}]);
        let name = format!("waiting-{number:03}");
        objects.push(kustomization(number, &name, (&sound.0, sound.1), depends_on, waits));
    }
    for number in 0..by_workload {
        let text =
            "health check failed after 30.04s: timeout waiting for: [Deployment/scale-00/web status: 'InProgress']";
        let unhealthy = condition("Ready", false, "HealthCheckFailed", text);
        let name = format!("unhealthy-{number:03}");
        objects.push(kustomization(number, &name, (&sound.0, sound.1), json!([]), unhealthy));
    }
    let applied = condition("Ready", true, "ReconciliationSucceeded", "Applied revision: main@sha1:0");
    for number in objects.len()..count {
        let name = format!("well-{number:05}");
        objects.push(match number % 3 {
            0 => source(number, &name, false),
            _ => kustomization(number, &name, (&sound.0, sound.1), json!([]), applied.clone()),
        });
    }
    objects
}

/// The workload that the Kustomizations of each namespace applied.
pub fn workloads() -> Vec<Value> {
    let labels = json!({"app": "web"});
    let pod = json!({"containers": [{"name": "web", "image": "registry.example.com/web:1"}]});
    let workload = |number: usize| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": namespace(number)},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}})
    };
    (0..NAMESPACES).map(workload).collect()
}

/// Creates a controller log of about this size; one line in a hundred is an error.
pub fn log(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 512);
    let mut number = 0;
    while text.len() < bytes {
        let (level, message) =
            if number % 100 == 0 { ("error", "Reconciler error") } else { ("info", "server-side apply completed") };
        let (minute, second) = (number / 60 % 60, number % 60);
        text.push_str(&format!(
            "{{\"level\":\"{level}\",\"ts\":\"2026-01-01T00:{minute:02}:{second:02}.000Z\",\"msg\":\"{message}\",\
             \"controller\":\"kustomization\",\"controllerGroup\":\"kustomize.toolkit.fluxcd.io\",\
             \"controllerKind\":\"Kustomization\",\"Kustomization\":{{\"name\":\"app-{number}\",\"namespace\":\"scale-00\"}},\
             \"namespace\":\"scale-00\",\"name\":\"app-{number}\",\"reconcileID\":\"{number:036}\",\
             \"revision\":\"main@sha1:{number:040x}\"}}\n"
        ));
        number += 1;
    }
    text
}

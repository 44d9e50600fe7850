//! Situations of an installation, and the output that every command must have for each: from a dump (`tests/offline/cli/health.rs`)
//! and from a real API server (`tests/control_plane/inspect/situations.rs`).

use serde_json::{Value, json};

use crate::causes::{
    controller, deployment, event, git, hr, input_provider, ks, pod, reporting, resource_set, source, waiting, with,
};

/// A situation of a whole cluster.
pub struct Situation {
    pub name: &'static str,
    pub objects: Vec<Value>,
    /// The word of JSON output.
    pub verdict: &'static str,
    /// Flux objects that fail.
    pub failing: u64,
    /// Root causes.
    pub causes: usize,
    /// A part of the command that `status` has to recommend; empty if it has to recommend none.
    pub next: &'static str,
}

pub const CONTROLLERS: [&str; 4] =
    ["source-controller", "kustomize-controller", "helm-controller", "notification-controller"];

/// Kinds whose own lists are compared, with their short names.
pub const LISTED_ALONE: [(&str, &str); 5] = [
    ("Kustomization", "ks"),
    ("HelmRelease", "hr"),
    ("ResourceSet", "rset"),
    ("GitRepository", "gitrepo"),
    ("FluxInstance", "instance"),
];

/// Group, plural and kind of the definitions of this installation.
const DEFINITIONS: [(&str, &str, &str); 6] = [
    ("fluxcd.controlplane.io", "fluxinstances", "FluxInstance"),
    ("source.toolkit.fluxcd.io", "gitrepositories", "GitRepository"),
    ("source.toolkit.fluxcd.io", "helmrepositories", "HelmRepository"),
    ("kustomize.toolkit.fluxcd.io", "kustomizations", "Kustomization"),
    ("helm.toolkit.fluxcd.io", "helmreleases", "HelmRelease"),
    ("notification.toolkit.fluxcd.io", "providers", "Provider"),
];

fn definition((group, plural, kind): (&str, &str, &str)) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}"), "uid": plural},
        "spec": {"group": group, "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1", "served": true, "storage": true}]},
        "status": {"storedVersions": ["v1"], "conditions": [{"type": "Established", "status": "True"}]}})
}

fn instance() -> Value {
    let of_definitions = DEFINITIONS.iter().skip(1).map(|(group, plural, _)| {
        json!({"id": format!("_{plural}.{group}_apiextensions.k8s.io_CustomResourceDefinition"), "v": "v1"})
    });
    let of_controllers =
        CONTROLLERS.iter().map(|name| json!({"id": format!("flux-system_{name}_apps_Deployment"), "v": "v1"}));
    let entries: Vec<Value> = of_definitions.chain(of_controllers).collect();
    let components: Vec<Value> = CONTROLLERS
        .iter()
        .map(|name| json!({"name": name, "repository": format!("ghcr.io/fluxcd/{name}"), "tag": "v1.0.0"}))
        .collect();
    json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": "flux-system", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"distribution": {"version": "2.9.x", "registry": "ghcr.io/fluxcd"}},
        "status": {"observedGeneration": 1, "lastAppliedRevision": "v2.9.4@sha256:1", "components": components,
            "inventory": {"entries": entries},
            "conditions": [{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "observedGeneration": 1,
                "message": "Reconciliation finished in 1s", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
}

fn operator(replicas: i64) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "flux-operator", "namespace": "flux-system", "labels": {"app.kubernetes.io/name": "flux-operator"}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "flux-operator"}},
            "template": {"spec": {"containers": [{"name": "manager", "args": ["controller"]}]}}},
        "status": {"replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
            "conditions": [{"type": "Available", "status": if replicas > 0 { "True" } else { "False" }}]}})
}

fn lease(renewed: &str) -> Value {
    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "flux-operator", "namespace": "flux-system"},
        "spec": {"holderIdentity": "pod_1", "leaseDurationSeconds": 15, "renewTime": renewed}})
}

/// An installation in which everything is ready.
fn well() -> Vec<Value> {
    let mut objects: Vec<Value> = DEFINITIONS.iter().copied().map(definition).collect();
    objects.push(instance());
    objects.extend(CONTROLLERS.iter().map(|name| controller(name, 1, 1, json!([]))));
    let charts = json!({"url": "https://charts.example.com"});
    objects.extend([
        git("", "stored artifact"),
        ks("app", "", "Applied revision: main@sha1:1"),
        source("HelmRepository", "charts", charts, "", "stored artifact"),
        hr("", "Helm install succeeded"),
    ]);
    objects
}

fn is_it(object: &Value, kind: &str, name: &str) -> bool {
    object["kind"] == kind && object["metadata"]["name"] == name
}

/// The installation with one object replaced, or added where it is not there.
fn replaced(objects: Vec<Value>, object: Value) -> Vec<Value> {
    let (kind, name) = (object["kind"].clone(), object["metadata"]["name"].clone());
    let mut objects = without(objects, kind.as_str().unwrap_or_default(), name.as_str().unwrap_or_default());
    objects.push(object);
    objects
}

fn without(mut objects: Vec<Value>, kind: &str, name: &str) -> Vec<Value> {
    objects.retain(|object| !is_it(object, kind, name));
    objects
}

fn but(object: Value) -> Vec<Value> {
    replaced(well(), object)
}

fn and(objects: impl IntoIterator<Item = Value>) -> Vec<Value> {
    objects.into_iter().fold(well(), replaced)
}

fn never(mut object: Value) -> Value {
    object["status"] = json!({});
    object
}

fn condition(status: &str, reason: &str, message: &str) -> Value {
    json!([{"type": "Ready", "status": status, "reason": reason, "message": message, "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z"}])
}

fn instance_with_ready(status: &str, reason: &str, message: &str) -> Value {
    with(instance(), "/status/conditions", condition(status, reason, message))
}

/// The four controllers without pods, refused in the same words.
fn refused(text: &str) -> Vec<Value> {
    let failure = json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": text},
        {"type": "Available", "status": "False"}]);
    let dead =
        CONTROLLERS.iter().map(|name| with(controller(name, 1, 0, json!([])), "/status/conditions", failure.clone()));
    and(dead)
}

/// A ready Kustomization that applied the Deployment `apps/web`.
fn ks_with_web() -> Value {
    with(
        ks("app", "", "Applied revision: main@sha1:1"),
        "/status/inventory",
        json!({"entries": [{"id": "apps_web_apps_Deployment", "v": "v1"}]}),
    )
}

fn with_web(web: impl IntoIterator<Item = Value>) -> Vec<Value> {
    and([ks_with_web(), namespace("apps")].into_iter().chain(web))
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn healthy(name: &str) -> Value {
    deployment(
        name,
        json!({"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
            "conditions": [{"type": "Available", "status": "True"}]}),
    )
}

fn waiting_for(name: &str, on: &str) -> Value {
    let text = format!("dependency 'apps/{on}' is not ready");
    with(ks(name, "DependencyNotReady", &text), "/spec/dependsOn", json!([{"name": on}]))
}

fn row(
    name: &'static str,
    objects: Vec<Value>,
    verdict: &'static str,
    (failing, causes): (u64, usize),
    next: &'static str,
) -> Situation {
    Situation { name, objects, verdict, failing, causes, next }
}

/// Everything of Flux is there but no instance: another tool installed it.
fn bootstrapped(objects: Vec<Value>) -> Vec<Value> {
    let mut objects = without(objects, "FluxInstance", "flux");
    objects.retain(|object| !is_it(object, "CustomResourceDefinition", "fluxinstances.fluxcd.controlplane.io"));
    objects
}

pub fn situations() -> Vec<Situation> {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}});
    let requested = json!({"reconcile.fluxcd.io/requestedAt": "2026-01-01T00:50:00Z"});
    let disabled = json!({"fluxcd.controlplane.io/reconcile": "disabled"});
    let quota = "pods \"x\" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0";
    let policy = "pods \"x\" is forbidden: ValidatingAdmissionPolicy 'no-flux' with binding 'b' denied request: label team is not allowed";
    let webhook = "admission webhook \"w.example.com\" denied the request: no";
    let second = |status: Value| {
        let mut second = with(instance(), "/status", status);
        second["metadata"] =
            json!({"name": "flux", "namespace": "flux2", "generation": 1, "creationTimestamp": "2026-01-01T00:10:00Z"});
        let mut objects = well();
        objects.push(second);
        objects
    };
    let owned = |objects: Vec<Value>| {
        let label = |mut object: Value| {
            if object["kind"] == "Deployment" {
                object["metadata"]["labels"]["fluxcd.controlplane.io/name"] = "flux".into();
            }
            object
        };
        objects.into_iter().map(label).collect::<Vec<_>>()
    };
    let stuck = |mut object: Value| {
        object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        object["metadata"]["finalizers"] = json!(["example.com/held"]);
        object
    };
    let shard = |mut object: Value| {
        object["metadata"]["labels"] = json!({"sharding.fluxcd.io/key": "shard1"});
        object
    };
    let only_shard0 =
        controller("kustomize-controller", 1, 1, json!(["--watch-label-selector=!sharding.fluxcd.io/key"]));
    let unlabelled = {
        let mut object = controller("helm-controller", 1, 1, json!([]));
        object["metadata"]["labels"] = json!({"app.kubernetes.io/part-of": "other"});
        object
    };
    let changed = {
        let mut object = ks("app", "", "Applied revision: main@sha1:1");
        object["metadata"]["generation"] = 2.into();
        object
    };
    let provider = json!({"apiVersion": "notification.toolkit.fluxcd.io/v1beta3", "kind": "Provider",
        "metadata": {"name": "slack", "namespace": "apps"}, "spec": {"type": "slack"}});
    let oci = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmRepository",
        "metadata": {"name": "oci", "namespace": "apps"}, "spec": {"type": "oci", "url": "oci://x.example.com/charts"}});
    let artifact = json!({"revision": "main@sha1:1", "lastUpdateTime": "2026-01-01T00:00:00Z",
        "digest": format!("sha256:{:064}", 1), "path": "gitrepository/apps/app/1.tar.gz",
        "url": "http://source-controller/1.tar.gz"});
    let chartless = |release: Value| with(release, "/status/helmChart", Value::Null);
    let running =
        || vec![operator(1), lease("2026-01-01T00:59:55.000000Z"), event("Pod", "x", "Seen", "a moment of the dump")];
    let mut moment = event("Pod", "x", "Seen", "a moment of the dump");
    moment["lastTimestamp"] = "2026-01-01T01:00:00Z".into();
    let health = "health check failed after 30s: timeout waiting for: [Deployment/apps/web status: 'InProgress']";
    vec![
        row("everything is ready", well(), "ready", (0, 0), ""),
        row("an empty cluster", vec![node.clone()], "notInstalled", (0, 0), "apply"),
        row(
            "only the definitions are left",
            DEFINITIONS.iter().copied().map(definition).collect(),
            "notInstalled",
            (0, 0),
            "apply",
        ),
        row(
            "only the operator is there",
            vec![node, operator(1), definition(DEFINITIONS[0])],
            "notInstalled",
            (0, 0),
            "apply",
        ),
        row("flux without an instance", bootstrapped(well()), "ready", (0, 0), ""),
        row(
            "a dead controller without an instance",
            bootstrapped(but(controller("source-controller", 1, 0, json!([])))),
            "failing",
            (2, 1),
            "why",
        ),
        row(
            "an instance that an operator has not seen yet",
            [vec![never(instance()), definition(DEFINITIONS[0])], running()].concat(),
            "notStarted",
            (0, 0),
            "",
        ),
        row(
            "an instance without an operator",
            vec![never(instance()), definition(DEFINITIONS[0]), healthy("other")],
            "failing",
            (1, 1),
            "why",
        ),
        row(
            "an instance in progress",
            but(instance_with_ready("Unknown", "Progressing", "Reconciliation in progress")),
            "inProgress",
            (0, 0),
            "",
        ),
        row(
            "a version range that nothing fits",
            but(instance_with_ready("False", "BuildFailed", "build failed: no match found for semver: 9.x")),
            "failing",
            (1, 1),
            "why",
        ),
        row(
            "an instance that was changed, without an operator",
            but(with(instance(), "/metadata/generation", 2.into())),
            "failing",
            (1, 1),
            "why",
        ),
        row(
            "an instance that was changed, and an operator at work",
            [but(with(instance(), "/metadata/generation", 2.into())), running()].concat(),
            "inProgress",
            (0, 0),
            "",
        ),
        row(
            "a suspended instance",
            but(with(instance(), "/metadata/annotations", disabled)),
            "suspended",
            (0, 0),
            "resume",
        ),
        row(
            "a suspended Kustomization",
            but(with(ks("app", "", "Applied"), "/spec/suspend", true.into())),
            "ready",
            (0, 0),
            "",
        ),
        row(
            "a suspended Kustomization that had failed",
            but(with(ks("app", "BuildFailed", "no"), "/spec/suspend", true.into())),
            "ready",
            (0, 0),
            "",
        ),
        row(
            "a request that no operator answers",
            but(with(instance(), "/metadata/annotations", requested.clone())),
            "failing",
            (1, 1),
            "why",
        ),
        row(
            "a request that no operator answers and a controller that is gone",
            without(but(with(instance(), "/metadata/annotations", requested)), "Deployment", "notification-controller"),
            "failing",
            (1, 1),
            "why",
        ),
        row(
            "an operator that no longer renews its lease",
            and([operator(1), lease("2026-01-01T00:00:00.000000Z"), moment]),
            "failing",
            (1, 1),
            "why",
        ),
        row("an operator that is scaled to zero", and([operator(0)]), "failing", (1, 1), "why"),
        row("an operator at work", and(running()), "ready", (0, 0), ""),
        row("a controller that is gone", without(well(), "Deployment", "helm-controller"), "failing", (2, 2), "why"),
        row(
            "a controller that is scaled to zero",
            but(controller("helm-controller", 0, 0, json!([]))),
            "failing",
            (2, 1),
            "why",
        ),
        row("a controller without its label", but(unlabelled), "ready", (0, 0), "reconcile"),
        row("a quota that takes down every controller", refused(quota), "failing", (5, 1), "why"),
        row("a policy that refuses every controller", refused(policy), "failing", (5, 1), "why"),
        row("a webhook that refuses every controller", refused(webhook), "failing", (5, 1), "why"),
        row(
            "a definition that is gone with its objects",
            without(
                without(well(), "CustomResourceDefinition", "helmreleases.helm.toolkit.fluxcd.io"),
                "HelmRelease",
                "web",
            ),
            "failing",
            (0, 1),
            "why",
        ),
        row("the definition of the instance is gone", owned(bootstrapped(well())), "failing", (0, 1), "why"),
        row("a second instance", second(json!({})), "failing", (1, 1), "why"),
        row(
            "a second instance that failed",
            second(json!({"conditions": condition("False", "ReconciliationFailed", "already exists")})),
            "failing",
            (1, 1),
            "why",
        ),
        row(
            "a source that fails",
            but(git("GitOperationFailed", "failed to checkout: authentication required")),
            "failing",
            (1, 1),
            "why",
        ),
        row(
            "a source that fails and what works on it",
            and([
                git("GitOperationFailed", "failed to checkout: authentication required"),
                ks("app", "ArtifactFailed", "artifact not found"),
            ]),
            "failing",
            (2, 1),
            "why",
        ),
        row(
            "a Kustomization that cannot be built",
            but(ks("app", "BuildFailed", "kustomize build failed: no such file")),
            "failing",
            (1, 1),
            "why",
        ),
        row(
            "a Kustomization that waits for a failing one",
            and([ks("app", "BuildFailed", "kustomize build failed: x"), waiting_for("b", "app")]),
            "failing",
            (2, 1),
            "why",
        ),
        row(
            "a Kustomization that waits for one in progress",
            and([
                with(ks("app", "", ""), "/status/conditions", condition("Unknown", "Progressing", "building")),
                waiting_for("b", "app"),
            ]),
            "inProgress",
            (0, 0),
            "",
        ),
        row("a Kustomization that was never reconciled", but(never(ks("app", "", ""))), "notStarted", (0, 0), ""),
        row("a Kustomization that was changed", but(changed), "inProgress", (0, 0), ""),
        row(
            "a Kustomization that waits for a source in progress",
            and([
                with(git("", ""), "/status/conditions", condition("Unknown", "Progressing", "cloning")),
                ks("app", "ArtifactFailed", "Source artifact not found, retrying in 30s"),
            ]),
            "inProgress",
            (0, 0),
            "",
        ),
        row(
            "a Kustomization that is behind its source",
            and([
                with(
                    with(
                        ks("app", "", "Applied revision: main@sha1:0"),
                        "/status/lastAppliedRevision",
                        "main@sha1:0".into(),
                    ),
                    "/status/conditions/0/lastTransitionTime",
                    "2026-01-01T01:00:00Z".into(),
                ),
                with(git("", "stored artifact"), "/status/artifact", artifact),
            ]),
            "failing",
            (1, 1),
            "why",
        ),
        row(
            "a release that waits for one in progress",
            and([
                with(
                    chartless(hr("DependencyNotReady", "dependency 'apps/base' is not ready")),
                    "/spec/dependsOn",
                    json!([{"name": "base"}]),
                ),
                with(
                    with(
                        chartless(hr("", "")),
                        "/status/conditions",
                        condition("Unknown", "Progressing", "installing"),
                    ),
                    "/metadata/name",
                    "base".into(),
                ),
            ]),
            "inProgress",
            (0, 0),
            "",
        ),
        row(
            "a ready ResourceSet with a provider that fails",
            and([
                resource_set(json!({"inputsFrom": [{"name": "branches"}]}), "", "Reconciliation finished in 1s"),
                input_provider("ReconciliationFailed", "authentication required", true),
            ]),
            "failing",
            (2, 1),
            "why",
        ),
        row(
            "a stalled Kustomization",
            but(ks("app", "InvalidPath", "path not found: ./nowhere")),
            "failing",
            (1, 1),
            "why",
        ),
        row(
            "a release that fails",
            but(hr("InstallFailed", "Helm install failed: execution error at (web/templates/x.yaml:1:1): no")),
            "failing",
            (1, 1),
            "why",
        ),
        row("a release that was never reconciled", but(never(hr("", ""))), "notStarted", (0, 0), ""),
        row("an object that a finalizer holds", but(stuck(ks("app", "", "Applied"))), "failing", (1, 1), "why"),
        row(
            "an object of a shard without a controller",
            and([only_shard0, shard(ks("app", "", "Applied"))]),
            "failing",
            (1, 1),
            "why",
        ),
        row("objects that no controller reports on", and([provider, oci]), "ready", (0, 0), ""),
        row("a healthy workload", with_web([healthy("web")]), "ready", (0, 0), ""),
        row(
            "a workload without its image",
            with_web([deployment("web", json!({})), pod(json!({}), waiting("ImagePullBackOff", "manifest unknown"))]),
            "failing",
            (0, 1),
            "why",
        ),
        row(
            "a workload that is rolled out",
            with_web([deployment("web", json!({"replicas": 1, "updatedReplicas": 1}))]),
            "inProgress",
            (0, 0),
            "",
        ),
        row("a workload that is gone", with_web([healthy("other")]), "failing", (0, 1), "why"),
        row(
            "a Kustomization that fails with its workload",
            and([
                ks("app", "HealthCheckFailed", health),
                namespace("apps"),
                deployment("web", json!({})),
                pod(json!({}), waiting("ImagePullBackOff", "manifest unknown")),
            ]),
            "failing",
            (1, 1),
            "why",
        ),
        row(
            "an image policy that finds nothing",
            and([
                controller("image-reflector-controller", 1, 1, json!([])),
                reporting(
                    "image.toolkit.fluxcd.io/v1",
                    "ImagePolicy",
                    "web",
                    json!({"imageRepositoryRef": {"name": "web"}}),
                    "Failed",
                    "version list argument cannot be empty",
                ),
            ]),
            "failing",
            (1, 1),
            "why",
        ),
    ]
}

/// The rows of a table of `get all -A` by READY, as the counts of a verdict: ready, failing, in progress or not started, suspended.
pub fn counts_of_rows(table: &str) -> [u64; 4] {
    let mut counts = [0; 4];
    for row in table.lines().skip(1).filter(|row| !row.trim().is_empty()) {
        let ready = row.split_whitespace().nth(3).unwrap_or_default();
        let place = match ready {
            _ if row.contains(" (suspended)") => 3,
            "True" => 0,
            "False" => 1,
            _ => 2,
        };
        counts[place] += 1;
    }
    counts
}

/// The counts of `why` in the order of [`counts_of_rows`].
pub fn counts_of_why(why: &Value) -> [u64; 4] {
    let count = |field: &str| why["counts"][field].as_u64().unwrap_or_default();
    [count("ready"), count("failing"), count("inProgress") + count("notStarted"), count("suspended")]
}

//! `stats` and `export report`: the content of a FluxReport, computed from the objects.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::api::kinds::{self, CRD, FLUX_KINDS, FluxKind, NODE, SECRET};
use crate::api::own_container;
use crate::api::well_known::{self, condition::READY};
use crate::inspect::diagnose::health::{HealthVerdict, KindCounts};
use crate::inspect::diagnose::why::overview;
use crate::inspect::incident::redact::{plain_address, shareable_text};
use crate::inspect::read::flux_object::FluxObject;
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::components;
use crate::inspect::views::trace;
use crate::k8s::fields;
use crate::k8s::kstatus;

/// Counts of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatsRow {
    pub api_version: String,
    pub kind: String,
    /// Number of objects that are not suspended.
    pub running: usize,
    pub ready: usize,
    pub failing: usize,
    pub in_progress: usize,
    pub not_started: usize,
    /// Number of objects in progress or not started; a FluxReport does not contain this number.
    pub waiting: usize,
    pub suspended: usize,
    /// Bytes of the stored artifacts.
    pub storage_bytes: u64,
}

/// Formats bytes in binary units with one decimal (`4.2 MiB`).
pub fn size_text(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    // Stored artifacts are far smaller than 2^53 bytes, where a float is exact.
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let unit_name = units.get(unit).copied().unwrap_or("B");
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {unit_name}") }
}

/// Adds one object to the counts of its kind, by its own report, as a FluxReport does.
pub(crate) fn count(row: &mut StatsRow, kind: &FluxKind, object: &FluxObject) {
    row.storage_bytes += object.status.artifact.as_ref().and_then(|a| a.size).unwrap_or(0);
    if object.is_suspended(kind) {
        row.suspended += 1;
        return;
    }
    row.running += 1;
    let failed = object.condition(READY).filter(|ready| ready.status == "False");
    // An object that waits for a dependency is not broken itself.
    if failed.is_some_and(|ready| ready.reason != "DependencyNotReady") {
        row.failing += 1;
    }
}

/// Returns the verdict of `why` on all objects, and its counts of every kind that has objects, in the order of kinds.
pub fn stats_by_health(snapshot: &Snapshot, namespace: Option<&str>, now: Timestamp) -> (HealthVerdict, Vec<StatsRow>) {
    let found = overview(snapshot, namespace, now);
    let rows = found.kinds.iter().filter_map(|KindCounts { kind, counts }| {
        let kind = kinds::find(kind)?;
        let artifact = |object: &Value| fields::number(object, "/status/artifact/size");
        let sizes = snapshot.loaded(&kind.resource_type(), namespace).filter_map(artifact);
        Some(StatsRow {
            running: counts.total - counts.suspended,
            ready: counts.ready,
            failing: counts.failing,
            in_progress: counts.in_progress,
            not_started: counts.not_started,
            waiting: counts.in_progress + counts.not_started,
            suspended: counts.suspended,
            storage_bytes: sizes.filter_map(|size| u64::try_from(size).ok()).sum(),
            ..empty_stats(kind)
        })
    });
    (found.verdict, rows.collect())
}

/// An empty row of a kind.
pub(crate) fn empty_stats(kind: &FluxKind) -> StatsRow {
    StatsRow {
        api_version: kind.resource_type().api_version(),
        kind: kind.kind.into(),
        running: 0,
        ready: 0,
        failing: 0,
        in_progress: 0,
        not_started: 0,
        waiting: 0,
        suspended: 0,
        storage_bytes: 0,
    }
}

/// Returns the counts of every installed kind, in the order of kinds; kinds without objects only with `all`.
pub fn stats(snapshot: &Snapshot, namespace: Option<&str>, all: bool) -> Vec<StatsRow> {
    FLUX_KINDS
        .iter()
        // The report does not count itself.
        .filter(|kind| kind.kind != "FluxReport")
        .filter_map(|kind| {
            let resource = kind.resource_type();
            let mut row = empty_stats(kind);
            let objects = snapshot.list(&resource, namespace);
            if objects.is_empty() && (!all || snapshot.is_not_installed(&resource) || !snapshot.knows(&resource)) {
                return None;
            }
            for object in objects {
                count(&mut row, kind, &FluxObject::of(object));
            }
            Some(row)
        })
        .collect()
}

/// Returns this platform in Go's form: `linux/amd64`.
pub fn platform() -> String {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}/{architecture}", std::env::consts::OS)
}

/// Name of the CRD that shows whether Flux is installed.
const FLUX_MARKER: &str = "gitrepositories.source.toolkit.fluxcd.io";

/// Returns a FluxReport as the operator would write it.
///
/// `rows` are the counts of all kinds, `operator_version` the version of the operator in the cluster, or else of this
/// program.
pub fn report(
    snapshot: &Snapshot,
    mut rows: Vec<StatsRow>,
    namespace: &str,
    operator_version: &str,
    platform: &str,
) -> Value {
    let mut spec = Map::new();
    let version = snapshot.server_version();
    let mut cluster = Map::new();
    for (field, pointer) in [("serverVersion", "/gitVersion"), ("platform", "/platform")] {
        if let Some(text) = version.and_then(|v| fields::some_text(v, pointer)) {
            cluster.insert(field.into(), text.into());
        }
    }
    let nodes = snapshot.list(&NODE, None);
    if snapshot.knows(&NODE) {
        cluster.insert("nodes".into(), nodes.len().into());
    }
    spec.insert("cluster".into(), cluster.into());

    let deployments = components::deployments(snapshot, Some(namespace));
    let component = |deployment: &&Value| {
        let health = kstatus::compute(deployment);
        json!({
            "image": fields::text(own_container(deployment), "/image"),
            "name": fields::name(deployment),
            "ready": health.is_current(),
            "status": format!("{} {}", health.status, health.message),
        })
    };
    spec.insert("components".into(), deployments.iter().map(component).collect());
    spec.insert("distribution".into(), distribution(snapshot, namespace));
    spec.insert(
        "operator".into(),
        json!({"apiVersion": well_known::API_VERSION, "platform": platform, "version": operator_version}),
    );
    rows.sort_by(|a, b| (&a.api_version, &a.kind).cmp(&(&b.api_version, &b.kind)));
    let reconcilers: Vec<Value> = rows
        .into_iter()
        .map(|row| {
            let mut stats = json!({"failing": row.failing, "running": row.running, "suspended": row.suspended});
            if row.storage_bytes > 0 {
                stats["totalSize"] = size_text(row.storage_bytes).into();
            }
            json!({"apiVersion": row.api_version, "kind": row.kind, "stats": stats})
        })
        .collect();
    spec.insert("reconcilers".into(), reconcilers.into());
    if let Some(sync) = sync(snapshot, namespace) {
        spec.insert("sync".into(), sync);
    }
    json!({
        "apiVersion": well_known::API_VERSION, "kind": "FluxReport",
        "metadata": {"name": well_known::INSTANCE_NAME, "namespace": namespace}, "spec": spec,
    })
}

fn distribution(snapshot: &Snapshot, namespace: &str) -> Value {
    let entitlement = snapshot
        .get(&SECRET, Some(namespace), well_known::ENTITLEMENT_SECRET)
        .filter(|secret| fields::at(secret, "/data/token").is_some())
        .map_or("Unknown".to_owned(), |secret| format!("Issued by {}", issuer(secret)));
    let mut distribution = Map::new();
    distribution.insert("entitlement".into(), entitlement.into());
    match snapshot.get(&CRD, None, FLUX_MARKER) {
        Some(marker) => {
            let managed_by = fields::label(marker, well_known::MANAGED_BY_LABEL).or_else(|| {
                // kustomize-controller sets this label when it applies the manifests that `flux bootstrap` has
                // committed.
                fields::label(marker, &format!("{}/name", kinds::KUSTOMIZE_GROUP)).map(|_| "flux bootstrap")
            });
            if let Some(managed_by) = managed_by {
                distribution.insert("managedBy".into(), managed_by.into());
            }
            distribution.insert("status".into(), "Installed".into());
            if let Some(version) = fields::label(marker, well_known::VERSION_LABEL) {
                distribution.insert("version".into(), version.into());
            }
        }
        None => {
            let known = snapshot.knows(&CRD);
            distribution.insert("status".into(), if known { "Not Installed" } else { "Unknown" }.into());
        }
    }
    distribution.into()
}

/// Returns the issuer of the entitlement; empty if there is none.
fn issuer(entitlement: &Value) -> String {
    let vendor = fields::text(entitlement, &format!("/data/{}", well_known::ENTITLEMENT_VENDOR));
    let vendor = STANDARD.decode(vendor.trim()).unwrap_or_default();
    String::from_utf8_lossy(&vendor).trim().to_owned()
}

/// Returns the sync of the instance: its Kustomization and source.
fn sync(snapshot: &Snapshot, namespace: &str) -> Option<Value> {
    let instance = kinds::of(well_known::GROUP, "FluxInstance")?.resource_type();
    let instance = snapshot.get(&instance, Some(namespace), well_known::INSTANCE_NAME);
    let name = instance.and_then(|i| fields::some_text(i, "/spec/sync/name")).unwrap_or(namespace);
    let resource = kinds::of(kinds::KUSTOMIZE_GROUP, "Kustomization")?.resource_type();
    let kustomization = snapshot.get(&resource, Some(namespace), name)?;
    let sources = trace::sources(snapshot, kustomization).unwrap_or_default();
    let source = sources.first();
    let condition = fields::condition(kustomization, READY);
    let source_failing = source.is_some_and(|s| s.ready.as_deref() == Some("False"))
        || source
            .and_then(|s| snapshot.get_ref(&s.object))
            .and_then(|s| fields::condition(s, READY))
            .is_some_and(fields::Condition::is_false);
    let mut status = condition.map_or("not initialized", |c| c.message()).to_owned();
    if kinds::is_suspended(kustomization) {
        status = format!("Suspended {status}");
    }
    if let Some(source) = source.filter(|_| source_failing) {
        status = format!("{status}\n{}", source.message);
    }
    let mut sync = json!({
        "id": format!("kustomization/{name}"),
        "path": fields::text(kustomization, "/spec/path"),
        "ready": condition.is_some_and(|c| !c.is_false()) && !source_failing,
    });
    if let Some(url) = source.and_then(|s| s.url.as_deref()) {
        sync["source"] = plain_address(url).into();
    }
    // A FluxReport has more readers than the sources described in its texts.
    sync["status"] = shareable_text(&status).into();
    Some(sync)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(name: &str, extra: Value) -> Value {
        let mut object = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": name, "namespace": "fs"}});
        for (key, value) in extra.as_object().unwrap() {
            object[key] = value.clone();
        }
        object
    }

    fn conditions(status: &str, reason: &str) -> Value {
        json!({"conditions": [{"type": "Ready", "status": status, "reason": reason, "message": "auth failed"}], "artifact": {"revision": "r", "size": 2_202_010}})
    }

    #[test]
    fn waiting_and_suspended_objects_are_not_failing() {
        let snapshot = Snapshot::of_dump([
            git("ok", json!({"status": conditions("True", "Succeeded")})),
            git("bad", json!({"status": conditions("False", "GitOperationFailed")})),
            git("waits", json!({"status": conditions("False", "DependencyNotReady")})),
            git("new", json!({})),
            git("off", json!({"spec": {"suspend": true}, "status": conditions("False", "X")})),
        ]);
        let rows = stats(&snapshot, None, false);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].running, rows[0].failing, rows[0].suspended), (4, 1, 1));
        let (verdict, by_health) = stats_by_health(&snapshot, None, Timestamp::UNIX_EPOCH);
        assert_eq!((verdict, by_health.len()), (HealthVerdict::Failing, 1));
        let StatsRow { running, ready, failing, in_progress, not_started, waiting, suspended, .. } = by_health[0];
        assert_eq!([running, ready, failing, in_progress, not_started, waiting, suspended], [4, 1, 1, 1, 1, 2, 1]);
        assert_eq!(by_health[0].storage_bytes, rows[0].storage_bytes);
        assert_eq!(size_text(rows[0].storage_bytes), "8.4 MiB");
    }

    #[test]
    fn a_report_names_the_issuer_of_the_entitlement_and_the_image_of_the_controller_itself() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "flux-operator-entitlement", "namespace": "fs"},
            "data": {"token": "c2VjcmV0", "vendor": "Y29udHJvbHBsYW5l"}});
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "source-controller",
                "namespace": "fs", "labels": {"app.kubernetes.io/part-of": "flux"}},
            "spec": {"template": {"spec": {"containers": [{"name": "proxy", "image": "proxy:1"}, {"name": "manager", "image": "s:v1"}]}}}});
        let entitlement = |secret: Value| {
            let snapshot = Snapshot::of_dump([secret, deployment.clone()]);
            let report = report(&snapshot, vec![], "fs", "v1.0.0", "linux/amd64");
            assert_eq!(report["spec"]["components"][0]["image"], "s:v1");
            assert!(!report.to_string().contains("c2VjcmV0"), "{report}");
            report["spec"]["distribution"]["entitlement"].as_str().unwrap().to_owned()
        };
        assert_eq!(entitlement(secret.clone()), "Issued by controlplane");
        let mut without_token = secret;
        without_token["data"].as_object_mut().unwrap().remove("token");
        assert_eq!(entitlement(without_token), "Unknown");
    }

    #[test]
    fn a_report_shows_the_installation_and_the_state_of_the_sync() {
        let snapshot = Snapshot::of_dump([
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": FLUX_MARKER,
                "labels": {"app.kubernetes.io/version": "v2.9.4", "app.kubernetes.io/managed-by": "flux-operator"}}}),
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "fs", "namespace": "fs"},
                "spec": {"path": "clusters/a", "sourceRef": {"kind": "GitRepository", "name": "fs"}},
                "status": {"conditions": [{"type": "Ready", "status": "True", "message": "Applied revision: main@sha1:abc"}]}}),
            git(
                "fs",
                json!({"spec": {"url": "https://git:canary@example.com/fleet.git?token=canary"}, "status": conditions("False", "X")}),
            ),
        ]);
        let report = report(&snapshot, stats(&snapshot, None, true), "fs", "1.0.0", "linux/amd64");
        assert_eq!(report["spec"]["distribution"]["version"], "v2.9.4");
        assert_eq!(report["spec"]["distribution"]["managedBy"], "flux-operator");
        assert_eq!(report["spec"]["sync"]["ready"], false);
        assert_eq!(report["spec"]["sync"]["status"], "Applied revision: main@sha1:abc\nauth failed");
        assert_eq!(report["spec"]["sync"]["source"], "https://example.com/fleet.git");
    }
}

//! Follows every Flux object in the cluster for the report and the metrics, with one list and one watch per kind.
//!
//! While no object changes, it sends no requests. An object takes a few hundred bytes of memory, and lists are
//! streamed, so ten thousand objects are not a problem.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Channels, SharedState};
use crate::api::kinds::{CRD, FLUX_KINDS, FluxKind};
use crate::api::well_known::condition;
use crate::cluster::watch::{FollowedChange, Follower};
use crate::cluster::{Cluster, ClusterError, ListOptions};
use crate::format::backoff::Backoff;
use crate::inspect::diagnose::resources::ResourceRow;
use crate::inspect::incident::redact::plain_address;
use crate::inspect::incident::report;
use crate::inspect::incident::report::StatsRow;
use crate::inspect::read::flux_object::FluxObject;
use crate::inspect::read::pages::{self, ListEnd, ListOutcome, Scope};
use crate::inspect::views::components::PART_OF_FLUX;
use crate::k8s::fields;

/// Interval for checking a kind that is not installed. Changed definitions trigger a check earlier, but definitions
/// that other tools installed lack Flux's label and are not watched.
const LOOK_FOR_KIND: Duration = Duration::from_secs(3600);
/// A watch that lasted this long does not count as failed.
const LONG_LIFE: Duration = Duration::from_secs(60);
/// Number of definitions kept for kinds that are currently being listed.
const DEFINITIONS: usize = 256;
/// Attempts to list a kind after its definition has changed.
const TRIES: u32 = 5;
/// Pauses after failed lists and watches: the first and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(60)];

/// The known state of all Flux objects.
#[derive(Debug, Default)]
pub(super) struct Fleet {
    kinds: Mutex<BTreeMap<&'static str, Objects>>,
    has_changed: AtomicBool,
}

/// The objects of one kind.
#[derive(Debug, Default)]
struct Objects {
    /// The version in which the kind is read; empty until its first list is complete.
    api_version: String,
    /// By `namespace/name`.
    kept: HashMap<Box<str>, ObjectSummary>,
    /// Number of the last list: objects that it did not contain are deleted.
    list: u32,
}

#[derive(Debug)]
struct ObjectSummary {
    list: u32,
    is_suspended: bool,
    is_failing: bool,
    is_waiting: bool,
    storage_bytes: u64,
    /// In the order of [`labels`].
    labels: Box<[Box<str>]>,
}

/// The labels of the metric of every kind.
const LABELS: [&str; 7] = ["uid", "kind", "name", "exported_namespace", "ready", "reason", "suspended"];
/// Additional labels of some metrics.
const MORE_LABELS: [&str; 5] = ["revision", "url", "ref", "source_name", "path"];

/// A metric of objects, with its help and its additional labels.
type Metric = (&'static str, &'static str, &'static [&'static str]);

const METRICS: [Metric; 3] = [
    ("flux_resource_info", "The current status of a Flux resource reconciliation", &MORE_LABELS),
    ("flux_resourceset_info", "The current status of a Flux Operator ResourceSet", &["resources", "revision"]),
    ("flux_resourcesetinputprovider_info", "The current status of a Flux Operator ResourceSetInputProvider", &["url"]),
];

/// Returns the metric of a kind. The instance has its own, which does not depend on a list.
fn metric_of(kind: &str) -> Option<&'static Metric> {
    let [resource, resource_set, input_provider] = &METRICS;
    match kind {
        "FluxInstance" | "FluxReport" => None,
        "ResourceSet" => Some(resource_set),
        "ResourceSetInputProvider" => Some(input_provider),
        _ => Some(resource),
    }
}

impl ObjectSummary {
    fn of(kind: &'static FluxKind, object: &FluxObject, list: u32) -> Self {
        let mut row = report::empty_stats(kind);
        report::count(&mut row, kind, object);
        ObjectSummary {
            list,
            is_suspended: row.suspended > 0,
            is_failing: row.failing > 0,
            is_waiting: row.waiting > 0,
            storage_bytes: row.storage_bytes,
            labels: labels(kind, object),
        }
    }
}

/// Returns the label values of an object; empty if its kind has no metric.
fn labels(kind: &'static FluxKind, object: &FluxObject) -> Box<[Box<str>]> {
    let Some((_, _, more)) = metric_of(kind.kind) else { return Box::default() };
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let row = ResourceRow::new(kind, object.clone());
    // A suspended resource keeps its previous readiness.
    let ready = object.condition(condition::READY).map_or_else(
        || if object.becomes_ready(kind) { "Unknown".to_owned() } else { "True".to_owned() },
        |ready| ready.status.clone(),
    );
    let suspended = if object.is_suspended(kind) { "True" } else { "False" };
    let common = [
        object.metadata.uid.clone(),
        kind.kind.to_owned(),
        row.name,
        row.namespace,
        ready,
        row.reason,
        suspended.into(),
    ];
    let spec = &object.spec;
    // The values are the same as in the reference, whose dashboards filter by them. A Receiver's URL is omitted,
    // because its path is a secret, and metrics have more readers than the object.
    let (url, reference, source) = match kind.kind {
        "Bucket" => (spec.endpoint.as_deref(), spec.bucket_name.as_deref(), object.source_name()),
        "ImageRepository" => (spec.image.as_deref(), None, None),
        "ImagePolicy" => (None, None, spec.image_repository_ref.as_ref().map(|one| one.name.as_str())),
        _ => (spec.url.as_deref(), object.checkout(), object.source_name()),
    };
    let more = more.iter().map(|label| match *label {
        "revision" => text(object.revision().as_deref()),
        // Everyone with access to the port can read the metrics, so passwords are removed from addresses.
        "url" => url.map(plain_address).unwrap_or_default(),
        "ref" => text(reference),
        "source_name" => text(source),
        "path" => text(object.spec.path.as_deref()),
        "resources" => object.status.inventory.as_ref().map_or(0, |inventory| inventory.entries.len()).to_string(),
        _ => String::new(),
    });
    common.into_iter().chain(more).map(String::into_boxed_str).collect()
}

fn key(object: &FluxObject) -> Box<str> {
    format!("{}/{}", object.metadata.namespace, object.metadata.name).into()
}

impl Fleet {
    fn kinds(&self) -> MutexGuard<'_, BTreeMap<&'static str, Objects>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.has_changed.store(true, Ordering::Relaxed);
    }

    /// Whether anything changed since the last call.
    pub(super) fn take_change(&self) -> bool {
        self.has_changed.swap(false, Ordering::Relaxed)
    }

    /// Clears everything, because only the leader has data.
    pub(super) fn clear(&self) {
        self.kinds().clear();
        self.changed();
    }

    fn begin_list(&self, kind: &'static FluxKind) {
        let mut kinds = self.kinds();
        let objects = kinds.entry(kind.kind).or_default();
        objects.list = objects.list.wrapping_add(1);
    }

    pub(super) fn set(&self, kind: &'static FluxKind, object: &FluxObject) {
        let mut kinds = self.kinds();
        let objects = kinds.entry(kind.kind).or_default();
        objects.kept.insert(key(object), ObjectSummary::of(kind, object, objects.list));
        self.changed();
    }

    fn remove(&self, kind: &'static FluxKind, object: &FluxObject) {
        if let Some(objects) = self.kinds().get_mut(kind.kind) {
            objects.kept.remove(&key(object));
        }
        self.changed();
    }

    /// Ends a list. Returns whether the kind was unknown before.
    fn end_list(&self, kind: &'static FluxKind, api_version: String) -> bool {
        let mut is_new = false;
        if let Some(objects) = self.kinds().get_mut(kind.kind) {
            let list = objects.list;
            objects.kept.retain(|_, kept| kept.list == list);
            is_new = objects.api_version.is_empty();
            objects.api_version = api_version;
        }
        self.changed();
        is_new
    }

    /// Removes a kind that is not or no longer installed.
    fn forget(&self, kind: &'static FluxKind) {
        if self.kinds().remove(kind.kind).is_some_and(|objects| !objects.api_version.is_empty()) {
            self.changed();
        }
    }

    /// Returns the counts of every installed kind.
    pub(super) fn stats(&self) -> Vec<StatsRow> {
        let kinds = self.kinds();
        let rows = FLUX_KINDS.iter().filter_map(|kind| {
            let objects = kinds.get(kind.kind).filter(|objects| !objects.api_version.is_empty())?;
            let mut row = StatsRow { api_version: objects.api_version.clone(), ..report::empty_stats(kind) };
            for kept in objects.kept.values() {
                row.storage_bytes += kept.storage_bytes;
                row.failing += usize::from(kept.is_failing);
                row.waiting += usize::from(kept.is_waiting);
                row.suspended += usize::from(kept.is_suspended);
                row.running += usize::from(!kept.is_suspended);
            }
            Some(row)
        });
        rows.collect()
    }
}

/// The metrics of a fleet.
#[derive(Debug)]
pub(super) struct FleetMetrics(pub Arc<Fleet>);

impl Collector for FleetMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let kinds = self.0.kinds();
        for metric in &METRICS {
            let (name, help, more) = metric;
            let shown = kinds.iter().filter(|(kind, _)| metric_of(kind) == Some(metric));
            let mut shown = shown.flat_map(|(_, objects)| objects.kept.values()).peekable();
            if shown.peek().is_none() {
                continue;
            }
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for kept in shown {
                let names = LABELS.iter().chain(*more).copied();
                let labels: Vec<(&str, &str)> = names.zip(kept.labels.iter().map(|label| &**label)).collect();
                ConstGauge::new(1i64).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

/// Keeps the fleet up to date.
pub(super) async fn run(cluster: Cluster, shared: Arc<SharedState>, channels: Channels) {
    let (tell, definitions) = broadcast::channel(DEFINITIONS);
    let mut tasks = JoinSet::new();
    for kind in FLUX_KINDS.iter().filter(|kind| kind.kind != "FluxReport") {
        tasks.spawn(follow(cluster.clone(), shared.clone(), channels.clone(), kind, definitions.resubscribe()));
    }
    tasks.spawn(async move {
        let options = ListOptions { metadata_only: true, ..ListOptions::labelled(PART_OF_FLUX) };
        let mut following = Follower::new(&cluster, CRD, None, options, None).patient();
        let mut is_first = true;
        loop {
            let changed = match following.next().await {
                // At the start every kind is listed anyway.
                Ok(FollowedChange::All(_)) if std::mem::take(&mut is_first) => vec![],
                Ok(FollowedChange::All(definitions)) => definitions,
                Ok(FollowedChange::Set(definition)) => vec![definition],
                Ok(FollowedChange::Gone(_)) => vec![],
                Err(error) => {
                    tracing::warn!("cannot watch Flux's CRDs: {}", error.sentence());
                    vec![]
                }
            };
            for definition in changed {
                // Sending fails only if no kind is waiting for a definition.
                let _unheard = tell.send(fields::name(&definition).to_owned());
            }
        }
    });
    // Followers end only by a panic, which restarts all of them.
    if let Some(Err(ended)) = tasks.join_next().await
        && let Ok(panic) = ended.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}

/// Follows the objects of one kind.
async fn follow(
    cluster: Cluster,
    shared: Arc<SharedState>,
    channels: Channels,
    kind: &'static FluxKind,
    mut definitions: broadcast::Receiver<String>,
) {
    let fleet = &shared.telemetry.fleet;
    let fresh = || Backoff::new(PAUSES[0], PAUSES[1]);
    let mut pauses = fresh();
    let mut tries = 0;
    loop {
        // The list below contains all changes that were sent before.
        definitions = definitions.resubscribe();
        let begun = Instant::now();
        match list(&cluster, fleet, kind).await {
            Ok(ListOutcome::All(end)) => {
                // A report written before does not contain the kind.
                if fleet.end_list(kind, end.resource.api_version()) {
                    channels.report.notify_one();
                }
                follow_from(&cluster, fleet, kind, end).await;
                if begun.elapsed() >= LONG_LIFE {
                    pauses = fresh();
                }
            }
            // A new definition is served with a short delay.
            Ok(ListOutcome::NotInstalled) if tries > 0 => tries -= 1,
            Ok(ListOutcome::NotInstalled) => {
                fleet.forget(kind);
                if tokio::time::timeout(LOOK_FOR_KIND, defined(kind, &mut definitions)).await.is_ok() {
                    (pauses, tries) = (fresh(), TRIES);
                }
            }
            Ok(ListOutcome::Denied(error)) => tracing::warn!("the report is incomplete: {}", error.sentence()),
            Err(error) => tracing::warn!("the report is incomplete for now: {}", error.sentence()),
        }
        tokio::time::sleep(pauses.next_pause()).await;
    }
}

/// Completes when the definition of a kind is new or has changed, or when messages were lost.
async fn defined(kind: &'static FluxKind, definitions: &mut broadcast::Receiver<String>) {
    let name = format!("{}.{}", kind.plural, kind.group);
    while definitions.recv().await.is_ok_and(|changed| changed != name) {}
}

async fn list(cluster: &Cluster, fleet: &Fleet, kind: &'static FluxKind) -> Result<ListOutcome, ClusterError> {
    fleet.begin_list(kind);
    let mut listed = pages::read::<FluxObject, ClusterError>(cluster, &[kind], &Scope::default(), |kind, objects| {
        objects.iter().for_each(|object| fleet.set(kind, object));
        Ok(())
    })
    .await?;
    Ok(listed.pop().map_or(ListOutcome::NotInstalled, |(_, listed)| listed))
}

/// Ends when the kind has to be listed again.
async fn follow_from(cluster: &Cluster, fleet: &Fleet, kind: &'static FluxKind, end: ListEnd) {
    let Some(version) = end.resource_version else { return };
    let options = ListOptions::default();
    let mut following = Follower::new(cluster, end.resource, None, options, Some(version)).patient();
    while let Some(change) = following.next_watched().await {
        match change {
            FollowedChange::Set(object) => fleet.set(kind, &FluxObject::of(&object)),
            FollowedChange::Gone(object) => fleet.remove(kind, &FluxObject::of(&object)),
            FollowedChange::All(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;
    use prometheus_client::registry::Registry;
    use serde_json::{Value, json};

    use super::*;
    use crate::api::kinds;

    fn set(fleet: &Fleet, word: &str, object: &Value) {
        fleet.set(kinds::find(word).unwrap(), &FluxObject::of(object));
    }

    fn metrics(fleet: Fleet) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(FleetMetrics(Arc::new(fleet))));
        let mut text = String::new();
        text::encode(&mut text, &registry).unwrap();
        text
    }

    fn line<'a>(metrics: &'a str, start: &str) -> &'a str {
        metrics.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start} in {metrics}"))
    }

    #[test]
    fn resources_have_the_labels_of_their_kind() {
        let fleet = Fleet::default();
        let git = json!({"metadata": {"name": "g", "namespace": "apps"}, "spec": {"url": "https://example.com/b", "ref": {"branch": "main"}},
            "status": {"artifact": {"revision": "main@sha1:abc"},
                "conditions": [{"type": "Ready", "status": "False", "reason": "GitOperationFailed", "message": ""}]}});
        set(&fleet, "gitrepo", &git);
        set(&fleet, "provider", &json!({"metadata": {"name": "p", "namespace": "apps"}}));
        let bucket = json!({"endpoint": "s3.example.com", "bucketName": "bkt"});
        set(&fleet, "bucket", &json!({"metadata": {"name": "b", "namespace": "apps"}, "spec": bucket}));
        let images = json!({"image": "ghcr.io/x/y"});
        set(&fleet, "imagerepo", &json!({"metadata": {"name": "img", "namespace": "apps"}, "spec": images}));
        let policy = json!({"imageRepositoryRef": {"name": "img"}});
        set(&fleet, "imagepolicy", &json!({"metadata": {"name": "pol", "namespace": "apps"}, "spec": policy}));
        let receiver = json!({"webhookPath": "/hook/canary"});
        set(&fleet, "receiver", &json!({"metadata": {"name": "rec", "namespace": "apps"}, "status": receiver}));
        let charts = json!({"type": "oci", "url": "oci://example.com/charts"});
        set(&fleet, "helmrepo", &json!({"metadata": {"name": "charts", "namespace": "apps"}, "spec": charts}));
        let chart = json!({"spec": {"sourceRef": {"kind": "HelmRepository", "name": "r"}}});
        set(&fleet, "hr", &json!({"metadata": {"name": "h", "namespace": "apps"}, "spec": {"chart": chart}}));
        let entries = json!({"inventory": {"entries": [{"id": "a", "v": "v1"}, {"id": "b", "v": "v1"}]}});
        set(&fleet, "rset", &json!({"metadata": {"name": "s", "namespace": "apps"}, "status": entries}));
        set(&fleet, "rsip", &json!({"metadata": {"name": "i", "namespace": "apps"}, "spec": {"url": "https://u"}}));
        set(&fleet, "instance", &json!({"metadata": {"name": "flux", "namespace": "flux-system"}}));
        let metrics = metrics(fleet);
        assert_eq!(
            line(&metrics, "flux_resource_info{uid=\"\",kind=\"GitRepository\""),
            "flux_resource_info{uid=\"\",kind=\"GitRepository\",name=\"g\",exported_namespace=\"apps\",ready=\"False\",\
             reason=\"GitOperationFailed\",suspended=\"False\",revision=\"main@sha1:abc\",url=\"https://example.com/b\",ref=\"main\",\
             source_name=\"\",path=\"\"} 1"
        );
        assert!(line(&metrics, "flux_resource_info{uid=\"\",kind=\"Provider\"").contains("ready=\"True\""));
        for (kind, labels) in [
            ("Bucket", "url=\"s3.example.com\",ref=\"bkt\",source_name=\"\""),
            ("ImageRepository", "url=\"ghcr.io/x/y\",ref=\"\",source_name=\"\""),
            ("ImagePolicy", "url=\"\",ref=\"\",source_name=\"img\""),
            ("Receiver", "url=\"\",ref=\"\",source_name=\"\""),
            (
                "HelmRepository",
                "ready=\"True\",reason=\"\",suspended=\"False\",revision=\"\",url=\"oci://example.com/charts\"",
            ),
        ] {
            let line = line(&metrics, &format!("flux_resource_info{{uid=\"\",kind=\"{kind}\""));
            assert!(line.contains(labels), "{line}");
        }
        assert!(!metrics.contains("canary"), "the path of a Receiver is a secret");
        let release = line(&metrics, "flux_resource_info{uid=\"\",kind=\"HelmRelease\"");
        assert!(release.contains("ready=\"Unknown\"") && release.contains("source_name=\"r\""), "{release}");
        assert!(line(&metrics, "flux_resourceset_info{").contains("resources=\"2\""), "{metrics}");
        assert!(line(&metrics, "flux_resourcesetinputprovider_info{").contains("url=\"https://u\""));
        assert!(!metrics.contains("kind=\"FluxInstance\""), "it has a metric of its own");
    }

    #[test]
    fn no_label_holds_the_password_or_the_query_of_an_address() {
        let fleet = Fleet::default();
        for (number, (word, url)) in [
            ("gitrepo", "https://git:canary@example.com/x"),
            ("gitrepo", "https://canary@example.com/x?access_token=canary"),
            ("gitrepo", "ssh://git:can@ary@example.com/x#canary"),
            ("helmrepo", "https://u:can/ary@example.com/x"),
            ("rsip", "https://example.com/x?private_token=canary&per_page=1"),
        ]
        .into_iter()
        .enumerate()
        {
            set(&fleet, word, &json!({"metadata": {"name": format!("o{number}")}, "spec": {"url": url}}));
        }
        let metrics = metrics(fleet);
        assert!(!metrics.contains("canary") && !metrics.contains("ary@"), "{metrics}");
        assert_eq!(metrics.matches("://example.com/x\"").count(), 5, "{metrics}");
    }

    #[test]
    fn objects_missing_from_a_complete_list_are_removed() {
        let fleet = Fleet::default();
        let (git, object) = (
            kinds::find("gitrepo").unwrap(),
            |name: &str, more: Value| json!({"metadata": {"name": name, "namespace": "a"}, "spec": more, "status": {"artifact": {"size": 2048}}}),
        );
        fleet.begin_list(git);
        for name in ["one", "two", "three"] {
            set(&fleet, "gitrepo", &object(name, json!({"suspend": name == "two"})));
        }
        assert_eq!(fleet.stats(), [], "not all of it has come");
        assert!(fleet.end_list(git, "source.toolkit.fluxcd.io/v1beta2".to_owned()), "it was not known");
        let [row] = <[StatsRow; 1]>::try_from(fleet.stats()).unwrap();
        assert_eq!((row.running, row.suspended, row.storage_bytes), (2, 1, 6144));
        assert_eq!(row.api_version, "source.toolkit.fluxcd.io/v1beta2");
        assert!(fleet.take_change() && !fleet.take_change());

        fleet.begin_list(git);
        set(&fleet, "gitrepo", &object("one", json!({})));
        assert!(!fleet.end_list(git, "source.toolkit.fluxcd.io/v1".to_owned()));
        assert_eq!(fleet.stats()[0].running, 1);
        fleet.remove(git, &FluxObject::of(&object("one", json!({}))));
        assert_eq!(fleet.stats()[0].running, 0);
        assert!(fleet.take_change());
        fleet.forget(git);
        assert!(fleet.stats().is_empty() && fleet.take_change());
        fleet.forget(git);
        assert!(!fleet.take_change(), "it was not there before");
    }
}

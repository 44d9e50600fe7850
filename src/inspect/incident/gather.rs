//! Reads a bundle from a cluster, within the limits of rights, time and the server.

use std::collections::BTreeSet;

use futures::stream::{self, StreamExt};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::api::kinds::{
    self, CONFIG_MAP, CRD, DEPLOYMENT, EVENT, FLUX_KINDS, LEASE, NAMESPACE, NODE, POD, POD_METRICS, PVC, REPLICA_SET,
    SECRET,
};
use crate::cluster::{Cluster, ClusterError, ListOptions};
use crate::inspect::incident::bundle::{
    BundleContent, ContainerLog, MissingContent, namespaces_of, summary, without_volatile_fields,
};
use crate::inspect::read::from_cluster;
use crate::inspect::read::snapshot::{Parts, Snapshot};
use crate::inspect::views::changes::{HELM_RELEASE_TYPE, HELM_STORAGE};
use crate::inspect::views::components::PART_OF_FLUX;
use crate::inspect::views::inventory;
use crate::inspect::views::logs::{LogSource, sources};
use crate::k8s::{ObjectId, ResourceType, fields};

/// Limits for reading.
#[derive(Clone, Copy, Debug)]
pub struct BundleLimits {
    /// Deadline: later content is omitted.
    pub until: Instant,
    /// Number of last lines of each log.
    pub log_lines: u32,
}

/// Number of concurrent requests, whose answers are completely in memory.
const CONCURRENCY: usize = 8;
/// Further kinds to read in the namespaces where Flux works, besides those with constants.
const BESIDE: [(&str, &str); 7] = [
    ("apps", "StatefulSet"),
    ("apps", "DaemonSet"),
    ("batch", "Job"),
    ("", "Service"),
    ("", "ResourceQuota"),
    ("", "LimitRange"),
    ("", "ServiceAccount"),
];

/// Reads everything. `on_step` is called with the number of finished steps and their total.
pub async fn gather(
    cluster: &Cluster,
    limits: BundleLimits,
    mut on_step: impl FnMut(&str, usize, usize),
) -> BundleContent {
    let flux = FLUX_KINDS.iter().map(|kind| (kind.resource_type(), None));
    let beside = BESIDE.iter().filter_map(|(group, kind)| kinds::resource_type_of(group, kind));
    let others =
        [DEPLOYMENT, REPLICA_SET, POD, POD_METRICS, EVENT, PVC, LEASE, NAMESPACE, NODE].into_iter().chain(beside);
    let of_cluster = [("storage.k8s.io", "StorageClass"), ("", "PersistentVolume")];
    let of_cluster = of_cluster.iter().filter_map(|(group, kind)| kinds::resource_type_of(group, kind));
    let others = others.chain(of_cluster).map(|kind| (kind, None));
    let wanted: Vec<(ResourceType, Option<&str>)> =
        flux.chain(others).chain([(CRD, Some(PART_OF_FLUX)), (SECRET, None), (CONFIG_MAP, None)]).collect();
    let mut steps = wanted.len() + 2;
    let mut gathered = BundleContent::default();
    let mut done = 0;
    let mut on_list = |name: &str, steps: usize| {
        done += 1;
        on_step(name, done, steps);
    };
    let mut raw = lists(cluster, limits, wanted, &mut gathered, |name| on_list(name, steps)).await;
    // Further applied objects: only their existence and status.
    let applied: BTreeSet<ObjectId> =
        raw.iter().filter(|object| is_flux(object)).flat_map(inventory::entries).collect();
    let mut kinds: Vec<(ResourceType, Option<&str>)> = vec![];
    for (group, kind) in applied.iter().map(|id| (&id.group, &id.kind)).collect::<BTreeSet<_>>() {
        if gathered.listed.iter().any(|listed| listed.group == *group && listed.kind == *kind) {
            continue;
        }
        let Some(id) = applied.iter().find(|id| id.group == *group && id.kind == *kind) else { continue };
        match timeout_at(limits.until, cluster.resource(id)).await {
            Ok(Ok(resource)) if !gathered.listed.contains(&resource) => kinds.push((resource, None)),
            Ok(Err(error)) if !error.is_api_missing() => {
                gathered.unread.push(MissingContent { what: kind.clone(), why: error.reason.to_string() });
            }
            // A kind that is not served has no objects. After the deadline the lists report it.
            _ => {}
        }
    }
    steps += kinds.len();
    let more = lists(cluster, limits, kinds, &mut gathered, |name| on_list(name, steps)).await;
    raw.extend(more.into_iter().filter(|object| applied.contains(&ObjectId::of(object))).map(without_volatile_fields));
    match timeout_at(limits.until, cluster.server_version()).await {
        Ok(Ok(version)) => gathered.version = Some(version),
        Ok(Err(error)) => {
            gathered.unread.push(MissingContent { what: "version".into(), why: error.reason.to_string() });
        }
        Err(_) => gathered.unread.push(MissingContent { what: "version".into(), why: OUT_OF_TIME.into() }),
    }
    on_list("version", steps);
    let secrets = gathered.unread.iter().find(|unread| unread.what == SECRET.resource_name());
    gathered.without_secrets = secrets.map(|unread| unread.why.clone());
    let namespaces = namespaces_of(&raw);
    gathered.objects = raw.into_iter().filter(|object| is_wanted(object, &namespaces)).map(summary).collect();
    logs(cluster, limits, &mut gathered).await;
    on_step("logs", steps, steps);
    gathered
}

/// Reads lists concurrently, and records which of them could be read.
async fn lists(
    cluster: &Cluster,
    limits: BundleLimits,
    wanted: Vec<(ResourceType, Option<&str>)>,
    gathered: &mut BundleContent,
    mut on_list: impl FnMut(&str),
) -> Vec<Value> {
    let mut raw = vec![];
    let lists = wanted.into_iter().map(|(resource, selector)| async move {
        let listed = timeout_at(limits.until, list(cluster, &resource, selector)).await;
        (resource, listed)
    });
    let mut lists = stream::iter(lists).buffer_unordered(CONCURRENCY);
    while let Some((resource, listed)) = lists.next().await {
        let what = resource.resource_name();
        on_list(&what);
        match listed {
            Ok(Ok(objects)) => {
                raw.extend(objects);
                gathered.listed.push(resource);
            }
            // A kind that is not installed has no objects.
            Ok(Err(error)) if error.is_api_missing() => {}
            Ok(Err(error)) => gathered.unread.push(MissingContent { what, why: error.reason.to_string() }),
            Err(_) => gathered.unread.push(MissingContent { what, why: OUT_OF_TIME.into() }),
        }
    }
    raw
}

fn is_flux(object: &Value) -> bool {
    kinds::of(fields::group(object), fields::kind(object)).is_some()
}

const OUT_OF_TIME: &str = "the time limit was reached";

async fn list(cluster: &Cluster, resource: &ResourceType, selector: Option<&str>) -> Result<Vec<Value>, ClusterError> {
    if *resource == SECRET {
        // Values are needed to mask them in texts. Of Helm releases, which contain whole compressed manifests, the
        // metadata is enough to tell the time of each release.
        let others = ListOptions::with_fields(format!("type!={HELM_RELEASE_TYPE}"));
        let mut secrets = cluster.list(resource, None, &others).await?.items;
        secrets.extend(from_cluster::list(cluster, resource, None, Some(HELM_STORAGE), Parts::ALL).await?);
        return Ok(secrets);
    }
    from_cluster::list(cluster, resource, None, selector, Parts::ALL).await
}

/// Cluster-scoped objects, and objects in the namespaces where Flux works.
fn is_wanted(object: &Value, namespaces: &BTreeSet<String>) -> bool {
    fields::namespace(object).is_none_or(|namespace| namespaces.contains(namespace))
}

/// Reads the logs of the controllers and of unhealthy pods where Flux works.
async fn logs(cluster: &Cluster, limits: BundleLimits, gathered: &mut BundleContent) {
    let snapshot = Snapshot::of_dump(gathered.objects.iter().cloned());
    let mut wanted: BTreeSet<LogSource> = sources(&snapshot, &[]).into_iter().collect();
    for pod in snapshot.list(&POD, None).into_iter().filter(|pod| !crate::k8s::kstatus::compute(pod).is_current()) {
        wanted.extend(crate::inspect::views::logs::containers("", pod));
    }
    let runs = wanted.into_iter().flat_map(|source| {
        let runs = if source.is_restarted { &[true, false][..] } else { &[false] };
        runs.iter().map(move |previous| (source.clone(), *previous))
    });
    let reads = runs.map(|(source, previous)| async move {
        let LogSource { namespace, pod, container, .. } = source;
        let read = cluster.log(&namespace, &pod, &container, previous, limits.log_lines);
        let read = timeout_at(limits.until, read).await;
        (ContainerLog { namespace, pod, container, previous, lines: vec![] }, read)
    });
    let mut reads = stream::iter(reads).buffer_unordered(CONCURRENCY);
    while let Some((log, read)) = reads.next().await {
        let what = format!("log of pod/{}/{}", log.namespace, log.pod);
        match read {
            Ok(Ok(lines)) => gathered.logs.push(ContainerLog { lines, ..log }),
            Ok(Err(error)) => gathered.unread.push(MissingContent { what, why: error.reason.to_string() }),
            Err(_) => gathered.unread.push(MissingContent { what, why: OUT_OF_TIME.into() }),
        }
    }
    gathered.logs.sort_by(|a, b| {
        let key = |log: &ContainerLog| (log.namespace.clone(), log.pod.clone(), log.container.clone(), !log.previous);
        key(a).cmp(&key(b))
    });
}

/// Returns the content of a dump for a new bundle.
pub fn of_dump(snapshot: &Snapshot) -> BundleContent {
    let logs = snapshot.logs().map(|((namespace, pod, container, previous), lines)| ContainerLog {
        namespace: namespace.clone(),
        pod: pod.clone(),
        container: container.clone(),
        previous: *previous,
        lines: lines.clone(),
    });
    BundleContent {
        // As from a cluster: most of a node or a definition explains nothing about Flux.
        objects: snapshot.all().cloned().map(summary).collect(),
        // A dump does not tell which of its kinds are complete.
        listed: vec![],
        logs: logs.collect(),
        version: snapshot.server_version().cloned(),
        unread: vec![],
        // A dump without Secrets is normal: `kubectl cluster-info dump` omits them.
        without_secrets: None,
    }
}

/// Returns random bytes for the hashes of a bundle; `None` if the system has none.
pub fn salt() -> Option<Vec<u8>> {
    use aws_lc_rs::rand::{SecureRandom, SystemRandom};
    let mut salt = vec![0; 16];
    SystemRandom::new().fill(&mut salt).ok()?;
    Some(salt)
}

//! Keeps the FluxReport: the installation and its state, for dashboards and other programs.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::schedule::RunEnd;
use super::telemetry::ControllerKind;
use super::{Channels, SharedState, until};
use crate::api::kinds;
use crate::api::takeover;
use crate::api::well_known::{INSTANCE_NAME, RECONCILE_EVERY_ANNOTATION, RECONCILER_FIELD_MANAGER, condition};
use crate::cluster::watch::{FollowedChange, Follower};
use crate::cluster::{Cluster, ClusterError, ListOptions, WriteOptions};
use crate::format::backoff::Backoff;
use crate::format::go_duration;
use crate::inspect::incident::report;
use crate::inspect::read::from_cluster::collect;
use crate::k8s::{ObjectId, fields};
use crate::reconcile::rounded;

/// The reason of its Ready condition.
const SUCCEEDED: &str = "Succeeded";
/// Minimum time between two reports, so that successive runs cause only one.
const PAUSE: Duration = Duration::from_secs(1);
/// Interval for a full report if no Flux object changes, because nodes are not watched.
const LOOK_EVERY: Duration = Duration::from_secs(3600);

pub(super) async fn run(cluster: Cluster, shared: Arc<SharedState>, channels: Channels) {
    let Some(resource) = kinds::find("FluxReport").map(|kind| kind.resource_type()) else { return };
    let options = &shared.options;
    let id = report_id(&shared);
    let mut reports =
        Follower::new(&cluster, resource, Some(&options.namespace), ListOptions::named(INSTANCE_NAME), None).patient();
    let fresh = || Backoff::new(options.retry.shortest, options.retry.longest);
    let mut retries = fresh();
    let mut seen: Option<Value> = None;
    let mut due = Some(Instant::now());
    // A report was requested, or was never written.
    let mut is_asked = true;
    let mut looked: Option<Instant> = None;
    let mut is_defined = true;
    loop {
        tokio::select! {
            () = until(due) => {
                due = None;
                if seen.as_ref().is_some_and(kinds::is_suspended) {
                    continue;
                }
                let begun = Instant::now();
                shared.telemetry.began(ControllerKind::Report, &id);
                let is_old = looked.is_none_or(|looked| looked.elapsed() >= LOOK_EVERY);
                // Reset both regardless of the result: a failed report is retried anyway.
                let has_changed = shared.telemetry.fleet.take_change() | std::mem::take(&mut is_asked);
                let generation = seen.as_ref().and_then(|report| report.pointer("/metadata/generation").cloned());
                let written = match generation {
                    Some(generation) if !has_changed && !is_old => confirm(&cluster, &shared, generation, begun).await,
                    _ => write(&cluster, &shared, seen.as_ref(), begun).await.inspect(|()| looked = Some(begun)),
                };
                is_asked = written.is_err();
                let every = interval(seen.as_ref(), options.reporting_interval);
                let ended = match written {
                    Ok(()) => {
                        retries = fresh();
                        due = every.map(|every| Instant::now() + every);
                        RunEnd::Done(every)
                    }
                    // Without its definition the report cannot be stored. The follower notices a new definition.
                    Err(error) if error.is_api_missing() => RunEnd::Done(None),
                    Err(error) => {
                        tracing::error!(controller = "fluxreport", "cannot write the report: {}", error.sentence());
                        due = Some(Instant::now() + retries.next_pause());
                        RunEnd::Failed
                    }
                };
                shared.telemetry.ended(ControllerKind::Report, &id, ended, begun.elapsed());
            }
            () = channels.report.notified() => {
                shared.telemetry.asked(ControllerKind::Report, &id);
                (due, is_asked) = (soon(due), true);
            }
            change = reports.next() => {
                let before = seen.take();
                seen = match change {
                    Ok(FollowedChange::All(objects)) => objects.into_iter().next(),
                    Ok(FollowedChange::Set(object)) => Some(object),
                    Ok(FollowedChange::Gone(_)) => None,
                    Err(error) => {
                        tracing::warn!(controller = "fluxreport", "cannot follow the report: {}", error.sentence());
                        before.clone()
                    }
                };
                let annotations = |report: &Option<Value>| {
                    report.as_ref().map(|report| report.pointer("/metadata/annotations").cloned().unwrap_or_default())
                };
                // After its definition was deleted and restored, the report does not exist, and no other trigger would
                // write it.
                let was_defined = std::mem::replace(&mut is_defined, reports.is_served());
                if (is_defined && !was_defined) || annotations(&before) != annotations(&seen) {
                    shared.telemetry.asked(ControllerKind::Report, &id);
                    (due, is_asked) = (soon(due), true);
                }
            }
        }
    }
}

fn report_id(shared: &SharedState) -> ObjectId {
    ObjectId { kind: "FluxReport".to_owned(), ..shared.options.instance() }
}

fn soon(due: Option<Instant>) -> Option<Instant> {
    let soon = Instant::now() + PAUSE;
    Some(due.map_or(soon, |due| due.min(soon)))
}

/// Returns the interval of the report's own annotation, or the default.
fn interval(report: Option<&Value>, usual: Duration) -> Option<Duration> {
    let own = report.and_then(|report| fields::annotation(report, RECONCILE_EVERY_ANNOTATION));
    let own = own.and_then(|text| go_duration::parse(text).ok()).and_then(|own| Duration::try_from(own).ok());
    Some(own.unwrap_or(usual)).filter(|every| !every.is_zero())
}

/// Reads everything and writes the report.
async fn write(
    cluster: &Cluster,
    shared: &SharedState,
    seen: Option<&Value>,
    begun: Instant,
) -> Result<(), ClusterError> {
    let options = &shared.options;
    let rows = shared.telemetry.fleet.stats();
    let version = &options.version;
    let view = collect(cluster, |snapshot| {
        report::report(snapshot, rows.clone(), &options.namespace, version, &report::platform())
    });
    let computed = view.await?;
    for refusal in &computed.refusals {
        tracing::warn!(controller = "fluxreport", "the report is incomplete: {}", refusal.reason);
    }
    // Outdated fields of the reference operator are removed only if this operator's field manager owns them.
    let id = ObjectId::of(&computed.value);
    let live = match seen {
        Some(seen) => Some(seen.clone()),
        // The first report is written before the follower has listed the existing one.
        None => cluster.read(&id).await?,
    };
    if let Some(live) = live.filter(|live| takeover::own_updates_patch(live).is_some()) {
        let take_over = |live: Value| {
            let id = &id;
            async move {
                match takeover::own_updates_patch(&live) {
                    Some(patch) => cluster.json_patch(id, &patch, RECONCILER_FIELD_MANAGER).await.map(drop),
                    None => Ok(()),
                }
            }
        };
        cluster.retry_on_conflict(&id, live, take_over).await?;
    }
    let stored = cluster.apply(&computed.value, WriteOptions::forced(RECONCILER_FIELD_MANAGER)).await?;
    confirm(cluster, shared, stored.pointer("/metadata/generation").cloned().unwrap_or_default(), begun).await
}

/// Confirms that the report is still correct.
async fn confirm(
    cluster: &Cluster,
    shared: &SharedState,
    generation: Value,
    begun: Instant,
) -> Result<(), ClusterError> {
    let id = report_id(shared);
    let message = format!("Reporting finished in {}", rounded(begun.elapsed()));
    tracing::debug!(controller = "fluxreport", "{message}");
    // The column LASTUPDATED shows this time.
    let now = Timestamp::now().round(jiff::Unit::Second).unwrap_or_else(|_| Timestamp::now()).to_string();
    let status = json!({"status": {"conditions": [{
        "type": condition::READY, "status": "True", "reason": SUCCEEDED, "message": message,
        "observedGeneration": generation, "lastTransitionTime": now,
    }]}});
    cluster.merge_patch(&id, Some("status"), &status, RECONCILER_FIELD_MANAGER).await.map(|_| ())
}

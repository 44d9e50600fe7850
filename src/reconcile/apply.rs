//! Carries out a plan stage by stage, with the objects of a stage in parallel.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use serde_json::Value;

use super::context::RunContext;
use super::interrupt::{Interrupt, InterruptPolicy, interrupted, requested_stop};
use super::live_objects::LiveObjects;
use super::outcome::ApplyError;
use super::plan::{self, Decision, PlannedObject, Recreation, Step};
use super::progress::{Action, Change, Update};
use crate::api::takeover;
use crate::api::well_known::RECONCILER_FIELD_MANAGER;
use crate::cluster::{Cluster, ClusterError, Propagation, WriteOptions};
use crate::format::backoff::Backoff;

/// Limit for a newly defined kind to be served.
const SERVED_WITHIN: Duration = Duration::from_secs(10);
/// Limit for the deletion of an object that is created again.
const GONE_WITHIN: Duration = Duration::from_secs(60);
/// Limit for answers to requests in flight after a run was stopped.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// The result of a stage.
#[derive(Debug, Default)]
pub(crate) struct ApplyOutcome {
    /// In apply order.
    pub changes: Vec<Change>,
    pub errors: Vec<ApplyError>,
    pub interrupt: Option<Interrupt>,
}

/// Applies the objects of a stage and records the results in `live_objects`.
///
/// All objects are tried, even if one fails. After a stop it sends no more requests but waits for the answers to those
/// in flight, so that their effect is known. Cancelling leaves some objects applied and some not; the next run detects
/// this.
pub(crate) async fn objects(
    context: RunContext<'_>,
    live_objects: &mut LiveObjects,
    planned: &[&PlannedObject],
) -> ApplyOutcome {
    let RunContext { cluster, extra_managers, concurrency, interrupts, progress } = context;
    let mut jobs = vec![];
    for (index, one) in planned.iter().copied().enumerate().filter(|(_, one)| one.step != Step::Unchanged) {
        let live = live_objects.get(&one.object).cloned();
        let job = async move {
            match requested_stop(interrupts) {
                Some(_) => None,
                None => Some((index, one.object.clone(), apply(cluster, one, live, extra_managers).await)),
            }
        };
        jobs.push(job.boxed());
    }
    // With a concurrency of zero, the stream would never end.
    let mut running = futures::stream::iter(jobs).buffer_unordered(concurrency.max(1));
    let mut answers_missed = std::pin::pin!(async {
        interrupted(interrupts, InterruptPolicy::StopOnly).await;
        tokio::time::sleep(ANSWERS_WITHIN).await;
    });
    let mut done: BTreeMap<usize, Change> = BTreeMap::new();
    let mut errors: BTreeMap<usize, ApplyError> = BTreeMap::new();
    loop {
        let next = tokio::select! {
            // Answers come first, so that completed writes are recorded even when the time is up.
            biased;
            next = running.next() => next,
            () = &mut answers_missed => None,
        };
        match next {
            None => break,
            Some(None) => {}
            Some(Some((index, object, Ok((action, live))))) => {
                live_objects.set(live);
                progress.report(Update::Object { object: object.to_string(), action });
                done.insert(index, Change { object, action });
            }
            Some(Some((index, _, Err(error)))) => drop(errors.insert(index, error)),
        }
    }
    ApplyOutcome {
        changes: done.into_values().collect(),
        errors: errors.into_values().collect(),
        interrupt: requested_stop(interrupts),
    }
}

/// Takes an object over and applies it, as planned.
async fn apply(
    cluster: &Cluster,
    planned: &PlannedObject,
    live: Option<Value>,
    extra_managers: &[String],
) -> Result<(Action, Value), ApplyError> {
    let failed = |source| ApplyError::new(&planned.desired, "apply", source);
    let (step, live) = match planned.deferred {
        false => (planned.step, live),
        true => {
            let now = decide_when_served(cluster, planned, live.as_ref(), extra_managers).await?;
            (now.step, now.live.or(live))
        }
    };
    if let (Step::Unchanged, Some(live)) = (step, &live) {
        return Ok((Action::Unchanged, live.clone()));
    }
    let live = match (step, live) {
        (Step::Recreate, live) => {
            delete_and_wait(cluster, planned, live).await.map_err(failed)?;
            None
        }
        (_, live) => live,
    };
    if let Some(live) = live {
        // A conflict means that someone wrote in between, or that this patch succeeded and its answer was lost.
        let take_over = |live: Value| async move {
            match takeover::takeover_patch(&live, extra_managers) {
                Some(patch) => cluster.json_patch(&planned.object, &patch, RECONCILER_FIELD_MANAGER).await.map(drop),
                None => Ok(()),
            }
        };
        cluster.retry_on_conflict(&planned.object, live, take_over).await.map_err(failed)?;
    }
    let applied =
        cluster.apply(&planned.desired, WriteOptions::forced(RECONCILER_FIELD_MANAGER)).await.map_err(failed)?;
    Ok((if matches!(step, Step::Create | Step::Recreate) { Action::Created } else { Action::Configured }, applied))
}

/// Deletes an object that is created again, and waits until it is gone.
async fn delete_and_wait(cluster: &Cluster, planned: &PlannedObject, live: Option<Value>) -> Result<(), ClusterError> {
    if let Some(live) = live {
        let delete = |live: Value| async move { cluster.delete_exactly(&live, Propagation::Background).await };
        cluster.retry_on_conflict(&planned.object, live, delete).await?;
    }
    let deadline = tokio::time::Instant::now() + GONE_WITHIN;
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));
    // If the object still exists at the deadline, the apply fails with the message of the API server.
    while cluster.read(&planned.object).await?.is_some() && tokio::time::Instant::now() < deadline {
        tokio::time::sleep(backoff.next_pause()).await;
    }
    Ok(())
}

/// Compares an object whose kind or namespace was created in an earlier stage, which the server needs time to notice.
async fn decide_when_served(
    cluster: &Cluster,
    planned: &PlannedObject,
    live: Option<&Value>,
    extra_managers: &[String],
) -> Result<Decision, ApplyError> {
    let deadline = tokio::time::Instant::now() + SERVED_WITHIN;
    let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1));
    loop {
        match plan::decide(cluster, &planned.desired, live, extra_managers, Recreation::Never).await {
            Err(error) if error.source.is_absent() && tokio::time::Instant::now() < deadline => {
                tokio::time::sleep(backoff.next_pause()).await;
            }
            decided => return decided,
        }
    }
}

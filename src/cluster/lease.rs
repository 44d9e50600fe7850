//! The operator's lease: who may reconcile an instance right now.
//!
//! A `coordination.k8s.io/v1` Lease as client-go's leader election uses it, so that the operator in the cluster and a run
//! from a terminal exclude each other: every write carries the resource version (a lost race is a conflict), and whether
//! somebody else's lease has run out is judged by how long *we* have seen it unchanged, never by comparing clocks.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::Cluster;
use super::object::ResourceId;
use super::requests::CallError;
use crate::api::well_known::{OPERATOR_NAME, RECONCILER_FIELD_MANAGER};

/// How a lease is taken.
#[derive(Clone, Debug)]
pub struct LeaseOptions {
    /// Who takes it; unique per process.
    pub identity: String,
    /// How long it lasts without a renewal; whole seconds, at least one.
    pub duration: Duration,
    /// How long to wait for a holder that renews it; zero refuses at once.
    pub wait: Duration,
    /// Take it whoever holds it.
    pub force: bool,
}

impl LeaseOptions {
    /// A lease of 15 s, client-go's default, that is refused at once when somebody else holds it.
    pub fn new(identity: impl Into<String>) -> Self {
        LeaseOptions {
            identity: identity.into(),
            duration: Duration::from_secs(15),
            wait: Duration::ZERO,
            force: false,
        }
    }
}

/// Why a lease was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    #[error("the lease is held by {holder}")]
    Held { holder: String, renewed: Option<Timestamp> },
    #[error(transparent)]
    Call(#[from] CallError),
}

/// What a stored lease means to somebody who wants it.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Free,
    Ours,
    Held { holder: String, renewed: Option<Timestamp>, duration: Duration },
}

/// Returns what a lease means to `identity`; that it has run out is for the caller to observe.
pub fn verdict(lease: &Value, identity: &str) -> Verdict {
    let spec = |member: &str| lease.pointer(&format!("/spec/{member}"));
    match spec("holderIdentity").and_then(Value::as_str).unwrap_or_default() {
        "" => Verdict::Free,
        holder if holder == identity => Verdict::Ours,
        holder => Verdict::Held {
            holder: holder.to_owned(),
            renewed: spec("renewTime").and_then(Value::as_str).and_then(|text| text.parse().ok()),
            duration: Duration::from_secs(spec("leaseDurationSeconds").and_then(Value::as_u64).unwrap_or(15)),
        },
    }
}

/// Reports whether a holder seems to be alive by its own clock: good enough to refuse, not to take over.
pub fn is_fresh(renewed: Option<Timestamp>, duration: Duration, now: Timestamp) -> bool {
    renewed.is_some_and(|renewed| now.duration_since(renewed).unsigned_abs() < duration)
}

fn lease_id(namespace: &str) -> ResourceId {
    ResourceId {
        group: "coordination.k8s.io".into(),
        version: "v1".into(),
        kind: "Lease".into(),
        namespace: namespace.to_owned(),
        name: OPERATOR_NAME.into(),
    }
}

/// Returns the lease with us as its holder.
fn held(previous: Option<&Value>, namespace: &str, identity: &str, duration: Duration, now: Timestamp) -> Value {
    let time = micro_time(now);
    let spec = previous.and_then(|lease| lease.get("spec"));
    let text = |member: &str| spec.and_then(|spec| spec.get(member)).cloned();
    let ours = text("holderIdentity").is_some_and(|holder| holder == identity);
    let transitions = text("leaseTransitions").and_then(|count| count.as_i64()).unwrap_or(0);
    let mut lease = previous.cloned().unwrap_or_else(|| {
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": OPERATOR_NAME, "namespace": namespace}})
    });
    lease["spec"] = json!({
        "holderIdentity": identity,
        "leaseDurationSeconds": duration.as_secs().max(1),
        "acquireTime": if ours { text("acquireTime").unwrap_or_else(|| time.clone().into()) } else { time.clone().into() },
        "renewTime": time,
        "leaseTransitions": if ours || previous.is_none() { transitions } else { transitions + 1 },
    });
    lease
}

/// Returns a time as the API writes `MicroTime`: always six decimals.
fn micro_time(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

impl Cluster {
    /// Returns the operator's lease of a namespace as it is stored.
    pub async fn read_lease(&self, namespace: &str) -> Result<Option<Value>, CallError> {
        self.read(&lease_id(namespace)).await
    }

    /// Takes the operator's lease in a namespace and keeps renewing it until it is released or dropped.
    ///
    /// `waiting` is told who holds it, once per holder.
    ///
    /// # Errors
    /// Somebody else holds it, or the API server refuses.
    pub async fn take_lease(
        &self,
        namespace: &str,
        options: &LeaseOptions,
        waiting: impl Fn(&str),
    ) -> Result<HeldLease, LeaseError> {
        let begun = Instant::now();
        let mut seen: Option<(Value, Instant)> = None;
        let mut told = String::new();
        let mut stored = None;
        loop {
            let lease = match stored.take() {
                Some(lease) => Some(lease),
                None => self.read_lease(namespace).await?,
            };
            let Some(lease) = lease else {
                let ours = held(None, namespace, &options.identity, options.duration, Timestamp::now());
                match self.create(&ours, RECONCILER_FIELD_MANAGER).await? {
                    Some(created) => return Ok(HeldLease::keep(self, namespace, options, created)),
                    // Somebody was faster.
                    None => continue,
                }
            };
            if let Verdict::Held { holder, renewed, duration } = verdict(&lease, &options.identity)
                && !options.force
            {
                let spec = lease.get("spec").cloned().unwrap_or_default();
                let since = match &seen {
                    Some((known, since)) if *known == spec => *since,
                    _ => Instant::now(),
                };
                seen = Some((spec, since));
                if since.elapsed() < duration {
                    if is_fresh(renewed, duration, Timestamp::now()) && begun.elapsed() >= options.wait {
                        return Err(LeaseError::Held { holder, renewed });
                    }
                    if told != holder {
                        waiting(&holder);
                        told = holder;
                    }
                    tokio::time::sleep((duration / 4).min(Duration::from_secs(1))).await;
                    continue;
                }
            }
            let ours = held(Some(&lease), namespace, &options.identity, options.duration, Timestamp::now());
            match self.replace(&ours, RECONCILER_FIELD_MANAGER).await {
                Ok(taken) => return Ok(HeldLease::keep(self, namespace, options, taken)),
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// A lease that is ours; it is renewed in the background. Dropped without [`HeldLease::release`] it runs out by itself.
pub struct HeldLease {
    cluster: Cluster,
    identity: String,
    namespace: String,
    stored: Arc<Mutex<Value>>,
    lost: watch::Receiver<bool>,
    renewal: JoinHandle<()>,
}

impl HeldLease {
    fn keep(cluster: &Cluster, namespace: &str, options: &LeaseOptions, stored: Value) -> Self {
        let stored = Arc::new(Mutex::new(stored));
        let (tell, lost) = watch::channel(false);
        let renewal = tokio::spawn(renew(cluster.clone(), namespace.to_owned(), options.clone(), stored.clone(), tell));
        HeldLease {
            cluster: cluster.clone(),
            identity: options.identity.clone(),
            namespace: namespace.to_owned(),
            stored,
            lost,
            renewal,
        }
    }

    /// Completes when the lease is no longer ours.
    pub async fn lost(&self) {
        let mut lost = self.lost.clone();
        // The sender only goes away together with the renewal, which is the end of the lease, too.
        let _ended = lost.wait_for(|lost| *lost).await;
    }

    /// Gives the lease back, so that nobody has to wait until it runs out. Failing to do so is no failure of the run.
    pub async fn release(self) {
        self.renewal.abort();
        let mut lease = self.stored.lock().await.clone();
        for _ in 0..2 {
            lease["spec"]["holderIdentity"] = "".into();
            // What client-go writes, so that its followers take over at once.
            lease["spec"]["leaseDurationSeconds"] = 1.into();
            lease["spec"]["renewTime"] = micro_time(Timestamp::now()).into();
            match self.cluster.replace(&lease, RECONCILER_FIELD_MANAGER).await {
                // The renewal that was just cut off may have been stored.
                Err(error) if error.is_conflict() => match self.cluster.read_lease(&self.namespace).await {
                    Ok(Some(stored)) if verdict(&stored, &self.identity) == Verdict::Ours => lease = stored,
                    _ => return,
                },
                Err(error) => return tracing::debug!("the lease is left to run out: {error}"),
                Ok(_) => return,
            }
        }
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

async fn renew(
    cluster: Cluster,
    namespace: String,
    options: LeaseOptions,
    stored: Arc<Mutex<Value>>,
    lost: watch::Sender<bool>,
) {
    let mut renewed = Instant::now();
    loop {
        tokio::time::sleep(options.duration / 3).await;
        let mut lease = stored.lock().await;
        let ours = held(Some(&lease), &namespace, &options.identity, options.duration, Timestamp::now());
        let answer = tokio::time::timeout(options.duration / 3, cluster.replace(&ours, RECONCILER_FIELD_MANAGER)).await;
        match answer {
            Ok(Ok(kept)) => {
                *lease = kept;
                renewed = Instant::now();
            }
            Ok(Err(error)) if error.is_conflict() || error.is_not_found() => match cluster.read_lease(&namespace).await
            {
                // An earlier renewal was stored although its answer came too late.
                Ok(Some(now)) if verdict(&now, &options.identity) == Verdict::Ours => {
                    *lease = now;
                    renewed = Instant::now();
                }
                Ok(_) => break,
                Err(_) => {}
            },
            Ok(Err(_)) | Err(_) => {}
        }
        if renewed.elapsed() > options.duration {
            break;
        }
    }
    // Nobody listens any more when the run is over.
    let _unheard = lost.send(true);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_released_or_missing_holder_leaves_the_lease_free() {
        assert_eq!(verdict(&json!({"spec": {"holderIdentity": ""}}), "me"), Verdict::Free);
        assert_eq!(verdict(&json!({"spec": {}}), "me"), Verdict::Free);
        assert_eq!(verdict(&json!({"spec": {"holderIdentity": "me"}}), "me"), Verdict::Ours);
    }

    #[test]
    fn a_taken_lease_counts_the_change_of_holder_and_a_renewal_does_not() {
        let theirs =
            json!({"metadata": {"resourceVersion": "1"}, "spec": {"holderIdentity": "you", "leaseTransitions": 3}});
        let taken = held(Some(&theirs), "n", "me", Duration::from_secs(15), at("2026-01-02T03:04:05Z"));
        assert_eq!(taken["spec"]["leaseTransitions"], 4);
        assert_eq!(taken["spec"]["acquireTime"], "2026-01-02T03:04:05.000000Z");
        assert_eq!(taken["metadata"]["resourceVersion"], "1");
        let renewed = held(Some(&taken), "n", "me", Duration::from_secs(15), at("2026-01-02T03:04:10.25Z"));
        assert_eq!(renewed["spec"]["leaseTransitions"], 4);
        assert_eq!(renewed["spec"]["acquireTime"], "2026-01-02T03:04:05.000000Z");
        assert_eq!(renewed["spec"]["renewTime"], "2026-01-02T03:04:10.250000Z");
    }

    #[test]
    fn a_holder_is_fresh_while_its_last_renewal_is_younger_than_the_lease() {
        let renewed = Some(at("2026-01-02T03:04:05Z"));
        assert!(is_fresh(renewed, Duration::from_secs(35), at("2026-01-02T03:04:30Z")));
        assert!(!is_fresh(renewed, Duration::from_secs(35), at("2026-01-02T03:05:30Z")));
        assert!(!is_fresh(None, Duration::from_secs(35), at("2026-01-02T03:05:30Z")));
    }
}

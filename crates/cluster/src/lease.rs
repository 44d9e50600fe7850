//! The operator's lease, which decides who may reconcile an instance.
//!
//! It is a `coordination.k8s.io/v1` Lease as used by client-go's leader election, so that the operator in the cluster
//! and a run from a terminal exclude each other. Every write carries the resource version, so a lost race is a
//! conflict. Whether another process's lease has expired depends on how long *we* have seen it unchanged; clocks are
//! never compared. For the same reason our own lease ends before another process may consider it expired: at its
//! renewal deadline, counted from the moment when the last successful renewal was *sent*, regardless of requests in
//! between. A frozen process wakes up after that deadline, and its writes with [`Cluster::under`] are refused before
//! they are sent.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::lease_guard::LeaseGuard;
use super::retry::CallPolicy;
use super::{Cluster, ClusterError};
use crate::api::lease::{Freshness, Holder, LeaseRecord};
use crate::api::well_known::{OPERATOR_NAME, RECONCILER_FIELD_MANAGER};
use crate::k8s::ObjectId;

/// Options for taking a lease.
#[derive(Clone, Debug)]
pub struct LeaseOptions {
    /// Identity of the holder; unique per process.
    pub identity: String,
    /// Lifetime without a renewal; whole seconds, at least one.
    pub duration: Duration,
    /// Time after the last renewal at which the holder gives the lease up; shorter than `duration`. `None` means two
    /// thirds of it.
    pub renew_deadline: Option<Duration>,
    /// Pause between attempts to take or renew it. `None` means a fifteenth of `duration`.
    pub retry_period: Option<Duration>,
    /// Limit for waiting for a terminal run that renews the lease; zero refuses at once.
    pub wait: Duration,
    /// Limit for waiting for any other holder that renews it: an operator keeps the lease as long as it runs.
    pub operator_wait: Duration,
    /// Take the lease even if another process holds it. The previous holder notices at its next renewal, due after half
    /// of its renewal deadline, and may write until then.
    pub force: bool,
}

impl LeaseOptions {
    /// A lease of 15 s, client-go's default, that is refused at once if another process holds it.
    pub fn new(identity: impl Into<String>) -> Self {
        LeaseOptions {
            identity: identity.into(),
            duration: Duration::from_secs(15),
            renew_deadline: None,
            retry_period: None,
            wait: Duration::ZERO,
            operator_wait: Duration::ZERO,
            force: false,
        }
    }

    fn renew_deadline(&self) -> Duration {
        // Close to the end of the lease, a write that is still on its way could arrive after another process took over.
        self.renew_deadline.map_or(self.duration * 2 / 3, |deadline| deadline.min(self.duration * 9 / 10))
    }

    fn retry_period(&self) -> Duration {
        self.retry_period.unwrap_or(self.duration / 15)
    }
}

/// Returns an identity that no other process has. Host names and process numbers are not enough: hosts may share a name
/// (`hostNetwork`, `--hostname ci`), and in a container every process number is 1.
pub fn unique_identity(who: &str) -> String {
    // The keys of a new state come from the operating system's random numbers.
    let random = RandomState::new().build_hasher().finish();
    format!("{who}_{random:016x}")
}

/// Why a lease was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    #[error("the lease is held by {holder}")]
    Held { holder: Holder, renewed: Option<Timestamp> },
    #[error(transparent)]
    Call(#[from] ClusterError),
}

/// Whether this process holds a stored lease.
fn is_held_by(lease: &Value, identity: &str) -> bool {
    LeaseRecord::of(lease).holder.identity() == Some(identity)
}

/// Whether no other process holds a lease.
fn is_free_for(record: &LeaseRecord, identity: &str) -> bool {
    record.holder.identity().is_none_or(|holder| holder == identity)
}

fn lease_id(namespace: &str) -> ObjectId {
    ObjectId {
        group: "coordination.k8s.io".into(),
        version: "v1".into(),
        kind: "Lease".into(),
        namespace: namespace.to_owned(),
        name: OPERATOR_NAME.into(),
    }
}

/// Returns the lease with this process as its holder.
fn held(previous: Option<&Value>, namespace: &str, identity: &str, duration: Duration, now: Timestamp) -> Value {
    let time = micro_time(now);
    let spec = previous.and_then(|lease| lease.get("spec"));
    let text = |member: &str| spec.and_then(|spec| spec.get(member)).cloned();
    let ours = text("holderIdentity").is_some_and(|holder| holder == identity);
    let transitions = text("leaseTransitions").and_then(|count| count.as_i64()).unwrap_or(0);
    // The metadata is kept, because its resource version makes the write fail if another process was faster.
    let mut lease = previous.cloned().unwrap_or_else(|| {
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": OPERATOR_NAME, "namespace": namespace}})
    });
    lease["spec"] = json!({
        "holderIdentity": identity,
        // The API server refuses a duration of 0.
        "leaseDurationSeconds": duration.as_secs().max(1),
        "acquireTime": if ours { text("acquireTime").unwrap_or_else(|| time.clone().into()) } else { time.clone().into() },
        "renewTime": time,
        "leaseTransitions": if ours || previous.is_none() { transitions } else { transitions + 1 },
    });
    lease
}

/// Formats a time as the API's `MicroTime`, with exactly six decimals.
fn micro_time(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

impl Cluster {
    /// Reads the operator's lease of a namespace.
    pub async fn read_lease(&self, namespace: &str) -> Result<Option<Value>, ClusterError> {
        self.read(&lease_id(namespace)).await
    }

    /// Takes the operator's lease in a namespace and renews it until it is released or dropped.
    ///
    /// `waiting` is called with the holder, once per holder.
    ///
    /// # Errors
    /// Another process holds it, or the API server refuses.
    pub async fn take_lease(
        &self,
        namespace: &str,
        options: &LeaseOptions,
        waiting: impl Fn(&str),
    ) -> Result<HeldLease, LeaseError> {
        let begun = Instant::now();
        let mut seen: Option<(Value, Instant)> = None;
        // The holder's clock may be hours off. A holder that renews is alive, even if the renewal has an old time.
        let mut renewing = Holder::Vacant;
        let mut reported = Holder::Vacant;
        loop {
            let lease = self.read_lease(namespace).await?;
            // Validity counts from before the request: the answer may be late, but the server stores the renewal in
            // between.
            let sent = Instant::now();
            let Some(lease) = lease else {
                let ours = held(None, namespace, &options.identity, options.duration, Timestamp::now());
                match self.create(&ours, RECONCILER_FIELD_MANAGER).await? {
                    Some(created) => return Ok(HeldLease::keep(self, namespace, options, created, sent)),
                    // Another process was faster.
                    None => continue,
                }
            };
            let record = LeaseRecord::of(&lease);
            let LeaseRecord { holder, renewed, duration } = record.clone();
            if !options.force && !is_free_for(&record, &options.identity) {
                let spec = lease.get("spec").cloned().unwrap_or_default();
                let since = match &seen {
                    Some((known, since)) if *known == spec => *since,
                    Some((known, _)) if known.get("holderIdentity") == spec.get("holderIdentity") => {
                        renewing = holder.clone();
                        Instant::now()
                    }
                    _ => Instant::now(),
                };
                seen = Some((spec, since));
                if since.elapsed() < duration {
                    let alive = record.freshness(Timestamp::now()) == Freshness::Fresh || renewing == holder;
                    let from_terminal = matches!(holder, Holder::Terminal(_));
                    let wait = if from_terminal { options.wait } else { options.operator_wait };
                    if alive && begun.elapsed() >= wait {
                        return Err(LeaseError::Held { holder, renewed });
                    }
                    if reported != holder {
                        waiting(&holder.to_string());
                        reported = holder;
                    }
                    let pause = options.retry_period.unwrap_or(Duration::from_secs(1));
                    tokio::time::sleep((duration / 4).min(pause)).await;
                    continue;
                }
            }
            let ours = held(Some(&lease), namespace, &options.identity, options.duration, Timestamp::now());
            match self.replace(&ours, RECONCILER_FIELD_MANAGER).await {
                Ok(taken) => return Ok(HeldLease::keep(self, namespace, options, taken, sent)),
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The same cluster, which refuses writes once the lease has been given up, has expired, or was taken by another
    /// process.
    #[must_use]
    pub fn under(&self, lease: &HeldLease) -> Self {
        self.with_policy(CallPolicy { lease: Some(lease.guard()), ..self.policy.clone() })
    }
}

/// A lease held by this process and renewed in the background. If it is dropped without [`HeldLease::release`], it
/// expires.
pub struct HeldLease {
    cluster: Cluster,
    identity: String,
    namespace: String,
    stored: Arc<Mutex<Value>>,
    /// The end of the guaranteed validity; in the past when the lease is lost.
    until: watch::Receiver<Instant>,
    renewal: JoinHandle<()>,
}

impl HeldLease {
    /// `sent` is the time when the request that took the lease was sent.
    fn keep(cluster: &Cluster, namespace: &str, options: &LeaseOptions, stored: Value, sent: Instant) -> Self {
        let stored = Arc::new(Mutex::new(stored));
        let (tell, until) = watch::channel(sent + options.renew_deadline());
        let renewal = Renewal {
            cluster: cluster.clone(),
            namespace: namespace.to_owned(),
            options: options.clone(),
            stored: stored.clone(),
        };
        let renewal = tokio::spawn(async move {
            renewal.keep_renewing(sent, &tell).await;
            // An instant in the past ends the lease for all guards at once.
            tell.send_replace(sent);
        });
        HeldLease {
            cluster: cluster.clone(),
            identity: options.identity.clone(),
            namespace: namespace.to_owned(),
            stored,
            until,
            renewal,
        }
    }

    /// Completes when the lease is lost.
    pub async fn lost(&self) {
        let mut until = self.until.clone();
        loop {
            let end = *until.borrow_and_update();
            tokio::select! {
                () = tokio::time::sleep_until(end) => return,
                // The sender is dropped only with the renewal, which ends the lease too.
                changed = until.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Whether the lease is certainly ours at this moment.
    pub fn is_ours(&self) -> bool {
        self.guard().holds()
    }

    pub(super) fn guard(&self) -> LeaseGuard {
        LeaseGuard(self.until.clone())
    }

    /// Releases the lease, so that others need not wait until it expires. A failure here does not fail the run.
    pub async fn release(self) {
        // First of all: a renewal after the release would take the lease again.
        self.renewal.abort();
        let mut lease = self.stored.lock().await.clone();
        for _ in 0..2 {
            lease["spec"]["holderIdentity"] = "".into();
            // client-go writes the same, so that its followers take over at once.
            lease["spec"]["leaseDurationSeconds"] = 1.into();
            lease["spec"]["renewTime"] = micro_time(Timestamp::now()).into();
            match self.cluster.replace(&lease, RECONCILER_FIELD_MANAGER).await {
                // The renewal that was just cancelled may have been stored.
                Err(error) if error.is_conflict() => match self.cluster.read_lease(&self.namespace).await {
                    Ok(Some(stored)) if is_held_by(&stored, &self.identity) => lease = stored,
                    _ => return,
                },
                Err(error) => return tracing::debug!("cannot release the lease, so it will expire: {error}"),
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

/// The background renewal of a lease.
struct Renewal {
    cluster: Cluster,
    namespace: String,
    options: LeaseOptions,
    stored: Arc<Mutex<Value>>,
}

impl Renewal {
    /// Returns when the lease is lost or another process may take it soon.
    async fn keep_renewing(&self, mut sent: Instant, until: &watch::Sender<Instant>) {
        let deadline = self.options.renew_deadline();
        loop {
            let end = sent + deadline;
            let renewal = async {
                tokio::time::sleep_until(sent + deadline / 2).await;
                self.renew().await
            };
            // A hanging request must not hide that the time is up.
            match tokio::time::timeout_at(end, renewal).await {
                Ok(Some(renewed)) => {
                    sent = renewed;
                    until.send_replace(sent + deadline);
                }
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Retries until a renewal is stored, and returns when that renewal was sent; `None` when another process has the
    /// lease.
    async fn renew(&self) -> Option<Instant> {
        let Renewal { cluster, namespace, options, stored } = self;
        // A request on a dead connection hangs; the next attempt opens a new one.
        let patience = options.duration / 6;
        loop {
            let mut lease = stored.lock().await;
            let sent = Instant::now();
            let ours = held(Some(&lease), namespace, &options.identity, options.duration, Timestamp::now());
            let replaced = cluster.replace(&ours, RECONCILER_FIELD_MANAGER);
            match tokio::time::timeout(patience, replaced).await {
                Ok(Ok(kept)) => {
                    *lease = kept;
                    return Some(sent);
                }
                Ok(Err(error)) if error.is_conflict() || error.is_not_found() => {
                    match tokio::time::timeout(patience, cluster.read_lease(namespace)).await {
                        // An earlier renewal was stored, but its answer came too late. Continue from that one.
                        Ok(Ok(Some(now))) if is_held_by(&now, &options.identity) => {
                            *lease = now;
                            continue;
                        }
                        Ok(Ok(_)) => return None,
                        Ok(Err(error)) => tracing::debug!("cannot read the lease: {error}"),
                        Err(_) => tracing::debug!("timed out reading the lease"),
                    }
                }
                Ok(Err(error)) => tracing::debug!("cannot renew the lease: {error}"),
                Err(_) => tracing::debug!("timed out renewing the lease"),
            }
            drop(lease);
            tokio::time::sleep(options.retry_period()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
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
    fn runs_on_hosts_of_the_same_name_have_different_identities() {
        let (ours, theirs) = (unique_identity("host_1"), unique_identity("host_1"));
        assert!(ours.starts_with("host_1_") && ours != theirs, "{ours} {theirs}");
        let lease = json!({"spec": {"holderIdentity": theirs}});
        assert!(!is_held_by(&lease, &ours) && !is_free_for(&LeaseRecord::of(&lease), &ours));
    }

    /// An API server that answers while `answers` returns a response, given the request's method and the number of such
    /// requests so far.
    fn server(answers: impl FnMut(&http::Method, usize) -> Option<(u16, Value)> + Send + 'static) -> Cluster {
        use kube::client::Body;
        let state = Arc::new(std::sync::Mutex::new((answers, 0)));
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let state = state.clone();
            async move {
                let answer = {
                    let mut state = state.lock().unwrap();
                    state.1 += 1;
                    let count = state.1;
                    (state.0)(request.method(), count)
                };
                let Some((code, mut body)) = answer else { return std::future::pending().await };
                if body.is_null() {
                    body = serde_json::from_slice(&request.into_body().collect_bytes().await.unwrap()).unwrap();
                }
                let response = http::Response::builder().status(code).body(Body::from(body.to_string().into_bytes()));
                Ok::<_, std::convert::Infallible>(response.unwrap())
            }
        });
        Cluster::of_client(kube::Client::new(service, "n"), crate::Endpoint::default())
    }

    fn missing() -> (u16, Value) {
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound",
            "message": "not found", "details": {"kind": "leases", "name": "flux-operator"}});
        (404, status)
    }

    fn conflict() -> (u16, Value) {
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 409, "reason": "Conflict",
            "message": "the object has been modified"});
        (409, status)
    }

    const WITHIN: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_lease_is_given_up_at_two_thirds_while_the_server_is_frozen() {
        // The process is frozen after it took the lease, or after four renewals; then every request hangs.
        for renewals in [0, 4] {
            let cluster = server(move |method, count| match (method, count) {
                (&http::Method::GET, 1) => Some(missing()),
                (_, count) if count <= 2 + renewals => Some((200, Value::Null)),
                _ => None,
            });
            let lease = cluster.take_lease("n", &LeaseOptions::new("me"), |_| ()).await.unwrap();
            let taken = Instant::now();
            lease.lost().await;
            let expected = Duration::from_secs(5) * u32::try_from(renewals).unwrap() + WITHIN;
            assert_eq!(taken.elapsed().as_secs(), expected.as_secs(), "{renewals} renewals");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_read_after_a_conflict_does_not_keep_a_lease() {
        let cluster = server(|method, count| match (method, count) {
            (&http::Method::GET, 1) => Some(missing()),
            (&http::Method::POST, _) => Some((201, Value::Null)),
            (&http::Method::PUT, _) => Some(conflict()),
            _ => None,
        });
        let lease = cluster.take_lease("n", &LeaseOptions::new("me"), |_| ()).await.unwrap();
        let taken = Instant::now();
        lease.lost().await;
        assert!(taken.elapsed() <= WITHIN, "{:?}", taken.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stolen_lease_is_noticed_at_the_next_renewal() {
        let cluster = server(|method, count| match (method, count) {
            (&http::Method::GET, 1) => Some(missing()),
            (&http::Method::POST, _) => Some((201, Value::Null)),
            (&http::Method::PUT, _) => Some(conflict()),
            _ => Some((200, json!({"spec": {"holderIdentity": "thief"}}))),
        });
        let lease = cluster.take_lease("n", &LeaseOptions::new("me"), |_| ()).await.unwrap();
        let taken = Instant::now();
        lease.lost().await;
        assert!(taken.elapsed() <= Duration::from_secs(6), "{:?}", taken.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_holder_that_renews_keeps_its_lease_even_if_its_clock_is_wrong() {
        let cluster = server(|_, count| {
            let spec = json!({"holderIdentity": "you", "leaseDurationSeconds": 15,
                "renewTime": format!("2001-01-01T00:00:{:02}.000000Z", count / 4 % 60)});
            Some((200, json!({"metadata": {"resourceVersion": "1"}, "spec": spec})))
        });
        let options = LeaseOptions::new("me");
        let taken = cluster.take_lease("n", &options, |_| ());
        let taken = tokio::time::timeout(Duration::from_secs(60), taken).await.expect("no endless look");
        assert!(matches!(taken.err(), Some(LeaseError::Held { holder, .. }) if holder.identity() == Some("you")));
    }
}

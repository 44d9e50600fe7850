//! Determines whether an operator reconciles an instance, before the user waits for it.
//!
//! An operator reconciles only the instance `flux` in its own namespace. [`OperatorState`] tells whether it works; an
//! operator outside the cluster has only the lease.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde_json::Value;

use crate::api::kinds::{DEPLOYMENT, LEASE, ResourceType};
use crate::api::lease::{Holder, LeaseRecord};
use crate::api::operator::{OperatorState, desired_replicas, has_ready_pod, is_operator, ready_replicas};
use crate::api::well_known::{INSTANCE_NAME, NAME_LABEL, OPERATOR_NAME};
use crate::cluster::{Category, Cluster, ClusterError, ListOptions};
use crate::k8s::ObjectId;

/// An operator, by the namespace that it reconciles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    pub namespace: String,
    pub presence: OperatorPresence,
    /// The object that shows its state: its lease, or its Deployment.
    pub state: String,
}

/// The state of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperatorPresence {
    Running,
    /// A pod of this Deployment is ready but does not renew the lease: it does not respond, and may continue at any
    /// moment.
    Silent(ObjectId),
    Stopped,
}

/// Whether an operator reconciles an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperatorCoverage {
    /// A running operator reconciles it.
    Watched(Operator),
    /// Operators reconcile only the name `flux`.
    OtherName,
    /// The running operator reconciles another namespace.
    OtherNamespace(Operator),
    /// The operator does not run, or is stalled.
    NotRunning(Operator),
    NotInstalled,
    /// The user may not read operators.
    Unknown(String),
}

impl OperatorCoverage {
    /// Whether it is certain that no operator reconciles the instance.
    pub fn is_missing(&self) -> bool {
        !matches!(self, OperatorCoverage::Watched(_) | OperatorCoverage::Unknown(_))
    }
}

impl Operator {
    pub fn is_running(&self) -> bool {
        self.presence == OperatorPresence::Running
    }
}

impl fmt::Display for OperatorCoverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OperatorCoverage::Watched(operator) => {
                write!(f, "the operator in namespace {} watches it", operator.namespace)
            }
            OperatorCoverage::OtherName => write!(f, "an operator only watches an instance named {INSTANCE_NAME}"),
            OperatorCoverage::OtherNamespace(operator) => {
                write!(f, "the running operator watches only namespace {}", operator.namespace)
            }
            OperatorCoverage::NotRunning(operator) => {
                write!(f, "the operator in namespace {} is not running: {}", operator.namespace, operator.state)
            }
            OperatorCoverage::NotInstalled => f.write_str("no operator is installed in this cluster"),
            OperatorCoverage::Unknown(why) => write!(f, "cannot determine whether an operator is running: {why}"),
        }
    }
}

/// Looks for operators in the whole cluster, or only in the instance's namespace if the user may not read more.
///
/// Makes three requests in parallel.
///
/// # Errors
/// The API server does not answer; a refusal is not an error but [`OperatorCoverage::Unknown`].
pub async fn find_coverage(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
    now: Timestamp,
) -> Result<OperatorCoverage, ClusterError> {
    let found = match find_operators(cluster, None, now).await {
        Err(error) if error.category() == Category::Denied => find_operators(cluster, Some(namespace), now).await,
        other => other,
    };
    match found {
        Ok(operators) => Ok(coverage_of(&operators, namespace, name)),
        Err(error) if error.category() == Category::Denied => Ok(OperatorCoverage::Unknown(error.reason.to_string())),
        Err(error) => Err(error),
    }
}

/// Determines whether an operator reconciles a ResourceSet. A running operator does so in every namespace.
///
/// # Errors
/// As [`find_coverage`].
pub async fn find_set_coverage(
    cluster: &Cluster,
    namespace: &str,
    now: Timestamp,
) -> Result<OperatorCoverage, ClusterError> {
    Ok(match find_coverage(cluster, namespace, INSTANCE_NAME, now).await? {
        OperatorCoverage::OtherNamespace(operator) => OperatorCoverage::Watched(operator),
        coverage => coverage,
    })
}

/// Returns the operator of a namespace if its pod is ready but no longer renews its lease. Returns `None` without the
/// right to read.
pub(super) async fn find_silent(cluster: &Cluster, namespace: &str, now: Timestamp) -> Option<Operator> {
    let operators = find_operators(cluster, Some(namespace), now).await;
    let operators = operators.inspect_err(|error| tracing::debug!("cannot look for an operator: {error}")).ok()?;
    operators.into_iter().find(|operator| matches!(operator.presence, OperatorPresence::Silent(_)))
}

async fn find_operators(
    cluster: &Cluster,
    namespace: Option<&str>,
    now: Timestamp,
) -> Result<Vec<Operator>, ClusterError> {
    let by_name = ListOptions::named(OPERATOR_NAME);
    let by_label = ListOptions::labelled(format!("{NAME_LABEL}={OPERATOR_NAME}"));
    let list = |kind: &'static ResourceType, options| async move { cluster.list(kind, namespace, options).await };
    let (leases, named, labelled) = futures::try_join!(
        list(&LEASE_TYPE, &by_name),
        list(&DEPLOYMENT_TYPE, &by_name),
        list(&DEPLOYMENT_TYPE, &by_label)
    )?;
    Ok(operators(Some(&leases.items), named.items.iter().chain(&labelled.items), now))
}

static LEASE_TYPE: ResourceType = LEASE;
static DEPLOYMENT_TYPE: ResourceType = DEPLOYMENT;

/// Finds operators from leases and Deployments; `None` as leases means that they were not read. Pure.
fn operators<'a>(
    leases: Option<&[Value]>,
    deployments: impl Iterator<Item = &'a Value>,
    now: Timestamp,
) -> Vec<Operator> {
    let mut found: BTreeMap<String, (Option<&Value>, Option<LeaseRecord>)> = BTreeMap::new();
    for deployment in deployments {
        let (known, _) = found.entry(ObjectId::of(deployment).namespace).or_default();
        // Of two Deployments in a namespace, the one with a ready pod counts.
        if known.is_none_or(|known| !has_ready_pod(known)) {
            *known = Some(deployment);
        }
    }
    for lease in leases.unwrap_or_default() {
        let record = LeaseRecord::of(lease);
        let namespace = ObjectId::of(lease).namespace;
        // A run from a terminal takes the lease as well; it is not an operator.
        if matches!(record.holder, Holder::Operator(_)) {
            found.entry(namespace).or_default().1 = Some(record);
        // While a run from a terminal renews the lease, it says nothing about the operator. Afterwards it shows since
        // when the operator could have taken it.
        } else if !record.is_fresh(now)
            && let Some((_, of_operator)) = found.get_mut(&namespace)
        {
            *of_operator = Some(record);
        }
    }
    let found = found.into_iter();
    let has_none =
        |namespace: &str| leases.is_some_and(|all| !all.iter().any(|lease| ObjectId::of(lease).namespace == namespace));
    let judge = |(namespace, (deployment, lease)): (String, _)| {
        let is_without = has_none(&namespace);
        operator(namespace, deployment, lease, is_without, now)
    };
    found.filter_map(judge).collect()
}

fn operator(
    namespace: String,
    deployment: Option<&Value>,
    lease: Option<LeaseRecord>,
    is_without_lease: bool,
    now: Timestamp,
) -> Option<Operator> {
    let pods = deployment.map(|deployment| {
        let name = ObjectId::of(deployment).name;
        match (desired_replicas(deployment), ready_replicas(deployment)) {
            (0, 0) => format!("deployment/{namespace}/{name} is scaled to 0"),
            (desired, ready) => format!("deployment/{namespace}/{name} has {ready} of {desired} replicas ready"),
        }
    });
    let held = |record: &LeaseRecord| format!("{} holds lease/{namespace}/{OPERATOR_NAME}", record.holder);
    let judged = OperatorState::of(deployment, lease.clone(), now);
    let (presence, state) = match judged.without_lease(deployment.filter(|_| is_without_lease), now) {
        OperatorState::Running => {
            let fresh = lease.as_ref().filter(|record| record.is_fresh(now)).map(held);
            (OperatorPresence::Running, fresh.or(pods)?)
        }
        OperatorState::Stopped(_) => (OperatorPresence::Stopped, pods?),
        OperatorState::Silent(deployment, None) => {
            let lease = if lease.is_some() { "no process holds" } else { "there is no" };
            let none = format!("{lease} lease/{namespace}/{OPERATOR_NAME}, which a working operator holds");
            (OperatorPresence::Silent(ObjectId::of(deployment)), none)
        }
        OperatorState::Silent(deployment, Some(record)) => {
            let last = record.renewed.map_or("never".to_owned(), |at| format!("last at {at}"));
            (
                OperatorPresence::Silent(ObjectId::of(deployment)),
                format!("{} and no longer renews it ({last})", held(&record)),
            )
        }
        OperatorState::Absent | OperatorState::TerminalRun(_) | OperatorState::Unknown => return None,
    };
    Some(Operator { namespace, presence, state })
}

/// Returns the operator of a namespace, running or not, from Deployments in that namespace that were read anyway.
pub(crate) fn operator_of<'a>(deployments: impl IntoIterator<Item = &'a Value>, namespace: &str) -> Option<Operator> {
    let own = |deployment: &&Value| ObjectId::of(deployment).namespace == namespace && is_operator(deployment);
    // Without leases no time is compared.
    operators(None, deployments.into_iter().filter(own), Timestamp::UNIX_EPOCH).into_iter().next()
}

fn coverage_of(operators: &[Operator], namespace: &str, name: &str) -> OperatorCoverage {
    let own = operators.iter().find(|o| o.namespace == namespace);
    let alive = operators.iter().find(|o| o.is_running());
    match (own, alive) {
        _ if name != INSTANCE_NAME => OperatorCoverage::OtherName,
        (Some(own), _) if own.is_running() => OperatorCoverage::Watched(own.clone()),
        (Some(own), _) => OperatorCoverage::NotRunning(own.clone()),
        (None, Some(other)) => OperatorCoverage::OtherNamespace(other.clone()),
        (None, None) => operators.first().cloned().map_or(OperatorCoverage::NotInstalled, OperatorCoverage::NotRunning),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn now() -> Timestamp {
        "2026-11-21T06:00:30Z".parse().unwrap()
    }

    fn lease(namespace: &str, holder: &str, renewed: &str) -> Value {
        json!({"metadata": {"namespace": namespace, "name": "flux-operator"},
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": 35, "renewTime": renewed}})
    }

    fn deployment(namespace: &str, wanted: i64, ready: i64) -> Value {
        json!({"metadata": {"namespace": namespace, "name": "flux-operator"}, "spec": {"replicas": wanted},
            "status": {"readyReplicas": ready}})
    }

    fn judged(leases: &[Value], deployments: &[Value], name: &str) -> String {
        coverage_of(&operators(Some(leases), deployments.iter(), now()), "flux-system", name).to_string()
    }

    const FRESH: &str = "2026-11-21T06:00:00.000000Z";
    const OLD: &str = "2026-11-21T05:00:00.000000Z";

    #[test]
    fn an_operator_is_alive_by_its_lease_or_by_a_ready_pod() {
        for (leases, deployments) in [
            (vec![lease("flux-system", "host_1", FRESH)], vec![]),
            (vec![], vec![deployment("flux-system", 1, 1)]),
            (vec![lease("flux-system", "", OLD)], vec![deployment("flux-system", 1, 1)]),
            (vec![lease("flux-system", "host_1", FRESH)], vec![deployment("flux-system", 1, 0)]),
        ] {
            assert_eq!(
                judged(&leases, &deployments, "flux"),
                "the operator in namespace flux-system watches it",
                "{leases:?} {deployments:?}"
            );
        }
    }

    #[test]
    fn an_operator_is_distinguished_from_other_deployments_by_name_or_label() {
        let mut flux = deployment("flux-system", 1, 1);
        flux["metadata"]["name"] = json!("source-controller");
        assert_eq!(operator_of([&flux], "flux-system"), None);
        flux["metadata"]["labels"] = json!({"app.kubernetes.io/name": "flux-operator"});
        assert!(operator_of([&flux], "flux-system").unwrap().is_running());
        assert!(!operator_of([&deployment("flux-system", 1, 0)], "flux-system").unwrap().is_running());
        assert_eq!(operator_of([&deployment("other", 1, 1)], "flux-system"), None);
    }

    #[test]
    fn each_reason_for_a_missing_controller_is_reported() {
        assert_eq!(judged(&[], &[], "flux"), "no operator is installed in this cluster");
        assert_eq!(
            judged(&[lease("flux-system", "host_1", OLD)], &[deployment("flux-system", 1, 0)], "flux"),
            "the operator in namespace flux-system is not running: deployment/flux-system/flux-operator has 0 of 1 replicas ready"
        );
        assert_eq!(
            judged(&[lease("flux-system", "host_1", OLD)], &[deployment("flux-system", 1, 1)], "flux"),
            "the operator in namespace flux-system is not running: host_1 holds lease/flux-system/flux-operator and no longer \
             renews it (last at 2026-11-21T05:00:00Z)"
        );
        assert_eq!(
            judged(&[], &[deployment("other", 0, 0)], "flux"),
            "the operator in namespace other is not running: deployment/other/flux-operator is scaled to 0"
        );
        assert_eq!(
            judged(&[lease("other", "host_1", FRESH)], &[], "flux"),
            "the running operator watches only namespace other"
        );
        assert_eq!(
            judged(&[lease("flux-system", "host_1", FRESH)], &[], "flux2"),
            "an operator only watches an instance named flux"
        );
    }

    #[test]
    fn an_operator_that_has_long_been_available_and_has_no_lease_does_not_respond() {
        let available = |since: &str| {
            let mut operator = deployment("flux-system", 1, 1);
            operator["status"]["conditions"] =
                json!([{"type": "Available", "status": "True", "lastTransitionTime": since}]);
            operator
        };
        let silent = "the operator in namespace flux-system is not running: there is no \
            lease/flux-system/flux-operator, which a working operator holds";
        assert_eq!(judged(&[], &[available(OLD)], "flux"), silent);
        assert_eq!(judged(&[lease("other", "host_1", FRESH)], &[available(OLD)], "flux"), silent);
        let free = "the operator in namespace flux-system is not running: no process holds \
            lease/flux-system/flux-operator, which a working operator holds";
        for holder in ["", "flux-operator-ctl/host/1"] {
            assert_eq!(judged(&[lease("flux-system", holder, OLD)], &[available(OLD)], "flux"), free);
        }
        // It is new, or the lease was released a moment ago, as while the pod is replaced.
        let runs = "the operator in namespace flux-system watches it";
        assert_eq!(judged(&[], &[available(FRESH)], "flux"), runs);
        assert_eq!(judged(&[lease("flux-system", "", OLD)], &[available(FRESH)], "flux"), runs);
        assert_eq!(judged(&[lease("flux-system", "", FRESH)], &[available(OLD)], "flux"), runs);
        let terminal = lease("flux-system", "flux-operator-ctl/host/1", FRESH);
        assert_eq!(judged(&[terminal], &[available(OLD)], "flux"), runs, "it waits for the run");
        // A run from a terminal checks the Deployment alone, and is refused beside a ready pod.
        assert!(operator_of([&available(OLD)], "flux-system").unwrap().is_running());
    }

    #[test]
    fn a_run_from_a_terminal_or_a_released_lease_does_not_count_as_an_operator() {
        let leases = [lease("flux-system", "flux-operator-ctl/host/1", FRESH), lease("a", "", FRESH)];
        assert_eq!(judged(&leases, &[], "flux"), "no operator is installed in this cluster");
    }
}

//! Whether an operator reconciles an instance: the same answer for all views.

use jiff::Timestamp;
use serde_json::Value;

use crate::api::kinds::{DEPLOYMENT, LEASE};
use crate::api::lease::LeaseRecord;
use crate::api::operator::OperatorState;
use crate::api::well_known;
use crate::inspect::read::snapshot::Snapshot;
use crate::k8s::fields;

/// Returns the operator's Deployment: by label in the instance's namespace or anywhere, else by name in that namespace.
pub(crate) fn deployment<'a>(snapshot: &'a Snapshot, namespace: &str) -> Option<&'a Value> {
    let selector = format!("{}={}", well_known::NAME_LABEL, well_known::OPERATOR_NAME);
    let labelled = snapshot.list_labelled(&DEPLOYMENT, None, &selector);
    let here = labelled.iter().find(|deployment| fields::namespace(deployment) == Some(namespace));
    here.or(labelled.first()).copied().or_else(|| snapshot.get(&DEPLOYMENT, Some(namespace), well_known::OPERATOR_NAME))
}

/// Returns the lease of the operator for the instances of a namespace.
pub(crate) fn lease(snapshot: &Snapshot, namespace: &str) -> Option<LeaseRecord> {
    snapshot.get(&LEASE, Some(namespace), well_known::OPERATOR_NAME).map(LeaseRecord::of)
}

/// Returns the operator's Deployment if it is in another namespace, where it reconciles only that namespace's instance
/// (spec: semantics §3.1).
pub(crate) fn elsewhere<'a>(snapshot: &'a Snapshot, namespace: &str, now: Timestamp) -> Option<&'a Value> {
    let is_here = lease(snapshot, namespace).is_some_and(|record| record.is_fresh(now));
    deployment(snapshot, namespace).filter(|one| !is_here && fields::namespace(one) != Some(namespace))
}

/// Returns whether an operator reconciles the instances of a namespace.
pub(crate) fn state<'a>(snapshot: &'a Snapshot, namespace: &str, now: Timestamp) -> OperatorState<'a> {
    let (deployment, lease) = (deployment(snapshot, namespace), lease(snapshot, namespace));
    let is_without = lease.is_none() && snapshot.knows(&LEASE);
    let without = deployment.filter(|one| is_without && fields::namespace(one) == Some(namespace));
    match OperatorState::of(deployment, lease, now).without_lease(without, now) {
        OperatorState::Absent if !snapshot.knows(&DEPLOYMENT) => OperatorState::Unknown,
        state => state,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn operator(replicas: i64, ready: i64) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "flux-operator", "namespace": "fs",
                "labels": {"app.kubernetes.io/name": "flux-operator"}},
            "spec": {"replicas": replicas}, "status": {"readyReplicas": ready}})
    }

    fn lease(holder: &str, renewed: &str) -> Value {
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "flux-operator", "namespace": "fs"},
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}})
    }

    #[test]
    fn deployment_and_lease_are_judged_together() {
        let fresh = "2026-01-01T00:59:55.000000Z";
        let old = "2026-01-01T00:00:00.000000Z";
        let other =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x", "namespace": "fs"}});
        let mut without_election = operator(1, 1);
        without_election["spec"]["template"]["spec"]["containers"] =
            json!([{"args": ["--enable-leader-election=false"]}]);
        let available = |since: &str| {
            let mut operator = operator(1, 1);
            operator["status"]["conditions"] =
                json!([{"type": "Available", "status": "True", "lastTransitionTime": since}]);
            operator
        };
        // Leases are readable, and the operator's is not among them.
        let mut other_lease = lease("x", fresh);
        other_lease["metadata"]["name"] = "kube-scheduler".into();
        let mut elects_no_leader = available(old);
        elects_no_leader["spec"] = without_election["spec"].clone();
        let mut elsewhere = available(old);
        elsewhere["metadata"]["namespace"] = "elsewhere".into();
        let mut relabelled = operator(1, 1);
        relabelled["metadata"]["labels"] = json!({"app.kubernetes.io/name": "x", "app.kubernetes.io/part-of": "x"});
        let cases = [
            (vec![operator(1, 1)], "Running"),
            (vec![relabelled], "Running"),
            (vec![operator(1, 1), lease("pod_1", fresh)], "Running"),
            (vec![operator(1, 1), lease("pod_1", old)], "Silent"),
            (vec![operator(1, 1), lease("", old)], "Running"),
            (vec![without_election, lease("pod_1", old)], "Running"),
            (vec![operator(1, 1), lease("flux-operator-ctl/h_1", old)], "Running"),
            (vec![operator(1, 1), lease("flux-operator-ctl/h_1", fresh)], "TerminalRun"),
            (vec![available("2026-01-01T00:58:00Z")], "Running"),
            (vec![available("2026-01-01T00:58:00Z"), other_lease.clone()], "Silent"),
            (vec![available("2026-01-01T00:58:00Z"), other_lease.clone(), lease("", old)], "Silent"),
            // Released a moment ago, as while its pod is replaced.
            (vec![available("2026-01-01T00:58:00Z"), other_lease.clone(), lease("", fresh)], "Running"),
            (vec![available("2026-01-01T00:59:30Z"), other_lease.clone()], "Running"),
            (vec![operator(1, 1), other_lease.clone()], "Running"),
            (vec![elects_no_leader, other_lease.clone()], "Running"),
            (vec![elsewhere, other_lease], "Running"),
            (vec![operator(0, 0)], "Stopped"),
            (vec![operator(1, 0), lease("pod_1", old)], "Stopped"),
            (vec![other.clone(), lease("pod_1", fresh)], "Running"),
            (vec![other.clone(), lease("pod_1", old)], "Absent"),
            (vec![other], "Absent"),
            (vec![], "Unknown"),
        ];
        for (objects, expected) in cases {
            let snapshot = Snapshot::of_dump(objects.clone());
            let state = state(&snapshot, "fs", "2026-01-01T01:00:00Z".parse().unwrap());
            assert!(format!("{state:?}").starts_with(expected), "{expected}: {state:?} of {objects:?}");
        }
    }
}

//! `status`: the whole installation on one screen, with a verdict on its health.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::rc::Rc;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::api::kinds::{self, INSTANCE};
use crate::api::operator::{OperatorState, desired_replicas, silence};
use crate::inspect::diagnose::health::{HealthCounts, HealthVerdict, KindCounts};
use crate::inspect::diagnose::instance::InstanceRow;
use crate::inspect::diagnose::next_step::{HasNextSteps, NextStep};
use crate::inspect::diagnose::resources;
use crate::inspect::diagnose::resources::ResourceRow;
use crate::inspect::diagnose::why::{CauseGroup, Overview, Reason, overview};
use crate::inspect::read::flux_object::FluxObject;
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::operator;
use crate::inspect::views::version::{VersionView, version};
use crate::inspect::views::{components, inventory};
use crate::k8s::kstatus::{self, Status};
use crate::k8s::pod_trouble::trouble;
use crate::k8s::{ObjectId, fields};

/// Limit for the listed failures.
const NAMED: usize = 3;

/// The summary of an installation: verdict, versions, operator, controllers, sync and failures.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusView {
    /// The health of the installation as a whole, as `why` evaluates it.
    pub verdict: HealthVerdict,
    /// True if nothing fails and the caller may read everything that decides the verdict.
    pub well: bool,
    pub versions: VersionView,
    pub operator: OperatorSummary,
    /// The instance of the requested namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<InstanceRow>,
    /// Other namespaces that have an instance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<String>,
    pub controllers: Vec<ControllerRow>,
    /// The source of the instance's sync, and what is applied from it.
    pub sync: Vec<ResourceRow>,
    /// Kinds that have objects, in the order of kinds.
    pub kinds: Vec<KindCounts>,
    /// The verdicts on all Flux objects, including instances.
    pub counts: HealthCounts,
    /// Flux objects that fail.
    pub failing: usize,
    /// The objects that have failed for the longest time, at most three, without the instance.
    pub failures: Vec<ResourceRow>,
    /// Causes of all failures, the cause with the most affected objects first.
    pub causes: Vec<CauseSummary>,
    /// Kinds that the caller is not allowed to read and that decide the verdict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<&'static str>,
    /// Objects of the instance that are missing or differ from what it builds; absent where that cannot be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drifted: Option<usize>,
    /// Every failing object, even if its own status reports that it is ready.
    #[serde(skip)]
    pub affected: BTreeSet<ObjectId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub next: Option<NextStep>,
}

/// Whether an operator in the cluster reconciles the instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorSummary {
    /// `Running`, `TerminalRun`, `Stopped`, `Silent`, `Absent` or `Unknown`.
    pub state: &'static str,
    pub message: String,
}

/// A controller, and why its pods do not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControllerRow {
    pub name: String,
    pub ready_pods: i64,
    pub desired_pods: i64,
    pub status: Status,
    /// The message of its pods, else of its Deployment, or that the Deployment lacks the label of Flux; absent when it runs
    /// and has the label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A cause in a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CauseSummary {
    pub reason: Reason,
    pub object: ObjectId,
    pub summary: String,
    /// How many objects do not work because of it.
    pub affected: usize,
}

impl StatusView {
    /// Whether the instance fails, even if it reports that it is ready.
    pub fn instance_fails(&self) -> bool {
        let id = |row: &InstanceRow| ObjectId::new(&INSTANCE.group, &INSTANCE.kind, Some(&row.namespace), &row.name);
        self.instance.as_ref().is_some_and(|row| self.affected.contains(&id(row)))
    }
}

impl HasNextSteps for StatusView {
    fn steps(&mut self) -> Vec<&mut NextStep> {
        self.next.iter_mut().collect()
    }
}

/// Options of [`status`].
#[derive(Clone, Copy)]
pub struct StatusOptions<'a> {
    /// Namespace of the instance.
    pub namespace: &'a str,
    /// Version of this program.
    pub client: &'a str,
    /// Flux versions of its distribution.
    pub known: &'a [String],
    pub now: Timestamp,
    /// Builds an instance; `None` if its build is unknown.
    pub desired: &'a dyn Fn(&Value) -> Option<Rc<[Value]>>,
}

/// Builds the status of the installation in a namespace at a moment.
pub fn status(snapshot: &Snapshot, options: StatusOptions<'_>) -> StatusView {
    let StatusOptions { namespace, client, known, now, desired } = options;
    let instance = snapshot.list(&INSTANCE, Some(namespace)).into_iter().next();
    let overview = overview(snapshot, None, now);
    let controllers: Vec<ControllerRow> = controllers(snapshot, namespace, instance);
    let sync = instance.map(|instance| sync(snapshot, instance)).unwrap_or_default();
    let failures = failures(snapshot, &overview, instance);
    let operator = operator::state(snapshot, namespace, now);
    let desired = instance.and_then(|instance| Some((instance, desired(instance)?)));
    let drifted = desired.map(|(instance, desired)| inventory::drifted(snapshot, instance, &desired));
    let causes = overview.causes.iter().map(|CauseGroup { cause, affected, .. }| CauseSummary {
        reason: cause.reason,
        object: cause.object.clone(),
        summary: cause.summary.clone(),
        affected: affected.len(),
    });
    StatusView {
        verdict: overview.verdict,
        well: overview.well,
        versions: version(snapshot, instance, client, known),
        next: next(snapshot, instance, &operator, &overview, drifted),
        operator: operator_summary(&operator),
        elsewhere: elsewhere(snapshot, namespace),
        instance: instance.map(InstanceRow::of),
        controllers,
        sync,
        causes: causes.collect(),
        kinds: overview.kinds.iter().filter(|kind| kind.kind != INSTANCE.kind).cloned().collect(),
        counts: overview.counts,
        failing: overview.counts.failing,
        failures,
        affected: overview.causes.iter().flat_map(|group| group.affected.iter().cloned()).collect(),
        unreadable: overview.unreadable,
        drifted,
    }
}

fn elsewhere(snapshot: &Snapshot, namespace: &str) -> Vec<String> {
    let instances = snapshot.list(&INSTANCE, None).into_iter().filter_map(fields::namespace);
    instances.filter(|one| *one != namespace).map(str::to_owned).collect()
}

/// Returns the Flux objects that have failed for the longest, and last those that wait for others. The instance is
/// omitted, because it has a separate row.
fn failures(snapshot: &Snapshot, overview: &Overview, instance: Option<&Value>) -> Vec<ResourceRow> {
    let own = instance.map(ObjectId::of);
    let mut rows: Vec<ResourceRow> = vec![];
    for CauseGroup { cause, affected, .. } in &overview.causes {
        for id in affected.iter().filter(|id| Some(*id) != own.as_ref()) {
            let Some(kind) = kinds::of(&id.group, &id.kind) else { continue };
            let mut of_kind = snapshot.loaded(&kind.resource_type(), id.namespace());
            let Some(object) = of_kind.find(|one| fields::name(one) == id.name) else { continue };
            let row = ResourceRow::new(kind, FluxObject::of(object));
            // A report from before the controller was lost does not explain the failure.
            rows.push(match row.ready == "False" {
                true => row,
                false => ResourceRow { message: cause.summary.clone(), reason: format!("{:?}", cause.reason), ..row },
            });
        }
    }
    // The oldest failure is the most likely cause of the others.
    rows.sort_by_key(|row| (row.reason == "DependencyNotReady", row.last_reconciled.is_none(), row.last_reconciled));
    rows.truncate(NAMED);
    rows
}

fn controllers(snapshot: &Snapshot, namespace: &str, instance: Option<&Value>) -> Vec<ControllerRow> {
    let labelled = components::deployments(snapshot, Some(namespace)).into_iter();
    let mut all: Vec<ControllerRow> = labelled.map(|deployment| controller(snapshot, deployment)).collect();
    let unlabelled = instance.map(|instance| components::unlabelled(snapshot, instance)).unwrap_or_default();
    all.extend(unlabelled.into_iter().map(|deployment| {
        let row = controller(snapshot, deployment);
        let lacks = format!("lacks the label {}", components::PART_OF_FLUX);
        let message = match &row.message {
            None => format!("it runs, but {lacks}"),
            Some(trouble) => format!("{trouble}; it {lacks}"),
        };
        ControllerRow { message: Some(message), ..row }
    }));
    let missing = instance.map(|instance| components::missing(snapshot, instance)).unwrap_or_default();
    all.extend(missing.into_iter().map(|name| ControllerRow {
        name,
        ready_pods: 0,
        desired_pods: 1,
        status: Status::NotFound,
        message: Some("Deployment missing (listed in the instance)".into()),
    }));
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn controller(snapshot: &Snapshot, deployment: &Value) -> ControllerRow {
    let health = kstatus::compute(deployment);
    let message = (!health.is_current())
        .then(|| trouble(deployment, components::pods(snapshot, deployment)).unwrap_or(health.message));
    ControllerRow {
        name: fields::name(deployment).into(),
        ready_pods: fields::number(deployment, "/status/readyReplicas").unwrap_or(0),
        desired_pods: desired_replicas(deployment),
        status: health.status,
        message,
    }
}

/// Returns the rows of the sync, which are the Flux objects in the instance's inventory.
fn sync(snapshot: &Snapshot, instance: &Value) -> Vec<ResourceRow> {
    let rows = inventory::entries(instance).into_iter().filter_map(|id| {
        let kind = kinds::find(&id.kind).filter(|kind| kind.group == id.group)?;
        let rows = resources::rows(snapshot, kind, id.namespace());
        rows.into_iter().find(|row| row.name == id.name)
    });
    let mut rows: Vec<ResourceRow> = rows.collect();
    // In this order, `source.…` comes before the `kustomize.…` that applies it.
    rows.sort_by_key(|row| Reverse(row.group));
    rows
}

fn operator_summary(state: &OperatorState<'_>) -> OperatorSummary {
    let (state, message) = match state {
        OperatorState::Running => ("Running", "running".to_owned()),
        OperatorState::TerminalRun(who) => ("TerminalRun", format!("{who} reconciles from a terminal right now")),
        OperatorState::Stopped(deployment) if desired_replicas(deployment) == 0 => {
            ("Stopped", "scaled to zero".to_owned())
        }
        OperatorState::Stopped(deployment) => {
            ("Stopped", format!("not running: {}", kstatus::compute(deployment).message))
        }
        OperatorState::Silent(_, lease) => ("Silent", format!("it {}", silence(lease.as_ref()))),
        OperatorState::Absent => ("Absent", "none".to_owned()),
        OperatorState::Unknown => ("Unknown", "Deployments cannot be read".to_owned()),
    };
    OperatorSummary { state, message }
}

/// The next step.
fn next(
    snapshot: &Snapshot,
    instance: Option<&Value>,
    operator: &OperatorState<'_>,
    overview: &Overview,
    drifted: Option<usize>,
) -> Option<NextStep> {
    let in_process = operator.is_gone();
    match overview.verdict {
        HealthVerdict::NotInstalled => Some(NextStep::ApplyInProcess),
        HealthVerdict::Unknown => Some(NextStep::CheckRights),
        HealthVerdict::Failing => match overview.causes.as_slice() {
            // If the cause affects only its own object, explain that object instead of everything.
            [CauseGroup { cause, affected, .. }] if affected.len() == 1 => match &cause.object {
                object if Some(object) == affected.first() => Some(NextStep::Explain(object.clone())),
                _ => Some(NextStep::ExplainAll),
            },
            _ => Some(NextStep::ExplainAll),
        },
        _ if instance.is_some_and(kinds::is_suspended) => {
            instance.map(|one| NextStep::Resume { object: ObjectId::of(one), in_process })
        }
        // The next run restores the label of a Deployment.
        _ if instance.is_some_and(|one| !components::unlabelled(snapshot, one).is_empty()) => {
            instance.map(|one| NextStep::Reconcile { object: ObjectId::of(one), in_process, force: false })
        }
        _ if drifted.is_some_and(|count| count > 0) => instance.map(|one| NextStep::ShowPlan(ObjectId::of(one))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn instance(ready: &str) -> Value {
        json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": "flux-system"},
            "spec": {"distribution": {"version": "2.9.x", "registry": "ghcr.io/fluxcd"}},
            "status": {"lastAppliedRevision": "v2.9.4@sha256:1",
                "components": [{"name": "source-controller"}],
                "inventory": {"entries": [{"id": "flux-system_app_kustomize.toolkit.fluxcd.io_Kustomization", "v": "v1"}]},
                "conditions": [{"type": "Ready", "status": ready, "reason": "x", "message": "done",
                    "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
    }

    fn controller(ready: i64) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "source-controller",
                "namespace": "flux-system", "generation": 1, "labels": {"app.kubernetes.io/part-of": "flux"}},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "source-controller"}}},
            "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": ready,
                "availableReplicas": ready, "conditions": [{"type": "Available", "status": "True"}]}})
    }

    /// A healthy kustomize-controller.
    fn kustomize_controller() -> Value {
        let mut deployment = controller(1);
        deployment["metadata"]["name"] = "kustomize-controller".into();
        deployment
    }

    fn kustomization(name: &str, ready: &str, reason: &str, since: &str) -> Value {
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": name, "namespace": "flux-system"}, "spec": {},
            "status": {"conditions": [{"type": "Ready", "status": ready, "reason": reason, "message": "m",
                "lastTransitionTime": since}]}})
    }

    fn view(objects: Vec<Value>) -> StatusView {
        let snapshot = Snapshot::of_dump(objects);
        let options = StatusOptions {
            namespace: "flux-system",
            client: "1.0.0",
            known: &["v2.9.4".into()],
            now: "2026-01-02T00:00:00Z".parse().unwrap(),
            desired: &|_| None,
        };
        status(&snapshot, options)
    }

    #[test]
    fn all_is_well_when_the_instance_its_controllers_and_every_object_are() {
        let well = view(vec![
            instance("True"),
            controller(1),
            kustomize_controller(),
            kustomization("app", "True", "", "2026-01-01T00:00:00Z"),
        ]);
        assert!(well.well, "{well:?}");
        assert_eq!(well.next, None);
        assert_eq!(well.sync.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["app"]);
        let mut other = controller(1);
        other["metadata"]["name"] = "helm-controller".into();
        let empty = view(vec![]);
        assert_eq!(
            (empty.verdict, empty.well, &empty.next),
            (HealthVerdict::NotInstalled, false, &Some(NextStep::ApplyInProcess))
        );
        for unwell in [
            vec![instance("False"), controller(1)],
            vec![instance("True"), controller(0)],
            // helm-controller is installed, but source-controller is missing.
            vec![instance("True"), other.clone()],
            vec![instance("True"), controller(1), kustomization("app", "False", "x", "2026-01-01T00:00:00Z")],
        ] {
            let view = view(unwell);
            assert!(!view.well && view.next.is_some(), "{view:?}");
        }
    }

    #[test]
    fn a_controller_without_the_label_of_flux_is_shown_as_it_runs_and_put_back_by_a_run() {
        for ready in [1, 0] {
            let mut deployment = controller(ready);
            deployment["metadata"]["labels"]["app.kubernetes.io/part-of"] = "somebody".into();
            let view = view(vec![instance("True"), deployment]);
            let row = view.controllers.first().unwrap();
            assert_eq!((view.controllers.len(), row.ready_pods, row.desired_pods), (1, ready, 1), "{row:?}");
            let lacks = "lacks the label app.kubernetes.io/part-of=flux";
            let says = row.message.as_deref().unwrap_or_default();
            assert!(says.ends_with(lacks) && says.starts_with("it runs, but ") == (ready == 1), "{row:?}");
            // As in `why`, a missing label is drift and a missing pod is a fault.
            assert_eq!(view.well, ready == 1, "{view:?}");
            assert_eq!(matches!(view.next, Some(NextStep::Reconcile { in_process: true, .. })), ready == 1, "{view:?}");
        }
    }

    #[test]
    fn the_oldest_failures_are_listed_without_objects_that_wait_for_them() {
        let mut objects = vec![instance("True"), controller(1), kustomize_controller()];
        for day in 1..6 {
            objects.push(kustomization(&format!("f{day}"), "False", "x", &format!("2025-12-0{day}T00:00:00Z")));
            objects.push(kustomization(&format!("w{day}"), "False", "DependencyNotReady", "2025-11-01T00:00:00Z"));
        }
        objects.push(kustomization("ok", "True", "x", "2025-12-01T00:00:00Z"));
        let view = view(objects);
        assert_eq!(view.failing, 5);
        assert_eq!(view.failures.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["f1", "f2", "f3"]);
        let counts = HealthCounts { total: 11, ready: 1, failing: 5, in_progress: 5, ..HealthCounts::default() };
        assert_eq!(view.kinds, [KindCounts { kind: "Kustomization", counts }]);
        assert_eq!(view.next, Some(NextStep::ExplainAll));
    }
}

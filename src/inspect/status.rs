//! `status`: the whole installation on one screen, and whether all of it is well.

use std::cmp::Reverse;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::instance::InstanceRow;
use super::next_step::NextStep;
use super::operator;
use super::read::snapshot::Snapshot;
use super::resources::{self, ResourceRow};
use super::version::{VersionView, version};
use super::{components, inventory};
use crate::api::kinds::{self, FLUX_KINDS, INSTANCE};
use crate::api::operator::desired_replicas;
use crate::api::operator::{OperatorState, silence};
use crate::api::well_known;
use crate::k8s::kstatus::{self, Status};
use crate::k8s::pod_trouble::trouble;
use crate::k8s::{ObjectId, fields};

/// How many failures are named.
const NAMED: usize = 3;

/// Everything there is to know first.
// `S` is a step, or a step in words.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "StatusView")]
pub struct StatusView<S = NextStep> {
    /// True when nothing fails: an instance is there and ready, its controllers run, and no Flux object reports failure.
    pub well: bool,
    pub versions: VersionView,
    pub operator: OperatorSummary,
    /// The instance of the namespace that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<InstanceRow>,
    pub controllers: Vec<ControllerRow>,
    /// The source of the instance's sync, and what is applied from it.
    pub sync: Vec<ResourceRow>,
    /// Kinds that have objects, in the order of kinds.
    pub kinds: Vec<KindCounts>,
    /// Objects of those kinds that report failure.
    pub failing: usize,
    /// Those that have failed for the longest, at most three.
    pub failures: Vec<ResourceRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<S>,
}

/// Whether anybody in the cluster looks after the instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorSummary {
    /// `Running`, `TerminalRun`, `Stopped`, `Silent`, `Absent` or `Unknown`.
    pub state: &'static str,
    pub message: String,
}

/// One controller, and why its pods do not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControllerRow {
    pub name: String,
    pub ready_pods: i64,
    pub desired_pods: i64,
    pub status: Status,
    /// What its pods say, else its Deployment, and that this lacks the label of Flux; absent when it runs and has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How many objects of a kind are in which state; what waits for something else is in none of the three.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KindCounts {
    pub kind: &'static str,
    pub total: usize,
    pub ready: usize,
    pub failing: usize,
    pub suspended: usize,
}

impl<S> StatusView<S> {
    /// The same view with its step in other words.
    pub fn map_steps<T>(self, word: impl Fn(S) -> T) -> StatusView<T> {
        let StatusView { well, versions, operator, instance, controllers, sync, kinds, failing, failures, next } = self;
        let next = next.map(word);
        StatusView { well, versions, operator, instance, controllers, sync, kinds, failing, failures, next }
    }
}

/// Looks at the installation in `namespace` at a moment. `client` is this program's version, `known` the Flux versions of its
/// distribution.
pub fn status(snapshot: &Snapshot, namespace: &str, client: &str, known: &[String], now: Timestamp) -> StatusView {
    let instance = snapshot.list(&INSTANCE, Some(namespace)).into_iter().next();
    let controllers: Vec<ControllerRow> = controllers(snapshot, namespace, instance);
    let sync = instance.map(|instance| sync(snapshot, instance)).unwrap_or_default();
    let (mut kinds, mut failures) = (vec![], vec![]);
    for kind in FLUX_KINDS.iter().filter(|kind| kind.group != well_known::GROUP || kind.kind.starts_with("ResourceSet"))
    {
        let rows = resources::rows(snapshot, kind, None);
        if rows.is_empty() {
            continue;
        }
        let count = |ready: &str| rows.iter().filter(|row| row.ready == ready).count();
        kinds.push(KindCounts {
            kind: kind.kind,
            total: rows.len(),
            ready: count("True"),
            failing: rows.iter().filter(|row| fails(row)).count(),
            suspended: count("Suspended"),
        });
        failures.extend(rows.into_iter().filter(fails));
    }
    let failing = failures.len();
    // What failed first is most likely what the others wait for.
    failures.sort_by_key(|row| (row.last_reconciled.is_none(), row.last_reconciled));
    failures.truncate(NAMED);
    let operator = operator_summary(&operator::state(snapshot, namespace, now));
    let row = instance.map(InstanceRow::of);
    let is_ready = row.as_ref().is_some_and(|row| row.ready == "True");
    let run = controllers.iter().all(|controller| controller.message.is_none());
    StatusView {
        well: is_ready && run && failing == 0 && operator.state != "Stopped" && operator.state != "Silent",
        versions: version(snapshot, instance, client, known),
        next: match instance {
            // All that is wrong is what the next run puts back.
            Some(instance) if is_ready && !run && controllers.iter().all(|one| one.status == Status::Current) => {
                let in_process = ["Absent", "Stopped", "Silent"].contains(&operator.state);
                Some(NextStep::Reconcile { object: ObjectId::of(instance), in_process, force: false })
            }
            _ => next(instance, is_ready && run, failing, &failures),
        },
        operator,
        instance: row,
        controllers,
        sync,
        kinds,
        failing,
        failures,
    }
}

/// Whether an object fails by itself: one that waits for another is told by that one.
fn fails(row: &ResourceRow) -> bool {
    row.ready == "False" && row.reason != "DependencyNotReady"
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
        message: Some("the instance has it, and there is no Deployment".into()),
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

/// The Flux objects of the instance's inventory: that is what its sync consists of.
fn sync(snapshot: &Snapshot, instance: &Value) -> Vec<ResourceRow> {
    let rows = inventory::entries(instance).into_iter().filter_map(|id| {
        let kind = kinds::find(&id.kind).filter(|kind| kind.group == id.group)?;
        let rows = resources::rows(snapshot, kind, id.namespace());
        rows.into_iter().find(|row| row.name == id.name)
    });
    let mut rows: Vec<ResourceRow> = rows.collect();
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
        OperatorState::Absent => ("Absent", "none: runs from a terminal or CI reconcile the instance".to_owned()),
        OperatorState::Unknown => ("Unknown", "Deployments cannot be read".to_owned()),
    };
    OperatorSummary { state, message }
}

/// What to look at next: the installation itself before what it does.
fn next(instance: Option<&Value>, is_well: bool, failing: usize, failures: &[ResourceRow]) -> Option<NextStep> {
    let Some(instance) = instance else { return Some(NextStep::ApplyInProcess) };
    match failures {
        _ if !is_well => Some(NextStep::Explain(ObjectId::of(instance))),
        [] => None,
        [first] if failing == 1 => {
            Some(NextStep::ListEvents(ObjectId::new(first.group, first.kind, Some(&first.namespace), &first.name)))
        }
        _ => Some(NextStep::ExplainAll),
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

    fn kustomization(name: &str, ready: &str, reason: &str, since: &str) -> Value {
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": name, "namespace": "flux-system"}, "spec": {},
            "status": {"conditions": [{"type": "Ready", "status": ready, "reason": reason, "message": "m",
                "lastTransitionTime": since}]}})
    }

    fn view(objects: Vec<Value>) -> StatusView {
        let snapshot = Snapshot::of_dump(objects);
        status(&snapshot, "flux-system", "1.0.0", &["v2.9.4".into()], "2026-01-02T00:00:00Z".parse().unwrap())
    }

    #[test]
    fn all_is_well_when_the_instance_its_controllers_and_every_object_are() {
        let well =
            view(vec![instance("True"), controller(1), kustomization("app", "True", "", "2026-01-01T00:00:00Z")]);
        assert!(well.well, "{well:?}");
        assert_eq!(well.next, None);
        assert_eq!(well.sync.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["app"]);
        let mut other = controller(1);
        other["metadata"]["name"] = "helm-controller".into();
        for unwell in [
            vec![],
            vec![instance("False"), controller(1)],
            vec![instance("True"), controller(0)],
            // Its controller is missing where others are.
            vec![instance("True"), other.clone()],
            vec![instance("True"), controller(1), kustomization("app", "False", "x", "2026-01-01T00:00:00Z")],
        ] {
            let view = view(unwell);
            assert!(!view.well && view.next.is_some(), "{view:?}");
        }
    }

    #[test]
    fn a_controller_without_the_label_of_flux_is_shown_as_it_runs_and_as_not_well() {
        for ready in [1, 0] {
            let mut deployment = controller(ready);
            deployment["metadata"]["labels"]["app.kubernetes.io/part-of"] = "somebody".into();
            let view = view(vec![instance("True"), deployment]);
            let row = view.controllers.first().unwrap();
            assert_eq!((view.controllers.len(), row.ready_pods, row.desired_pods), (1, ready, 1), "{row:?}");
            let lacks = "lacks the label app.kubernetes.io/part-of=flux";
            let says = row.message.as_deref().unwrap_or_default();
            assert!(says.ends_with(lacks) && says.starts_with("it runs, but ") == (ready == 1), "{row:?}");
            assert!(!view.well, "{view:?}");
            assert_eq!(matches!(view.next, Some(NextStep::Reconcile { in_process: true, .. })), ready == 1, "{view:?}");
        }
    }

    #[test]
    fn the_oldest_failures_are_named_and_what_waits_for_them_is_not() {
        let mut objects = vec![instance("True"), controller(1)];
        for day in 1..6 {
            objects.push(kustomization(&format!("f{day}"), "False", "x", &format!("2025-12-0{day}T00:00:00Z")));
            objects.push(kustomization(&format!("w{day}"), "False", "DependencyNotReady", "2025-11-01T00:00:00Z"));
        }
        objects.push(kustomization("ok", "True", "x", "2025-12-01T00:00:00Z"));
        let view = view(objects);
        assert_eq!(view.failing, 5);
        assert_eq!(view.failures.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["f1", "f2", "f3"]);
        assert_eq!(view.kinds, [KindCounts { kind: "Kustomization", total: 11, ready: 1, failing: 5, suspended: 0 }]);
        assert_eq!(view.next, Some(NextStep::ExplainAll));
    }
}

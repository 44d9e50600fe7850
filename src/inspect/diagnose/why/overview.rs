//! All failing objects, grouped by cause.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::{Cause, Reason, Walk, definition, message};
use crate::api::kinds::{self, FLUX_KINDS, FluxKind, INSTANCE};
use crate::api::well_known::condition::READY;
use crate::inspect::diagnose::health::{HealthCounts, HealthVerdict, KindCounts};
use crate::inspect::diagnose::next_step::{HasNextSteps, NextStep};
use crate::inspect::read::snapshot::{Snapshot, WORTH_A_LIST};
use crate::inspect::views::{components, managed, operator};
use crate::k8s::{ObjectId, fields, kstatus};

/// The verdict on all Flux objects and on the workloads that they applied, with the causes of all failures.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WhyAll")]
pub struct Overview {
    /// The verdict on all of it together.
    pub verdict: HealthVerdict,
    /// True if nothing fails and the caller may read everything that decides the verdict.
    pub well: bool,
    /// The verdicts on the Flux objects.
    pub counts: HealthCounts,
    /// The same by kind, in the order of kinds; only kinds that have objects.
    pub kinds: Vec<KindCounts>,
    /// Kinds that the caller is not allowed to read and that decide the verdict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<&'static str>,
    /// Number of examined Flux objects.
    pub total: usize,
    /// Number of examined workloads that Flux applied.
    pub workloads: usize,
    /// Number of objects that fail, are not reconciled by any controller, or no longer exist.
    pub failing: usize,
    /// Number of objects that are still being reconciled, or that wait for such an object.
    pub in_progress: usize,
    /// The causes that explain them, the one with most objects first.
    pub causes: Vec<CauseGroup>,
}

/// A cause, and the objects that do not work because of it.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CauseGroup {
    #[serde(flatten)]
    pub cause: Cause,
    /// The number of affected objects of each kind, in the order of kinds.
    pub kinds: Vec<AffectedKind>,
    /// Every object that does not work because of it, in the order of kinds, then by namespace and name.
    pub affected: Vec<ObjectId>,
}

/// Objects of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AffectedKind {
    pub kind: String,
    pub count: usize,
}

impl HasNextSteps for Overview {
    fn steps(&mut self) -> Vec<&mut NextStep> {
        self.causes.iter_mut().flat_map(|group| &mut group.cause.next).collect()
    }
}

/// Explains the failing Flux objects of a namespace (or all), and the failing workloads that they applied.
pub fn overview(snapshot: &Snapshot, namespace: Option<&str>, now: Timestamp) -> Overview {
    overview_of(snapshot, namespace, None, now)
}

/// Like [`overview`]; `only` limits it to the objects of one kind, without the workloads that they applied.
pub fn overview_of(snapshot: &Snapshot, namespace: Option<&str>, only: Option<&FluxKind>, now: Timestamp) -> Overview {
    // Request all kinds together, with one list per kind.
    let is_meant = |kind: &&FluxKind| kind.kind != "FluxReport" && only.is_none_or(|only| only.kind == kind.kind);
    let kinds = FLUX_KINDS.iter().filter(is_meant);
    let objects: Vec<(&'static FluxKind, &Value)> = kinds
        .flat_map(|kind| snapshot.list(&kind.resource_type(), namespace).into_iter().map(move |o| (kind, o)))
        .collect();
    let _ = components::deployments(snapshot, None);
    let nothing = Overview {
        verdict: HealthVerdict::Ready,
        well: true,
        counts: HealthCounts::default(),
        kinds: vec![],
        unreadable: vec![],
        total: objects.len(),
        workloads: 0,
        failing: 0,
        in_progress: 0,
        causes: vec![],
    };
    if snapshot.is_loading() {
        return nothing;
    }
    list_named(snapshot, &objects);
    let workloads = match only {
        None => managed::workloads(snapshot, objects.iter().map(|(_, object)| *object), namespace),
        Some(_) => vec![],
    };
    // Wait for the lists, so that their objects are not read one by one as well.
    if snapshot.is_loading() {
        return nothing;
    }
    let no_object = Value::Null;
    let mut walk =
        Walk { is_overview: true, scope: namespace.map(str::to_owned), ..Walk::new(snapshot, &no_object, now) };
    // Every round of reads repeats this loop, so it skips healthy objects. They follow once, at the end.
    let reports_ready =
        |object: &Value| fields::condition(object, READY).is_some_and(|c| c.is_true()) && fields::is_observed(object);
    for (_, object) in objects.iter().filter(|(_, object)| !reports_ready(object) && !kinds::is_suspended(object)) {
        let _ = walk.object(object);
    }
    let workloads = workloads.into_iter().map(|workload| {
        let cause = match workload.live {
            Some(live) if kstatus::compute(live).is_current() => None,
            Some(live) => walk.object(live),
            None => walk.vanished(&workload.id, workload.owner),
        };
        (workload, cause)
    });
    let workloads: Vec<_> = workloads.collect();
    if snapshot.is_loading() {
        return nothing;
    }
    let mut counts = HealthCounts::default();
    let mut found = CollectedCauses::default();
    for kind in definition::missing_kinds(snapshot, &objects) {
        if only.is_none_or(|only| only == kind) {
            let cause = definition::missing(kind, restoration(snapshot, now));
            found.add(cause.object.clone(), cause);
        }
    }
    let mut kinds: Vec<KindCounts> = vec![];
    for (kind, object) in &objects {
        let verdict = if kinds::is_suspended(object) {
            HealthVerdict::Suspended
        } else if walk.is_plainly_healthy(kind, object) {
            HealthVerdict::Ready
        } else {
            let cause = walk.object(object);
            let verdict = HealthVerdict::of(object, cause.as_ref());
            if let Some(cause) = cause {
                found.add(ObjectId::of(object), cause);
            }
            verdict
        };
        if kinds.last().is_none_or(|last| last.kind != kind.kind) {
            kinds.push(KindCounts { kind: kind.kind, ..KindCounts::default() });
        }
        if let Some(last) = kinds.last_mut() {
            last.counts.add(verdict);
        }
        counts.add(verdict);
    }
    let count = workloads.len();
    for (workload, cause) in workloads {
        if let Some(cause) = cause {
            // The owner of a missing object may have reported the same cause already.
            let cause = if workload.live.is_none() { found.known(cause) } else { cause };
            found.add(workload.id, applied_by(cause, workload.owner));
        }
    }
    let CollectedCauses { mut groups, in_progress, .. } = found;
    groups.sort_by_key(|group| std::cmp::Reverse(group.affected.len()));
    let failing = groups.iter().map(|group| group.affected.len()).sum();
    let unreadable = definition::unreadable(snapshot, namespace, only);
    let found =
        Overview { counts, kinds, unreadable, failing, in_progress, workloads: count, causes: groups, ..nothing };
    let verdict = whole_verdict(snapshot, &objects, &found);
    Overview { verdict, well: verdict.is_healthy(), ..found }
}

/// Returns the verdict on the whole: the first that applies. A failure is certain even if some objects cannot be read.
fn whole_verdict(snapshot: &Snapshot, objects: &[(&FluxKind, &Value)], found: &Overview) -> HealthVerdict {
    let counts = &found.counts;
    let is_instance_suspended =
        objects.iter().any(|(kind, object)| kind.kind == "FluxInstance" && kinds::is_suspended(object));
    if found.failing > 0 {
        HealthVerdict::Failing
    } else if !found.unreadable.is_empty() {
        HealthVerdict::Unknown
    } else if objects.is_empty() && !definition::is_installed(snapshot) {
        HealthVerdict::NotInstalled
    // `in_progress` also counts workloads and objects that have not started.
    } else if counts.in_progress > 0 || found.in_progress > counts.not_started {
        HealthVerdict::InProgress
    } else if counts.not_started > 0 {
        HealthVerdict::NotStarted
    } else if is_instance_suspended || (counts.total > 0 && counts.suspended == counts.total) {
        HealthVerdict::Suspended
    } else {
        HealthVerdict::Ready
    }
}

/// Returns the step that restores the definitions of Flux.
fn restoration(snapshot: &Snapshot, now: Timestamp) -> NextStep {
    let Some(instance) = snapshot.list(&INSTANCE, None).into_iter().next() else {
        return NextStep::ApplyInProcess.after("apply the instance or the manifests of Flux again");
    };
    let namespace = fields::namespace(instance).unwrap_or_default();
    let in_process = operator::state(snapshot, namespace, now).is_gone();
    NextStep::Reconcile { object: ObjectId::of(instance), in_process, force: false }
}

/// Causes in the order in which they are found, each with the objects that it affects.
#[derive(Default)]
struct CollectedCauses {
    groups: Vec<CauseGroup>,
    places: BTreeMap<String, usize>,
    in_progress: usize,
}

impl CollectedCauses {
    /// Returns the cause without its place if the same cause without a place was added before.
    fn known(&self, cause: Cause) -> Cause {
        let alone = Cause { place: None, ..cause.clone() };
        if self.places.contains_key(&alone.key()) { alone } else { cause }
    }

    fn add(&mut self, object: ObjectId, cause: Cause) {
        if cause.reason == Reason::InProgress {
            self.in_progress += 1;
            return;
        }
        let at = *self.places.entry(cause.key()).or_insert(self.groups.len());
        if at == self.groups.len() {
            self.groups.push(CauseGroup { cause, kinds: vec![], affected: vec![] });
        }
        let Some(group) = self.groups.get_mut(at) else { return };
        match group.kinds.last_mut() {
            Some(last) if last.kind == object.kind => last.count += 1,
            _ => group.kinds.push(AffectedKind { kind: object.kind.clone(), count: 1 }),
        }
        group.affected.push(object);
    }
}

/// Adds the owner that applied the workload to a cause, because the workload's own status does not name it.
fn applied_by(cause: Cause, owner: &Value) -> Cause {
    let is_ready = fields::condition(owner, READY).is_some_and(|c| c.is_true());
    let says = if is_ready { ", which is ready" } else { "" };
    cause.evidence("status", format!("{} applied it{says}", ObjectId::of(owner)), None)
}

/// Requests a list of each kind of which failures name many objects.
fn list_named(snapshot: &Snapshot, objects: &[(&'static FluxKind, &Value)]) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (_, object) in objects {
        let Some(failed) = fields::condition(object, READY).filter(|c| c.is_false()) else { continue };
        for named in message::named_objects(failed.message()) {
            *counts.entry(named.kind).or_default() += 1;
        }
    }
    for (kind, _) in counts.into_iter().filter(|(_, count)| *count > WORTH_A_LIST) {
        // Flux's own kinds are already listed.
        if let Some(resource) = kinds::find_resource_type(&kind).filter(|r| kinds::of(&r.group, &r.kind).is_none()) {
            let _ = snapshot.list(&resource, None);
        }
    }
}

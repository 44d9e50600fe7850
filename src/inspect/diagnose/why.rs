//! `why`: the root cause of an unhealthy object, with the evidence and the next command. Also all unhealthy objects,
//! grouped by cause.
//!
//! ```text
//! instance ─► its namespace ─► operator ─► what the instance itself reports ─► Deployment ─► pod ─► claim, event, log line
//!          └► inventory ─► sync
//! Flux object ─► its controller ─► what it reports ─► dependencies │ source ─► secret │ refused object │ unhealthy object ─► pod ─► …
//!             └► inventory
//! ```
//! The walk stops at the first cause that explains the rest. It keeps every step, so that the reader sees what was
//! ruled out. It does not guess: a text that matches no table is shown unchanged, with what was ruled out.

mod cause;
mod controller;
mod definition;
mod flux;
mod listed;
mod message;
mod overview;
mod source;
mod workload;

use std::collections::BTreeMap;
use std::rc::Rc;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

pub use cause::{Cause, Evidence, Reason};
pub use definition::is_installed;
pub use listed::{RowJudge, RowVerdict, missing_definitions};
pub use overview::{AffectedKind, CauseGroup, Overview, overview, overview_of};

use crate::api::kinds::{self, DEPLOYMENT, EVENT, INSTANCE, NAMESPACE, Suspension};
use crate::api::operator::{OperatorState, desired_replicas, silence};
use crate::api::well_known::{self, condition, reason};
use crate::inspect::diagnose::health::HealthVerdict;
use crate::inspect::diagnose::next_step::{HasNextSteps, NextStep, SecretKind};
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::operator;
use crate::inspect::views::{components, inventory};
use crate::k8s::fields;
use crate::k8s::kstatus;
use crate::k8s::kstatus::Status;
use crate::k8s::{ObjectId, ResourceType};

/// An examined object, with the result.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WalkStep {
    pub object: ObjectId,
    /// Whether the object is healthy; absent if that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// Its own message.
    pub says: String,
}

/// The answer to "why is it not ready?".
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    pub object: ObjectId,
    pub verdict: HealthVerdict,
    /// True when nothing is wrong.
    pub ready: bool,
    pub walk: Vec<WalkStep>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

impl HasNextSteps for Why {
    fn steps(&mut self) -> Vec<&mut NextStep> {
        self.cause.iter_mut().flat_map(|cause| &mut cause.next).collect()
    }
}

/// Explains one object at a moment: a FluxInstance, any other Flux object, or a workload. For a dump, pass
/// [`moment_of`] as `now`, because its leases are as old as the dump.
pub fn why(snapshot: &Snapshot, object: &Value, now: Timestamp) -> Why {
    let mut walk = Walk::new(snapshot, object, now);
    let cause = if walk.is_about_an_instance() { walk.instance() } else { walk.object(object) };
    let verdict = HealthVerdict::of(object, cause.as_ref());
    Why { object: ObjectId::of(object), verdict, ready: cause.is_none(), walk: walk.steps, cause }
}

/// Reason why an object is not reconciled.
#[derive(Clone, Debug, PartialEq)]
pub struct MissingController {
    pub cause: Cause,
    /// False if nothing of Flux is in the cluster: Flux may then run outside of it.
    pub is_certain: bool,
}

/// Returns why an object will not be reconciled: its controller or the operator is missing, is scaled to zero, or
/// leaves the object to a shard that is not running. `None` if a controller may reconcile it, or if that cannot be
/// determined.
pub fn missing_controller(snapshot: &Snapshot, object: &Value, now: Timestamp) -> Option<MissingController> {
    let mut walk = Walk::new(snapshot, object, now);
    if walk.is_about_an_instance() {
        let mut cause = walk.missing_operator(Some("the instance waits for an operator"))?;
        if fields::is_being_deleted(object) {
            cause.next = vec![NextStep::Uninstall(ObjectId::of(object))];
        }
        return Some(MissingController { cause, is_certain: true });
    }
    let kind = kinds::of(fields::group(object), fields::kind(object))?;
    // Pods that are not ready may still become ready.
    let cause = walk.controller(kind, object).filter(|cause| match cause.reason {
        Reason::ControllerMissing | Reason::ControllerStopped | Reason::ShardUnserved => true,
        Reason::OperatorAbsent => cause.object.kind != DEPLOYMENT.kind,
        _ => false,
    })?;
    let is_certain = cause.reason != Reason::ControllerMissing || walk.is_at_work(&cause.object.name);
    Some(MissingController { cause, is_certain })
}

/// The newest time in a dump, which is about when it was written.
pub fn moment_of(snapshot: &Snapshot) -> Option<Timestamp> {
    let condition_times = |object: &Value| {
        fields::items(object, "/status/conditions").iter().filter_map(|c| fields::time(c, "/lastTransitionTime")).max()
    };
    snapshot
        .all()
        .flat_map(|object| {
            [
                fields::time(object, "/spec/renewTime"),
                fields::time(object, "/lastTimestamp"),
                fields::created(object),
                condition_times(object),
            ]
        })
        .flatten()
        .max()
}

/// Limit for the healthy objects that a cause lists as ruled out.
const RULED_OUT: usize = 5;

struct Walk<'a> {
    snapshot: &'a Snapshot,
    /// The requested object.
    subject: &'a Value,
    now: Timestamp,
    steps: Vec<WalkStep>,
    /// The path from the requested object to the current one.
    way: Vec<ObjectId>,
    /// The results of the objects that were already examined.
    known: BTreeMap<ObjectId, Option<Cause>>,
    controllers: Option<Rc<[controller::Controller<'a>]>>,
    /// Whether the walk covers many objects: kinds are listed once for all of them, and healthy objects are not
    /// examined further.
    is_overview: bool,
    /// The namespace of an overview; `None` means that it lists kinds in all namespaces.
    scope: Option<String>,
}

impl<'a> Walk<'a> {
    fn new(snapshot: &'a Snapshot, subject: &'a Value, now: Timestamp) -> Self {
        Walk {
            snapshot,
            subject,
            now,
            steps: vec![],
            way: vec![],
            known: BTreeMap::new(),
            controllers: None,
            is_overview: false,
            scope: None,
        }
    }

    fn is_about_an_instance(&self) -> bool {
        fields::group(self.subject) == well_known::GROUP && fields::kind(self.subject) == "FluxInstance"
    }

    /// Returns the requested object, or the current object of an overview.
    fn asked(&self) -> ObjectId {
        self.way.first().cloned().unwrap_or_else(|| ObjectId::of(self.subject))
    }

    fn namespace(&self) -> &'a str {
        fields::namespace(self.subject).unwrap_or_default()
    }

    /// Adds the healthy objects among the steps since `from` as evidence.
    fn with_ruled_out(&self, cause: Cause, from: usize) -> Cause {
        let fine = self.steps.iter().skip(from).filter(|step| step.ok == Some(true)).take(RULED_OUT);
        fine.fold(cause, |cause, step| {
            cause.evidence("ruled out", format!("{} is fine: {}", step.object, step.says), None)
        })
    }

    fn step(&mut self, object: &Value, ok: Option<bool>, says: impl Into<String>) {
        self.steps.push(WalkStep { object: ObjectId::of(object), ok, says: one_line(&says.into()) });
    }

    /// Returns the events in the namespace of an object.
    fn events_of(&self, object: &Value) -> Vec<&'a Value> {
        let namespace = fields::namespace(object);
        self.listed(&EVENT, namespace)
    }

    /// Returns the objects of a kind in a namespace. An overview of all namespaces reads the whole kind at once.
    fn listed(&self, resource: &ResourceType, namespace: Option<&str>) -> Vec<&'a Value> {
        if self.is_overview && self.scope.is_none() {
            let _ = self.snapshot.list(resource, None);
            return self.snapshot.loaded(resource, namespace).collect();
        }
        self.snapshot.list(resource, namespace)
    }

    fn instance(&mut self) -> Option<Cause> {
        let instance = self.subject;
        let ready = fields::condition(instance, condition::READY);
        let says = ready.map_or_else(
            || "no Ready condition yet".to_owned(),
            |c| format!("Ready is {}, {}: {}", c.status(), c.reason(), c.message()),
        );
        let is_ready = ready.is_some_and(|c| c.is_true()) && fields::is_observed(instance);
        let says = match kinds::is_suspended(instance) {
            _ if fields::is_being_deleted(instance) => fields::BEING_DELETED.to_owned(),
            true => format!("suspended; last run: {says}"),
            false if ready.is_some_and(|c| c.is_true()) && !is_ready => fields::CHANGED_SINCE.to_owned(),
            false => says,
        };
        let is_attended = !kinds::is_suspended(instance) && !fields::is_being_deleted(instance);
        self.step(instance, Some(is_ready && is_attended), says);
        if let Some(cause) = self.deletion() {
            return Some(cause);
        }
        if kinds::is_suspended(instance) {
            return Some(self.suspended(instance));
        }
        if let Some(cause) = self.second_instance() {
            return Some(cause);
        }
        let absence = self.operator();
        // The report of the instance is missing or older than its spec, so it explains nothing.
        let is_outdated = ready.is_none() || !fields::is_observed(instance);
        if absence.is_some() && is_outdated {
            return absence;
        }
        if let Some(cause) = self.reported() {
            return Some(cause);
        }
        let labelled = components::deployments(self.snapshot, Some(self.namespace()));
        for deployment in labelled.into_iter().chain(components::unlabelled(self.snapshot, instance)) {
            // While the instance itself is in progress, its controllers may still be starting.
            let dead = |walk: &Self| walk.without_ready_pod(deployment).filter(|_| is_ready);
            if let Some(cause) = self.deployment(deployment).or_else(|| dead(self)) {
                return Some(cause);
            }
        }
        if let Some(name) = components::missing(self.snapshot, instance).into_iter().next() {
            return Some(self.missing(ObjectId::new(
                &DEPLOYMENT.group,
                &DEPLOYMENT.kind,
                Some(self.namespace()),
                &name,
            )));
        }
        // An unanswered request must not hide an existing failure.
        if absence.is_some() {
            return absence;
        }
        // An overview does not examine the objects of a healthy instance.
        let looks_deeper = !self.is_overview || !is_ready;
        if looks_deeper && let Some(cause) = self.inventory() {
            return Some(cause);
        }
        if looks_deeper && let Some(cause) = self.sync() {
            return Some(cause);
        }
        if is_ready { None } else { Some(self.unexplained()) }
    }

    /// Explains a deletion of the instance or its namespace that has not finished.
    fn deletion(&mut self) -> Option<Cause> {
        let instance = self.subject;
        if let Some(requested) = fields::time(instance, "/metadata/deletionTimestamp") {
            let finalizers = finalizers(instance);
            let mut cause = Cause::new(
                Reason::StuckFinalizer,
                instance,
                format!("deletion was requested, and the finalizer {finalizers} still holds the object"),
            )
            .evidence("metadata", format!("finalizers: {finalizers}"), Some(requested));
            match self.operator_state() {
                OperatorState::Absent | OperatorState::Stopped(_) | OperatorState::Silent(..) => {
                    cause = cause
                        .evidence("operator", "no operator is running that could remove the finalizer", None)
                        .next(NextStep::Uninstall(ObjectId::of(instance)));
                }
                _ => {
                    if let Some(held) = self.held_object() {
                        return Some(held);
                    }
                    cause = cause.next(NextStep::ListEvents(ObjectId::of(instance)));
                }
            }
            return Some(cause);
        }
        let namespace = self.snapshot.get(&NAMESPACE, None, self.namespace())?;
        let requested = fields::time(namespace, "/metadata/deletionTimestamp")?;
        self.step(namespace, Some(false), "being deleted");
        let remaining =
            // The most specific condition first: content remains because of finalizers.
            ["NamespaceFinalizersRemaining", "NamespaceContentRemaining", "NamespaceDeletionDiscoveryFailure"]
                .into_iter()
                .filter_map(|kind| fields::condition(namespace, kind).filter(|c| c.is_true()))
                .map(|c| c.message())
                .next();
        let mut cause = Cause::new(Reason::StuckFinalizer, namespace, "the namespace is being deleted").evidence(
            "metadata",
            "deletion requested",
            Some(requested),
        );
        if let Some(remaining) = remaining {
            cause = cause.evidence("condition", remaining, None);
        }
        Some(cause.next(NextStep::ShowConditions(ObjectId::of(namespace))))
    }

    /// Finds an object of the inventory that is being deleted and is held by a finalizer.
    fn held_object(&mut self) -> Option<Cause> {
        for (reference, live) in inventory::owned(self.snapshot, self.subject)? {
            let Some(live) = live else { continue };
            let Some(requested) = fields::time(live, "/metadata/deletionTimestamp") else { continue };
            let finalizers = finalizers(live);
            if finalizers.is_empty() {
                continue;
            }
            self.step(live, Some(false), format!("being deleted, held by {finalizers}"));
            return Some(
                Cause::new(
                    Reason::StuckFinalizer,
                    live,
                    format!("deletion was requested, and the finalizer {finalizers} still holds the object"),
                )
                .evidence("metadata", format!("finalizers: {finalizers}"), Some(requested))
                .next(NextStep::ShowFinalizers(reference)),
            );
        }
        None
    }

    fn suspended(&self, object: &Value) -> Cause {
        let suspension = kinds::of(fields::group(object), fields::kind(object)).map(|kind| kind.suspension);
        let evidence = match suspension {
            Some(Suspension::Annotation(key)) => format!("annotation {key} is disabled"),
            _ => "spec.suspend is true".to_owned(),
        };
        Cause::new(Reason::Suspended, object, "reconciliation is suspended")
            .evidence("metadata", evidence, None)
            .next(NextStep::Resume { object: ObjectId::of(object), in_process: self.is_an_instance_without_operator() })
    }

    /// Explains an instance beside an earlier one: a cluster takes only one, so every run of this instance is refused.
    fn second_instance(&mut self) -> Option<Cause> {
        let instance = self.subject;
        let is_installed = |instance: &Value| {
            fields::some_text(instance, "/status/lastAppliedRevision").is_some()
                || !fields::items(instance, "/status/inventory/entries").is_empty()
        };
        if is_installed(instance) {
            return None;
        }
        let id = ObjectId::of(instance);
        let others = self.snapshot.list(&INSTANCE, None).into_iter().filter(|other| ObjectId::of(other) != id);
        let first = others.min_by_key(|other| (!is_installed(other), fields::created(other), ObjectId::of(other)))?;
        let is_first = (fields::created(instance), &id) < (fields::created(first), &ObjectId::of(first));
        if !is_installed(first) && is_first {
            return None;
        }
        let first = ObjectId::of(first);
        let summary = format!("a cluster can have only one FluxInstance, and {first} was first");
        self.steps.push(WalkStep { object: first.clone(), ok: Some(true), says: "was first".into() });
        Some(
            Cause::new(Reason::SecondInstance, instance, summary)
                .evidence("status", format!("{first} is in the cluster, and no objects were applied for {id}"), None)
                .next(NextStep::Delete(id)),
        )
    }

    /// Returns what the instance waits for an operator to do, if anything.
    fn pending(&self) -> Option<&'static str> {
        let instance = self.subject;
        let ready = fields::condition(instance, condition::READY);
        let requested = fields::annotation(instance, well_known::REQUESTED_AT_ANNOTATION);
        let handled = fields::some_text(instance, "/status/lastHandledReconcileAt");
        if ready.is_none() {
            Some("the instance has not been reconciled yet")
        } else if !fields::is_observed(instance) {
            Some("the spec has changed since the last reconciliation")
        } else if requested.is_some() && requested != handled {
            Some("a reconcile was requested")
        } else {
            None
        }
    }

    /// Explains an operator that is installed but not working, or missing although the instance waits for it.
    fn operator(&mut self) -> Option<Cause> {
        let pending = self.pending();
        if let Some(gone) = self.missing_operator(pending) {
            return Some(gone);
        }
        match self.operator_state() {
            OperatorState::Stopped(deployment) => self.deployment(deployment).or_else(|| {
                let health = kstatus::compute(deployment);
                Some(
                    Cause::new(
                        Reason::OperatorAbsent,
                        deployment,
                        with_pending(pending, "the operator is not running"),
                    )
                    .evidence("status", format!("{}: {}", health.status, health.message), None)
                    .next(NextStep::Restart(ObjectId::of(deployment))),
                )
            }),
            OperatorState::Silent(deployment, lease) => Some(
                Cause::new(
                    Reason::OperatorAbsent,
                    deployment,
                    with_pending(pending, &format!("the operator {}", silence(lease.as_ref()))),
                )
                .evidence(
                    "lease",
                    if lease.is_some() { "the holder stopped renewing it" } else { "it does not exist" },
                    lease.and_then(|lease| lease.renewed),
                )
                .next(NextStep::Restart(ObjectId::of(deployment))),
            ),
            OperatorState::Absent | OperatorState::Running | OperatorState::TerminalRun(_) | OperatorState::Unknown => {
                None
            }
        }
    }

    /// Explains an operator that is scaled to zero, or missing although something is `pending`.
    fn missing_operator(&self, pending: Option<&str>) -> Option<Cause> {
        let instance = self.subject;
        let here = NextStep::Reconcile { object: ObjectId::of(instance), in_process: true, force: false };
        if let Some(elsewhere) = operator::elsewhere(self.snapshot, self.namespace(), self.now) {
            let place = fields::namespace(elsewhere).unwrap_or_default();
            let summary = with_pending(
                Some(pending?),
                &format!("the operator in namespace {place} reconciles instances of that namespace only"),
            );
            let evidence = format!("the only operator is {}", ObjectId::of(elsewhere));
            return Some(
                Cause::new(Reason::OperatorAbsent, instance, summary).evidence("operator", evidence, None).next(here),
            );
        }
        match self.operator_state() {
            OperatorState::Absent => Some(
                Cause::new(
                    Reason::OperatorAbsent,
                    instance,
                    with_pending(Some(pending?), "no operator is running to handle it"),
                )
                .evidence(
                    "operator",
                    "no operator is running: no Deployment flux-operator and no lease of that name",
                    None,
                )
                .next(here),
            ),
            OperatorState::Stopped(deployment) if desired_replicas(deployment) == 0 => Some(
                Cause::new(Reason::OperatorAbsent, deployment, with_pending(pending, "the operator is scaled to zero"))
                    .evidence("spec", "replicas: 0", None)
                    .next(NextStep::Scale { object: ObjectId::of(deployment), replicas: 1 })
                    .next(here),
            ),
            _ => None,
        }
    }

    fn operator_state(&self) -> OperatorState<'a> {
        operator::state(self.snapshot, self.namespace(), self.now)
    }

    /// Whether this process has to do the work of the operator.
    fn is_an_instance_without_operator(&self) -> bool {
        self.is_about_an_instance() && self.operator_state().is_gone()
    }

    /// Returns the step that reconciles the instance: by its operator, or in this process if none is running.
    fn reconcile(&self) -> NextStep {
        let in_process = self.is_an_instance_without_operator();
        NextStep::Reconcile { object: self.asked(), in_process, force: false }
    }

    fn list_events(&self, object: &Value) -> NextStep {
        NextStep::ListEvents(ObjectId::of(object))
    }

    /// Explains the failure that the instance itself reports: a build, artifact or apply error.
    fn reported(&mut self) -> Option<Cause> {
        let instance = self.subject;
        let stalled = fields::condition(instance, condition::STALLED).filter(|c| c.is_true());
        let failed = fields::condition(instance, condition::READY).filter(|c| c.is_false());
        let reported = stalled.or(failed)?;
        let text = reported.message();
        let (why, summary) = match reported.reason() {
            reason::BUILD_FAILED => message::build_failure(text),
            reason::ARTIFACT_FAILED => message::source_failure(text)
                .unwrap_or((Reason::ArtifactUnavailable, "the distribution artifact cannot be pulled")),
            // The objects were applied but are not healthy. The components show why.
            reason::HEALTH_CHECK_FAILED | reason::HEALTH_CHECK_CANCELED => return None,
            _ if text.contains("timeout waiting for") || text.contains("failed early due to") => return None,
            _ => message::refusal(text)?,
        };
        let refusing = refusing_object(why, text, instance);
        let mut cause =
            Cause::new(why, instance, summary).blamed_on(refusing).evidence("condition", text, reported.changed());
        if let Some(place) = place_of_refusal(why, text, instance) {
            cause = cause.at(place);
        }
        cause = match why {
            Reason::BadVersionRange => cause
                .evidence(
                    "spec",
                    format!("distribution.version: {}", fields::text(instance, "/spec/distribution/version")),
                    None,
                )
                .next(NextStep::ListVersions)
                .next(NextStep::Edit(ObjectId::of(instance))),
            Reason::PatchFailed => {
                cause.next(NextStep::ExportInstance(ObjectId::of(instance))).next(NextStep::BuildExportedInstance)
            }
            Reason::SecretMissing => {
                let secret = fields::some_text(instance, "/spec/distribution/artifactPullSecret").unwrap_or("NAME");
                cause.next(NextStep::CreateSecret {
                    namespace: self.namespace().into(),
                    name: secret.into(),
                    secret: SecretKind::Registry { host: None },
                })
            }
            other => cause.next(next_for_refusal(other, text, instance)),
        };
        Some(cause)
    }

    /// Finds an object of the inventory that is missing, failed or held by a finalizer, or a claim that is pending.
    fn inventory(&mut self) -> Option<Cause> {
        for (reference, live) in inventory::owned(self.snapshot, self.subject)? {
            // The Flux objects of the inventory are those of the sync, which `sync` explains.
            if kinds::of(&reference.group, &reference.kind).is_some() {
                continue;
            }
            let Some(live) = live else {
                let resource = self.snapshot.resource_type(&reference.group, &reference.version, &reference.kind);
                // If the kind could not be read, the object may still be in the cluster.
                if resource.is_some_and(|resource| self.snapshot.knows(&resource)) {
                    return Some(self.missing(reference));
                }
                continue;
            };
            let health = kstatus::compute(live);
            match health.status {
                Status::Terminating if !finalizers(live).is_empty() => {
                    self.step(live, Some(false), health.message);
                    return Some(
                        Cause::new(
                            Reason::StuckFinalizer,
                            live,
                            format!(
                                "deletion was requested, and the finalizer {} still holds the object",
                                finalizers(live)
                            ),
                        )
                        .evidence(
                            "metadata",
                            format!("finalizers: {}", finalizers(live)),
                            fields::time(live, "/metadata/deletionTimestamp"),
                        )
                        .next(self.reconcile()),
                    );
                }
                Status::Failed => {
                    self.step(live, Some(false), health.message.clone());
                    return Some(
                        Cause::new(Reason::ObjectFailed, live, "an applied object reports a failure")
                            .evidence("status", health.message, None)
                            .next(self.list_events(live)),
                    );
                }
                _ if reference.kind == "PersistentVolumeClaim" && health.status == Status::InProgress => {
                    return Some(self.pending_claim(live));
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the cause for an object that the instance applied and that no longer exists.
    fn missing(&mut self, reference: ObjectId) -> Cause {
        self.steps.push(WalkStep { object: reference.clone(), ok: Some(false), says: "not found".into() });
        if let Some(kind) = definition::defined_by(&reference) {
            return definition::missing(kind, self.reconcile());
        }
        let summary = format!("{} {} is missing", reference.kind, reference.name);
        let evidence = format!("{reference} was applied but is not in the cluster");
        let reconcile = self.reconcile();
        Cause::of(Reason::ObjectMissing, reference, summary).evidence("status", evidence, None).next(reconcile)
    }

    /// Returns the cause for an instance that is not ready for an unknown reason.
    fn unexplained(&self) -> Cause {
        let instance = self.subject;
        let ready = fields::condition(instance, condition::READY);
        match ready.filter(|c| c.is_false()) {
            Some(failed) => Cause::new(Reason::ReconciliationFailed, instance, "the last reconciliation failed")
                .evidence("condition", failed.message(), failed.changed())
                .next(self.list_events(instance))
                .next(self.reconcile()),
            None => Cause::new(Reason::InProgress, instance, "reconciliation is in progress")
                .evidence(
                    "condition",
                    ready.map_or("no Ready condition yet", |c| c.message()),
                    ready.and_then(|c| c.changed()),
                )
                .next(NextStep::Wait(ObjectId::of(instance))),
        }
    }
}

/// Joins the pending work with the reason why it is not done.
fn with_pending(pending: Option<&str>, trouble: &str) -> String {
    match pending {
        Some(pending) => format!("{pending}, but {trouble}"),
        None => trouble.to_owned(),
    }
}

fn finalizers(object: &Value) -> String {
    let finalizers = fields::items(object, "/metadata/finalizers").iter().filter_map(Value::as_str);
    finalizers.collect::<Vec<_>>().join(", ")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the place of a cause: the quota, policy or webhook that refused an object, and that may have refused others.
fn place_of_refusal(reason: Reason, text: &str, object: &Value) -> Option<String> {
    let namespace = fields::namespace(object).unwrap_or_default();
    let word = |phrase: &str| message::after(text, phrase).map(str::to_owned);
    match reason {
        Reason::QuotaExceeded => word("quota: ").map(|quota| format!("{namespace}/{quota}")),
        // `conversion webhook for KIND failed`, but `admission webhook "NAME" denied the request`.
        Reason::WebhookRefused => word("webhook for ").or_else(|| word("webhook ")),
        Reason::PolicyRefused => {
            // Pod Security has no object: labels of the namespace set its level.
            word("ValidatingAdmissionPolicy ").or_else(|| Some(format!("{namespace} pod security")))
        }
        // The same user may lack the right for several objects.
        Reason::Forbidden => text.split_once("User \"").and_then(|(_, rest)| rest.split('"').next()).map(Into::into),
        Reason::DefinitionMissing | Reason::DefinitionVersionUnserved => word("no matches for kind "),
        Reason::NamespaceMissing => word("namespaces "),
        Reason::NamespaceTerminating => word("in namespace "),
        // An overload affects any number of objects, all with the same cause.
        Reason::Throttled | Reason::StorageFull => Some(String::new()),
        _ => None,
    }
}

/// Returns the object that refused another object, if the text names it.
fn refusing_object(reason: Reason, text: &str, object: &Value) -> Option<ObjectId> {
    match reason {
        Reason::QuotaExceeded => {
            let quota = message::after(text, "exceeded quota: ").or_else(|| message::after(text, "failed quota: "))?;
            Some(ObjectId::new("", "ResourceQuota", fields::namespace(object), quota))
        }
        Reason::PolicyRefused => {
            let policy = message::after(text, "ValidatingAdmissionPolicy ")?;
            Some(ObjectId::new("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", None, policy))
        }
        _ => None,
    }
}

/// Returns the step that shows more about the refusal of an object.
fn next_for_refusal(reason: Reason, text: &str, object: &Value) -> NextStep {
    let namespace = fields::namespace(object);
    if let Some(refusing) = refusing_object(reason, text, object) {
        return NextStep::Describe(refusing);
    }
    match reason {
        Reason::QuotaExceeded => NextStep::Describe(ObjectId::new("", "ResourceQuota", namespace, "")),
        Reason::WebhookRefused => NextStep::ListWebhooks,
        Reason::PolicyRefused if text.contains("PodSecurity") => {
            NextStep::ShowLabels(ObjectId::new("", "Namespace", None, namespace.unwrap_or_default()))
        }
        Reason::PolicyRefused => NextStep::ListAdmissionPolicies,
        Reason::Forbidden => NextStep::CheckRights,
        Reason::LimitExceeded => NextStep::Describe(ObjectId::new("", "LimitRange", namespace, "")),
        Reason::NamespaceTerminating => {
            let name = message::after(text, "in namespace ").or(namespace).unwrap_or_default();
            NextStep::ShowConditions(ObjectId::new("", "Namespace", None, name))
        }
        _ => NextStep::ListEvents(ObjectId::of(object)),
    }
}

#[cfg(test)]
mod tests;

//! Explains a Flux object: by its controller, its conditions, its dependencies and the objects that it applied.

use std::collections::BTreeSet;

use flux_operator_expression::{Expression, FalsePart};
use jiff::SignedDuration;
use serde_json::Value;

use super::{
    Cause, NextStep, Reason, SecretKind, Walk, finalizers, message, next_for_refusal, place_of_refusal, refusing_object,
};
use crate::api::kinds::{self, CRD, FluxKind, INSTANCE, NAMESPACE};
use crate::api::well_known::condition::{READY, STALLED};
use crate::format::go_duration;
use crate::inspect::views::dependencies::{Dependency, depends_on};
use crate::inspect::views::{health_checks, inventory, judged_objects, resource_set, trace};
use crate::k8s::fields::Condition;
use crate::k8s::{ObjectId, fields, kstatus};

/// Limit for the depth of the walk, because every level takes up stack.
const MAX_DEPTH: usize = 150;
/// Beyond this depth, a kind is read as a list instead of one object at a time.
const LISTED_FROM: usize = 8;
/// How long an object may wait for a busy controller.
const QUEUED: SignedDuration = SignedDuration::from_mins(5);
/// Kinds whose health depends on pods or volumes.
const WORKLOADS: [&str; 6] = ["Deployment", "StatefulSet", "DaemonSet", "Job", "PersistentVolumeClaim", "Pod"];

impl<'a> Walk<'a> {
    /// Returns the cause why an object is not healthy; `None` if it is healthy.
    pub(super) fn object(&mut self, object: &'a Value) -> Option<Cause> {
        let id = ObjectId::of(object);
        if let Some(known) = self.known.get(&id) {
            return known.clone();
        }
        // A cycle of dependencies is reported by `dependencies`.
        if self.way.contains(&id) || self.way.len() >= MAX_DEPTH {
            return None;
        }
        self.way.push(id.clone());
        let cause = match kinds::of(&id.group, &id.kind) {
            Some(_) if id.kind == "FluxInstance" => {
                // `Walk::instance` explains the subject of its walk, so another instance needs a separate walk.
                let scope = self.scope.clone();
                let mut below =
                    Walk { is_overview: self.is_overview, scope, ..Walk::new(self.snapshot, object, self.now) };
                let cause = below.instance();
                self.steps.append(&mut below.steps);
                cause
            }
            Some(kind) => self.flux(kind, object),
            None => self.plain(object),
        };
        self.way.pop();
        self.known.insert(id, cause.clone());
        cause
    }

    fn flux(&mut self, kind: &'static FluxKind, object: &'a Value) -> Option<Cause> {
        let from = self.steps.len();
        let ready = fields::condition(object, READY);
        let is_asked = self.way.len() == 1 && !self.is_overview;
        let is_ready = ready.is_some_and(|c| c.is_true()) && fields::is_observed(object);
        if kinds::is_suspended(object) {
            // A suspended dependency that is ready does not block its dependents.
            let is_cause = is_asked || !is_ready;
            self.step(object, Some(!is_cause), "suspended");
            return is_cause.then(|| self.suspended(object));
        }
        let is_static = is_static(kind, object);
        let failed = fields::condition(object, STALLED).filter(|c| c.is_true()).or(ready.filter(|c| c.is_false()));
        let ok = if failed.is_some() { Some(false) } else { (is_ready || is_static).then_some(true) };
        let says = match ready {
            Some(ready) => ready.message(),
            None if is_static => "nothing to report",
            None => "no Ready condition yet",
        };
        self.step(object, ok, says);
        if let Some(cause) = self.deleted(kind, object) {
            return Some(cause);
        }
        // Checked before the conditions, because without a controller they are outdated.
        if let Some(cause) = self.controller(kind, object) {
            let instance = self.snapshot.list(&INSTANCE, None).into_iter().next();
            let unapplied = instance
                .filter(|_| cause.reason == Reason::ControllerMissing)
                .and_then(|instance| self.unapplied(&cause.object, instance));
            return Some(unapplied.unwrap_or(cause));
        }
        if let Some(failed) = failed {
            return Some(self.failed(kind, object, failed, from));
        }
        if !is_ready && !is_static {
            return Some(self.unfinished(kind, object, from, is_asked));
        }
        if let Some(cause) = self.outdated_kustomization(kind, object, from).or_else(|| self.failing_inputs(object)) {
            return Some(cause);
        }
        // Applied objects are examined only for the requested object, not for a dependency or a part of an instance.
        if is_asked && !self.is_about_an_instance() { self.applied(object) } else { None }
    }

    /// Whether the walk would find no cause. Most objects are healthy, and an overview does not need their steps.
    pub(super) fn is_plainly_healthy(&mut self, kind: &'static FluxKind, object: &Value) -> bool {
        let is_ready = || fields::condition(object, READY).is_some_and(|c| c.is_true()) && fields::is_observed(object);
        kind.kind != "FluxInstance"
            && (is_ready() || is_static(kind, object))
            && fields::condition(object, STALLED).is_none_or(|c| !c.is_true())
            && !fields::is_being_deleted(object)
            && self.controller(kind, object).is_none()
            && self.outdated_kustomization(kind, object, self.steps.len()).is_none()
            && self.failing_inputs(object).is_none()
    }

    /// Explains a failing provider of a ResourceSet, which itself is still ready with its earlier inputs.
    fn failing_inputs(&mut self, object: &Value) -> Option<Cause> {
        let inputs = if resource_set::is_resource_set(object) { self.source(object) } else { None };
        inputs.filter(|cause| !matches!(cause.reason, Reason::InProgress | Reason::Suspended))
    }

    /// Explains a Kustomization whose source has had a newer revision for too long: its controller has not applied it.
    fn outdated_kustomization(&mut self, kind: &FluxKind, object: &Value, from: usize) -> Option<Cause> {
        if kind.kind != "Kustomization" || fields::condition(object, READY).is_none() {
            return None;
        }
        let applied = fields::some_text(object, "/status/lastAppliedRevision")?;
        let source = self.snapshot.get_ref(&trace::source_of(object)?)?;
        let offered = fields::some_text(source, "/status/artifact/revision").filter(|offered| *offered != applied)?;
        let since = fields::time(source, "/status/artifact/lastUpdateTime")?;
        let duration = |pointer: &str| go_duration::parse(fields::text(object, pointer)).ok();
        let interval = duration("/spec/interval").unwrap_or_default();
        // A run may start one interval late, use its whole timeout, and wait for a busy controller.
        let bound = [interval, duration("/spec/timeout").unwrap_or(interval), QUEUED];
        let is_late = bound.into_iter().try_fold(since, |at, part| at.checked_add(part)).is_ok_and(|at| at < self.now);
        if !is_late {
            return None;
        }
        if let Some(cause) = self.throttled(kind, object) {
            return Some(cause);
        }
        let summary = "its source has had a newer revision for a long time, but it is not applied";
        let cause = Cause::new(Reason::RevisionNotApplied, object, summary)
            .evidence("status", format!("{} has {offered}", ObjectId::of(source)), Some(since))
            .evidence("status", format!("last applied: {applied}"), None)
            .at("kustomize-controller");
        let cause = self.with_ruled_out(cause, from);
        let again = NextStep::Reconcile { object: ObjectId::of(object), in_process: false, force: false };
        Some(cause.next(NextStep::ShowLogs(ObjectId::of(object))).next(again))
    }

    /// Explains an object that is being deleted: by its controller, or else by the finalizers that hold it.
    pub(super) fn deleted(&mut self, kind: &'static FluxKind, object: &Value) -> Option<Cause> {
        let requested = fields::time(object, "/metadata/deletionTimestamp")?;
        if let Some(cause) = self.controller(kind, object) {
            return Some(cause);
        }
        let held = finalizers(object);
        let failed = fields::condition(object, READY).filter(|c| c.is_false());
        let mut cause = Cause::new(
            Reason::StuckFinalizer,
            object,
            format!("deletion was requested, and the finalizer {held} still holds the object"),
        )
        .evidence("metadata", format!("finalizers: {held}"), Some(requested));
        if let Some(failed) = failed {
            cause = cause.evidence("condition", failed.message(), failed.changed());
        }
        Some(cause.next(self.list_events(object)))
    }

    /// Explains the failure that an object reports.
    fn failed(&mut self, kind: &'static FluxKind, object: &'a Value, reported: Condition<'a>, from: usize) -> Cause {
        if reported.reason() == "DependencyNotReady"
            && let Some(cause) = self.dependencies(object, reported)
        {
            return cause;
        }
        let is_source = kind.group == kinds::SOURCE_GROUP || kind.kind == "ImageRepository";
        if is_source {
            // A chart fails if its repository fails.
            let repository = self.source(object);
            return repository.unwrap_or_else(|| self.failed_source(object, reported, from));
        }
        // `Ready` may only count the attempts. The condition of the last attempt says more.
        let reported = last_attempt(object, reported);
        let text = reported.message();
        let found = match kind.kind {
            "Kustomization" => message::kustomization_failure(text),
            "HelmRelease" => message::release_failure(text),
            "ImagePolicy" | "ImageUpdateAutomation" => message::image_failure(text),
            "Receiver" if text.contains("\" not found") => {
                Some((Reason::SecretMissing, "the secret with the token of the receiver does not exist"))
            }
            "ResourceSet" => message::resource_set_failure(text),
            _ => message::source_failure(text),
        };
        let waits_for_source = matches!(reported.reason(), "ArtifactFailed" | "SourceNotReady" | "SourceNotFound")
            || matches!(found, Some((Reason::ArtifactUnavailable, _)))
            || (kind.kind == "ResourceSet" && text.contains("failed to compute inputs"));
        if waits_for_source
            && !matches!(found, Some((Reason::KustomizationFailed | Reason::ArtifactCorrupt, _)))
            && let Some(cause) = self.source(object)
        {
            return cause;
        }
        if matches!(found, Some((Reason::HealthCheckFailed | Reason::HelmHookFailed, _)))
            && let Some(cause) = self.unhealthy(object, text)
        {
            return cause;
        }
        let (reason, summary) = found.unwrap_or(match kind.kind {
            "Kustomization" => (Reason::KustomizationFailed, "the content of the source cannot be applied"),
            "HelmRelease" => (Reason::HelmFailed, "the Helm action failed"),
            _ => (Reason::ReconciliationFailed, "the last reconciliation failed"),
        });
        let cause = Cause::new(reason, object, summary).evidence("condition", text, reported.changed());
        let cause = self.detailed(cause, object, text);
        // If the message does not explain the failure, the evidence says which parts are healthy.
        let is_vague = found.is_none() || reason == Reason::HealthCheckFailed;
        if is_vague { self.with_ruled_out(cause, from).next(NextStep::ShowLogs(ObjectId::of(object))) } else { cause }
    }

    /// Adds the details for the reason of a cause: fields of the spec, the broken object, and the next steps.
    fn detailed(&mut self, mut cause: Cause, object: &'a Value, text: &str) -> Cause {
        let namespace = fields::namespace(object).unwrap_or_default();
        let id = ObjectId::of(object);
        let again = || NextStep::Reconcile { object: id.clone(), in_process: false, force: false };
        let spec = |cause: Cause, pointer: &str, field: &str| {
            let value = fields::some_text(object, pointer).map(|value| format!("{field}: {value}"));
            cause.evidence("spec", value.unwrap_or_default(), None)
        };
        if let Some(place) = place_of_refusal(cause.reason, text, object) {
            cause = cause.at(place);
        }
        let refusing = refusing_object(cause.reason, text, object);
        cause = cause.blamed_on(refusing);
        if let Some(refused) = refused_object(text) {
            self.steps.push(super::WalkStep { object: refused.clone(), ok: Some(false), says: "refused".into() });
            cause = cause.evidence("condition", format!("the refused object is {refused}"), None);
        }
        match cause.reason {
            Reason::KustomizationFailed => {
                spec(cause, "/spec/path", "path").next(self.list_events(object)).next(again())
            }
            Reason::SecretMissing => {
                let name = message::after(text, "secrets ").unwrap_or("NAME");
                cause
                    .evidence("secret", format!("Secret/{namespace}/{name} not found"), None)
                    .at(format!("{namespace}/{name}"))
                    .next(NextStep::advice(format!("create the Secret {namespace}/{name}")).then(again()))
            }
            Reason::DecryptionFailed => {
                let secret = fields::some_text(object, "/spec/decryption/secretRef/name");
                let named = secret.or_else(|| message::after(text, "secrets "));
                let cause = spec(cause, "/spec/decryption/provider", "decryption.provider");
                let cause = match secret {
                    Some(secret) => {
                        cause.evidence("secret", format!("keys come from Secret/{namespace}/{secret}"), None)
                    }
                    None => cause.evidence("spec", "decryption.secretRef is not set", None),
                };
                cause
                    .next(NextStep::CreateSecret {
                        namespace: namespace.into(),
                        name: named.unwrap_or("sops-keys").into(),
                        secret: SecretKind::Sops,
                    })
                    .next(again())
            }
            Reason::DefinitionMissing => self.definition(cause, text).next(again()),
            Reason::HelmLocked | Reason::HelmOwnership | Reason::HelmFailed | Reason::HelmHookFailed => {
                let history = fields::items(object, "/status/history").first();
                let says = history.map(|release| {
                    format!(
                        "{} v{}",
                        fields::text(release, "/status"),
                        fields::number(release, "/version").unwrap_or(0)
                    )
                });
                cause
                    .evidence("status", says.map(|says| format!("last release: {says}")).unwrap_or_default(), None)
                    .next(self.list_events(object))
                    .next(NextStep::Reconcile { object: id.clone(), in_process: false, force: true })
            }
            Reason::TemplateFailed | Reason::InputMissing => {
                let place = text
                    .rsplit_once(" (spec.")
                    .map(|(_, place)| format!("spec.{}", place.trim_end().strip_suffix(')').unwrap_or(place)));
                cause
                    .evidence("spec", place.unwrap_or_default(), None)
                    .next(NextStep::ShowInputs(id.clone()))
                    .next(NextStep::Edit(id.clone()))
            }
            Reason::ObjectCollision | Reason::ExpressionInvalid => cause.next(NextStep::Edit(id.clone())),
            Reason::ValuesMissing | Reason::ValuesInvalid | Reason::SubstitutionFailed | Reason::ImmutableField => {
                cause.next(NextStep::Edit(id.clone())).next(again())
            }
            Reason::Forbidden => spec(cause, "/spec/serviceAccountName", "serviceAccountName")
                .next(NextStep::Edit(id.clone()))
                .next(again()),
            Reason::NamespaceMissing => {
                let name = message::after(text, "namespaces ").unwrap_or("NAME");
                cause.next(NextStep::CreateNamespace(name.to_owned())).next(again())
            }
            Reason::ArtifactUnavailable | Reason::ArtifactCorrupt => {
                let source = trace::source_of(object);
                let step = source.map(|object| NextStep::Reconcile { object, in_process: false, force: false });
                cause.next(step.unwrap_or_else(again)).next(self.list_events(object))
            }
            Reason::QuotaExceeded
            | Reason::WebhookRefused
            | Reason::PolicyRefused
            | Reason::LimitExceeded
            | Reason::NamespaceTerminating => {
                let next = next_for_refusal(cause.reason, text, object);
                cause.next(next).next(again())
            }
            _ => cause.next(self.list_events(object)).next(again()),
        }
    }

    /// Adds the versions at which a kind is served, or else the advice to install its definition.
    fn definition(&mut self, cause: Cause, text: &str) -> Cause {
        let kind = message::after(text, "no matches for kind ").unwrap_or_default().to_owned();
        let wanted = message::after(text, "in version ").unwrap_or_default().to_owned();
        let (group, version) = crate::k8s::split_api_version(&wanted);
        let resource = self.snapshot.resource_type(group, version, &kind);
        let name = resource.as_ref().map(|resource| format!("{}.{group}", resource.plural));
        let definition = name.as_deref().and_then(|name| self.snapshot.get(&CRD, None, name));
        let served = definition.map(|definition| {
            let versions = fields::items(definition, "/spec/versions").iter();
            let served = versions.filter(|v| v.get("served").and_then(Value::as_bool).unwrap_or(false));
            served.map(|v| fields::text(v, "/name")).collect::<Vec<_>>().join(", ")
        });
        match served {
            Some(served) => Cause {
                reason: Reason::DefinitionVersionUnserved,
                summary: format!("{kind} is not served at {wanted}"),
                ..cause
            }
            .evidence("status", format!("the CRD serves {served}"), None)
            .next(NextStep::Describe(ObjectId::new(
                &CRD.group,
                &CRD.kind,
                None,
                &name.unwrap_or_default(),
            ))),
            None => cause.next(NextStep::advice(format!("install the CRD of {kind} ({wanted})"))),
        }
    }

    /// Explains why a dependency is not ready. If every dependency is ready by now, the next step is a reconcile.
    fn dependencies(&mut self, object: &'a Value, reported: Condition<'a>) -> Option<Cause> {
        if let Some(cycle) = self.cycle(object) {
            let mut names: Vec<String> = cycle.iter().map(ToString::to_string).collect();
            // Start at the same object wherever the walk entered the cycle, so that it counts as a single cause.
            let turn = names.iter().enumerate().min_by_key(|(_, name)| name.to_string()).map_or(0, |(at, _)| at);
            names.rotate_left(turn);
            let first = cycle.get(turn)?.clone();
            let way = [names.clone(), names.first().cloned().into_iter().collect()].concat().join(" waits for ");
            return Some(
                Cause::of(Reason::DependencyCycle, first.clone(), "the dependencies form a cycle")
                    .evidence("spec", way.clone(), None)
                    .at(way)
                    .next(NextStep::Edit(first)),
            );
        }
        let mut expression = String::new();
        let mut found: Vec<String> = vec![];
        let mut examined = None;
        for Dependency { object: reference, expression: condition } in depends_on(object) {
            match self.dependency(&reference) {
                Some(dependency) => {
                    if let Some(cause) = self.object(dependency) {
                        return Some(cause);
                    }
                }
                None if self.is_absent(&reference) => {
                    let summary = format!("the dependency {} {} does not exist", reference.kind, reference.name);
                    return Some(
                        Cause::of(Reason::DependencyMissing, reference, summary)
                            .evidence("condition", reported.message(), reported.changed())
                            .next(NextStep::Edit(ObjectId::of(object))),
                    );
                }
                None => {}
            }
            if let Some(condition) = condition {
                let dependency = self.dependency(&reference);
                let parts = dependency.and_then(|dependency| false_parts(object, dependency, &condition));
                if parts.as_ref().is_some_and(Vec::is_empty) {
                    continue;
                }
                expression = format!("readyExpr of {reference}: {condition}");
                examined = Some(reference);
                found = parts.unwrap_or_default().iter().map(ToString::to_string).collect();
            }
        }
        if let Some(cause) = self.source(object).or_else(|| self.not_exported(object)) {
            return Some(cause);
        }
        let summary = match expression.is_empty() {
            true => "a dependency was not ready at the last check",
            false => "a dependency does not meet its readyExpr",
        };
        let reason = if expression.is_empty() { Reason::InProgress } else { Reason::DependencyNotReady };
        let cause = Cause::new(reason, object, summary)
            .evidence("condition", reported.message(), reported.changed())
            .evidence("spec", expression, None)
            .evidence("status", found.join("; "), None);
        let cause = self.with_ruled_out(cause, self.steps.len().saturating_sub(1));
        // A run cannot change the result of an expression. In that case, the next step describes the dependency.
        let again = || NextStep::Reconcile { object: ObjectId::of(object), in_process: false, force: false };
        Some(cause.next(examined.map_or_else(again, NextStep::Describe)))
    }

    /// Finds a healthy provider of a ResourceSet that has not exported inputs yet, because of its schedule.
    fn not_exported(&self, object: &'a Value) -> Option<Cause> {
        if !resource_set::is_resource_set(object) {
            return None;
        }
        let providers = resource_set::providers(self.snapshot, object);
        let mut known = providers.into_values().flatten();
        let provider = known.find(|provider| fields::some_text(provider, "/status/lastExportedRevision").is_none())?;
        let summary = format!("ResourceSetInputProvider {} has not exported inputs yet", fields::name(provider));
        let ready = fields::condition(provider, READY);
        let cause = Cause::new(Reason::InProgress, provider, summary).evidence(
            "condition",
            ready.map(|ready| ready.message().to_owned()).unwrap_or_default(),
            ready.and_then(|ready| ready.changed()),
        );
        // Only a forced run ignores the schedule.
        Some(cause.next(NextStep::Reconcile { object: ObjectId::of(provider), in_process: false, force: true }))
    }

    /// Returns a dependency. In a long chain, its kind is read as one list.
    fn dependency(&self, reference: &ObjectId) -> Option<&'a Value> {
        if self.way.len() > LISTED_FROM
            && let Some(kind) = kinds::of(&reference.group, &reference.kind)
        {
            let _ = self.snapshot.list(&kind.resource_type(), None);
        }
        self.snapshot.get_ref(reference)
    }

    /// Whether an object that was not found certainly does not exist.
    fn is_absent(&self, reference: &ObjectId) -> bool {
        let version = if reference.version.is_empty() { "v1" } else { &reference.version };
        let resource = self.snapshot.resource_type(&reference.group, version, &reference.kind);
        // While needs are unanswered, the object may still be loaded.
        !self.snapshot.is_loading() && resource.is_some_and(|resource| self.snapshot.knows(&resource))
    }

    /// Returns a cycle of dependencies that an object leads to.
    fn cycle(&self, object: &'a Value) -> Option<Vec<ObjectId>> {
        // Not recursive: a chain of dependencies may be longer than the stack allows.
        let mut way = vec![ObjectId::of(object)];
        let mut waiting = vec![depends_on(object)];
        let mut done = BTreeSet::new();
        while let Some(next) = waiting.last_mut() {
            let Some(Dependency { object: reference, .. }) = next.pop() else {
                waiting.pop();
                done.extend(way.pop());
                continue;
            };
            if let Some(at) = way.iter().position(|id| *id == reference) {
                return way.get(at..).map(<[ObjectId]>::to_vec);
            }
            if done.contains(&reference) {
                continue;
            }
            if way.len() > LISTED_FROM
                && let Some(kind) = kinds::of(&reference.group, &reference.kind)
            {
                let _ = self.snapshot.list(&kind.resource_type(), None);
            }
            if let Some(dependency) = self.snapshot.get_ref(&reference) {
                way.push(reference);
                waiting.push(depends_on(dependency));
            }
        }
        None
    }

    /// Explains why the content or the inputs of an object are not available.
    fn source(&mut self, object: &Value) -> Option<Cause> {
        let is_set = resource_set::is_resource_set(object);
        let references = match is_set {
            true => resource_set::providers(self.snapshot, object).into_keys().collect(),
            false => content_of(object),
        };
        for reference in references {
            match self.snapshot.get_ref(&reference) {
                Some(source) => {
                    if let Some(cause) = self.object(source) {
                        return Some(cause);
                    }
                }
                None if self.is_absent(&reference) => {
                    self.steps.push(super::WalkStep {
                        object: reference.clone(),
                        ok: Some(false),
                        says: "not found".into(),
                    });
                    let summary = format!("{} {} does not exist", reference.kind, reference.name);
                    let user = ObjectId::of(object);
                    return Some(
                        Cause::of(Reason::DependencyMissing, reference, summary)
                            .evidence(
                                "spec",
                                format!("{user} takes its {} from it", if is_set { "inputs" } else { "content" }),
                                None,
                            )
                            .next(NextStep::Edit(user)),
                    );
                }
                None => {}
            }
        }
        None
    }

    /// Explains an unhealthy applied object: first objects in the text, then those with expressions, then workloads.
    fn unhealthy(&mut self, object: &'a Value, text: &str) -> Option<Cause> {
        let entries = inventory::entries(object);
        // Texts do not contain the group, so it comes from the inventory, or else from the known kinds.
        let named = message::named_objects(text).into_iter().filter_map(|named| {
            let is_it =
                |id: &&ObjectId| id.kind == named.kind && id.namespace == named.namespace && id.name == named.name;
            let known = || {
                let group = kinds::find_resource_type(&named.kind)?.group;
                Some(ObjectId::new(&group, &named.kind, Some(&named.namespace), &named.name))
            };
            entries.iter().find(is_it).cloned().or_else(known)
        });
        let mut on_its_way = None;
        for id in named.collect::<Vec<_>>() {
            let cause = match self.snapshot.get_ref(&id) {
                Some(live) => {
                    // "In progress" explains least, so the expressions of the owner come before it.
                    let deeper = self.object(live).filter(|cause| cause.reason != Reason::InProgress);
                    deeper.or_else(|| self.health_check(object, live)).or_else(|| self.object(live))
                }
                None if self.is_absent(&id) => {
                    let summary = format!("{} {} is not in the cluster", id.kind, id.name);
                    let reconcile =
                        NextStep::Reconcile { object: ObjectId::of(object), in_process: false, force: false };
                    Some(
                        Cause::of(Reason::ObjectMissing, id, summary).evidence("condition", text, None).next(reconcile),
                    )
                }
                None => None,
            };
            match cause {
                Some(cause) if cause.reason == Reason::InProgress => on_its_way = on_its_way.or(Some(cause)),
                Some(cause) => return Some(cause),
                None => {}
            }
        }
        if on_its_way.is_some() {
            return on_its_way;
        }
        for id in judged_objects::awaited(object) {
            if let Some(cause) = self.snapshot.get_ref(&id).and_then(|live| self.health_check(object, live)) {
                return Some(cause);
            }
        }
        for live in self.workloads(object, &entries) {
            if kstatus::compute(live).is_current() {
                continue;
            }
            if let Some(cause) = self.object(live) {
                return Some(cause);
            }
        }
        None
    }

    /// Explains an object that is unhealthy by the expressions of its owner; `None` if it is healthy or has none.
    fn health_check(&mut self, owner: &Value, live: &Value) -> Option<Cause> {
        let health = health_checks::by_expressions(owner, live).filter(|health| !health.is_current())?;
        self.step(live, Some(false), health.message.clone());
        let summary = format!("it is not healthy according to the expressions of {}", ObjectId::of(owner));
        Some(
            Cause::new(Reason::HealthCheckFailed, live, summary)
                .evidence("status", health.message, None)
                .next(NextStep::Describe(ObjectId::of(live)))
                .next(NextStep::Edit(ObjectId::of(owner))),
        )
    }

    /// Returns the workloads that an object applied.
    fn workloads(&self, object: &'a Value, entries: &[ObjectId]) -> Vec<&'a Value> {
        let is_workload = |id: &&ObjectId| WORKLOADS.contains(&id.kind.as_str());
        let listed: Vec<&Value> =
            entries.iter().filter(is_workload).filter_map(|id| self.snapshot.get_ref(id)).collect();
        if !entries.is_empty() || fields::kind(object) != "HelmRelease" {
            return listed;
        }
        // Without an inventory, find the objects by the labels that helm-controller sets.
        let (group, name) = (kinds::HELM_GROUP, fields::name(object));
        let own = fields::namespace(object).unwrap_or_default();
        let selector = format!("{group}/name={name},{group}/namespace={own}");
        let namespace = fields::some_text(object, "/spec/targetNamespace").unwrap_or(own);
        ["Deployment", "StatefulSet", "DaemonSet"]
            .into_iter()
            .filter_map(|kind| kinds::resource_type_of("apps", kind))
            .chain(kinds::resource_type_of("batch", "Job"))
            .flat_map(|resource| self.snapshot.list_labelled(&resource, Some(namespace), &selector))
            .collect()
    }

    /// Explains an object whose reconciliation is not finished.
    fn unfinished(&mut self, kind: &FluxKind, object: &'a Value, from: usize, is_asked: bool) -> Cause {
        let is_source = fields::group(object) == kinds::SOURCE_GROUP;
        if is_source && let Some(cause) = self.untried_source(object) {
            return cause;
        }
        if let Some(cause) = self.source(object) {
            return cause;
        }
        if is_asked && let Some(cause) = self.applied(object) {
            return cause;
        }
        let ready = fields::condition(object, READY);
        let since = ready.and_then(|c| c.changed()).or_else(|| fields::time(object, "/metadata/creationTimestamp"));
        let is_long = since.and_then(|since| since.checked_add(QUEUED).ok()).is_some_and(|due| due < self.now);
        if is_long && let Some(cause) = self.throttled(kind, object) {
            return cause;
        }
        let says = ready.map_or("no Ready condition yet", |c| c.message());
        let cause = Cause::new(Reason::InProgress, object, "reconciliation is in progress").evidence(
            "condition",
            says,
            ready.and_then(|c| c.changed()),
        );
        self.with_ruled_out(cause, from).next(NextStep::Wait(ObjectId::of(object)))
    }

    /// Explains why an applied workload is missing; `None` if it need not exist.
    pub(super) fn vanished(&mut self, id: &ObjectId, owner: &'a Value) -> Option<Cause> {
        // A finished Job may be deleted. An owner that is suspended or being deleted does not create its objects again.
        let is_leaving = kinds::is_suspended(owner) || fields::at(owner, "/metadata/deletionTimestamp").is_some();
        if id.kind == "Job" || is_leaving || !self.is_absent(id) {
            return None;
        }
        let namespace = id.namespace().unwrap_or_default();
        let known = self.snapshot.get(&NAMESPACE, None, namespace);
        if known.is_none() && self.snapshot.knows(&NAMESPACE) {
            let place = ObjectId::new(&NAMESPACE.group, &NAMESPACE.kind, None, namespace);
            let summary = format!("the namespace {namespace} no longer exists, nor do the objects applied to it");
            return Some(
                Cause::of(Reason::NamespaceMissing, place, summary)
                    .evidence(
                        "status",
                        format!("{id} is in an inventory but its namespace is not in the cluster"),
                        None,
                    )
                    .next(NextStep::Reconcile { object: ObjectId::of(owner), in_process: false, force: false }),
            );
        }
        if let Some(cause) = self.unapplied(id, owner) {
            return Some(cause);
        }
        let owner = ObjectId::of(owner);
        // All objects that an owner lost count as a single cause.
        Some(deleted_object(id.clone(), &owner).at(owner.to_string()))
    }

    /// Returns why the owner of a missing object could not apply it, if its failure names the object.
    fn unapplied(&mut self, missing: &ObjectId, owner: &'a Value) -> Option<Cause> {
        let failed = fields::condition(owner, READY).filter(|c| c.is_false())?;
        let is_missing = |named: &message::NamedObject| {
            (&named.kind, &named.namespace, &named.name) == (&missing.kind, &missing.namespace, &missing.name)
        };
        message::named_objects(failed.message()).iter().find(|named| is_missing(named))?;
        // That an object is missing does not explain why the owner could not apply it.
        self.object(owner).filter(|cause| cause.reason != Reason::ObjectMissing)
    }

    /// Explains an object by an applied object that is missing or not healthy.
    fn applied(&mut self, object: &'a Value) -> Option<Cause> {
        let own = ObjectId::of(object);
        for (id, live) in inventory::owned(self.snapshot, object)? {
            // The Kustomization of a bootstrapped cluster has itself in its inventory.
            if id == own || kinds::of(&id.group, &id.kind).is_some() {
                continue;
            }
            match live {
                None if self.is_absent(&id) => {
                    self.steps.push(super::WalkStep { object: id.clone(), ok: Some(false), says: "not found".into() });
                    return Some(deleted_object(id, &own));
                }
                // The expressions of the owner replace the health of the object's own status.
                Some(live) if health_checks::expressions_for(object, &id.group, &id.kind).is_some() => {
                    if let Some(cause) = self.health_check(object, live) {
                        return Some(cause);
                    }
                }
                Some(live) if !kstatus::compute(live).is_current() => {
                    if let Some(cause) = self.object(live).filter(|cause| cause.reason != Reason::InProgress) {
                        return Some(cause);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// Whether no controller reports on an object: a HelmRepository of type `oci`, or a kind without status.
fn is_static(kind: &FluxKind, object: &Value) -> bool {
    fields::condition(object, READY).is_none() && (!kind.has_status || fields::text(object, "/spec/type") == "oci")
}

/// Returns the object that the API server refused, if the text begins with it: `Deployment/apps/web dry-run failed`.
fn refused_object(text: &str) -> Option<ObjectId> {
    let text = text.trim_start().trim_start_matches("prune failed: ");
    let (first, rest) = text.split_once(' ')?;
    let is_refusal =
        ["dry-run failed", "apply failed", "delete failed", "not found:"].iter().any(|p| rest.starts_with(p));
    let named = message::named_objects(first).into_iter().next().filter(|_| is_refusal)?;
    let group = kinds::find_resource_type(&named.kind).map(|resource| resource.group).unwrap_or_default();
    Some(ObjectId::new(
        &group,
        &named.kind,
        Some(&named.namespace).filter(|n| !n.is_empty()).map(String::as_str),
        &named.name,
    ))
}

/// Returns the cause for an object that was applied and no longer exists.
fn deleted_object(id: ObjectId, owner: &ObjectId) -> Cause {
    let summary = format!("{} {} was applied but no longer exists", id.kind, id.name);
    Cause::of(Reason::ObjectMissing, id, summary)
        .evidence("status", format!("it is in the inventory of {owner} but not in the cluster"), None)
        .next(NextStep::Reconcile { object: owner.clone(), in_process: false, force: false })
}

/// Returns the condition of the last attempt, if `Ready` only counts attempts or reports a rollback.
fn last_attempt<'a>(object: &'a Value, reported: Condition<'a>) -> Condition<'a> {
    if !reported.message().contains("attempt(s)") && reported.reason() != "RollbackSucceeded" {
        return reported;
    }
    let mut ended = ["Released", "TestSuccess"].into_iter().filter_map(|kind| fields::condition(object, kind));
    ended.find(|c| c.is_false()).unwrap_or(reported)
}

/// Returns the parts of a `readyExpr` that are not true for a dependency; `None` if that cannot be determined.
///
/// A ResourceSet sees the fields of the dependency, a Kustomization and a HelmRelease see it as `dep` and themselves as
/// `self` (<https://fluxcd.io/flux/components/kustomize/kustomizations/#dependency-ready-expression>).
fn false_parts(object: &Value, dependency: &Value, expression: &str) -> Option<Vec<FalsePart>> {
    // The values of a Secret are not read.
    if fields::kind(dependency) == "Secret" {
        return None;
    }
    let expression = Expression::parse(expression).ok()?;
    if resource_set::is_resource_set(object) {
        return Some(expression.explain(dependency.as_object()?));
    }
    let both = [("dep", dependency), ("self", object)].map(|(name, object)| (name.to_owned(), object.clone()));
    Some(expression.explain(&both.into_iter().collect()))
}

/// Returns the objects from which an object takes its content.
fn content_of(object: &Value) -> Vec<ObjectId> {
    let namespace = fields::namespace(object);
    let reference = |group: &str, kind: &str, at: &Value| {
        let place = fields::some_text(at, "/namespace").or(namespace);
        fields::some_text(at, "/name").map(|name| ObjectId::new(group, kind, place, name))
    };
    match fields::kind(object) {
        "HelmRelease" => {
            let chart = fields::some_text(object, "/status/helmChart").and_then(|chart| chart.split_once('/'));
            let chart =
                chart.map(|(namespace, name)| ObjectId::new(kinds::SOURCE_GROUP, "HelmChart", Some(namespace), name));
            chart.or_else(|| trace::source_of(object)).into_iter().collect()
        }
        "ImagePolicy" => {
            let at = fields::at(object, "/spec/imageRepositoryRef");
            at.and_then(|at| reference(kinds::IMAGE_GROUP, "ImageRepository", at)).into_iter().collect()
        }
        "ArtifactGenerator" => fields::items(object, "/spec/sources")
            .iter()
            .filter_map(|at| reference(kinds::SOURCE_GROUP, fields::text(at, "/kind"), at))
            .collect(),
        _ => trace::source_of(object).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests;

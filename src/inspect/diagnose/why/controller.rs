//! Explains an object by its controller, which is missing, stopped, failing, or of another shard.

use std::rc::Rc;

use serde_json::Value;

use super::{Cause, NextStep, Reason, Walk};
use crate::api::Component;
use crate::api::kinds::{self, DEPLOYMENT, FluxKind, INSTANCE, POD_METRICS};
use crate::api::operator::desired_replicas;
use crate::api::operator::{OperatorState, silence};
use crate::api::well_known::{self, condition::READY};
use crate::inspect::views::components;
use crate::inspect::views::operator;
use crate::k8s::label_selector::LabelSelector;
use crate::k8s::quantity::Quantity;
use crate::k8s::{ObjectId, fields, kstatus};

/// A Deployment of a controller, and the selection of the objects that it reconciles.
#[derive(Clone, Debug)]
pub(super) struct Controller<'a> {
    deployment: &'a Value,
    id: ObjectId,
    component: &'static str,
    /// The value of `--watch-label-selector`.
    selector: Option<LabelSelector>,
    /// Whether it reconciles only objects of its own namespace.
    is_namespaced: bool,
}

impl<'a> Controller<'a> {
    fn of(deployment: &'a Value) -> Option<Self> {
        let name = fields::name(deployment);
        // The Deployment of a shard is called `source-controller-SHARD`.
        let is_it = |component: &Component| {
            name.strip_prefix(component.as_str()).is_some_and(|shard| shard.is_empty() || shard.starts_with('-'))
        };
        let component = Component::ALL.into_iter().find(is_it)?.as_str();
        let containers = fields::items(deployment, "/spec/template/spec/containers").iter();
        let arguments: Vec<&str> =
            containers.flat_map(|container| fields::items(container, "/args")).filter_map(Value::as_str).collect();
        let value = |flag: &str| arguments.iter().find_map(|argument| argument.strip_prefix(flag));
        Some(Controller {
            deployment,
            id: ObjectId::of(deployment),
            component,
            // An invalid selector counts as none, because the controller would not run with it.
            selector: value("--watch-label-selector=").and_then(|selector| selector.parse().ok()),
            is_namespaced: value("--watch-all-namespaces=") == Some("false"),
        })
    }

    fn serves(&self, object: &Value) -> bool {
        self.selector.as_ref().is_none_or(|selector| selector.matches_object(object))
            && (!self.is_namespaced || fields::namespace(object) == fields::namespace(self.deployment))
    }
}

/// The controller that reconciles a kind; `None` for the operator, and for kinds that any controller may reconcile.
pub(super) fn controller_of(kind: &FluxKind) -> Option<&'static str> {
    let component = match (kind.group, kind.kind) {
        (_, "ExternalArtifact") => return None,
        (kinds::SOURCE_GROUP, _) => Component::SourceController,
        (kinds::SOURCE_EXTENSIONS_GROUP, _) => Component::SourceWatcher,
        (kinds::KUSTOMIZE_GROUP, _) => Component::KustomizeController,
        (kinds::HELM_GROUP, _) => Component::HelmController,
        (kinds::NOTIFICATION_GROUP, _) => Component::NotificationController,
        (kinds::IMAGE_GROUP, "ImageUpdateAutomation") => Component::ImageAutomationController,
        (kinds::IMAGE_GROUP, _) => Component::ImageReflectorController,
        _ => return None,
    };
    Some(component.as_str())
}

impl<'a> Walk<'a> {
    /// The cause why an object is not reconciled; `None` if it is, or if that cannot be determined.
    pub(super) fn controller(&mut self, kind: &FluxKind, object: &Value) -> Option<Cause> {
        let Some(name) = controller_of(kind) else { return self.operator_of(kind, object) };
        let all = self.controllers();
        if !self.snapshot.knows(&DEPLOYMENT) || self.snapshot.is_loading() {
            return None;
        }
        let own = || all.iter().filter(|controller| controller.component == name);
        let mut found = None;
        for controller in own().filter(|controller| controller.serves(object)) {
            // A single healthy Deployment is enough.
            let cause = self.serving(controller)?;
            found = found.or(Some(cause));
        }
        if found.is_some() {
            return found;
        }
        if let Some(other) = own().next() {
            return Some(unserved(object, name, other));
        }
        if let Some(unlabelled) = self.unlabelled(name).filter(|controller| controller.serves(object)) {
            return self.serving(&unlabelled);
        }
        // Flux may also run outside of this cluster, so an object that is reconciled lacks no controller.
        let is_expected = !all.is_empty() || self.is_component(name) || !is_attended(object);
        is_expected.then(|| self.absent(name, &all))
    }

    /// A controller of an instance that lacks the label of Flux.
    fn unlabelled(&self, name: &str) -> Option<Controller<'a>> {
        let instances = self.snapshot.list(&INSTANCE, None).into_iter();
        let mut all = instances.flat_map(|instance| components::unlabelled(self.snapshot, instance));
        all.find_map(|deployment| Controller::of(deployment).filter(|controller| controller.component == name))
    }

    /// Whether Flux runs in this cluster: it has other controllers, or the missing one is a component of an instance.
    pub(super) fn is_at_work(&mut self, name: &str) -> bool {
        !self.controllers().is_empty() || self.is_component(name)
    }

    /// Judges every controller, including those of shards, so that the objects that explain each of them are read.
    pub(super) fn judge_controllers(&mut self) {
        for controller in self.controllers().iter() {
            let _ = self.serving(controller);
        }
    }

    /// Whether every object of a kind has a working controller, regardless of its labels and namespace.
    pub(super) fn is_served(&mut self, kind: &FluxKind) -> bool {
        let Some(name) = controller_of(kind) else { return kind.group != well_known::GROUP };
        if !self.snapshot.knows(&DEPLOYMENT) {
            return true;
        }
        let all = self.controllers();
        let mut own = all.iter().filter(|controller| controller.component == name).peekable();
        own.peek().is_some()
            && own.all(|one| one.selector.is_none() && !one.is_namespaced && self.serving(one).is_none())
    }

    /// Returns the controllers, which are read once per walk.
    fn controllers(&mut self) -> Rc<[Controller<'a>]> {
        let snapshot = self.snapshot;
        let find = || components::deployments(snapshot, None).into_iter().filter_map(Controller::of).collect();
        self.controllers.get_or_insert_with(find).clone()
    }

    /// Explains a controller without a ready pod; `None` if it reconciles.
    fn serving(&mut self, controller: &Controller<'a>) -> Option<Cause> {
        let Controller { deployment, id, component: name, .. } = controller;
        if let Some(known) = self.known.get(id) {
            return known.clone();
        }
        let health = kstatus::compute(deployment);
        let ready = fields::number(deployment, "/status/readyReplicas").unwrap_or(0);
        let cause = if desired_replicas(deployment) == 0 {
            self.step(deployment, Some(false), "scaled to zero");
            let cause = Cause::new(Reason::ControllerStopped, deployment, format!("{name} is scaled to zero"))
                .evidence("spec", "replicas: 0", None)
                .next(NextStep::Scale { object: id.clone(), replicas: 1 });
            Some(cause)
        // During a rollout, a pod of the previous revision still reconciles.
        } else if health.is_current() || ready > 0 {
            let says = if health.is_current() { health.message } else { format!("{ready} pods are ready") };
            self.step(deployment, Some(true), says);
            None
        } else {
            let cause = self.deployment(deployment).or_else(|| self.without_ready_pod(deployment));
            // Keep the place of a cause that several controllers share.
            cause.map(|cause| if cause.place.is_none() { cause.at(*name) } else { cause })
        };
        self.known.insert(id.clone(), cause.clone());
        cause
    }

    /// Returns the cause for a controller that has no ready pod for an unknown reason.
    pub(super) fn without_ready_pod(&self, deployment: &Value) -> Option<Cause> {
        let health = kstatus::compute(deployment);
        let ready = fields::number(deployment, "/status/readyReplicas").unwrap_or(0);
        if health.is_current() || ready > 0 || desired_replicas(deployment) == 0 {
            return None;
        }
        let name = fields::name(deployment);
        let summary = format!("no pod of {name} is ready");
        Some(
            Cause::new(Reason::ControllerNotReady, deployment, summary)
                .evidence("status", format!("{}: {}", health.status, health.message), None)
                .next(NextStep::Describe(ObjectId::of(deployment)))
                .at(name),
        )
    }

    /// Explains the delay of a running controller that has reached its CPU limit; `None` if no metrics show that.
    pub(super) fn throttled(&mut self, kind: &FluxKind, object: &Value) -> Option<Cause> {
        let name = controller_of(kind)?;
        let controllers = self.controllers();
        let own = controllers.iter().filter(|controller| controller.component == name && controller.serves(object));
        own.map(|controller| controller.deployment).find_map(|deployment| {
            let measured = self.snapshot.list(&POD_METRICS, fields::namespace(deployment));
            let pods = components::pods(self.snapshot, deployment);
            let (pod, usage, limit) = pods.into_iter().find_map(|pod| {
                let metrics = measured.iter().find(|metrics| fields::name(metrics) == fields::name(pod))?;
                let (usage, limit) = at_its_limit(pod, metrics)?;
                Some((pod, usage, limit))
            })?;
            self.step(deployment, Some(false), "has reached its CPU limit");
            let cause = Cause::new(
                Reason::ControllerThrottled,
                deployment,
                format!("{name} has reached its CPU limit and is throttled"),
            );
            let size = match self.snapshot.list(&INSTANCE, None).first() {
                Some(instance) => {
                    NextStep::advice("raise its limit with spec.cluster.size or a patch of its resources")
                        .then(NextStep::Edit(ObjectId::of(instance)))
                }
                None => NextStep::Edit(ObjectId::of(deployment)),
            };
            let cause = cause.evidence("status", format!("{} uses {usage} of {limit} CPU", ObjectId::of(pod)), None);
            Some(cause.at(name).next(size))
        })
    }

    /// Whether an instance has a controller among its components.
    fn is_component(&self, name: &str) -> bool {
        let instances = self.snapshot.list(&INSTANCE, None);
        let mut components = instances.into_iter().flat_map(|instance| fields::items(instance, "/status/components"));
        components.any(|component| fields::text(component, "/name") == name)
    }

    fn absent(&self, name: &str, others: &[Controller<'a>]) -> Cause {
        let instance = self.snapshot.list(&INSTANCE, None).into_iter().next();
        let beside = others.first().map(|other| other.deployment).or(instance);
        let namespace = beside.and_then(fields::namespace).unwrap_or(well_known::DEFAULT_NAMESPACE);
        let id = ObjectId::new(&DEPLOYMENT.group, &DEPLOYMENT.kind, Some(namespace), name);
        let cause = Cause::of(Reason::ControllerMissing, id, format!("{name} is not installed")).evidence(
            "status",
            format!("no Deployment {name} in any namespace"),
            None,
        );
        match instance {
            Some(instance) => cause.next(NextStep::Explain(ObjectId::of(instance))),
            None => cause.next(NextStep::advice(format!("install {name}"))),
        }
    }

    /// Explains why the operator does not reconcile an object of its own kinds; `None` if it may.
    fn operator_of(&mut self, kind: &FluxKind, object: &Value) -> Option<Cause> {
        if kind.group != well_known::GROUP || is_attended(object) {
            return None;
        }
        let namespace = fields::namespace(object).unwrap_or_default();
        let (deployment, text) = match operator::state(self.snapshot, namespace, self.now) {
            OperatorState::Absent => (None, "no operator is running".to_owned()),
            OperatorState::Stopped(deployment) => (Some(deployment), "no pod of the operator is ready".to_owned()),
            OperatorState::Silent(deployment, lease) => {
                (Some(deployment), format!("the operator {}", silence(lease.as_ref())))
            }
            OperatorState::Running | OperatorState::TerminalRun(_) | OperatorState::Unknown => return None,
        };
        let summary = format!("the object waits for an operator, but {text}");
        let cause = Cause::new(Reason::OperatorAbsent, deployment.unwrap_or(object), summary)
            .evidence("operator", text, None)
            .at("operator");
        Some(match deployment {
            Some(deployment) => cause.next(NextStep::Describe(ObjectId::of(deployment))),
            None => cause.next(NextStep::Reconcile { object: ObjectId::of(object), in_process: true, force: false }),
        })
    }
}

/// Percentage of the CPU limit from which a container counts as throttled. It is below 100 because metrics are averages
/// and late.
const AT_LIMIT: i128 = 95;

/// Returns the usage and limit of a container that has reached its CPU limit.
fn at_its_limit<'a>(pod: &'a Value, metrics: &'a Value) -> Option<(&'a str, &'a str)> {
    fields::items(pod, "/spec/containers").iter().find_map(|container| {
        let limit = fields::some_text(container, "/resources/limits/cpu")?;
        let mut measured = fields::items(metrics, "/containers").iter();
        let usage = measured.find(|one| fields::text(one, "/name") == fields::text(container, "/name"))?;
        let usage = fields::some_text(usage, "/usage/cpu")?;
        let percent = Quantity::parse(usage)?.percent_of(Quantity::parse(limit)?)?;
        (percent >= AT_LIMIT).then_some((usage, limit))
    })
}

fn unserved(object: &Value, name: &str, other: &Controller<'_>) -> Cause {
    let labels = fields::at(object, "/metadata/labels").and_then(Value::as_object);
    let shard = labels.into_iter().flatten().find(|(key, _)| key.starts_with("sharding."));
    let id = ObjectId::of(object);
    let cause = match shard {
        Some((key, value)) => {
            let value = value.as_str().unwrap_or_default();
            Cause::new(Reason::ShardUnserved, object, format!("no {name} serves the shard {value}"))
                .evidence("metadata", format!("label {key}: {value}"), None)
                .at(format!("{name} {value}"))
        }
        None if other.is_namespaced => {
            Cause::new(Reason::ShardUnserved, object, format!("{name} watches only its own namespace"))
                .evidence("spec", format!("{} watches one namespace", ObjectId::of(other.deployment)), None)
                .at(name)
        }
        None => Cause::new(Reason::ShardUnserved, object, format!("no {name} selects the object by its labels"))
            .evidence("metadata", "it has no shard label", None)
            .at(name),
    };
    cause.next(NextStep::ShowLabels(id)).next(NextStep::Describe(ObjectId::of(other.deployment)))
}

/// Whether a controller has observed the stored generation of an object, and handled the last request.
fn is_attended(object: &Value) -> bool {
    let requested = fields::annotation(object, well_known::REQUESTED_AT_ANNOTATION);
    let handled = fields::some_text(object, "/status/lastHandledReconcileAt");
    let has_no_status = kinds::of(fields::group(object), fields::kind(object)).is_some_and(|kind| !kind.has_status);
    has_no_status
        || (fields::condition(object, READY).is_some()
            && fields::is_observed(object)
            && (requested.is_none() || requested == handled))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::inspect::diagnose::why::{MissingController, Reason, missing_controller};
    use crate::inspect::read::snapshot::Snapshot;

    fn deployment(name: &str, replicas: i64, ready: i64) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "fs",
                "labels": {"app.kubernetes.io/part-of": "flux"}},
            "spec": {"replicas": replicas, "template": {"spec": {"containers": [{"args": []}]}}},
            "status": {"readyReplicas": ready, "replicas": replicas}})
    }

    fn judge(mut objects: Vec<Value>) -> Option<MissingController> {
        let source = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": "app", "namespace": "fs", "generation": 1}, "spec": {}});
        objects.push(source.clone());
        missing_controller(&Snapshot::of_dump(objects), &source, "2026-01-01T00:00:00Z".parse().unwrap())
    }

    #[test]
    fn a_controller_is_missing_only_where_flux_is_installed() {
        let reported = |objects| judge(objects).map(|found| (found.cause.reason, found.is_certain));
        let foreign =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "fs"}});
        let stopped = deployment("source-controller", 0, 0);
        let other = deployment("kustomize-controller", 1, 1);
        assert_eq!(reported(vec![deployment("source-controller", 1, 1)]), None);
        assert_eq!(reported(vec![deployment("source-controller", 1, 0)]), None, "its pod may become ready");
        assert_eq!(reported(vec![]), None, "Deployments are not known");
        assert_eq!(reported(vec![stopped]), Some((Reason::ControllerStopped, true)));
        assert_eq!(reported(vec![other]), Some((Reason::ControllerMissing, true)));
        assert_eq!(reported(vec![foreign]), Some((Reason::ControllerMissing, false)));
    }

    #[test]
    fn a_controller_without_the_label_of_flux_still_counts() {
        let reported = |replicas| {
            let mut relabelled = deployment("source-controller", replicas, replicas);
            relabelled["metadata"]["labels"] = json!({});
            let instance = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
                "metadata": {"name": "flux", "namespace": "fs"}, "status": {"components": [{"name": "source-controller"}]}});
            judge(vec![relabelled, instance]).map(|found| found.cause.reason)
        };
        assert_eq!(reported(1), None);
        assert_eq!(reported(0), Some(Reason::ControllerStopped));
    }
}

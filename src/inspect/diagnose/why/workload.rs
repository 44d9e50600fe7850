//! Explains a workload by its pods, and a pod by its claim, image, secret, node, events or log.

use serde_json::Value;

use super::{Cause, NextStep, Reason, SecretKind, Walk, finalizers, message};
use crate::api::kinds::{NODE, PVC, REPLICA_SET, SECRET};
use crate::api::operator::desired_replicas;
use crate::api::well_known;
use crate::format::image::split_registry;
use crate::inspect::views::{components, events};
use crate::k8s::ObjectId;
use crate::k8s::fields;
use crate::k8s::kstatus;
use crate::secrets::DOCKER_HUB;

/// Waiting reasons of a container whose image cannot be pulled.
const PULL_REASONS: [&str; 6] = [
    "ImagePullBackOff",
    "ErrImagePull",
    "InvalidImageName",
    "ErrImageNeverPull",
    "RegistryUnavailable",
    "ImageInspectError",
];
const CONFIG_REASONS: [&str; 4] =
    ["CreateContainerConfigError", "CreateContainerError", "RunContainerError", "ContainerCannotRun"];

impl<'a> Walk<'a> {
    pub(super) fn deployment(&mut self, deployment: &'a Value) -> Option<Cause> {
        let health = kstatus::compute(deployment);
        if health.is_current() {
            self.step(deployment, Some(true), health.message);
            return None;
        }
        self.step(deployment, Some(false), format!("{}: {}", health.status, health.message));
        if !finalizers(deployment).is_empty() && health.status == kstatus::Status::Terminating {
            return Some(
                Cause::new(
                    Reason::StuckFinalizer,
                    deployment,
                    format!(
                        "deletion was requested, and the finalizer {} still holds the object",
                        finalizers(deployment)
                    ),
                )
                .evidence("metadata", format!("finalizers: {}", finalizers(deployment)), None)
                .next(NextStep::ShowFinalizers(ObjectId::of(deployment))),
            );
        }
        let pods = components::pods(self.snapshot, deployment);
        let failing = pods.into_iter().filter(|pod| !kstatus::compute(pod).is_current());
        for pod in failing {
            if let Some(cause) = self.pod(pod, deployment) {
                return Some(cause);
            }
        }
        self.refused_pods(deployment).or_else(|| self.held_rollout(deployment))
    }

    /// Explains a workload whose pods show no fault: it is scaled to zero or paused, or its Job failed.
    fn held_rollout(&self, workload: &Value) -> Option<Cause> {
        let kind = fields::kind(workload);
        if kind == "Deployment" && desired_replicas(workload) == 0 {
            let again = match self.is_about_an_instance() {
                true => self.reconcile(),
                false => NextStep::Scale { object: ObjectId::of(workload), replicas: 1 },
            };
            return Some(
                Cause::new(Reason::ObjectFailed, workload, "the Deployment is scaled to zero")
                    .evidence("spec", "replicas: 0", None)
                    .next(again),
            );
        }
        if fields::at(workload, "/spec/paused").and_then(Value::as_bool).unwrap_or(false) {
            return Some(
                Cause::new(Reason::RolloutPaused, workload, "the rollout is paused")
                    .evidence("spec", "paused: true", None)
                    .next(NextStep::ResumeRollout(ObjectId::of(workload))),
            );
        }
        if kind == "Job" {
            let failed = fields::condition(workload, "Failed").filter(|c| c.is_true())?;
            let summary = match failed.reason() {
                "DeadlineExceeded" => "the Job took longer than its deadline",
                "BackoffLimitExceeded" => "every attempt of the Job failed",
                "PodFailurePolicy" => "a pod of the Job failed, and its failure policy allows no retry",
                _ => "the Job failed",
            };
            return Some(
                Cause::new(Reason::JobFailed, workload, summary)
                    .evidence("condition", format!("{}: {}", failed.reason(), failed.message()), failed.changed())
                    .next(NextStep::ShowLog { pod: ObjectId::of(workload), container: None })
                    .next(NextStep::Describe(ObjectId::of(workload))),
            );
        }
        None
    }

    /// Returns the cause for a workload that is unhealthy for an unknown reason: its status, and what was ruled out.
    fn unexplained_workload(&self, workload: &Value, from: usize) -> Cause {
        let health = kstatus::compute(workload);
        let progressing = fields::condition(workload, "Progressing");
        let (reason, summary) = match health.status {
            kstatus::Status::Failed => (Reason::RolloutFailed, "the rollout did not finish in time"),
            _ => (Reason::InProgress, "its pods are starting"),
        };
        let mut cause = Cause::new(reason, workload, summary).evidence("status", health.message, None);
        if let Some(progressing) = progressing {
            cause = cause.evidence("condition", progressing.message(), progressing.changed());
        }
        let cause = self.with_ruled_out(cause, from).next(NextStep::Describe(ObjectId::of(workload)));
        match fields::kind(workload) {
            "Deployment" | "StatefulSet" | "DaemonSet" => cause.next(NextStep::Wait(ObjectId::of(workload))),
            _ => cause,
        }
    }

    /// Explains an object that is not of Flux: a workload by its pods, a claim, a Service, or any other by its status.
    pub(super) fn plain(&mut self, object: &'a Value) -> Option<Cause> {
        let from = self.steps.len();
        let health = kstatus::compute(object);
        match (fields::group(object), fields::kind(object)) {
            ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch", "Job") => {
                let cause = self.deployment(object);
                cause.or_else(|| (!health.is_current()).then(|| self.unexplained_workload(object, from)))
            }
            ("", "Pod") if !health.is_current() => {
                let owner = self.workload_of(object);
                let cause = self.pod(object, owner.unwrap_or(object));
                Some(cause.unwrap_or_else(|| self.unexplained_workload(object, from)))
            }
            ("", "PersistentVolumeClaim") if !health.is_current() => Some(self.pending_claim(object)),
            ("", "Service") if is_without_address(object) => {
                self.step(object, Some(false), "has no address yet");
                let mut cause = Cause::new(
                    Reason::AddressPending,
                    object,
                    "no controller has assigned an address to the load balancer",
                )
                .evidence("status", "loadBalancer: no ingress", None);
                let events = self.events_of(object);
                if let Some(event) = events::newest_warning(&events, &ObjectId::of(object), &[]) {
                    cause = cause.evidence("event", fields::text(event, "/message"), fields::last_seen(event));
                }
                Some(cause.next(NextStep::Describe(ObjectId::of(object))))
            }
            _ if health.is_current() => {
                self.step(object, Some(true), health.message);
                None
            }
            _ => Some(self.by_status(object)),
        }
    }

    /// Explains an object of an unknown kind by its conditions and events.
    fn by_status(&mut self, object: &'a Value) -> Cause {
        let health = kstatus::compute(object);
        self.step(object, Some(false), format!("{}: {}", health.status, health.message));
        let held = finalizers(object);
        if health.status == kstatus::Status::Terminating && !held.is_empty() {
            let summary = format!("deletion was requested, and the finalizer {held} still holds the object");
            return Cause::new(Reason::StuckFinalizer, object, summary)
                .evidence(
                    "metadata",
                    format!("finalizers: {held}"),
                    fields::time(object, "/metadata/deletionTimestamp"),
                )
                .next(NextStep::ShowFinalizers(ObjectId::of(object)));
        }
        let (reason, summary) = match health.status {
            kstatus::Status::Failed => (Reason::ObjectFailed, "the object reports a failure"),
            _ => (Reason::InProgress, "the object is still being reconciled"),
        };
        let mut cause = Cause::new(reason, object, summary);
        for condition in ["Stalled", "Ready", "Available", "Reconciling"] {
            let Some(found) = fields::condition(object, condition) else { continue };
            cause = cause.evidence("condition", found.message(), found.changed());
        }
        let events = self.events_of(object);
        if let Some(event) = events::newest_warning(&events, &ObjectId::of(object), &[]) {
            cause = cause.evidence("event", fields::text(event, "/message"), fields::last_seen(event));
        }
        cause.evidence("status", health.message, None).next(NextStep::Describe(ObjectId::of(object)))
    }

    /// Returns the workload of a pod: the owner of its ReplicaSet, or its own owner.
    fn workload_of(&self, pod: &Value) -> Option<&'a Value> {
        let owner = |object: &Value| {
            let owner = fields::items(object, "/metadata/ownerReferences").first()?;
            let id = ObjectId::new(
                fields::group(owner),
                fields::kind(owner),
                fields::namespace(object),
                fields::text(owner, "/name"),
            );
            self.snapshot.get_ref(&id.at(fields::version(owner)))
        };
        let first = owner(pod)?;
        Some(if fields::kind(first) == "ReplicaSet" { owner(first).unwrap_or(first) } else { first })
    }

    /// Explains pods that were never created, by a condition of the workload or an event about it or its ReplicaSets.
    fn refused_pods(&mut self, deployment: &'a Value) -> Option<Cause> {
        let condition = fields::condition(deployment, "ReplicaFailure").filter(|c| c.is_true());
        let (text, at, from) = match condition {
            Some(condition) => (condition.message().to_owned(), condition.changed(), "condition"),
            None => {
                let events = self.events_of(deployment);
                let sets = self.snapshot.list(&REPLICA_SET, fields::namespace(deployment));
                let owned = sets.into_iter().filter(|set| {
                    fields::items(set, "/metadata/ownerReferences")
                        .iter()
                        // A Deployment that was recreated has the same name but another uid.
                        .any(|owner| fields::text(owner, "/uid") == fields::text(deployment, "/metadata/uid"))
                        // The sets of earlier revisions are scaled to zero and create nothing.
                        && desired_replicas(set) > 0
                });
                // StatefulSets, DaemonSets and Jobs create their pods themselves.
                let event = [deployment]
                    .into_iter()
                    .chain(owned)
                    .filter_map(|set| events::newest_warning(&events, &ObjectId::of(set), &["FailedCreate"]))
                    .max_by_key(|event| fields::last_seen(event))?;
                (fields::text(event, "/message").to_owned(), fields::last_seen(event), "event")
            }
        };
        let (reason, summary) = message::refusal(&text).unwrap_or((Reason::ObjectFailed, "its pods cannot be created"));
        let next = super::next_for_refusal(reason, &text, deployment);
        let place = super::place_of_refusal(reason, &text, deployment);
        let refusing = super::refusing_object(reason, &text, deployment);
        let cause = Cause::new(reason, deployment, summary).blamed_on(refusing).evidence(from, text, at).next(next);
        Some(match place {
            Some(place) => cause.at(place),
            None => cause,
        })
    }

    /// Explains a pod. Pods of one workload that fail for the same reason count as one cause.
    fn pod(&mut self, pod: &'a Value, deployment: &'a Value) -> Option<Cause> {
        let cause = self.failing_pod(pod, deployment)?;
        Some(if cause.place.is_none() { cause.at(ObjectId::of(deployment).to_string()) } else { cause })
    }

    fn failing_pod(&mut self, pod: &'a Value, deployment: &'a Value) -> Option<Cause> {
        let health = kstatus::compute(pod);
        self.step(pod, Some(false), format!("{}: {}", health.status, health.message));
        if health.status == kstatus::Status::Terminating && !finalizers(pod).is_empty() {
            return Some(
                Cause::new(
                    Reason::StuckFinalizer,
                    pod,
                    format!("deletion was requested, and the finalizer {} still holds the pod", finalizers(pod)),
                )
                .evidence(
                    "metadata",
                    format!("finalizers: {}", finalizers(pod)),
                    fields::time(pod, "/metadata/deletionTimestamp"),
                )
                .next(NextStep::ShowFinalizers(ObjectId::of(pod))),
            );
        }
        if fields::text(pod, "/status/reason") == "Evicted" {
            return Some(
                Cause::new(Reason::Evicted, pod, "the node evicted the pod")
                    .evidence("status", fields::text(pod, "/status/message"), None)
                    .next(NextStep::Describe(ObjectId::of(pod)))
                    .next(NextStep::ListNodes),
            );
        }
        // The scheduler reports a pod with an unbound claim as unschedulable, but the claim itself says more.
        if let Some(claim) = self.claims(pod) {
            return Some(claim);
        }
        if let Some(scheduled) =
            fields::condition(pod, "PodScheduled").filter(|c| c.is_false() && c.reason() == "Unschedulable")
        {
            return Some(
                Cause::new(Reason::Unschedulable, pod, message::unschedulable(scheduled.message()))
                    .evidence("condition", scheduled.message(), scheduled.changed())
                    .next(NextStep::Describe(ObjectId::of(pod)))
                    .next(NextStep::ListNodes),
            );
        }
        for status in fields::container_statuses(pod) {
            if let Some(cause) = self.container(pod, deployment, status) {
                return Some(cause);
            }
        }
        let events = self.events_of(pod);
        // A failing probe explains least: a node that is not ready fails every probe.
        setup_failure(pod, &events).or_else(|| self.node(pod)).or_else(|| probe_failure(pod, &events))
    }

    /// Explains a pod by its node, if the node is not ready.
    fn node(&mut self, pod: &'a Value) -> Option<Cause> {
        let node = self.snapshot.get(&NODE, None, fields::some_text(pod, "/spec/nodeName")?)?;
        let ready = fields::condition(node, "Ready").filter(|c| !c.is_true())?;
        self.step(node, Some(false), format!("Ready is {}: {}", ready.status(), ready.message()));
        Some(
            Cause::new(Reason::NodeNotReady, node, format!("the node {} is not ready", fields::name(node)))
                .evidence("condition", format!("{}: {}", ready.reason(), ready.message()), ready.changed())
                .at(fields::name(node))
                .next(NextStep::Describe(ObjectId::of(node))),
        )
    }

    fn container(&mut self, pod: &'a Value, deployment: &'a Value, status: &'a Value) -> Option<Cause> {
        let waiting = fields::text(status, "/state/waiting/reason");
        if PULL_REASONS.contains(&waiting) {
            return Some(self.pull_failure(pod, status));
        }
        if CONFIG_REASONS.contains(&waiting) {
            let text = fields::text(status, "/state/waiting/message");
            let (reason, summary) = message::container_config(text).unwrap_or_else(|| {
                (Reason::ContainerConfigError, format!("the container cannot be started ({waiting})"))
            });
            return Some(
                Cause::new(reason, pod, summary)
                    .evidence("status", text, None)
                    .next(NextStep::Describe(ObjectId::of(pod))),
            );
        }
        // While a container waits for its restart, only lastState tells how it ended.
        let terminated = ["/lastState/terminated", "/state/terminated"]
            .into_iter()
            .filter_map(|pointer| fields::at(status, pointer))
            .find(|t| fields::text(t, "/reason") != "Completed");
        let ended_for_good = fields::text(pod, "/status/phase") == "Failed"
            && terminated.is_some_and(|t| fields::number(t, "/exitCode").is_some_and(|code| code != 0));
        let crashing = waiting == "CrashLoopBackOff"
            || ended_for_good
            // A crashing container runs for a while after every restart.
            || (terminated.is_some() && fields::number(status, "/restartCount").unwrap_or(0) > 0);
        if !crashing {
            return None;
        }
        let name = fields::text(status, "/name");
        let restarts = fields::number(status, "/restartCount").unwrap_or(0);
        let ended = terminated.unwrap_or(&Value::Null);
        let (reason, summary) = if fields::text(ended, "/reason") == "OOMKilled" {
            (Reason::OutOfMemory, format!("the container {name} uses more memory than its limit and is killed"))
        } else if ended_for_good {
            let reason = if fields::kind(deployment) == "Job" { Reason::JobFailed } else { Reason::CrashLoop };
            (reason, format!("the container {name} fails"))
        } else {
            (Reason::CrashLoop, format!("the container {name} keeps exiting (restarted {restarts} times)"))
        };
        let exit = fields::number(ended, "/exitCode").map(|code| {
            let reason = fields::some_text(ended, "/reason").unwrap_or("Error");
            format!("last run ended with exit code {code} ({reason})")
        });
        let mut cause = Cause::new(reason, pod, summary);
        if let Some(exit) = exit {
            cause = cause.evidence("status", exit, fields::time(ended, "/finishedAt"));
        }
        cause = cause.evidence("status", fields::text(ended, "/message"), None).evidence(
            "status",
            fields::text(status, "/state/waiting/message"),
            None,
        );
        match self.last_log_line(pod, name) {
            Ok(Some(line)) => cause = cause.evidence("last log line", line, None),
            Ok(None) => {}
            Err(trouble) => cause = cause.evidence("last log line", format!("could not be read: {trouble}"), None),
        }
        let events = self.events_of(pod);
        if let Some(event) = events::newest_warning(&events, &ObjectId::of(pod), &["BackOff", "OOMKilling"]) {
            cause = cause.evidence("event", fields::text(event, "/message"), fields::last_seen(event));
        }
        if reason == Reason::OutOfMemory {
            let limit = fields::items(deployment, "/spec/template/spec/containers")
                .iter()
                .find(|c| fields::text(c, "/name") == name)
                .map(|c| fields::text(c, "/resources/limits/memory"))
                .filter(|limit| !limit.is_empty());
            if let Some(limit) = limit {
                cause = cause.evidence("spec", format!("memory limit: {limit}"), None);
            }
        }
        // A container that ended for good was not restarted, so its log has no previous run.
        let container = (!ended_for_good).then(|| name.to_owned());
        Some(cause.next(NextStep::ShowLog { pod: ObjectId::of(pod), container }))
    }

    /// Returns the last line that is not empty, of the previous run or else of the current one. An error says why the
    /// log cannot be read.
    fn last_log_line(&self, pod: &Value, container: &str) -> Result<Option<String>, &'a str> {
        let (namespace, name) = (fields::namespace(pod).unwrap_or_default(), fields::name(pod));
        for previous in [true, false] {
            let lines = self.snapshot.log(namespace, name, container, previous).unwrap_or_default();
            if let Some(line) = lines.iter().rev().find(|line| !line.trim().is_empty()) {
                return Ok(Some(line.clone()));
            }
            // The other log cannot be read for the same reason.
            if let Some(trouble) = self.snapshot.log_trouble(namespace, name, container, previous) {
                return Err(trouble);
            }
        }
        Ok(None)
    }

    fn pull_failure(&mut self, pod: &'a Value, status: &'a Value) -> Cause {
        let image = fields::some_text(status, "/image").unwrap_or_else(|| {
            let name = fields::text(status, "/name");
            let containers = fields::items(pod, "/spec/containers");
            containers.iter().find(|c| fields::text(c, "/name") == name).map_or("", |c| fields::text(c, "/image"))
        });
        let waiting = fields::text(status, "/state/waiting/message");
        let events = self.events_of(pod);
        let event = events::newest_warning(
            &events,
            &ObjectId::of(pod),
            &["Failed", "FailedToRetrieveImagePullSecret", "InspectFailed", "ErrImageNeverPull"],
        );
        let event_text = event.map_or("", |e| fields::text(e, "/message"));
        let namespace = fields::namespace(pod).unwrap_or_default();
        let named: Vec<_> =
            fields::items(pod, "/spec/imagePullSecrets").iter().filter_map(|s| fields::some_text(s, "/name")).collect();
        let missing = named
            .iter()
            .copied()
            .find(|name| self.snapshot.get(&SECRET, Some(namespace), name).is_none() && self.snapshot.knows(&SECRET));
        let host = split_registry(image).0.unwrap_or(DOCKER_HUB);
        let create = |name: &str| NextStep::CreateSecret {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            secret: SecretKind::Registry { host: Some(host.to_owned()) },
        };
        let rejected = message::wants_credentials(waiting) || message::wants_credentials(event_text);
        let base = |reason, summary: String| {
            Cause::new(reason, pod, summary)
                .evidence("event", event_text, event.and_then(fields::last_seen))
                .evidence("status", waiting, None)
        };
        // The kubelet ignores a missing pull secret, so the registry's refusal is only a consequence.
        if let Some(missing) = missing {
            return base(
                Reason::PullSecretMissing,
                format!("the image {image} cannot be pulled: the pull secret {missing} does not exist"),
            )
            .evidence("secret", format!("Secret/{namespace}/{missing} not found"), None)
            .next(create(missing));
        }
        match (rejected, named.first()) {
            (true, Some(secret)) => base(
                Reason::PullSecretRejected,
                format!("the image {image} cannot be pulled: the registry refuses the pull secret {secret}"),
            )
            .next(create(secret)),
            (true, None) => base(
                Reason::PullSecretMissing,
                format!(
                    "the image {image} cannot be pulled: the registry requires credentials, but no pull secret is set"
                ),
            )
            .next(create("registry-auth"))
            .next(NextStep::Edit(self.asked())),
            (false, _) => {
                let mut cause = base(Reason::ImagePullFailed, format!("the image {image} cannot be pulled"));
                if fields::label(pod, well_known::PART_OF_LABEL) == Some("flux") || self.is_about_an_instance() {
                    cause = cause.next(NextStep::ListImages);
                }
                cause.next(NextStep::Describe(ObjectId::of(pod)))
            }
        }
    }

    /// Explains a pod by a claim that is not bound.
    fn claims(&mut self, pod: &'a Value) -> Option<Cause> {
        // The claims of a scheduled pod are bound.
        if fields::condition(pod, "PodScheduled").is_some_and(|c| c.is_true()) {
            return None;
        }
        for volume in fields::items(pod, "/spec/volumes") {
            let Some(name) = fields::some_text(volume, "/persistentVolumeClaim/claimName") else { continue };
            match self.snapshot.get(&PVC, fields::namespace(pod), name) {
                Some(claim) if !kstatus::compute(claim).is_current() => return Some(self.pending_claim(claim)),
                Some(_) => {}
                None if self.snapshot.knows(&PVC) && !self.snapshot.is_loading() => {
                    return Some(
                        Cause::new(Reason::ClaimPending, pod, format!("the claim {name} of the pod does not exist"))
                            .evidence(
                                "condition",
                                fields::condition(pod, "PodScheduled").map_or("", |c| c.message()),
                                None,
                            )
                            .next(self.reconcile()),
                    );
                }
                None => {}
            }
        }
        None
    }

    pub(super) fn pending_claim(&mut self, claim: &'a Value) -> Cause {
        let health = kstatus::compute(claim);
        self.step(claim, Some(false), health.message.clone());
        let class = fields::some_text(claim, "/spec/storageClassName").unwrap_or("the default class");
        let mut cause =
            Cause::new(Reason::ClaimPending, claim, format!("the volume claim is not bound (storage class: {class})"))
                .evidence("status", health.message, None);
        let events = self.events_of(claim);
        let reference = ObjectId::of(claim);
        // Provisioners report `ProvisioningFailed` as a warning, a claim without any volume as a normal event.
        let event = events::newest_warning(&events, &reference, &[]).or_else(|| {
            events
                .iter()
                .copied()
                .filter(|e| fields::text(e, "/involvedObject/kind") == "PersistentVolumeClaim")
                .filter(|e| fields::text(e, "/involvedObject/name") == reference.name)
                .max_by_key(|e| fields::last_seen(e))
        });
        if let Some(event) = event {
            cause = cause.evidence("event", fields::text(event, "/message"), fields::last_seen(event));
        }
        cause.next(NextStep::Describe(reference)).next(NextStep::ListStorageClasses)
    }
}

/// Whether a Service waits for an address from outside.
fn is_without_address(service: &Value) -> bool {
    fields::text(service, "/spec/type") == "LoadBalancer"
        && fields::items(service, "/status/loadBalancer/ingress").is_empty()
}

/// Returns the cause of a pod whose volumes, network or Secrets cannot be set up on its node.
fn setup_failure(pod: &Value, events: &[&Value]) -> Option<Cause> {
    let volumes = ["FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"];
    let event = events::newest_warning(events, &ObjectId::of(pod), &volumes)?;
    let text = fields::text(event, "/message");
    let (reason, summary) = match message::container_config(text) {
        Some((Reason::SecretMissing, _)) => {
            let secret = message::after(text, "secret ").map(|name| format!(" {name}")).unwrap_or_default();
            (Reason::SecretMissing, format!("the secret{secret} that the pod mounts does not exist"))
        }
        Some(found) => found,
        None if text.contains("Multi-Attach") => {
            (Reason::VolumeUnavailable, "a volume of the pod is still in use on another node".to_owned())
        }
        None if fields::text(event, "/reason") == "FailedAttachVolume" => {
            (Reason::VolumeUnavailable, "a volume of the pod cannot be attached to its node".to_owned())
        }
        None => (Reason::ContainerConfigError, "the pod cannot be set up on its node".to_owned()),
    };
    Some(
        Cause::new(reason, pod, summary)
            .evidence("event", text, fields::last_seen(event))
            .next(NextStep::Describe(ObjectId::of(pod))),
    )
}

/// Returns the cause of a pod that runs, but fails a probe.
fn probe_failure(pod: &Value, events: &[&Value]) -> Option<Cause> {
    let probe = events::newest_warning(events, &ObjectId::of(pod), &["Unhealthy"])?;
    let text = fields::text(probe, "/message");
    let which = ["Readiness", "Liveness", "Startup"].into_iter().find(|probe| text.starts_with(probe));
    let summary = match which {
        Some(which) => format!("the {} probe of the container fails", which.to_lowercase()),
        None => "a probe of the container fails".to_owned(),
    };
    Some(
        Cause::new(Reason::ProbeFailing, pod, summary)
            .evidence("event", text, fields::last_seen(probe))
            .next(NextStep::ShowLog { pod: ObjectId::of(pod), container: None }),
    )
}

//! From a Deployment to the pod, and from the pod to the claim, image, secret, event or log line that explains it.

use serde_json::Value;

use super::{Cause, NextStep, Reason, SecretKind, Walk, finalizers, message};
use crate::api::kinds::{PVC, REPLICA_SET, SECRET};
use crate::api::operator::desired_replicas;
use crate::inspect::{components, events};
use crate::k8s::ObjectId;
use crate::k8s::fields;
use crate::k8s::kstatus;

/// Waiting reasons of a container whose image cannot be had.
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
        self.refused_pods(deployment).or_else(|| {
            (desired_replicas(deployment) == 0).then(|| {
                Cause::new(Reason::ObjectFailed, deployment, "the Deployment is scaled to zero")
                    .evidence("spec", "replicas: 0", None)
                    .next(self.reconcile())
            })
        })
    }

    /// Pods that were never created: the Deployment, its replica sets or their events say who refused them.
    fn refused_pods(&mut self, deployment: &'a Value) -> Option<Cause> {
        let condition = fields::condition(deployment, "ReplicaFailure").filter(|c| c.is_true());
        let (text, at, from) = match condition {
            Some(condition) => (condition.message().to_owned(), condition.changed(), "condition"),
            None => {
                let events = self.events();
                let sets = self.snapshot.list(&REPLICA_SET, fields::namespace(deployment));
                let owned = sets.into_iter().filter(|set| {
                    fields::items(set, "/metadata/ownerReferences")
                        .iter()
                        .any(|owner| fields::text(owner, "/uid") == fields::text(deployment, "/metadata/uid"))
                        && desired_replicas(set) > 0
                });
                let event = owned
                    .filter_map(|set| events::newest_warning(&events, &ObjectId::of(set), &["FailedCreate"]))
                    .max_by_key(|event| events::last_seen(event))?;
                (fields::text(event, "/message").to_owned(), events::last_seen(event), "event")
            }
        };
        let (reason, summary) = message::refusal(&text).unwrap_or((Reason::ObjectFailed, "its pods cannot be created"));
        let next = super::next_for_refusal(reason, &text, self.instance);
        Some(Cause::new(reason, deployment, summary).evidence(from, text, at).next(next))
    }

    fn pod(&mut self, pod: &'a Value, deployment: &'a Value) -> Option<Cause> {
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
        if let Some(claim) = self.claims(pod) {
            return Some(claim);
        }
        if let Some(scheduled) =
            fields::condition(pod, "PodScheduled").filter(|c| c.is_false() && c.reason() == "Unschedulable")
        {
            return Some(
                Cause::new(Reason::Unschedulable, pod, "no node can take the pod")
                    .evidence("condition", scheduled.message(), scheduled.changed())
                    .next(NextStep::Describe(ObjectId::of(pod)))
                    .next(NextStep::ListNodes),
            );
        }
        let statuses = fields::items(pod, "/status/initContainerStatuses")
            .iter()
            .chain(fields::items(pod, "/status/containerStatuses"));
        for status in statuses {
            if let Some(cause) = self.container(pod, deployment, status) {
                return Some(cause);
            }
        }
        let events = self.events();
        let volumes = ["FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"];
        if let Some(event) = events::newest_warning(&events, &ObjectId::of(pod), &volumes) {
            let text = fields::text(event, "/message");
            let secret = text.contains("not found").then(|| message::after(text, "secret ")).flatten();
            let (reason, summary) = match secret {
                Some(secret) => {
                    (Reason::SecretMissing, format!("the secret {secret} that the pod mounts does not exist"))
                }
                None => (Reason::ContainerConfigError, "the pod cannot be set up on its node".to_owned()),
            };
            return Some(
                Cause::new(reason, pod, summary)
                    .evidence("event", text, events::last_seen(event))
                    .next(NextStep::Describe(ObjectId::of(pod))),
            );
        }
        let probe = events::newest_warning(&events, &ObjectId::of(pod), &["Unhealthy"])?;
        Some(
            Cause::new(Reason::ProbeFailing, pod, "a probe of the container fails")
                .evidence("event", fields::text(probe, "/message"), events::last_seen(probe))
                .next(NextStep::ShowLog { pod: ObjectId::of(pod), container: None }),
        )
    }

    fn container(&mut self, pod: &'a Value, deployment: &'a Value, status: &'a Value) -> Option<Cause> {
        let waiting = fields::text(status, "/state/waiting/reason");
        if PULL_REASONS.contains(&waiting) {
            return Some(self.pull_failure(pod, status));
        }
        if CONFIG_REASONS.contains(&waiting) {
            let text = fields::text(status, "/state/waiting/message");
            return Some(
                Cause::new(Reason::ContainerConfigError, pod, format!("the container cannot be started ({waiting})"))
                    .evidence("status", text, None)
                    .next(NextStep::Describe(ObjectId::of(pod))),
            );
        }
        let terminated = ["/lastState/terminated", "/state/terminated"]
            .into_iter()
            .filter_map(|pointer| status.pointer(pointer))
            .find(|t| fields::text(t, "/reason") != "Completed");
        let crashing = waiting == "CrashLoopBackOff"
            || (terminated.is_some() && fields::number(status, "/restartCount").unwrap_or(0) > 0);
        if !crashing {
            return None;
        }
        let name = fields::text(status, "/name");
        let restarts = fields::number(status, "/restartCount").unwrap_or(0);
        let ended = terminated.unwrap_or(&Value::Null);
        let (reason, summary) = if fields::text(ended, "/reason") == "OOMKilled" {
            (Reason::OutOfMemory, format!("the container {name} uses more memory than its limit and is killed"))
        } else {
            (Reason::CrashLoop, format!("the container {name} keeps ending (restarted {restarts} times)"))
        };
        let exit = fields::number(ended, "/exitCode").map(|code| {
            let reason = fields::some_text(ended, "/reason").unwrap_or("Error");
            format!("last run ended with exit code {code} ({reason})")
        });
        let mut cause = Cause::new(reason, pod, summary);
        if let Some(exit) = exit {
            cause = cause.evidence("status", exit, fields::time(ended, "/finishedAt"));
        }
        cause = cause.evidence("status", fields::text(ended, "/message"), None);
        if let Some(line) = self.last_log_line(pod, name) {
            cause = cause.evidence("last log line", line, None);
        }
        let events = self.events();
        if let Some(event) = events::newest_warning(&events, &ObjectId::of(pod), &["BackOff", "OOMKilling"]) {
            cause = cause.evidence("event", fields::text(event, "/message"), events::last_seen(event));
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
        Some(cause.next(NextStep::ShowLog { pod: ObjectId::of(pod), container: Some(name.to_owned()) }))
    }

    /// The last line that says something, of the run that ended or else of the one that goes on.
    fn last_log_line(&self, pod: &Value, container: &str) -> Option<String> {
        let namespace = fields::namespace(pod)?;
        let previous = self.snapshot.log(namespace, fields::name(pod), container, true);
        let lines = match previous {
            Some(lines) if !lines.is_empty() => lines,
            _ => self.snapshot.log(namespace, fields::name(pod), container, false)?,
        };
        lines.iter().rev().find(|line| !line.trim().is_empty()).cloned()
    }

    fn pull_failure(&mut self, pod: &'a Value, status: &'a Value) -> Cause {
        let image = fields::some_text(status, "/image").unwrap_or_else(|| {
            let name = fields::text(status, "/name");
            let containers = fields::items(pod, "/spec/containers");
            containers.iter().find(|c| fields::text(c, "/name") == name).map_or("", |c| fields::text(c, "/image"))
        });
        let waiting = fields::text(status, "/state/waiting/message");
        let events = self.events();
        let event = events::newest_warning(
            &events,
            &ObjectId::of(pod),
            &["Failed", "FailedToRetrieveImagePullSecret", "InspectFailed", "ErrImageNeverPull"],
        );
        let event_text = event.map_or("", |e| fields::text(e, "/message"));
        let namespace = self.namespace();
        let named: Vec<_> =
            fields::items(pod, "/spec/imagePullSecrets").iter().filter_map(|s| fields::some_text(s, "/name")).collect();
        let missing = named
            .iter()
            .copied()
            .find(|name| self.snapshot.get(&SECRET, Some(namespace), name).is_none() && self.snapshot.knows(&SECRET));
        let host = image.split('/').next().unwrap_or(image);
        let create = |name: &str| NextStep::CreateSecret {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            secret: SecretKind::Registry { host: Some(host.to_owned()) },
        };
        let rejected = message::wants_credentials(waiting) || message::wants_credentials(event_text);
        let base = |reason, summary: String| {
            Cause::new(reason, pod, summary)
                .evidence("event", event_text, event.and_then(events::last_seen))
                .evidence("status", waiting, None)
        };
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
                format!("the image {image} cannot be pulled: the registry wants credentials and no pull secret is set"),
            )
            .next(create("registry-auth"))
            .next(NextStep::Edit(ObjectId::of(self.instance))),
            (false, _) => base(Reason::ImagePullFailed, format!("the image {image} cannot be pulled"))
                .next(NextStep::ListImages)
                .next(NextStep::Describe(ObjectId::of(pod))),
        }
    }

    /// A claim of the pod that is not bound.
    fn claims(&mut self, pod: &'a Value) -> Option<Cause> {
        // A pod that was placed has its volumes.
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
        let events = self.events();
        let reference = ObjectId::of(claim);
        // Provisioners report `ProvisioningFailed` as a warning, a claim without any volume as a normal event.
        let event = events::newest_warning(&events, &reference, &[]).or_else(|| {
            events
                .iter()
                .copied()
                .filter(|e| fields::text(e, "/involvedObject/kind") == "PersistentVolumeClaim")
                .filter(|e| fields::text(e, "/involvedObject/name") == reference.name)
                .max_by_key(|e| events::last_seen(e))
        });
        if let Some(event) = event {
            cause = cause.evidence("event", fields::text(event, "/message"), events::last_seen(event));
        }
        cause.next(NextStep::Describe(reference)).next(NextStep::ListStorageClasses)
    }
}

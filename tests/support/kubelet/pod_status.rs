//! From a pod and its requested behaviour to the status and events that a real kubelet writes. Texts are those of
//! Kubernetes 1.36 with containerd.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Container, Pod};
use kube::ResourceExt;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::NODE;
use super::rules::{Behaviour, PullFailure};

/// A real kubelet retries within seconds, but tests want both reasons soon.
const BEFORE_PULL_BACK_OFF: Duration = Duration::from_millis(300);
const BETWEEN_CRASHES: Duration = Duration::from_secs(10);

/// State of a pod in the kubelet besides its status.
pub(super) struct Memory {
    behaviour: Option<Behaviour>,
    behaves_so_since: Instant,
    restarts: i32,
    crashed: bool,
    last_status: String,
    /// Event reasons and messages written so far, so that each is written once.
    reported: Vec<String>,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory {
            behaviour: None,
            behaves_so_since: Instant::now(),
            restarts: 0,
            crashed: false,
            last_status: String::new(),
            reported: Vec::new(),
        }
    }
}

impl Memory {
    pub(super) fn forget_last_status(&mut self) {
        self.last_status.clear();
    }
}

pub(super) struct EventText {
    pub kind: &'static str,
    pub reason: &'static str,
    pub message: String,
    /// `spec.containers{manager}`, or empty for the pod as a whole.
    pub field_path: String,
}

/// The writes that are due now, and the time of the next step.
#[derive(Default)]
pub(super) struct Writes {
    pub delete: bool,
    pub status: Option<Value>,
    pub events: Vec<EventText>,
    pub again: Option<Duration>,
}

/// Decides the writes for `pod`.
pub(super) fn step(pod: &Pod, behaviour: &Behaviour, memory: &mut Memory) -> Writes {
    if *behaviour == Behaviour::Frozen {
        return Writes::default();
    }
    if pod.metadata.deletion_timestamp.is_some() {
        return Writes { delete: *behaviour != Behaviour::NeverTerminates, ..Writes::default() };
    }
    let ended = pod.status.as_ref().and_then(|s| s.phase.as_deref()).is_some_and(|p| p == "Succeeded" || p == "Failed");
    if ended {
        return Writes::default();
    }
    if memory.behaviour.as_ref() != Some(behaviour) {
        memory.restarts = match behaviour {
            Behaviour::CrashLoop { restarts, .. } | Behaviour::OutOfMemory { restarts } => *restarts,
            _ if memory.crashed => memory.restarts + 1,
            _ => memory.restarts,
        };
        memory.crashed = matches!(behaviour, Behaviour::CrashLoop { .. } | Behaviour::OutOfMemory { .. });
        memory.behaviour = Some(behaviour.clone());
        memory.behaves_so_since = Instant::now();
    }
    let elapsed = memory.behaves_so_since.elapsed();
    let plan = plan(pod, behaviour, elapsed);
    if plan.crashes_again {
        memory.restarts += 1;
        memory.behaves_so_since = Instant::now();
        return step(pod, behaviour, memory);
    }

    let status = status(pod, &plan, memory);
    // Times differ in every step, so compare only the other fields.
    let printed = format!("{} {} {:?} {}", plan.phase, plan.ready, plan.state, memory.restarts);
    let status = (printed != memory.last_status).then_some(status);
    memory.last_status = printed;
    let events = plan.events.into_iter().filter(|event| {
        let text = format!("{} {} {}", event.reason, event.message, memory.restarts);
        let new = !memory.reported.contains(&text);
        memory.reported.push(text);
        new
    });
    Writes { delete: false, status, events: events.collect(), again: plan.again }
}

/// The state shared by all containers of a pod.
#[derive(Debug)]
enum State {
    Creating,
    WaitingForImage { reason: &'static str, failure: PullFailure },
    Running,
    BackingOff { exit_code: i32, reason: &'static str },
    Ended { exit_code: i32 },
}

struct Plan {
    phase: &'static str,
    ready: bool,
    state: State,
    events: Vec<EventText>,
    again: Option<Duration>,
    crashes_again: bool,
}

fn plan(pod: &Pod, behaviour: &Behaviour, elapsed: Duration) -> Plan {
    let each = |make: &dyn Fn(&Container) -> Vec<EventText>| containers(pod).iter().flat_map(make).collect::<Vec<_>>();
    let still = |phase, ready, state, events| Plan { phase, ready, state, events, again: None, crashes_again: false };
    match behaviour {
        Behaviour::Run | Behaviour::NeverTerminates | Behaviour::Frozen => {
            still("Running", true, State::Running, each(&started))
        }
        Behaviour::SlowStart(time) => {
            let left = time.saturating_sub(elapsed);
            let ready = left.is_zero();
            Plan { again: (!ready).then_some(left), ..still("Running", ready, State::Running, each(&started)) }
        }
        Behaviour::ImageCannotBePulled(failure) => {
            let left = BEFORE_PULL_BACK_OFF.saturating_sub(elapsed);
            let reason = if left.is_zero() { "ImagePullBackOff" } else { "ErrImagePull" };
            let events = each(&|container| pull_failed(container, *failure, reason));
            let state = State::WaitingForImage { reason, failure: *failure };
            Plan { again: (!left.is_zero()).then_some(left), ..still("Pending", false, state, events) }
        }
        Behaviour::CrashLoop { exit_code, .. } => {
            let state = State::BackingOff { exit_code: *exit_code, reason: "Error" };
            crash_loop(pod, state, elapsed)
        }
        Behaviour::OutOfMemory { .. } => {
            crash_loop(pod, State::BackingOff { exit_code: 137, reason: "OOMKilled" }, elapsed)
        }
        Behaviour::MountFails(message) => {
            let event = EventText {
                kind: "Warning",
                reason: "FailedMount",
                message: message.clone(),
                field_path: String::new(),
            };
            still("Pending", false, State::Creating, vec![event])
        }
        Behaviour::Ends { exit_code } => {
            let phase = if *exit_code == 0 { "Succeeded" } else { "Failed" };
            still(phase, false, State::Ended { exit_code: *exit_code }, each(&started))
        }
    }
}

fn crash_loop(pod: &Pod, state: State, elapsed: Duration) -> Plan {
    let left = BETWEEN_CRASHES.saturating_sub(elapsed);
    let mut events: Vec<EventText> = containers(pod).iter().flat_map(started).collect();
    events.extend(containers(pod).iter().map(|container| {
        let message = format!(
            "Back-off restarting failed container {} in pod {}_{}({})",
            container.name,
            pod.name_any(),
            pod.namespace().unwrap_or_default(),
            pod.uid().unwrap_or_default(),
        );
        about(container, "Warning", "BackOff", message)
    }));
    Plan { phase: "Running", ready: false, state, events, again: Some(left), crashes_again: left.is_zero() }
}

fn containers(pod: &Pod) -> &[Container] {
    pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default()
}

fn image(container: &Container) -> &str {
    container.image.as_deref().unwrap_or_default()
}

fn about(container: &Container, kind: &'static str, reason: &'static str, message: String) -> EventText {
    EventText { kind, reason, message, field_path: format!("spec.containers{{{}}}", container.name) }
}

fn started(container: &Container) -> Vec<EventText> {
    let pulled = format!("Container image \"{}\" already present on machine", image(container));
    let created = format!("Container created: {}", container.name);
    let began = format!("Container started: {}", container.name);
    vec![
        about(container, "Normal", "Pulled", pulled),
        about(container, "Normal", "Created", created),
        about(container, "Normal", "Started", began),
    ]
}

fn pull_error(image: &str, failure: PullFailure) -> String {
    let host = image.split('/').next().unwrap_or_default();
    let what = format!("failed to pull and unpack image \"{image}\": failed to resolve reference \"{image}\"");
    match failure {
        PullFailure::NotFound => format!("rpc error: code = NotFound desc = {what}: {image}: not found"),
        PullFailure::Denied => format!(
            "{what}: failed to authorize: failed to fetch anonymous token: \
             unexpected status from GET request to https://{host}/token: 401 Unauthorized"
        ),
        PullFailure::Unreachable => {
            format!("{what}: failed to do request: Head \"https://{host}/v2/\": dial tcp: lookup {host}: no such host")
        }
    }
}

fn pull_failed(container: &Container, failure: PullFailure, reason: &str) -> Vec<EventText> {
    let image = image(container);
    if reason == "ErrImagePull" {
        let failed = format!("Failed to pull image \"{image}\": {}", pull_error(image, failure));
        return vec![
            about(container, "Normal", "Pulling", format!("Pulling image \"{image}\"")),
            about(container, "Warning", "Failed", failed),
            about(container, "Warning", "Failed", "Error: ErrImagePull".to_owned()),
        ];
    }
    vec![
        about(container, "Normal", "BackOff", format!("Back-off pulling image \"{image}\"")),
        about(container, "Warning", "Failed", "Error: ImagePullBackOff".to_owned()),
    ]
}

fn status(pod: &Pod, plan: &Plan, memory: &Memory) -> Value {
    let ended = matches!(plan.state, State::Ended { .. });
    let names: Vec<&str> = containers(pod).iter().map(|container| container.name.as_str()).collect();
    let unready = format!("containers with unready status: [{}]", names.join(" "));
    let readiness = match (plan.ready, ended) {
        (true, _) => ("True", None, None),
        (false, true) => ("False", Some("PodCompleted"), None),
        (false, false) => ("False", Some("ContainersNotReady"), Some(unready)),
    };
    let condition = |kind: &str, (status, reason, message): (&str, Option<&str>, Option<String>)| {
        let same = |c: &&k8s_openapi::api::core::v1::PodCondition| c.type_ == kind && c.status == status;
        let old = pod.status.iter().flat_map(|s| s.conditions.iter().flatten()).find(same);
        let since =
            old.and_then(|c| serde_json::to_value(&c.last_transition_time).ok()).unwrap_or_else(|| json!(now()));
        json!({ "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since })
    };
    let runs = !matches!(plan.state, State::Creating);
    let address = pod_address(pod);
    json!({
        "phase": plan.phase,
        "hostIP": "127.0.0.1",
        "hostIPs": [{ "ip": "127.0.0.1" }],
        "podIP": if runs { Some(&address) } else { None },
        "podIPs": if runs { Some([json!({ "ip": address })]) } else { None },
        "startTime": pod.metadata.creation_timestamp,
        "conditions": [
            condition("PodReadyToStartContainers", (if runs && !ended { "True" } else { "False" }, None, None)),
            condition("Initialized", ("True", None, None)),
            condition("Ready", readiness.clone()),
            condition("ContainersReady", readiness),
        ],
        "containerStatuses": containers(pod).iter().map(|c| container_status(pod, c, plan, memory)).collect::<Vec<_>>(),
        "initContainerStatuses": init_statuses(pod),
    })
}

fn container_status(pod: &Pod, container: &Container, plan: &Plan, memory: &Memory) -> Value {
    let began = &pod.metadata.creation_timestamp;
    let id =
        |n: i32| format!("containerd://{}", digest(&[&pod.uid().unwrap_or_default(), &container.name, &n.to_string()]));
    let terminated = |exit_code: i32, reason: &str, n: i32| {
        json!({ "terminated": { "exitCode": exit_code, "reason": reason, "startedAt": began, "finishedAt": now(),
                "containerID": id(n) } })
    };
    let ended_reason = |code: i32| if code == 0 { "Completed" } else { "Error" };
    let state = match &plan.state {
        State::Creating => json!({ "waiting": { "reason": "ContainerCreating" } }),
        State::WaitingForImage { reason, failure } => {
            let error = pull_error(image(container), *failure);
            let message = match *reason {
                "ErrImagePull" => error,
                _ => format!("Back-off pulling image \"{}\": ErrImagePull: {error}", image(container)),
            };
            json!({ "waiting": { "reason": reason, "message": message } })
        }
        State::Running => json!({ "running": { "startedAt": began } }),
        State::BackingOff { .. } => {
            // The pause doubles from 10 s to 5 min.
            let pause = match memory.restarts {
                n if n >= 6 => "5m0s".to_owned(),
                n => match 10_u32 << n.clamp(0, 5).saturating_sub(1) {
                    s if s >= 60 => format!("{}m{}s", s / 60, s % 60),
                    s => format!("{s}s"),
                },
            };
            let message = format!(
                "back-off {pause} restarting failed container={} pod={}_{}({})",
                container.name,
                pod.name_any(),
                pod.namespace().unwrap_or_default(),
                pod.uid().unwrap_or_default(),
            );
            json!({ "waiting": { "reason": "CrashLoopBackOff", "message": message } })
        }
        State::Ended { exit_code } => terminated(*exit_code, ended_reason(*exit_code), memory.restarts),
    };
    let last_state = match &plan.state {
        State::BackingOff { exit_code, reason } => terminated(*exit_code, reason, memory.restarts),
        State::Running if memory.restarts > 0 => terminated(1, "Error", memory.restarts - 1),
        _ => json!({}),
    };
    let pulled = !matches!(plan.state, State::Creating | State::WaitingForImage { .. });
    json!({
        "name": container.name,
        "image": image(container),
        "imageID": if pulled { image_id(image(container)) } else { String::new() },
        "containerID": if pulled { Some(id(memory.restarts)) } else { None },
        "ready": plan.ready,
        "started": matches!(plan.state, State::Running),
        "restartCount": memory.restarts,
        "state": state,
        "lastState": last_state,
    })
}

fn init_statuses(pod: &Pod) -> Option<Vec<Value>> {
    let containers = pod.spec.as_ref()?.init_containers.as_ref()?;
    let began = &pod.metadata.creation_timestamp;
    let status = |c: &Container| {
        json!({
            "name": c.name, "image": image(c), "imageID": image_id(image(c)), "ready": true, "restartCount": 0,
            "state": { "terminated": { "exitCode": 0, "reason": "Completed", "startedAt": began, "finishedAt": began } },
        })
    };
    Some(containers.iter().map(status).collect())
}

/// `repository@sha256:…`: the image's own digest, or one derived from its name.
fn image_id(image: &str) -> String {
    let (name, pinned) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let repository = match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => name,
    };
    pinned
        .map_or_else(|| format!("{repository}@sha256:{}", digest(&[image])), |digest| format!("{repository}@{digest}"))
}

fn pod_address(pod: &Pod) -> String {
    let hash = Sha256::digest(pod.uid().unwrap_or_default());
    let [_, second, third, fourth, ..] = hash.as_slice() else { return "10.244.0.1".to_owned() };
    format!("10.{}.{}.{}", 128 + second % 64, third, fourth.clamp(&1, &254))
}

fn digest(parts: &[&str]) -> String {
    hex::encode(Sha256::digest(parts.join("/")))
}

/// Creates a kubelet event; `number` keeps the names of simultaneous events apart.
pub(super) fn event_object(pod: &Pod, event: &EventText, number: usize) -> Value {
    let namespace = pod.namespace().unwrap_or_default();
    let instant = format!("{:x}", jiff::Timestamp::now().as_nanosecond());
    json!({
        "metadata": { "name": format!("{}.{instant}{number}", pod.name_any()), "namespace": namespace },
        "involvedObject": {
            "apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": pod.name_any(), "uid": pod.uid(),
            "resourceVersion": pod.resource_version(),
            "fieldPath": if event.field_path.is_empty() { None } else { Some(&event.field_path) },
        },
        "type": event.kind, "reason": event.reason, "message": event.message,
        "source": { "component": "kubelet", "host": NODE },
        "reportingComponent": "kubelet", "reportingInstance": NODE,
        "firstTimestamp": now(), "lastTimestamp": now(), "count": 1,
    })
}

/// The time as Kubernetes writes it, in whole seconds.
pub(super) fn now() -> String {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

//! Rules for the simulated kubelet.

use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::ResourceExt;

/// Behaviour of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Ready at once; a pod of a Job ends with code 0 instead.
    Run,
    /// Runs at once and becomes Ready after this long.
    SlowStart(Duration),
    /// `ErrImagePull`, then `ImagePullBackOff`.
    ImageCannotBePulled(PullFailure),
    /// `CrashLoopBackOff`: starts with this restart count and restarts every 10 s.
    CrashLoop { exit_code: i32, restarts: i32 },
    /// As a crash loop, but each time killed for lack of memory.
    OutOfMemory { restarts: i32 },
    /// `ContainerCreating` for ever; the event gives the reason, for example `MountVolume.SetUp failed for volume "x" :
    /// secret "y" not found`.
    MountFails(String),
    /// Exits by itself with this code.
    Ends { exit_code: i32 },
    /// Ready, and not removed when deleted.
    NeverTerminates,
    /// No kubelet handles the pod: no status, no deletion.
    Frozen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullFailure {
    /// The registry does not have the image.
    NotFound,
    /// The registry requires credentials that the pod does not have.
    Denied,
    /// The registry does not answer.
    Unreachable,
}

/// A rule for the pods of a namespace. Without a condition it applies to all of them.
#[derive(Clone, Debug)]
pub struct PodRule {
    namespace: String,
    name_prefix: Option<String>,
    label: Option<(String, String)>,
    image_part: Option<String>,
    behaviour: Behaviour,
    log: Option<String>,
}

impl PodRule {
    pub fn new(namespace: &str, behaviour: Behaviour) -> PodRule {
        let namespace = namespace.to_owned();
        PodRule { namespace, name_prefix: None, label: None, image_part: None, behaviour, log: None }
    }

    /// Applies only to pods with this name prefix.
    pub fn name_starts_with(mut self, prefix: &str) -> PodRule {
        self.name_prefix = Some(prefix.to_owned());
        self
    }

    /// Applies only to pods with this label.
    pub fn label(mut self, key: &str, value: &str) -> PodRule {
        self.label = Some((key.to_owned(), value.to_owned()));
        self
    }

    /// Applies only to pods with a container whose image contains this text.
    pub fn image_contains(mut self, part: &str) -> PodRule {
        self.image_part = Some(part.to_owned());
        self
    }

    /// Sets the output of `kubectl logs` for these pods.
    pub fn log(mut self, text: &str) -> PodRule {
        self.log = Some(text.to_owned());
        self
    }

    fn holds_for(&self, pod: &Pod) -> bool {
        let has_label = |(key, value): &(String, String)| pod.labels().get(key) == Some(value);
        let has_image = |part: &String| {
            let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
            containers.filter_map(|container| container.image.as_deref()).any(|image| image.contains(part))
        };
        pod.namespace().as_deref() == Some(&self.namespace)
            && self.name_prefix.as_ref().is_none_or(|prefix| pod.name_any().starts_with(prefix))
            && self.label.as_ref().is_none_or(has_label)
            && self.image_part.as_ref().is_none_or(has_image)
    }
}

/// Behaviour of a volume claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimBehaviour {
    Bound,
    /// Stays Pending, as if no storage were left.
    Unbound,
}

/// Identifies a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleId(u64);

#[derive(Clone, Debug, Default)]
pub(super) struct RuleSet {
    pub frozen: bool,
    pods: Vec<(RuleId, PodRule)>,
    claims: Vec<(String, String, ClaimBehaviour)>,
    added: u64,
}

impl RuleSet {
    pub(super) fn add(&mut self, rule: PodRule) -> RuleId {
        self.added += 1;
        let id = RuleId(self.added);
        self.pods.push((id, rule));
        id
    }

    pub(super) fn remove(&mut self, id: RuleId) {
        self.pods.retain(|(other, _)| *other != id);
    }

    pub(super) fn set_claims(&mut self, namespace: &str, name_prefix: &str, behaviour: ClaimBehaviour) {
        self.claims.push((namespace.to_owned(), name_prefix.to_owned(), behaviour));
    }

    pub(super) fn forget(&mut self, namespace: &str) {
        self.pods.retain(|(_, rule)| rule.namespace != namespace);
        self.claims.retain(|(other, _, _)| other != namespace);
    }

    pub(super) fn behaviour(&self, pod: &Pod) -> Behaviour {
        if self.frozen {
            return Behaviour::Frozen;
        }
        match self.newest(pod) {
            Some(rule) => rule.behaviour.clone(),
            None if pod.owner_references().iter().any(|owner| owner.kind == "Job") => Behaviour::Ends { exit_code: 0 },
            None => Behaviour::Run,
        }
    }

    /// Returns the log of a pod's container: the rule's text, or one line.
    pub(super) fn log(&self, pod: &Pod, container: &str) -> String {
        let of_rule =
            self.pods.iter().rev().filter(|(_, rule)| rule.holds_for(pod)).find_map(|(_, rule)| rule.log.clone());
        of_rule.unwrap_or_else(|| format!("{{\"level\":\"info\",\"msg\":\"starting {container}\"}}\n"))
    }

    pub(super) fn binds(&self, claim: &PersistentVolumeClaim) -> bool {
        let (namespace, name) = (claim.namespace().unwrap_or_default(), claim.name_any());
        let rule = self.claims.iter().rfind(|(of, prefix, _)| *of == namespace && name.starts_with(prefix));
        !self.frozen && rule.is_none_or(|(_, _, behaviour)| *behaviour == ClaimBehaviour::Bound)
    }

    fn newest(&self, pod: &Pod) -> Option<&PodRule> {
        self.pods.iter().rev().map(|(_, rule)| rule).find(|rule| rule.holds_for(pod))
    }
}

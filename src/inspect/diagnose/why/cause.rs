//! The causes that a walk can end with.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::inspect::diagnose::next_step::NextStep;
use crate::k8s::ObjectId;

/// The kinds of causes. Their names are part of the JSON output and must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub enum Reason {
    ImagePullFailed,
    PullSecretMissing,
    PullSecretRejected,
    CrashLoop,
    OutOfMemory,
    ContainerConfigError,
    ProbeFailing,
    QuotaExceeded,
    ClaimPending,
    Unschedulable,
    WebhookRefused,
    PolicyRefused,
    Forbidden,
    HostUnreachable,
    HostKeyWrong,
    CertificateInvalid,
    CredentialsRejected,
    SecretMissing,
    SourceNotFound,
    SourceFailed,
    KustomizationFailed,
    DependencyNotReady,
    ArtifactUnavailable,
    RevisionNotApplied,
    BadVersionRange,
    PatchFailed,
    BuildFailed,
    Suspended,
    StuckFinalizer,
    OperatorAbsent,
    ObjectFailed,
    ObjectMissing,
    ObjectInvalid,
    ReconciliationFailed,
    InProgress,
    CertificateExpired,
    SignatureInvalid,
    SecretIncomplete,
    RateLimited,
    ProxyFailed,
    UrlInvalid,
    StorageFull,
    AccessDenied,
    ArtifactCorrupt,
    ChartNotFound,
    ChartFailed,
    ValuesMissing,
    ValuesInvalid,
    HelmLocked,
    HelmOwnership,
    HelmHookFailed,
    HelmTestFailed,
    HelmFailed,
    SubstitutionFailed,
    DecryptionFailed,
    DependencyMissing,
    DependencyCycle,
    DefinitionMissing,
    DefinitionVersionUnserved,
    NamespaceMissing,
    NamespaceTerminating,
    ServiceAccountMissing,
    ConfigMapMissing,
    ImmutableField,
    ObjectTooLarge,
    FieldConflict,
    LimitExceeded,
    Throttled,
    PruneFailed,
    HealthCheckFailed,
    ImagePolicyUnmatched,
    PushRejected,
    ControllerMissing,
    ControllerStopped,
    ControllerNotReady,
    ControllerThrottled,
    ShardUnserved,
    Evicted,
    NodeNotReady,
    JobFailed,
    VolumeUnavailable,
    AddressPending,
    RolloutPaused,
    RolloutFailed,
    SecondInstance,
    TemplateFailed,
    InputMissing,
    ObjectCollision,
    ExpressionInvalid,
}

/// A piece of evidence: its source, its text and its time.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// `condition`, `event`, `status`, `last log line`, `spec`, `metadata`, `secret`, `operator` or `ruled out`.
    pub from: String,
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub at: Option<Timestamp>,
}

/// The root cause, its evidence and the next steps.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    pub reason: Reason,
    pub object: ObjectId,
    /// A sentence without a full stop.
    pub summary: String,
    pub evidence: Vec<Evidence>,
    /// Commands to run, the most useful first.
    #[schemars(with = "Vec<String>")]
    pub next: Vec<NextStep>,
    /// The host, Secret or other place of the fault, if that is not the object itself. Causes with the same reason and
    /// place count as one cause.
    #[serde(skip)]
    pub(super) place: Option<String>,
}

impl Cause {
    pub(super) fn new(reason: Reason, object: &Value, summary: impl Into<String>) -> Self {
        Cause::of(reason, ObjectId::of(object), summary)
    }

    /// Returns a cause about an object that cannot be read.
    pub(super) fn of(reason: Reason, object: ObjectId, summary: impl Into<String>) -> Self {
        Cause { reason, object, summary: summary.into(), evidence: vec![], next: vec![], place: None }
    }

    /// Returns the cause with a place: causes with the same reason and place count as one.
    #[must_use]
    pub(super) fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Returns the cause with the refusing object, if any, as its object and in its summary.
    #[must_use]
    pub(super) fn blamed_on(mut self, refusing: Option<ObjectId>) -> Self {
        if let Some(refusing) = refusing {
            self.summary = format!("{} ({refusing})", self.summary);
            self.object = refusing;
        }
        self
    }

    /// Returns the key that identifies this cause.
    pub(super) fn key(&self) -> String {
        // The text of an object has no group, and several groups have kinds of the same name.
        let object = || format!("{} {}", self.object.group, self.object);
        format!("{:?} {}", self.reason, self.place.clone().unwrap_or_else(object))
    }

    #[must_use]
    pub(super) fn evidence(mut self, from: &str, text: impl Into<String>, at: Option<Timestamp>) -> Self {
        let text = super::one_line(&text.into());
        // Flux writes the message of a condition into an event, too.
        if !text.is_empty() && self.evidence.iter().all(|e| e.text != text) {
            self.evidence.push(Evidence { from: from.into(), text, at });
        }
        self
    }

    #[must_use]
    pub(super) fn next(mut self, step: NextStep) -> Self {
        self.next.push(step);
        self
    }
}

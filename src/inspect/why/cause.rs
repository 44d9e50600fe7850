//! What a walk can end with.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::inspect::next_step::NextStep;
use crate::k8s::ObjectId;

/// The kinds of causes; the words are a contract of the JSON output.
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
}

/// A piece of evidence: who says it, what, and when.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// `condition`, `event`, `status`, `last log line`, `spec`, `metadata`, `secret` or `operator`.
    pub from: String,
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub at: Option<Timestamp>,
}

/// The first real cause, its evidence, and what to do next.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Cause")]
pub struct Cause<S = NextStep> {
    pub reason: Reason,
    pub object: ObjectId,
    /// One sentence without a full stop.
    pub summary: String,
    pub evidence: Vec<Evidence>,
    /// Commands to run, the most useful first.
    pub next: Vec<S>,
}

impl Cause {
    pub(super) fn new(reason: Reason, object: &Value, summary: impl Into<String>) -> Self {
        Cause::of(reason, ObjectId::of(object), summary)
    }

    /// A cause that is about an object nobody can read.
    pub(super) fn of(reason: Reason, object: ObjectId, summary: impl Into<String>) -> Self {
        Cause { reason, object, summary: summary.into(), evidence: vec![], next: vec![] }
    }

    #[must_use]
    pub(super) fn evidence(mut self, from: &str, text: impl Into<String>, at: Option<Timestamp>) -> Self {
        let text = super::one_line(&text.into());
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

impl<S> Cause<S> {
    /// The same cause with its steps in other words.
    pub(super) fn map_steps<T>(self, word: impl Fn(S) -> T) -> Cause<T> {
        let Cause { reason, object, summary, evidence, next } = self;
        Cause { reason, object, summary, evidence, next: next.into_iter().map(word).collect() }
    }
}

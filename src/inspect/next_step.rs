//! What a person can do next, as a value. Which command line that is stands in the terminal's room, not here.

use crate::k8s::ObjectId;

/// One thing a person can do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Have an object reconciled now; `in_process` where nobody in the cluster would do it, `force` whatever was done before.
    Reconcile {
        object: ObjectId,
        in_process: bool,
        force: bool,
    },
    Resume(ObjectId),
    Wait(ObjectId),
    Explain(ObjectId),
    ListEvents(ObjectId),
    /// What the controllers wrote about an object.
    ShowLogs(ObjectId),
    ShowTree(ObjectId),
    /// Remove an instance and what it installed without an operator.
    Uninstall(ObjectId),
    /// Write an instance to a file and build it there.
    ExportInstance(ObjectId),
    BuildExportedInstance,
    CreateInstance,
    /// Install Flux from a file without an operator.
    ApplyInProcess,
    CreateSecret {
        namespace: String,
        name: String,
        secret: SecretKind,
    },
    /// Let go of ResourceSets that nobody serves.
    ReleaseResourceSets,
    ListVersions,
    ListImages,
    CheckRights,
    /// Look at the manifests in Git with the eyes of a version of Flux.
    CheckFiles {
        to: String,
    },
    /// Everything that is not well, by cause: who waits for another is not told as one that fails.
    ExplainAll,
    Describe(ObjectId),
    Edit(ObjectId),
    ShowConditions(ObjectId),
    ShowFinalizers(ObjectId),
    ShowLabels(ObjectId),
    /// The last lines of a pod's log; with a container, those of its run before the last restart.
    ShowLog {
        pod: ObjectId,
        container: Option<String>,
    },
    Restart(ObjectId),
    /// Let a paused rollout go on.
    ResumeRollout(ObjectId),
    Scale {
        object: ObjectId,
        replicas: u32,
    },
    CreateNamespace(String),
    ListNodes,
    ListStorageClasses,
    ListWebhooks,
    ListAdmissionPolicies,
    /// Something no command does: a sentence without a full stop.
    Advice(String),
    /// Something no command does, and what follows it.
    Then {
        first: String,
        then: Box<NextStep>,
    },
}

/// The Secret somebody asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretKind {
    /// `host` of the registry, where it is known.
    Registry {
        host: Option<String>,
    },
    Ssh,
    BasicAuth,
    Bucket,
    GithubApp,
    /// A certificate of its own, or the authority of the server.
    Tls,
    Proxy,
    /// Public keys of who signs.
    Signers,
    /// Keys that decrypt.
    Sops,
}

impl SecretKind {
    /// The credentials that a source of a kind takes for an address.
    pub fn of_source(kind: &str, url: &str, provider: &str) -> Self {
        let is_registry = matches!(kind, "OCIRepository" | "ImageRepository") || url.starts_with("oci://");
        match kind {
            _ if is_registry => Self::of_registry(url),
            "Bucket" => SecretKind::Bucket,
            _ if provider == "github" => SecretKind::GithubApp,
            _ if url.starts_with("ssh://") => SecretKind::Ssh,
            _ => SecretKind::BasicAuth,
        }
    }

    /// The credentials of the registry in an address such as `oci://ghcr.io/org/app`.
    pub fn of_registry(address: &str) -> Self {
        let host = address.trim_start_matches("oci://").split('/').next().filter(|host| !host.is_empty());
        SecretKind::Registry { host: host.map(Into::into) }
    }
}

impl NextStep {
    pub(super) fn advice(text: impl Into<String>) -> Self {
        NextStep::Advice(text.into())
    }

    /// What follows this advice.
    pub(super) fn then(self, next: NextStep) -> Self {
        match self {
            NextStep::Advice(first) => next.after(first),
            first => first,
        }
    }

    /// This step after something no command does.
    pub(super) fn after(self, first: impl Into<String>) -> Self {
        NextStep::Then { first: first.into(), then: Box::new(self) }
    }
}

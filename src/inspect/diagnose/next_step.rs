//! The user's next step, as a value. The front end turns it into a command line.

use serde::ser::{Error, Serialize, Serializer};

use crate::k8s::ObjectId;

/// A view with next steps.
pub trait HasNextSteps: Sized {
    /// Returns every step of the view.
    fn steps(&mut self) -> Vec<&mut NextStep>;

    /// Replaces each step by its text from the front end. Only then can the view be displayed and serialised.
    #[must_use]
    fn in_words(mut self, words: impl Fn(&NextStep) -> String) -> Self {
        for step in self.steps() {
            *step = NextStep::Words(words(step));
        }
        self
    }
}

/// A next step of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Reconcile an object now: with `in_process` because no controller would do it, with `force` regardless of earlier
    /// runs.
    Reconcile {
        object: ObjectId,
        in_process: bool,
        force: bool,
    },
    /// Resume an object: with `in_process` because no operator would run afterwards.
    Resume {
        object: ObjectId,
        in_process: bool,
    },
    Wait(ObjectId),
    Explain(ObjectId),
    ListEvents(ObjectId),
    /// Show the controllers' log about an object.
    ShowLogs(ObjectId),
    ShowTree(ObjectId),
    /// Show the input sets of a ResourceSet.
    ShowInputs(ObjectId),
    /// Delete an instance that installed nothing.
    Delete(ObjectId),
    /// Uninstall an instance without an operator.
    Uninstall(ObjectId),
    /// Export an instance to a file and build it there.
    ExportInstance(ObjectId),
    BuildExportedInstance,
    CreateInstance,
    /// Apply an instance from a file without an operator.
    ApplyInProcess,
    CreateSecret {
        namespace: String,
        name: String,
        secret: SecretKind,
    },
    ListVersions,
    ListImages,
    CheckRights,
    /// Check the manifests in Git for a version of Flux.
    CheckFiles {
        to: String,
    },
    /// Compare what runs with what the instance builds.
    ShowPlan(ObjectId),
    /// Explain all failures by cause.
    ExplainAll,
    Describe(ObjectId),
    Edit(ObjectId),
    ShowConditions(ObjectId),
    ShowFinalizers(ObjectId),
    ShowLabels(ObjectId),
    /// Show the last lines of a pod's log; with a container, those before the last restart.
    ShowLog {
        pod: ObjectId,
        container: Option<String>,
    },
    Restart(ObjectId),
    /// Resume a paused rollout.
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
    /// Any other step, as text from the front end.
    Words(String),
    /// Advice for which no command exists, as a sentence without a full stop.
    Advice(String),
    /// Advice for which no command exists, and the step to take afterwards.
    Then {
        first: String,
        then: Box<NextStep>,
    },
}

/// The kind of a Secret to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretKind {
    /// `host` of the registry, if known.
    Registry {
        host: Option<String>,
    },
    Ssh,
    BasicAuth,
    Bucket,
    GithubApp,
    /// A client certificate, or the CA of the server.
    Tls,
    Proxy,
    /// Public keys for signatures.
    Signers,
    /// Decryption keys.
    Sops,
}

impl SecretKind {
    /// Returns the credentials for a source of a kind and its address.
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

    /// Returns the credentials for the registry in an address such as `oci://ghcr.io/org/app`.
    pub fn of_registry(address: &str) -> Self {
        let host = address.trim_start_matches("oci://").split('/').next().filter(|host| !host.is_empty());
        SecretKind::Registry { host: host.map(Into::into) }
    }
}

/// Only a step that the front end has turned into text ([`NextStep::Words`]) can be serialised; others are an error.
impl Serialize for NextStep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            NextStep::Words(words) => serializer.serialize_str(words),
            _ => Err(S::Error::custom("a next step is not in words")),
        }
    }
}

impl NextStep {
    /// Returns the text of a step; empty if the front end has not turned the step into text yet.
    pub fn words(&self) -> &str {
        match self {
            NextStep::Words(words) => words,
            _ => "",
        }
    }

    pub(crate) fn advice(text: impl Into<String>) -> Self {
        NextStep::Advice(text.into())
    }

    /// Adds a step after this advice.
    pub(crate) fn then(self, next: NextStep) -> Self {
        match self {
            NextStep::Advice(first) => next.after(first),
            first => first,
        }
    }

    /// Adds advice before this step.
    pub(crate) fn after(self, first: impl Into<String>) -> Self {
        NextStep::Then { first: first.into(), then: Box::new(self) }
    }
}

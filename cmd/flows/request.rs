//! Reconcile, suspend and resume: one patch per object, several objects at once.

use flux_operator::api::kinds::Suspension;
use flux_operator::cluster::DeleteOptions;
use flux_operator::format::yaml;
use flux_operator::request::{SuspendNote, reconcile_patch, resume_patch, suspend_patch, token};
use futures::StreamExt;
use futures::stream;
use serde_json::{Value, json};

use crate::args::DryRun;
use crate::session::Session;
use crate::session::target::Target;
use crate::terminal::CliError;

/// The requested action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind<'a> {
    /// `reset` also clears the failures of a Helm release.
    Reconcile {
        force: bool,
        reset: bool,
    },
    /// With reason and planned end.
    Suspend(SuspendNote<'a>),
    Resume,
}

impl RequestKind<'_> {
    fn patch(self, suspension: Suspension, token: &str) -> Value {
        match self {
            RequestKind::Reconcile { force, reset } => reconcile_patch(token, force, reset),
            RequestKind::Suspend(note) => suspend_patch(suspension, note),
            RequestKind::Resume => resume_patch(suspension, token),
        }
    }

    /// Returns the row of this request.
    pub fn words(self) -> RequestWords {
        let words = |verb, goal, done| RequestWords { verb, goal, done };
        match self {
            RequestKind::Reconcile { force: false, .. } => {
                words("request the reconciliation of", "reconciled", "► reconciliation requested for")
            }
            RequestKind::Reconcile { force: true, .. } => {
                words("request the reconciliation of", "reconciled", "► forced reconciliation requested for")
            }
            RequestKind::Suspend(_) => words("suspend", "suspended", "✔ reconciliation suspended for"),
            RequestKind::Resume => words("resume", "resumed", "✔ reconciliation resumed for"),
        }
    }
}

/// The words of a request in messages.
pub struct RequestWords {
    /// The action, before the object.
    verb: &'static str,
    /// The expected state of the objects.
    pub goal: &'static str,
    /// The accepted request, before the object.
    done: &'static str,
}

/// Limit for concurrent patches.
pub const CONCURRENT: usize = 16;

/// An object with an accepted patch.
pub struct SentRequest {
    pub target: Target,
    pub token: String,
    /// The object after the patch.
    pub object: Value,
}

/// Sends the patch to every target, with limited concurrency; a dry run changes nothing and returns nothing.
///
/// Failures are returned beside the successful requests.
pub async fn send(
    session: &Session<'_>,
    targets: &[Target],
    act: RequestKind<'_>,
    dry_run: Option<DryRun>,
) -> Result<(Vec<SentRequest>, Vec<CliError>), CliError> {
    let token = token(jiff::Timestamp::now());
    let RequestWords { verb, done, .. } = act.words();
    if dry_run == Some(DryRun::Client) {
        let mut documents = vec![];
        for target in targets {
            documents.push(preview(target, act.patch(target.kind.suspension, &token)));
            session.shell.status(&format!("(dry run) would {verb} {}", session.place(&target.reference())));
        }
        let text = yaml::document_stream(&documents)
            .map_err(|e| CliError::failed("cannot print the request").caused_by(&e))?;
        session.shell.print(&text);
        return Ok((vec![], vec![]));
    }
    let server_dry_run = dry_run == Some(DryRun::Server);
    let requests = targets.iter().map(async |target| {
        let patch = act.patch(target.kind.suspension, &token);
        let object = session.patch(target, verb, &patch, server_dry_run).await?;
        let prefix = if server_dry_run { "(server dry run) " } else { "" };
        match session.shell.has_structured_errors() {
            // JSON events have the same form as the progress of a run.
            true if session.shell.global().quiet => {}
            true => session.shell.event("requestStored", &json!({"object": target.id().to_string()})),
            false => {
                session.shell.status(&format!("{prefix}{done} {}", session.place(&target.reference())));
            }
        }
        Ok(SentRequest { target: target.clone(), token: token.clone(), object })
    });
    // Results keep the order of the command line, not that of the answers.
    let results: Vec<_> = stream::iter(requests).buffered(CONCURRENT).collect().await;
    let (mut sent, mut failed) = (vec![], vec![]);
    for result in results {
        match result {
            Ok(one) => sent.push(one),
            Err(error) => failed.push(error),
        }
    }
    // Nothing was stored, so there is nothing to follow.
    if server_dry_run {
        sent.clear();
    }
    Ok((sent, failed))
}

/// Formats the patch as a manifest with the fields that it would set.
fn preview(target: &Target, patch: Value) -> Value {
    let mut document = json!({
        "apiVersion": target.kind.resource_type().api_version(), "kind": target.kind.kind,
        "metadata": {"name": target.name, "namespace": target.namespace},
    });
    if let (Some(to), Some(annotations)) =
        (document.pointer_mut("/metadata").and_then(Value::as_object_mut), patch.pointer("/metadata/annotations"))
    {
        let mut annotations = annotations.clone();
        // Removed keys are not fields that would be set.
        if let Some(keys) = annotations.as_object_mut() {
            keys.retain(|_, value| !value.is_null());
        }
        if annotations.as_object().is_some_and(|keys| !keys.is_empty()) {
            to.insert("annotations".into(), annotations);
        }
    }
    if let (Some(to), Some(spec)) = (document.as_object_mut(), patch.get("spec")) {
        to.insert("spec".into(), spec.clone());
    }
    document
}

/// Deletes exactly the object with the UID, not a later one with the same name.
pub async fn request_deletion(
    session: &Session<'_>,
    target: &Target,
    uid: Option<String>,
    dry_run: bool,
) -> Result<(), CliError> {
    let id = target.id().at(&session.served(target.kind).await?.version);
    let options = DeleteOptions { uid, dry_run, ..DeleteOptions::default() };
    let place = session.place(&target.reference());
    if !session.bounded(&format!("delete {place}"), session.cluster.delete(&id, &options)).await? {
        return Err(session.missing(target).await);
    }
    if !dry_run {
        session.shell.status(&format!("► deletion requested for {place}"));
        let resume = session.command(&format!("wait {} --for=delete", target.words()), &target.namespace);
        session.shell.interruption().set("the deletion continues in the cluster", Some(resume));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flux_operator::api::kinds;

    fn target(word: &str) -> Target {
        Target { kind: kinds::find(word).unwrap(), namespace: "apps".into(), name: "a".into() }
    }

    #[test]
    fn a_preview_is_a_manifest_of_the_fields_that_would_be_set() {
        let target = target("ks");
        let document = preview(&target, RequestKind::Resume.patch(target.kind.suspension, "t"));
        assert_eq!(
            document,
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
                "metadata": {"name": "a", "namespace": "apps", "annotations": {"reconcile.fluxcd.io/requestedAt": "t"}},
                "spec": {"suspend": null}})
        );
    }
}

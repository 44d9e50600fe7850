//! Turns credentials into a Secret: checked, then printed, or applied to the cluster.

use std::time::Duration;

use flux_operator::api::well_known::{CLI_FIELD_MANAGER, DEFAULT_NAMESPACE};
use flux_operator::cluster::{ApplyResult, Cluster, DeleteOptions, Propagation, WriteOptions};
use flux_operator::format::yaml;
use flux_operator::k8s::ObjectId;
use flux_operator::secrets::{Credentials, ReplaceNeed, SecretManifest, SecretObject};
use jiff::Timestamp;
use serde_json::Value;
use zeroize::Zeroizing;

use super::{SecretArgs, SecretDryRun, SecretOutline, secret_error};
use crate::session::Session;
use crate::session::connect::{cli_error, context_namespace};
use crate::terminal::{CliError, Exit, Shell};

/// Suffix of the name under which the API server checks a new Secret in a dry run.
const JUDGED_AS: &str = ".replacing";
/// Interval for checking whether a deleted Secret with a finalizer is gone.
const GONE_INTERVAL: Duration = Duration::from_millis(250);

pub(super) async fn write(
    shell: &Shell,
    args: &SecretArgs,
    described: SecretOutline,
    credentials: Credentials,
) -> Result<Exit, CliError> {
    let content = credentials.content().map_err(secret_error)?;
    if !args.skip_checks {
        let warnings = credentials.check(Timestamp::now()).map_err(secret_error)?;
        warnings.iter().for_each(|warning| shell.warn(warning));
    }
    let SecretOutline { namespace, labels, annotations } = described;
    let mut secret = SecretObject {
        name: args.name.clone(),
        namespace: namespace.clone().unwrap_or_default(),
        labels,
        annotations,
        immutable: args.immutable,
        content,
    };
    if args.export || args.dry_run == SecretDryRun::Client {
        secret.namespace = namespace.or_else(|| context_namespace(shell.global())).unwrap_or(DEFAULT_NAMESPACE.into());
        return if args.export { export(shell, &secret) } else { announce(shell, &secret) };
    }
    let session = Session::open(shell).await?;
    let cluster = &session.cluster;
    secret.namespace = namespace.unwrap_or_else(|| session.namespace_or(DEFAULT_NAMESPACE));
    let writing = SecretWriter { shell, cluster, args, secret: &secret, dry_run: args.dry_run == SecretDryRun::Server };
    let in_place = async {
        let live = writing.live().await?;
        match live.as_ref().map(|live| secret.replace_need(live)).filter(|need| *need != ReplaceNeed::InPlace) {
            None => {
                let outcome = writing.apply(live.as_ref()).await?;
                Ok(SecretWrite::Applied(outcome.as_str()))
            }
            Some(need) if !args.replace => Err(refusal(&reference(&secret), &need)),
            Some(_) => {
                writing.judge().await?;
                Ok(SecretWrite::Replace(live.unwrap_or_default()))
            }
        }
    };
    let in_time = tokio::time::timeout_at(session.deadline.instant(), in_place);
    let step = shell.while_waiting("answer", in_time).await;
    let step = step.unwrap_or_else(|_| {
        let object = reference(&secret);
        Err(session.out_of_time(&format!("apply {object}")).object(object))
    });
    let step = match step {
        // The error of a new Secret may be its missing namespace.
        Err(error) => return Err(session.with_nearest_namespace(error, &secret.namespace).await),
        Ok(step) => step,
    };
    let what = match step {
        SecretWrite::Applied(what) => what,
        SecretWrite::Replace(live) => {
            // Neither --timeout nor an interrupt ends the replacement halfway. Every call has its own limit.
            writing.replace(&live).await?;
            "replaced"
        }
    };
    let place = cluster.endpoint.place();
    let dry = if writing.dry_run { ", server dry run" } else { "" };
    shell.print(&format!("{} {what} ({place}{dry})\n", reference(&secret)));
    Ok(Exit::Done)
}

/// The remaining step once everything is known.
enum SecretWrite {
    Applied(&'static str),
    /// The stored Secret, which has to be deleted first.
    Replace(Value),
}

fn export(shell: &Shell, secret: &SecretObject) -> Result<Exit, CliError> {
    let text = yaml::document_stream(std::slice::from_ref(&*secret.export()))
        .map(Zeroizing::new)
        .map_err(|e| CliError::failed("cannot write the Secret as YAML").caused_by(&e))?;
    shell.print(&text);
    Ok(Exit::Done)
}

fn announce(shell: &Shell, secret: &SecretObject) -> Result<Exit, CliError> {
    shell.print(&format!("{} would be applied (client dry run: nothing was sent)\n", reference(secret)));
    Ok(Exit::Done)
}

struct SecretWriter<'a> {
    shell: &'a Shell,
    cluster: &'a Cluster,
    args: &'a SecretArgs,
    secret: &'a SecretObject,
    dry_run: bool,
}

impl SecretWriter<'_> {
    async fn live(&self) -> Result<Option<Value>, CliError> {
        self.cluster.read(&id_of(self.secret)).await.map_err(|error| cli_error(&error))
    }

    async fn apply(&self, live: Option<&Value>) -> Result<ApplyResult, CliError> {
        let options =
            WriteOptions { field_manager: CLI_FIELD_MANAGER, force: self.args.force_conflicts, dry_run: self.dry_run };
        let applied = self.cluster.apply(&self.secret.manifest(), options).await;
        applied.map(|after| ApplyResult::of(live, &after)).map_err(|error| cli_error(&error))
    }

    /// Lets the API server check the new Secret in a dry run before the old one is deleted. The dry run uses another
    /// name, because the old Secret still has the real one.
    async fn judge(&self) -> Result<(), CliError> {
        // A name has 253 characters at most.
        let name: String = self.secret.name.chars().take(253 - JUDGED_AS.len()).collect();
        let judged = SecretObject { name: format!("{name}{JUDGED_AS}"), ..self.secret.clone() };
        let options = WriteOptions { dry_run: true, ..WriteOptions::forced(CLI_FIELD_MANAGER) };
        self.cluster
            .apply(&judged.manifest(), options)
            .await
            .map(drop)
            .map_err(|error| cli_error(&error).hint(format!("{} is unchanged", reference(self.secret))))
    }

    /// Deletes exactly the Secret that was read, and creates the new one. If that fails, restores the old one.
    async fn replace(&self, live: &Value) -> Result<(), CliError> {
        if self.dry_run {
            let options = DeleteOptions { dry_run: true, ..DeleteOptions::default() };
            let deleted = self.cluster.delete(&id_of(self.secret), &options).await;
            return deleted.map(drop).map_err(|error| cli_error(&error));
        }
        // Between the two writes there is no Secret at all, so an interrupt has to wait.
        let _held = self.shell.interruption().hold();
        let deleted = self.cluster.delete_exactly(live, Propagation::Background).await;
        if !deleted.map_err(|error| cli_error(&error))? {
            return Err(CliError::failed(format!("cannot replace {}", reference(self.secret)))
                .cause("it was deleted or changed in the meantime")
                .hint("run the command again"));
        }
        let created = match wait_until_gone(self.cluster, self.secret).await {
            Ok(()) => self.apply(None).await.map(|_| ()),
            Err(error) => Err(error),
        };
        let Err(error) = created else { return Ok(()) };
        match self.cluster.apply(&as_before(live), WriteOptions::forced(CLI_FIELD_MANAGER)).await {
            Ok(_) => Err(error.hint(format!("{} is restored", reference(self.secret)))),
            Err(again) => Err(error
                .cause(format!("the old Secret was deleted and cannot be restored: {}", again.reason))
                .hint("run the command again")),
        }
    }
}

/// Returns a Secret as it was, without the fields that the API server sets on each object. Zeroed when dropped, like
/// every manifest.
fn as_before(live: &Value) -> SecretManifest {
    let metadata = |key: &str| live.get("metadata").and_then(|metadata| metadata.get(key)).cloned();
    let mut kept = serde_json::Map::new();
    for key in ["name", "namespace", "labels", "annotations", "ownerReferences"] {
        kept.extend(metadata(key).map(|value| (key.to_owned(), value)));
    }
    let mut object = serde_json::Map::new();
    object.insert("apiVersion".into(), "v1".into());
    object.insert("kind".into(), "Secret".into());
    object.insert("metadata".into(), kept.into());
    for key in ["type", "data", "immutable"] {
        object.extend(live.get(key).cloned().map(|value| (key.to_owned(), value)));
    }
    SecretManifest::of(object.into())
}

fn refusal(object: &str, need: &ReplaceNeed) -> CliError {
    let why = match need {
        ReplaceNeed::OtherType(type_) => format!("it exists with type {type_}, and a type cannot be changed"),
        ReplaceNeed::Immutable => "it exists and is immutable".to_owned(),
        ReplaceNeed::InPlace => String::new(),
    };
    CliError::failed(format!("cannot apply {object}"))
        .cause(why)
        .object(object)
        .hint("delete it and create it again with --replace")
}

/// Waits until a deleted Secret is gone; only a finalizer makes this take longer than one check.
async fn wait_until_gone(cluster: &Cluster, secret: &SecretObject) -> Result<(), CliError> {
    let look = async {
        loop {
            if cluster.read(&id_of(secret)).await.map_err(|e| cli_error(&e))?.is_none() {
                return Ok(());
            }
            tokio::time::sleep(GONE_INTERVAL).await;
        }
    };
    tokio::time::timeout(cluster.request_timeout, look).await.unwrap_or_else(|_| {
        let message = format!("{} is not gone after {:?}", reference(secret), cluster.request_timeout);
        Err(CliError::new(Exit::Unhealthy, message).hint("a finalizer delays the deletion: see metadata.finalizers"))
    })
}

fn reference(secret: &SecretObject) -> String {
    id_of(secret).lower_case()
}

fn id_of(secret: &SecretObject) -> ObjectId {
    ObjectId::new("", "Secret", Some(&secret.namespace), &secret.name).at("v1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_restored_without_the_fields_of_the_server() {
        let live = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true, "data": {"a": "Yg=="},
            "metadata": {"name": "s", "namespace": "n", "labels": {"l": "1"}, "uid": "u", "resourceVersion": "7",
                "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": []}});
        assert_eq!(
            *as_before(&live),
            json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true, "data": {"a": "Yg=="},
                "metadata": {"name": "s", "namespace": "n", "labels": {"l": "1"}}})
        );
    }
}

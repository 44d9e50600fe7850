//! Turns credentials into a Secret: checked, then printed, or applied to the cluster.

use flux_operator::api::well_known::{CLI_FIELD_MANAGER, DEFAULT_NAMESPACE};
use flux_operator::cluster::WriteOptions;
use flux_operator::format::yaml;
use flux_operator::reconcile::secret::{CheckedReplacement, ReplaceError, SecretApply, SecretWriter};
use flux_operator::secrets::{Credentials, ReplaceReason, SecretObject};
use jiff::Timestamp;
use zeroize::Zeroizing;

use super::{SecretArgs, SecretDryRun, SecretOutline, secret_error};
use crate::session::Session;
use crate::session::connect::{cli_error, context_namespace};
use crate::terminal::{CliError, Exit, Shell};

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
    let dry_run = args.dry_run == SecretDryRun::Server;
    let options = WriteOptions { field_manager: CLI_FIELD_MANAGER, force: args.force_conflicts, dry_run };
    let writer = SecretWriter { cluster, secret: &secret, options };
    let object = secret.id().lower_case();
    let in_place = async {
        match writer.apply().await.map_err(|error| cli_error(&error))? {
            SecretApply::Applied(result) => Ok(SecretWrite::Applied(result.as_str())),
            SecretApply::Refused(reason, _) if !args.replace => Err(refusal(&object, &reason)),
            SecretApply::Refused(_, replacement) => match replacement.check().await {
                Ok(checked) => Ok(SecretWrite::Replace(checked)),
                Err(error) => Err(cli_error(&error).hint(format!("{object} is unchanged"))),
            },
        }
    };
    let in_time = tokio::time::timeout_at(session.deadline.instant(), in_place);
    let step = shell.while_waiting("answer", in_time).await;
    let step = step.unwrap_or_else(|_| Err(session.out_of_time(&format!("apply {object}")).object(&object)));
    let step = match step {
        // The error of a new Secret may be its missing namespace.
        Err(error) => return Err(session.with_nearest_namespace(error, &secret.namespace).await),
        Ok(step) => step,
    };
    let what = match step {
        SecretWrite::Applied(what) => what,
        SecretWrite::Replace(checked) => {
            // Neither --timeout nor an interrupt ends the replacement halfway.
            let _held = (!dry_run).then(|| shell.interruption().hold());
            checked.carry_out().await.map_err(|error| replace_error(&object, error))?;
            "replaced"
        }
    };
    let place = cluster.endpoint.place();
    let dry = if dry_run { ", server dry run" } else { "" };
    shell.print(&format!("{object} {what} ({place}{dry})\n"));
    Ok(Exit::Done)
}

/// The remaining step once everything is known.
enum SecretWrite<'a> {
    Applied(&'static str),
    Replace(CheckedReplacement<'a>),
}

fn export(shell: &Shell, secret: &SecretObject) -> Result<Exit, CliError> {
    let text = yaml::document_stream(std::slice::from_ref(&*secret.export()))
        .map(Zeroizing::new)
        .map_err(|e| CliError::failed("cannot write the Secret as YAML").caused_by(&e))?;
    shell.print(&text);
    Ok(Exit::Done)
}

fn announce(shell: &Shell, secret: &SecretObject) -> Result<Exit, CliError> {
    shell.print(&format!("{} would be applied (client dry run: nothing was sent)\n", secret.id().lower_case()));
    Ok(Exit::Done)
}

fn refusal(object: &str, reason: &ReplaceReason) -> CliError {
    let why = match reason {
        ReplaceReason::OtherType(type_) => format!("it exists with type {type_}, and a type cannot be changed"),
        ReplaceReason::Immutable => "it exists and is immutable".to_owned(),
    };
    CliError::failed(format!("cannot apply {object}"))
        .cause(why)
        .object(object)
        .hint("delete it and create it again with --replace")
}

fn replace_error(object: &str, error: ReplaceError) -> CliError {
    match error {
        ReplaceError::Deletion(error) => cli_error(&error),
        ReplaceError::CreatedMeanwhile => CliError::failed(format!("cannot replace {object}"))
            .cause("the old Secret was deleted, and another one was created by someone else in the meantime")
            .hint("run the command again"),
        ReplaceError::StillTerminating(limit) => {
            CliError::new(Exit::Unhealthy, format!("{object} is not gone after {limit:?}, and no new one was created"))
                .hint("a finalizer delays the deletion: see metadata.finalizers")
                .hint("run the command again when it is gone")
        }
        ReplaceError::Creation { cause, restored: Ok(()) } => cli_error(&cause).hint(format!("{object} is restored")),
        ReplaceError::Creation { cause, restored: Err(reason) } => cli_error(&cause)
            .cause(format!("the old Secret was deleted and cannot be restored: {reason}"))
            .hint("run the command again"),
    }
}

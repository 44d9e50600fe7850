//! From credentials to a Secret: checked, then printed, or applied to the cluster.

use std::time::Duration;

use flux_operator::api::kinds::SECRET;
use flux_operator::api::well_known::CLI_FIELD_MANAGER;
use flux_operator::cluster::{ApplyOptions, Cluster, ClusterError, Outcome};
use flux_operator::format::yaml;
use flux_operator::k8s::ObjectId;
use flux_operator::secrets::{Credentials, SecretObject, Standing};
use jiff::Timestamp;
use serde_json::Value;
use zeroize::Zeroizing;

use super::{Described, DryRun, SecretArgs, secret_error};
use crate::shell::cluster::{self, cli_error};
use crate::shell::{CliError, Exit, Shell};

/// Where a Secret goes when neither flag nor context says.
const DEFAULT_NAMESPACE: &str = "default";
/// How often a deleted Secret that a finalizer holds back is looked at.
const GONE_INTERVAL: Duration = Duration::from_millis(250);

pub(super) async fn write(
    shell: &Shell,
    args: &SecretArgs,
    described: Described,
    credentials: Credentials,
) -> Result<Exit, CliError> {
    let content = credentials.content().map_err(secret_error)?;
    if !args.skip_checks {
        let warnings = credentials.check(Timestamp::now()).map_err(secret_error)?;
        warnings.iter().for_each(|warning| shell.warn(warning));
    }
    let Described { namespace, labels, annotations } = described;
    let mut secret = SecretObject {
        name: args.name.clone(),
        namespace: namespace.clone().unwrap_or_default(),
        labels,
        annotations,
        immutable: args.immutable,
        content,
    };
    if args.export || args.dry_run == DryRun::Client {
        secret.namespace = namespace.or_else(|| cluster::context_namespace(shell)).unwrap_or(DEFAULT_NAMESPACE.into());
        return if args.export { export(shell, &secret) } else { announce(shell, &secret) };
    }
    let cluster = cluster::connect(shell).await?;
    secret.namespace = namespace.or_else(|| cluster.namespace.clone()).unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned());
    let applied = apply(shell, &cluster, args, &secret);
    match shell.global().timeout {
        Some(limit) => tokio::time::timeout(limit.0, applied).await.unwrap_or_else(|_| {
            let message = format!("timed out after {:?}: cannot apply {}", limit.0, reference(&secret));
            Err(CliError::new(Exit::Unhealthy, message).object(reference(&secret)))
        }),
        None => applied.await,
    }
}

fn export(shell: &Shell, secret: &SecretObject) -> Result<Exit, CliError> {
    let text = yaml::document_stream(std::slice::from_ref(&*secret.export()))
        .map(Zeroizing::new)
        .map_err(|e| CliError::failed("cannot write the Secret as YAML").caused_by(&e))?;
    shell.print(&text)?;
    Ok(Exit::Done)
}

fn announce(shell: &Shell, secret: &SecretObject) -> Result<Exit, CliError> {
    shell.print(&format!("{} would be applied (client dry run: nothing was sent)\n", reference(secret)))?;
    Ok(Exit::Done)
}

async fn apply(shell: &Shell, cluster: &Cluster, args: &SecretArgs, secret: &SecretObject) -> Result<Exit, CliError> {
    let object = reference(secret);
    let failed = |error: ClusterError| cli_error(&error);
    let dry_run = args.dry_run == DryRun::Server;
    let live = cluster.find(&SECRET, Some(&secret.namespace), &secret.name).await.map_err(failed)?;
    let in_the_way = live.as_ref().map(|live| secret.standing(live)).filter(|standing| *standing != Standing::Open);
    let mut replaced = false;
    if let Some(standing) = &in_the_way {
        if !args.replace {
            return Err(refusal(&object, standing));
        }
        replaced = true;
        cluster.delete(&SECRET, Some(&secret.namespace), &secret.name, dry_run).await.map_err(failed)?;
        if !dry_run {
            gone(cluster, secret).await?;
        }
    }
    let outcome = if replaced && dry_run {
        // The old Secret is still there, so the server cannot be asked about the new one.
        Outcome::Created
    } else {
        let options = ApplyOptions { field_manager: CLI_FIELD_MANAGER, force: args.force_conflicts, dry_run };
        let live = live.as_ref().filter(|_| !replaced);
        let applied = cluster.apply(&SECRET, &secret.manifest(), live, &options).await;
        let applied = applied.map_err(|error| {
            let told = cli_error(&error);
            if replaced { told.hint("the old Secret is deleted already: run the command again") } else { told }
        });
        applied?.0
    };
    let what = if replaced { "replaced" } else { outcome.as_str() };
    let place = match &cluster.endpoint.context {
        Some(context) => format!("context {context}"),
        None => cluster.endpoint.server.clone(),
    };
    let dry = if dry_run { ", server dry run" } else { "" };
    shell.print(&format!("{object} {what} ({place}{dry})\n"))?;
    Ok(Exit::Done)
}

fn refusal(object: &str, standing: &Standing) -> CliError {
    let why = match standing {
        Standing::OtherType(type_) => format!("it exists with type {type_}, and a type cannot be changed"),
        Standing::Immutable => "it exists and is immutable".to_owned(),
        Standing::Open => String::new(),
    };
    CliError::failed(format!("cannot apply {object}"))
        .cause(why)
        .object(object)
        .hint("delete it and create it again with --replace")
}

/// Waits until a deleted Secret is gone; only a finalizer makes this take longer than one look.
async fn gone(cluster: &Cluster, secret: &SecretObject) -> Result<(), CliError> {
    let look = async {
        loop {
            let found: Option<Value> =
                cluster.find(&SECRET, Some(&secret.namespace), &secret.name).await.map_err(|e| cli_error(&e))?;
            if found.is_none() {
                return Ok(());
            }
            tokio::time::sleep(GONE_INTERVAL).await;
        }
    };
    tokio::time::timeout(cluster.request_timeout, look).await.unwrap_or_else(|_| {
        let message = format!("{} is not gone after {:?}", reference(secret), cluster.request_timeout);
        Err(CliError::new(Exit::Unhealthy, message).hint("a finalizer holds it back: look at metadata.finalizers"))
    })
}

fn reference(secret: &SecretObject) -> String {
    ObjectId::new("", "Secret", Some(&secret.namespace), &secret.name).lower_case()
}

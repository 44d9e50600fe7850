//! `apply instance`: applies the object, then waits for the operator, or does the operator's work here.

use flux_operator::api::FluxInstance;
use flux_operator::api::well_known::CLI_FIELD_MANAGER;
use flux_operator::cluster::ApplyOptions;
use flux_operator::reconcile::operator::Attention;
use flux_operator::reconcile::request::Absent;
use flux_operator::yaml;
use serde_json::Value;

use crate::manifest::read_written_instance;
use crate::objects::args::{DryRun, DryRunArgs, WaitArgs};
use crate::objects::{Followed, Session, Target, instance_kind, until_ready};
use crate::shell::progress::ProgressArgs;
use crate::shell::{CliError, Exit, Shell};

/// Apply a FluxInstance and wait until it is ready
///
/// The object is applied server-side; a running operator then installs or changes
/// Flux. When no operator will look at it, that is said at once.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Apply and watch the controllers come up\n  \
    flux-operator apply instance -f flux.yaml\n\n  \
    # From a pipe, with progress as JSON lines for a log\n  \
    flux-operator create instance | flux-operator apply instance -f - \\\n    \
    --progress json")]
pub struct Args {
    /// File with the FluxInstance; - reads standard input
    #[arg(short, long, value_name = "FILE", alias = "file", required = true)]
    pub filename: Option<String>,
    /// Take fields over that another manager set to other values
    #[arg(long)]
    pub force_conflicts: bool,
    #[command(flatten)]
    pub wait: WaitArgs,
    #[command(flatten)]
    pub dry_run: DryRunArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let Some(file) = &args.filename else { return Err(CliError::usage("no file is given")) };
    if args.dry_run.dry_run == Some(DryRun::Client) {
        let (_, written) = read_written_instance(file, None, shell)?;
        let text = yaml::to_string(&written).map_err(|e| CliError::failed("cannot print the object").caused_by(&e))?;
        shell.print(&text)?;
        shell.status("(dry run) nothing was sent");
        return Ok(Exit::Done);
    }
    shell.run(async {
        let session = Session::open(shell).await?;
        let (manifest, written) = read_written_instance(file, session.cluster.namespace.as_deref(), shell)?;
        through_operator(&session, args, &manifest.instance, &written).await
    })
}

async fn through_operator(
    session: &Session<'_>,
    args: &Args,
    instance: &FluxInstance,
    written: &Value,
) -> Result<Exit, CliError> {
    let target = target(instance);
    let place = session.place(&target.reference());
    let dry_run = args.dry_run.dry_run == Some(DryRun::Server);
    let resource = target.kind.resource_type();
    let options = ApplyOptions { field_manager: CLI_FIELD_MANAGER, force: args.force_conflicts, dry_run };
    let apply = async {
        let live = session.cluster.find(&resource, Some(&target.namespace), &target.name).await?;
        session.cluster.apply(&resource, written, live.as_ref(), &options).await
    };
    let attempted = format!("apply {place}");
    let ((outcome, _), attention) = tokio::try_join!(session.bounded(&attempted, apply), session.attention(&target))?;
    let prefix = if dry_run { "(server dry run) " } else { "" };
    session.shell.status(&format!("{prefix}► {place} {}", outcome.as_str()));
    if dry_run {
        return Ok(Exit::Done);
    }
    let resume = session.command(&format!("wait {}", target.words()), &target.namespace);
    session.shell.interruption().set("the object is stored, and the operator goes on with it", Some(resume));
    if attention.is_nobody() {
        return nobody(session, args, &target, &attention);
    }
    if !args.wait.wait {
        return Ok(Exit::Done);
    }
    let followed = [Followed { target, request: None, absent: Absent::Ends }];
    until_ready(session, &followed, args.progress.progress).await
}

/// The object is written, and nobody will act on it.
fn nobody(session: &Session<'_>, args: &Args, target: &Target, attention: &Attention) -> Result<Exit, CliError> {
    let place = session.place(&target.reference());
    let file = args.filename.as_ref().map_or_else(|| "FILE".into(), |f| f.clone());
    let here = session.command(&format!("apply instance -f {file} --in-process"), &target.namespace);
    let message = format!("{place} is stored, but nobody will act on it");
    if !args.wait.wait {
        session.shell.warn(&format!("{message}: {attention}"));
        session.shell.hint(&format!("reconcile it from here with `{here}`"));
        return Ok(Exit::Done);
    }
    Err(CliError::failed(message)
        .cause(attention.to_string())
        .object(target.reference().to_string())
        .hint(format!("reconcile it from here with `{here}`")))
}

fn target(instance: &FluxInstance) -> Target {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let metadata = &instance.metadata;
    Target { kind: instance_kind(), namespace: text(&metadata.namespace), name: text(&metadata.name) }
}

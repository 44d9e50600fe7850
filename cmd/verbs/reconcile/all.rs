//! `reconcile all`: requests the reconciliation of every object of a kind.

use flux_operator::api::kinds::{FLUX_KINDS, FluxKind};
use flux_operator::api::well_known::GROUP;
use flux_operator::cluster::ListOptions;
use flux_operator::k8s::ObjectId;
use flux_operator::request::condition;

use crate::args::DryRunArgs;
use crate::args::objects::{kind, must_reconcile};
use crate::flows::follow::{all_or_error, follow_sent};
use crate::flows::request::{CONCURRENT, RequestKind, send};
use crate::flows::rights::{EXPLAINS_SILENCE, FOLLOWS, KIND, Rights, always, when};
use crate::session::Session;
use crate::session::target::Target;
use crate::terminal::output_format::ReadyStatus;
use crate::terminal::progress::ProgressArgs;
use crate::terminal::{CliError, Exit, Shell};
use flux_operator::api::well_known::DEFAULT_NAMESPACE;

/// Reconcile all Flux objects now, or those of some kinds
///
/// Sends the requests; with --wait it also waits until each object is ready. The number of concurrent requests is
/// limited. Suspended objects are skipped unless their kind is named.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Try every failed Helm release of the cluster again\n  \
    flux-operator reconcile all --kind HelmRelease --ready-status False -A\n\n  \
    # Fetch all repositories of the cluster, and wait for the outcome\n  \
    flux-operator reconcile all --kind gitrepo -A --wait\n\n  \
    # Fetch all repositories of a namespace\n  \
    flux-operator -n apps reconcile all gitrepo\n\n  \
    # Everything in a namespace, and wait until it is ready\n  \
    flux-operator -n apps reconcile all --wait")]
pub struct Args {
    /// Kinds of the objects: any case, plural or short name; all if omitted
    #[arg(value_name = "KIND", value_delimiter = ',', add = crate::args::complete::kinds())]
    pub kinds: Vec<String>,
    /// Same as the argument, for compatibility with flux
    #[arg(long, value_name = "KIND", value_delimiter = ',', add = crate::args::complete::kinds())]
    pub kind: Vec<String>,
    /// Only objects whose Ready condition has this status
    #[arg(long, value_enum, ignore_case = true, value_name = "STATUS")]
    pub ready_status: Option<ReadyStatus>,
    /// Objects of all namespaces
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    /// Only objects with these labels, as in kubectl
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<String>,
    /// Also request actions that the kind performs only when forced
    #[arg(long)]
    pub force: bool,
    /// Wait until each object has handled its request and is ready
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub wait: bool,
    #[command(flatten)]
    pub dry_run: DryRunArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    let kinds = kinds_of(args)?;
    for kind in kinds {
        let namespace = rights.scope(args.all_namespaces, DEFAULT_NAMESPACE);
        let (kind, namespace) = (kind.resource_type(), namespace.as_deref());
        rights.of_kind(&kind, namespace, &[], &[always("list", KIND), when("there is such an object", "patch", KIND)]);
        if args.wait {
            rights.everywhere(EXPLAINS_SILENCE);
            rights.of_kind(&kind, namespace, &[], FOLLOWS);
        }
    }
    Ok(())
}

/// The kinds of a line, or all that are reconciled on request.
fn kinds_of(args: &Args) -> Result<Vec<&'static FluxKind>, CliError> {
    let named = args.kinds.iter().chain(&args.kind).map(|word| {
        let kind = kind(word)?;
        must_reconcile(kind, "reconcile")?;
        Ok(kind)
    });
    let named = named.collect::<Result<Vec<_>, CliError>>()?;
    if !named.is_empty() {
        return Ok(named);
    }
    // The operator's own kinds, which create the other objects, have to be named.
    let works = |kind: &&FluxKind| must_reconcile(kind, "reconcile").is_ok() && kind.group != GROUP;
    Ok(FLUX_KINDS.iter().filter(works).collect())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let is_named = !args.kinds.is_empty() || !args.kind.is_empty();
    let named = kinds_of(args)?;
    shell.run(async {
        let session = Session::open(shell).await?;
        let mut targets = vec![];
        for kind in &named {
            let namespace = (!args.all_namespaces).then(|| session.namespace());
            let options =
                ListOptions { label_selector: args.selector.clone(), without_managers: true, ..ListOptions::default() };
            let objects = match session.list(kind, namespace.as_deref(), &options).await {
                // All kinds include those of components that are not installed.
                Err(error) if error.exit() == Exit::ApiMissing && !is_named => continue,
                objects => objects?,
            };
            for object in objects {
                let ObjectId { namespace, name, .. } = ObjectId::of(&object);
                let target = Target { kind, namespace, name };
                let ready = condition(&object, "Ready").map(|c| c.status);
                let status = match ready.as_deref() {
                    _ if target.is_suspended(&object) => ReadyStatus::Suspended,
                    Some("True") => ReadyStatus::True,
                    Some("False") => ReadyStatus::False,
                    _ => ReadyStatus::Unknown,
                };
                let asleep = status == ReadyStatus::Suspended && !is_named;
                if args.ready_status.map_or(!asleep, |wanted| wanted == status) {
                    targets.push(target);
                }
            }
        }
        if targets.is_empty() {
            let what = match named.as_slice() {
                [kind] => kind.kind,
                _ => "object",
            };
            let place = session.searched(args.all_namespaces).await?;
            shell.status(&format!("nothing to reconcile: no {what} in {place}"));
            return Ok(Exit::Done);
        }
        let (count, mut sent, mut failed) = (targets.len(), vec![], vec![]);
        let act = RequestKind::Reconcile { force: args.force, reset: false };
        // In parts, so that an interrupt can say how many requests were sent.
        for (round, some) in targets.chunks(CONCURRENT).enumerate() {
            if args.dry_run.dry_run.is_none() {
                let answered = round * CONCURRENT;
                let sent =
                    format!("{answered} of {count} requests were sent before, and {} more may have been", some.len());
                shell.interruption().set(sent, None);
            }
            let (accepted, refused) = send(&session, some, act, args.dry_run.dry_run).await?;
            sent.extend(accepted);
            failed.extend(refused);
        }
        if args.wait {
            // All controllers are working by now, so wait for one part while the next becomes ready.
            while !sent.is_empty() {
                let some = sent.drain(..sent.len().min(CONCURRENT)).collect();
                failed.extend(follow_sent(&session, some, act, args.progress.progress).await);
            }
        }
        all_or_error(&session, failed, count, "reconciled")
    })
}

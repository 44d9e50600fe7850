//! `reconcile all`: asks for the reconciliation of every object of a kind.

use flux_operator::k8s::ObjectId;
use flux_operator::request::condition;

use crate::common::args::{DryRunArgs, kind, must_reconcile};
use crate::common::{CONCURRENT, RequestKind, Session, Target, all_or_error, follow_sent, send};
use crate::shell::output::ReadyStatus;
use crate::shell::progress::ProgressArgs;
use crate::shell::{CliError, Exit, Shell};

/// Reconcile every object of a kind now
///
/// Sends the requests; with --wait it also waits until each object is ready. The
/// number of requests that are under way at once is bounded.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Try every failed Helm release of the cluster again\n  \
    flux-operator reconcile all --kind HelmRelease --ready-status False -A\n\n  \
    # Fetch all repositories of the cluster, and see how that ends\n  \
    flux-operator reconcile all --kind gitrepo -A --wait\n\n  \
    # Fetch all repositories of a namespace\n  \
    flux-operator -n apps reconcile all --kind gitrepo")]
pub struct Args {
    /// Kind of the objects: any case, plural or short name
    #[arg(long, value_name = "KIND", add = crate::common::complete::kinds())]
    pub kind: String,
    /// Only objects whose Ready condition has this status
    #[arg(long, value_enum, ignore_case = true, value_name = "STATUS")]
    pub ready_status: Option<ReadyStatus>,
    /// Objects of all namespaces
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    /// Only objects with these labels, as in kubectl
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<String>,
    /// Also ask for what the kind does only when forced
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

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let kind = kind(&args.kind)?;
    must_reconcile(kind, "reconcile")?;
    shell.run(async {
        let session = Session::open(shell).await?;
        let namespace = (!args.all_namespaces).then(|| session.namespace(kind));
        let objects = session.list(kind, namespace.as_deref(), args.selector.as_deref()).await?;
        let mut targets = vec![];
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
            if args.ready_status.is_none_or(|wanted| wanted == status) {
                targets.push(target);
            }
        }
        if targets.is_empty() {
            let place = namespace.map_or_else(|| "any namespace".to_owned(), |n| format!("namespace {n}"));
            shell.status(&format!("nothing to reconcile: no such {} in {place}", kind.kind));
            return Ok(Exit::Done);
        }
        let (count, mut sent, mut failed) = (targets.len(), vec![], vec![]);
        let act = RequestKind::Reconcile { force: args.force, reset: false };
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
            // All controllers are at work by now, so a part is waited for while the next one gets ready.
            while !sent.is_empty() {
                let some = sent.drain(..sent.len().min(CONCURRENT)).collect();
                failed.extend(follow_sent(&session, some, act, args.progress.progress).await);
            }
        }
        all_or_error(&session, failed, count, "reconciled")
    })
}

//! `reconcile resource`: asks a Flux controller to reconcile an object now.

use flux_operator::api::kinds;
use flux_operator::inspect::views::trace::source_of;
use futures::future::try_join_all;

use crate::args::{FollowArgs, ResourceArgs, must_reconcile};
use crate::flows::follow::request_and_follow;
use crate::flows::request::RequestKind;
use crate::flows::rights::{EXPLAINS_SILENCE, FOLLOWS, KIND, Right, Rights, always, when};
use crate::flows::run_in_process::InProcessArgs;
use crate::session::Session;
use crate::session::target::Target;
use crate::terminal::{CliError, Exit, Shell};
use flux_operator::api::kinds::SOURCE_GROUP;

/// Reconcile Flux resources now
///
/// Waits until the controller has handled the request and the object is ready.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Fetch a repository now\n  \
    flux-operator -n flux-system reconcile resource GitRepository/flux-system\n\n  \
    # Several objects of different kinds, by their short names\n  \
    flux-operator -n apps reconcile resource gitrepo/podinfo ks/podinfo\n\n  \
    # Fetch the source first, then apply what is new\n  \
    flux-operator -n apps reconcile ks podinfo --with-source\n\n  \
    # Everything that is not suspended, in all namespaces\n  \
    flux-operator reconcile hr --all -A\n\n  \
    # Run the upgrade of a Helm release again although nothing changed\n  \
    flux-operator -n apps reconcile resource hr/podinfo --force\n\n  \
    # Ask the service of an input provider without an operator in the cluster\n  \
    flux-operator -n apps reconcile rsip pull-requests --in-process")]
pub struct Args {
    #[command(flatten)]
    pub resources: ResourceArgs,
    /// Also request what the kind does only when forced
    #[arg(long)]
    pub force: bool,
    /// First reconcile the source of each object, and wait for it
    #[arg(long)]
    pub with_source: bool,
    /// Clear the failures of a Helm release, so that it is retried
    #[arg(long)]
    pub reset: bool,
    #[command(flatten)]
    pub in_process: InProcessArgs,
    #[command(flatten)]
    pub follow: FollowArgs,
}

/// The source is named by the object, which may also be in another namespace.
const FETCHES: &[Right] = &[when("the object has such a source", "patch get list watch", KIND)];

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    let wanted = args.resources.resolve()?;
    if args.in_process.in_process {
        super::in_process::rights(&wanted, rights);
        return Ok(());
    }
    rights.wanted(&wanted, &[always("patch", KIND)]);
    if args.follow.waits() {
        rights.wanted(&wanted, FOLLOWS);
        rights.everywhere(EXPLAINS_SILENCE);
    }
    if args.with_source {
        rights.wanted(&wanted, &[always("get", KIND)]);
        rights.flux_kinds(None, |kind| kind.group == SOURCE_GROUP, FETCHES);
    }
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let wanted = args.resources.resolve()?;
    for kind in wanted.kinds() {
        must_reconcile(kind, "reconcile")?;
        if args.reset && kind.kind != "HelmRelease" {
            return Err(CliError::usage(format!("--reset is for Helm releases, not for {}", kind.plural)));
        }
    }
    if args.in_process.in_process {
        if args.follow.dry_run().is_some() {
            return Err(CliError::usage("--dry-run cannot be used with --in-process for an input provider"));
        }
        return super::in_process::run(&args.in_process, args.force, wanted, shell);
    }
    shell.run(async {
        let session = Session::open(shell).await?;
        // A request for all objects does not include suspended ones.
        let targets = session.targets_that(wanted, |target, object| !target.is_suspended(object)).await?;
        if args.with_source {
            let sources = sources(&session, &targets).await?;
            let act = RequestKind::Reconcile { force: false, reset: false };
            let fetched = request_and_follow(&session, &sources, act, &args.follow).await?;
            if fetched != Exit::Done {
                return Ok(fetched);
            }
        }
        let act = RequestKind::Reconcile { force: args.force, reset: args.reset };
        request_and_follow(&session, &targets, act, &args.follow).await
    })
}

/// Returns the sources of objects, without duplicates.
async fn sources(session: &Session<'_>, targets: &[Target]) -> Result<Vec<Target>, CliError> {
    let mut sources: Vec<Target> = vec![];
    let objects = try_join_all(targets.iter().map(|target| session.get(target))).await?;
    for (target, object) in targets.iter().zip(objects) {
        let Some((kind, source)) = source_of(&object).and_then(|id| Some((kinds::find(&id.kind)?, id))) else {
            return Err(CliError::usage(format!(
                "{} has no source that could be reconciled first",
                target.reference()
            ))
            .object(target.reference())
            .hint("leave --with-source out"));
        };
        let namespace = source.namespace().unwrap_or(&target.namespace).to_owned();
        let source = Target { kind, namespace, name: source.name };
        if !sources.iter().any(|known| known.reference() == source.reference()) {
            sources.push(source);
        }
    }
    Ok(sources)
}

//! `reconcile resource`: asks a Flux controller to reconcile an object now.

use flux_operator::api::kinds;
use flux_operator::inspect::views::trace::source_of;
use futures::future::try_join_all;

use super::Args;
use crate::args::objects::must_reconcile;
use crate::flows::follow::request_and_follow;
use crate::flows::request::RequestKind;
use crate::flows::rights::{EXPLAINS_SILENCE, FOLLOWS, KIND, Right, Rights, always, when};
use crate::session::Session;
use crate::session::target::{ObjectSelection, Target};
use crate::terminal::{CliError, Exit, Shell};
use flux_operator::api::kinds::SOURCE_GROUP;

/// Rights on the source, which the object names and which may be in another namespace.
const FETCHES: &[Right] = &[when("the object has such a source", "patch get list watch", KIND)];

pub fn rights(args: &Args, wanted: &ObjectSelection, rights: &mut Rights) {
    if args.in_process.in_process {
        super::in_process::rights(wanted, rights);
        return;
    }
    rights.wanted(wanted, &[always("patch", KIND)]);
    if args.follow.waits() {
        rights.wanted(wanted, FOLLOWS);
        rights.everywhere(EXPLAINS_SILENCE);
    }
    if args.with_source {
        rights.wanted(wanted, &[always("get", KIND)]);
        rights.flux_kinds(None, |kind| kind.group == SOURCE_GROUP, FETCHES);
    }
}

pub fn run(args: &Args, wanted: ObjectSelection, shell: &Shell) -> Result<Exit, CliError> {
    for kind in wanted.kinds() {
        must_reconcile(kind, "reconcile")?;
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

//! `uninstall resourcesets`: releases objects of the reference operator that no operator serves.

use clap::ArgAction;
use flux_operator::operator::{UnservedObject, refuse_if_served, release, unserved_objects};
use flux_operator::reconcile::progress::Silent;
use tokio::time::timeout_at;

use crate::flows::operator::{operator_error, unserved_text};
use crate::output::objects;
use crate::session::Session;
use crate::terminal::confirm::{Agreement, ConfirmArgs, confirm};
use crate::terminal::{CliError, Exit, Shell};

/// Release ResourceSets and ResourceSetInputProviders
///
/// This operator does not serve these kinds, and without one that does, their finalizer keeps them for ever. The
/// command clears the finalizer, and with --delete also deletes the objects; the objects that they manage are kept. It
/// refuses while an operator that serves them is running.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Which are there, in all namespaces?\n  \
    flux-operator uninstall resourcesets --dry-run\n\n  \
    # Those of one namespace, and delete them\n  \
    flux-operator -n apps uninstall resourcesets --delete --yes")]
pub struct Args {
    /// Delete them as well
    #[arg(long)]
    pub delete: bool,
    /// Only show the objects
    #[arg(long, action = ArgAction::SetTrue)]
    pub dry_run: bool,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(async {
        let session = Session::open(shell).await?;
        let namespace = shell.global().namespace().map(str::to_owned);
        let look = unserved_objects(&session.cluster, namespace.as_deref());
        let found: Vec<UnservedObject> = session.bounded("list ResourceSets", look).await?;
        let refused = |error| operator_error(&session, &error, "let go of", "resourcesets");
        if !found.is_empty() {
            let look = timeout_at(session.deadline.instant(), refuse_if_served(&session.cluster)).await;
            look.map_err(|_| session.out_of_time("look for an operator that serves them"))?.map_err(refused)?;
        }
        for one in &found {
            shell.print(&format!("{}\n", unserved_text(one)));
        }
        if found.is_empty() || args.dry_run {
            shell.status(&format!("{} that no operator serves", objects(found.len())));
            return Ok(Exit::Done);
        }
        let what = if args.delete { "delete" } else { "clear the finalizer of" };
        let question = format!("{what} {} of {}", objects(found.len()), session.cluster.endpoint.place());
        let context = session.cluster.endpoint.context.as_deref();
        confirm(shell, &args.confirm, context, &question, Agreement::Yes).await?;
        let done = release(&session.cluster, found, args.delete, &Silent).await;
        let done = done.map_err(refused)?;
        for id in &done.released {
            let word = if done.deleted.contains(id) { "deleted" } else { "released" };
            shell.print(&format!("{}: {word}\n", id.lower_case()));
        }
        match done.held.as_slice() {
            [] => Ok(Exit::Done),
            held => {
                let error = CliError::new(Exit::Unhealthy, "objects are held by finalizers of others");
                Err(held.iter().fold(error, |error, id| error.cause(id.to_string())))
            }
        }
    })
}

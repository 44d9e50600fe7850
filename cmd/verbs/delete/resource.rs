//! `delete resource`: deletes Flux objects, after showing what is deleted with them.

use flux_operator::inspect::impact::impact;
use flux_operator::inspect::read::from_cluster;
use flux_operator::request::Absent;

use crate::args::{DryRun, DryRunArgs, ResourceArgs, WaitArgs};
use crate::flows::follow::{Followed, uid_of, until_gone};
use crate::flows::impact::impact_text;
use crate::flows::request::request_deletion;
use crate::flows::rights::{EXPLAINS_SILENCE, FINDS_USERS, KIND, Rights, always, when};
use crate::session::Session;
use crate::session::read_source::warn_of_refusals;
use crate::terminal::confirm::{Agreement, ConfirmArgs, check_consent, confirm};
use crate::terminal::progress::ProgressArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Delete Flux objects, after showing what is deleted with them
///
/// A Kustomization prunes the objects it applied, a HelmRelease uninstalls its release. The command lists all of that
/// first and asks; a script needs --yes.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # What would go, and nothing else\n  \
    flux-operator -n apps delete resource ks/podinfo --dry-run\n\n  \
    # In any spelling of a kind\n  \
    flux-operator -n apps delete hr podinfo\n\n  \
    # In a script\n  \
    flux-operator -n apps delete resource ks/podinfo gitrepo/podinfo --yes")]
pub struct Args {
    #[command(flatten)]
    pub resources: ResourceArgs,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
    #[command(flatten)]
    pub wait: WaitArgs,
    #[command(flatten)]
    pub dry_run: DryRunArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    let wanted = args.resources.resolve()?;
    rights.wanted(&wanted, &[always("get delete", KIND)]);
    if args.wait.wait {
        rights.wanted(&wanted, &[when("it is not gone at the first look", "list watch", KIND)]);
        rights.everywhere(EXPLAINS_SILENCE);
    }
    rights.everywhere(FINDS_USERS);
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let wanted = args.resources.resolve()?;
    shell.run(async {
        let session = Session::open(shell).await?;
        let targets = session.targets(wanted).await?;
        let mut objects = vec![];
        // Every object is read before the first is deleted, so that a misspelt name deletes nothing.
        for target in &targets {
            objects.push(session.get(target).await?);
        }
        for (target, object) in targets.iter().zip(&objects) {
            let view = from_cluster::collect(&session.cluster, |snapshot| impact(snapshot, object));
            let attempted = format!("look at what goes with {}", session.place(&target.reference()));
            let found = session.bounded(&attempted, view).await?;
            warn_of_refusals(shell, &found.refusals);
            shell.status(impact_text(&found.value, false).trim_end());
        }
        let what = match targets.as_slice() {
            [one] => format!("delete {}", session.place(&one.reference())),
            many => format!("delete {} objects ({})", many.len(), session.cluster.endpoint.place()),
        };
        let context = session.cluster.endpoint.context.clone();
        match args.dry_run.dry_run {
            Some(DryRun::Client) => {
                shell.status(&format!("(dry run) would {what}"));
                return check_consent(shell, &args.confirm, context.as_deref(), &what).map(|()| Exit::Done);
            }
            Some(DryRun::Server) => {}
            None => confirm(shell, &args.confirm, context.as_deref(), &what, Agreement::Yes).await?,
        }
        // The user's answer must not count against the time-out.
        let session = session.with_new_deadline();
        let is_dry = args.dry_run.dry_run.is_some();
        for (target, object) in targets.iter().zip(&objects) {
            request_deletion(&session, target, uid_of(object), is_dry).await?;
        }
        if is_dry {
            shell.status(&format!("(server dry run) would {what}"));
            check_consent(shell, &args.confirm, context.as_deref(), &what)?;
        } else if args.wait.wait {
            for (target, object) in targets.iter().zip(&objects) {
                let followed =
                    Followed { target: target.clone(), request: None, absent: Absent::Ends, uid: uid_of(object) };
                until_gone(&session, &followed, args.progress.progress).await?;
                shell.print(&format!("{}: deleted\n", target.reference()));
            }
        }
        Ok(Exit::Done)
    })
}

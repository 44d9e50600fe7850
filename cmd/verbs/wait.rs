//! `wait`: waits until an object is ready.

use clap::{Subcommand, ValueEnum};
use flux_operator::request::AbsencePolicy;

use crate::args::objects::{ResourceArgs, must_report, optional};
use crate::flows::follow::{FollowedObject, until_created, until_gone, until_ready, watch};
use crate::flows::rights::{EXPLAINS_SILENCE, KIND, Right, Rights, always, when};
use crate::session::Session;
use crate::session::target::{Target, instance_kind};
use crate::terminal::progress::{ProgressArgs, ProgressMode};
use crate::terminal::{CliError, Exit, Shell};

mod instance;
mod revision;

/// Wait until objects are ready
///
/// Exits with 0 when every object is Ready at its current generation, and with
/// 7 when an object reports a failure or the command times out. Without
/// objects, waits for the instance, and also fails if a part of it has failed
/// since its last reconciliation. A kind alone means all objects of that kind.
#[derive(clap::Args, Debug)]
#[command(
    mut_arg("resources", optional),
    after_help = "Examples:\n  \
    # Wait for the instance, two minutes at most\n  \
    flux-operator -n flux-system wait instance flux --timeout 2m\n\n  \
    # Wait for an application and its source\n  \
    flux-operator -n apps wait gitrepo/podinfo ks/podinfo\n\n  \
    # Wait until the instance is created\n  \
    flux-operator -n flux-system wait instance flux --for=create\n\n  \
    # Wait until an object is deleted\n  \
    flux-operator -n apps wait ks/podinfo --for=delete --timeout 30s\n\n  \
    # Watch for a limited time\n  \
    flux-operator -n flux-system wait instance flux --watch --timeout 10m"
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub resources: ResourceArgs,
    #[command(flatten)]
    pub until: ForArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    Revision(revision::Args),
}

/// Rows of a wait for one object.
const WAITS: &[Right] = &[always("list", KIND), when("the awaited state is not reached yet", "watch get", KIND)];

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    if let Some(Command::Revision(args)) = &args.command {
        return revision::rights(args, rights);
    }
    let wanted = args.resources.resolve_or_all()?;
    rights.wanted(&wanted, WAITS);
    if let Some(name) = wanted.only(instance_kind()) {
        instance::rights(name, rights);
    }
    rights.everywhere(EXPLAINS_SILENCE);
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    if let Some(Command::Revision(args)) = &args.command {
        return revision::run(args, shell);
    }
    let wanted = args.resources.resolve_or_all()?;
    // Every kind can be deleted, but not every kind has a status.
    if args.until.until != AwaitedState::Delete {
        for kind in wanted.kinds() {
            must_report(kind, "wait for")?;
        }
    }
    let is_judged =
        wanted.only(instance_kind()).is_some() && args.until.until == AwaitedState::Ready && !args.until.watch;
    shell.run(async {
        let session = Session::open(shell).await?;
        let targets = session.targets(wanted).await?;
        let exit = follow(&session, targets.clone(), &args.until, args.progress.progress).await?;
        if let ([target], true) = (targets.as_slice(), is_judged) {
            instance::judge(&session, target).await?;
        }
        Ok(exit)
    })
}

/// The awaited state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AwaitedState {
    /// Ready at the current generation
    #[value(alias = "condition=Ready", alias = "condition=Ready=True")]
    Ready,
    /// Existing, ready or not
    Create,
    /// Deleted
    Delete,
}

#[derive(clap::Args, Clone, Debug)]
pub struct ForArgs {
    /// State to wait for; a missing object ends the wait at once, except for create
    #[arg(long = "for", value_enum, ignore_case = true, value_name = "WHAT", default_value_t = AwaitedState::Ready)]
    pub until: AwaitedState,
    /// Then keep printing changes, until Ctrl-C, deletion or --timeout
    #[arg(short, long)]
    pub watch: bool,
}

async fn follow(
    session: &Session<'_>,
    targets: Vec<Target>,
    args: &ForArgs,
    mode: ProgressMode,
) -> Result<Exit, CliError> {
    let absent = if args.until == AwaitedState::Create { AbsencePolicy::Awaited } else { AbsencePolicy::Ends };
    let followed: Vec<_> =
        targets.into_iter().map(|target| FollowedObject { target, request: None, absent, uid: None }).collect();
    session.shell.interruption().set("nothing was changed; reconciliation continues in the cluster", None);
    if args.until == AwaitedState::Delete {
        for one in &followed {
            until_gone(session, one, mode).await?;
            session.shell.print(&format!("{}: deleted\n", one.target.reference()));
        }
        return Ok(Exit::Done);
    }
    if args.watch {
        return watch(session, &followed).await;
    }
    if args.until == AwaitedState::Create {
        for one in &followed {
            until_created(session, one, mode).await?;
            session.shell.print(&format!("{}: created\n", one.target.reference()));
        }
        return Ok(Exit::Done);
    }
    until_ready(session, &followed, mode).await
}

//! `wait`: waits until an object is ready.

use clap::{Subcommand, ValueEnum};
use flux_operator::request::Absent;

use crate::flows::follow::{Followed, until_created, until_gone, until_ready, watch};
use crate::session::Session;
use crate::session::target::Target;
use crate::terminal::progress::ProgressMode;
use crate::terminal::{CliError, Exit, Shell};

mod instance;
mod resource;
mod revision;

/// Wait until an object is ready
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Instance(instance::Args),
    Resource(resource::Args),
    Revision(revision::Args),
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
        Command::Resource(args) => resource::run(args, shell),
        Command::Revision(args) => revision::run(args, shell),
    }
}

/// The awaited state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum For {
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
    /// State to wait for; a missing object ends the wait at once unless it is create
    #[arg(long = "for", value_enum, ignore_case = true, value_name = "WHAT", default_value_t = For::Ready)]
    pub until: For,
    /// Then keep printing every change, until interrupted, deleted or
    /// --timeout
    #[arg(short, long)]
    pub watch: bool,
}

async fn follow(
    session: &Session<'_>,
    targets: Vec<Target>,
    args: &ForArgs,
    mode: ProgressMode,
) -> Result<Exit, CliError> {
    let absent = if args.until == For::Create { Absent::Awaited } else { Absent::Ends };
    let followed: Vec<_> =
        targets.into_iter().map(|target| Followed { target, request: None, absent, uid: None }).collect();
    session.shell.interruption().set("nothing was changed; the objects go on without this wait", None);
    if args.until == For::Delete {
        for one in &followed {
            until_gone(session, one, mode).await?;
            session.shell.print(&format!("{}: deleted\n", one.target.reference()));
        }
        return Ok(Exit::Done);
    }
    if args.watch {
        return watch(session, &followed).await;
    }
    if args.until == For::Create {
        for one in &followed {
            until_created(session, one, mode).await?;
            session.shell.print(&format!("{}: created\n", one.target.reference()));
        }
        return Ok(Exit::Done);
    }
    until_ready(session, &followed, mode).await
}

//! `delete`: removes objects and leaves the clean-up to the operator.

use clap::Subcommand;
use flux_operator::cluster::DeleteOptions;

use crate::common::{Session, Target};
use crate::shell::{CliError, Exit, Shell};

mod instance;
mod resource;

/// Delete objects
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Instance(instance::Args),
    Resource(resource::Args),
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
        Command::Resource(args) => resource::run(args, shell),
    }
}

/// Deletes exactly the object with the UID: not one of the same name that came meanwhile.
pub async fn request_deletion(
    session: &Session<'_>,
    target: &Target,
    uid: Option<String>,
    dry_run: bool,
) -> Result<(), CliError> {
    let id = target.id().at(&session.served(target.kind).await?.version);
    let options = DeleteOptions { uid, dry_run, ..DeleteOptions::default() };
    let place = session.place(&target.reference());
    if !session.bounded(&format!("delete {place}"), session.cluster.delete(&id, &options)).await? {
        return Err(session.missing(target).await);
    }
    if !dry_run {
        session.shell.status(&format!("► deletion requested for {place}"));
        let resume = session.command(&format!("wait {} --for=delete", target.words()), &target.namespace);
        session.shell.interruption().set("the deletion goes on in the cluster", Some(resume));
    }
    Ok(())
}

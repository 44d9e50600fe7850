//! `create`: makes objects from flags.

use clap::Subcommand;

use crate::terminal::{CliError, Exit, Shell};

mod instance;
mod secret;

/// Create secrets and manifests from flags
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Instance(Box<instance::Args>),
    #[command(subcommand)]
    Secret(Box<secret::Command>),
}

impl Command {
    /// Whether `--server` means a registry instead of the API server.
    pub fn is_about_a_registry(&self) -> bool {
        matches!(self, Command::Secret(secret) if matches!(**secret, secret::Command::Registry(_)))
    }
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
        Command::Secret(command) => secret::run(command, shell),
    }
}

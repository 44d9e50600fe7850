//! `create secret ssh`

use std::path::PathBuf;

use flux_operator::secrets::{self, Credentials, Ssh};

use super::{PASSWORD, PasswordArgs, SecretArgs, file, optional_file};
use crate::terminal::prompt;
use crate::terminal::{CliError, Shell};

/// Create a Secret with an SSH key and the host keys to trust
///
/// For Git repositories over SSH. Prompts for the passphrase of an encrypted
/// key, without echo, unless a source is given.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # A key and the host keys of the Git server\n  \
    flux-operator create secret ssh git-ssh-auth --namespace=flux-system \\\n    \
    --private-key-file=my-private.key --knownhosts-file=./known_hosts\n\n  \
    # With the public key stored next to it, for later reference\n  \
    flux-operator create secret ssh git-ssh-auth --namespace=flux-system \\\n    \
    --private-key-file=id_ed25519 --public-key-file=id_ed25519.pub \\\n    \
    --knownhosts-file=./known_hosts")]
pub struct Args {
    #[command(flatten)]
    pub secret: SecretArgs,
    /// Private key
    #[arg(long, value_name = "FILE")]
    pub private_key_file: PathBuf,
    /// Public key that belongs to the private key
    #[arg(long, value_name = "FILE")]
    pub public_key_file: Option<PathBuf>,
    /// Host keys to trust, as ssh-keyscan prints them
    #[arg(long, value_name = "FILE")]
    pub knownhosts_file: PathBuf,
    #[command(flatten)]
    pub password: PasswordArgs,
}

impl Args {
    pub async fn credentials(&self, shell: &Shell) -> Result<Credentials, CliError> {
        let private_key = file(&self.private_key_file, shell).await?;
        let public_key = optional_file(self.public_key_file.as_deref(), shell).await?;
        let known_hosts = file(&self.knownhosts_file, shell).await?;
        let mut password = self.password.read(shell).await?;
        let locked = password.is_none() && secrets::needs_passphrase(private_key.expose());
        // A user who skips the checks may want to write the key without its passphrase.
        if locked && (prompt::can_ask() || !self.secret.skip_checks) {
            let what = format!("passphrase of {}", self.private_key_file.display());
            password = Some(prompt::ask_once(&what, PASSWORD).await?);
        }
        Ok(Credentials::Ssh(Ssh { private_key, public_key, known_hosts, password }))
    }
}

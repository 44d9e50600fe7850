//! `create secret basic-auth`

use flux_operator::secrets::{BasicAuth, Credentials};

use super::{PasswordArgs, SecretArgs};
use crate::shell::{CliError, Shell};

/// Create a Secret with a user name and a password
///
/// For Git and Helm repositories over HTTPS. Without a source the password is
/// asked for, hidden and twice.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Ask for the token\n  \
    flux-operator create secret basic-auth git-token-auth \\\n    \
    --namespace=flux-system --username=git-username\n\n  \
    # Read it from the environment\n  \
    flux-operator create secret basic-auth git-token-auth \\\n    \
    --namespace=flux-system --username=git --password-env=GIT_TOKEN\n\n  \
    # Print a manifest to encrypt and commit\n  \
    echo \"$GIT_TOKEN\" | flux-operator create secret basic-auth git-token-auth \\\n    \
    --namespace=flux-system --username=git --password-stdin --export")]
pub struct Args {
    #[command(flatten)]
    pub secret: SecretArgs,
    /// User name
    #[arg(long, value_name = "NAME")]
    pub username: String,
    #[command(flatten)]
    pub password: PasswordArgs,
}

impl Args {
    pub async fn credentials(&self, shell: &Shell) -> Result<Credentials, CliError> {
        let password = self.password.read_or_ask(shell).await?;
        Ok(Credentials::BasicAuth(BasicAuth { username: self.username.clone(), password }))
    }
}

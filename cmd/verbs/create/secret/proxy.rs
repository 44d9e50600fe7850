//! `create secret proxy`

use flux_operator::secrets::{Credentials, Proxy};

use super::{PasswordArgs, SecretArgs};
use crate::terminal::{CliError, Shell};

/// Create a Secret with the address of an HTTP proxy
///
/// With a user name but no source, prompts twice for the password, without
/// echo.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # A proxy without authentication\n  \
    flux-operator create secret proxy proxy-auth --namespace=flux-system \\\n    \
    --address=http://proxy.example.com:8080\n\n  \
    # With credentials from a file\n  \
    flux-operator create secret proxy proxy-auth --namespace=flux-system \\\n    \
    --address=http://proxy.example.com:8080 --username=flux \\\n    \
    --password-file=proxy-password.txt")]
pub struct Args {
    #[command(flatten)]
    pub secret: SecretArgs,
    /// Address as http://HOST:PORT
    #[arg(long, value_name = "URL")]
    pub address: String,
    /// User name
    #[arg(long, value_name = "NAME")]
    pub username: Option<String>,
    #[command(flatten)]
    pub password: PasswordArgs,
}

impl Args {
    pub async fn credentials(&self, shell: &Shell) -> Result<Credentials, CliError> {
        let password = match &self.username {
            Some(_) => Some(self.password.read_or_ask(shell).await?),
            None => self.password.read(shell).await?,
        };
        let (address, username) = (self.address.clone(), self.username.clone());
        Ok(Credentials::Proxy(Proxy { address, username, password }))
    }
}

//! `create secret basic-auth`

use std::path::PathBuf;

use flux_operator::secrets::{BasicAuth, BearerToken, Credentials};

use super::{PasswordArgs, SecretArgs, source};
use crate::terminal::prompt::SecretLines;
use crate::terminal::{CliError, SecretArg, Shell};

/// Create a Secret with a user name and a password, or with a bearer token
///
/// For Git and Helm repositories over HTTPS. Without a source, prompts twice for
/// the password, without echo. Here, --kube-token is the token for the API server.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Prompt for the token\n  \
    flux-operator create secret basic-auth git-token-auth \\\n    \
    --namespace=flux-system --username=git-username\n\n  \
    # Read it from the environment\n  \
    flux-operator create secret basic-auth git-token-auth \\\n    \
    --namespace=flux-system --username=git --password-env=GIT_TOKEN\n\n  \
    # Print a manifest to encrypt and commit\n  \
    echo \"$GIT_TOKEN\" | flux-operator create secret basic-auth git-token-auth \\\n    \
    --namespace=flux-system --username=git --password-stdin --export\n\n  \
    # A token that the Git server accepts without a user name\n  \
    echo \"$GIT_TOKEN\" | flux-operator create secret basic-auth git-token-auth \\\n    \
    --namespace=flux-system --bearer-token-stdin")]
pub struct Args {
    #[command(flatten)]
    pub secret: SecretArgs,
    /// User name
    #[arg(long, value_name = "NAME", required_unless_present = "bearer")]
    pub username: Option<String>,
    #[command(flatten)]
    pub password: PasswordArgs,
    #[command(flatten)]
    pub bearer: BearerTokenArgs,
}

/// The only source of a bearer token.
#[derive(clap::Args, Clone, Debug)]
#[group(id = "bearer", multiple = false, conflicts_with_all = ["username", "PasswordArgs"])]
pub struct BearerTokenArgs {
    /// Bearer token for Git, instead of user name and password; visible to other
    /// users of this machine
    #[arg(long, value_name = "TOKEN")]
    pub bearer_token: Option<SecretArg>,
    /// Read the bearer token from standard input
    #[arg(long)]
    pub bearer_token_stdin: bool,
    /// Read the bearer token from a file of one line
    #[arg(long, value_name = "FILE")]
    pub bearer_token_file: Option<PathBuf>,
    /// Read the bearer token from the environment variable NAME
    #[arg(long, value_name = "NAME")]
    pub bearer_token_env: Option<String>,
}

impl Args {
    pub async fn credentials(&self, shell: &Shell) -> Result<Credentials, CliError> {
        let bearer = &self.bearer;
        let token = source(
            bearer.bearer_token.as_ref(),
            bearer.bearer_token_stdin,
            bearer.bearer_token_file.as_deref(),
            bearer.bearer_token_env.as_deref(),
        );
        if let Some(token) = token {
            let token = token.read(shell, "bearer-token", SecretLines::One).await?;
            return Ok(Credentials::BearerToken(BearerToken { token }));
        }
        let password = self.password.read_or_ask(shell).await?;
        Ok(Credentials::BasicAuth(BasicAuth { username: self.username.clone().unwrap_or_default(), password }))
    }
}

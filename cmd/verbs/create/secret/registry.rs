//! `create secret registry`

use flux_operator::secrets::{Credentials, Registry};

use super::{PasswordArgs, SecretArgs};
use crate::terminal::{CliError, Shell};

/// Create a Secret with the credentials of a container registry
///
/// For OCI repositories and for pulling images. Without a source, prompts twice
/// for the password, without echo. A source may also contain a JSON key of
/// several lines, as Google's registries accept. Here, --kube-server is the API
/// server.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # From standard input\n  \
    echo $ENTERPRISE_TOKEN | flux-operator create secret registry \\\n    \
    flux-enterprise-auth --namespace=flux-system --server=ghcr.io \\\n    \
    --username=flux --password-stdin\n\n  \
    # From a file, checked by the API server but not stored\n  \
    flux-operator create secret registry oci-token-auth --server=ghcr.io \\\n    \
    --username=flux --password-file=token.txt --dry-run=server\n\n  \
    # The key of a Google service account, as it was downloaded\n  \
    flux-operator create secret registry gar-auth \\\n    \
    --server=europe-docker.pkg.dev --username=_json_key \\\n    \
    --password-file=key.json")]
pub struct Args {
    #[command(flatten)]
    pub secret: SecretArgs,
    /// Registry as HOST or HOST:PORT
    #[arg(long, value_name = "HOST")]
    pub server: String,
    /// User name
    #[arg(long, value_name = "NAME")]
    pub username: String,
    #[command(flatten)]
    pub password: PasswordArgs,
}

impl Args {
    pub async fn credentials(&self, shell: &Shell) -> Result<Credentials, CliError> {
        let password = self.password.read_or_ask_for_key(shell).await?;
        let (server, username) = (self.server.clone(), self.username.clone());
        Ok(Credentials::Registry(Registry { server, username, password }))
    }
}

//! `create secret tls`

use std::path::PathBuf;

use flux_operator::secrets::{Credentials, Tls};

use super::{SecretArgs, optional_file};
use crate::terminal::{CliError, Shell};

/// Create a Secret with a certificate and key, a certificate authority, or both
///
/// For servers with a private certificate authority, and for servers that
/// require a client certificate.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Trust the authority of a Git server\n  \
    flux-operator create secret tls git-ca --namespace=flux-system \\\n    \
    --ca-crt-file=./ca.crt\n\n  \
    # Authenticate with a client certificate\n  \
    flux-operator create secret tls git-tls --namespace=flux-system \\\n    \
    --tls-crt-file=./tls.crt --tls-key-file=./tls.key \\\n    \
    --ca-crt-file=./ca.crt")]
pub struct Args {
    #[command(flatten)]
    pub secret: SecretArgs,
    /// Client certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key_file")]
    pub tls_crt_file: Option<PathBuf>,
    /// Private key of the client certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_crt_file")]
    pub tls_key_file: Option<PathBuf>,
    /// Certificate authority of the server, in PEM
    #[arg(long, value_name = "FILE")]
    pub ca_crt_file: Option<PathBuf>,
}

impl Args {
    pub async fn credentials(&self, shell: &Shell) -> Result<Credentials, CliError> {
        Ok(Credentials::Tls(Tls {
            certificate: optional_file(self.tls_crt_file.as_deref(), shell).await?,
            private_key: optional_file(self.tls_key_file.as_deref(), shell).await?,
            authority: optional_file(self.ca_crt_file.as_deref(), shell).await?,
        }))
    }
}
